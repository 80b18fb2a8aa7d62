"""The shapes of requests and answers, for validation and for the OpenAPI document.

Answers are put together as text elsewhere; these models say what is in them.
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

REPORTED = "of the model call that the newest messages answer or come from; windows are fitted to what it says"
Budget = Field(None, ge=1, le=BUDGET_MAX, description="tokens that the window may take, everything included")


class PolicyOverrides(RequestModel):
    """Paging settings of one conversation; what is left out follows the deployment."""

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
    recall_scope: RecallScope | None = Field(None, description="where queries and the recall tools look")


class ConversationChange(RequestModel):
    """What of a conversation can be changed. A member that is null is reset."""

    title: str | None = Field(None, max_length=TITLE_MAX)
    system: str | None = Field(None, max_length=1_000_000, description="system prompt of every window")
    model: str | None = Field(None, min_length=1, max_length=MODEL_MAX)
    budget: int | None = Budget
    settings: PolicyOverrides | None = None
    metadata: dict[str, Any] | None = None


class ConversationCreate(ConversationChange):
    """A new conversation."""

    id: str | None = Field(None, description="1 to 128 characters; a UUIDv7 if left out")
    user_id: str | None = None


_MESSAGE = {
    "type": "object",
    "description": "A message as its API has it; what is not named here is kept as it is.",
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
        "client_id": {"type": "string", "description": "the caller's own id of the message"},
    },
    "additionalProperties": True,
}
SentMessage = Annotated[Any, WithJsonSchema(_MESSAGE)]
"""Read by `core.messages`, which says more exactly what is wrong; described here for whoever generates a client."""


class ReportedUsage(RequestModel):
    """What a model's API counted in the prompt that a window of the conversation became."""

    window_tokens: int = Field(ge=1, le=BUDGET_MAX, description="the window's `usage.total`")
    prompt_tokens: int = Field(ge=1, le=BUDGET_MAX, description="all that the model read, from a cache or not")

    def value(self) -> calibration.ReportedUsage:
        return calibration.ReportedUsage(self.window_tokens, self.prompt_tokens)


class AppendBody(RequestModel):
    """Messages to append, in OpenAI or Anthropic form."""

    messages: list[SentMessage] = Field(description="1 to 1000 messages, stored all or none")
    user_id: str | None = Field(None, description="creates the conversation if it is new")
    system: str | None = Field(None, max_length=1_000_000)
    reported_usage: ReportedUsage | None = Field(None, description=REPORTED)


class SyncBody(RequestModel):
    """All the messages that the caller has of a conversation, in OpenAI or Anthropic form."""

    messages: list[SentMessage] = Field(description="1 to 20,000 messages, of which up to 1000 may be new")
    user_id: str | None = Field(None, description="creates the conversation if it is new")
    system: str | None = Field(None, max_length=1_000_000, description="before what the list's system messages say")
    on_fork: Literal["error", "append"] = Field("error", description="where the list contradicts what is stored")
    reported_usage: ReportedUsage | None = Field(None, description=REPORTED)


class ChatBody(RequestModel):
    """A request for a chat completion. Members beside these go to the model's API as they are."""

    model_config = ConfigDict(extra="allow")

    model: str | None = Field(None, min_length=1, max_length=MODEL_MAX, description="as the model's API names it")
    messages: list[Any] = Field(description="the whole list, or what is new of it")
    stream: bool | None = None
    n: int | None = Field(None, description="1: one answer is stored")
    user: str | None = Field(None, description="whose conversation it is, where no header says")
    tools: list[dict[str, Any]] | None = Field(None, max_length=200, description="the client's own")


class ChatCompletion(BaseModel):
    """As the model's API answers; with `stream`, server-sent events of its chunks."""

    model_config = ConfigDict(extra="allow")

    id: str
    object: str
    created: int
    model: str
    choices: list[dict[str, Any]]
    usage: dict[str, Any] | None = Field(None, description="of all calls of the model for the answer")


class ModelList(BaseModel):
    """As the model's API lists them."""

    object: str
    data: list[dict[str, Any]]


QUERY = "what the next answer is about: what answers it is brought in from all that was said earlier, or nothing"
RECALL_MAX_TOKENS = "tokens that the query brings in at most; without it the window leaves the query a share of its own"
RECALL_SCOPE = (
    "where the query looks: in all of the user's conversations, or in this one; else as the conversation says"
)


class ContextBody(RequestModel):
    """What the window is wanted for."""

    budget: int | None = Budget
    model: str | None = Field(None, min_length=1, max_length=MODEL_MAX)
    query: str | None = Field(None, max_length=10_000, description=QUERY)
    recall_max_tokens: int | None = Field(None, ge=1, le=BUDGET_MAX, description=RECALL_MAX_TOKENS)
    recall_scope: RecallScope | None = Field(None, description=RECALL_SCOPE)
    load: list[Annotated[UUID, Field(strict=False)]] = Field(default=[], max_length=20)
    pages: list[int] = Field(default=[], max_length=20)
    format: Literal["openai", "anthropic"] = "openai"
    system: str | None = Field(None, max_length=1_000_000, description="instead of the conversation's own")
    tools: list[dict[str, Any]] = Field(default=[], max_length=200, description="the caller's own tools")


