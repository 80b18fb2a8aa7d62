"""Memory stores in the shapes of Anthropic's API."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import BaseModel, Field

from app.api.http.body import RequestModel

View = Literal["basic", "full"]
Operation = Literal["created", "modified", "deleted"]
PAIRS_MAX = 16
Name = Annotated[str, Field(min_length=1, max_length=255, pattern=r"^[^\x00-\x1f\x7f-\x9f]+$")]
MetadataKey = Annotated[str, Field(min_length=1, max_length=64)]
MetadataValue = Annotated[str, Field(max_length=512)]
Description = Annotated[str, Field(max_length=1_024)]
Path = Annotated[str, Field(min_length=1, max_length=1_024, description="begins with /")]


class StoreBody(RequestModel):
    """A memory store to create."""

    name: Name
    description: Description = ""
    metadata: dict[MetadataKey, MetadataValue] = Field({}, max_length=PAIRS_MAX)


class StoreChangeBody(RequestModel):
    """Changes of a memory store. A member of `metadata` that is null is removed; the others stay."""

    name: Name | None = None
    description: Description | None = None
    metadata: dict[MetadataKey, MetadataValue | None] | None = None


class MemoryStore(BaseModel):
    """A container of memories."""

    id: str
    type: Literal["memory_store"]
    name: str
    description: str
    metadata: dict[str, str]
    created_at: datetime
    updated_at: datetime
    archived_at: datetime | None


class MemoryStoreList(BaseModel):
    data: list[MemoryStore]
    next_page: str | None


class StoreDeleted(BaseModel):
    id: str
    type: Literal["memory_store_deleted"]


class StoredMemoryBody(RequestModel):
    """A memory to create at a path."""

    path: Path
    content: str | None = Field(description="up to 102,400 bytes")


class ContentPrecondition(RequestModel):
    """The state in which a change applies."""

    type: Literal["content_sha256"]
    content_sha256: str = Field(pattern="^[0-9a-f]{64}$")


class StoredMemoryChangeBody(RequestModel):
    """Changes of a memory: its path, its content, or both."""

    path: Path | None = None
    content: str | None = None
    precondition: ContentPrecondition | None = None


class StoredMemory(BaseModel):
    """A memory of a store; `content` is null in the basic view."""

    id: str
    type: Literal["memory"]
    memory_store_id: str
    memory_version_id: str
    path: str
    content: str | None
    content_sha256: str
    content_size_bytes: int
    created_at: datetime
    updated_at: datetime


class StoredMemoryList(BaseModel):
    data: list[dict[str, Any]] = Field(description="memories, and `memory_prefix` for what is deeper than `depth`")
    next_page: str | None


class StoredMemoryDeleted(BaseModel):
    id: str
    type: Literal["memory_deleted"]


class StoredVersion(BaseModel):
    """A change of a memory."""

    id: str
    type: Literal["memory_version"]
    memory_id: str
    memory_store_id: str
    operation: Operation
    path: str | None
    content: str | None
    content_sha256: str | None
    content_size_bytes: int | None
    created_at: datetime
    created_by: dict[str, str] | None
    redacted_at: datetime | None
    redacted_by: dict[str, str] | None


class StoredVersionList(BaseModel):
    data: list[StoredVersion]
    next_page: str | None
