"""Models of requests and responses, for validation and for the OpenAPI document.

Responses are rendered as text elsewhere; these models describe them.
"""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Literal
from uuid import UUID

from pydantic import BaseModel, ConfigDict, Field, WithJsonSchema

from app.api.body import RequestModel
from app.api.times import Time
from app.core import calibration
from app.core.budget import BUDGET_MAX
from app.core.caller import Scope
from app.core.messages import KEYWORD_MAX, KEYWORDS_MAX, MODEL_MAX, NOTE_MAX, TITLE_MAX
from app.core.model import RecallScope

SAID_AT = "when it was said, with an offset; not before an earlier message's, not in the future"
REPORTED = "what the model's API counted for the call that the newest messages answer; windows adapt to it"
Budget = Field(None, ge=1, le=BUDGET_MAX, description="maximum tokens of the window, everything included")


class PolicyOverrides(RequestModel):
    """Paging settings of one conversation. Omitted ones follow the deployment."""

    full_recent_count: int | None = Field(None, ge=1, le=10_000)
    active_pages: int | None = Field(None, ge=0, le=10_000, description="(0: as many as fit)")
    condensed_tool_max: int | None = Field(None, ge=0, le=100_000)
    archive_threshold: int | None = Field(None, ge=200, le=10_000_000, description="characters")
    archive_threshold_tokens: int | None = Field(None, ge=0, le=10_000_000)
    unlist_after_turns: int | None = Field(None, ge=1, le=1_000_000)
    unlist_unchanged_turns: int | None = Field(None, ge=1, le=1_000_000)
    contents_max: int | None = Field(None, ge=0, le=100_000, description="tokens")
    summary_max: int | None = Field(None, ge=0, le=100_000, description="tokens")
    summary_enabled: bool | None = None
    chapter_lines: bool | None = None
    head_share: float | None = Field(None, ge=0, le=0.5, description="of the body's room")
    condensed_share: float | None = Field(None, ge=0, le=0.8, description="of the body's room")
    keep_share: float | None = Field(None, ge=0.05, le=0.8, description="of the body's room")
    recall_share: float | None = Field(None, ge=0.05, le=0.8, description="of the available tokens")
    recall_scope: RecallScope | None = Field(None, description="where queries and recall tools look")


class ConversationChange(RequestModel):
    """Changeable fields of a conversation. null resets a field."""

    title: str | None = Field(None, max_length=TITLE_MAX)
    system: str | None = Field(None, max_length=1_000_000, description="system prompt of every window")
    model: str | None = Field(None, min_length=1, max_length=MODEL_MAX)
    budget: int | None = Budget
    settings: PolicyOverrides | None = None
    metadata: dict[str, Any] | None = None


class ConversationCreate(ConversationChange):
    """A new conversation."""

    id: str | None = Field(None, description="1 to 128 characters; default: a UUIDv7")
    user_id: str | None = None


_MESSAGE = {
    "type": "object",
    "description": "A message in OpenAI or Anthropic form. Other fields are kept.",
    "required": ["role"],
    "properties": {
        "role": {"type": "string", "enum": ["system", "developer", "user", "assistant", "tool"]},
        "content": {
            "anyOf": [
                {"type": "string"},
                {"type": "array", "items": {"type": "object", "additionalProperties": True}},
                {"type": "null"},
            ]
        },
        "tool_calls": {
            "anyOf": [{"type": "array", "items": {"type": "object", "additionalProperties": True}}, {"type": "null"}]
        },
        "tool_call_id": {"type": "string"},
        "name": {"type": "string"},
        "client_id": {"type": "string", "description": "your own id of the message"},
        "said_at": {"type": "string", "format": "date-time", "description": SAID_AT},
    },
    "additionalProperties": True,
}
SentMessage = Annotated[Any, WithJsonSchema(_MESSAGE)]
"""Validated by `core.messages`, whose errors are more exact; described here for generated clients."""


class ReportedUsage(RequestModel):
    """Prompt tokens that a model's API counted for a window."""

    window_tokens: int = Field(ge=1, le=BUDGET_MAX, description="the window's `usage.total`")
    prompt_tokens: int = Field(ge=1, le=BUDGET_MAX, description="all prompt tokens, cached ones included")

    def value(self) -> calibration.ReportedUsage:
        return calibration.ReportedUsage(self.window_tokens, self.prompt_tokens)


