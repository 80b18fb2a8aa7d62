"""Search everything that was said or archived."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Depends, Query, Request
from starlette.responses import Response

from app import errors
from app.api.http import cursors, links
from app.api.http.answers import json_text, json_value, list_of, page_of
from app.api.http.body import Part, json_body, read_model, unstorable
from app.api.http.callers import READS, Reader
from app.api.http.cursors import Cursor, Limit
from app.api.http.fast_routes import every_turn, parameters, read_query
from app.api.http.path_ids import check_ids
from app.api.http.runtime import Wired, runtime_of
from app.api.http.times import Time
from app.api.http.writes import Write
from app.api.schemas import memories as schemas
from app.api.schemas.narrowing import OwnType, listed, narrowing_of
from app.concurrency import run_in_thread_if_large
from app.core.canonical import dumps
from app.core.edge.caller import Caller
from app.core.messages import METADATA_MAX
from app.core.scope import SPACE, scope_of
from app.core.search.grep import RefusedPattern
from app.core.search.narrowing import Narrowing
from app.core.window.kept import KEY_MAX, PINNED_MAX, Then, key_problem
from app.postgres.transactions import Tx
from app.runtime import Runtime
from app.services.idempotency import StoredResponse
from app.services.lifecycle import erasing
from app.services.lifecycle.erasing import ErasingTx
from app.services.memory import expanding, grepping, listing, remembering, revising, searching, views
from app.services.memory.grepping import GrepRequest
from app.services.memory.hits import find_memory
from app.services.memory.keywords import keywords_of
from app.services.memory.listing import Holder
from app.services.memory.remembering import MemoryRequest
from app.services.memory.results import characters, memory_view, search_view
from app.services.memory.revising import Change
from app.services.memory.searching import SearchRequest
from app.services.tools import recall_agent
from app.services.tools.recall_agent import RecallRequest
from app.store.memory import kept
from app.store.memory.remembered import Held

router = APIRouter(tags=["memories"])


EXAMPLE = {"user_id": "me", "content": "Prefers green tea", "memory_type": "preference", "keywords": ["tea"]}


@router.post(
    "/memories",
    status_code=201,
    response_model=schemas.MemoryDetail,
    responses=links.REMEMBERED,
    openapi_extra=json_body(schemas.MemoryBody, EXAMPLE),
)
async def remember(write: Write) -> Response:
    """Store a memory of a user or a conversation. Search finds it from now on."""
    memory_request = _request_of(write.caller, await write.body(schemas.MemoryBody))

    async def work(tx: Tx) -> StoredResponse:
        found, conversation = await remembering.remember(write.runtime, tx, memory_request)
        text = await run_in_thread_if_large(len(memory_request.content), lambda: dumps(memory_view(found)))
        return StoredResponse.about(text, conversation, memory_request.user_id)

    return json_text(await write.once(work), status=201)


def _request_of(caller: Caller, body: schemas.MemoryBody) -> MemoryRequest:
    user_id = _user(caller, body.user_id, body.conversation_id, scopes=[body.scope] if body.scope else [])
    problems: list[errors.FieldError] = []
    if not body.content.strip():
        problems.append({"loc": ["body", "content"], "msg": "must not be blank"})
    metadata = dumps(body.metadata)
    if len(metadata) > METADATA_MAX:
        problems.append({"loc": ["body", "metadata"], "msg": f"must have at most {METADATA_MAX} characters as JSON"})
    problems += unstorable("body", keywords=body.keywords, metadata=metadata.replace("\\u0000", "\x00"))
    if body.expires_at is not None and body.expires_at <= datetime.now(UTC):
        problems.append({"loc": ["body", "expires_at"], "msg": "must be in the future"})
    problems += _unfit(body)
    if problems:
        raise errors.Invalid(errors=problems)
    return MemoryRequest(
        content=body.content,
        memory_type=body.memory_type,
        user_id=user_id,
        conversation_id=body.conversation_id,
        keywords=tuple(body.keywords),
        metadata=metadata,
        sensitive=body.sensitivity == "sensitive",
        expires_at=body.expires_at,
        key=body.key,
        pinned=body.pinned,
        valid_from=body.valid_from,
        valid_to=body.valid_to,
        space_id=space_named(body.scope),
        alone=body.scope == "conversation",
        bound_to=caller.user_id,
    )


def _unfit(body: schemas.MemoryBody) -> list[errors.FieldError]:
    """Return the conflicts between a memory's scope, key and times."""
    problems: list[errors.FieldError] = []
    if body.key is not None and (problem := key_problem(body.key)) is not None:
        problems.append({"loc": ["body", "key"], "msg": problem})
    if body.pinned and len(body.content) > PINNED_MAX:
        problems.append({"loc": ["body", "content"], "msg": f"must have at most {PINNED_MAX} characters when pinned"})
    since = body.valid_from or datetime.now(UTC)
    if body.valid_to is not None and body.valid_to < since:
        problems.append({"loc": ["body", "valid_to"], "msg": "must not be earlier than `valid_from`"})
    if body.scope == "conversation" and body.conversation_id is None:
        problems.append({"loc": ["body", "conversation_id"], "msg": "is required with this scope"})
    return problems


