"""The synchronous and the asynchronous client."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from typing import Any, Literal, Self, cast

import httpx

from quire_client import calls, events
from quire_client.calls import Call, Time
from quire_client.errors import ConnectionFailed, Invalid, problem_of
from quire_client.retries import Retries
from quire_client.shapes import (
    Appended,
    AuditEntry,
    Json,
    ModelUsage,
    QuireEvent,
    Recalled,
    Searched,
    Synced,
    ToolResult,
    Webhook,
    Window,
)

Messages = Sequence[Mapping[str, Any]]
Format = Literal["openai", "anthropic"]
RecallScope = Literal["user", "conversation"]
Recall = Literal["auto", "off"]
OnFork = Literal["branch", "append", "error"]
Position = Literal["before", "after"]
Shares = Literal["none", "read", "write"]
By = Literal["user", "tenant", "conversation", "model"]

URL = "http://127.0.0.1:8000"
TIMEOUT_SECONDS = 60.0


class Quire:
    """Client of a Quire service. Use it as a context manager, or `close` it."""

    def __init__(
        self,
        url: str = URL,
        *,
        api_key: str | None = None,
        timeout: float = TIMEOUT_SECONDS,
        retries: Retries = Retries(),  # noqa: B008 - frozen
        transport: httpx.BaseTransport | None = None,
    ) -> None:
        self._http = httpx.Client(
            base_url=base_url(url), headers=_headers(api_key), timeout=timeout, transport=transport
        )
        self._retries = retries

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self._http.close()

    def send(self, call: Call) -> Any:
        """Send any request. Returns the response's JSON or raises an error."""
        request = _request(self._http, call)
        failures = 0
        while True:
            failures += 1
            answer, error = None, None
            try:
                answer = self._http.send(request)
                if answer.is_success:
                    return answer.json() if answer.content else None
            except httpx.TransportError as failed:
                error = failed
            pause = self._retries.before_next(failures, answer)
            if pause is None:
                raise _error(self._http, answer, error) from error
            time.sleep(pause)

    def _pages(self, path: str, **params: Any) -> Iterator[Any]:
        cursor: str | None = ""
        while cursor is not None:
            answer = self.send(calls.read(path, cursor=cursor or None, **params))
            yield from answer["items"]
            cursor = answer["next_cursor"]

    # --- Conversations ---

    def append(
        self, conversation: str, messages: Messages, *, user_id: str | None = None, system: str | None = None,
        reported_usage: Mapping[str, int] | None = None, key: str | None = None,
    ) -> Appended:  # fmt: skip
        """Store messages, all or none. `user_id` creates a new conversation. `reported_usage` is what
        the model's API counted: its `prompt_tokens`, and the `window_tokens` (`usage.total`) of the window before.
        """
        return cast(Appended, self.send(calls.append(conversation, messages, user_id, system, reported_usage, key)))

    def sync(
        self, conversation: str, messages: Messages, *, user_id: str | None = None, system: str | None = None,
        reported_usage: Mapping[str, int] | None = None, on_fork: OnFork = "branch",
    ) -> Synced:  # fmt: skip
        """Store what is new in your own message list. Long lists are stored in several steps."""
        whole = calls.sync(conversation, messages, user_id, system, reported_usage, on_fork)
        while True:
            try:
                return cast(Synced, self.send(whole))
            except Invalid as error:
                beginning = messages[: _next_end(error)]
            self.send(calls.sync(conversation, beginning, user_id, system, reported_usage, on_fork))

    def fork(
        self, conversation: str, at: int | str | None = None, position: Position = "after", *, id: str | None = None,  # noqa: A002
        title: str | None = None, shares: Shares | None = None, key: str | None = None,
    ) -> Json:  # fmt: skip
        """Make a branch that shares everything up to a message (its `seq` or id; the newest), and goes on by itself."""
        return cast(Json, self.send(calls.fork(conversation, at, position, id, title, shares, key)))

    def report(
        self, conversation: str, text: str | None = None, *, at: int | str | None = None, key: str | None = None
    ) -> Json:
        """Write a result of a branch or a sub-agent back to its parent, once: a text, or an answer (the newest)."""
        return cast(Json, self.send(calls.report(conversation, text, at, key)))

    def branches(self, conversation: str, *, batch: int = 200) -> Iterator[Json]:
        """Iterate over the branches of a conversation's tree, the latest activity first."""
        return self._pages(calls.conversation(conversation, "branches"), limit=batch)

    def context(
        self, conversation: str, *, budget: int | None = None, model: str | None = None, query: str | None = None,
        recall_max_tokens: int | None = None, recall_scope: RecallScope | None = None, recall: Recall | None = None,
        speaker: str | None = None, load: Sequence[str] = (), pages: Sequence[int] = (), format: Format = "openai",  # noqa: A002
        system: str | None = None,
        tools: Sequence[Mapping[str, Any]] = (),
    ) -> Window:  # fmt: skip
        """Get the window for the next model call. `query` brings in memories that answer it; `recall_max_tokens` caps
        them. Without one the newest user message brings in what answers it, unless `recall` is "off". `system`
        replaces the conversation's own; `tools` are yours. In a space, `speaker` names the participant it is for.
        """
        return Window.of(
            self.send(
                calls.ask(
                    calls.conversation(conversation, "context"), budget=budget, model=model, query=query,
                    recall_max_tokens=recall_max_tokens, recall_scope=recall_scope, recall=recall, speaker=speaker,
                    load=list(load),
                    pages=list(pages), format=format, system=system, tools=list(tools),
                )
            )
        )  # fmt: skip

    def history(self, conversation: str, *, newest_first: bool = False, batch: int = 1000) -> Iterator[Json]:
        """Iterate over all messages as they were sent, oldest first, fetching `batch` at a time."""
        order = "desc" if newest_first else "asc"
        return self._pages(calls.conversation(conversation, "messages"), limit=batch, order=order)

    def windows(self, conversation: str, *, batch: int = 100) -> Iterator[Json]:
        """Iterate over the records of the windows that were served, newest first, fetching `batch` at a time."""
        return self._pages(calls.conversation(conversation, "windows"), limit=batch)

    def window(self, conversation: str, number: int) -> Json:
        """Get a window back as it was served; `verified` says whether it is the same byte for byte."""
        return cast(Json, self.send(calls.read(calls.conversation(conversation, "windows", str(number)))))

    def window_changes(self, conversation: str, number: int, *, since: int | None = None) -> Json:
        """Get what came into a served window and what went out, and why, since another; by default the one before."""
        path = calls.conversation(conversation, "windows", str(number), "diff")
        return cast(Json, self.send(calls.read(path, **{"from": since})))

    def why(self, conversation: str, seq: int, *, budget: int | None = None) -> Json:
        """Get a message's place in the window of now, and the `recalls` that bring it back, with their tokens."""
        return cast(Json, self.send(calls.read(calls.conversation(conversation, "why"), seq=seq, budget=budget)))

    def conversation(self, conversation: str) -> Json:
        return cast(Json, self.send(calls.read(calls.conversation(conversation))))

    def status(self, conversation: str) -> Json:
        """Get the progress of background work."""
        return cast(Json, self.send(calls.read(calls.conversation(conversation, "status"))))

    def delete(self, conversation: str, *, key: str | None = None) -> Json:
        """Erase a conversation. Returns the number of deleted rows per table."""
        return cast(Json, self.send(calls.write("DELETE", calls.conversation(conversation), key)))

    # --- Tools ---

    def tools(self, *, format: Literal["openai", "anthropic", "mcp", "attp"] = "openai") -> Json:  # noqa: A002
        """Get the recall tools' schemas and their guide."""
        return cast(Json, self.send(calls.read("/tools", format=format)))

    def call_tool(
        self, conversation: str, name: str, arguments: Mapping[str, Any] | None = None, *, key: str | None = None
    ) -> ToolResult:
        """Run a recall tool that the model called. The model's mistakes are in the result, not raised."""
        path = calls.conversation(conversation, "tools", name)
        return cast(ToolResult, self.send(calls.write("POST", path, key, {"arguments": dict(arguments or {})})))

    # --- Archive and memories ---

    def archive(
        self, tool_name: str, result: str, *, tool_input: Any = "", user_id: str | None = None,
        conversation: str | None = None, sources: Sequence[str] = (), key: str | None = None,
    ) -> Json:  # fmt: skip
        """Archive a tool result if it is long. Show the model its `placeholder`."""
        return cast(Json, self.send(calls.archive(tool_name, result, tool_input, user_id, conversation, sources, key)))

    def load_archive(
        self, uuid: str, *, query: str | None = None, max_tokens: int | None = None, offset: int | None = None,
        length: int | None = None,
    ) -> Json:  # fmt: skip
        path = f"/archive/{uuid}"
        return cast(Json, self.send(calls.read(path, query=query, max_tokens=max_tokens, offset=offset, length=length)))

    def remember(
        self, content: str, *, user_id: str | None = None, name: str | None = None, key: str | None = None, **more: Any
    ) -> Json:  # fmt: skip
        """Store a memory; of a `name`, the `key` in the API, the latest holds. `more`: conversation_id, pinned,
        scope, valid_from, memory_type, keywords, metadata, sensitivity, expires_at, …
        """
        body = {"content": content, **calls.given(user_id=user_id, **more, **({} if name is None else {"key": name}))}
        return cast(Json, self.send(calls.write("POST", "/memories", key, body)))

    def memory(self, key: str) -> Json:
        return cast(Json, self.send(calls.read(f"/memories/{key}")))

    def memories(self, *, user_id: str | None = None, **more: Any) -> list[Json]:
        """List memories. `more`: conversation_id, scope, key, pinned, status, as_of, known_at, limit, …"""
        return cast(list[Json], (self.send(calls.read("/memories", user_id=user_id, **more)))["items"])

    def change_memory(self, memory: str, *, key: str | None = None, **changes: Any) -> Json:
        """Change a memory: content, pinned, status (`held` accepts a proposal), valid_from, valid_to, sensitivity."""
        return cast(Json, self.send(calls.write("PATCH", f"/memories/{memory}", key, changes)))

    def versions(self, memory: str, **more: Any) -> list[Json]:
        """List what a memory's key said over time, the latest first."""
        return cast(list[Json], (self.send(calls.read(f"/memories/{memory}/versions", **more)))["items"])

    def forget(self, key: str) -> Json:
        return cast(Json, self.send(calls.write("DELETE", f"/memories/{key}", None)))

    def search(self, query: str, *, user_id: str | None = None, **more: Any) -> Searched:
        """Search memories. `more`: conversation_id, search_mode, keywords, memory_types, time_range_days, limit, …"""
        return cast(Searched, self.send(calls.ask("/memories/search", query=query, user_id=user_id, **more)))

    def recall(self, query: str | None = None, *, user_id: str | None = None, **more: Any) -> Recalled:
        """Run the recall agent. `more`: conversation_id, max_iterations."""
        return cast(Recalled, self.send(calls.ask("/memories/recall", query=query, user_id=user_id, **more)))

    # --- Spaces ---

    def create_space(self, *, key: str | None = None, **more: Any) -> Json:
        """Create a space. `more`: id, name, members (`{"ann": "write"}`), participants, metadata."""
        return cast(Json, self.send(calls.write("POST", "/spaces", key, more)))

    def spaces(self, *, user_id: str | None = None, **more: Any) -> list[Json]:
        """List spaces: all, or a user's."""
        return cast(list[Json], (self.send(calls.read("/spaces", user_id=user_id, **more)))["items"])

    def members(self, space: str, **more: Any) -> list[Json]:
        return cast(list[Json], (self.send(calls.read(calls.path("spaces", space, "members"), **more)))["items"])

    def put_member(self, space: str, user: str, right: str = "write", *, key: str | None = None) -> Json:
        """Make a user a member who reads (`read`) or writes too (`write`)."""
        path = calls.path("spaces", space, "members", user)
        return cast(Json, self.send(calls.write("PUT", path, key, {"right": right})))

    def remove_member(self, space: str, user: str, *, key: str | None = None) -> Json:
        """Remove a member: from the next request on they see nothing of the space."""
        return cast(Json, self.send(calls.write("DELETE", calls.path("spaces", space, "members", user), key)))

    def change_space(self, space: str, *, key: str | None = None, **changes: Any) -> Json:
        """Change a space: name, participants (`{"Lin": "ann"}`: names of messages), metadata."""
        return cast(Json, self.send(calls.write("PATCH", calls.path("spaces", space), key, changes)))

    def delete_space(self, space: str, *, key: str | None = None) -> Json:
        """Erase a space with its conversations and memories."""
        return cast(Json, self.send(calls.write("DELETE", calls.path("spaces", space), key)))

    # --- What is kept in mind ---

    def notes(self, conversation: str) -> list[Json]:
        return cast(list[Json], self.send(calls.read(calls.conversation(conversation, "notes")))["items"])

    def add_note(self, conversation: str, text: str, *, key: str | None = None) -> Json:
        path = calls.conversation(conversation, "notes")
        return cast(Json, self.send(calls.write("POST", path, key, {"text": text})))

    def change_note(self, conversation: str, note: str, text: str, *, key: str | None = None) -> Json:
        path = calls.conversation(conversation, "notes", note)
        return cast(Json, self.send(calls.write("PUT", path, key, {"text": text})))

    def remove_note(self, conversation: str, note: str, *, key: str | None = None) -> None:
        self.send(calls.write("DELETE", calls.conversation(conversation, "notes", note), key))

    # --- What an operator asks ---

    def events(self, *, after: int | None = None, wait: bool = True) -> Iterator[QuireEvent]:
        """Iterate over the tenant's events after a sequence number, by default from now on, until the client or the
        iterator is closed; without `wait` until all that is stored was read. A stream that breaks off is resumed.
        """
        following = events.Following(after, self._retries, wait=wait)
        patient = events.timeout(self._http.timeout)
        while not self._http.is_closed:
            answer, error = None, None
            try:
                with self._http.stream("GET", "/events", params=following.query(), timeout=patient) as answer:
                    if answer.is_success:
                        following.opened(answer.headers)
                        for piece in answer.iter_bytes():
                            yield from following.read(piece)
                        if not wait:
                            return
                    answer.read()
            except httpx.TransportError as failed:
                error = failed
            pause = following.pause(answer if error is None else None)
            if pause is None:
                raise _error(self._http, answer, error) from error
            time.sleep(pause)

    def usage(self, by: By = "tenant", *, since: Time | None = None, batch: int = 200) -> Iterator[ModelUsage]:
        """Iterate over model calls, tokens and cost since a day, by default 30 days ago."""
        return self._pages("/usage", by=by, since=calls.time_text(since), limit=batch)

    def audit(
        self, *, since: Time | None = None, action: Literal["read", "erase"] | None = None,
        user_id: str | None = None, batch: int = 200,
    ) -> Iterator[AuditEntry]:  # fmt: skip
        """Iterate over the log of reads and erasures, oldest first. It is empty unless the service keeps one."""
        return self._pages("/audit", since=calls.time_text(since), action=action, user_id=user_id, limit=batch)

    def webhooks(self) -> list[Webhook]:
        return cast(list[Webhook], (self.send(calls.read("/webhooks")))["items"])

    def add_webhook(self, url: str, types: Sequence[str] = (), *, key: str | None = None) -> Webhook:
        """Have events of these types, by default all, sent to a URL. `secret`, to verify them, is shown this once."""
        body = {"url": url, "types": list(types)}
        return cast(Webhook, self.send(calls.write("POST", "/webhooks", key, body)))

    def delete_webhook(self, webhook: str, *, key: str | None = None) -> Webhook:
        return cast(Webhook, self.send(calls.write("DELETE", calls.path("webhooks", webhook), key)))


