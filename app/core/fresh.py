"""Fresh tool results: shown in full until the next user message, although they are archived.

An agent that has just called a tool is shown what came back, not a placeholder that makes it call again. From the next
user message on, the placeholder stands in the window. What is shown in full counts for no threshold and moves no zone:
it takes only what the window leaves free, so it never pushes anything out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any
from uuid import UUID

from app.core.budget import usable
from app.core.canonical import dumps
from app.core.groups import chat_messages
from app.core.model import Placed, Window
from app.core.neutral import neutral

FRESH_SHARE = 0.5
"""Most of the available tokens that fresh results take together."""
FRAME_TOKENS, CHANGED_TOKENS = 8, 4
"""Tokens that joining a result to its placeholder's first line adds, and each character that made it neutral."""


@dataclass(frozen=True, slots=True)
class FreshResult:
    """An archived result in full."""

    archive_id: UUID
    text: str
    tokens: int


def wanted(window: Window, last_page: int) -> list[UUID]:
    """Return the archives whose placeholders stand on the newest page, in order."""
    return [UUID(uuid) for placed in window.body if _is_fresh(placed, last_page) for uuid in placed.archive_ids]


def tokens_max(window: Window) -> int:
    """Return the tokens that fresh results may take in a window."""
    ledger = window.ledger
    room = usable(ledger.budget, ledger.token_percent)
    available = room - ledger.tools - ledger.system
    return max(0, min(room - ledger.total, int(available * FRESH_SHARE)))


def with_fresh(window: Window, results: Sequence[FreshResult], last_page: int) -> Window:
    """Return the window with fresh results in full, the newest first, as many as fit whole."""
    room = tokens_max(window)
    by_id = {str(result.archive_id): result for result in results}
    body = list(window.body)
    spent = 0
    for at in reversed(range(len(body))):
        if not _is_fresh(body[at], last_page):
            continue
        chosen: dict[str, FreshResult] = {}
        for uuid in reversed(body[at].archive_ids):
            if uuid in by_id and (weight := _weight(by_id[uuid])) <= room - spent:
                chosen[uuid] = by_id[uuid]
                spent += weight
        if chosen:
            body[at] = _shown(body[at], chosen)
    if not spent:
        return window
    ledger = replace(window.ledger, recent=window.ledger.recent + spent)
    return replace(window, body=tuple(body), ledger=ledger)


def _is_fresh(placed: Placed, last_page: int) -> bool:
    return placed.page == last_page and placed.zone == "verbatim" and bool(placed.archive_ids)


def _weight(result: FreshResult) -> int:
    shown = neutral(result.text)
    changed = sum(result.text.count(mark) - shown.count(mark) for mark in "<[")
    return result.tokens + FRAME_TOKENS + CHANGED_TOKENS * changed


def _shown(placed: Placed, results: Mapping[str, FreshResult]) -> Placed:
    messages = [_in_full(message, results) for message in chat_messages(placed.text)]
    tokens = placed.tokens + sum(map(_weight, results.values()))
    text = ",".join(map(dumps, messages))
    return placed._replace(text=text, tokens=tokens, anthropic=None, passing=True, cache_mark=False)


def _in_full(message: dict[str, Any], results: Mapping[str, FreshResult]) -> dict[str, Any]:
    """A tool message whose placeholder's first line is followed by the result."""
    content = message.get("content")
    if message.get("role") != "tool" or not isinstance(content, str):
        return message
    first_line = content.split("\n", 1)[0]
    found = next((result for uuid, result in results.items() if uuid in first_line), None)
    return message if found is None else {**message, "content": f"{first_line}\n{neutral(found.text)}"}
