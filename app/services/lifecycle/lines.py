"""The lines of an export: JSON objects, one per line, in the order of their import.

A conversation's line comes first, then its messages in order, what was derived from them, its memories and archives,
and its newest cuts, so that an import shows the same windows. Tokens, forms, pages and places of messages are not
exported; an import derives them as any append does.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated, Any, Literal
from uuid import UUID

from pydantic import AfterValidator, AwareDatetime, BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from app import errors
from app.core import messages
from app.core.canonical import dumps
from app.core.dialects.memory_files import CONTENT_BYTES_MAX, PATH_BYTES_MAX
from app.core.history.placeholder import ArchiveCard
from app.core.model import INTEGER_MAX, Cut
from app.core.neutral import flat
from app.core.window.budget import BUDGET_MAX
from app.core.window.kept import Status, key_problem
from app.errors import FieldError, Invalid

FORMAT = "quire"
VERSION = 1


def _id(value: str) -> str:
    if messages.NOT_IN_IDS.search(value) or value in (".", ".."):
        raise ValueError("is not a valid id")
    return value


def _storable(value: str) -> str:
    if "\x00" in value:
        raise ValueError("must not contain U+0000")
    return value


def _key(value: str) -> str:
    if (problem := key_problem(value)) is not None:
        raise ValueError(problem)
    return value


def _metadata(value: dict[str, Any]) -> dict[str, Any]:
    if len(dumps(value)) > messages.METADATA_MAX:
        raise ValueError(f"must be at most {messages.METADATA_MAX} characters as JSON")
    return value


Id = Annotated[str, Field(min_length=1, max_length=messages.ID_MAX), AfterValidator(_id)]
Text = Annotated[str, Field(max_length=1_000_000), AfterValidator(_storable)]
Short = Annotated[str, Field(max_length=2_000), AfterValidator(_storable)]
Key = Annotated[str, AfterValidator(_key)]
Keyword = Annotated[Short, Field(min_length=1, max_length=messages.KEYWORD_MAX)]
Metadata = Annotated[dict[str, Any], AfterValidator(_metadata)]
Seq = Annotated[int, Field(ge=1, le=INTEGER_MAX)]
Time = Annotated[AwareDatetime, Field(strict=False)]
Uuid = Annotated[UUID, Field(strict=False)]


class ImportLine(BaseModel):
    """Base of every line: unknown members are refused."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


class Header(ImportLine):
    type: Literal["header"]
    format: Literal["quire"]
    version: Literal[1]
    user_id: Id | None = None
    conversation_id: Id | None = None
    space_id: Id | None = None
    keys: Any = None
    """What the receipts are signed with; an import needs none."""


class SpaceLine(ImportLine):
    """A space with its members and their rights. Its contents follow."""

    type: Literal["space"]
    id: Id
    name: Annotated[Short, Field(max_length=messages.TITLE_MAX)] | None = None
    participants: dict[Id, Id] = {}
    metadata: Metadata = {}
    members: Annotated[dict[Id, Literal["read", "write"]], Field(max_length=1_000)] = {}


class ConversationLine(ImportLine):
    type: Literal["conversation"]
    id: Id
    user_id: Id | None = None
    space_id: Id | None = None
    title: Annotated[Short, Field(max_length=messages.TITLE_MAX)] | None = None
    system: Text | None = None
    model: Annotated[Short, Field(min_length=1, max_length=messages.MODEL_MAX)] | None = None
    budget: Annotated[int, Field(ge=1, le=BUDGET_MAX)] | None = None
    settings: dict[str, Any] = {}
    metadata: Metadata = {}
    created_at: Time | None = None
    has_earlier: bool | None = None
    parent_id: Id | None = None
    """Of a branch, whose lines are its own alone: the conversation that holds the last message that they share."""
    forked_after: Annotated[int, Field(ge=0, le=INTEGER_MAX)] = 0
    shown: bool = False
    """The id of the conversation that its tree began with shows it."""


class Card(ImportLine):
    """The description of an archived result; its text is in the message."""

    uuid: Uuid
    query_summary: Short = ""
    result_summary: Short = ""
    key_terms: Annotated[list[Short], Field(max_length=50)] = []
    sources: Annotated[list[Short], Field(max_length=10)] = []
    expires_at: Time | None = None

    def value(self) -> ArchiveCard:
        """Return the card without tool, time and length, which come from the message."""
        return ArchiveCard(
            self.uuid, "", flat(self.query_summary), datetime.now(UTC), 0, flat(self.result_summary),
            tuple(map(flat, self.key_terms)), tuple(map(flat, self.sources)),
        )  # fmt: skip


class MessageLine(ImportLine):
    type: Literal["message"]
    conversation_id: Id
    seq: Seq | None = None
    id: Uuid | None = None
    created_at: Time | None = None
    message: Any
    """The message as sent."""
    inner: bool = False
    """It is in no caller's list: see core.history.sync.INNER."""
    refused: bool = False
    """A model's API refused it, and windows pass over it: see core.history.refused."""
    archives: dict[str, Card] = {}
    """Cards by the id of the answered call. Without it, long results are archived anew."""