class AppendBody(RequestModel):
    """Messages to append, in OpenAI or Anthropic form."""

    messages: list[SentMessage] = Field(description="1 to 1000 messages; all or none are stored")
    user_id: str | None = Field(None, description="the conversation's user; creates a new conversation")
    system: str | None = Field(None, max_length=1_000_000)
    reported_usage: ReportedUsage | None = Field(None, description=REPORTED)


class SyncBody(RequestModel):
    """Your whole message list of a conversation, in OpenAI or Anthropic form."""

    messages: list[SentMessage] = Field(description="1 to 20,000 messages, of which up to 1000 can be new")
    user_id: str | None = Field(None, description="the conversation's user; creates a new conversation")
    system: str | None = Field(
        None, max_length=1_000_000, description="system prompt, placed before the list's system messages"
    )
    on_fork: Literal["error", "append"] = Field(
        "error", description="what to do if the list contradicts what is stored"
    )
    reported_usage: ReportedUsage | None = Field(None, description=REPORTED)


class ChatBody(RequestModel):
    """A chat completion request. Other fields go to the model's API unchanged."""

    model_config = ConfigDict(extra="allow")

    model: str | None = Field(
        None, min_length=1, max_length=MODEL_MAX, description="model name of the API behind the proxy"
    )
    messages: list[Any] = Field(description="the whole list, or only new messages")
    stream: bool | None = None
    n: int | None = Field(None, description="must be 1")
    user: str | None = Field(None, description="the conversation's user, unless a header names it")
    tools: list[dict[str, Any]] | None = Field(None, max_length=200, description="the client's own tools")


class ChatCompletion(BaseModel):
    """The model API's response; with `stream`, server-sent events of its chunks."""

    model_config = ConfigDict(extra="allow")

    id: str
    object: str
    created: int
    model: str
    choices: list[dict[str, Any]]
    usage: dict[str, Any] | None = Field(None, description="sum over all model calls for this answer")


class ModelList(BaseModel):
    """The model API's list."""

    object: str
    data: list[dict[str, Any]]


QUERY = "topic of the next answer; brings in memories that answer it, or nothing"
RECALL_MAX_TOKENS = "maximum tokens that the query brings in; if omitted, the window leaves the query its own share"
RECALL_SCOPE = (
    "where the query looks: all of the user's conversations, or only this one; default: the conversation's setting"
)


class ContextBody(RequestModel):
    """Parameters of a window."""

    budget: int | None = Budget
    model: str | None = Field(None, min_length=1, max_length=MODEL_MAX)
    query: str | None = Field(None, max_length=10_000, description=QUERY)
    recall_max_tokens: int | None = Field(None, ge=1, le=BUDGET_MAX, description=RECALL_MAX_TOKENS)
    recall_scope: RecallScope | None = Field(None, description=RECALL_SCOPE)
    load: list[Annotated[UUID, Field(strict=False)]] = Field(default=[], max_length=20)
    pages: list[int] = Field(default=[], max_length=20)
    format: Literal["openai", "anthropic"] = "openai"
    system: str | None = Field(None, max_length=1_000_000, description="replaces the conversation's system prompt")
    tools: list[dict[str, Any]] = Field(default=[], max_length=200, description="your own tools")


class ToolCallBody(RequestModel):
    """A recall tool call of a model."""

    arguments: dict[str, Any] = Field(default={})


class Conversation(BaseModel):
    """A conversation."""

    id: str
    user_id: str | None
    title: str | None
    system: str | None
    model: str | None
    budget: int | None
    token_percent: int = Field(description="the model's tokens per 100 of Quire's, as reported so far")
    settings: dict[str, Any]
    metadata: dict[str, Any]
    messages: int
    pages: int
    tokens: int
    epoch: int
    language: str | None
    created_at: datetime
    updated_at: datetime


class ConversationItem(BaseModel):
    """A conversation in a list."""

    id: str
    user_id: str | None
    title: str | None
    model: str | None
    budget: int | None
    metadata: dict[str, Any]
    messages: int
    pages: int
    tokens: int
    created_at: datetime
    updated_at: datetime


class ConversationList(BaseModel):
    items: list[ConversationItem]
    next_cursor: str | None


class Erased(BaseModel):
    """Deleted rows per table."""

    id: str
    erased: dict[str, int]


class MessageErased(Erased):
    """An erased message; ``id`` is the conversation's."""

    seq: int


class PageErased(Erased):
    """An erased page; ``id`` is the conversation's."""

    page: int


