"""Sessions and memory of Google's Agent Development Kit, kept by Quire.

    quire = AsyncQuire()
    runner = Runner(app_name="tea", agent=agent, session_service=QuireSessionService(quire),
                    memory_service=QuireMemoryService(quire))

A session is a conversation of its user, named by app, user and session; an event is a message that carries the whole
event beside its text, calls and results. Sessions are therefore found by search without being added to memory. State
is what the events say of it. `user:` and `app:` state is refused: it is no part of a session, and Quire has no place
for it.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping, Sequence
from datetime import datetime
from itertools import takewhile
from typing import Any
from urllib.parse import quote
from uuid import uuid4
from weakref import WeakValueDictionary

from google.adk.errors._stale_session_error import StaleSessionError
from google.adk.errors.already_exists_error import AlreadyExistsError
from google.adk.errors.session_not_found_error import SessionNotFoundError
from google.adk.events.event import Event
from google.adk.memory.base_memory_service import BaseMemoryService, SearchMemoryResponse
from google.adk.memory.memory_entry import MemoryEntry
from google.adk.sessions.base_session_service import BaseSessionService, GetSessionConfig, ListSessionsResponse
from google.adk.sessions.session import Session
from google.adk.sessions.state import State
from google.genai import types

from quire_client import calls
from quire_client.client import AsyncQuire
from quire_client.errors import Conflict, NotFound
from quire_client.shapes import Json

LISTED_AT_ONCE = 20
ADDED_AT_ONCE = 1_000
FOUND_MAX = 10
ENTRY_CHARACTERS_MAX = 2_000
"""Of a memory that a search returns."""
QUERY_CHARACTERS_MAX = 10_000
BEGINNING: Json = {"role": "assistant", "content": "", "client_id": "beginning"}
"""Begins a session, so that a rewind to its first invocation has something to branch from. No model sees it."""


class QuireSessionService(BaseSessionService):
    """Sessions as conversations of their users."""

    def __init__(self, quire: AsyncQuire) -> None:
        self._quire = quire
        self._appending: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()
        """Held while an event is stored, so that events of one session are compared with those before them."""

    async def create_session(
        self, *, app_name: str, user_id: str, state: dict[str, Any] | None = None, session_id: str | None = None
    ) -> Session:
        """Create a session. Its first state is kept as JSON of up to 16,000 characters."""
        session = (session_id or "").strip() or str(uuid4())
        first = _own_state(state or {})
        made = await _create(self._quire, app_name, user_id, session, first)
        if made is None:
            raise AlreadyExistsError(f"Session {session} already exists.")
        return _session(made, [])

    async def get_session(
        self, *, app_name: str, user_id: str, session_id: str, config: GetSessionConfig | None = None
    ) -> Session | None:
        """Return a session with its events, or None. State is that after all events, whatever ``config`` selects."""
        name = conversation_of(app_name, user_id, session_id)
        try:
            found = await self._quire.conversation(name)
        except NotFound:
            return None
        session = _session(found, await _events(self._quire, name))
        if config and config.after_timestamp is not None:
            session.events = [event for event in session.events if event.timestamp >= config.after_timestamp]
        if config and config.num_recent_events is not None:
            session.events = session.events[max(0, len(session.events) - config.num_recent_events) :]
        return session

    async def list_sessions(self, *, app_name: str, user_id: str | None = None) -> ListSessionsResponse:
        """List sessions with their state but no events, the most recently active last; without ``user_id``,
        everybody's. It reads the events of each, since state is what they say.
        """
        found: list[Session] = []
        cursor: str | None = ""
        metadata = json.dumps({"adk": {"app_name": app_name}})
        while cursor is not None:
            page = await self._quire.send(
                calls.read("/conversations", user_id=user_id, metadata=metadata, limit=LISTED_AT_ONCE,
                           cursor=cursor or None)
            )  # fmt: skip
            events = await asyncio.gather(*(_events(self._quire, item["id"]) for item in page["items"]))
            found += [_session(item, said) for item, said in zip(page["items"], events, strict=True)]
            cursor = page["next_cursor"]
        found.sort(key=lambda session: session.last_update_time)
        newest = {(session.user_id, session.id): session for session in found}  # of a rewound one there are two
        return ListSessionsResponse(sessions=[s.model_copy(update={"events": []}) for s in newest.values()])

    async def delete_session(self, *, app_name: str, user_id: str, session_id: str) -> None:
        """Erase a session and everything derived from it."""
        try:
            await self._quire.delete(conversation_of(app_name, user_id, session_id))
        except NotFound:
            return

    async def get_user_state(self, *, app_name: str, user_id: str) -> dict[str, Any]:  # noqa: ARG002 - ADK's
        """Return nothing: `user:` state is refused, so there is none."""
        return {}

    async def append_event(self, session: Session, event: Event) -> Event:
        """Store an event. One that is stored already stays as it is.

        What a rewind takes back stays in a branch of the session's conversation: windows and searches of the session
        have it no more. Raises StaleSessionError if the session holds less than what is stored.
        """
        if event.partial:
            return event
        _own_state(event.actions.state_delta)
        event.id = event.id or Event.new_id()
        self._apply_temp_state(session, event)
        event = self._trim_temp_delta_state(event)
        name = conversation_of(session.app_name, session.user_id, session.id)
        async with self._appending.setdefault(name, asyncio.Lock()):
            try:
                await self._store(session, name, event)
            except NotFound:
                raise SessionNotFoundError(f"Session {session.id} not found.") from None
            session._storage_update_marker = event.id  # noqa: SLF001 - ADK's own place for it
        if event.id not in [known.id for known in session.events]:
            self._commit_event_to_session(session, event)
        session.last_update_time = event.timestamp
        return event

    async def _store(self, session: Session, name: str, event: Event) -> None:
        newest = await _newest(self._quire, name)
        known = {session._storage_update_marker, *(one.id for one in session.events)}  # noqa: SLF001 - as above
        if newest is not None and newest not in known:
            raise StaleSessionError("The session was changed since it was loaded: get it again.")
        rewound = event.actions.rewind_before_invocation_id
        if rewound is None:
            await self._append(name, event)
            return
        events = await _events(self._quire, name)
        kept = takewhile(lambda one: one.invocation_id != rewound, events)
        await self._quire.sync(name, [BEGINNING, *map(_message, kept), _message(event)])

    async def _append(self, name: str, event: Event) -> None:
        try:
            await self._quire.append(name, [_message(event)])
        except Conflict:
            if event.id not in await _ids(self._quire, name):
                raise


class QuireMemoryService(BaseMemoryService):
    """A search of everything that a user said in an app, and memories stored on purpose."""

    def __init__(self, quire: AsyncQuire) -> None:
        self._quire = quire

    async def add_session_to_memory(self, session: Session) -> None:
        """Store the events that are not stored yet; none are missing if ``QuireSessionService`` keeps the session."""
        await self.add_events_to_memory(
            app_name=session.app_name, user_id=session.user_id, events=session.events, session_id=session.id
        )

    async def add_events_to_memory(
        self, *, app_name: str, user_id: str, events: Sequence[Event], session_id: str | None = None,
        custom_metadata: Mapping[str, object] | None = None,  # noqa: ARG002 - ADK's
    ) -> None:  # fmt: skip
        """Store events with content that are not stored yet. ``custom_metadata`` is ignored."""
        session = session_id or "events"
        name = conversation_of(app_name, user_id, session)
        await _create(self._quire, app_name, user_id, session, {})
        for event in events:
            event.id = event.id or Event.new_id()
        while True:
            stored = await _ids(self._quire, name)
            new = {e.id: _message(e) for e in events if e.content and not e.partial and e.id not in stored}
            if not new:
                return
            try:
                await self._quire.append(name, list(new.values())[:ADDED_AT_ONCE])
            except Conflict as error:  # another call has just stored some of them
                if "client_id" not in str(error):
                    raise

    async def add_memory(
        self, *, app_name: str, user_id: str, memories: Sequence[MemoryEntry],
        custom_metadata: Mapping[str, object] | None = None,
    ) -> None:  # fmt: skip
        """Store the texts of memories."""
        for memory in memories:
            metadata = {**memory.custom_metadata, **(custom_metadata or {}), "adk": {"app_name": app_name}}
            await self._quire.remember(_text(memory.content), user_id=user_id, metadata=metadata)

    async def search_memory(self, *, app_name: str, user_id: str, query: str) -> SearchMemoryResponse:
        """Return up to 10 memories that answer a query, each up to 2,000 characters long."""
        if not query.strip():
            return SearchMemoryResponse()
        metadata = {"adk": {"app_name": app_name}}
        found = await self._quire.search(
            query[:QUERY_CHARACTERS_MAX], user_id=user_id, metadata=metadata, limit=FOUND_MAX
        )
        keys = [hit["memory_key"] for hit in await self._not_rewound(found["results"], query, user_id)]
        read = await asyncio.gather(*(self._quire.memory(key) for key in keys), return_exceptions=True)
        return SearchMemoryResponse(memories=[_entry(memory) for memory in _present(read)])

    async def _not_rewound(self, hits: list[Json], query: str, user_id: str) -> list[Json]:
        """Return the hits without what a rewind took back: a search of its session, which is shown the branch, has it
        no more.
        """
        places = sorted({hit["conversation_id"] for hit in hits if hit["conversation_id"]})
        found = await asyncio.gather(*(self._quire.conversation(place) for place in places), return_exceptions=True)
        sessions = {
            place: conversation_of(kept["app_name"], kept["user_id"], kept["session_id"])
            for place, now in zip(places, found, strict=True)
            if not isinstance(now, BaseException)
            and (kept := now["metadata"].get("adk") or {}).keys() >= {"session_id"}
        }
        for name in sorted(set(sessions.values())):
            if (await self._quire.conversation(name))["id"] != name:
                line = await self._quire.search(
                    query[:QUERY_CHARACTERS_MAX], user_id=user_id, conversation_id=name, limit=FOUND_MAX
                )
                kept = {hit["memory_key"] for hit in line["results"]}
                hits = [h for h in hits if sessions.get(h["conversation_id"]) != name or h["memory_key"] in kept]
        return hits


def conversation_of(app_name: str, user_id: str, session_id: str) -> str:
    """Return the id of a session's conversation; Quire takes up to 128 characters."""
    return "/".join(quote(part, safe=" @:") for part in (app_name, user_id, session_id))