class ToolCallBody(RequestModel):
    """The arguments that the model gave."""

    arguments: dict[str, Any] = Field(default={})


class Conversation(BaseModel):
    """A conversation."""

    id: str
    user_id: str | None
    title: str | None
    system: str | None
    model: str | None
    budget: int | None
    token_percent: int = Field(description="tokens that its model makes of a hundred of Quire's, as far as reported")
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
    """What was erased, in rows of each table."""

    id: str
    erased: dict[str, int]


class MessageErased(Erased):
    """A message that was erased; ``id`` is the conversation's."""

    seq: int


class PageErased(Erased):
    """A page that was erased; ``id`` is the conversation's."""

    page: int


class Imported(BaseModel):
    """How many of what were put in, and how many were there already."""

    imported: dict[str, int]
    matched: dict[str, int]


class Stored(BaseModel):
    """A message that was appended; ``content`` is as the model will see it."""

    id: UUID
    client_id: str | None
    seq: int
    page: int
    role: str
    tokens: int
    archive_id: UUID | None
    content: Any


class Message(BaseModel):
    """A message of the history, with every member it was sent with."""

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
    budget: int = Field(description="in the model's tokens; all others are Quire's")
    token_percent: int = Field(description="the model's tokens to a hundred of Quire's")
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
    matched: int = Field(description="messages of the list before the first that was appended")
    ahead: int = Field(description="stored messages after the list's last")
    passed_over: list[int] = Field(description="messages of the list that are not stored and come before stored ones")
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
    source: Literal["llm", "extractive"] = Field(description="who wrote the title")
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
    """The newest summary: sentences, one on each line."""

    text: str
    tokens: int
    through_seq: int = Field(description="the last message that it covers")
    source: Literal["llm", "extractive"]
    model: str | None = Field(description="which wrote it")
    version: int | None = None
    created_at: datetime | None = None
    lag: int = Field(description="messages that it should cover and does not yet")
    versions: list[SummaryVersion] = Field(description="the newest, the newest first")


class ToolResult(BaseModel):
    name: str
    content: str
    is_error: bool


class AttpBody(RequestModel):
    """What a model wrote."""

    document: str = Field(description="the TOML document, with or without a code fence around it")


class AttpCall(BaseModel):
    name: str
    arguments: dict[str, Any]
    error: str | None = Field(description="why it did not work")


class AttpResult(BaseModel):
    """What came of a document."""

    status: Literal["continue", "done", "error"] = Field(
        description="continue: show the model `content`; done: `message` is its last word; error: `content` says why"
    )
    thought: str | None
    target: str | None
    message: str | None
    result: Any = Field(description="what the code assigned to `__result__`")
    error: str | None
    content: str = Field(description="what to show the model")
    is_error: bool
    calls: list[AttpCall]


class ToolSchemas(BaseModel):
    format: Literal["openai", "anthropic", "mcp", "attp"]
    tools: list[dict[str, Any]]
    prompt: dict[str, str] = Field(description="the text that goes with the tools, by language")
    window: list[str] = Field(description="the tools that windows offer by themselves")


class ArchiveBody(RequestModel):
    """One tool result."""

    user_id: str | None = None
    conversation_id: str | None = None
    tool_name: str = Field(min_length=1, max_length=256)
    tool_input: dict[str, Any] | list[Any] | str = Field(default="", description="the call's arguments")
    result: str
    sources: list[str] = Field(default=[], max_length=10, description="where it comes from, if the caller knows")
    expires_at: Time | None = Field(None, description="when it is to be erased")


class Passage(BaseModel):
    offset: int
    length: int
    text: str
    relevance_score: float


class Archive(BaseModel):
    """An archived tool result, or one that was passed through."""

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
    is_cut: bool = Field(default=False, description="whether max_tokens left something of what was asked for out")
    mode: Literal["hybrid", "keyword"] | None = Field(None, description="how passages were searched for")
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
    """What providers were paid for."""

    calls: int
    prompt_tokens: int
    completion_tokens: int


class WorkNumbers(BaseModel):
    """Background work in numbers."""

    pending: int = Field(description="jobs that wait, for their turn or after a failure")
    running: int
    dead: int = Field(description="jobs that failed for good; see GET /jobs")
    unindexed: int = Field(description="closed pages, long texts and memories that are not indexed yet")
    oldest_pending_seconds: float | None = Field(description="since when the oldest pending job has been wanted")
    spent: dict[str, Spent] = Field(description="by kind of work")


class LaneNumbers(BaseModel):
    """The jobs that need one provider."""

    pending: int
    running: int
    dead: int
    oldest_pending_seconds: float | None
    unclaimed: int = Field(description="jobs that could have been begun for over a minute: too few workers, or none")
    error: str | None = Field(description="on what the oldest pending job that failed did so")
    stopped: str | None = Field(description="why this process tries the lane only once a minute")


