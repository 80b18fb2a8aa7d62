"""Deliver one event to one webhook. The queue retries, each attempt with the same ``webhook-id``."""

from __future__ import annotations

import json
import time
from uuid import UUID

from app.core.edge import webhooks
from app.providers import build
from app.queue import outbox, table
from app.queue.table import Claimed
from app.runtime import Runtime


async def deliver(runtime: Runtime, claimed: Claimed) -> None:
    """Send an event. Raises UndeliveredError, RefusedInput or LeaseLost. What was removed meanwhile is not sent."""
    async with runtime.database.snapshot(claimed.tenant) as tx:
        receiver = await outbox.receiver(tx, UUID(claimed.args["webhook"]))
        event = await outbox.one(tx, claimed.args["seq"])
    if receiver is not None and event is not None:
        text = webhooks.body(event["id"], event["seq"], event["type"], event["created_at"], json.loads(event["data"]))
        headers = webhooks.headers(receiver["secret"], str(event["id"]), int(time.time()), text)
        if runtime.meters.sender is None:
            runtime.meters.sender = build.webhook_sender(allows_private=runtime.access.private_webhooks)
        await runtime.meters.sender.send(receiver["url"], headers, text)
    async with runtime.database.begin(claimed.tenant) as tx:
        await table.finish(tx, claimed)
