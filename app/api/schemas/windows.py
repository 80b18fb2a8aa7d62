"""The window and its ledger."""

from __future__ import annotations

from typing import Annotated, Any, Literal
from uuid import UUID

from pydantic import BaseModel, Field

from app.api.http.body import RequestModel
from app.api.schemas.narrowing import Narrowed
from app.core.messages import ID_MAX, MODEL_MAX
from app.core.model import Recall, RecallScope
from app.core.window.budget import BUDGET_MAX

Budget = Field(None, ge=1, le=BUDGET_MAX, description="maximum tokens of the window, everything included")
QUERY = "topic of the next answer; brings in memories that answer it, or nothing"
RECALL_MAX_TOKENS = "maximum tokens that the query brings in; if omitted, the window leaves the query its own share"
RECALL_SCOPE = (
    "where the query looks: all of the user's conversations, or only this one; default: the conversation's setting"
)

RECALL = (
    "`auto`: without a `query`, the newest user message brings in memories that answer it, once for its whole page; "
    "`off`: it brings in nothing; default: the conversation's setting"
)
SPEAKER = (
    "in a space, the participant whom the window is for: what that member keeps in mind stands in its tail; "
    "a name of no member is nobody's"
)


class ContextBody(RequestModel):
    """Parameters of a window."""

    budget: int | None = Budget
    model: str | None = Field(None, min_length=1, max_length=MODEL_MAX)
    query: str | None = Field(None, max_length=10_000, description=QUERY)
    recall_max_tokens: int | None = Field(None, ge=1, le=BUDGET_MAX, description=RECALL_MAX_TOKENS)
    recall_scope: RecallScope | None = Field(None, description=RECALL_SCOPE)
    recall: Recall | None = Field(None, description=RECALL)
    recall_filter: Narrowed | None = Field(None, description="what the query is narrowed to")
    speaker: str | None = Field(None, min_length=1, max_length=ID_MAX, description=SPEAKER)
    load: list[Annotated[UUID, Field(strict=False)]] = Field(default=[], max_length=20)
    pages: list[int] = Field(default=[], max_length=20)
    format: Literal["openai", "anthropic"] = "openai"
    system: str | None = Field(None, max_length=1_000_000, description="replaces the conversation's system prompt")
    tools: list[dict[str, Any]] = Field(default=[], max_length=200, description="your own tools")


class Sections(BaseModel):
    tools: int
    system: int
    notes: int
    summary: int
    contents: int
    condensed: int
    recent: int
    tail: int


class LedgerResponse(BaseModel):
    budget: int = Field(description="in the model's tokens, as `model_total`; all other figures are in Quire's")
    token_percent: int = Field(description="the model's tokens per 100 of Quire's, in this window")
    total: int
    model_total: int = Field(description="`total` in the model's tokens, as charged; never above `budget`")
    full_history: int
    saved: float
    sections: Sections


class PageSets(BaseModel):
    verbatim: list[int]
    condensed: list[int]
    listed: list[int]
    unlisted: int


class Lag(BaseModel):
    summary_through_seq: int
    indexed_through_page: int
    last_seq: int
    last_page: int


class WarningItem(BaseModel):
    code: str
    detail: str


class ContextResponse(BaseModel):
    """The assembled window."""

    conversation_id: str
    format: Literal["openai", "anthropic"]
    messages: list[dict[str, Any]]
    system: str | None
    tools: list[dict[str, Any]]
    usage: LedgerResponse
    epoch: int
    prefix_hash: str
    stable_messages: int
    stable_tokens: int
    pages: PageSets
    archive_refs: list[UUID]
    lag: Lag
    warnings: list[WarningItem]
