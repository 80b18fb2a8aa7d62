"""Answering what was asked through the proxy: window → model → recall tools → model → … → the client and the store.

The answer is made beside the request that asked for it (app.inflight), so it is finished and stored when its reader
leaves; who asks the same again meanwhile reads along. Only whole answers are stored, and before their last part is
sent: a client that has seen the end of an answer finds it stored, and one that has not may ask again. No connection to
the database is held while a model is asked.
"""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any

from app import errors
from app.core.calibration import ReportedUsage
from app.core.canonical import dumps
from app.core.conversation import Conversation
from app.core.deltas import Deltas
from app.core.messages import Limits, read
from app.core.model import Context
from app.core.preparation import Arrival
from app.core.profile import budget_of
from app.core.proxy import Calls, added, joined, names_of, newest_user_text, offered, sound_calls, whose
from app.core.render import origins
from app.inflight import Turn
from app.postgres.database import Connection
from app.providers import ProviderError, TemporaryError, UnusableReply
from app.providers.upstream import OverdueError, Upstream
from app.recall import tools
from app.runtime import Runtime
from app.services.conversations.append import append
from app.services.conversations.context import context
from app.services.conversations.requests import ProxyAnswer
from app.services.conversations.tail import ContextRequest
from app.services.proxy.proxying import Asked
from app.services.tools import tool_calls
from app.store import conversations, messages, spending
from app.text.language import scalar

STORE_TRIES = 6
STORE_PAUSE_SECONDS = 0.25
"""Before the second try to store an answer; twice as long before each further one."""
UNLIMITED = Limits(message_chars=2**40, result_chars=2**40)
KEPT = ("content", "refusal", "annotations", "audio")
"""What is stored of a model's message besides its calls."""
DONE = b"data: [DONE]\n\n"

_logger = logging.getLogger(__name__)


async def answer(runtime: Runtime, upstream: Upstream, asked: Asked) -> Turn:
    """The turn that answers a request: one that is under way, one that was given, or a new one. Raises Busy."""
    turn = _current(runtime, asked)
    if turn is None and asked.answers:
        turn = await _stored(runtime, asked) or _current(runtime, asked)
    if turn is not None:
        return turn
    if len(runtime.turns.running) >= runtime.settings.quire_proxy_concurrency:
        raise errors.Busy("Too many answers are in progress. Try again.")
    return runtime.turns.start(asked.same, asked.through, lambda turn: _Work(runtime, upstream, asked, turn).run())


def _current(runtime: Runtime, asked: Asked) -> Turn | None:
    turn = runtime.turns.find(asked.same, asked.through)
    request = asked.request
    return turn if turn is not None and turn.is_for(request.arrived, retried=request.retried) else None


async def _stored(runtime: Runtime, asked: Asked) -> Turn | None:
    """The stored answer to the same request, if this process knows nothing of it: given again, for whoever asked may
    not have had it.
    """
    if runtime.turns.find(asked.same, asked.through) is not None:
        return None
    if not await asked.answer_key(asked.through).is_used(runtime.database, asked.tenant):
        return None
    async with runtime.database.snapshot(asked.tenant) as connection:
        rows = await messages.history(
            connection, asked.tenant, asked.conversation.id, asked.answers[-1] - 1, 1, newest_first=False
        )
    turn = Turn()
    message = json.loads(rows[0]["body"])
    whole = {
        "id": f"chatcmpl-{rows[0]['id']}",
        "object": "chat.completion",
        "created": int(rows[0]["created_at"].timestamp()),
        "model": asked.request.body["model"],
        "choices": [
            {"index": 0, "message": message, "logprobs": None, "finish_reason": _reason(message.get("tool_calls"))}
        ],
    }
    for part in _as_stream(whole) if asked.request.streams else [dumps(whole).encode()]:
        turn.put(part)
    turn.end()
    return turn


def _reason(calls: object) -> str:
    return "tool_calls" if calls else "stop"


def _as_stream(whole: Mapping[str, Any]) -> list[bytes]:
    [choice] = whole["choices"]
    message = choice["message"]
    calls = [{"index": i, **call} for i, call in enumerate(message.get("tool_calls") or [])]
    head = {**whole, "object": "chat.completion.chunk"}
    first = {"index": 0, "delta": {**message, **({"tool_calls": calls} if calls else {})}, "finish_reason": None}
    last = {"index": 0, "delta": {}, "finish_reason": choice["finish_reason"]}
    return [*(_event({**head, "choices": [choice]}) for choice in (first, last)), DONE]


def _event(chunk: Mapping[str, Any]) -> bytes:
    return f"data: {dumps(_scalar(chunk))}\n\n".encode()


def _scalar(value: Any) -> Any:
    """The same without lone surrogates, which cannot be sent or stored."""
    if isinstance(value, str):
        return scalar(value)
    if isinstance(value, list):
        return [_scalar(item) for item in value]
    if isinstance(value, dict):
        return {scalar(name): _scalar(item) for name, item in value.items()}
    return value


