"""Jobs as the inspector shows them: similar ones are grouped on one line."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import groupby
from typing import Any
from uuid import UUID

from app.queue.table import ListedJob


@dataclass(frozen=True, slots=True)
class JobsPage:
    """Jobs of one kind, state, conversation and latest error."""

    kind: str
    state: str
    conversation_id: str | None
    error: str
    count: int
    attempts: int
    """The most of any."""
    since: datetime
    ids: tuple[UUID, ...] = ()

    @property
    def line(self) -> str:
        """Return the id of the line in a form; its texts may not survive the round trip."""
        identity = "\0".join((self.kind, self.conversation_id or "", self.error))
        return hashlib.sha256(identity.encode()).hexdigest()


def grouped(rows: Sequence[ListedJob]) -> list[JobsPage]:
    """Group jobs: running ones first, then dead ones, then waiting ones; the oldest first."""
    ordered = sorted(rows, key=_alike)
    lines = [_together(list(some)) for _, some in groupby(ordered, key=_alike)]
    return sorted(lines, key=lambda jobs: (_ORDER.index(jobs.state), jobs.since))


_ORDER = ("running", "dead", "pending")


def _alike(row: ListedJob) -> tuple[Any, ...]:
    return row.state, row.kind, row.conversation_id or "", row.error or ""


def _together(rows: Sequence[ListedJob]) -> JobsPage:
    first = rows[0]
    return JobsPage(
        kind=first.kind, state=first.state, conversation_id=first.conversation_id,
        error=first.error or "", count=len(rows), attempts=max(row.attempts for row in rows),
        since=min(row.created_at for row in rows), ids=tuple(row.id for row in rows),
    )  # fmt: skip
