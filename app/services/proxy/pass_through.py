"""Pass-through: requests of agents that manage their own message list go to the model unchanged.

The model is asked at once. Meanwhile the new messages of the list are stored, then the answer if it is complete; large
tool results are archived as usual. A failure to store is only logged: the next request brings the whole list again, so
nothing is lost for good. Only a recall, which the client must request, delays the call.
"""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from app import errors
from app.concurrency import run_in_thread_if_large
from app.core.canonical import loads
from app.core.dialects.deltas import AnswerSoFar
from app.core.dialects.finished import message_of
from app.core.dialects.proxy import ToolOwners, newest_user_text
from app.core.dialects.question import Dialect, with_message
from app.core.model import Language
from app.core.window.render import tail_text
from app.providers import ProviderError, TemporaryError, UnusableReply
from app.providers.raw import RawAnswer, events_in
from app.providers.upstream import Upstream, blames_form, is_final, refused
from app.runtime import Runtime
from app.services.conversations.call import ContextRequest
from app.services.conversations.context import context
from app.services.proxy.keeping import keep, mark_refused
from app.services.proxy.question import ProxyRequest, ProxyTurn, ask, branched
from app.services.proxy.state import LEFT, Watch, record

RECALL_SECONDS = 2.0
"""How long the model waits for what is to be recalled."""
KEPT_BYTES = 8 * 1024 * 1024
"""Longer answers are passed on and not stored."""
NOTHING_SAID = AnswerSoFar.start(ToolOwners((), ()))

_logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Passing:
    path: str
    dialect: Dialect
    body: bytes
    headers: Mapping[str, str]
    """For the model's API."""
    request: ProxyRequest | None
    """What is to be stored; None where the body cannot be, or is no question."""
    packed: tuple[bytes, str] | None = None
    """The body as its client compressed it, and its coding."""


async def pass_on(runtime: Runtime, upstream: Upstream, passing: Passing) -> RawAnswer:
    """Ask the model and pass its answer on, errors too. Raises a ProviderError only if the model cannot be reached."""
    stored: asyncio.Task[ProxyTurn | None] | None = None
    body = passing.body
    if passing.request is not None:
        stored = asyncio.create_task(_stored_turn(runtime, passing.request))
        runtime.turns.hold(stored)
        if passing.request.recall == "auto":
            body = await _with_recalled(runtime, passing, passing.request, stored)
    passed = _Passed(runtime, upstream, passing.request, stored, body)
    passed.watch.begin()
    try:
        if passing.packed is not None and body is passing.body:
            packed, coding = passing.packed
            answer = await upstream.raw(passing.path, packed, {**passing.headers, "content-encoding": coding})
        else:
            answer = await upstream.raw(passing.path, body, passing.headers)
    except ProviderError as error:
        passed.end(None, None, error)
        raise
    passed.watch.begun()
    return answer if stored is None else replace(answer, parts=passed.read_along(answer))


async def _stored_turn(runtime: Runtime, request: ProxyRequest) -> ProxyTurn | None:
    await runtime.turns.settled(request.asker)
    try:
        asked = await ask(runtime, request, was_passed=True)
        return asked if request.retried else await branched(runtime, asked)
    except errors.QuireError as error:
        _logger.warning("a question that was passed through is not stored: %s", type(error).__name__)
        return None


async def _with_recalled(
    runtime: Runtime, passing: Passing, request: ProxyRequest, stored: asyncio.Task[ProxyTurn | None]
) -> bytes:
    """Return the body with a message of recalled text added, if a search answers the newest user message in time."""
    try:
        async with asyncio.timeout(RECALL_SECONDS):
            asked = await asyncio.shield(stored)
            text = await _recall_text(runtime, request, asked) if asked is not None else None
    except (TimeoutError, errors.QuireError) as error:
        _logger.warning("nothing is recalled for a request that is passed through: %s", type(error).__name__)
        return passing.body
    if text is None:
        return passing.body
    return await run_in_thread_if_large(len(passing.body), with_message, passing.body, passing.dialect, text)


