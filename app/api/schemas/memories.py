"""Memories, search and the recall agent."""

from __future__ import annotations

import re
from datetime import datetime
from typing import Annotated, Any, Literal
from uuid import UUID

from pydantic import AfterValidator, AliasChoices, BaseModel, Field
from pydantic_core import PydanticCustomError

from app.api.http.body import RequestModel
from app.api.http.times import Time
from app.api.schemas.conversations import Certificates
from app.api.schemas.narrowing import MemoryType, Narrowed, OwnType
from app.api.schemas.windows import WarningItem
from app.core.messages import KEYWORD_MAX, KEYWORDS_MAX
from app.core.search.fusion import QUERIES_MAX
from app.core.search.grep import PATTERN_MAX
from app.core.window.kept import KEY_MAX

MemoryStatus = Literal["held", "proposed", "refused", "withdrawn", "retracted"]
SOURCES = "person, rule, llm, tool or import; extractive: a message or an archive"
SCOPE = "`user`, `conversation`, or `space:` and the id of a space"
_SCOPE = "^(user|conversation|space:[^\\x00-\\x1f\\x7f]{1,128})$"


def _scope(value: str) -> str:
    if re.fullmatch(_SCOPE, value) is None:
        raise PydanticCustomError("scope", f"must be {SCOPE}")
    return value


ScopeName = Annotated[str, AfterValidator(_scope), Field(max_length=134, json_schema_extra={"pattern": _SCOPE})]
QueryText = Annotated[str, Field(min_length=1, max_length=10_000)]


class RecallBody(Narrowed):
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
    """A question or another text to extract search keywords from."""

    text: str = Field(
        min_length=1, max_length=100_000, validation_alias=AliasChoices("query", "text"), description="or `query`"
    )
    context: str = Field("", max_length=100_000, description="what was said around it; its words weigh half")
    limit: int = Field(
        10, ge=1, le=30, validation_alias=AliasChoices("max_keywords", "limit"), description="or `max_keywords`"
    )


class KeywordResponse(BaseModel):
    keyword: str
    type: Literal["number", "identifier", "name", "phrase", "word"]
    weight: float = Field(description="0 to 1, relative to the best")


class Keywords(BaseModel):
    keywords: list[str] = Field(description="best first")
    weighted: list[KeywordResponse] = Field(description="the same with type and weight")


class SearchBody(Narrowed):
    """A search."""

    user_id: str | None = None
    query: str = Field(min_length=1, max_length=10_000)
    queries: list[QueryText] = Field(
        default=[],
        max_length=QUERIES_MAX,
        description="further queries, such as the parts of a question; of each memory the best score counts",
    )
    search_mode: Literal["hybrid", "semantic", "keyword"] = "hybrid"
    keywords: list[str] = Field(default=[], max_length=20, description="at least one must occur")
    time_range_days: int | None = Field(None, ge=1, le=36_500, description="only the last N days")
    since: Time | None = Field(None, description="only from this time on")
    until: Time | None = Field(None, description="only before this time")
    as_of: Time | None = Field(None, description="what held then; default: now")
    known_at: Time | None = Field(None, description="as far as it was known then; default: now")
    limit: int = Field(10, ge=1, le=100)
    min_relevance_score: float | None = Field(
        None,
        ge=0,
        le=1,
        description="nothing below it; 0: whatever is closest; null: nothing if that hardly answers the query",
    )
    conversation_id: str | None = None
    scopes: list[ScopeName] = Field(
        default=[],
        max_length=20,
        description=f"where to search: {SCOPE}; default: the user and their spaces, or the conversation alone",
    )
    expand: bool = Field(
        default=False,
        description="have the LLM add words to the query, which takes its time; what the query finds stays first",
    )


class GrepBody(RequestModel):
    """An exact text or a regular expression to find."""

    user_id: str | None = None
    conversation_id: str | None = None
    pattern: str = Field(min_length=1, max_length=PATTERN_MAX, description="letter case does not matter")
    regex: bool = Field(
        default=False, description="a regular expression, matched within lines; no back-references, no look-around"
    )
    time_range_days: int | None = Field(None, ge=1, le=36_500, description="only the last N days")
    since: Time | None = Field(None, description="only what was said from this time on")
    until: Time | None = Field(None, description="only what was said before this time")
    limit: int = Field(20, ge=1, le=100)


class GrepLine(BaseModel):
    conversation_id: str | None
    page: int | None
    seq: int | None
    message_id: UUID | None
    archive_id: UUID | None = Field(
        description="the archived result that the line is in, if it is in none of a message"
    )
    role: str
    line: int = Field(description="number of the line in its message or archive, from 1 on")
    offset: int = Field(description="characters before the match in its message or archive")
    text: str = Field(description="up to 200 characters of the line, with the match in **bold**")
    said_at: datetime


class GrepResults(BaseModel):
    results: list[GrepLine] = Field(description="newest first")
    total_found: int = Field(description="lines that match in what was read")
    is_complete: bool = Field(description="whether everything was read")
    warnings: list[WarningItem]