class Imported(BaseModel):
    """Items that were imported, and items that existed already, by kind."""

    imported: dict[str, int]
    matched: dict[str, int]


class Stored(BaseModel):
    """An appended message; ``content`` is what the model will see."""

    id: UUID
    client_id: str | None
    seq: int
    page: int
    role: str
    tokens: int
    archive_id: UUID | None
    content: Any


class Message(BaseModel):
    """A message of the history, with every field it was sent with."""

    id: UUID
    client_id: str | None
    seq: int
    page: int
    role: str
    content: Any
    tool_calls: list[Any] | None
    tool_call_id: str | None
    name: str | None
    tokens: int
    archived: bool
    archive_id: UUID | None
    created_at: datetime
    said_at: datetime | None


class MessageList(BaseModel):
    items: list[Message]
    next_cursor: str | None


class Sections(BaseModel):
    tools: int
    system: int
    notes: int
    summary: int
    contents: int
    condensed: int
    recent: int
    tail: int


class Usage(BaseModel):
    budget: int = Field(description="in the model's tokens; all other figures are in Quire's")
    token_percent: int = Field(description="the model's tokens per 100 of Quire's")
    total: int
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


class Context(BaseModel):
    """The assembled window."""

    conversation_id: str
    format: Literal["openai", "anthropic"]
    messages: list[dict[str, Any]]
    system: str | None
    tools: list[dict[str, Any]]
    usage: Usage
    epoch: int
    prefix_hash: str
    stable_messages: int
    stable_tokens: int
    pages: PageSets
    archive_refs: list[UUID]
    lag: Lag
    warnings: list[WarningItem]


class Appended(BaseModel):
    messages: list[Stored]
    page: int
    epoch: int
    context: Context | None = None


class Synced(BaseModel):
    matched: int = Field(description="leading messages of the list that needed no storing")
    ahead: int = Field(description="stored messages after the end of the list")
    passed_over: list[int] = Field(description="indexes of messages that are not stored and precede stored ones")
    appended: list[Stored]
    page: int
    epoch: int
    context: Context | None = None


class EntryLine(BaseModel):
    seq: int
    role: str
    summary: str


class ContentsEntry(BaseModel):
    page: int
    title: str
    entries: list[EntryLine]
    recall_count: int
    last_recalled_page: int | None
    source: Literal["llm", "extractive"]


class ChapterItem(BaseModel):
    first_page: int
    last_page: int
    line: str


class Contents(BaseModel):
    text: str
    tokens: int
    entries: list[ContentsEntry]
    chapters: list[ChapterItem]


class PageItem(BaseModel):
    page: int
    title: str
    source: Literal["llm", "extractive"] = Field(description="author of the title")
    first_seq: int
    last_seq: int
    recall_count: int
    last_recalled_page: int | None
    created_at: datetime


class PageList(BaseModel):
    items: list[PageItem]
    next_cursor: str | None


class Page(BaseModel):
    """A page in full."""

    page: int
    title: str
    messages: list[Message]
    entries: list[EntryLine]
    recall_count: int
    last_recalled_page: int | None
    source: Literal["llm", "extractive"]


class SummaryVersion(BaseModel):
    version: int
    text: str
    tokens: int
    through_seq: int
    source: Literal["llm", "extractive"]
    model: str | None
    created_at: datetime


class Summary(BaseModel):
    """The newest summary, one sentence per line."""

    text: str
    tokens: int
    through_seq: int = Field(description="last message that it covers")
    source: Literal["llm", "extractive"]
    model: str | None = Field(description="the model that wrote it")
    version: int | None = None
    created_at: datetime | None = None
    lag: int = Field(description="messages that it should cover but does not yet")
    versions: list[SummaryVersion] = Field(description="newest first")


class ToolResult(BaseModel):
    name: str
    content: str
    is_error: bool


class AttpBody(RequestModel):
    """An ATTP document."""

    document: str = Field(description="the TOML document, with or without a code fence around it")


class AttpCall(BaseModel):
    name: str
    arguments: dict[str, Any]
    error: str | None = Field(description="why the call failed")


class AttpResult(BaseModel):
    """Result of an ATTP document."""

    status: Literal["continue", "done", "error"] = Field(
        description="continue: show the model `content`; done: `message` is the answer; error: `content` says why"
    )
    thought: str | None
    target: str | None
    message: str | None
    result: Any = Field(description="the value of `__result__`")
    error: str | None
    content: str = Field(description="what to show the model")
    is_error: bool
    calls: list[AttpCall]


