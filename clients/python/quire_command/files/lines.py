"""Conversations and memories as the lines of an import, and what of them is new."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from itertools import chain, count
from typing import Any
from uuid import NAMESPACE_URL, UUID, uuid5

from quire_command.files.large import kept
from quire_command.files.values import Json, Memory, Skipped, Talk, dumps, is_empty

CLOCKS_DIFFER = timedelta(minutes=1)
"""How much older than the message before it a message can be, by the service's rule."""
TEXT_MAX = 1_000_000
"""Characters of one message that is no tool's result."""
METADATA_MAX = 16_000
HEADER = {"type": "header", "format": "quire", "version": 1}


def sendable(talk: Talk, now: datetime) -> tuple[Talk, list[Skipped]]:
    """Return a conversation as the service takes it, and what is left out: what is empty or too long.

    Times that go back or lie ahead are dropped. A message without an id of its own, or with one that occurs twice, is
    named by what it says: so a second import knows it again, wherever it stands by then.
    """
    skipped: list[Skipped] = []
    said = kept(_sendable(talk, now, skipped))
    metadata, cut = _metadata(talk)
    return replace(talk, said=said, summaries=(), metadata=metadata), skipped + cut


def _sendable(talk: Talk, now: datetime, skipped: list[Skipped]) -> Iterator[tuple[Json, str | None]]:
    newest: datetime | None = None
    ids: set[str] = set()
    for number, (message, at) in enumerate(talk.said, 1):
        content = message.get("content")
        if is_empty(message):
            skipped.append(Skipped(f"{talk.id}, message {number}", "it is empty"))
            continue
        if message["role"] != "tool" and isinstance(content, str) and len(content) > TEXT_MAX:
            skipped.append(Skipped(f"{talk.id}, message {number}", f"it has more than {TEXT_MAX:,} characters"))
            continue
        time = datetime.fromisoformat(at) if at else None
        if time is not None and ((newest is not None and time < newest - CLOCKS_DIFFER) or time > now):
            time = None
        newest = max(time, newest) if time is not None and newest is not None else time or newest
        own = message.get("client_id")
        if own is None or own in ids:
            own = _by_content(talk, message)
            own = next(name for name in chain([own], (f"{own}:{n}" for n in count(2))) if name not in ids)
        ids.add(own)
        yield {**message, "client_id": own}, time.isoformat() if time is not None else None


def _by_content(talk: Talk, message: Json) -> str:
    """Return a name for a message of a conversation; of a branch another than for the same words before it.

    What a forked session repeats has the same names as in the session that it was forked from.
    """
    told = {name: value for name, value in message.items() if name != "client_id"}
    text = dumps([talk.metadata.get("forked_from", talk.id), told])
    return f"said:{sha256(text.encode('utf-8', 'replace')).hexdigest()[:24]}"


def _metadata(talk: Talk) -> tuple[Json, list[Skipped]]:
    metadata = {**talk.metadata, **({"summaries": list(talk.summaries)} if talk.summaries else {})}
    if len(dumps(metadata)) <= METADATA_MAX:
        return metadata, []
    shares = {
        name: value for name, value in metadata.items() if len(dumps(value)) <= METADATA_MAX // (2 * len(metadata))
    }
    left = METADATA_MAX - len(dumps(shares)) - 100
    if talk.summaries and "summaries" not in shares:
        shares["summaries"] = [talk.summaries[-1][: left // 2]]
    return shares, [Skipped(str(talk.id), "its state or summaries are longer than metadata can be, and are cut")]


def _line(value: Json) -> str:
    """Return a line of JSON; half a character, which no file can hold, as a question mark."""
    return dumps(value).encode("utf-8", "replace").decode()


def talk_lines(talk: Talk, user: str) -> Iterator[str]:
    """Yield the lines of a conversation that is `sendable`."""
    yield _line({**HEADER, "user_id": user})
    branch = {"parent_id": talk.parent, "forked_after": talk.shared} if talk.parent else {}
    more = {"title": talk.title, "system": talk.system, "metadata": talk.metadata or None, **branch}
    named = {name: value for name, value in more.items() if value is not None}
    yield _line({"type": "conversation", "id": talk.id, "user_id": user, **named})
    for seq, (message, at) in enumerate(talk.said, talk.shared + 1):
        dated = {"said_at": at} if at else {}
        yield _line({"type": "message", "conversation_id": talk.id, "seq": seq, "message": {**message, **dated}})
    yield _line({"type": "end", "conversation_id": talk.id})


def memory_lines(memories: Sequence[Memory], user: str) -> Iterator[str]:
    yield _line({**HEADER, "user_id": user})
    for memory in memories:
        more: Mapping[str, Any] = {
            "created_at": memory.at, "keywords": list(memory.keywords) or None, "expires_at": memory.expires,
            **memory.more,
        }  # fmt: skip
        yield _line({
            "type": "memory", "id": _uuid(memory.id), "user_id": user, "memory_type": "general",
            "content": memory.text, "metadata": memory.metadata,
            **{name: value for name, value in more.items() if value is not None},
        })  # fmt: skip


def _uuid(name: str) -> str:
    """Return an id that is the same for each import of a memory."""
    try:
        return str(UUID(name))
    except ValueError:
        return str(uuid5(NAMESPACE_URL, f"mem0:{name}"))


def fresh(talk: Talk, stored: Sequence[str | None]) -> Talk | None:
    """Return what is new of a conversation, of which messages with these ids are stored; None if nothing is.

    One that grew goes on; one that lost its beginning since goes on after what both have; one that goes another way is
    a branch from the last message that both have. Without ids the service compares places.
    """
    ids = [message.get("client_id") for message, _ in talk.said]
    if not stored or None in stored or None in ids:
        return talk
    known = set(stored)
    last = max((place for place, name in enumerate(ids) if name in known), default=-1)
    if last == len(ids) - 1:
        return None
    rest = talk.said[last + 1 :]
    if last >= 0 and ids[last] == stored[-1]:
        return replace(talk, said=rest, shared=talk.shared + len(stored))
    shared = list(stored).index(ids[last]) + 1 if last >= 0 else 0
    name = f"{talk.id}:{ids[last + 1]}"[:128]
    return replace(talk, id=name, said=rest, parent=talk.id, shared=shared, metadata={})


def forked(talk: Talk, known: Sequence[str | None]) -> Talk:
    """Return a session that repeats the beginning of another as a branch of that, of which these messages are known."""
    ids = [message.get("client_id") for message, _ in talk.said]
    pairs = enumerate(zip(ids, known, strict=False))
    shared = next((place for place, (own, other) in pairs if own != other), min(len(ids), len(known)))
    if not shared:
        return talk
    return replace(talk, parent=talk.metadata["forked_from"], shared=shared, said=talk.said[shared:])


def now() -> datetime:
    return datetime.now(UTC) + CLOCKS_DIFFER
