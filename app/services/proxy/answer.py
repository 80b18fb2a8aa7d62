"""Answer a question asked through the proxy: window → model → recall tools → model → … → the client and the store.

The answer is produced independently of the request (app.inflight), so it is completed and stored even if its reader
leaves; a client that repeats the request meanwhile reads along. Only complete answers are stored, and before their last
part is sent: a client that received the end can rely on the answer being stored, and one that did not can ask again. No
database connection is held during a model call.

`_answer` is the walk; each of its steps takes values and returns values (``core.dialects.deltas``).
"""

from __future__ import annotations

import asyncio
import json
import logging
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from app import errors
from app.concurrency import LONG_CHARACTERS, run_in_thread_if_large
from app.core.calibration import ReportedUsage
from app.core.canonical import dumps, loads
from app.core.conversation import Conversation
from app.core.dialects.background import unstored
from app.core.dialects.deltas import AnswerSoFar
from app.core.dialects.finished import finished, recall_message
from app.core.dialects.learning import Lessons
from app.core.dialects.marking import ROLES, places
from app.core.dialects.proxy import ToolOwners, offered
from app.core.dialects.question import Json, ShownToClient
from app.core.dialects.usage import ModelUsage
from app.core.messages import read
from app.core.model import Context, Placed
from app.core.parts import BLOCK_IDS
from app.core.window.profile import budget_of
from app.core.window.render import origins
from app.ids import uuid7
from app.inflight import AnswerStream
from app.providers import ProviderError, TemporaryError, UnusableReply
from app.providers.upstream import ModelRequest, OverdueError, RefusalError, Upstream, blames_form, is_final
from app.recall.tools import REMEMBER
from app.runtime import Runtime
from app.services.conversations.call import ContextRequest
from app.services.conversations.context import context
from app.services.proxy import threads
from app.services.proxy.keeping import keep, mark_refused
from app.services.proxy.listing import context_window
from app.services.proxy.question import ProxyRequest, ProxyTurn, branched
from app.services.proxy.state import AnswerTask, Watch, record
from app.services.proxy.writing import TurnWriter, given_again, writer_of
from app.services.tools import tool_calls
from app.services.tools.remember import remember
from app.store import messages
from app.telemetry.tracing import tell_usage
from app.text.language import scalars

NOBODYS = ToolOwners((), ())
RETRIES_MAX = 3
"""Of one call of the model, each without another thing that its API refuses."""

_logger = logging.getLogger(__name__)


async def answer(runtime: Runtime, upstream: Upstream, asked: ProxyTurn) -> AnswerStream:
    """Return the turn that answers a request: one that is under way, one that was given, or a new one. Raises Busy."""
    turn = _current(runtime, asked)
    if turn is None and asked.answers:
        turn = await _stored_answer(runtime, asked) or _current(runtime, asked)
    if turn is not None:
        return turn
    if len(runtime.turns.running) >= runtime.proxying.concurrency:
        raise errors.Busy("Too many answers are in progress. Try again.")
    asked = await branched(runtime, asked)
    return runtime.turns.start(asked.same, asked.through, lambda turn: _run(_task(runtime, upstream, asked, turn)))


def answer_unstored(runtime: Runtime, upstream: Upstream, request: ProxyRequest) -> AnswerStream:
    """Return the turn that answers a request of which nothing is stored. Raises Busy."""
    if len(runtime.turns.running) >= runtime.proxying.concurrency:
        raise errors.Busy("Too many answers are in progress. Try again.")
    now = datetime.now(UTC)
    asked = ProxyTurn(request, Conversation("", uuid7(), now, now), 0, (), b"")
    return runtime.turns.start(
        uuid7(), 0, lambda turn: _run(replace(_task(runtime, upstream, asked, turn), is_stored=False))
    )


def _current(runtime: Runtime, asked: ProxyTurn) -> AnswerStream | None:
    turn = runtime.turns.find(asked.same, asked.through)
    request = asked.request
    return turn if turn is not None and turn.is_for(request.arrived, retried=request.retried) else None


async def _stored_answer(runtime: Runtime, asked: ProxyTurn) -> AnswerStream | None:
    if runtime.turns.find(asked.same, asked.through) is not None:
        return None
    if not await asked.answer_key(asked.through).is_used(runtime.database, asked.tenant):
        return None
    async with runtime.database.snapshot(asked.tenant) as tx:
        rows = await messages.history(tx, asked.conversation.id, asked.answers[-1] - 1, 1, newest_first=False)
    return given_again(asked.request.question, rows[0])


