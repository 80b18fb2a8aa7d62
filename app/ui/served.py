"""A window that was served, as its conversation's page opens with it."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from app.core.conversation import Conversation
from app.core.model import INTEGER_MAX, Context, Format
from app.core.window import served_change
from app.core.window.served import Served, ServedFrame, ledger_of
from app.postgres.transactions import ReadTx
from app.runtime import Runtime
from app.services.conversations.replaying import record_view, replayed
from app.store import served as stored
from app.ui.pictures import Point

WINDOWS_READ = 60
"""Windows that the growth is read from."""
NOW = "now"
"""Asks for the window as it is now instead of one that was served."""


@dataclass(frozen=True, slots=True)
class ServedView:
    """A served window, and what changed since the one before it."""

    record: dict[str, Any]
    context: Context
    answer: dict[str, Any]
    is_verified: bool
    erased: Sequence[int]
    gone: Sequence[str]
    previous: int | None
    next: int | None
    change: dict[str, Any]
    points: Sequence[Point]

    @property
    def format(self) -> Format:
        found: Format = self.record["format"]
        return found

    def mark(self, seqs: Iterable[int]) -> str:
        """Return how a message of the window differs from the window before it; blank if it does not."""
        wanted = set(seqs)
        for name in ("came_in", "changed") if self.change["from"] else ():
            for run in self.change[name]:
                if wanted & set(range(run["first_seq"], run["last_seq"] + 1)):
                    return name
        return ""


async def served_view(runtime: Runtime, tx: ReadTx, conversation: Conversation, wanted: str) -> ServedView | None:
    """Return the window of a number, or the last one; None if there is none. Raises NotFound."""
    rows = await stored.browse(tx, conversation.id, INTEGER_MAX, WINDOWS_READ // stored.ROW_WINDOWS + 1)
    listed = [window for row in reversed(rows) for window in row.windows]
    if wanted == NOW or (not listed and not wanted):
        return None
    number = int(wanted) if wanted.isascii() and wanted.isdecimal() and len(wanted) < 10 else 0
    newest = listed[-1][0] if listed else 0
    found = await replayed(runtime, tx, conversation, number if wanted else newest, sensitive=False)
    before = None
    if found.number > 1:
        before = await replayed(runtime, tx, conversation, found.number - 1, sensitive=False)
    change = served_change.difference(before.side if before else None, found.side)
    return ServedView(
        record=record_view(found.number, found.frame, found.served, found.query),
        context=found.context,
        answer=json.loads(found.context.body),
        is_verified=found.is_verified,
        erased=found.erased if not found.is_verified else (),
        gone=found.gone,
        previous=before.number if before else None,
        next=found.number + 1 if found.number < newest else None,
        change={"from": before.number if before else None, **change},
        points=list(_points([one for one in listed if one[0] <= found.number], found.frame)),
    )


def _points(listed: Sequence[tuple[int, ServedFrame, Served]], like: ServedFrame) -> Iterable[Point]:
    alike = [one for one in listed if (one[1].budget, one[1].format) == (like.budget, like.format)]
    last = {served.last_page: (number, frame, served) for number, frame, served in alike}
    epoch = None
    for page, (number, frame, served) in last.items():
        opens = epoch is not None and frame.cut != epoch
        epoch = frame.cut
        yield Point(number, page, frame.cut, opens, ledger_of(frame, served))
