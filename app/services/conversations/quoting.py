"""The words that texts of served windows quote, by where they stand."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from uuid import UUID

from app.core.conversation import Conversation
from app.core.neutral import block, neutral
from app.core.window.packing import FoundPassage
from app.core.window.served import digest_of
from app.core.window.served_quotes import QuotedPlace, joined, places
from app.postgres.transactions import ReadTx
from app.services.memory import searching
from app.services.memory.hits import SearchHit
from app.services.memory.recalling import said_text
from app.store import archives, messages
from app.store import served as stored
from app.store.memory import memories


def of_hits(conversation: Conversation, hits: Iterable[SearchHit], shown: str) -> dict[QuotedPlace, str]:
    """Return the words of the results that a text shows."""
    return {_place(conversation, one): words for one in hits if (words := said(one)) in shown}


def of_message(seq: int, text: str) -> tuple[QuotedPlace, str]:
    return QuotedPlace(seq), block(text)


def of_archive(archive: UUID, start: int, text: str) -> tuple[QuotedPlace, str]:
    """Return a stretch of an archive as a window shows it that was asked to load it."""
    return QuotedPlace(archive, start, len(text)), neutral(text)


def said(hit: SearchHit) -> str:
    return FoundPassage(hit.day, hit.role, hit.name, hit.text, hit.told).said


def _place(conversation: Conversation, one: SearchHit) -> QuotedPlace:
    hit = one.hit
    is_on_line = hit.seq is not None and conversation.line.holds(hit.conversation_id, hit.seq, hit.created_at)
    if is_on_line and hit.seq and hit.archive_id is None and one.whole is None:
        return QuotedPlace(hit.seq, hit.start, len(one.text))
    return QuotedPlace(hit.id)


async def texts(
    tx: ReadTx, conversation: Conversation, digests: Collection[str], *, sensitive: bool
) -> Mapping[str, str]:
    """Return texts of a conversation's windows by digest, as far as they and all that they quote are still there.

    ``sensitive``: those that quote sensitive memories too.
    """
    kept = await stored.texts(tx, conversation.line.own, digests, sensitive=sensitive)
    quoted = await _quoted(tx, conversation, places(one for one, _ in kept.values()), sensitive=sensitive)
    found = {digest: joined(parts, quoted, is_json=part == "tail") for digest, (parts, part) in kept.items()}
    return {digest: text for digest, text in found.items() if text is not None and digest_of(text) == digest}


async def _quoted(
    tx: ReadTx, conversation: Conversation, wanted: Collection[QuotedPlace], *, sensitive: bool
) -> dict[QuotedPlace, str]:
    if not wanted:
        return {}
    of_line = [(conversation.line.keeper(one.of), one.of) for one in wanted if isinstance(one.of, int)]
    rows = {row["seq"]: said_text(row) for row in await messages.by_place(tx, of_line)}
    ranges = [(one.of, one.start, one.length) for one in wanted if isinstance(one.of, UUID) and one.length]
    passages = await archives.passages(tx, ranges)
    hits = await memories.among(tx, [one.of for one in wanted if isinstance(one.of, UUID) and not one.length])
    told = {hit.hit.id: said(hit) for hit in await searching.with_texts(tx, hits, sensitive=sensitive)}
    found: dict[QuotedPlace, str] = {}
    for place in wanted:
        match place:
            case QuotedPlace(int() as seq, start, length) if seq in rows:
                found[place] = block(rows[seq][start : start + length] if length else rows[seq])
            case QuotedPlace(UUID() as archive, start, length) if length and (archive, start) in passages:
                found[place] = neutral(passages[archive, start][1])
            case QuotedPlace(UUID() as memory, _, 0) if memory in told:
                found[place] = told[memory]
    return found