def _task(runtime: Runtime, upstream: Upstream, asked: ProxyTurn, turn: AnswerStream) -> AnswerTask:
    question, id_ = asked.request.question, uuid7()
    telling = TurnWriter(question, writer_of(question, id_, int(time.time()), upstream.row), turn)
    return AnswerTask(runtime, upstream, asked, telling, id_, tuple(upstream.asked.tools(question)))


async def _run(task: AnswerTask) -> None:
    watch = Watch("window")
    failure: Exception | str | None = errors.QuireError.title
    try:
        await _answer_in_time(task, watch)
        failure = None
    except (ProviderError, errors.QuireError) as error:
        failure = error
        if task.is_stored and is_final(error) and not watch.blames_form:
            await mark_refused(task.runtime, task.asked)
        _logger.warning("no answer through the proxy: %s: %s", type(error).__name__, error)
        raise
    finally:
        if task.is_stored:
            await record(task.runtime, task.asked, watch, failure)


async def _answer_in_time(task: AnswerTask, watch: Watch) -> None:
    seconds = task.runtime.proxying.seconds
    try:
        async with asyncio.timeout(seconds):
            await _answer(task, watch)
    except TimeoutError:
        raise OverdueError(f"The answer took more than {seconds:g} seconds.") from None


async def _answer(task: AnswerTask, watch: Watch) -> None:
    """Ask the model, again after each recall, until the answer is the client's; store it, then send its end."""
    ids = BLOCK_IDS if task.question.dialect == "messages" else ""
    said, reported = AnswerSoFar.start(NOBODYS, task.thinking_tag, ids), None
    rounds_left = task.runtime.proxying.rounds
    while True:
        window = await _window(task)
        task.telling.showed(window.receipt)
        asking, owners = _asking(task, window, recalls=rounds_left > 0), task.owners(json.loads(window.tools))
        ledger, before = window.window.ledger, said.prompt_tokens
        watch.window_tokens, watch.saved_tokens = ledger.total, watch.saved_tokens + ledger.saved_tokens
        watch.window = task.runtime.caches.served.last(task.asked.tenant, window.conversation_uid)
        said, whole = await _ask_model(task, said.next_round(owners), asking, watch)
        if (prompt := said.prompt_tokens - before) > 0:
            reported = ReportedUsage(ledger.total, prompt)
        inner, outer = owners.divide(said.calls)
        recalled = await _recall(task, said, inner) if rounds_left and inner else []
        if outer or not recalled:
            break
        await _store(task, watch, said, recalled, inner=len(recalled))
        rounds_left -= 1
    message, reason, body = finished(task.question, said, outer, whole, task.response_id)
    await _store(task, watch, said, [*recalled, message], inner=len(recalled), answers=True)
    await threads.keep(task)
    if reported is not None and task.is_stored:
        task.runtime.turns.reported[task.asked.tenant, task.asked.conversation.uid] = reported
    if body is None:
        task.telling.end(said.end(reason), said.usage)
    else:
        task.telling.end_with(body)


# --- Gather: what the model is to see -----------------------------------------------------------------------


async def _window(task: AnswerTask) -> Context:
    if not task.is_stored:
        return await _list_as_window(task)
    request, known, runtime = task.asked.request, task.asked.conversation, task.runtime
    reserve = max(runtime.defaults.output_reserve, task.question.answer_tokens_max)
    budget = request.budget or known.budget or runtime.proxying.budget or None
    if budget is None:
        size = (
            runtime.defaults.context_window
            or await context_window(runtime, task.upstream, task.model, request.headers)
            or 0
        )
        defaults = replace(runtime.defaults, output_reserve=reserve, context_window=size)
        budget = budget_of(defaults, None, None, task.model)
    wanted = ContextRequest(
        budget=None if budget == known.budget else budget, tools=task.tools, bound_to=request.caller.user_id,
        sensitive=request.caller.sensitive, format=task.upstream.asked.window,
        recall=request.recall, carries=True, call="proxy",
    )  # fmt: skip
    window = await context(runtime, task.asked.tenant, known.id, wanted)
    if window.conversation_uid != known.uid:
        raise errors.missing("conversation")
    return window


