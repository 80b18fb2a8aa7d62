"""The rows that appending and archiving store, as values."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Self
from uuid import UUID

from app.core.history.placeholder import ArchiveCard, placeholder
from app.core.model import Author, Kind, Language, Role
from app.core.neutral import replace_nul, without_nul
from app.core.scope import Scope

Terms = str
"""A sparsevec literal."""


@dataclass(frozen=True, slots=True)
class NewMessage:
    seq: int
    id: UUID
    client_id: str | None
    page: int
    user_seq: int
    call_group: int
    kind: Kind
    role: Role
    author: Author
    body: str
    """The message as sent, in canonical JSON, with a reference in place of each archived text."""
    view: str | None
    """The verbatim form that windows show; None if it equals the body."""
    short: str | None
    """The condensed form; None if it is no shorter."""
    loaded: str | None
    anthropic: str | None
    parts: int
    calls: int
    results: int
    full_tokens: int
    short_tokens: int
    loaded_tokens: int
    full_before: int
    short_before: int
    history_before: int
    line: str
    line_tokens: int
    words: str
    """The words that can name a subject, separated by blanks."""
    archive_ids: tuple[UUID, ...]
    fresh_tokens: tuple[int, ...]
    """Tokens that each archive adds to a window that shows it whole."""
    marks: tuple[int, ...]
    """See ``core.history.ingest.form_marks``."""
    digest: bytes
    chain: bytes
    """The hash of the history up to this message: see ``core.history.sync``."""
    said_at: datetime | None
    """When it was said; None if the sender gave no time."""
    said_offset: int
    """Minutes that the speaker's clock is ahead of UTC."""


@dataclass(frozen=True, slots=True)
class NewPage:
    page: int
    first_seq: int
    title: str
    title_tokens: int


@dataclass(frozen=True, slots=True)
class ClosedPage:
    """The index of the page that an append closes."""

    page: int
    topics: tuple[str, ...]
    """The page's topics, under the names that the conversation already uses for them."""


@dataclass(frozen=True, slots=True)
class NewWish:
    """A memory that quotes a person's message. Search finds the message itself."""

    id: UUID
    owner: UUID
    """The owner id of the scope whose searches find it."""
    holder: UUID
    """The owner id of the scope in which it applies."""
    scope: str
    status: str
    key: str | None
    seq: int
    page: int
    content: str
    tokens: int
    sensitive: bool
    valid_from: datetime
    valid_to: datetime | None
    metadata: str = "{}"
    """JSON: the head that found it, and its probability."""


@dataclass(frozen=True, slots=True)
class HistoryMessage:
    conversation_id: str
    seq: int
    id: UUID
    client_id: str | None
    page: int
    kind: Kind
    role: Role
    author: Author
    body: str
    view: str | None
    full_tokens: int
    loaded_tokens: int
    """Tokens of text that a recall tool loaded; automatic recall does not count."""
    line: str
    archive_ids: Sequence[UUID]
    created_at: datetime
    said_at: datetime | None
    said_offset: int
    refused: bool | None = False
    """Whether a model's API refused it: see ``core.history.refused``."""

    @property
    def place(self) -> tuple[str, int]:
        return self.conversation_id, self.seq


@dataclass(frozen=True, slots=True)
class IndexedText:
    """A message or an archive to index, with its place."""

    scope: Scope
    conversation_id: str | None
    uid: UUID | None
    seq: int | None
    page: int | None
    created_at: datetime
    said_at: datetime | None
    of: HistoryMessage | bytes
    """The message, or the digest of the archive's content."""


@dataclass(frozen=True, slots=True)
class ArchiveSpot:
    """An archive, with the place of the message that holds its placeholder."""

    id: UUID
    scope: Scope
    conversation_id: str | None
    seq: int | None
    language: Language
    digest: bytes

    @classmethod
    def from_row(cls, row: Iterable[Any]) -> Self:
        id_, scope, *rest = row
        return cls(id_, Scope.read(scope), *rest)


@dataclass(frozen=True, slots=True)
class StoredArchive(ArchiveSpot):
    """An archive with a range of its content, in which U+FFFD replaces NUL (see ``nul_offsets``)."""

    user_id: str | None
    tool_name: str
    tool_input: str
    query_summary: str
    result_summary: str
    key_terms: Sequence[str]
    sources: Sequence[str]
    placeholder: str
    expires_at: datetime | None
    created_at: datetime
    length: int
    tokens: int
    text: str = ""
    nul_offsets: Sequence[int] = ()

    @property
    def card(self) -> ArchiveCard:
        return ArchiveCard(
            self.id, self.tool_name, self.query_summary, self.created_at, self.length, self.result_summary,
            tuple(self.key_terms), tuple(self.sources),
        )  # fmt: skip


@dataclass(frozen=True, slots=True)
class NewArchive:
    """An archive and its content. ``scope`` determines who can read it."""

    id: UUID
    scope: str
    digest: bytes
    user_id: str | None
    conversation_id: str | None
    seq: int | None
    tool_name: str
    tool_input: str
    query_summary: str
    result_summary: str
    key_terms: tuple[str, ...]
    sources: tuple[str, ...]
    placeholder: str
    language: Language
    expires_at: datetime | None
    content: str
    nul_offsets: tuple[int, ...]
    length: int
    tokens: int
    parts: str | None = None
    """See ``core.window.fresh.stored_parts``; None if no window will show it fresh."""


@dataclass(frozen=True, slots=True)
class NewMemory:
    """A passage of a message or of an archive that search can find."""

    id: UUID
    owner: UUID
    type: str
    conversation_id: str | None
    conversation_uid: UUID | None
    seq: int | None
    page: int | None
    archive_id: UUID | None
    start: int
    length: int
    terms: Terms
    created_at: datetime
    """When it was said. Searches by time read it from the id instead (``core.times.dated``)."""


@dataclass(frozen=True, slots=True)
class ArchivePlace:
    """The scope of an archive, and its conversation and message, if it has them."""

    scope: Scope
    conversation_id: str | None = None
    seq: int | None = None


def archive_row(
    card: ArchiveCard,
    text: str,
    tokens: int,
    tool_input: str,
    place: ArchivePlace,
    language: Language,
    expires_at: datetime | None,
    parts: str | None = None,
) -> NewArchive:
    content, offsets = without_nul(text)
    return NewArchive(
        id=card.uuid,
        scope=place.scope.text,
        digest=hashlib.sha256(text.encode()).digest(),
        user_id=place.scope.user_id,
        conversation_id=place.conversation_id,
        seq=place.seq,
        tool_name=card.tool_name,
        tool_input=replace_nul(tool_input),
        query_summary=card.query_summary,
        result_summary=card.result_summary,
        key_terms=card.key_terms,
        sources=card.sources,
        placeholder=placeholder(card, language),
        language=language,
        expires_at=expires_at,
        content=content,
        nul_offsets=offsets,
        length=card.length,
        tokens=tokens,
        parts=parts,
    )
