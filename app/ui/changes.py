"""Make the inspector's changes, with a key that can write: by the API's services, and then back to a page."""

from __future__ import annotations

from collections.abc import Mapping
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
from app.core.edge.audit import ERASE
from app.core.line import exact
from app.core.search.narrowing import OWN_TYPES
from app.postgres.transactions import Tx
from app.runtime import Runtime
from app.services.lifecycle import erasing, erasing_whole, noting
from app.services.lifecycle.erasing import ErasingTx
from app.services.memory import revising, views
from app.services.memory.hits import find_memory
from app.services.memory.results import memory_view
from app.services.memory.revising import Change
from app.store import conversations
from app.ui.forms import TEXT_MAX, read_form
from app.ui.html import HtmlRoute, addresses, inside, page
from app.ui.session import Viewer, Viewing, require_write

router = APIRouter(prefix="/ui", include_in_schema=False, route_class=HtmlRoute)


@router.post("/conversations/{conversation_id}")
async def change_conversation(
    request: Request, runtime: Wired, viewer: Viewing, conversation_id: ConversationId
) -> Response:
    """Rename or erase a conversation, or write or erase a note of it, as the form's `do` says."""
    form = await read_form(request, TEXT_MAX)
    require_write(viewer)
    name, target = exact(conversation_id), addresses(request).conversation(conversation_id, show="memory")
    async with runtime.database.begin(viewer.tenant) as tx:
        match form.get("do"):
            case "rename":
                await _rename(runtime, tx, name, form, viewer)
                target = addresses(request).conversation(conversation_id)
            case "delete":
                found = await erasing.lock(tx, name, bound_to=viewer.user_id)
                await erasing_whole.erase_tree(_erasing(request, runtime, tx), found, branches_too=False)
                target = addresses(request)()
            case "note":
                body = parse_model(NoteBody, {"text": form.get("text", "")})
                await noting.write(runtime, tx, name, _note(form), body.text, bound_to=viewer.user_id)
            case "delete-note":
                note = errors.existing(_note(form), "note")
                await noting.erase(_erasing(request, runtime, tx), name, note, bound_to=viewer.user_id)
            case _:
                raise errors.Invalid.at(["body", "do"], "must be rename, delete, note or delete-note")
    return RedirectResponse(target, 303)


async def _rename(runtime: Runtime, tx: Tx, conversation_id: str, form: Mapping[str, str], viewer: Viewer) -> None:
    """Give a conversation another title; a blank one takes its title away."""
    title = " ".join(form.get("title", "").split()) or None
    parse_model(ConversationChange, {"title": title})
    title = runtime.masks.text(title) if title is not None else None
    found = errors.existing(await conversations.lock(tx, conversation_id, bound_to=viewer.user_id), "conversation")
    await conversations.change(tx, found, replace(conversations.unchanged(found), title=title))


def _erasing(request: Request, runtime: Runtime, tx: Tx) -> ErasingTx:
    request.state.needed = ERASE
    return ErasingTx(runtime, tx)


def _note(form: Mapping[str, str]) -> UUID | None:
    try:
        return UUID(form["note"]) if form.get("note") else None
    except ValueError as error:
        raise errors.missing("note") from error


@router.get("/memories/{memory_key}")
async def memory_page(request: Request, runtime: Wired, viewer: Viewing, memory_key: UUID) -> Response:
    async with runtime.database.snapshot(viewer.tenant) as tx:
        seen = await views.of_caller(tx, viewer.user_id)
        found = errors.existing(await find_memory(tx, memory_key, seen, sensitive=viewer.sensitive), "memory")
    memory = await anyio.to_thread.run_sync(memory_view, found)
    can_edit = viewer.may_write and memory["memory_type"] in OWN_TYPES and not memory["is_cut"]
    return await page(request, "memory.html", section="search", viewer=viewer, memory=memory, can_edit=can_edit)


@router.post("/memories/{memory_key}")
async def change_memory(request: Request, runtime: Wired, viewer: Viewing, memory_key: UUID) -> Response:
    """Edit, accept, refuse or erase a memory, as the form's `do` says; accepting and refusing are idempotent."""
    form = await read_form(request, TEXT_MAX)
    require_write(viewer)
    url, is_gone = addresses(request), form.get("do") == "delete"
    target = url("search") if is_gone else inside(url, form.get("next"), url("memories", memory_key))
    whose, sensitive = viewer.user_id, viewer.sensitive
    async with runtime.database.begin(viewer.tenant) as tx:
        if is_gone:
            await erasing.erase_memory(_erasing(request, runtime, tx), memory_key, whose, sensitive=sensitive)
        else:
            await revising.change(runtime, tx, memory_key, _change(form), bound_to=whose, sensitive=sensitive)
    return RedirectResponse(target, 303)


def _change(form: Mapping[str, str]) -> Change:
    match form.get("do"):
        case "edit":
            content = form.get("content", "").replace("\r\n", "\n")
            if not content.strip():
                raise errors.Invalid.at(["body", "content"], "must not be blank")
            return Change(content)
        case "accept":
            return Change(status="held")
        case "refuse":
            return Change(status="refused")
        case _:
            raise errors.Invalid.at(["body", "do"], "must be edit, accept, refuse or delete")