class PageLine(ImportLine):
    """A page's index and its topics."""

    type: Literal["page"]
    conversation_id: Id
    page: Seq
    source: Literal["llm", "extractive"]
    model: Short | None = None
    title: Text | None = None
    topics: Annotated[list[Short], Field(max_length=100)] = []
    lines: dict[str, Text] = {}
    """Lines by seq."""
    error: Short | None = None
    created_at: Time | None = None


class ChapterLine(ImportLine):
    """A model's name for a closed chapter."""

    type: Literal["chapter"]
    conversation_id: Id
    first_page: Seq
    last_page: Seq
    title: Short
    model: Short
    created_at: Time | None = None


class ImportedSummary(ImportLine):
    type: Literal["summary"]
    conversation_id: Id
    version: Seq
    through_seq: Seq
    text: Text
    model: Short
    created_at: Time | None = None


class RecallLine(ImportLine):
    type: Literal["recall"]
    conversation_id: Id
    page: Seq
    count: Seq
    at_page: Seq | None = None
    """The page that was being written."""
    created_at: Time | None = None


class CutLine(ImportLine):
    """A cut of the conversation's windows, with its frozen head."""

    model_config = ConfigDict(strict=False)  # dataclasses within are read from objects

    type: Literal["cut"]
    conversation_id: Id
    cut: Cut
    created_at: Time


class EndLine(ImportLine):
    """The end of a conversation."""

    type: Literal["end"]
    conversation_id: Id


class ReceiptLine(ImportLine):
    """A signed receipt: of a window, or of an erasure, which an import repeats. A receipt without a conversation
    certifies the erasure of an archive or a memory.
    """

    type: Literal["receipt"]
    conversation_id: Id | None = None
    receipt: dict[str, Any]


class MemoryLine(ImportLine):
    type: Literal["memory"]
    id: Uuid
    user_id: Id | None = None
    conversation_id: Id | None = None
    space_id: Id | None = None
    memory_type: Literal["preference", "fact", "general", "command_output"]
    content: Annotated[str, Field(min_length=1, max_length=1_000_000)]
    keywords: Annotated[list[Keyword], Field(max_length=messages.KEYWORDS_MAX)] = []
    metadata: Metadata = {}
    source: Literal["person", "rule", "llm", "tool", "import"] = "person"
    scope: Literal["user", "conversation"] = "user"
    """Where it holds; of a conversation without a user both are the same."""
    key: Key | None = None
    pinned: bool = False
    status: Status = "held"
    quote: Annotated[str, Field(max_length=2_000)] | None = None
    is_found: bool = True
    """False: its message is what search finds, or a later value of its key."""
    valid_from: Time | None = None
    valid_to: Time | None = None
    learnt_at: Time | None = None
    sensitive: bool = False
    seq: Seq | None = None
    page: Seq | None = None
    expires_at: Time | None = None
    created_at: Time | None = None


class ArchiveLine(ImportLine):
    """An archive that belongs to no message."""

    type: Literal["archive"]
    user_id: Id | None = None
    conversation_id: Id | None = None
    space_id: Id | None = None
    tool_name: Short
    tool_input: Text
    result: Annotated[str, Field(max_length=20_000_000)]
    language: Literal["zh", "en"] = "en"
    created_at: Time
    card: Card


class FileLine(ImportLine):
    """A file of the memory tool."""

    type: Literal["memory_file"]
    user_id: Id | None = None
    conversation_id: Id | None = None
    space_id: Id | None = None
    id: Uuid
    path: Annotated[Text, Field(max_length=PATH_BYTES_MAX)]
    content: Annotated[Text, Field(max_length=CONTENT_BYTES_MAX)]
    created_at: Time


AnyLine = Annotated[
    Header
    | SpaceLine
    | ConversationLine
    | MessageLine
    | PageLine
    | ChapterLine
    | ImportedSummary
    | RecallLine
    | CutLine
    | EndLine
    | ReceiptLine
    | MemoryLine
    | ArchiveLine
    | FileLine,
    Field(discriminator="type"),
]
_LINE: TypeAdapter[Any] = TypeAdapter(AnyLine)


def checked(number: int, value: Any) -> Any:
    """Return a line as its model. Raises Invalid, which names the line."""
    try:
        return _LINE.validate_python(value)
    except ValidationError as error:
        found: list[FieldError] = [
            {"loc": ["line", number, *(p if isinstance(p, int) else str(p)[:100] for p in e["loc"][1:])],
             "msg": errors.predicate(e)}
            for e in error.errors(include_url=False, include_input=False)[:20]
        ]  # fmt: skip
        raise Invalid(errors=found) from None
