"""Notice what people want kept, and what they take back, by the vectors of their messages.

The embedding job calls this once for each recent message, and stores the outcome with the message's vectors. A short
message has a vector anyway; the sentences of a longer one get theirs here. Without the local model nothing is noticed,
and only the patterns of ``extractive.wishes`` apply.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from operator import itemgetter, mul
from uuid import UUID

from app.core.canonical import dumps
from app.core.conversation import Conversation
from app.core.history.judging import ENDS, MAY_KEEP, TOLD, Likely, ending, judgement
from app.core.history.rows import HistoryMessage, NewWish
from app.core.model import PEOPLE
from app.core.neutral import neutral
from app.core.window.kept import StoredMemory, Wish, keep
from app.extractive import intents
from app.extractive.wishes import Judged, is_sensitive, judged, may_keep, speaks_for_itself, takes_back
from app.ids import uuid7
from app.postgres.transactions import Tx
from app.providers import Vector
from app.runtime import Runtime
from app.services.memory import querying, recalling
from app.store import appending, conversations, messages
from app.store.memory import kept
from app.text.language import clip, squeeze

COMPARED_MAX = 60
"""Memories in mind that a message which takes something back is compared with, the widest scope and newest first."""
QUOTE_CHARACTERS = 200


@dataclass(frozen=True, slots=True)
class _Said:
    """A person's message, as read."""

    row: HistoryMessage
    text: str
    found: Sequence[Judged]
    vector: Vector
    ends: float
    """How likely it takes something back."""

    @property
    def place(self) -> tuple[str, int]:
        return self.row.place


@dataclass(frozen=True, slots=True)
class NoticedMemories:
    """The memories that messages make, by conversation."""

    said: Sequence[_Said] = ()
    wishes: Sequence[tuple[Conversation, Sequence[NewWish]]] = ()


def reads(runtime: Runtime) -> bool:
    """Return whether the heads were trained on the vectors of the model in use."""
    return runtime.embedder is not None and runtime.embedder.model == intents.MODEL


async def agrees(runtime: Runtime, tenant: UUID, wish: Wish, message: str) -> bool:
    """Return whether a text speaks for its writer, and a head would at least propose to keep it."""
    if not reads(runtime) or not speaks_for_itself(wish.text, message):
        return False
    likely = await _likely(runtime, tenant, wish.text)
    return likely is not None and judgement(likely) is not None


async def notice(runtime: Runtime, tenant: UUID, rows: Iterable[HistoryMessage]) -> NoticedMemories:
    """Return the memories that messages make. Call it without holding a connection."""
    said = [one for row in rows if (one := await _read(runtime, tenant, row)) is not None]
    if not said:
        return NoticedMemories()
    places = {one.place[0] for one in said}
    async with runtime.database.snapshot(tenant) as tx:
        known = {name: await conversations.find(tx, name) for name in sorted(places)}
    wishes = []
    for conversation in filter(None, known.values()):
        its = [one for one in said if one.place[0] == conversation.id]
        found = [*await _wishes(runtime, conversation, its), *await _endings(runtime, tenant, conversation, its)]
        wishes.append((conversation, found))
    return NoticedMemories(said, wishes)


async def _read(runtime: Runtime, tenant: UUID, row: HistoryMessage) -> _Said | None:
    text = recalling.said_text(row)
    if row.author not in PEOPLE or not (sentences := may_keep(text)):
        return None
    vector = await querying.vector_of(runtime, tenant, text)
    if vector is None:
        return None
    whole, several = intents.likely(text, vector), len(sentences) > 1
    read = sentences if max(whole.values()) >= MAY_KEEP or not several else ()
    each = {one: await _likely(runtime, tenant, one) if several else whole for one in read}
    found = judged(text, whole, {one: likely for one, likely in each.items() if likely is not None})
    ends = max(intents.ENDS.probability(text, vector), TOLD * any(map(takes_back, sentences)))
    if ENDS.verdict(ends) == "carry":  # what ends something seldom begins anything
        found = [replace(one, wish=replace(one.wish, reach="proposed")) for one in found]
    return _Said(row, text, found, vector, ends) if found or ENDS.verdict(ends) else None


async def _likely(runtime: Runtime, tenant: UUID, text: str) -> Likely | None:
    return intents.likely(text, vector) if (vector := await querying.vector_of(runtime, tenant, text)) else None