async def _list_as_window(task: AnswerTask) -> Context:
    limits = task.runtime.defaults.limits
    drafts = await run_in_thread_if_large(
        LONG_CHARACTERS + 1 if task.asked.request.is_large else 0, read, list(task.question.messages),
        replace(limits, messages=limits.listed),
    )  # fmt: skip
    shown, system, window = unstored(drafts, task.upstream.asked.window)
    body = {"messages": shown, "system": system, "tools": list(task.tools), "stable_messages": len(shown)}
    return Context(dumps(body).encode(), "", window, task.asked.conversation.uid, system or "")


# --- Decide: the request to the model -----------------------------------------------------------------------


def _asking(task: AnswerTask, window: Context, *, recalls: bool) -> ModelRequest:
    found = json.loads(window.body)
    tools, calls_tools = offered(task.tools, found["tools"][len(task.tools) :], recalls=recalls)
    messages, fleeting = _unanswered(task, window, found["messages"])
    shown = ShownToClient(messages, found["system"], tools, calls_tools)
    body = task.upstream.asked.request(task.question, shown)
    cache = task.upstream.row(task.model).cache
    key = cache.key if task.upstream.asked.dialect != "messages" else ""
    keeps_marks = task.question.dialect == task.upstream.asked.dialect == "messages"
    repeated = _repeated(task, shown, fleeting) if cache.kind in ROLES or keeps_marks else ()
    policy = task.runtime.policy(task.asked.conversation)
    body = {key: str(window.conversation_uid), **body} if key else body
    return ModelRequest(body, repeated, policy.alternate_roles)


def _unanswered(task: AnswerTask, window: Context, shown: list[Any]) -> tuple[list[Any], list[bool]]:
    """Return the window's messages, and which of them the next turn does not repeat; without the answers that there
    are already, where another one is wanted.
    """
    if not task.is_stored:
        return shown, [False] * len(shown)
    answers = range(task.asked.through + 1, task.asked.conversation.end.last_seq + 1) if task.asked.answers else ()
    found = [
        (
            _as_it_came(task, message, origin.placed),
            origin.part == "tail" or any(placed.passing for placed in origin.placed),
        )
        for message, origin in zip(
            shown, origins(window.window, window.system, task.upstream.asked.window), strict=True
        )
        if not any(placed.seq in answers for placed in origin.placed)
    ]
    return [message for message, _ in found], [is_fleeting for _, is_fleeting in found]


def _as_it_came(task: AnswerTask, message: Json, placed: Sequence[Placed]) -> Json:
    """Return a system message within the list as one, to an API whose own client sent it."""
    is_own = task.question.dialect == task.upstream.asked.dialect == "messages"
    if not is_own or len(placed) != 1 or placed[0].role not in ("system", "developer"):
        return message
    return {"role": "system", "content": message["content"][1:]}  # its first block says what it is


def _repeated(task: AnswerTask, shown: ShownToClient, fleeting: Sequence[bool]) -> list[int]:
    """Return how many messages of the request follow each place to mark (``marking.places``)."""
    found = places(fleeting, [message["role"] for message in shown.messages])
    later = [replace(shown, messages=shown.messages[at + 1 :]) for at in found]
    if task.upstream.asked.dialect == "messages":
        return [len(one.messages) for one in later]
    bodies = [task.upstream.asked.request(task.question, one) if one.messages else {"input": []} for one in later]
    return [len(body["messages" if "messages" in body else "input"]) for body in bodies]


# --- Ask ----------------------------------------------------------------------------------------------------


Said = tuple[AnswerSoFar, Json | None]
"""The answer after a call of the model, and the API's body where it came in one piece."""


