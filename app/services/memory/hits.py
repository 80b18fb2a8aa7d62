"""Give the hits of a search their texts, and keep one of several that say the same."""

from __future__ import annotations

from collections.abc import Container, Hashable, Mapping, Sequence
from datetime import datetime
from functools import cache
from typing import NamedTuple, TypeAlias
from uuid import UUID

from app.concurrency import LONG_COPIED, run_in_thread_if_large
from app.core.encoded import marked
from app.core.history.rows import HistoryMessage
from app.core.line import is_here
from app.core.scope import Scope
from app.core.search.days import day_of
from app.core.search.relevance import score_of
from app.core.times import local
from app.core.window.kept import StoredMemory
from app.core.window.quote import plain_text, speaker_of, spoken_text
from app.postgres.transactions import ReadTx
from app.services.memory.previewing import PREVIEW_CHARACTERS
from app.services.memory.recalling import seen
from app.store import archives, messages
from app.store.memory import memories, remembered
from app.store.memory.memories import Hit
from app.store.memory.remembered import ReplacedValue
from app.text.queries import bare, has_subject, repeating, tells
from app.text.questions import asks
from app.text.statements import stated

Place: TypeAlias = tuple[str | None, int | None]

EMPTY_SCORE = score_of(0.01)
"""The highest score of a result without a subject ("noted", 「好的」), which answers nothing."""


class SearchHit(NamedTuple):
    """A passage that was found, with its text."""

    hit: Hit
    score: float
    """The passage's score, adjusted by ``judge`` and ``worth_showing``."""
    role: str
    text: str
    message_id: UUID | None = None
    whole: StoredMemory | None = None
    """The memory itself, if it has content of its own; ``text`` may then be a passage of it."""
    line: str = ""
    """The message's line, if ``text`` is the whole message."""
    body: str = "{}"
    """The message as it was sent, as JSON."""
    name: str | None = None
    """The name that its message was sent with."""
    is_spoken: bool = True
    """Whether it is more than tool calls and placeholders."""
    offset: int = 0
    """Minutes that the clock of its speaker is ahead of UTC."""
    scope: Scope | None = None
    """The scope that it was found in; None where that is not known."""
    replaced: ReplacedValue | None = None
    """The value of its key before it."""
    alike: frozenset[UUID] = frozenset()
    """Older results that say the same, which it stands for."""
    is_doubtful: bool = False
    """Whether it hardly answers the query."""

    @property
    def is_keyed(self) -> bool:
        return self.whole is not None and self.whole.key is not None

    @property
    def status(self) -> str:
        return self.whole.status if self.whole is not None else "held"

    @property
    def similar(self) -> int:
        return len(self.alike)

    @property
    def spoken_by(self) -> str | None:
        """Return the role that said it; None for a memory that nobody said."""
        return self.role.split(" ")[0] if self.hit.type in ("episode", "passage") else None

    @property
    def key(self) -> UUID:
        return self.whole.id if self.whole is not None else self.hit.id

    @property
    def day(self) -> str:
        return day_of(self.said_at)

    @property
    def said_at(self) -> datetime:
        """Return when it was said, by the speaker's clock."""
        return local(self.hit.created_at, self.offset)

    @property
    def told(self) -> tuple[datetime, int, int]:
        return self.hit.created_at, self.hit.seq or 0, self.hit.start

    def elsewhere(self, here: str | None) -> str | None:
        """Return its conversation, if it is another than ``here``."""
        return None if is_here(here, self.hit.conversation_id) else self.hit.conversation_id


def worth_showing(found: Sequence[SearchHit], query: str, is_said: bool = False) -> list[SearchHit]:
    """Return one result for each statement, best first. No result's score depends on the others.

    Questions that only repeat the query are left out; with ``is_said``, also other repetitions and empty talk.
    """
    repeats = repeating((one.text for one in found), query)
    same: dict[Hashable, list[SearchHit]] = {}
    for one in found:
        if one.text not in repeats or not asks(bare(one.text)):
            same.setdefault((one.role, one.name, stated(one.text)), []).append(one)
    once = [hits[0] if len(hits) == 1 else _newest(hits) for hits in same.values()]
    if is_said:
        once = [one for one in once if one.text not in repeats and tells(bare(one.text))]
    is_worth = [one.score <= EMPTY_SCORE or has_subject(one.text) for one in once]
    weighed = [one if worth else one._replace(score=EMPTY_SCORE) for one, worth in zip(once, is_worth, strict=True)]
    return sorted(weighed, key=lambda one: -one.score)


