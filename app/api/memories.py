"""Search over everything that was said or archived."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Annotated, Literal
from uuid import UUID

from fastapi import APIRouter, Query, Request
from starlette.responses import Response

from app import errors
from app.api import schemas
from app.api.answers import json_value
from app.api.body import json_body, parse_model, read_json
from app.api.paths import check_id
from app.api.scope import Tenant
from app.api.services import Wired
from app.flows import searching
from app.flows.searching import SearchRequest
from app.services import Services

router = APIRouter(tags=["memories"])


@router.post(
    "/memories/search",
    response_model=schemas.SearchResults,
    openapi_extra=json_body(schemas.SearchBody, {"user_id": "me", "query": "what did I say about tea"}),
)
async def search_memories(request: Request, services: Wired, tenant: Tenant) -> Response:
    """Search one user's memories, or one conversation's: messages (episodes) and passages of archives.

    Chinese and English alike. `relevance_score` is from 0 to 1. Semantic and hybrid mode answer by keyword, and say
    so in `warnings`, as long as no embedding model is in use.
    """
    value = await read_json(request, max_bytes=services.settings.quire_body_max_bytes)
    return await _search(services, tenant, parse_model(schemas.SearchBody, value))


@router.get("/memories/search", response_model=schemas.SearchResults)
async def find_memories(
    services: Wired,
    tenant: Tenant,
    query: Annotated[str, Query(min_length=1, max_length=10_000)],
    user_id: Annotated[str | None, Query(max_length=128)] = None,
    conversation_id: Annotated[str | None, Query(max_length=128)] = None,
    search_mode: Literal["hybrid", "semantic", "keyword"] = "hybrid",
    limit: Annotated[int, Query(ge=1, le=100)] = 10,
) -> Response:
    """The same as the POST, for simple queries."""
    body = schemas.SearchBody(
        user_id=user_id, query=query, search_mode=search_mode, limit=limit, conversation_id=conversation_id
    )
    return await _search(services, tenant, body)


async def _search(services: Services, tenant: UUID, body: schemas.SearchBody) -> Response:
    if body.user_id is None and body.conversation_id is None:
        message = "a user or a conversation to search in is needed"
        raise errors.Invalid("A search is within one user.", errors=[{"loc": ["body", "user_id"], "msg": message}])
    for name, given in (("user_id", body.user_id), ("conversation_id", body.conversation_id)):
        if given is not None:
            check_id(given, ["body", name])
    request = SearchRequest(
        query=body.query,
        user_id=body.user_id,
        conversation_id=body.conversation_id,
        mode=body.search_mode,
        keywords=tuple(body.keywords),
        types=tuple(body.memory_types),
        since=datetime.now(UTC) - timedelta(days=body.time_range_days) if body.time_range_days else None,
        limit=body.limit,
        relevance_min=body.min_relevance_score,
    )
    return json_value(searching.answer(await searching.search(services, tenant, request), body.query))


@router.get("/memories/{memory_key}", response_model=schemas.MemoryDetail)
async def get_memory(services: Wired, tenant: Tenant, memory_key: UUID) -> Response:
    """A memory in full, to 100 KB."""
    async with services.database.snapshot(tenant) as connection:
        moment = await searching.memory(connection, tenant, memory_key)
    if moment is None:
        raise errors.NotFound("There is no such memory.")
    return json_value(searching.detail(moment))