class AsyncQuire:
    """The client for asyncio. Its connections belong to the event loop that first used them."""

    def __init__(
        self,
        url: str = URL,
        *,
        api_key: str | None = None,
        timeout: float = TIMEOUT_SECONDS,
        retries: Retries = Retries(),  # noqa: B008 - frozen
        transport: httpx.AsyncBaseTransport | None = None,
    ) -> None:
        self._http = httpx.AsyncClient(
            base_url=base_url(url), headers=_headers(api_key), timeout=timeout, transport=transport
        )
        self._retries = retries

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        await self._http.aclose()

    async def send(self, call: Call) -> Any:
        """Send any request. Returns the response's JSON or raises an error."""
        request = _request(self._http, call)
        failures = 0
        while True:
            failures += 1
            answer, error = None, None
            try:
                answer = await self._http.send(request)
                if answer.is_success:
                    return answer.json() if answer.content else None
            except httpx.TransportError as failed:
                error = failed
            pause = self._retries.before_next(failures, answer)
            if pause is None:
                raise _error(self._http, answer, error) from error
            await asyncio.sleep(pause)

    async def _pages(self, path: str, **params: Any) -> AsyncIterator[Any]:
        cursor: str | None = ""
        while cursor is not None:
            answer = await self.send(calls.read(path, cursor=cursor or None, **params))
            for item in answer["items"]:
                yield item
            cursor = answer["next_cursor"]

    # --- Conversations ---

    async def append(
        self, conversation: str, messages: Messages, *, user_id: str | None = None, system: str | None = None,
        reported_usage: Mapping[str, int] | None = None, key: str | None = None,
    ) -> Appended:  # fmt: skip
        """Store messages, all or none. `user_id` creates a new conversation. `reported_usage` is what
        the model's API counted: its `prompt_tokens`, and the `window_tokens` (`usage.total`) of the window before.
        """
        return cast(
            Appended, await self.send(calls.append(conversation, messages, user_id, system, reported_usage, key))
        )

    async def sync(
        self, conversation: str, messages: Messages, *, user_id: str | None = None, system: str | None = None,
        reported_usage: Mapping[str, int] | None = None, on_fork: OnFork = "branch",
    ) -> Synced:  # fmt: skip
        """Store what is new in your own message list. Long lists are stored in several steps."""
        whole = calls.sync(conversation, messages, user_id, system, reported_usage, on_fork)
        while True:
            try:
                return cast(Synced, await self.send(whole))
            except Invalid as error:
                beginning = messages[: _next_end(error)]
            await self.send(calls.sync(conversation, beginning, user_id, system, reported_usage, on_fork))

    async def fork(
        self, conversation: str, at: int | str | None = None, position: Position = "after", *, id: str | None = None,  # noqa: A002
        title: str | None = None, shares: Shares | None = None, key: str | None = None,
    ) -> Json:  # fmt: skip
        """Make a branch that shares everything up to a message (its `seq` or id; the newest), and goes on by itself."""
        return cast(Json, await self.send(calls.fork(conversation, at, position, id, title, shares, key)))

    async def report(
        self, conversation: str, text: str | None = None, *, at: int | str | None = None, key: str | None = None
    ) -> Json:
        """Write a result of a branch or a sub-agent back to its parent, once: a text, or an answer (the newest)."""
        return cast(Json, await self.send(calls.report(conversation, text, at, key)))

    def branches(self, conversation: str, *, batch: int = 200) -> AsyncIterator[Json]:
        """Iterate over the branches of a conversation's tree, the latest activity first."""
        return self._pages(calls.conversation(conversation, "branches"), limit=batch)

    async def context(
        self, conversation: str, *, budget: int | None = None, model: str | None = None, query: str | None = None,
        recall_max_tokens: int | None = None, recall_scope: RecallScope | None = None, recall: Recall | None = None,
        speaker: str | None = None, load: Sequence[str] = (), pages: Sequence[int] = (), format: Format = "openai",  # noqa: A002
        system: str | None = None,
        tools: Sequence[Mapping[str, Any]] = (),
    ) -> Window:  # fmt: skip
        """Get the window for the next model call. `query` brings in memories that answer it; `recall_max_tokens` caps
        them. Without one the newest user message brings in what answers it, unless `recall` is "off". `system`
        replaces the conversation's own; `tools` are yours. In a space, `speaker` names the participant it is for.
        """
        return Window.of(
            await self.send(
                calls.ask(
                    calls.conversation(conversation, "context"), budget=budget, model=model, query=query,
                    recall_max_tokens=recall_max_tokens, recall_scope=recall_scope, recall=recall, speaker=speaker,
                    load=list(load),
                    pages=list(pages), format=format, system=system, tools=list(tools),
                )
            )
        )  # fmt: skip

    def history(self, conversation: str, *, newest_first: bool = False, batch: int = 1000) -> AsyncIterator[Json]:
        """Iterate over all messages as they were sent, oldest first, fetching `batch` at a time."""
        order = "desc" if newest_first else "asc"
        return self._pages(calls.conversation(conversation, "messages"), limit=batch, order=order)

    def windows(self, conversation: str, *, batch: int = 100) -> AsyncIterator[Json]:
        """Iterate over the records of the windows that were served, newest first, fetching `batch` at a time."""
        return self._pages(calls.conversation(conversation, "windows"), limit=batch)

    async def window(self, conversation: str, number: int) -> Json:
        """Get a window back as it was served; `verified` says whether it is the same byte for byte."""
        return cast(Json, await self.send(calls.read(calls.conversation(conversation, "windows", str(number)))))

    async def window_changes(self, conversation: str, number: int, *, since: int | None = None) -> Json:
        """Get what came into a served window and what went out, and why, since another; by default the one before."""
        path = calls.conversation(conversation, "windows", str(number), "diff")
        return cast(Json, await self.send(calls.read(path, **{"from": since})))

    async def why(self, conversation: str, seq: int, *, budget: int | None = None) -> Json:
        """Get a message's place in the window of now, and the `recalls` that bring it back, with their tokens."""
        return cast(Json, await self.send(calls.read(calls.conversation(conversation, "why"), seq=seq, budget=budget)))

    async def conversation(self, conversation: str) -> Json:
        return cast(Json, await self.send(calls.read(calls.conversation(conversation))))

    async def status(self, conversation: str) -> Json:
        """Get the progress of background work."""
        return cast(Json, await self.send(calls.read(calls.conversation(conversation, "status"))))

    async def delete(self, conversation: str, *, key: str | None = None) -> Json:
        """Erase a conversation. Returns the number of deleted rows per table."""
        return cast(Json, await self.send(calls.write("DELETE", calls.conversation(conversation), key)))

    # --- Tools ---

    async def tools(self, *, format: Literal["openai", "anthropic", "mcp", "attp"] = "openai") -> Json:  # noqa: A002
        """Get the recall tools' schemas and their guide."""
        return cast(Json, await self.send(calls.read("/tools", format=format)))

    async def call_tool(
        self, conversation: str, name: str, arguments: Mapping[str, Any] | None = None, *, key: str | None = None
    ) -> ToolResult:
        """Run a recall tool that the model called. The model's mistakes are in the result, not raised."""
        path = calls.conversation(conversation, "tools", name)
        return cast(ToolResult, await self.send(calls.write("POST", path, key, {"arguments": dict(arguments or {})})))

    # --- Archive and memories ---

    async def archive(
        self, tool_name: str, result: str, *, tool_input: Any = "", user_id: str | None = None,
        conversation: str | None = None, sources: Sequence[str] = (), key: str | None = None,
    ) -> Json:  # fmt: skip
        """Archive a tool result if it is long. Show the model its `placeholder`."""
        return cast(
            Json, await self.send(calls.archive(tool_name, result, tool_input, user_id, conversation, sources, key))
        )

    async def load_archive(
        self, uuid: str, *, query: str | None = None, max_tokens: int | None = None, offset: int | None = None,
        length: int | None = None,
    ) -> Json:  # fmt: skip
        path = f"/archive/{uuid}"
        return cast(
            Json, await self.send(calls.read(path, query=query, max_tokens=max_tokens, offset=offset, length=length))
        )

    async def remember(
        self, content: str, *, user_id: str | None = None, name: str | None = None, key: str | None = None, **more: Any
    ) -> Json:  # fmt: skip
        """Store a memory; of a `name`, the `key` in the API, the latest holds. `more`: conversation_id, pinned,
        scope, valid_from, memory_type, keywords, metadata, sensitivity, expires_at, …
        """
        body = {"content": content, **calls.given(user_id=user_id, **more, **({} if name is None else {"key": name}))}
        return cast(Json, await self.send(calls.write("POST", "/memories", key, body)))

    async def memory(self, key: str) -> Json:
        return cast(Json, await self.send(calls.read(f"/memories/{key}")))

    async def memories(self, *, user_id: str | None = None, **more: Any) -> list[Json]:
        """List memories. `more`: conversation_id, scope, key, pinned, status, as_of, known_at, limit, …"""
        return cast(list[Json], (await self.send(calls.read("/memories", user_id=user_id, **more)))["items"])

    async def change_memory(self, memory: str, *, key: str | None = None, **changes: Any) -> Json:
        """Change a memory: content, pinned, status (`held` accepts a proposal), valid_from, valid_to, sensitivity."""
        return cast(Json, await self.send(calls.write("PATCH", f"/memories/{memory}", key, changes)))

    async def versions(self, memory: str, **more: Any) -> list[Json]:
        """List what a memory's key said over time, the latest first."""
        return cast(list[Json], (await self.send(calls.read(f"/memories/{memory}/versions", **more)))["items"])

    async def forget(self, key: str) -> Json:
        return cast(Json, await self.send(calls.write("DELETE", f"/memories/{key}", None)))

    async def search(self, query: str, *, user_id: str | None = None, **more: Any) -> Searched:
        """Search memories. `more`: conversation_id, search_mode, keywords, memory_types, time_range_days, limit, …"""
        return cast(Searched, await self.send(calls.ask("/memories/search", query=query, user_id=user_id, **more)))

    async def recall(self, query: str | None = None, *, user_id: str | None = None, **more: Any) -> Recalled:
        """Run the recall agent. `more`: conversation_id, max_iterations."""
        return cast(Recalled, await self.send(calls.ask("/memories/recall", query=query, user_id=user_id, **more)))

    # --- Spaces ---

    async def create_space(self, *, key: str | None = None, **more: Any) -> Json:
        """Create a space. `more`: id, name, members (`{"ann": "write"}`), participants, metadata."""
        return cast(Json, await self.send(calls.write("POST", "/spaces", key, more)))

    async def spaces(self, *, user_id: str | None = None, **more: Any) -> list[Json]:
        """List spaces: all, or a user's."""
        return cast(list[Json], (await self.send(calls.read("/spaces", user_id=user_id, **more)))["items"])

    async def members(self, space: str, **more: Any) -> list[Json]:
        return cast(list[Json], (await self.send(calls.read(calls.path("spaces", space, "members"), **more)))["items"])

    async def put_member(self, space: str, user: str, right: str = "write", *, key: str | None = None) -> Json:
        """Make a user a member who reads (`read`) or writes too (`write`)."""
        path = calls.path("spaces", space, "members", user)
        return cast(Json, await self.send(calls.write("PUT", path, key, {"right": right})))

    async def remove_member(self, space: str, user: str, *, key: str | None = None) -> Json:
        """Remove a member: from the next request on they see nothing of the space."""
        return cast(Json, await self.send(calls.write("DELETE", calls.path("spaces", space, "members", user), key)))

    async def change_space(self, space: str, *, key: str | None = None, **changes: Any) -> Json:
        """Change a space: name, participants (`{"Lin": "ann"}`: names of messages), metadata."""
        return cast(Json, await self.send(calls.write("PATCH", calls.path("spaces", space), key, changes)))

    async def delete_space(self, space: str, *, key: str | None = None) -> Json:
        """Erase a space with its conversations and memories."""
        return cast(Json, await self.send(calls.write("DELETE", calls.path("spaces", space), key)))

    # --- What is kept in mind ---

    async def notes(self, conversation: str) -> list[Json]:
        return cast(list[Json], (await self.send(calls.read(calls.conversation(conversation, "notes"))))["items"])

    async def add_note(self, conversation: str, text: str, *, key: str | None = None) -> Json:
        path = calls.conversation(conversation, "notes")
        return cast(Json, await self.send(calls.write("POST", path, key, {"text": text})))

    async def change_note(self, conversation: str, note: str, text: str, *, key: str | None = None) -> Json:
        path = calls.conversation(conversation, "notes", note)
        return cast(Json, await self.send(calls.write("PUT", path, key, {"text": text})))

    async def remove_note(self, conversation: str, note: str, *, key: str | None = None) -> None:
        await self.send(calls.write("DELETE", calls.conversation(conversation, "notes", note), key))

    # --- What an operator asks ---

    async def events(self, *, after: int | None = None, wait: bool = True) -> AsyncIterator[QuireEvent]:
        """Iterate over the tenant's events after a sequence number, by default from now on, until the client or the
        iterator is closed; without `wait` until all that is stored was read. A stream that breaks off is resumed.
        """
        following = events.Following(after, self._retries, wait=wait)
        patient = events.timeout(self._http.timeout)
        while not self._http.is_closed:
            answer, error = None, None
            try:
                async with self._http.stream("GET", "/events", params=following.query(), timeout=patient) as answer:
                    if answer.is_success:
                        following.opened(answer.headers)
                        async for piece in answer.aiter_bytes():
                            for event in following.read(piece):
                                yield event
                        if not wait:
                            return
                    await answer.aread()
            except httpx.TransportError as failed:
                error = failed
            pause = following.pause(answer if error is None else None)
            if pause is None:
                raise _error(self._http, answer, error) from error
            await asyncio.sleep(pause)

    def usage(self, by: By = "tenant", *, since: Time | None = None, batch: int = 200) -> AsyncIterator[ModelUsage]:
        """Iterate over model calls, tokens and cost since a day, by default 30 days ago."""
        return self._pages("/usage", by=by, since=calls.time_text(since), limit=batch)

    def audit(
        self, *, since: Time | None = None, action: Literal["read", "erase"] | None = None,
        user_id: str | None = None, batch: int = 200,
    ) -> AsyncIterator[AuditEntry]:  # fmt: skip
        """Iterate over the log of reads and erasures, oldest first. It is empty unless the service keeps one."""
        return self._pages("/audit", since=calls.time_text(since), action=action, user_id=user_id, limit=batch)

    async def webhooks(self) -> list[Webhook]:
        return cast(list[Webhook], (await self.send(calls.read("/webhooks")))["items"])

    async def add_webhook(self, url: str, types: Sequence[str] = (), *, key: str | None = None) -> Webhook:
        """Have events of these types, by default all, sent to a URL. `secret`, to verify them, is shown this once."""
        body = {"url": url, "types": list(types)}
        return cast(Webhook, await self.send(calls.write("POST", "/webhooks", key, body)))

    async def delete_webhook(self, webhook: str, *, key: str | None = None) -> Webhook:
        return cast(Webhook, await self.send(calls.write("DELETE", calls.path("webhooks", webhook), key)))


