"""Schemas of what narrows searches and lists."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from fastapi import Query
from pydantic import BeforeValidator, Field

from app import errors
from app.api.http.body import RequestModel, parse, unstorable
from app.core.canonical import dumps
from app.core.messages import METADATA_MAX
from app.core.search.narrowing import TOPICS_MAX, Narrowing
from app.recall.arguments import SPELLINGS


def spelled(value: Any) -> Any:
    return SPELLINGS.get(value, value) if isinstance(value, str) else value


MemoryType = Annotated[
    Literal["episode", "passage", "preference", "fact", "general", "command_output"], BeforeValidator(spelled)
]
OwnType = Annotated[Literal["preference", "fact", "general", "command_output"], BeforeValidator(spelled)]
"""Of memories that callers store."""
Role = Literal["user", "assistant", "tool", "system"]
Topic = Annotated[str, Field(min_length=1, max_length=200)]


class Narrowed(RequestModel):
    """Members that narrow a search; an empty one narrows nothing."""

    memory_types: list[MemoryType] = Field(default=[], max_length=10)
    roles: list[Role] = Field(
        default=[],
        max_length=4,
        description="who said it; an archived result is a tool's, and what agents send as the user",
    )
    topics: list[Topic] = Field(
        default=[],
        max_length=TOPICS_MAX,
        description="at least one must be a topic of its page, or a keyword of the memory; letter case does not matter",
    )
    metadata: dict[str, Any] = Field(
        default={}, description="members that the metadata of the memory or of its conversation must contain"
    )


def narrowing_of(body: Narrowed, *loc: str | int, types: bool = True) -> Narrowing:
    """Return what a search is narrowed to. Raises Invalid; ``loc`` is the place of the members."""
    metadata = dumps(body.metadata)
    problems = unstorable("body", topics=body.topics, metadata=metadata.replace("\\u0000", "\x00"))
    if len(metadata) > METADATA_MAX:
        problems.append({"loc": ["metadata"], "msg": f"must have at most {METADATA_MAX} characters as JSON"})
    if problems:
        raise errors.Invalid(errors=[{**one, "loc": [*loc, one["loc"][-1]]} for one in problems])
    return Narrowing(tuple(body.roles), tuple(body.topics), metadata, tuple(body.memory_types) if types else ())


def listed(
    topics: Annotated[
        list[Topic],
        Query(max_length=TOPICS_MAX, description="at least one must be a topic; letter case does not matter"),
    ] = [],  # noqa: B006 - FastAPI copies it
    metadata: Annotated[
        str, Query(max_length=METADATA_MAX, description="JSON object whose members the metadata must contain")
    ] = "{}",
) -> Narrowing:
    """Return what a list is narrowed to, from its query. Raises Invalid."""
    try:
        members = parse(metadata.encode())
    except errors.QuireError:
        members = None
    if not isinstance(members, dict):
        raise errors.Invalid.at(["query", "metadata"], "must be a JSON object")
    return narrowing_of(Narrowed(topics=topics, metadata=members), "query")
