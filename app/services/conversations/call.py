"""A call for a window: the request, and the conversation."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import cached_property
from typing import Any
from uuid import UUID

from app.core.canonical import dumps
from app.core.model import Format, Recall, RecallScope
from app.core.search.narrowing import EVERYTHING, Narrowing
from app.core.window.served import Call
from app.runtime import Runtime


@dataclass(frozen=True, slots=True)
class ContextRequest:
    """The requested window."""

    budget: int | None = None
    model: str | None = None
    query: str | None = None
    recall_max_tokens: int | None = None
    """Tokens for the query's results; None: all that is free, and what the body can give up."""
    recall: Recall | None = None
    """Whether to recall something for the newest user message if there is no query; None: as the policy says."""
    chooses: bool = True
    """False for a mere look, which shows an earlier recall but chooses none."""
    recall_scope: RecallScope | None = None
    """The range of the query; None: as the conversation's policy says."""
    recall_filter: Narrowing = EVERYTHING
    speaker: str | None = None
    """The name of the participant whom the window is for."""
    load: tuple[UUID, ...] = ()
    pages: tuple[int, ...] = ()
    format: Format = "openai"
    system: str | None = None
    """Replaces the conversation's own system prompt in this call."""
    tools: tuple[dict[str, Any], ...] = ()
    """The caller's own tools, offered together with the recall tools."""
    bound_to: str | None = None
    """The only user whose conversations the caller can see."""
    carries: bool = False
    """Whether to show members carried from answers, for a caller that fits the window to a model itself."""
    sensitive: bool = False
    """Whether the query finds sensitive memories too."""
    call: Call | None = None
    """The kind of call that serves the window; None if nobody is shown it, so that no record is made."""

    @property
    def asks_for_tail(self) -> bool:
        return bool(self.load or self.pages or self.query or self.speaker)


@dataclass(frozen=True)
class WindowCall:
    """A call for a window, the same in every step."""

    runtime: Runtime
    tenant: UUID
    conversation_id: str
    request: ContextRequest
    step: int = 0
    """The index of the step of ``budget.reserves`` in which the body gives way to the tail."""
    reserve: int = 0
    """The tokens of this step, which the body leaves to the tail."""

    @property
    def anthropic(self) -> bool:
        return self.request.format == "anthropic"

    @cached_property
    def key(self) -> tuple[object, ...]:
        """Return the cache key of the window without its tail."""
        asked = self.request
        own = hashlib.sha256(dumps([asked.system, asked.tools, asked.carries, asked.recall]).encode()).digest()
        return (self.tenant.int, self.conversation_id, asked.budget, asked.model, asked.format, self.reserve, own)
