"""Windows that were served."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Literal

from pydantic import BaseModel, Field

from app.api.schemas.windows import ContextResponse
from app.core.window.render import Place
from app.core.window.served import Call
from app.core.window.served_change import Why


class ServedRecord(BaseModel):
    """The record of a window."""

    id: int = Field(description="counts the conversation's windows from 1")
    served_at: datetime
    last_served_at: datetime
    count: int = Field(description="times that it was served in a row")
    call: Call
    budget: int
    is_own_budget: bool = Field(description="no request named the budget: it is the conversation's own")
    model: str | None
    format: Literal["openai", "anthropic"]
    query: str | None = Field(description="null: there was none, or it was erased since")
    named: list[str] = Field(description="archives and pages that the request named")
    epoch: int
    total: int = Field(description="tokens")
    last_seq: int
    last_page: int
    root: str = Field(description="of its receipt, as the header X-Quire-Receipt of the response has it")
    key: str | None = Field(description="what signed the receipt; null: receipts were off")


class ErasedParts(BaseModel):
    """The parts that were erased since a window was served."""

    messages: list[int]
    parts: list[str] = Field(description="sections and texts, such as `head` and `tail`")


class ServedWindow(ContextResponse):
    """A window as it was served, and what is recorded of it."""

    id: int
    verified: bool = Field(description="it is the served window, byte for byte")
    erased: ErasedParts
    record: ServedRecord


class WindowReceipt(BaseModel):
    """A receipt, and what it proves of a message: clients/verify/README.md states the format."""

    receipt: dict[str, int | str]
    keys: list[dict[str, str]] = Field(description="the service's public keys, the oldest first")
    proof: dict[str, Any] | None = None
    text: str | None = Field(None, description="what the model read of the message, if it still can be shown")


class ChangedRun(BaseModel):
    """Messages in a row that changed alike."""

    first_seq: int
    last_seq: int
    messages: int
    form: Literal["verbatim", "condensed", "passing"]
    why: Why


class ChangedPart(BaseModel):
    part: Literal["tools", "system", "head", "recalled", "tail"]
    from_tokens: int
    to_tokens: int
    why: Why


class ChangedSetting(BaseModel):
    name: str
    from_: str | int | bool = Field(alias="from")
    to: str | int | bool


class TokensOfBoth(BaseModel):
    from_: int = Field(alias="from")
    to: int


class WindowDifference(BaseModel):
    """The difference between two windows of a conversation."""

    from_: int | None = Field(alias="from")
    to: int
    tokens: TokensOfBoth
    came_in: list[ChangedRun]
    went_out: list[ChangedRun]
    changed: list[ChangedRun] = Field(description="in view in both, in another form; `form` is the new one")
    parts: list[ChangedPart]
    settings: list[ChangedSetting]


class WhereaboutsLine(BaseModel):
    """A line of the contents page, and the pages that it stands for."""

    first_page: int
    last_page: int
    text: str


class WhereaboutsRecall(BaseModel):
    """A call that brings a message back."""

    tool: str
    arguments: dict[str, Any]
    tokens: int = Field(description="of what it returns")
    is_whole: bool = Field(description="whether all of the message, or of its archived result, is in that")


class Whereabouts(BaseModel):
    """The place of a message in a window."""

    conversation_id: str
    seq: int
    page: int
    role: str
    budget: int
    place: Place
    detail: str = Field(description="the place in words")
    line: WhereaboutsLine | None
    text: Literal["stored", "pruned", "erased"]
    archive_ids: list[str]
    offers_tools: bool = Field(description="whether the window offers the recall tools")
    recalls: list[WhereaboutsRecall]
