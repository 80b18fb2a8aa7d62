"""Responses of Quire."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, NotRequired, TypedDict

Json = dict[str, Any]
FILES = ("file", "document", "uri", "data", "binary")


def mark_of_file(kind: str, media_type: str | None = None) -> str:
    """Return what stands for a file in a message's text, by its kind in a framework; "" for what is no file.

    Nobody said what a framework keeps beside words: such parts are left out.
    """
    named = f"{media_type or ''} {kind}"
    found = next((word for word in ("image", "audio", "video") if word in named), "")
    return f"[{found or 'file'}]" if found or any(word in kind for word in FILES) else ""


class Stored(TypedDict):
    """A stored message; `content` is what the model will see."""

    id: str
    client_id: str | None
    seq: int
    page: int
    role: str
    tokens: int
    archive_id: str | None
    content: Any


class Appended(TypedDict):
    messages: list[Stored]
    page: int
    epoch: int


class Synced(TypedDict):
    """`messages[matched:]` of the list were new, and are in `appended`."""

    matched: int
    ahead: int
    passed_over: list[int]
    appended: list[Stored]
    branch: str | None
    """The branch that the list is on, if it is another than was named."""
    page: int
    epoch: int


class ToolResult(TypedDict):
    name: str
    content: str
    is_error: bool


class Searched(TypedDict):
    results: list[Json]
    total_found: int
    mode: str
    search_query_expanded: str | None
    warnings: list[Json]


class Recalled(TypedDict):
    search_summary: str
    relevant_memory_keys: list[str]
    confidence: float
    needs_more_info: bool
    follow_up_question: str | None
    iteration_used: int
    context_window_used: int
    trace: list[Json]


class Usage(TypedDict):
    budget: int
    token_percent: int
    total: int
    model_total: int
    full_history: int
    saved: float
    sections: dict[str, int]


class QuireEvent(TypedDict):
    """Something that happened; `data` holds ids and numbers only."""

    id: str
    seq: int
    """Counts a tenant's events, without gaps: resume after the last one you have."""
    type: str
    timestamp: str
    data: Json


class ModelUsage(TypedDict):
    """Model usage of a user, a conversation, a model or the tenant."""

    user_id: NotRequired[str | None]
    conversation_id: NotRequired[str | None]
    model: NotRequired[str | None]
    calls: int
    prompt_tokens: int
    completion_tokens: int
    cached_tokens: int
    written_tokens: int
    saved_tokens: int
    """Tokens of histories that windows left out."""
    cost: float | None
    """US dollars, by the service's prices; None if it knows none."""
    saved: float | None
    """US dollars that the provider's cache saved."""
    unpriced_calls: int
    storage_bytes: int | None


class AuditEntry(TypedDict):
    """A read or an erasure."""

    id: str
    at: str
    action: Literal["read", "erase"]
    route: str
    ids: dict[str, str]
    key_id: str | None
    user_id: str | None
    address: str
    status: int
    request_id: str


class Webhook(TypedDict):
    id: str
    url: str
    types: list[str]
    """Empty: all."""
    last_status: str | None
    failing_since: str | None
    disabled_at: str | None
    created_at: str
    secret: NotRequired[str | None]


@dataclass(frozen=True, slots=True)
class Window:
    """The context of the next model call: `messages`, `tools` and (Anthropic) `system` are ready to send."""

    messages: list[Json]
    tools: list[Json]
    system: str | None
    usage: Usage
    epoch: int
    prefix_hash: str
    stable_messages: int
    """Number of leading messages that stay unchanged within the epoch; place a cache mark after them."""
    stable_tokens: int
    warnings: list[Json]
    raw: Json
    """The full response."""

    @staticmethod
    def of(answer: Json) -> Window:
        names = [name for name in Window.__dataclass_fields__ if name != "raw"]
        return Window(**{name: answer[name] for name in names}, raw=answer)