class ToolSchemas(BaseModel):
    format: Literal["openai", "anthropic", "mcp", "attp"]
    tools: list[dict[str, Any]]
    prompt: dict[str, str] = Field(description="guide to the tools, by language")
    window: list[str] = Field(description="tools that windows include")


class ArchiveBody(RequestModel):
    """A tool result to archive."""

    user_id: str | None = None
    conversation_id: str | None = None
    tool_name: str = Field(min_length=1, max_length=256)
    tool_input: dict[str, Any] | list[Any] | str = Field(default="", description="the call's arguments")
    result: str
    sources: list[str] = Field(default=[], max_length=10, description="origins of the result; extracted if omitted")
    expires_at: Time | None = Field(None, description="time of erasure")


class Passage(BaseModel):
    offset: int
    length: int
    text: str
    relevance_score: float


class Archive(BaseModel):
    """An archived or passed-through tool result."""

    uuid: UUID | None
    archived: bool
    placeholder: str
    tool_name: str
    tool_input: Any
    query_summary: str | None
    result_summary: str | None
    key_terms: list[str]
    sources: list[str]
    result_length: int
    tokens: int
    conversation_id: str | None
    user_id: str | None
    created_at: datetime | None
    expires_at: datetime | None
    content: str | None = None
    passages: list[Passage] | None = None
    is_cut: bool = Field(default=False, description="whether max_tokens cut what was requested")
    mode: Literal["hybrid", "keyword"] | None = Field(None, description="how passages were found")
    warnings: list[WarningItem] = []


class ArchiveList(BaseModel):
    items: list[Archive]
    next_cursor: str | None


class ArchiveErased(BaseModel):
    uuid: UUID
    erased: dict[str, int]


class ArchivedResult(BaseModel):
    archive_id: UUID
    seq: int | None
    tool_name: str
    length: int


class Spent(BaseModel):
    """Model usage."""

    calls: int
    prompt_tokens: int
    completion_tokens: int


class WorkNumbers(BaseModel):
    """Background work in numbers."""

    pending: int = Field(description="waiting jobs, new or after a failure")
    running: int
    dead: int = Field(description="jobs that failed permanently; see GET /jobs")
    unindexed: int = Field(description="closed pages, long texts and memories that are not indexed yet")
    oldest_pending_seconds: float | None = Field(description="age of the oldest pending job")
    spent: dict[str, Spent] = Field(description="model usage by kind of work")


class LaneNumbers(BaseModel):
    """The jobs that need one provider."""

    pending: int
    running: int
    dead: int
    oldest_pending_seconds: float | None
    unclaimed: int = Field(description="jobs that have waited over a minute: there are no or too few workers")
    error: str | None = Field(description="last error of the oldest pending job that failed")
    stopped: str | None = Field(description="why this process tries the lane only once a minute")


class Job(BaseModel):
    """A job. Errors name only their kind, never content."""

    id: UUID
    kind: str
    lane: str
    state: Literal["pending", "running", "dead"]
    conversation_id: str | None
    attempts: int
    error: str | None
    created_at: datetime
    failed_at: datetime | None


class Jobs(WorkNumbers):
    """All background work and its dead letters."""

    unindexed_at_least: bool = Field(description="true if `unindexed` is a lower bound")
    lanes: dict[str, LaneNumbers]
    items: list[Job] = Field(description="dead letters")
    next_cursor: str | None


class Status(WorkNumbers):
    """Progress of a conversation's background work."""

    messages: int
    pages: int
    epoch: int
    archived: list[ArchivedResult] = Field(description="the newest 100")


class NoteBody(RequestModel):
    """A standing note."""

    text: str = Field(min_length=1, max_length=NOTE_MAX)


class Note(BaseModel):
    id: UUID
    text: str
    tokens: int
    source: Literal["person", "extractive", "llm"]
    seq: int | None = Field(description="message that it was found in")
    replaced: bool = Field(description="true if another note replaced it")
    created_at: datetime


class NoteList(BaseModel):
    items: list[Note]
    next_cursor: str | None


class Topic(BaseModel):
    topic: str
    mention_count: int
    last_page: int


class TopicList(BaseModel):
    items: list[Topic]
    next_cursor: str | None


MemoryType = Literal["episode", "passage", "preference", "fact", "general", "command_output"]


