"""Events: as a stream, and by webhook."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import AsyncIterator
from dataclasses import asdict
from typing import Annotated, Any
from urllib.parse import urlsplit
from uuid import UUID

from fastapi import APIRouter, Header, Query, Request
from starlette.responses import Response, StreamingResponse

from app import errors
from app.api.http.answers import json_text, json_value, list_of
from app.api.http.body import json_body
from app.api.http.callers import Admin, Reader, still_admitted
from app.api.http.deadlines import end_with_client
from app.api.http.runtime import Wired
from app.api.http.writes import WriteByAdmin
from app.api.schemas import events as schemas
from app.core.canonical import dumps
from app.core.edge import webhooks
from app.core.edge.addresses import is_public, url_problem
from app.core.times import time_text
from app.ids import uuid7
from app.postgres.transactions import Tx
from app.queue import outbox
from app.queue.outbox import StoredWebhook
from app.runtime import Runtime
from app.services.events import literal_address
from app.services.idempotency import StoredResponse

router = APIRouter(tags=["events"])

WEBHOOKS_MAX = 20
POLL_SECONDS = 1.0
KEEP_ALIVE_SECONDS = 5.0  # a client whose machine is gone is noticed by a write only
STREAMS_MAX = 100  # of a process at once: each asks the database once a second
SEQ_MAX = 2**53


@router.get(
    "/events",
    response_class=StreamingResponse,
    responses={200: {"description": "server-sent events", "content": {"text/event-stream": {}}}},
)
async def stream_events(
    request: Request,
    runtime: Wired,
    caller: Reader,
    after: Annotated[int | None, Query(ge=0, le=SEQ_MAX, description="sequence number; default: from now on")] = None,
    wait: Annotated[bool, Query(description="false: end once all that is stored was sent")] = True,
    last_event_id: Annotated[str | None, Header(description="goes before `after`")] = None,
) -> Response:
    """Stream the tenant's events: ids, a type and a sequence number without gaps.

    Resumes after `Last-Event-ID`, as browsers and SSE clients send it, or `after`; the response's `Last-Event-ID` says
    where it begins. Events are kept for a week. The first call, and the first webhook, turn events on for the tenant.
    """
    caller.require_all_users()
    if runtime.meters.streams >= STREAMS_MAX:
        raise errors.Busy("Too many event streams are open in this process.")
    if not await outbox.is_on(runtime.database, caller.tenant):
        async with runtime.database.begin(caller.tenant) as tx:
            await outbox.switch(tx, on=True)
        runtime.meters.telling.add(caller.tenant)
    seq = after if last_event_id is None else _seq(last_event_id)
    if seq is None:
        seq = await outbox.last(runtime.database, caller.tenant)
    if wait:
        end_with_client(request.scope)
    lines = _lines(request, runtime, caller.tenant, seq, wait=wait)
    headers = {"Cache-Control": "no-store", "Last-Event-ID": str(seq)}
    return StreamingResponse(lines, media_type="text/event-stream", headers=headers)


def _seq(text: str) -> int:
    if not (text.isascii() and text.isdecimal() and len(text) <= 16 and int(text) <= SEQ_MAX):
        raise errors.Invalid.at(["header", "Last-Event-ID"], "must be an event's number")
    return int(text)


async def _lines(request: Request, runtime: Runtime, tenant: UUID, seq: int, *, wait: bool) -> AsyncIterator[str]:
    """Yield the events after one, until the caller leaves or its key is revoked."""
    runtime.meters.streams += 1
    quiet = 0.0
    try:
        yield "retry: 1000\n\n"
        while True:
            events = await outbox.after(runtime.database, tenant, seq)
            for event in events:
                seq, quiet = event.seq, 0.0
                yield f"id: {seq}\nevent: {event.type}\ndata: {event.body}\n\n"
            if events:
                continue
            if not wait:
                return
            await asyncio.sleep(POLL_SECONDS)
            if not await still_admitted(request):
                return
            quiet += POLL_SECONDS
            if quiet >= KEEP_ALIVE_SECONDS:
                quiet = 0.0
                yield ": still here\n\n"
    except errors.StorageUnavailable:
        if not wait:
            raise  # the connection is cut: an end would say that all was sent
        return  # the client comes back, and goes on where it was
    finally:
        runtime.meters.streams -= 1


@router.post(
    "/webhooks",
    status_code=201,
    response_model=schemas.NewWebhook,
    openapi_extra=json_body(schemas.WebhookBody, {"url": "https://example.com/quire", "types": ["erasure.done"]}),
)
async def add_webhook(write: WriteByAdmin) -> Response:
    """Add a webhook, by the rules of Standard Webhooks. `secret` is shown in this response only.

    Each event of these types, from now on, is posted and signed, one after the other. A receiver that does not answer
    2xx gets it again, after five failures once a minute; after three days the webhook is turned off.
    """
    write.caller.require_all_users()
    body = await write.body(schemas.WebhookBody)
    await _check(write.runtime, body.url)
    secret = webhooks.secret_text(secrets.token_bytes(webhooks.SECRET_BYTES))
    is_new: list[bool] = []

    async def work(tx: Tx) -> StoredResponse:
        if await outbox.count_webhooks(tx) >= WEBHOOKS_MAX:
            raise errors.Conflict(f"A tenant has at most {WEBHOOKS_MAX} webhooks. Delete one first.")
        row = await outbox.add_webhook(tx, uuid7(), body.url, secret, body.types)
        is_new.append(True)
        return StoredResponse(dumps({**_view(row), "secret": None}))  # nosec B105 - shown once

    answer = await write.once(work)
    write.runtime.meters.telling.add(write.caller.tenant)
    if is_new:
        answer = answer.removesuffix("null}") + dumps(secret) + "}"
    return json_text(answer, status=201, headers={"Cache-Control": "no-store"})


async def _check(runtime: Runtime, url: str) -> None:
    """Raise Invalid for a URL that no event would be sent to; a name is judged by what it resolves to then."""
    problem = url_problem(url)
    host = "" if problem else urlsplit(url).hostname or ""
    if problem is None and not runtime.access.private_webhooks:
        address = await literal_address(host)
        if host == "localhost" or host.endswith(".localhost") or (address is not None and not is_public(address)):
            problem = "must not be a loopback, link-local or private address"
    if problem is not None:
        raise errors.Invalid.at(["body", "url"], problem)


def _view(hook: StoredWebhook) -> dict[str, Any]:
    times = {name: at and time_text(at) for name, at in asdict(hook).items() if name.endswith(("_at", "_since"))}
    return {**asdict(hook), "id": str(hook.id), **times}


@router.get("/webhooks", response_model=list_of("WebhookList", schemas.Webhook))
async def list_webhooks(runtime: Wired, caller: Admin) -> Response:
    """List the tenant's webhooks."""
    caller.require_all_users()
    async with runtime.database.snapshot(caller.tenant) as tx:
        rows = await outbox.hooks(tx)
    return json_value({"items": [_view(row) for row in rows], "next_cursor": None})


@router.delete("/webhooks/{webhook_id}", response_model=schemas.Webhook)
async def delete_webhook(write: WriteByAdmin, webhook_id: UUID) -> Response:
    """Delete a webhook. What waits for it is not sent."""
    write.caller.require_all_users()

    async def work(tx: Tx) -> StoredResponse:
        row = errors.existing(await outbox.remove_webhook(tx, webhook_id), "webhook")
        return StoredResponse(dumps(_view(row)))

    return json_text(await write.once(work))