@dataclass(frozen=True, slots=True)
class _Round:
    """What the model said in one call."""

    calls: Calls
    whole: dict[str, Any] = field(default_factory=dict)
    """The answer's body, where it is not streamed."""


class _Work:
    """One answer in the making."""

    def __init__(self, runtime: Runtime, upstream: Upstream, asked: Asked, turn: Turn) -> None:
        self._runtime = runtime
        self._upstream = upstream
        self._asked = asked
        self._turn = turn
        self._request = asked.request
        self._own = names_of(self._request.tools)
        self._deltas = Deltas(tools.BY_NAME, self._own)
        self._usage: dict[str, Any] | None = None
        self._asks = 0
        self._reported: ReportedUsage | None = None

    async def run(self) -> None:
        seconds = self._runtime.settings.quire_proxy_seconds
        outcome = "ok"
        try:
            async with asyncio.timeout(seconds):
                await self._answer()
        except TimeoutError:
            outcome = "TimeoutError"
            raise OverdueError(f"The answer took more than {seconds:g} seconds.") from None
        except (ProviderError, errors.QuireError) as error:
            outcome = type(error).__name__
            _logger.warning("no answer through the proxy: %s: %s", outcome, error)
            raise
        finally:
            await self._count(outcome)

    async def _answer(self) -> None:
        rounds = self._runtime.settings.quire_proxy_rounds
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
        shown = json.loads(window.body)
        messages_ = self._unanswered(window, shown["messages"])
        recall_tools = shown["tools"][len(self._request.tools) :]
        passed = {name: value for name, value in self._request.body.items() if name not in ("messages", "tools")}
        request = {**passed, "messages": messages_, **offered(self._request.tools, recall_tools, recalls=recalls)}
        self._asks += 1
        span = self._runtime.tracing.span("chat", kind="CLIENT", model=str(self._request.body["model"]))
        before = self._prompt_tokens()
        with span:
            said = await (self._stream(request) if self._request.streams else self._complete(request))
        if (prompt := self._prompt_tokens() - before) > 0:
            self._reported = ReportedUsage(window.window.ledger.total, prompt)
        return said

    def _prompt_tokens(self) -> int:
        """Of all calls so far, where their API reports them."""
        return tokens if type(tokens := (self._usage or {}).get("prompt_tokens")) is int else 0

    async def _window(self) -> Context:
        request, settings = self._request, self._runtime.settings
        async with self._runtime.database.snapshot(self._asked.tenant) as connection:
            known = await self._conversation(connection)
        model = str(request.body["model"])
        reserve = max(self._runtime.defaults.output_reserve, _answer_tokens(request.body))
        budget = budget_of(
            replace(self._runtime.defaults, output_reserve=reserve),
            request.budget or (settings.quire_proxy_budget or None if known.budget is None else None),
            known.budget,
            model,
        )
        wanted = ContextRequest(
            budget=None if budget == known.budget else budget, tools=request.tools, bound_to=request.caller.user_id,
            sensitive=request.caller.sensitive,
            query=newest_user_text(request.body["messages"]) if request.recall_max_tokens else None,
            recall_max_tokens=request.recall_max_tokens,
        )  # fmt: skip
        return await context(self._runtime, self._asked.tenant, known.id, wanted)

    async def _conversation(self, connection: Connection) -> Conversation:
        """The one that was asked in. Raises NotFound where it was erased meanwhile."""
        asked = self._asked.conversation
        known = await conversations.get(connection, self._asked.tenant, asked.id)
        if known.uid != asked.uid:
            raise conversations.unknown()
        return known

    def _unanswered(self, window: Context, shown: list[Any]) -> list[Any]:
        """The window's messages without the answers that there are already, where another one is wanted."""
        if not self._asked.answers:
            return shown
        answers = range(self._asked.through + 1, self._asked.conversation.end.last_seq + 1)
        places = origins(window.window, window.system, "openai")
        return [
            message
            for message, origin in zip(shown, places, strict=True)
            if not any(placed.seq in answers for placed in origin.placed)
        ]

    async def _stream(self, request: Mapping[str, Any]) -> _Round:
        self._deltas.begin()
        async for chunk in self._upstream.stream(request):
            for passed in self._deltas.feed(chunk):
                self._turn.put(_event(passed))
        if self._deltas.finish_reason is None:
            raise TemporaryError("the answer was cut off")
        for passed in self._deltas.end_round():
            self._turn.put(_event(passed))
        self._usage = self._deltas.usage
        return _Round(whose(self._deltas.calls, tools.BY_NAME, self._own))

    async def _complete(self, request: Mapping[str, Any]) -> _Round:
        body = _scalar(dict(await self._upstream.complete(request)))
        choices = body.get("choices")
        message = choices[0].get("message") if isinstance(choices, list) and choices else None
        if not isinstance(message, dict):
            raise UnusableReply("the answer has no message")
        self._usage = added(self._usage, body.get("usage"))
        content = message.get("content")
        if isinstance(content, str):
            self._deltas.text = joined(self._deltas.text, content)
        self._deltas.refusal = message.get("refusal") or self._deltas.refusal
        self._deltas.finish_reason = choices[0].get("finish_reason") or "stop"
        calls = whose(sound_calls(message.get("tool_calls")), tools.BY_NAME, self._own)
        return _Round(calls, body)

    async def _recall(self, calls: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
        """The calls as a message, and their results."""
        asked, tenant = self._asked, self._asked.tenant
        asking = await tool_calls.asker(
            self._runtime, tenant, asked.request.caller.user_id, asked.conversation.id,
            sensitive=asked.request.caller.sensitive,
        )  # fmt: skip
        answers = [await tool_calls.run(self._runtime, tenant, asking, call) for call in map(_tool_call, calls)]
        await tool_calls.keep(self._runtime, tenant, asking, answers, "")
        said = {"role": "assistant", "content": None, "tool_calls": list(calls)}
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
        message: dict[str, Any] = {"role": "assistant", "content": deltas.text or None}
        if deltas.refusal:
            message["refusal"] = deltas.refusal
        if outer:
            message["tool_calls"] = outer
        body = said.whole
        if body:
            own = {name: body["choices"][0]["message"].get(name) for name in KEPT}
            message = {**{name: value for name, value in own.items() if value is not None}, **message}
        await self._store([*recalled, message], inner=len(recalled), answers=True)
        if self._reported is not None:
            self._runtime.turns.reported[self._asked.tenant, self._asked.conversation.uid] = self._reported
        if not body:
            self._turn.put(_event(deltas.end(reason)))
            if self._usage is not None:
                self._turn.put(_event(deltas.usage_chunk()))
            self._turn.put(DONE)
        else:
            shown = {**body["choices"][0]["message"], "role": "assistant", "content": message["content"]}
            shown.pop("tool_calls", None)
            if outer:
                shown["tool_calls"] = outer
            choice = {**body["choices"][0], "message": shown, "finish_reason": reason}
            usage = {"usage": self._usage} if self._usage is not None else {}
            self._turn.put(dumps({**body, "choices": [choice], **usage}).encode())
        self._turn.end()

    async def _store(self, said: Sequence[dict[str, Any]], *, inner: int, answers: bool = False) -> None:
        """Append to the conversation that was asked in. One that was erased meanwhile gets nothing."""
        asked = self._asked
        stored = _scalar(list(said))
        try:
            drafts = read(stored, UNLIMITED)
        except errors.Invalid:  # a provider's ids or names that are none: what was said is kept all the same
            text = "\n".join(filter(None, [self._deltas.text, *(dumps(m.get("tool_calls")) for m in stored[inner:])]))
            drafts, inner = read([{"role": "assistant", "content": text}], UNLIMITED), 0
        arrivals = [Arrival(draft, is_inner=index < inner) for index, draft in enumerate(drafts)]
        request = ProxyAnswer(arrivals, asked.conversation.uid, is_whole=answers)
        key = asked.answer_key(asked.conversation.end.last_seq if asked.answers else asked.through)
        for tried in range(1, STORE_TRIES + 1):
            try:
                await append(self._runtime, asked.tenant, asked.conversation.id, request, key if answers else None)
            except errors.NotFound:
                _logger.info("an answer is not stored: its conversation was erased")
                return
            except errors.StorageUnavailable as error:
                if tried == STORE_TRIES or (isinstance(error, errors.OutcomeUnknown) and not answers):
                    raise
                await asyncio.sleep(STORE_PAUSE_SECONDS * 2 ** (tried - 1))
            else:
                return

    async def _count(self, outcome: str) -> None:
        """What it has cost; an answer that nobody was given may have cost something too."""
        usage = self._usage or {}
        prompt, said = (n if type(n := usage.get(f"{name}_tokens")) is int else 0 for name in ("prompt", "completion"))
        self._runtime.metrics.provider_call("proxy", outcome, prompt, said)
        if self._asks:
            with suppress(errors.QuireError):
                whose_ = (self._runtime.database, self._asked.tenant, self._asked.conversation.id)
                await spending.record(*whose_, "proxy", prompt, said, self._asks)


def _answer_tokens(body: Mapping[str, Any]) -> int:
    """How long the client lets the answer become."""
    limits = [body.get(name) for name in ("max_completion_tokens", "max_tokens")]
    return max((n for n in limits if type(n) is int), default=0)


def _tool_call(call: Mapping[str, Any]) -> tool_calls.ToolCall:
    function = call["function"]
    try:
        arguments = json.loads(function["arguments"] or "{}")
    except (ValueError, RecursionError):
        arguments = None
    return tool_calls.checked(function["name"], arguments if isinstance(arguments, dict) else {})
