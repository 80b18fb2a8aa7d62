"""Standard Webhooks: the body of an event, its signature and its retries."""

from __future__ import annotations

import base64
import hashlib
import hmac
from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Any, Literal, get_args
from uuid import UUID

from app.core.canonical import dumps
from app.core.history.append import Append
from app.core.times import time_of, time_text

EventType = Literal[
    "message.stored", "cut.made", "archive.made", "summary.written", "memory.proposed", "memory.changed",
    "conversation.changed", "space.changed", "job.dead", "erasure.done", "webhook.disabled",
]  # fmt: skip
EVENT_TYPES: tuple[EventType, ...] = get_args(EventType)
SECRET_PREFIX = "whsec_"  # noqa: S105  # nosec B105 - what secrets begin with
SECRET_BYTES = 32
RETRY_SECONDS = (2, 4, 8, 16, 32)
"""Waits after the first failed attempts."""
PROBE_SECONDS = 60
"""The wait after each later one."""
OFF_AFTER = timedelta(days=3)
"""A webhook that fails for so long is turned off."""


def of_append(append: Append) -> list[tuple[EventType, dict[str, str | int]]]:
    end, place = append.conversation.end.last_seq, {"conversation_id": append.conversation.id}
    told: list[tuple[EventType, dict[str, str | int]]] = []
    if append.messages:
        told.append(("message.stored", {**place, "first_seq": end - len(append.messages) + 1, "last_seq": end}))
    told += [("archive.made", {**place, "archive_id": str(archive.id)}) for archive in append.archives]
    told += [(of_memory(wish.status), {**place, "memory_key": str(wish.id)}) for wish in append.wishes]
    return told


def of_memory(status: str) -> EventType:
    """Return the event type of a written memory: a proposal or any other."""
    return "memory.proposed" if status == "proposed" else "memory.changed"


def body(id_: UUID, seq: int, type_: str, data: Mapping[str, Any]) -> str:
    """Return an event's body, for webhooks and streams."""
    return dumps({"id": str(id_), "seq": seq, "type": type_, "timestamp": time_text(time_of(id_)), "data": data})


def secret_text(random: bytes) -> str:
    return SECRET_PREFIX + base64.b64encode(random).decode()


def signature(secret: str, id_: str, timestamp: int, text: str) -> str:
    """Return the value of ``webhook-signature``."""
    key = base64.b64decode(secret.removeprefix(SECRET_PREFIX))
    signed = f"{id_}.{timestamp}.{text}".encode()
    return "v1," + base64.b64encode(hmac.new(key, signed, hashlib.sha256).digest()).decode()


def headers(secret: str, id_: str, timestamp: int, text: str) -> dict[str, str]:
    return {
        "content-type": "application/json", "webhook-id": id_, "webhook-timestamp": str(timestamp),
        "webhook-signature": signature(secret, id_, timestamp, text),
    }  # fmt: skip


def wants(types: Sequence[str], type_: str) -> bool:
    """Return whether a webhook wants an event. One that names no types wants all."""
    return not types or type_ in types


def retry_seconds(attempts: int) -> int:
    """Return the wait after a number of failed attempts."""
    return RETRY_SECONDS[attempts - 1] if 1 <= attempts <= len(RETRY_SECONDS) else PROBE_SECONDS