async def _wishes(runtime: Runtime, conversation: Conversation, said: Sequence[_Said]) -> list[NewWish]:
    policy = runtime.policy(conversation)
    finder, now = conversation.scope.owner, datetime.now(UTC)
    found: list[NewWish] = []
    for one in said:
        since = min(one.row.said_at or now, now)
        name = recalling.speaker(one.row) if one.row.author == "participant" else None
        for its in one.found:
            wish = its.wish.of(name)
            text = neutral(wish.text)
            tokens = await runtime.count(text)
            found += [
                NewWish(
                    uuid7(), finder if memory.is_alone else memory.scope.owner, memory.scope.owner,
                    memory.scope.text, memory.status, wish.key, one.row.seq, one.row.page, text, tokens,
                    wish.sensitive, since, None, dumps(its.why),
                )
                for memory in keep(wish, conversation, policy, is_own=one.row.author == "person")
            ]  # fmt: skip
    return found


# --- What is taken back -------------------------------------------------------------------------------


async def _endings(runtime: Runtime, tenant: UUID, conversation: Conversation, said: Sequence[_Said]) -> list[NewWish]:
    """Return the ends of memories in mind: only proposals in a group, none from a sub-agent's conversation."""
    policy = runtime.policy(conversation)
    if not policy.remember or policy.carry == "off" or conversation.parent is not None:
        return []
    found = []
    for one in said:
        if ENDS.verdict(one.ends) is None or (one.row.author != "person" and conversation.space_id is None):
            continue
        meant, closeness = await _meant(runtime, tenant, conversation, one)
        verdict = ending(one.ends, closeness)
        if meant is None or verdict is None:
            continue
        is_held = verdict == "carry" and policy.carry == "explicit" and conversation.space_id is None
        found.append(await _ending(runtime, one, meant, closeness, is_held=is_held))
    return found


async def _meant(
    runtime: Runtime, tenant: UUID, conversation: Conversation, said: _Said
) -> tuple[StoredMemory | None, float]:
    """Return the memory in mind that is nearest to a message, and their similarity."""
    async with runtime.database.snapshot(tenant) as tx:
        lines = (await kept.then(tx, conversation.id, said.row.seq, None, None))[:COMPARED_MAX]
    vectors = [(line, await querying.vector_of(runtime, tenant, line.text)) for line in lines]
    near = [(sum(map(mul, said.vector, vector)), line) for line, vector in vectors if vector is not None]
    closeness, line = max(near, key=itemgetter(0), default=(0.0, None))
    if line is None:
        return None, 0.0
    async with runtime.database.snapshot(tenant) as tx:
        return await kept.one(tx, line.id), closeness


async def _ending(runtime: Runtime, said: _Said, meant: StoredMemory, closeness: float, *, is_held: bool) -> NewWish:
    text = neutral(clip(squeeze(said.text), QUOTE_CHARACTERS))
    now = datetime.now(UTC)
    since = max(min(said.row.said_at or now, now), meant.valid_from)
    why = {"head": "ends", "certainty": round(said.ends, 2), "closeness": round(closeness, 2), "ends": str(meant.id)}
    return NewWish(
        uuid7(), meant.owner, meant.holder, meant.scope.text, "held" if is_held else "proposed", meant.key,
        said.row.seq, said.row.page, text, await runtime.count(text), is_sensitive(text),
        since, since, dumps(why),
    )  # fmt: skip


# --- Apply ------------------------------------------------------------------------------------------


async def remember(tx: Tx, noticed: NoticedMemories) -> None:
    """Store what was noticed, except from messages that were erased or changed meanwhile."""
    rows = await messages.by_place(tx, sorted({one.place for one in noticed.said}))
    there = {(row.conversation_id, row.seq): recalling.said_text(row) for row in rows}
    gone = {one.place for one in noticed.said if there.get(one.place) != one.text}
    for conversation, wishes in noticed.wishes:
        left = [wish for wish in wishes if (conversation.id, wish.seq) not in gone]
        await appending.keep_wishes(tx, conversation, left, source="rule")
        for wish in left:
            if wish.status == "held" and wish.valid_to is not None:
                await kept.end(tx, wish.holder, UUID(json.loads(wish.metadata)["ends"]), wish.valid_to)