def _newest(hits: Sequence[SearchHit]) -> SearchHit:
    """Return the newest of several results that say the same, with the best score and the keys of the others.

    The newest, because a fact can change back: of "Berlin", "Paris" and "Berlin" the last one is true.
    """
    newest = max(hits, key=lambda hit: hit.told)
    alike = newest.alike.union(*(hit.alike | {hit.key} for hit in hits)) - {newest.key}
    return newest._replace(alike=alike, score=max(hit.score for hit in hits))


async def find_memory(
    tx: ReadTx, key: UUID, owners: Container[UUID] | None = None, *, sensitive: bool
) -> SearchHit | None:
    """Return a memory with its text, or None; with owners, only if one of them has it."""
    hit = await memories.find(tx, key, owners)
    matches = await with_texts(tx, [hit], sensitive=sensitive) if hit else []
    return matches[0] if matches else None


async def with_texts(tx: ReadTx, hits: Sequence[Hit], *, sensitive: bool) -> list[SearchHit]:
    """Return the hits with their texts, in the same order.

    Leave out hits that no longer exist and, unless ``sensitive``, those of sensitive memories.
    """
    places = dict.fromkeys((h.conversation_id, h.seq) for h in hits if h.conversation_id and h.seq)
    rows_by_place: dict[Place, HistoryMessage] = {row.place: row for row in await messages.by_place(tx, [*places])}
    passages = await archives.passages(
        tx, [(h.archive_id, h.start, h.length) for h in hits if h.archive_id is not None]
    )
    own = [h.id for h in hits if h.type != "passage"]  # an episode has content of its own once its message is pruned
    contents = await remembered.contents(tx, own, sensitive=sensitive)
    wholes = {row.id: row for row in contents.values()}
    size = sum(len(row.body) for row in rows_by_place.values()) + sum(len(row.content) for row in wholes.values())
    return await run_in_thread_if_large(
        size, _hits_with_texts, hits, rows_by_place, passages, contents, wholes, most=LONG_COPIED
    )


def _hits_with_texts(
    hits: Sequence[Hit], rows_by_place: Mapping[Place, HistoryMessage],
    passages: Mapping[tuple[UUID, int], tuple[str, str]], contents: Mapping[UUID, StoredMemory],
    wholes: Mapping[UUID, StoredMemory],
) -> list[SearchHit]:  # fmt: skip
    results = []
    sent = cache(lambda place: _speaker_and_texts(rows_by_place[place]))  # several hits can share a message
    own = {key: row.text for key, row in wholes.items()}
    for hit in hits:
        whole, said = contents.get(hit.id), rows_by_place.get((hit.conversation_id, hit.seq))
        offset = said.said_offset if said is not None else 0
        if whole is not None and hit.type != "episode":
            content = own[whole.id]
            text = content[hit.start : hit.start + hit.length]
            text = marked(text) if text else marked(content)[:PREVIEW_CHARACTERS]  # its keywords matched
            results.append(SearchHit(hit, hit.score, f"memory ({hit.type})", text, whole=whole, offset=offset))
        elif hit.type not in ("episode", "passage"):
            continue
        elif hit.archive_id is not None:
            passage = passages.get((hit.archive_id, hit.start))
            if passage is not None:
                results.append(SearchHit(hit, hit.score, f"tool {passage[0]}", passage[1], offset=offset))
        elif (row := said) is not None:
            name, said_all, spoken_all = sent(row.place)
            passage_at = slice(hit.start, hit.start + hit.length)
            text = own[whole.id] if whole is not None else said_all[passage_at]
            line = row.line if text == said_all else ""
            is_spoken = whole is not None or spoken_all is None or bool(spoken_all[passage_at].strip())
            results.append(
                SearchHit(hit, hit.score, row.role, text, row.id, None, line, row.body, name, is_spoken, offset)
            )
    return results


def _speaker_and_texts(row: HistoryMessage) -> tuple[str | None, str, str | None]:
    """Return a message's speaker, its text, and the text without calls and placeholders, None if it can have none."""
    sent, can_call = seen(row), row.kind in ("call", "result")
    return speaker_of(sent), plain_text(sent), spoken_text(sent) if can_call else None
