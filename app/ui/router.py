"""The inspector's pages. Each gathers with the API's services and hands values to a template."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Annotated, Any
from uuid import UUID

from fastapi import APIRouter, Query, Request
from starlette.responses import RedirectResponse, Response

from app import errors
from app.api.http.callers import knock
from app.api.http.path_ids import ConversationId
from app.api.http.runtime import Wired
from app.core.conversation import Conversation
from app.core.edge.caller import Caller
from app.core.line import exact
from app.core.model import INTEGER_MAX
from app.postgres.transactions import ReadTx
from app.queue import table
from app.runtime import Runtime
from app.services.memory import archiving, querying, searching
from app.services.memory.archiving import ArchivePart
from app.services.memory.results import search_view
from app.services.memory.searching import SearchRequest
from app.services.tools import why as explaining
from app.services.views import inspect, progress
from app.services.views.usage import usage_items
from app.store import conversation_list, conversations, spending
from app.text import bm25
from app.ui import changes, people
from app.ui import conversation as one
from app.ui.assets import ASSETS
from app.ui.conversation import Show
from app.ui.forms import read_form, require_own_form
from app.ui.html import SECURITY, HtmlRoute, addresses, inside, page, query_of
from app.ui.jobs import grouped
from app.ui.order import Order
from app.ui.parts import stored_message
from app.ui.pictures import strength
from app.ui.session import Viewer, Viewing, check_own_user, checked_key, door_of, forget, remember
from app.ui.shown import hidden, marked

router = APIRouter(prefix="/ui", include_in_schema=False, route_class=HtmlRoute)
front = APIRouter(include_in_schema=False)
"""The address itself, which people open first."""

CONVERSATIONS_SHOWN = 50
JOBS_READ = 400
JOBS_RETRIED = 1_000
"""At once, by the button for all."""
DAYS = 30
USERS_SHOWN = 50
MESSAGES_SHOWN = 500
"""Messages shown of a page."""
RESULTS_SHOWN = 30
RELEVANCE_MIN = 0.2
"""Results that are less relevant are not listed."""
ARCHIVE_CHARACTERS = 20_000
"""Characters of an archive per page."""
TYPES = ("episode", "passage", "preference", "fact", "general", "command_output")
Cursor = Annotated[str | None, Query(max_length=500)]


@front.get("/")
async def front_page() -> Response:
    return RedirectResponse("ui", 307)


@router.get("")
async def conversation_list_page(request: Request, runtime: Wired, viewer: Viewing, cursor: Cursor = None) -> Response:
    params = query_of(request, {"user": 128, "q": 200, "sort": 20})
    user = viewer.user_id if viewer.user_id is not None else params["user"] or None
    order = Order.read(params["sort"])
    after = order.decode(cursor)
    async with runtime.database.snapshot(viewer.tenant) as tx:
        wanted = conversation_list.ConversationFilter(user, params["q"] or None)
        rows = await conversation_list.browse(
            tx, wanted, after, CONVERSATIONS_SHOWN + 1, order.key, ascending=order.ascending
        )
        count = await conversation_list.count(tx) if viewer.user_id is None else None
        users = await _users(tx, viewer)
    last = rows[CONVERSATIONS_SHOWN - 1] if len(rows) > CONVERSATIONS_SHOWN else None
    return await page(
        request, "conversations.html", section="conversations", viewer=viewer, asked=params, count=count, order=order,
        rows=rows[:CONVERSATIONS_SHOWN], older=order.encode(last) if last else None, is_first=cursor is None,
        counted_max=conversation_list.COUNTED_MAX, users=users,
    )  # fmt: skip


async def _users(tx: ReadTx, viewer: Viewer) -> list[str]:
    """Return the users to choose from; a key that is bound to one has no choice."""
    return [] if viewer.user_id is not None else await conversation_list.recent_users(tx)


@router.get("/conversations/{conversation_id}")
async def conversation_page(
    request: Request, runtime: Wired, viewer: Viewing, conversation_id: ConversationId, show: Show = "window",
    part: Annotated[int, Query(ge=1, le=10_000)] = 1, before: int = INTEGER_MAX, cursor: Cursor = None,
) -> Response:  # fmt: skip
    async with runtime.database.snapshot(viewer.tenant) as tx:
        conversation = await _mine(tx, viewer, conversation_id)
    place = one.Spot(show, part, before, cursor)
    view = await one.view(runtime, viewer.tenant, conversation, one.read_form(request, runtime), place)
    return await page(request, f"show_{show}.html", section="conversations", viewer=viewer, **view)


async def _mine(tx: ReadTx, viewer: Viewer, conversation_id: str) -> Conversation:
    conversation = await conversations.get(tx, exact(conversation_id))
    if viewer.user_id is not None and conversation.user_id != viewer.user_id:
        raise errors.missing("conversation")
    return conversation


@router.get("/conversations/{conversation_id}/pages/{number}")
async def page_in_full(
    request: Request, runtime: Wired, viewer: Viewing, conversation_id: ConversationId, number: int,
    why: Annotated[int | None, Query(ge=1, le=INTEGER_MAX)] = None,
) -> Response:  # fmt: skip
    """Show a page. ``why``: a message whose place in the window is explained."""
    if not 1 <= number <= INTEGER_MAX:
        raise errors.NotFound("Pages are numbered from 1.")
    async with runtime.database.snapshot(viewer.tenant) as tx:
        conversation = await _mine(tx, viewer, conversation_id)
        view = await inspect.page_view(tx, conversation, number)
        (item,) = await one.some_pages(tx, conversation, [number])
    found = await explaining.places(runtime, viewer.tenant, conversation, number)
    reason = None
    if why in found:
        caller = Caller(viewer.tenant, viewer.user_id, frozenset({"memories:sensitive"} if viewer.sensitive else ()))
        reason = await explaining.why(runtime, caller, conversation.id, why, one.LOOK)
    return await page(
        request, "page.html", section="conversations", viewer=viewer, reason=reason,
        conversation=inspect.conversation_view(conversation), book_page=view, item=item, places=found,
        messages=[stored_message(m) for m in view["messages"][:MESSAGES_SHOWN]],
        left_out=max(0, len(view["messages"]) - MESSAGES_SHOWN),
    )  # fmt: skip


@router.get("/archives/{uuid}")
async def archive_page(
    request: Request,
    runtime: Wired,
    viewer: Viewing,
    uuid: UUID,
    offset: Annotated[int, Query(ge=0, le=INTEGER_MAX)] = 0,
) -> Response:
    params = query_of(request, {"query": 2_000})
    ready = await querying.prepare(runtime, viewer.tenant, params["query"]) if params["query"] else None
    part = ArchivePart(ready, offset=offset, length=ARCHIVE_CHARACTERS)
    async with runtime.database.snapshot(viewer.tenant) as tx:
        loaded = errors.existing(await archiving.load(tx, None, uuid, part), "archive")
    archive = await archiving.shown(runtime, loaded)
    check_own_user(viewer, archive["user_id"])
    end = offset + archive.get("length", 0)
    return await page(
        request, "archive.html", section="conversations", viewer=viewer, archive=archive, asked=params, offset=offset,
        hidden=hidden(archive.get("content", "")),
        later=end if 0 < end < archive["result_length"] else None,
        earlier=max(0, offset - ARCHIVE_CHARACTERS) if offset else None,
    )  # fmt: skip


@router.get("/search")
async def search_page(request: Request, runtime: Wired, viewer: Viewing) -> Response:
    params = query_of(request, {"query": 2_000, "user": 128, "conversation": 128, "type": 40})
    async with runtime.database.snapshot(viewer.tenant) as tx:
        users = await _users(tx, viewer)
    if viewer.user_id is not None:
        params["user"] = viewer.user_id
    elif len(users) == 1 and not params["user"] and not params["conversation"]:
        params["user"] = users[0]
    answer, problem = None, None
    if params["query"] and not params["user"] and not params["conversation"]:
        problem = "Specify a user or a conversation."
    elif params["query"]:
        try:
            answer = await _search_page(runtime, viewer, params)
        except errors.NotFound as error:
            problem = error.detail
    return await page(
        request, "search.html", section="search", viewer=viewer, asked=params, found=answer, problem=problem,
        types=TYPES, marked=marked, words=set(bm25.terms(params["query"])), users=users, strength=strength,
    )  # fmt: skip


async def _search_page(runtime: Runtime, viewer: Viewer, params: dict[str, str]) -> dict[str, Any]:
    wanted = SearchRequest(
        params["query"], params["user"] or None, params["conversation"] or None,
        types=(params["type"],) if params["type"] in TYPES else (), limit=RESULTS_SHOWN,
        relevance_min=RELEVANCE_MIN, sensitive=viewer.sensitive,
    )  # fmt: skip
    found = await searching.search(runtime, viewer.tenant, wanted)
    scores = [round(hit.score, 1) for hit in found.hits]
    answer = search_view(found, params["query"])
    answer["results"] = [{**one, "score": score} for one, score in zip(answer["results"], scores, strict=True)]
    return answer


@router.get("/jobs")
async def jobs_page(request: Request, runtime: Wired, viewer: Viewing) -> Response:
    if viewer.user_id is not None:
        raise errors.NotFound("This key is bound to one user and cannot see jobs, which cover all users.")
    async with runtime.database.snapshot(viewer.tenant) as tx:
        work = await progress.jobs_view(runtime, tx)
        rows = await table.browse(tx, None, JOBS_READ + 1)
        dead = await table.dead_letters(tx, None, JOBS_READ)
    return await page(
        request, "jobs.html", section="jobs", viewer=viewer, work=work, dead=grouped(dead),
        rows=grouped([row for row in rows[:JOBS_READ] if row.state != "dead"]), is_more=len(rows) > JOBS_READ,
        has_chat=runtime.chat is not None, has_embedder=runtime.embedder is not None,
    )  # fmt: skip


@router.get("/usage")
async def usage_page(request: Request, runtime: Wired, viewer: Viewing) -> Response:
    """Show what the API tells an admin at `/usage`."""
    if viewer.user_id is not None or not viewer.may_retry:
        raise errors.Forbidden("Usage covers all users and requires a key with the scope admin.")
    day = datetime.now(UTC).date() - timedelta(days=DAYS - 1)
    async with runtime.database.snapshot(viewer.tenant) as tx:
        rows = {by: await spending.since(tx, by, day, "", USERS_SHOWN) for by in ("day", "model", "user", "largest")}
    names = {"largest": "conversation"}
    items = {by: usage_items(found, names.get(by, by), runtime.proxying.prices, {}) for by, found in rows.items()}
    items["largest"].sort(key=lambda one: (one["cost"] or 0.0, one["prompt_tokens"]), reverse=True)
    return await page(
        request, "usage.html", section="usage", viewer=viewer, items=items, days=DAYS, users_max=USERS_SHOWN
    )


@router.post("/jobs/retry")
async def retry_jobs(request: Request, runtime: Wired, viewer: Viewing) -> Response:
    """Requeue the dead jobs of one line of the page, or all of them. Idempotent."""
    line = (await read_form(request)).get("line")
    if not viewer.may_retry:
        raise errors.Forbidden("Retrying jobs requires a key with the scope admin.")
    async with runtime.database.begin(viewer.tenant) as tx:
        if line is None:
            await table.retry_some(tx, JOBS_RETRIED)
        else:
            dead = await table.dead_letters(tx, None, JOBS_READ)
            for jobs in grouped(dead):
                if jobs.line == line:
                    for job in jobs.ids:
                        await table.revive(tx, job)
    return RedirectResponse(addresses(request)("jobs"), 303)


@router.get("/sign-in")
async def sign_in_form(request: Request, runtime: Wired) -> Response:
    """Show the sign-in form, unless no key is needed."""
    target = inside(addresses(request), request.query_params.get("next"))
    try:
        await door_of(request)(runtime, knock(request, None))
    except errors.Unauthorized:
        return await page(request, "sign_in.html", next=target, problem=None)
    return RedirectResponse(target, 303)


@router.post("/sign-in")
async def sign_in(request: Request, runtime: Wired) -> Response:
    """Check the key and keep it in a cookie."""
    form = await read_form(request)
    key, target = form.get("key", "").strip(), inside(addresses(request), form.get("next"))
    try:
        await door_of(request)(runtime, knock(request, checked_key(key)))
    except errors.Unauthorized:
        problem = "This key is not valid."
        return await page(request, "sign_in.html", status=401, next=target, problem=problem)
    response = RedirectResponse(target, 303)
    remember(response, request, key)
    return response


@router.post("/sign-out")
async def sign_out(request: Request) -> Response:
    require_own_form(request)
    response = RedirectResponse(addresses(request)("sign-in"), 303)
    forget(response, request)
    return response


@router.get("/static/{name}")
async def asset(request: Request, name: str) -> Response:
    file = errors.existing(ASSETS.get(name), "file")
    headers = {**SECURITY, "ETag": file.etag, "Cache-Control": "no-cache"}
    if request.headers.get("if-none-match") == file.etag:
        return Response(status_code=304, headers=headers)
    return Response(file.content, headers=headers, media_type=file.media_type)


router.routes.extend(changes.router.routes)
router.routes.extend(people.router.routes)


@router.get("/{rest:path}")
async def nothing(rest: str) -> Response:
    raise errors.NotFound("This path does not exist." if rest else "There is no such page.")
