"""Answer a question asked through the proxy: window → model → recall tools → model → … → the client and the store.

The answer is produced independently of the request (app.inflight), so it is completed and stored even if its reader
leaves; a client that repeats the request meanwhile reads along. Only complete answers are stored, and before their last
part is sent: a client that received the end can rely on the answer being stored, and one that did not can ask again. No
database connection is held during a model call.
"""

from __future__ import annotations

import asyncio
import json
import logging
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any

from app import errors
from app.concurrency import LONG_CHARACTERS, run_in_thread_if_large
from app.core.calibration import ReportedUsage
from app.core.canonical import dumps
from app.core.conversation import Conversation
from app.core.dialects.background import unstored
from app.core.dialects.deltas import Deltas
from app.core.dialects.inbound_chat import custom_names
from app.core.dialects.items import custom_call
from app.core.dialects.proxy import (
    CallsOfAnswer,
    names_of,
    offered,
    whose,
)
from app.core.dialects.question import ShownToClient
from app.core.dialects.stored import message as stored_message
from app.core.messages import read
from app.core.model import Context
from app.core.window.profile import budget_of
from app.core.window.render import origins
from app.ids import uuid7
from app.inflight import Answering
from app.providers import ProviderError, TemporaryError, UnusableReply
from app.providers.upstream import OverdueError, RefusalError, Upstream, is_final
from app.recall import tools
from app.runtime import Runtime
from app.services.conversations.context import context
from app.services.conversations.tail import ContextRequest
from app.services.proxy.events import scalars
from app.services.proxy.keeping import keep, mark_refused
from app.services.proxy.proxying import ProxyRequest, ProxyTurn
from app.services.proxy.watching import Watch, record
from app.services.proxy.writing import Telling, given_again, response_id, writer_of
from app.services.tools import tool_calls
from app.store import conversations, messages

KEPT = ("content", "refusal", "annotations", "audio")
"""What is stored of a model's message besides its calls."""

_logger = logging.getLogger(__name__)


async def answer(runtime: Runtime, upstream: Upstream, asked: ProxyTurn) -> Answering:
    """Return the turn that answers a request: one that is under way, one that was given, or a new one. Raises Busy."""
    turn = _current(runtime, asked)
    if turn is None and asked.answers:
        turn = await _stored(runtime, asked) or _current(runtime, asked)
    if turn is not None:
        return turn
    if len(runtime.turns.running) >= runtime.proxying.concurrency:
        raise errors.Busy("Too many answers are in progress. Try again.")
    return runtime.turns.start(asked.same, asked.through, lambda turn: _Work(runtime, upstream, asked, turn).run())


def _current(runtime: Runtime, asked: ProxyTurn) -> Answering | None:
    turn = runtime.turns.find(asked.same, asked.through)
    request = asked.request
    return turn if turn is not None and turn.is_for(request.arrived, retried=request.retried) else None


async def _stored(runtime: Runtime, asked: ProxyTurn) -> Answering | None:
    """Return the stored answer to the same request, if this process has none: the client may not have received it."""
    if runtime.turns.find(asked.same, asked.through) is not None:
        return None
    if not await asked.answer_key(asked.through).is_used(runtime.database, asked.tenant):
        return None
    async with runtime.database.snapshot(asked.tenant) as tx:
        rows = await messages.history(tx, asked.conversation.id, asked.answers[-1] - 1, 1, newest_first=False)
    return given_again(asked.request.question, rows[0])


@dataclass(frozen=True, slots=True)
class _Round:
    """The model's output in one call."""

    calls: CallsOfAnswer
    whole: dict[str, Any] = field(default_factory=dict)
    """The answer's body, where it was asked for in one piece."""