async def _create(quire: AsyncQuire, app_name: str, user_id: str, session: str, state: Json) -> Json | None:
    """Create a session's conversation and return it; None if it is there."""
    kept = {"app_name": app_name, "user_id": user_id, "session_id": session, "state": state}
    name = conversation_of(app_name, user_id, session)
    body = {"id": name, "user_id": user_id, "metadata": {"adk": kept}}
    try:
        made: Json = await quire.send(calls.write("POST", "/conversations", None, body))
    except Conflict:
        return None
    await quire.append(name, [BEGINNING])
    return made


async def _events(quire: AsyncQuire, name: str) -> list[Event]:
    """Return the events of a session; messages that other clients appended are none."""
    kept = [message["adk_event"] async for message in quire.history(name) if "adk_event" in message]
    return [Event.model_validate(event) for event in kept]


async def _newest(quire: AsyncQuire, name: str) -> str | None:
    """Return the id of the newest event; None where there is none, or another client's message follows it."""
    async for message in quire.history(name, newest_first=True, batch=1):
        return message["client_id"] if "adk_event" in message else None
    return None


async def _ids(quire: AsyncQuire, name: str) -> set[str]:
    return {message["client_id"] async for message in quire.history(name) if message["client_id"]}


def _session(found: Json, events: list[Event]) -> Session:
    kept = found["metadata"]["adk"]
    state = dict(kept["state"])
    for event in events:
        state.update(event.actions.state_delta)
    active = events[-1].timestamp if events else datetime.fromisoformat(found["updated_at"]).timestamp()
    named = {name: kept[name] for name in ("app_name", "user_id")}
    return Session(id=kept["session_id"], **named, state=state, events=events, last_update_time=active)