def space_named(scope: str | None) -> str | None:
    """Return the id in a space's scope; None for any other scope."""
    return scope.removeprefix(SPACE) if scope is not None and scope.startswith(SPACE) else None


def _user(
    caller: Caller, named: str | None, conversation_id: str | None, part: Part = "body", *, scopes: Sequence[str] = ()
) -> str | None:
    user_id = caller.user(named, (part, "user_id"))
    if user_id is None and conversation_id is None and not any(space_named(one) for one in scopes):
        raise errors.Invalid.at([part, "user_id"], "or `conversation_id` is required")
    if "user" in scopes and user_id is None and conversation_id is None:
        raise errors.Invalid.at([part, "user_id"], "is required with this scope")
    check_ids(part, user_id=named, conversation_id=conversation_id)
    return user_id


def held_of(
    status: Annotated[schemas.MemoryStatus, Query(description="`proposed`: what waits for a person")] = "held",
    key: Annotated[str | None, Query(max_length=KEY_MAX)] = None,
    pinned: Annotated[bool | None, Query(description="kept in view, or not")] = None,
    as_of: Annotated[Time | None, Query(description="what held then; default: now")] = None,
    known_at: Annotated[Time | None, Query(description="as far as it was known then; default: now")] = None,
) -> Held:
    """Return the filter of listed memories. Raises Invalid."""
    if key is not None and (problem := key_problem(key)) is not None:
        raise errors.Invalid.at(["query", "key"], problem)
    return Held(status, key, pinned, as_of, known_at)


def holder_of(
    caller: Reader,
    user_id: Annotated[str | None, Query(max_length=128)] = None,
    conversation_id: Annotated[str | None, Query(max_length=128)] = None,
    scope: Annotated[
        schemas.ScopeName | None,
        Query(description="only what holds there; `space:` and an id for a space; default: all that may be viewed"),
    ] = None,
) -> Holder:
    """Return the holder of listed memories. Raises Invalid."""
    user = _user(caller, user_id, conversation_id, "query", scopes=[scope] if scope else [])
    if scope == "conversation" and conversation_id is None:
        raise errors.Invalid.at(["query", "conversation_id"], "is required with this scope")
    return Holder(user, conversation_id, scope)


@router.get("/memories", response_model=list_of("MemoryList", schemas.ListedMemory))
async def list_memories(
    runtime: Wired,
    caller: Reader,
    holder: Annotated[Holder, Depends(holder_of)],
    among: Annotated[Narrowing, Depends(listed)],
    held: Annotated[Held, Depends(held_of)],
    memory_types: Annotated[list[OwnType], Query(max_length=4)] = [],  # noqa: B006
    cursor: Cursor = None,
    limit: Limit = 50,
) -> Response:
    """List memories of a user or a conversation that were stored or found worth keeping, newest first.

    Of a key only the value that holds is listed: now, or as of a time. Messages and archives have lists of their own.
    `topics` are the memory's keywords and the topics of its page; `metadata` is its own or its conversation's.
    """
    among = replace(among, types=tuple(memory_types))
    async with runtime.database.snapshot(caller.tenant) as tx:
        rows = await listing.browse(
            tx, holder, among, held, sensitive=caller.sensitive, after=cursors.decode_id(cursor), limit=limit + 1
        )
    return page_of([listing.view(*one) for one in rows], limit, "memory_key")