async def _ask_model(task: AnswerTask, said: AnswerSoFar, asking: ModelRequest, watch: Watch) -> Said:
    """Ask, and again without what the API refuses of the request's form: once for each thing that it names.

    What worked is remembered. A refusal that no retry heals is raised; where a retry without any name to go by is
    refused too, it is the one before.
    """
    upstream, learned, guesses = task.upstream, task.upstream.learned(task.model), False
    refusals: list[RefusalError] = []
    tried = {learned}  # two refusals can each ask for what the other forbids
    with task.runtime.tracing.model_call("chat", task.model, upstream.provider) as span, watch.call():
        while True:
            try:
                found = await _send(task, said, asking, learned, watch)
            except RefusalError as refused:
                if not guesses:
                    refusals.append(refused)
                    watch.blames_form = blames_form(upstream.fitted(asking, learned), refused)
                lesson = upstream.lesson(asking, learned, refused, tried)
                if lesson is None or watch.answered or len(refusals) > RETRIES_MAX:
                    if lesson is not None and watch.blames_form:
                        upstream.remember(task.model, lesson)
                    raise refusals[-1] from None
                learned, guesses = lesson, lesson.guesses != learned.guesses
                tried.add(lesson)
            else:
                if refusals:
                    upstream.remember(task.model, learned)
                if (used := ModelUsage.read(found[0].usage)) is not None:
                    before = ModelUsage.read(said.usage) or ModelUsage(0, 0, 0)
                    spent = used.completion_tokens - before.completion_tokens
                    tell_usage(span, used.prompt_tokens - before.prompt_tokens, spent)
                return found


async def _send(task: AnswerTask, said: AnswerSoFar, asking: ModelRequest, learned: Lessons, watch: Watch) -> Said:
    request = task.upstream.fitted(asking, learned)
    if request.get("stream"):
        said, whole = await _stream(task, said, request, watch), None
    else:
        said, whole = await _complete(task, said, request, watch)
    watch.usage = said.usage
    return said, whole


async def _stream(task: AnswerTask, said: AnswerSoFar, request: Mapping[str, Any], watch: Watch) -> AnswerSoFar:
    reader = task.upstream.asked.reader()
    async for event in task.upstream.stream(request, task.asked.request.headers):
        watch.begun()
        try:
            chunks = reader.feed(event)
        except (LookupError, TypeError, AttributeError):
            raise UnusableReply("a part of the answer is malformed") from None
        said, passed = said.feed_all(chunks)
        task.telling.feed(passed)
    if said.round.finish_reason is None:
        raise TemporaryError("the answer was cut off")
    said, passed = said.end_round()
    task.telling.feed(passed)
    return said


async def _complete(
    task: AnswerTask, said: AnswerSoFar, request: Mapping[str, Any], watch: Watch
) -> tuple[AnswerSoFar, Json]:
    """Take an answer that comes in one piece; the client gets it once it has ended."""
    body = scalars(dict(await task.upstream.complete(request, task.asked.request.headers)))
    watch.begun()
    choices = body.get("choices")
    message = choices[0].get("message") if isinstance(choices, list) and choices else None
    if not isinstance(message, dict):
        raise UnusableReply("the answer has no message")
    reader = task.upstream.asked.reader()
    said, _ = said.feed_all(chunk for event in task.upstream.asked.events(body) for chunk in reader.feed(event))
    said, _ = said.end_round()
    return said, body


# --- Apply: recall and store --------------------------------------------------------------------------------


async def _recall(task: AnswerTask, said: AnswerSoFar, calls: Sequence[Json]) -> list[Json]:
    asked, caller = task.asked, task.asked.request.caller
    asking = await tool_calls.asker(
        task.runtime, asked.tenant, caller.user_id, asked.conversation.id, sensitive=caller.sensitive
    )
    answers = [await _run_tool(task, asking, call["function"]["name"], _arguments(call)) for call in calls]
    await tool_calls.keep(asking, answers, "")
    results = [
        {"role": "tool", "tool_call_id": call["id"], "content": found.content}
        for call, found in zip(calls, answers, strict=True)
    ]
    return [recall_message(task.model, said.round, calls), *results]


async def _run_tool(task: AnswerTask, asking: tool_calls.Asker, name: str, arguments: Json) -> tool_calls.Answer:
    if name == REMEMBER.name:
        return await remember(asking, arguments, bound_to=task.asked.request.caller.user_id)
    return await tool_calls.run(asking, tool_calls.checked(name, arguments))


def _arguments(call: Mapping[str, Any]) -> Json:
    arguments = loads(call["function"]["arguments"] or "{}")
    return arguments if isinstance(arguments, dict) else {}


async def _store(
    task: AnswerTask, watch: Watch, said: AnswerSoFar, new: Sequence[Json], *, inner: int, answers: bool = False
) -> None:
    if task.is_stored:
        seq = await keep(task.runtime, task.asked, new, inner=inner, answers=answers, text=said.text)
        watch.last_seq = seq or watch.last_seq