class Job(BaseModel):
    """One job. Of errors only the kind is told, never content."""

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
    """Background work of everything, and its dead letters."""

    unindexed_at_least: bool = Field(description="there may be more unindexed: counting is bounded")
    lanes: dict[str, LaneNumbers]
    items: list[Job] = Field(description="dead letters")
    next_cursor: str | None


class Status(WorkNumbers):
    """How far the work on a conversation is."""

    messages: int
    pages: int
    epoch: int
    archived: list[ArchivedResult] = Field(description="the newest hundred")


class NoteBody(RequestModel):
    """A standing note."""

    text: str = Field(min_length=1, max_length=NOTE_MAX)


class Note(BaseModel):
    id: UUID
    text: str
    tokens: int
    source: Literal["person", "extractive", "llm"]
    seq: int | None = Field(description="the message it was found in")
    replaced: bool = Field(description="another note holds instead")
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
    """What the recall agent is to find out."""

    user_id: str | None = None
    conversation_id: str | None = Field(None, description="whose latest messages it starts from")
    query: str | None = Field(None, min_length=1, max_length=10_000, description="default: the latest user message")
    max_iterations: int = Field(3, ge=1, le=10, description="how often it may look at more of the conversation, and 1")


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
    context_window_used: int = Field(description="messages of the conversation that were looked at")
    trace: list[RecallStep]
    warnings: list[WarningItem]


class KeywordsBody(RequestModel):
    """A text to find search words in."""

    text: str = Field(min_length=1, max_length=100_000)
    limit: int = Field(10, ge=1, le=30)


class Keywords(BaseModel):
    keywords: list[str]


class SearchBody(RequestModel):
    """What is searched for, and where."""

    user_id: str | None = None
    query: str = Field(min_length=1, max_length=10_000)
    search_mode: Literal["hybrid", "semantic", "keyword"] = "hybrid"
    keywords: list[str] = Field(default=[], max_length=20, description="at least one of these must occur")
    memory_types: list[MemoryType] = Field(default=[], max_length=10)
    time_range_days: int | None = Field(None, ge=1, le=36_500, description="only the last days")
    since: Time | None = Field(None, description="only from this time on")
    until: Time | None = Field(None, description="only before this time")
    limit: int = Field(10, ge=1, le=100)
    min_relevance_score: float = Field(0.0, ge=0, le=1)
    conversation_id: str | None = None
    expand: bool = Field(default=False, description="have the LLM put the query in more words first; takes its time")


class MemoryResult(BaseModel):
    memory_key: UUID
    memory_type: MemoryType
    summary: str
    content_preview: str = Field(description="200 characters, the match marked **so**")
    relevance_score: float
    created_at: datetime
    keywords: list[str]
    conversation_id: str | None
    page: int | None
    message_ids: list[UUID]
    archive_id: UUID | None


class MemoryDetail(MemoryResult):
    content: str = Field(description="to 100 KB, with a mark where it is cut")
    is_cut: bool
    metadata: dict[str, Any]
    sensitivity: Literal["normal", "sensitive"]
    expires_at: datetime | None
    source: str = Field(description="person, llm or extractive")


class MemoryBody(RequestModel):
    """Something to be found again."""

    user_id: str | None = None
    conversation_id: str | None = None
    content: str = Field(min_length=1, max_length=1_000_000)
    memory_type: Literal["preference", "fact", "general", "command_output"] = "general"
    keywords: list[Annotated[str, Field(min_length=1, max_length=KEYWORD_MAX)]] = Field(
        default=[], max_length=KEYWORDS_MAX
    )
    metadata: dict[str, Any] = Field(default={}, description="the caller's own, to 16 KB as JSON")
    sensitivity: Literal["normal", "sensitive"] = "normal"
    expires_at: Time | None = Field(None, description="from then on it is not found any more")


class MemoryErased(BaseModel):
    memory_key: UUID
    erased: dict[str, int]


class KeyBody(RequestModel):
    """A key to be made."""

    name: str = Field(min_length=1, max_length=200, description="to tell it from others")
    scopes: list[Scope] = Field(default=["read", "write"], min_length=1, max_length=10)
    user_id: str | None = Field(None, description="the one user that it is to see; all of them if left out")
    expires_at: Time | None = Field(None, description="from then on it lets nobody in")


class Key(BaseModel):
    """A key, without its secret."""

    id: UUID
    prefix: str = Field(description="how the key begins")
    name: str
    scopes: list[Scope]
    user_id: str | None
    created_at: datetime
    expires_at: datetime | None
    revoked_at: datetime | None
    last_used_at: datetime | None = Field(description="to a minute")


class NewKey(Key):
    key: str | None = Field(description="the whole key; null in the answer to a repeated request")


class KeyList(BaseModel):
    items: list[Key]
    next_cursor: str | None


class SearchResults(BaseModel):
    results: list[MemoryResult]
    total_found: int
    mode: Literal["hybrid", "semantic", "keyword"]
    search_query_expanded: str | None
    warnings: list[WarningItem]
