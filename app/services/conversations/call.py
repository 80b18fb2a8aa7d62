"""A call for a window: what is wanted, and of which conversation."""

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
    """The window that is wanted."""

    budget: int | None = None
    model: str | None = None
    query: str | None = None
    recall_max_tokens: int | None = None
    """Tokens that the query can bring in; None: whatever is free, and what the body can give way."""
    recall: Recall | None = None
    """Whether something is recalled for the newest user message, where there is no query; None: the policy says."""
    chooses: bool = True
    """False: a mere look, which shows what was recalled but chooses nothing."""
    recall_scope: RecallScope | None = None
    """The range of the query; None: as set by the conversation's policy."""
    recall_filter: Narrowing = EVERYTHING
    speaker: str | None = None
    """The name of the participant whom the window is for."""
    load: tuple[UUID, ...] = ()
    pages: tuple[int, ...] = ()
    format: Format = "openai"
    system: str | None = None
    """Instead of the conversation's own system prompt, for this call."""
    tools: tuple[dict[str, Any], ...] = ()
    """The caller's own tools, offered together with the recall tools."""
    bound_to: str | None = None
    """The one user whose conversations are there."""
    carries: bool = False
    """Show what answers carried, for a caller that fits the window to a model itself."""
    sensitive: bool = False
    """Whether the query finds sensitive memories too."""
    call: Call | None = None
    """The call that serves the window; None: nobody is shown it, and no record is made."""

    @property
    def asks_for_tail(self) -> bool:
        return bool(self.load or self.pages or self.query or self.speaker)


@dataclass(frozen=True)
class WindowCall:
    """A call for a window: the same in every step."""

    runtime: Runtime
    tenant: UUID
    conversation_id: str
    request: ContextRequest
    step: int = 0
    """The step in which the body gives way to a tail, of ``budget.reserves``."""
    reserve: int = 0
    """The tokens that it leaves free."""

    @property
    def anthropic(self) -> bool:
        return self.request.format == "anthropic"

    @cached_property
    def key(self) -> tuple[object, ...]:
        """Return what equal windows of a process are remembered by. A tail is no part of them."""
        asked = self.request
        own = hashlib.sha256(dumps([asked.system, asked.tools, asked.carries, asked.recall]).encode()).digest()
        return (self.tenant.int, self.conversation_id, asked.budget, asked.model, asked.format, self.reserve, own)