def _own_state(state: Mapping[str, Any]) -> Json:
    """Return the state that a session keeps. Raises ValueError for what would be lost."""
    foreign = [name for name in state if name.startswith((State.USER_PREFIX, State.APP_PREFIX))]
    if foreign:
        raise ValueError(f"Quire keeps the state of sessions only; it has no place for {', '.join(foreign)}")
    return {name: value for name, value in state.items() if not name.startswith(State.TEMP_PREFIX)}


def _message(event: Event) -> Json:
    """An event in Anthropic's form, one message each. Files are named, thoughts and empty events have no text."""
    whole = event.model_dump(mode="json", exclude_none=True)
    blocks: list[Json] = []
    results: list[Json] = []
    for part in whole.get("content", {}).get("parts", []):
        if call := part.get("function_call"):
            made = {"type": "tool_use", "id": call["id"], "name": call["name"], "input": call.get("args", {})}
            blocks.append(made)
        elif answer := part.get("function_response"):
            content = json.dumps(answer.get("response"), ensure_ascii=False)
            results.append({"type": "tool_result", "tool_use_id": answer["id"], "content": content})
        elif part.get("text") and not part.get("thought"):
            blocks.append({"type": "text", "text": part["text"]})
        elif "inline_data" in part or "file_data" in part:
            blocks.append({"type": "text", "text": "[file]"})
    role = "user" if results or event.author == "user" else "assistant"
    return {"role": role, "content": [*results, *blocks] or "", "client_id": event.id, "adk_event": whole}


def _text(content: types.Content) -> str:
    return "\n".join(part.text for part in content.parts or [] if part.text)


def _present(read: Sequence[Json | BaseException]) -> list[Json]:
    """Return what is still there. Raises any other error."""
    for one in read:
        if isinstance(one, BaseException) and not isinstance(one, NotFound):
            raise one
    return [one for one in read if not isinstance(one, BaseException)]


def _entry(memory: Json) -> MemoryEntry:
    text = types.Part(text=memory["content"][:ENTRY_CHARACTERS_MAX])
    content = types.Content(role="user", parts=[text])
    return MemoryEntry(
        content=content, id=memory["memory_key"], timestamp=memory["created_at"], custom_metadata=memory["metadata"]
    )