class RecallBody(RequestModel):
    """A task for the recall agent."""

    user_id: str | None = None
    conversation_id: str | None = Field(None, description="conversation whose latest messages it starts from")
    query: str | None = Field(None, min_length=1, max_length=10_000, description="default: the latest user message")
    max_iterations: int = Field(
        3, ge=1, le=10, description="maximum iterations; each can read more of the conversation"
    )


class RecallStep(BaseModel):
    iteration: int
    tool: str
    arguments: dict[str, Any]
    result: str = Field(description="its first 500 characters")
    is_error: bool


class RecallResult(BaseModel):
    search_summary: str
    relevant_memory_keys: list[UUID]
    confidence: float = Field(description="0 to 1")
    needs_more_info: bool
    follow_up_question: str | None
    iteration_used: int
    context_window_used: int = Field(description="messages of the conversation that it read")
    trace: list[RecallStep]
    warnings: list[WarningItem]


class KeywordsBody(RequestModel):
    """A text to extract search keywords from."""

    text: str = Field(min_length=1, max_length=100_000)
    limit: int = Field(10, ge=1, le=30)


class Keywords(BaseModel):
    keywords: list[str]


class SearchBody(RequestModel):
    """A search."""

    user_id: str | None = None
    query: str = Field(min_length=1, max_length=10_000)
    search_mode: Literal["hybrid", "semantic", "keyword"] = "hybrid"
    keywords: list[str] = Field(default=[], max_length=20, description="at least one must occur")
    memory_types: list[MemoryType] = Field(default=[], max_length=10)
    time_range_days: int | None = Field(None, ge=1, le=36_500, description="only the last N days")
    since: Time | None = Field(None, description="only from this time on")
    until: Time | None = Field(None, description="only before this time")
    limit: int = Field(10, ge=1, le=100)
    min_relevance_score: float = Field(0.0, ge=0, le=1)
    conversation_id: str | None = None
    expand: bool = Field(default=False, description="have the LLM expand the query first; adds the time of an LLM call")


class MemoryResult(BaseModel):
    memory_key: UUID
    memory_type: MemoryType
    summary: str
    content_preview: str = Field(description="200 characters with the match in **bold**")
    relevance_score: float
    created_at: datetime
    keywords: list[str]
    conversation_id: str | None
    page: int | None
    message_ids: list[UUID]
    archive_id: UUID | None


class MemoryDetail(MemoryResult):
    content: str = Field(description="up to 100 KB, with a mark where it is cut")
    is_cut: bool
    metadata: dict[str, Any]
    sensitivity: Literal["normal", "sensitive"]
    expires_at: datetime | None
    source: str = Field(description="person, llm or extractive")


class MemoryBody(RequestModel):
    """A memory to store."""

    user_id: str | None = None
    conversation_id: str | None = None
    content: str = Field(min_length=1, max_length=1_000_000)
    memory_type: Literal["preference", "fact", "general", "command_output"] = "general"
    keywords: list[Annotated[str, Field(min_length=1, max_length=KEYWORD_MAX)]] = Field(
        default=[], max_length=KEYWORDS_MAX
    )
    metadata: dict[str, Any] = Field(default={}, description="your own metadata, up to 16 KB as JSON")
    sensitivity: Literal["normal", "sensitive"] = "normal"
    expires_at: Time | None = Field(None, description="time from which search no longer finds it")


class MemoryErased(BaseModel):
    memory_key: UUID
    erased: dict[str, int]


class KeyBody(RequestModel):
    """A key to create."""

    name: str = Field(min_length=1, max_length=200, description="a name to recognise it by")
    scopes: list[Scope] = Field(default=["read", "write"], min_length=1, max_length=10)
    user_id: str | None = Field(None, description="the only user that it can see; default: all users")
    expires_at: Time | None = Field(None, description="time from which it is invalid")


class Key(BaseModel):
    """A key, without its secret."""

    id: UUID
    prefix: str = Field(description="beginning of the key")
    name: str
    scopes: list[Scope]
    user_id: str | None
    created_at: datetime
    expires_at: datetime | None
    revoked_at: datetime | None
    last_used_at: datetime | None = Field(description="rounded to a minute")


class NewKey(Key):
    key: str | None = Field(description="the full key; null in the response to a repeated request")


class KeyList(BaseModel):
    items: list[Key]
    next_cursor: str | None


class SearchResults(BaseModel):
    results: list[MemoryResult]
    total_found: int
    mode: Literal["hybrid", "semantic", "keyword"]
    search_query_expanded: str | None
    warnings: list[WarningItem]
