"""Deliver events to one webhook in order, from its cursor on.

Each webhook has one job, so a hanging receiver delays no other. A failed delivery is repeated with the same
``webhook-id``, less and less often (`policy.judge`); see `core.edge.webhooks`.
"""

from __future__ import annotations

import time
from uuid import UUID

from app.core.edge import webhooks
from app.providers import RefusedInput, UndeliveredError, build
from app.queue import outbox, table
from app.queue.outbox import Receiver, StoredEvent
from app.queue.table import Claimed
from app.runtime import Runtime

WORK_SECONDS = 60.0
"""A job sends for so long and is then requeued, so that other webhooks have their turn."""


async def deliver(runtime: Runtime, claimed: Claimed) -> None:
    """Send the webhook's pending events. Raises UndeliveredError or LeaseLost."""
    hook, ends_at = UUID(claimed.args["webhook"]), time.monotonic() + WORK_SECONDS
    while time.monotonic() < ends_at:
        async with runtime.database.snapshot(claimed.tenant) as tx:
            receiver = await outbox.receiver(tx, hook)
            event = await outbox.next_event(tx, receiver) if receiver is not None else None
        if receiver is None or event is None:
            break
        problem = await _problem(runtime, receiver, event)
        words = None if problem is None else str(problem)
        async with runtime.database.begin(claimed.tenant) as tx:
            is_gone = isinstance(problem, RefusedInput)
            is_off = await outbox.note_delivery(tx, hook, event.seq, words, is_gone=is_gone)
        if problem is not None and not is_off:
            raise problem
    async with runtime.database.begin(claimed.tenant) as tx:
        await (table.finish if time.monotonic() < ends_at else table.requeue)(tx, claimed)


async def _problem(runtime: Runtime, receiver: Receiver, event: StoredEvent) -> UndeliveredError | RefusedInput | None:
    """Send an event; return why it was not delivered, or None."""
    text = event.body
    headers = webhooks.headers(receiver.secret, str(event.id), int(time.time()), text)
    if runtime.meters.sender is None:
        runtime.meters.sender = build.webhook_sender(allows_private=runtime.access.private_webhooks)
    try:
        await runtime.meters.sender.send(receiver.url, headers, text)
    except (UndeliveredError, RefusedInput) as error:
        return error
    return None