@router.patch(
    "/memories/{memory_key:uuid}",
    response_model=schemas.MemoryDetail,
    openapi_extra=json_body(schemas.MemoryChange, {"status": "held"}),
)
async def change_memory(write: Write, memory_key: UUID) -> Response:
    """Change a memory, end it, or accept or refuse a proposal. A key's former content stays as a version.

    What is no longer to be kept in mind is in no later window.
    """
    wanted = _change(await write.body(schemas.MemoryChange))

    async def work(tx: Tx) -> StoredResponse:
        found, before = await revising.change(
            write.runtime, tx, memory_key, wanted, bound_to=write.caller.user_id, sensitive=write.caller.sensitive
        )
        text = await run_in_thread_if_large(len(before.content), lambda: dumps(memory_view(found)))
        return StoredResponse(text, before.owner)

    return json_text(await write.once(work))


def _change(body: schemas.MemoryChange) -> Change:
    if not body.model_fields_set:
        raise errors.Invalid.at(["body"], "must name something to change")
    if body.content is not None and not body.content.strip():
        raise errors.Invalid.at(["body", "content"], "must not be blank")
    sensitive = None if body.sensitivity is None else body.sensitivity == "sensitive"
    return Change(body.content, body.pinned, body.status, body.valid_from, body.valid_to, sensitive)


@router.get("/memories/{memory_key:uuid}/versions", response_model=list_of("MemoryVersions", schemas.MemoryVersion))
async def list_versions(
    runtime: Wired,
    caller: Reader,
    memory_key: UUID,
    cursor: Cursor = None,
    limit: Limit = 50,
) -> Response:
    """List what a memory's key said over time, the latest first; of a memory without a key itself alone."""
    before = cursors.decode_time_and_id(cursor)
    async with runtime.database.snapshot(caller.tenant) as tx:
        seen = await views.of_caller(tx, caller.user_id)
        errors.existing(await find_memory(tx, memory_key, seen, sensitive=caller.sensitive), "memory")
        rows = await kept.versions(tx, memory_key, before, limit + 1)
    items = [listing.version(row) for row in rows[:limit] if caller.sensitive or not row.sensitive]
    last = rows[limit - 1] if len(rows) > limit else None
    more = cursors.encode(last.valid_from.isoformat(), last.id) if last is not None else None
    return json_value({"items": items, "next_cursor": more})


@router.delete("/memories/{memory_key:uuid}", response_model=schemas.MemoryErased)
async def forget(write: Write, memory_key: UUID) -> Response:
    """Erase a memory and its vectors. The message or archive of an episode or passage stays."""

    async def work(tx: Tx) -> StoredResponse:
        forgetting = ErasingTx(write.runtime, tx)
        owner, done = await erasing.erase_memory(
            forgetting, memory_key, write.caller.user_id, sensitive=write.caller.sensitive
        )
        return StoredResponse(dumps({"memory_key": str(memory_key), **done.view}), owner)

    return json_text(await write.once(work))


@router.post(
    "/memories/search",
    response_model=schemas.SearchResults,
    openapi_extra=json_body(schemas.SearchBody, {"user_id": "me", "query": "what did I say about tea"}),
)
@every_turn
async def search_memories(request: Request, caller: Reader) -> Response:
    """Search the memories of a user or a conversation: messages (episodes), passages of archives, explicit memories.

    Works for English and both scripts of Chinese. `relevance_score` is 0 to 1. Without an embedding model, or if it
    does not answer, semantic and hybrid searches answer by keyword, as `mode` and `warnings` say. If a reranker is
    configured, it decides the order of the first 50.
    """
    return await _search(runtime_of(request), caller, await read_model(request, schemas.SearchBody), "body")


@router.get(
    "/memories/search", response_model=schemas.SearchResults, openapi_extra=parameters(query=schemas.SearchBody)
)
@every_turn
async def find_memories(request: Request, caller: Reader) -> Response:
    """Search memories with query parameters; see the POST."""
    return await _search(runtime_of(request), caller, read_query(request, schemas.SearchBody), "query")


async def _search(runtime: Runtime, caller: Caller, body: schemas.SearchBody, part: Part) -> Response:
    user_id = _user(caller, body.user_id, body.conversation_id, part, scopes=body.scopes)
    since, until = _times(body, part)
    expanded, warnings = None, list[dict[str, str]]()
    if body.expand:
        scope = scope_of(user_id, body.conversation_id)
        expanded, warnings = await expanding.expand(runtime, caller.tenant, scope, body.query)
    request = SearchRequest(
        query=body.query,
        queries=tuple(body.queries),
        narrowing=narrowing_of(body, part, types=False),
        expansion=expanded,
        user_id=user_id,
        conversation_id=body.conversation_id,
        scopes=tuple(dict.fromkeys(body.scopes)),
        mode=body.search_mode,
        keywords=tuple(body.keywords),
        types=tuple(body.memory_types),
        since=since,
        until=until,
        limit=body.limit,
        relevance_min=body.min_relevance_score,
        then=Then(body.as_of, body.known_at) if body.as_of or body.known_at else None,
        sensitive=caller.sensitive,
    )
    result = await searching.search(runtime, caller.tenant, request)
    result = replace(result, warnings=[*result.warnings, *warnings])
    shown = "\n".join([expanded or body.query, *body.queries])
    size = characters(result.hits, shown)
    return await run_in_thread_if_large(size, lambda: json_value(search_view(result, shown)))


