"""Make the inspector's changes, with a key that can write: by the API's services, and then back to a page."""

from __future__ import annotations

from dataclasses import replace
from uuid import UUID

import anyio.to_thread
from fastapi import APIRouter, Request
from starlette.responses import RedirectResponse, Response

from app import errors
from app.api.http.body import parse_model
from app.api.http.path_ids import ConversationId
from app.api.http.runtime import Wired
from app.api.schemas.conversations import ConversationChange
from app.api.schemas.parts import NoteBody
from app.core.line import exact
from app.core.search.narrowing import OWN_TYPES
from app.services.lifecycle import erasing, erasing_whole, noting
from app.services.lifecycle.erasing import ErasingTx
from app.services.memory import revising, searching, views
from app.services.memory.revising import Change
from app.store import conversations
from app.ui.forms import TEXT_MAX, read_form
from app.ui.html import HtmlRoute, addresses, page
from app.ui.session import Viewing, require_write

router = APIRouter(prefix="/ui", include_in_schema=False, route_class=HtmlRoute)


@router.post("/conversations/{conversation_id}/rename")
async def rename(request: Request, runtime: Wired, viewer: Viewing, conversation_id: ConversationId) -> Response:
    """Give a conversation another title; a blank one takes its title away."""
    form = await read_form(request)
    require_write(viewer)
    title = " ".join(form.get("title", "").split()) or None
    parse_model(ConversationChange, {"title": title})
    title = runtime.masks.text(title) if title is not None else None
    async with runtime.database.begin(viewer.tenant) as tx:
        found = await conversations.lock(tx, exact(conversation_id), bound_to=viewer.user_id)
        if found is None:
            raise conversations.unknown()
        await conversations.change(tx, found, replace(conversations.unchanged(found), title=title))
    return RedirectResponse(addresses(request).conversation(conversation_id), 303)


@router.post("/conversations/{conversation_id}/delete")
async def delete(request: Request, runtime: Wired, viewer: Viewing, conversation_id: ConversationId) -> Response:
    """Erase a conversation and everything derived from it."""
    await read_form(request)
    require_write(viewer)
    async with runtime.database.begin(viewer.tenant) as tx:
        found = await erasing.lock(tx, exact(conversation_id), bound_to=viewer.user_id)
        await erasing_whole.erase_tree(ErasingTx(runtime, tx), found, branches_too=False)
    return RedirectResponse(addresses(request)(), 303)


@router.post("/conversations/{conversation_id}/notes")
async def write_note(request: Request, runtime: Wired, viewer: Viewing, conversation_id: ConversationId) -> Response:
    """Add a note, or edit the one that the form names."""
    form = await read_form(request, TEXT_MAX)
    require_write(viewer)
    body = parse_model(NoteBody, {"text": form.get("text", "")})
    async with runtime.database.begin(viewer.tenant) as tx:
        await noting.write(runtime, tx, exact(conversation_id), _note(form), body.text, bound_to=viewer.user_id)
    return _to_notes(request, conversation_id)


@router.post("/conversations/{conversation_id}/notes/delete")
async def delete_note(request: Request, runtime: Wired, viewer: Viewing, conversation_id: ConversationId) -> Response:
    form = await read_form(request)
    require_write(viewer)
    note = _note(form)
    if note is None:
        raise errors.NotFound("There is no such note.")
    async with runtime.database.begin(viewer.tenant) as tx:
        await noting.erase(ErasingTx(runtime, tx), exact(conversation_id), note, bound_to=viewer.user_id)
    return _to_notes(request, conversation_id)


def _note(form: dict[str, str]) -> UUID | None:
    try:
        return UUID(form["note"]) if form.get("note") else None
    except ValueError as error:
        raise errors.NotFound("There is no such note.") from error


def _to_notes(request: Request, conversation_id: str) -> Response:
    return RedirectResponse(addresses(request).conversation(conversation_id, show="memory"), 303)


@router.get("/memories/{memory_key}")
async def memory_page(request: Request, runtime: Wired, viewer: Viewing, memory_key: UUID) -> Response:
    async with runtime.database.snapshot(viewer.tenant) as tx:
        found = await searching.memory(
            tx, memory_key, await views.of_caller(tx, viewer.user_id), sensitive=viewer.sensitive
        )
    if found is None:
        raise errors.NotFound("There is no such memory.")
    memory = await anyio.to_thread.run_sync(searching.detail, found)
    can_edit = viewer.may_write and memory["memory_type"] in OWN_TYPES and not memory["is_cut"]
    return await page(request, "memory.html", section="search", viewer=viewer, memory=memory, can_edit=can_edit)


@router.post("/memories/{memory_key}")
async def edit_memory(request: Request, runtime: Wired, viewer: Viewing, memory_key: UUID) -> Response:
    """Give a memory another text."""
    form = await read_form(request, TEXT_MAX)
    require_write(viewer)
    content = form.get("content", "").replace("\r\n", "\n")
    if not content.strip():
        raise errors.Invalid.at(["body", "content"], "must not be blank")
    wanted = Change(content)
    async with runtime.database.begin(viewer.tenant) as tx:
        await revising.change(runtime, tx, memory_key, wanted, bound_to=viewer.user_id, sensitive=viewer.sensitive)
    return RedirectResponse(addresses(request)("memories", memory_key), 303)


@router.post("/memories/{memory_key}/delete")
async def delete_memory(request: Request, runtime: Wired, viewer: Viewing, memory_key: UUID) -> Response:
    await read_form(request)
    require_write(viewer)
    async with runtime.database.begin(viewer.tenant) as opened:
        tx = ErasingTx(runtime, opened)
        await erasing.erase_memory(tx, memory_key, viewer.user_id, sensitive=viewer.sensitive)
    return RedirectResponse(addresses(request)("search"), 303)
