"""The state of a proxied request: its fixed facts, what was observed so far, and its stored record.

No client waits for the record, and while the database is unavailable only the record is lost.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, Literal
from uuid import UUID

from app import errors
from app.caches import Recorded
from app.core.dialects.proxy import ToolOwners, names_of
from app.core.dialects.question import Json, Question
from app.core.dialects.usage import ModelUsage
from app.providers import ProviderError
from app.providers.upstream import Upstream
from app.recall import tools
from app.runtime import Runtime
from app.services.conversations import serving
from app.services.proxy.question import ProxyTurn
from app.services.proxy.writing import TurnWriter, response_id
from app.store import spending
from app.store.proxy import proxied_requests
from app.store.proxy.proxied_requests import ProxiedRequest
from app.store.spending import Spent

LEFT = "the client left"

_logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class AnswerTask:
    runtime: Runtime
    upstream: Upstream
    asked: ProxyTurn
    telling: TurnWriter
    id: UUID
    tools: tuple[Json, ...]
    """The client's, in the form of the model's API."""
    is_stored: bool = True
    """False: the model sees the list itself, and nothing is kept."""

    @property
    def question(self) -> Question:
        return self.asked.request.question

    @property
    def model(self) -> str:
        return str(self.question.options["model"])

    def owners(self, shown: Sequence[Json]) -> ToolOwners:
        """Return who owns each tool. A tool that writes is Quire's only if it is among those ``shown``."""
        writes = names_of(shown[len(self.tools) :]) & {tools.REMEMBER.name}
        return ToolOwners(writes | tools.BY_NAME.keys(), names_of(self.tools))

    @property
    def response_id(self) -> str | None:
        """The id of the answer's message, if its client can request it again."""
        is_kept = self.question.dialect == "responses" and self.question.body.get("store") is not False
        return response_id(self.id) if is_kept or self.is_thread else None

    @property
    def is_thread(self) -> bool:
        return self.question.dialect == "messages" and self.question.body.get("thread") is not None

    @property
    def thinking_tag(self) -> str:
        """The tag of the thinking at the beginning of the model's text; "" if there is none."""
        place = self.upstream.row(self.model).reasoning or ""
        return place if place.startswith("<") else ""


@dataclass
class Watch:
    """Observes a request, for its record."""

    mode: Literal["window", "pass-through"]
    calls: int = 0
    window_tokens: int | None = None
    saved_tokens: int = 0
    window: Recorded | None = None
    """The last one that the model saw."""
    last_seq: int | None = None
    """Of the answer, once it is stored."""
    usage: Mapping[str, Any] | None = None
    """As the API reported it, in the words of Chat Completions."""
    seconds: float = 0.0
    """That the model's API took, over all calls."""
    first_seconds: float | None = None
    blames_form: bool = False
    """The last refusal is about the request's form, so the question is not at fault."""
    answered: bool = False
    """The call under way has begun to answer."""
    _called: float = 0.0

    @contextmanager
    def call(self) -> Iterator[None]:
        """Time a call of the model's API until it ends."""
        self.begin()
        try:
            yield
        finally:
            self.end()

    def begin(self) -> None:
        self.calls += 1
        self.answered = False
        self._called = time.perf_counter()

    def begun(self) -> None:
        """Note that the API began to answer."""
        self.answered = True
        if self.first_seconds is None:
            self.first_seconds = time.perf_counter() - self._called

    def end(self) -> None:
        self.seconds += time.perf_counter() - self._called


async def record(runtime: Runtime, asked: ProxyTurn, watch: Watch, failure: Exception | str | None) -> None:
    """Record a request that has ended, and its usage: an answer costs the same if nobody received it."""
    usage = ModelUsage.read(watch.usage)
    spent = replace(Spent.of(watch.calls, usage), saved_tokens=watch.saved_tokens)
    outcome = type(failure).__name__ if isinstance(failure, Exception) else "left" if failure else "ok"
    runtime.metrics.provider_call("proxy", outcome, spent.prompt_tokens, spent.completion_tokens)
    model = str(asked.request.question.options["model"]).replace("\x00", "")
    done = ProxiedRequest(
        dialect=asked.request.question.dialect, mode=watch.mode, model=model,
        calls=watch.calls, total_ms=round(watch.seconds * 1000),
        first_ms=round(watch.first_seconds * 1000) if watch.first_seconds is not None else None,
        first_seq=asked.first or watch.last_seq, last_seq=watch.last_seq or (asked.through if asked.first else None),
        window_tokens=watch.window_tokens, usage=usage, error=_failure_text(failure),
    )  # fmt: skip
    try:
        if watch.window is not None:
            await serving.write(runtime)
            done = replace(done, window_number=watch.window.number)
        async with runtime.database.begin(asked.tenant) as tx:
            if watch.calls:
                await spending.add(tx, asked.conversation.id, "proxy", model, spent)
            await proxied_requests.record(tx, asked.conversation.id, done)
    except errors.QuireError as error:
        _logger.warning("what became of a proxied request is not recorded: %s", type(error).__name__)


def _failure_text(failure: Exception | str | None) -> str | None:
    """Describe an error without content, because a provider's message can quote the request."""
    match failure:
        case ProviderError():
            return str(failure)
        case errors.QuireError():
            return failure.code
        case Exception():
            return type(failure).__name__
        case _:
            return failure