class MemoryResult(BaseModel):
    memory_key: UUID
    memory_type: MemoryType
    role: Literal["user", "assistant", "tool", "system"] | None = Field(description="who said it; null for a memory")
    name: str | None = Field(description="the `name` that its message gives")
    summary: str
    content_preview: str = Field(description="200 characters with the match in **bold**")
    relevance_score: float
    created_at: datetime
    keywords: list[str]
    conversation_id: str | None
    page: int | None
    message_ids: list[UUID]
    archive_id: UUID | None
    metadata: dict[str, Any] = Field(description="as the memory or the message was sent with")


class Replaced(BaseModel):
    """The value of a key before the one that was found."""

    memory_key: UUID
    content_preview: str
    valid_from: datetime
    valid_to: datetime = Field(description="since when the one that was found holds")


class FoundMemory(MemoryResult):
    scope: str | None = Field(description=f"where it holds or was said: {SCOPE}")
    similar: int = Field(description="older results that say the same, which this one stands for")
    doubtful: bool = Field(description="it is among the closest, but hardly answers the query")
    replaced: Replaced | None = Field(description="the value of its key before it")


class Quote(BaseModel):
    text: str = Field(description="the person's own words")
    seq: int = Field(description="the message that they are in")


class MemoryStanding(BaseModel):
    """The scope of a memory, and the time in which it holds."""

    scope: str | None = Field(description=f"where it holds: {SCOPE}; null: a message or an archive")
    key: str | None = Field(description="of all memories with one scope and key the latest holds")
    pinned: bool = Field(description="kept in view, from the first window on")
    status: MemoryStatus
    quote: Quote | None
    valid_from: datetime | None = Field(description="since when it is true")
    valid_to: datetime | None = Field(description="when it was ended")
    learnt_at: datetime | None = Field(description="when it was stored")


class MemoryDetail(MemoryResult, MemoryStanding):
    content: str = Field(description="up to 100 KB, with a mark where it is cut")
    is_cut: bool
    sensitivity: Literal["normal", "sensitive"]
    expires_at: datetime | None
    source: str = Field(description=SOURCES)


class MemoryBody(RequestModel):
    """A memory to store."""

    user_id: str | None = None
    conversation_id: str | None = None
    content: str = Field(min_length=1, max_length=1_000_000)
    memory_type: OwnType = Field("general", description="`user_preference` is accepted for `preference`")
    keywords: list[Annotated[str, Field(min_length=1, max_length=KEYWORD_MAX)]] = Field(
        default=[], max_length=KEYWORDS_MAX
    )
    metadata: dict[str, Any] = Field(default={}, description="your own metadata, up to 16 KB as JSON")
    sensitivity: Literal["normal", "sensitive"] = "normal"
    expires_at: Time | None = Field(None, description="time from which search no longer finds it")
    scope: ScopeName | None = Field(
        None,
        description=f"where it holds: {SCOPE}; default: for the user, or the conversation's space, or in a conversation"
        " without either",
    )
    key: str | None = Field(
        None, min_length=1, max_length=KEY_MAX,
        description="replaces what the scope's memory of this key says; segments between /",
    )  # fmt: skip
    pinned: bool | None = Field(None, description="keep it in view; default: as its key is, else false")
    valid_from: Time | None = Field(None, description="since when it is true; default: now")
    valid_to: Time | None = Field(None, description="until when it is true")


class MemoryChange(RequestModel):
    """The changes of a memory. A new `content` of a key keeps the old one as a version."""

    content: str | None = Field(None, min_length=1, max_length=1_000_000)
    pinned: bool | None = None
    status: MemoryStatus | None = Field(None, description="`held` accepts a proposal, `refused` refuses it for good")
    valid_from: Time | None = None
    valid_to: Time | None = Field(None, description="a time that has come ends it")
    sensitivity: Literal["normal", "sensitive"] | None = None


class MemoryVersion(BaseModel):
    memory_key: UUID
    content: str
    status: MemoryStatus
    source: str = Field(description=SOURCES)
    quote: Quote | None
    conversation_id: str | None
    valid_from: datetime
    valid_to: datetime | None = Field(description="when it was ended, or replaced by the next value")
    learnt_at: datetime


class ListedMemory(MemoryStanding):
    memory_key: UUID
    memory_type: OwnType
    content_preview: str = Field(description="its first 200 characters")
    keywords: list[str]
    metadata: dict[str, Any]
    conversation_id: str | None
    sensitivity: Literal["normal", "sensitive"]
    source: str = Field(description=SOURCES)
    created_at: datetime
    expires_at: datetime | None


class MemoryErased(BaseModel):
    memory_key: UUID
    erased: dict[str, int]
    certificates: Certificates = []


class SearchResults(BaseModel):
    results: list[FoundMemory]
    total_found: int = Field(description="how many match; with more than 10,000 memories, at least so many")
    mode: Literal["hybrid", "semantic", "keyword"]
    search_query_expanded: str | None
    warnings: list[WarningItem]
