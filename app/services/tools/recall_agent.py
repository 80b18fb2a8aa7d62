"""The recall agent: an LLM that searches memories until it hands over its findings.

Without an LLM, or if it fails, a fixed policy searches, searches again with words of the latest messages, reads the
best results and hands over. No connection is held during a model call.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal
from uuid import UUID

from app import errors
from app.core import wording
from app.core.canonical import loads
from app.core.model import INTEGER_MAX, Language
from app.core.neutral import block
from app.core.search.narrowing import EVERYTHING, Narrowing
from app.core.window.quote import Said, memories_text
from app.extractive.terms import key_terms
from app.prompts import prompt
from app.providers import ModelToolCall, ProviderError, Reply
from app.recall import agent, tools
from app.recall.agent import Handoff, Task
from app.recall.arguments import Mistake, read
from app.recall.tools import AGENT_TOOLS, Tool
from app.runtime import Runtime
from app.services.asking import ask
from app.services.memory.recalling import said_text, speaker
from app.services.tools import tool_calls
from app.services.tools.tool_calls import Asker, ToolCall
from app.store import conversations, messages
from app.text.language import language as language_of

_logger = logging.getLogger(__name__)

REPLY_TOKENS = 1_000
TOOL_SECONDS = 10.0
"""Of one call; a slower one tells the model so, and the task goes on."""
GOOD_ENOUGH = 0.45
"""A search whose best result is less relevant is widened by the fixed policy."""
DETAILS = 3
"""Memories that the fixed policy reads in full."""
KEYS_MAX = 10
"""Memories that are handed over."""
BY_NAME = {tool.name: tool for tool in AGENT_TOOLS}


@dataclass(frozen=True, slots=True)
class RecallRequest:
    query: str | None
    user_id: str | None = None
    conversation_id: str | None = None
    iterations_max: int = 3
    sensitive: bool = False
    """Whether sensitive memories are there."""
    narrowing: Narrowing = EVERYTHING
    """Of its searches."""


@dataclass
class _AgentRun:
    asking: Asker
    query: str
    task: Task
    trace: list[dict[str, Any]] = field(default_factory=list)
    previews: dict[str, str] = field(default_factory=dict)
    found_nothing: str = ""
    """What the last search says that found nothing."""

    @property
    def language(self) -> Language:
        return self.task.language

    def note(self, name: str, arguments: Mapping[str, Any], answer: str, *, is_error: bool) -> None:
        self.trace.append(
            {
                "iteration": self.task.iteration,
                "tool": name,
                "arguments": dict(arguments),
                "result": answer[: agent.SHOWN_CHARACTERS],
                "is_error": is_error,
            }
        )

    async def use(self, name: str, arguments: dict[str, Any]) -> str:
        """Run a tool that searches or reads within its time limit, and note its outcome."""
        refused = self.task.refusal(name)
        if refused is not None:
            self.note(name, arguments, refused, is_error=True)
            return refused
        self.task.used(name)
        call = ToolCall(BY_NAME[name], arguments)
        try:
            async with asyncio.timeout(TOOL_SECONDS):
                answer = await tool_calls.run(self.asking, call)
        except Exception as error:  # noqa: BLE001 - no tool's fault ends a recall
            answer = tool_calls.Answer(f"{name} failed: {_reason(error)}", is_error=True)
        if not answer.is_error and name == tools.SEARCH_MEMORIES.name:
            self.task.show(answer.value)
            self.found_nothing = self.found_nothing if answer.value else answer.note
            self.previews.update((value["memory_key"], value["content_preview"]) for value in answer.value)
        text = self.task.admitted(answer.content)
        self.note(name, arguments, text, is_error=answer.is_error)
        return text


def _reason(error: Exception) -> str:
    if isinstance(error, errors.QuireError):
        return error.detail
    if isinstance(error, TimeoutError):
        return f"no answer within {TOOL_SECONDS:g} s"
    _logger.error("a tool of the recall agent failed", exc_info=error)
    return "an internal error"


async def recall(runtime: Runtime, tenant: UUID, request: RecallRequest) -> dict[str, Any]:
    """Search the memories of a user or conversation for a query, or for the latest messages.

    Raises NotFound, or Invalid if neither a query nor a conversation tells what to look for.
    """
    asking = await tool_calls.asker(
        runtime, tenant, request.user_id, request.conversation_id, sensitive=request.sensitive
    )
    asking = replace(asking, narrowing=request.narrowing)
    latest = await _latest(asking, agent.FIRST_MESSAGES)
    query = request.query or next((s.text for s in reversed(latest) if s.role == "user" and s.text.strip()), None)
    if query is None:
        raise errors.Invalid.at(["body", "query"], "is required if the conversation has no user message")
    language = (asking.conversation.language if asking.conversation else None) or language_of(query[:1000])
    run = _AgentRun(asking, query, Task(request.iterations_max, language))
    handed, warnings = await _hand_over(run)
    task = run.task
    return {
        "search_summary": handed.search_summary, "relevant_memory_keys": list(handed.relevant_memory_keys),
        "confidence": handed.confidence, "needs_more_info": handed.needs_more_info,
        "follow_up_question": handed.follow_up_question, "iteration_used": task.iteration,
        "context_window_used": min(task.messages, asking.conversation.totals.last_seq if asking.conversation else 0),
        "trace": run.trace, "warnings": warnings,
    }  # fmt: skip


async def _hand_over(run: _AgentRun) -> tuple[Handoff, list[dict[str, str]]]:
    if run.asking.runtime.chat is None:
        return await _policy(run), [{"code": "llm_absent", "detail": "no LLM is in use; a fixed policy searched"}]
    try:
        handed = await _ask(run)
    except ProviderError:
        warning = {"code": "llm_unavailable", "detail": "the LLM failed; a fixed policy searched"}
        return await _policy(run), [warning]
    if not run.task.has_searched:
        warning = {"code": "llm_never_searched", "detail": "the LLM searched for nothing; a fixed policy searched"}
        return await _policy(run), [warning]
    if handed is not None:
        return handed, []
    warning = {"code": "no_handoff", "detail": "the LLM did not hand over; what it saw is handed over for it"}
    return _conclude(run, max(run.task.seen.values(), default=0.0)), [warning]


# --- With an LLM ------------------------------------------------------------------------------------


async def _ask(run: _AgentRun) -> Handoff | None:
    """Iterate until the model hands over. Return None if it never does. Raises ProviderError."""
    schemas = tools.schemas("openai", AGENT_TOOLS, run.language)
    while True:
        talk = await _opening(run)
        outcome = await _iterate(run, talk, schemas)
        if outcome != "expanded":
            return outcome


async def _opening(run: _AgentRun) -> list[dict[str, Any]]:
    lines = [said.line for said in await _latest(run.asking, run.task.messages)]
    keys = ", ".join(run.task.best(KEYS_MAX))
    parts = [memories_text(wording.LATEST_MESSAGES.say(run.language), lines)] if lines else []
    heading = wording.TO_FIND.say(run.language)
    parts.append(memories_text(wording.QUERY.say(run.language), [f"{heading}{block(run.query)}"]))
    if keys:
        parts.append(f"{wording.KEYS_SEEN.say(run.language)}{keys}")
    return [
        {"role": "system", "content": prompt("recall", run.language)},
        {"role": "user", "content": "\n\n".join(parts)},
    ]


async def _iterate(
    run: _AgentRun, talk: list[dict[str, Any]], schemas: Sequence[Mapping[str, Any]]
) -> Handoff | Literal["expanded"] | None:
    """Run one iteration. Return None once its steps are used up or the model made too many mistakes."""
    runtime, tenant, conversation = run.asking.runtime, run.asking.tenant, run.asking.conversation
    asked_in = conversation.id if conversation else None
    for _ in range(agent.STEPS_MAX):
        reply = await ask(
            runtime, tenant, "recall", talk, conversation_id=asked_in, max_tokens=REPLY_TOKENS, tools=schemas
        )
        talk.append(_assistant(reply))
        if not reply.tool_calls:
            talk.append({"role": "user", "content": agent.said("handoff", run.language)})
        for call in reply.tool_calls:
            answer = await _obey(run, call)
            if not isinstance(answer, str):
                return answer or "expanded"
            talk.append({"role": "tool", "tool_call_id": call.id, "content": answer})
        if run.task.answered(is_refusal=not reply.tool_calls or run.trace[-1]["is_error"]):
            break
    return None


async def _obey(run: _AgentRun, call: ModelToolCall) -> str | Handoff | None:
    task = run.task
    try:
        tool, arguments = _read(call, run.language, task.messages)
    except Mistake as mistake:
        run.note(call.name[: agent.NAME_SHOWN], {}, str(mistake), is_error=True)
        return str(mistake)
    if tool is tools.HANDOFF:
        handed = task.handoff(arguments)
        run.note(call.name, arguments, "", is_error=False)
        return handed
    if tool is tools.EXPAND_CONTEXT_WINDOW:
        refused = task.refusal(call.name)
        run.note(call.name, arguments, refused or "", is_error=refused is not None)
        if refused is not None:
            return refused
        task.expand(max(1, arguments.get("requested_size", task.messages + agent.MORE_MESSAGES) - task.messages))
        return None
    return await run.use(call.name, arguments)


def _read(call: ModelToolCall, language: Language, messages: int) -> tuple[Tool, dict[str, Any]]:
    """Return the tool that the model called after ``messages``, and its arguments. Raises Mistake."""
    tool = BY_NAME.get(call.name)
    if tool is None:
        raise Mistake(f"There is no tool {call.name[: agent.NAME_SHOWN]!r}; there are {', '.join(BY_NAME)}.", "")
    given = loads(call.arguments or "{}")
    if not isinstance(given, dict):
        raise Mistake("The arguments are not a JSON object.", "")
    sized = agent.as_sizes(given, messages) if tool is tools.EXPAND_CONTEXT_WINDOW else given
    return tool, read(tool, sized, language, is_strict=False)


def _assistant(reply: Reply) -> dict[str, Any]:
    message: dict[str, Any] = {"role": "assistant", "content": reply.text or None}
    if reply.tool_calls:
        message["tool_calls"] = [
            {"id": c.id, "type": "function", "function": {"name": c.name, "arguments": c.arguments}}
            for c in reply.tool_calls
        ]
    return message


# --- Without ----------------------------------------------------------------------------------------


async def _policy(run: _AgentRun) -> Handoff:
    """Search, widen the search by the latest messages if it found little, read the best and hand over."""
    task = run.task
    await run.use(tools.SEARCH_MEMORIES.name, {"query": run.query})
    best = max(task.seen.values(), default=0.0)
    if best < GOOD_ENOUGH and task.iteration < task.iterations_max:
        task.expand(agent.MORE_MESSAGES)
        latest = await _latest(run.asking, task.messages)
        run.note(tools.EXPAND_CONTEXT_WINDOW.name, {"messages": agent.MORE_MESSAGES}, "", is_error=False)
        words = key_terms("\n".join([run.query, *(s.text for s in latest)]), tools.KEYWORDS_LIMIT)
        if words:
            await run.use(tools.SEARCH_MEMORIES.name, {"query": " ".join([run.query, *words])[: tools.TEXT_MAX]})
    for key in task.best(DETAILS):
        await run.use(tools.GET_MEMORY_DETAIL.name, {"memory_key": key})
    return _conclude(run, best)


def _conclude(run: _AgentRun, confidence: float) -> Handoff:
    """Hand over what was seen, judged by its search scores alone."""
    keys = run.task.best(KEYS_MAX)
    nothing = run.found_nothing or wording.NOTHING_FOUND.say(run.language)
    question = wording.SAY_MORE.say(run.language)
    unsure = confidence < GOOD_ENOUGH
    handed = Handoff(
        search_summary="\n".join(run.previews[key] for key in keys[:DETAILS]) or nothing,
        relevant_memory_keys=tuple(keys), confidence=round(confidence, 4), needs_more_info=unsure,
        follow_up_question=question if unsure else None,
    )  # fmt: skip
    run.note(tools.HANDOFF.name, {"relevant_memory_keys": list(handed.relevant_memory_keys)}, "", is_error=False)
    return handed


async def _latest(asking: Asker, count: int) -> list[Said]:
    if asking.conversation is None:
        return []
    async with asking.runtime.database.snapshot(asking.tenant) as tx:
        if not await conversations.is_still(tx, asking.conversation):
            raise errors.missing("conversation")
        rows = await messages.history(tx, asking.conversation.id, INTEGER_MAX, count, newest_first=True)
    return [Said(row.seq, row.role, said_text(row)[:2_000], speaker(row)) for row in reversed(rows)]