async def _recall_text(runtime: Runtime, request: ProxyRequest, asked: ProxyTurn) -> str | None:
    wanted = ContextRequest(
        bound_to=request.caller.user_id, sensitive=request.caller.sensitive,
        query=newest_user_text(request.question.messages), recall_max_tokens=runtime.defaults.policy.recall_max,
    )  # fmt: skip
    if wanted.query is None:
        return None
    found = await context(runtime, asked.tenant, asked.conversation.id, wanted)
    language: Language = asked.conversation.language or "en"
    return tail_text(found.window.tail, language) if found.window.tail else None


@dataclass(frozen=True, slots=True)
class _Passed:
    """A request that was passed on, and the storing that follows its answer."""

    runtime: Runtime
    upstream: Upstream
    request: ProxyRequest | None
    stored: asyncio.Task[ProxyTurn | None] | None
    sent: bytes
    watch: Watch = field(default_factory=partial(Watch, "pass-through"))

    async def read_along(self, answer: RawAnswer) -> AsyncIterator[bytes]:
        kept = bytearray()
        failure: Exception | str | None = LEFT
        try:
            async for part in answer.parts:
                if len(kept) <= KEPT_BYTES:
                    kept += part
                yield part
            failure = None
        except Exception:
            failure = TemporaryError("the answer was cut off")
            raise
        finally:
            self.end(answer, bytes(kept) if failure is None and len(kept) <= KEPT_BYTES else None, failure)

    def end(self, answer: RawAnswer | None, body: bytes | None, failure: Exception | str | None) -> None:
        """Begin to store the exchange. ``body`` is the answer, if it is complete and short enough to be stored."""
        self.watch.end()
        if self.stored is not None and self.request is not None:
            task = asyncio.create_task(self._finish(self.stored, answer, body, failure))
            self.runtime.turns.hold_ending(self.request.asker, task)

    async def _finish(
        self, stored: asyncio.Task[ProxyTurn | None], answer: RawAnswer | None, body: bytes | None,
        failure: Exception | str | None,
    ) -> None:  # fmt: skip
        asked = await stored
        if asked is None:
            return
        if answer is not None and body is not None:
            failure = await (self._store if answer.status == 200 else self._mark)(asked, answer, body)
        await record(self.runtime, asked, self.watch, failure)

    async def _mark(self, asked: ProxyTurn, answer: RawAnswer, body: bytes) -> Exception:
        """Mark a question that the model's API always refuses (``core.history.refused``); return the refusal."""
        refusal = refused(answer.status, loads(body), retry_after=None, key=None)
        sent = await run_in_thread_if_large(len(self.sent), loads, self.sent)
        if is_final(refusal) and not blames_form(sent, refusal):
            await mark_refused(self.runtime, asked)
        return refusal

    async def _store(self, asked: ProxyTurn, answer: RawAnswer, body: bytes) -> Exception | None:
        try:
            said, usage = await run_in_thread_if_large(len(body), _answer_in, self.upstream, body, answer.is_stream)
            self.watch.usage = usage
            if said is None:
                return UnusableReply("the answer is not whole")
            self.watch.last_seq = await keep(self.runtime, asked, [said], text=str(said.get("content") or ""))
        except (errors.QuireError, LookupError, TypeError, AttributeError, ValueError, RecursionError) as error:
            _logger.warning("an answer that was passed through is not stored: %s", type(error).__name__)
            return error
        return None


def _answer_in(
    upstream: Upstream, body: bytes, is_stream: bool
) -> tuple[dict[str, Any] | None, Mapping[str, Any] | None]:
    reader = upstream.asked.reader()
    events = events_in(body) if is_stream else upstream.asked.events(json.loads(body))
    said, _ = NOTHING_SAID.feed_all(chunk for event in events for chunk in reader.feed(event))
    if said.round.finish_reason is None:
        return None, None
    said, _ = said.end_round()
    return message_of(said), said.usage
