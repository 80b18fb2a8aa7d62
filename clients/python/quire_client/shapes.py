"""Responses of Quire."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypedDict

Json = dict[str, Any]


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
    full_history: int
    saved: float
    sections: dict[str, int]


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
