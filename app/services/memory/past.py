"""Search what held at another time, and find the value that another one replaced.

Search finds the current value of a key. Values of another time are found by their words alone, a key at a time. Wishes
have few keys: theirs are compared here.
"""

from __future__ import annotations

from collections.abc import Sequence

from app.core.encoded import blanked
from app.core.search import relevance
from app.core.window.kept import Then
from app.postgres.transactions import ReadTx
from app.services.memory.hits import SearchHit
from app.services.memory.views import View
from app.store.memory import remembered
from app.store.memory.memories import Hit
from app.text import bm25

WORDS_SHARE = 0.3
"""The part of a query's words that a former value needs."""


def held(then: Then, hit: SearchHit) -> bool:
    """Return whether a result without a key was known, and held, at a time."""
    whole = hit.whole
    learnt = whole.learnt_at if whole is not None else None
    if then.known_at is not None and (learnt or hit.hit.created_at) > then.known_at:
        return False
    if then.as_of is None or whole is None:
        return True
    return whole.valid_from <= then.as_of and (whole.valid_to is None or whole.valid_to > then.as_of)


async def values(tx: ReadTx, view: View, then: Then, terms: Sequence[int], *, sensitive: bool) -> list[Hit]:
    """Return the values of keys that held then and contain enough of a query's words, best first."""
    if not terms:
        return []
    rows = await remembered.held_at(tx, view.owners, then, terms, WORDS_SHARE, sensitive=sensitive)
    found = [(row.share if row.content is None else _share(terms, row.content), row) for row in rows]
    return [
        Hit(
            row.id, row.type, row.conversation_id, None, row.page, None, 0, row.length,
            relevance.score_of(min(share, 0.99)), row.created_at, coverage=share, owner=row.holder,
        )
        for share, row in sorted(found, key=lambda one: -one[0])
        if share >= WORDS_SHARE
    ]  # fmt: skip


def _share(terms: Sequence[int], content: str) -> float:
    return len(set(terms) & set(bm25.query(blanked(content)))) / len(terms)


async def with_replaced(tx: ReadTx, hits: Sequence[SearchHit], *, sensitive: bool) -> list[SearchHit]:
    """Return results, each with the earlier value of its key."""
    keyed = [hit.key for hit in hits if hit.is_keyed]
    former = await remembered.replaced(tx, keyed, sensitive=sensitive) if keyed else {}
    return [hit._replace(replaced=former.get(hit.key)) for hit in hits]
