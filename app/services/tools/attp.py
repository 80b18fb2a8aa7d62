"""Run an ATTP document of a model: parse it, run its code with the recall tools, report the outcome."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import Any

from app.concurrency import run_in_thread_if_large
from app.core import wording
from app.core.canonical import dumps
from app.core.edge.caller import Caller
from app.core.model import Language
from app.core.window.quote import result_text
from app.recall import attp, sandbox, tools
from app.recall.arguments import Mistake
from app.recall.attp import Document
from app.recall.sandbox import Outcome, Reply, SandboxLimits
from app.runtime import Runtime
from app.services.idempotency import IdempotencyKey
from app.services.tools import tool_calls
from app.services.tools.tool_calls import Answer, Asker, ToolCall

LIMITS = SandboxLimits()
WAIT_SECONDS = 10.0
"""For a free place to run code in."""


@dataclass
class _Calls:
    """The calls that code made, in order, with their results."""

    made: list[dict[str, Any]] = field(default_factory=list)
    answers: list[Answer] = field(default_factory=list)


async def run_once(
    runtime: Runtime, caller: Caller, conversation_id: str, text: str, idempotency: IdempotencyKey | None
) -> str:
    """Return the response to a document as JSON text. A repeated request gets the same response and recalls nothing.

    Raises NotFound for an unknown conversation. Errors in the document or its code are part of the response.
    """
    tenant = caller.tenant
    if idempotency is not None and (stored := await idempotency.find_response(runtime.database, tenant)) is not None:
        return stored
    asking = await tool_calls.asker(runtime, tenant, caller.user_id, conversation_id, sensitive=caller.sensitive)
    language = asking.language({})
    calls = _Calls()
    try:
        document = await run_in_thread_if_large(len(text), attp.parse, text, language)
    except Mistake as mistake:
        answer = _failed(None, str(mistake), calls)
    else:
        answer = await _answer(asking, document, calls, language)
    return await tool_calls.keep(asking, calls.answers, dumps(answer), idempotency)


async def _answer(asking: Asker, document: Document, calls: _Calls, language: Language) -> dict[str, Any]:
    if document.code is None:
        return _shape(document, calls, status="done", message=document.message, content=document.message or "")
    outcome = await _run(asking, document.code, calls, language)
    if outcome is None:
        return _failed(document, wording.CODE_BUSY.say(language), calls)
    if outcome.failure is not None:
        return _failed(document, attp.explain(outcome.failure, outcome.detail, LIMITS, language), calls)
    result = outcome.result
    content = wording.NO_RESULT.say(language)
    if result is not None:
        content = result_text(result if isinstance(result, str) else dumps(result))
    notes = dict.fromkeys(answer.note for answer in calls.answers if answer.note)
    return _shape(document, calls, status="continue", result=result, content="\n".join((content, *notes)))


async def _run(asking: Asker, code: str, calls: _Calls, language: Language) -> Outcome | None:
    """Run the code. Return None if no sandbox is available."""

    async def call(name: str, positional: list[Any], given: dict[str, Any]) -> Reply:
        if len(calls.made) == LIMITS.calls:
            return {"error": wording.CALLS_MAX.say(language, most=LIMITS.calls)}
        tool = tools.BY_NAME[name]
        try:
            arguments = attp.named(tool, positional, given, language)
        except Mistake as mistake:
            answer = Answer(str(mistake), is_error=True)
            arguments = given
        else:
            answer = await tool_calls.run(asking, ToolCall(tool, arguments))
        error = answer.content if answer.is_error else None
        calls.made.append({"name": name, "arguments": arguments, "error": error})
        calls.answers.append(answer)
        return {"error": error} if answer.is_error else {"value": answer.value}

    try:
        async with asyncio.timeout(WAIT_SECONDS):
            await asking.runtime.sandboxes.acquire()
    except TimeoutError:
        return None
    try:
        return await sandbox.run(code, list(tools.BY_NAME), call, LIMITS)
    finally:
        asking.runtime.sandboxes.release()


def _failed(document: Document | None, error: str, calls: _Calls) -> dict[str, Any]:
    return _shape(document, calls, status="error", error=error, content=error)


def _shape(document: Document | None, calls: _Calls, *, status: str, content: str, **more: Any) -> dict[str, Any]:
    """Build a response. ``content`` is shown to the model; ``more`` has its message, result or error."""
    return {
        "status": status, "thought": document.thought if document else None,
        "target": document.target if document else None, **dict.fromkeys(("message", "result", "error")), **more,
        "content": content, "is_error": "error" in more, "calls": calls.made,
    }  # fmt: skip