class _Work:
    """One answer in the making."""

    def __init__(self, runtime: Runtime, upstream: Upstream, asked: ProxyTurn, turn: Answering) -> None:
        self._runtime = runtime
        self._upstream = upstream
        self._asked = asked
        self._turn = turn
        self._request = asked.request
        self._question = question = asked.request.question
        self._tools = tuple(upstream.asked.tools(question))
        self._own = names_of(self._tools)
        self._model = str(question.options["model"])
        place = upstream.row(self._model).reasoning or ""
        self._deltas = Deltas(tools.BY_NAME, self._own, place if place.startswith("<") else "")
        self._names_field = False
        self._volatile = 0
        self._id = uuid7()
        writer = writer_of(question, self._id, int(time.time()), upstream.asked.dialect)
        self._telling = Telling(question, writer, turn)
        self._usage: dict[str, Any] | None = None
        self._watch = Watch("window")
        self._reported: ReportedUsage | None = None

    async def run(self) -> None:
        failure: Exception | str | None = errors.QuireError.title
        try:
            await self._answer_in_time()
            failure = None
        except (ProviderError, errors.QuireError) as error:
            failure = error
            if is_final(error) and not self._names_field:
                await mark_refused(self._runtime, self._asked)
            _logger.warning("no answer through the proxy: %s: %s", type(error).__name__, error)
            raise
        finally:
            self._watch.usage = self._usage
            await record(self._runtime, self._asked, self._watch, failure)

    async def _answer_in_time(self) -> None:
        seconds = self._runtime.proxying.seconds
        try:
            async with asyncio.timeout(seconds):
                await self._answer()
        except TimeoutError:
            raise OverdueError(f"The answer took more than {seconds:g} seconds.") from None

    async def _answer(self) -> None:
        rounds = self._runtime.proxying.rounds
        for number in range(rounds + 1):
            said = await self._ask(recalls=number < rounds)
            inner = said.calls.inner if number < rounds else []
            recalled = await self._recall(inner) if inner else []
            if recalled and not said.calls.outer:
                await self._store(recalled, inner=len(recalled))
                continue
            await self._end(said, recalled)
            return

    async def _ask(self, *, recalls: bool) -> _Round:
        window = await self._window()
        found = json.loads(window.body)
        messages_ = self._unanswered(window, found["messages"])
        offers = offered(self._tools, found["tools"][len(self._tools) :], recalls=recalls)
        shown = ShownToClient(messages_, found["system"], offers.tools, offers.calls)
        request = self._upstream.asked.request(self._question, shown)
        self._volatile = len(found["messages"]) - found["stable_messages"] if window.window.tail else 0
        self._watch.window_tokens = window.window.ledger.total
        span = self._runtime.tracing.span("chat", kind="CLIENT", model=str(self._question.options["model"]))
        before = self._prompt_tokens()
        with span, self._watch.call():
            said = await self._asked_once_more(request)
        if (prompt := self._prompt_tokens() - before) > 0:
            self._reported = ReportedUsage(window.window.ledger.total, prompt)
        return said

    async def _asked_once_more(self, request: Mapping[str, Any]) -> _Round:
        """Ask, and once more without what the API refuses of the request's form."""
        try:
            return await self._sent(request)
        except RefusalError as refused:
            lesson = self._upstream.lesson(request, refused)
            if lesson is None:
                raise
            self._names_field = lesson.names_field
            try:
                with self._upstream.learning(self._model, lesson):
                    return await self._sent(request)
            except RefusalError:
                raise refused from None

    async def _sent(self, request: Mapping[str, Any]) -> _Round:
        fitted = self._upstream.fitted(request, self._volatile)
        return await (self._stream(fitted) if fitted.get("stream") else self._complete(fitted))

    def _prompt_tokens(self) -> int:
        """Return the prompt tokens of all calls so far, if their API reports them."""
        return tokens if type(tokens := (self._usage or {}).get("prompt_tokens")) is int else 0

    async def _window(self) -> Context:
        """Return the window. Raises NotFound if the conversation was erased meanwhile."""
        request, known = self._request, self._asked.conversation
        model = str(self._question.options["model"])
        reserve = max(self._runtime.defaults.output_reserve, self._question.answer_tokens_max)
        budget = budget_of(
            replace(self._runtime.defaults, output_reserve=reserve),
            request.budget or (self._runtime.proxying.budget or None if known.budget is None else None),
            known.budget,
            model,
        )
        wanted = ContextRequest(
            budget=None if budget == known.budget else budget, tools=self._tools, bound_to=request.caller.user_id,
            sensitive=request.caller.sensitive, format=self._upstream.asked.window,
            recall=request.recall, carries=True,
        )  # fmt: skip
        window = await context(self._runtime, self._asked.tenant, known.id, wanted)
        if window.conversation_uid != known.uid:
            raise conversations.unknown()
        return window

    def _unanswered(self, window: Context, shown: list[Any]) -> list[Any]:
        """Return the window's messages without the answers that there are already, where another one is wanted."""
        if not self._asked.answers:
            return shown
        answers = range(self._asked.through + 1, self._asked.conversation.end.last_seq + 1)
        places = origins(window.window, window.system, self._upstream.asked.window)
        return [
            message
            for message, origin in zip(shown, places, strict=True)
            if not any(placed.seq in answers for placed in origin.placed)
        ]

    async def _stream(self, request: Mapping[str, Any]) -> _Round:
        self._deltas.begin()
        reader = self._upstream.asked.reader()
        async for event in self._upstream.stream(request, self._request.headers):
            self._watch.begun()
            try:
                chunks = reader.feed(event)
            except (LookupError, TypeError, AttributeError):
                raise UnusableReply("a part of the answer is malformed") from None
            for chunk in chunks:
                for passed in self._deltas.feed(chunk):
                    self._telling.feed(passed)
        if self._deltas.finish_reason is None:
            raise TemporaryError("the answer was cut off")
        for passed in self._deltas.end_round():
            self._telling.feed(passed)
        self._usage = self._deltas.usage
        return _Round(whose(self._deltas.calls, tools.BY_NAME, self._own))

    async def _complete(self, request: Mapping[str, Any]) -> _Round:
        body = scalars(dict(await self._upstream.complete(request)))
        self._watch.begun()
        choices = body.get("choices")
        message = choices[0].get("message") if isinstance(choices, list) and choices else None
        if not isinstance(message, dict):
            raise UnusableReply("the answer has no message")
        self._deltas.begin()
        reader = self._upstream.asked.reader()
        for event in self._upstream.asked.events(body):
            for chunk in reader.feed(event):
                self._deltas.feed(chunk)
        self._deltas.end_round()
        self._usage = self._deltas.usage
        return _Round(whose(self._deltas.calls, tools.BY_NAME, self._own), body)

    async def _recall(self, calls: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
        """Return the calls as a message, and their results."""
        asked, tenant = self._asked, self._asked.tenant
        asking = await tool_calls.asker(
            self._runtime, tenant, asked.request.caller.user_id, asked.conversation.id,
            sensitive=asked.request.caller.sensitive,
        )  # fmt: skip
        answers = [await tool_calls.run(self._runtime, tenant, asking, call) for call in map(_tool_call, calls)]
        await tool_calls.keep(self._runtime, tenant, asking, answers, "")
        carried = self._deltas.carried(self._model, calls)
        said = stored_message(self._deltas.parts, calls, None, carried=carried)
        results = [
            {"role": "tool", "tool_call_id": call["id"], "content": found.content}
            for call, found in zip(calls, answers, strict=True)
        ]
        return [said, *results]

    async def _end(self, said: _Round, recalled: Sequence[dict[str, Any]]) -> None:
        """Store the answer, then send its end."""
        deltas, outer = self._deltas, said.calls.outer
        reason = deltas.finish_reason or "stop"
        if not outer and reason == "tool_calls":
            reason = "stop"
        elif outer and reason == "stop":
            reason = "tool_calls"
        carried = deltas.carried(self._model, outer)
        if self._question.dialect == "chat":
            outer = [custom_call(call, custom_names(self._question.body)) for call in outer]
        message = stored_message(deltas.parts, outer, deltas.text, deltas.earlier, carried)
        if deltas.refusal:
            message["refusal"] = deltas.refusal
        if self._question.dialect == "responses" and self._question.body.get("store") is not False:
            message["id"] = response_id(self._id)
        body = said.whole
        if body:
            own = {name: body["choices"][0]["message"].get(name) for name in KEPT}
            message = {**{name: value for name, value in own.items() if value is not None}, **message}
        await self._store([*recalled, message], inner=len(recalled), answers=True)
        if self._reported is not None:
            self._runtime.turns.reported[self._asked.tenant, self._asked.conversation.uid] = self._reported
        if not body:
            self._telling.end(deltas.end(reason), self._usage)
            return
        shown = {**body["choices"][0]["message"], "role": "assistant", "content": message["content"]}
        shown.pop("tool_calls", None)
        if outer:
            shown["tool_calls"] = outer
        choice = {**body["choices"][0], "message": shown, "finish_reason": reason}
        usage = {"usage": self._usage} if self._usage is not None else {}
        self._turn.put(dumps({**body, "choices": [choice], **usage}).encode())
        self._turn.end()

    async def _store(self, said: Sequence[dict[str, Any]], *, inner: int, answers: bool = False) -> None:
        text = self._deltas.text
        seq = await keep(self._runtime, self._asked, said, inner=inner, answers=answers, text=text)
        self._watch.last_seq = seq or self._watch.last_seq


class _UnstoredWork(_Work):
    """An answer to a request in the background: the model sees the list itself, and nothing is kept."""

    async def run(self) -> None:
        try:
            await self._answer_in_time()
        except (ProviderError, errors.QuireError) as error:
            _logger.warning("no answer through the proxy: %s: %s", type(error).__name__, error)
            raise

    async def _window(self) -> Context:
        drafts = await run_in_thread_if_large(
            LONG_CHARACTERS + 1 if self._request.is_large else 0, read, list(self._question.messages),
            replace(self._runtime.defaults.limits, messages=self._runtime.defaults.limits.listed),
        )  # fmt: skip
        shown, system, window = unstored(drafts, self._upstream.asked.window)
        body = {"messages": shown, "system": system, "tools": list(self._tools), "stable_messages": len(shown)}
        return Context(dumps(body).encode(), "", window, self._asked.conversation.uid, system or "")

    async def _store(self, *_: Any, **__: Any) -> None:
        self._reported = None


def answer_unstored(runtime: Runtime, upstream: Upstream, request: ProxyRequest) -> Answering:
    """Return the turn that answers a request of which nothing is stored. Raises Busy."""
    if len(runtime.turns.running) >= runtime.proxying.concurrency:
        raise errors.Busy("Too many answers are in progress. Try again.")
    now = datetime.now(UTC)
    asked = ProxyTurn(request, Conversation("", uuid7(), now, now), 0, (), b"")
    return runtime.turns.start(uuid7(), 0, lambda turn: _UnstoredWork(runtime, upstream, asked, turn).run())


def _tool_call(call: Mapping[str, Any]) -> tool_calls.ToolCall:
    function = call["function"]
    try:
        arguments = json.loads(function["arguments"] or "{}")
    except (ValueError, RecursionError):
        arguments = None
    return tool_calls.checked(function["name"], arguments if isinstance(arguments, dict) else {})