@router.post(
    "/memories/grep",
    response_model=schemas.GrepResults,
    openapi_extra=json_body(schemas.GrepBody, {"user_id": "me", "pattern": "tea"}),
)
async def grep_memories(request: Request, runtime: Wired, caller: Reader) -> Response:
    """Find every line of a user's or a conversation's messages and archives that contains a text or matches a pattern.

    Takes at most about two seconds: `is_complete` is false if the oldest messages were not read by then, or if more
    than 2,000 messages had to be. Memories stored with `POST /memories` are found by search only.
    """
    body = await read_model(request, schemas.GrepBody)
    user_id = _user(caller, body.user_id, body.conversation_id)
    since, until = _times(body, "body")
    try:
        pattern = grepping.pattern_of(body.pattern, is_regex=body.regex)
        grep_request = GrepRequest(pattern, user_id, body.conversation_id, since, until, body.limit)
        found = await grepping.find(runtime, caller.tenant, grep_request)
    except RefusedPattern as refused:
        raise errors.Invalid.at(["body", "pattern"], refused.rule) from refused
    return json_value(grepping.answer(found))


def _times(body: schemas.SearchBody | schemas.GrepBody, part: Part) -> tuple[datetime | None, datetime | None]:
    since, until = body.since, body.until
    if body.time_range_days:
        days = datetime.now(UTC) - timedelta(days=body.time_range_days)
        since = max(since, days) if since else days
    if since and until and since >= until:
        problems: list[errors.FieldError] = [
            {"loc": [part, "until"], "msg": "must be later than `since` and `time_range_days` ago"}
        ]
        if body.since and body.until and body.since >= body.until:
            problems = [
                {"loc": [part, "until"], "msg": "must be later than `since`"},
                {"loc": [part, "since"], "msg": "must be earlier than `until`"},
            ]
        raise errors.Invalid(errors=problems)
    return since, until


@router.post(
    "/memories/keywords",
    response_model=schemas.Keywords,
    dependencies=[READS],
    openapi_extra=json_body(schemas.KeywordsBody, {"text": "Which tea did I order from Hangzhou last spring?"}),
)
async def extract_keywords(request: Request) -> Response:
    """Extract search keywords from a text."""
    body = await read_model(request, schemas.KeywordsBody)
    found = await keywords_of(body.text, body.context, body.limit)
    return json_value({"keywords": [one.keyword for one in found], "weighted": [one.value() for one in found]})


@router.post(
    "/memories/recall",
    response_model=schemas.RecallResult,
    openapi_extra=json_body(schemas.RecallBody, {"user_id": "me", "query": "which tea do I like"}),
)
async def recall(request: Request, runtime: Wired, caller: Reader) -> Response:
    """Run the recall agent: it searches and reads memories and returns a summary.

    It takes as long as its LLM calls. Without an LLM, a fixed policy searches and answers in the same form.
    """
    body = await read_model(request, schemas.RecallBody)
    user_id = _user(caller, body.user_id, body.conversation_id)
    recall_request = RecallRequest(
        body.query, user_id, body.conversation_id, body.max_iterations, caller.sensitive, narrowing_of(body, "body")
    )
    return json_value(await recall_agent.recall(runtime, caller.tenant, recall_request))


@router.get("/memories/{memory_key:uuid}", response_model=schemas.MemoryDetail)
async def get_memory(runtime: Wired, caller: Reader, memory_key: UUID) -> Response:
    """Get a memory in full, up to 100 KB."""
    async with runtime.database.snapshot(caller.tenant) as tx:
        seen = await views.of_caller(tx, caller.user_id)
        found = errors.existing(await find_memory(tx, memory_key, seen, sensitive=caller.sensitive), "memory")
    size = len(found.text if found.whole is None else found.whole.content)
    return await run_in_thread_if_large(size, lambda: json_value(memory_view(found)))