def _headers(api_key: str | None) -> dict[str, str]:
    return {"Authorization": f"Bearer {api_key}"} if api_key else {}


def _request(http: httpx.Client | httpx.AsyncClient, call: Call) -> httpx.Request:
    headers = {"Idempotency-Key": call.key} if call.key else None
    return http.build_request(call.method, call.path, params=call.params or None, json=call.body, headers=headers)


def base_url(url: str) -> str:
    """Return the address of a service. Raises ValueError for what is none, with what to write instead."""
    if not url.startswith(("http://", "https://")):
        raise ValueError(f"{url!r} is not the address of a Quire: write it with its scheme, as {URL!r}")
    bare = url.rstrip("/")
    if bare.endswith("/v1"):
        raise ValueError(f"{url!r} is the address of the proxy: without `/v1`, as {bare[:-3]!r}, it is Quire's own")
    return bare


def _error(
    http: httpx.Client | httpx.AsyncClient, answer: httpx.Response | None, error: httpx.TransportError | None
) -> Exception:
    if answer is None:
        return ConnectionFailed(f"{http.base_url}: {type(error).__name__}: {error}")
    try:
        problem = answer.json()
    except ValueError:
        problem = None
    return problem_of(answer.status_code, problem if isinstance(problem, dict) else {"detail": answer.text[:500]})


def _next_end(error: Invalid) -> int:
    """Return how much of a list with too many new messages can be synced next. Raises any other error."""
    if "messages_max" not in error.extra:
        raise error
    return int(error.extra["matched"]) + int(error.extra["messages_max"])
