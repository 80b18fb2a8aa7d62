"""Fresh tool results: shown until the next user message, although they are archived, in full or in part.

An agent that has just called a tool sees the result, not a placeholder that would make it call again. From the next
user message on, the window shows the placeholder. If a result does not fit in full, the window shows the parts that
matter to the page's question. They are chosen when it is stored, and taken best first up to a bound that depends only
on the available tokens: so they stay the same while the page goes on, as long as the window has that much free.

The newest results come first, and the first one that gets less than it would get alone is the last that is shown. If
an older, smaller one took what is left, it would appear when a newer one no longer fits, and move the end of the stable
part back. For the same reason, what marks free when they replace recalls goes to no result before the oldest recall
that is still shown.

A fresh result counts towards no threshold and moves no zone: it takes only what the window leaves free, so it never
displaces anything.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple
from uuid import UUID

from app.core.canonical import dumps
from app.core.groups import chat_messages
from app.core.model import Placed, Window
from app.core.neutral import neutral, without_ranges
from app.core.window.budget import usable

FRESH_SHARE = 0.5
"""Most of the available tokens that fresh results take together."""
FRAME_TOKENS, CHANGED_TOKENS = 8, 4
"""Tokens that joining a result to its placeholder's first line adds, and each character that made it neutral."""


PARTS_SHARE, PARTS_TOKENS_MAX = 0.25, 4_000
"""Most of the available tokens that the parts of one result take: what a recall tool would bring in by itself."""


class ResultPart(NamedTuple):
    """A stretch of a result, as windows show it."""

    offset: int
    text: str
    tokens: int


@dataclass(frozen=True, slots=True)
class FreshResult:
    """An archived result."""

    archive_id: UUID
    text: str | None
    """In full; None where it is too long for the window."""
    tokens: int
    parts: tuple[ResultPart, ...] = ()
    """What matters of it, the best first."""


def part_text(offset: int, text: str) -> str:
    """Return a stretch of a result as windows show it."""
    return f"[{offset}–{offset + len(text)}]\n{without_ranges(neutral(text))}"


def stored_parts(parts: Sequence[tuple[int, str]], counts: Mapping[str, int]) -> str | None:
    """Return parts with their tokens, as they are stored with the archive."""
    return dumps([[offset, text, counts[text]] for offset, text in parts]) if parts else None


def read_parts(stored: str | None) -> tuple[ResultPart, ...]:
    return tuple(ResultPart(*part) for part in json.loads(stored)) if stored else ()


def wanted(window: Window, last_page: int) -> list[UUID]:
    """Return the archives whose placeholders stand on the newest page, in order."""
    return [UUID(uuid) for at in _fresh(window, last_page) for uuid in window.body[at].archive_ids]


def tokens_max(window: Window) -> int:
    """Return the tokens that fresh results may take in a window."""
    free = usable(window.ledger.budget, window.ledger.token_percent) - window.ledger.total
    return max(0, min(free, _share(window, FRESH_SHARE)))


def _share(window: Window, share: float) -> int:
    """Return a share of the tokens available to the conversation, however full the window is."""
    ledger = window.ledger
    return int((usable(ledger.budget, ledger.token_percent) - ledger.tools - ledger.system) * share)


def with_fresh(window: Window, results: Sequence[FreshResult], last_page: int) -> Window:
    """Return the window with fresh results, the newest first: in full where they fit, else in part."""
    room, by_id = _Room.of(window), {str(result.archive_id): result for result in results}
    body = list(window.body)
    spent, is_cut = 0, False
    for at in reversed(_fresh(window, last_page)):
        chosen: dict[str, _ShownResult] = {}
        for uuid in reversed(body[at].archive_ids):
            if is_cut or uuid not in by_id:
                continue
            shown, is_cut = _chosen(by_id[uuid], room, spent)
            if shown is not None:
                chosen[uuid] = shown
                spent += shown.tokens
        if chosen:
            body[at] = _shown(body[at], chosen)
    if not spent:
        return window
    ledger = replace(window.ledger, recent=window.ledger.recent + spent)
    return replace(window, body=tuple(body), ledger=ledger)


def _fresh(window: Window, last_page: int) -> list[int]:
    """Return the places in the body of the items whose results can be shown, in order."""
    after = next((at for at, placed in enumerate(window.body) if placed.passing), 0) if window.is_marked else 0
    return [
        at
        for at, placed in enumerate(window.body)
        if at >= after and placed.page == last_page and placed.zone == "verbatim" and placed.archive_ids
    ]


@dataclass(frozen=True, slots=True)
class _ShownResult:
    """The text that replaces a placeholder, after its first lines."""

    text: str
    tokens: int
    lines: int
    """So many lines of the placeholder stay: the first says how to read the archive, the second how long it is."""


@dataclass(frozen=True, slots=True)
class _Room:
    """Tokens for fresh results."""

    now: int
    """For all of them together; less with each message that is appended."""
    alone: int
    """For one, in a window that is empty otherwise."""
    parts: int
    """For the parts of one."""

    @classmethod
    def of(cls, window: Window) -> _Room:
        parts = min(PARTS_TOKENS_MAX, _share(window, PARTS_SHARE))
        return cls(tokens_max(window), _share(window, FRESH_SHARE), parts)


def _chosen(result: FreshResult, room: _Room, spent: int) -> tuple[_ShownResult | None, bool]:
    """Return what is shown of a result, and whether it is less than would be shown of it alone."""
    alone = _fitting(result, room.alone, room.parts)
    if alone is not None and alone.tokens > room.now - spent:
        return _fitting(result, room.now - spent, room.parts), True
    would_fit = result.tokens + FRAME_TOKENS <= room.alone
    return alone, result.text is None and would_fit


def _fitting(result: FreshResult, room: int, parts_max: int) -> _ShownResult | None:
    """Return as much of a result as fits; None if nothing does."""
    if result.text is not None:
        text = neutral(result.text)
        changed = sum(result.text.count(mark) - text.count(mark) for mark in "<[")
        if (tokens := result.tokens + FRAME_TOKENS + CHANGED_TOKENS * changed) <= room:
            return _ShownResult(text, tokens, lines=1)
    left, taken = min(room, parts_max) - FRAME_TOKENS, list[ResultPart]()
    for part in result.parts:
        if part.tokens + 1 > left:
            break
        left -= part.tokens + 1
        taken.append(part)
    if not taken:
        return None
    tokens = FRAME_TOKENS + sum(part.tokens + 1 for part in taken)
    return _ShownResult("\n".join(part.text for part in sorted(taken)), tokens, lines=2)


def _shown(placed: Placed, results: Mapping[str, _ShownResult]) -> Placed:
    messages = [_in_place(message, results) for message in chat_messages(placed.text)]
    tokens = placed.tokens + sum(result.tokens for result in results.values())
    text = ",".join(map(dumps, messages))
    return placed._replace(text=text, tokens=tokens, anthropic=None, passing=True, cache_mark=False)


def _in_place(message: dict[str, Any], results: Mapping[str, _ShownResult]) -> dict[str, Any]:
    """Return a tool message whose placeholder's first lines are followed by the result."""
    content = message.get("content")
    if message.get("role") != "tool" or not isinstance(content, str):
        return message
    lines = content.split("\n")
    found = next((result for uuid, result in results.items() if uuid in lines[0]), None)
    if found is None:
        return message
    return {**message, "content": "\n".join([*lines[: found.lines], found.text])}
