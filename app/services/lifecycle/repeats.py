"""Find repetitions of erased texts: messages loaded by recall tools, and stored responses of recall tools.

Texts are compared (see ``core.history.erasure.Repeats``), because nothing records where they came from.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable, Collection, Hashable, Sequence
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

import anyio.to_thread

from app.core.groups import chat_messages
from app.core.history.erasure import Repeats
from app.core.history.erasure_plan import Place
from app.core.messages import strings_of
from app.core.scope import Scope
from app.core.window.quote import plain_text
from app.postgres.transactions import ReadTx
from app.store import erasing, kept_answers

MESSAGES_AT_ONCE = 200
LOADED_AT_ONCE = 200
ANSWERS_AT_ONCE = 200
LONG = 20_000
"""Characters from which on a text is compared off the event loop."""

Source = Callable[[], AsyncIterator[str]]
"""Yields the erased texts; can be called repeatedly."""


@dataclass(frozen=True, slots=True)
class RepeatedPlaces:
    """Repetitions of some texts."""

    messages: Sequence[Place] = ()
    answers: Collection[str] = field(default_factory=frozenset)
    """Keys of kept answers."""


def source_of(texts: Sequence[str]) -> Source:
    async def source() -> AsyncIterator[str]:
        for text in texts:
            yield text

    return source


async def texts(
    tx: ReadTx, conversation_id: str, first: int, last: int, seqs: set[int] | None = None
) -> AsyncIterator[str]:
    """Yield the texts of messages and of their archives."""
    after = first - 1
    while after < last:
        rows = await erasing.texts(tx, conversation_id, after, MESSAGES_AT_ONCE)
        for row in rows:
            if row.seq <= last and (seqs is None or row.seq in seqs):
                yield plain_text([json.loads(row.body)])
                if row.view and row.kind != "orphan":
                    yield plain_text(chat_messages(row.view))
                for text in row.archived:
                    yield text
        if len(rows) < MESSAGES_AT_ONCE:
            return
        after = rows[-1].seq


async def find(tx: ReadTx, scope: Scope | UUID, source: Source) -> RepeatedPlaces:
    """Find repetitions of some texts in the conversations and stored responses of a scope, given by name or hash."""
    return RepeatedPlaces(
        messages=await _messages(tx, scope, source),
        answers=await answers(tx, scope if isinstance(scope, UUID) else scope.owner, source),
    )


async def _messages(tx: ReadTx, scope: Scope | UUID, source: Source) -> list[Place]:
    places: list[Place] = []
    after = ("", 0)
    while rows := await erasing.loaded(tx, scope, after, LOADED_AT_ONCE):
        after = max(rows)
        by_place: dict[Hashable, str] = {place: plain_text(chat_messages(text)) for place, text in rows.items()}
        places += await _repeating(by_place, source)
    return sorted(places)


async def answers(tx: ReadTx, owner: UUID, source: Source) -> set[str]:
    """Return the keys of an owner's stored responses that repeat some texts."""
    keys: set[str] = set()
    by_key: dict[str, str] = {}
    async for key, response in kept_answers.answers_said(tx, owner):
        by_key[key] = response
        if len(by_key) == ANSWERS_AT_ONCE:
            keys |= await _answers(by_key, source)
            by_key = {}
    return keys | await _answers(by_key, source)


async def _answers(by_key: dict[str, str], source: Source) -> set[str]:
    texts_by_key: dict[Hashable, str] = {k: "\n".join(strings_of(json.loads(a))) for k, a in by_key.items()}
    return await _repeating(texts_by_key, source)


async def _repeating(by_name: dict[Hashable, str], source: Source) -> set[Any]:
    if not by_name:
        return set()
    repeats = await anyio.to_thread.run_sync(Repeats, by_name)
    names: set[Hashable] = set()
    async for text in source():
        names |= await anyio.to_thread.run_sync(repeats.of, text) if len(text) > LONG else repeats.of(text)
    return names
