"""Requests and responses of the models' APIs, in each dialect of the proxy."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Literal
from uuid import UUID

from pydantic import BaseModel, ConfigDict, Field

from app.api.http.body import RequestModel
from app.core.messages import ID_MAX, MODEL_MAX


class ModelBody(RequestModel):
    """A request of any dialect. Fields that are not here go to an API of the same dialect unchanged."""

    model_config = ConfigDict(extra="allow")

    model: str | None = Field(
        None, min_length=1, max_length=MODEL_MAX, description="model name of the API behind the proxy"
    )
    stream: bool | None = None
    tools: list[dict[str, Any]] | None = Field(None, max_length=200, description="the client's own tools")


class ChatBody(ModelBody):
    messages: list[Any] = Field(description="the whole list, or only new messages")
    n: int | None = Field(None, description="must be 1")
    user: str | None = Field(None, description="the conversation's user, unless a header names it")


class MessagesBody(ModelBody):
    messages: list[Any] = Field(description="the whole list, or only new messages")
    system: str | list[dict[str, Any]] | None = Field(None, description="text or text blocks")
    max_tokens: int | None = Field(None, ge=1, description="maximum tokens of the answer")


class ProxiedRequestResponse(BaseModel):
    """A request through the proxy, with all calls of the model that its answer took."""

    id: UUID
    created_at: datetime = Field(description="when it ended")
    dialect: Literal["chat", "responses", "messages"]
    mode: Literal["window", "pass-through"]
    model: str
    first_seq: int | None = Field(description="first message stored for it; null: none was")
    last_seq: int | None
    window_tokens: int | None = Field(description="of the window that the model saw, as Quire counts; null: none")
    window: int | None = Field(description="its number among the windows that were served; null: not recorded")
    calls: int = Field(description="of the model: more than one where it recalled something")
    first_ms: int | None = Field(description="until the model's API began to answer; null: it did not")
    total_ms: int = Field(description="that the model's API took, over all calls")
    prompt_tokens: int | None = Field(description="as the model's API reported them; null: it did not")
    cached_tokens: int | None = Field(description="those of the prompt that its cache had")
    written_tokens: int | None = Field(description="those of the prompt that its cache took")
    completion_tokens: int | None
    cost: float | None = Field(description="US dollars by QUIRE_PROXY_PRICES; null: unknown")
    error: str | None = Field(description="why there is no whole answer; never content")


class ProxiedRequestList(BaseModel):
    items: list[ProxiedRequestResponse] = Field(description="newest first")
    next_cursor: str | None


class DialectAnswer(BaseModel):
    """The answer in the form of the dialect's API; with `stream`, server-sent events of its parts."""

    model_config = ConfigDict(extra="allow")

    usage: dict[str, Any] | None = Field(None, description="sum over all model calls for this answer")


class DialectObject(BaseModel):
    """An object or a list in the form of the dialect's API."""

    model_config = ConfigDict(extra="allow")


class ConversationRef(RequestModel):
    id: str = Field(min_length=1, max_length=ID_MAX)


class ResponsesBody(ModelBody):
    input: str | list[Any] | None = Field(None, description="text, or items: the whole list, or only new ones")
    instructions: str | None = Field(None, description="the conversation's system prompt")
    previous_response_id: str | None = Field(
        None, max_length=ID_MAX, description="the response whose conversation is continued"
    )
    conversation: str | ConversationRef | None = Field(None, description="the conversation's id; created if new")
    store: bool | None = Field(None, description="false: the response has no id to be continued or fetched by")
    user: str | None = Field(None, description="the conversation's user, unless a header names it")


class EmbeddingsBody(ModelBody):
    """Texts to embed. Other fields go to the model's API unchanged."""

    input: str | list[Any] = Field(description="a text, or up to 2048 texts")
    encoding_format: Literal["float", "base64"] = "float"
