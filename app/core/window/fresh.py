"""Fresh tool results: shown until the next user message, although they are archived, whole or in part.

An agent that has just called a tool sees the result, not a placeholder that would make it call again. From the next
user message on, the window shows the placeholder. The form is decided on arrival: the results of a call group share a
fixed part of the room, those that fit their part are shown whole, and of the others the parts that matter to the page's
question, which are chosen when they are stored. So a result stays as it is, byte for byte, while its page goes on; what
it weighs counts towards the next cut.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple
from uuid import UUID

from app.core.canonical import dumps
from app.core.encoded import marked
from app.core.groups import chat_messages
from app.core.model import Placed, Window
from app.core.neutral import neutral, without_ranges
from app.core.window.budget import fair

FRAME_TOKENS, CHANGED_TOKENS = 8, 4
"""Tokens that joining a result to its placeholder's first line adds, and each character that made it neutral."""
PARTS_TOKENS_MAX = 4_000
"""Most that the parts of one result take: what a recall tool would bring in by itself."""


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
    return dumps([[offset, text, counts[text]] for offset, text in parts]) if parts else None


def read_parts(stored: str | None) -> tuple[ResultPart, ...]:
    return tuple(ResultPart(*part) for part in json.loads(stored)) if stored else ()


def whole_tokens(text: str, tokens: int) -> int:
    """Return what a result of so many tokens adds to its placeholder's first line."""
    shown = neutral(text)
    return tokens + FRAME_TOKENS + CHANGED_TOKENS * sum(text.count(mark) - shown.count(mark) for mark in "<[")


def shown_tokens(sizes: Sequence[int], most: int) -> list[int]:
    """Return what is shown of each result of a call group that shares ``most`` tokens: all of it, or the parts that
    matter.

    ``sizes``: their ``whole_tokens``. It depends on nothing else, so a result keeps its form while its page goes on.
    """
    shares = zip(sizes, fair(sizes, most), strict=True)
    return [size if size <= share else min(share, PARTS_TOKENS_MAX) for size, share in shares]


def weight_in_turn(sizes: Sequence[int], most: int) -> int:
    """Return the most that results of a call group weigh, whether they come at once or one after the other."""
    left = most
    for size in sizes:
        left -= size if size <= left else min(left, PARTS_TOKENS_MAX)
    return most - left


def wanted(window: Window) -> list[UUID]:
    return [UUID(uuid) for placed in window.body if placed.fresh for uuid in placed.archive_ids]


def tokens_max(window: Window) -> int:
    """Return the tokens of the largest fresh result that is shown whole, at most."""
    return max((tokens for placed in window.body for tokens in placed.fresh), default=0)


def with_fresh(window: Window, results: Sequence[FreshResult]) -> Window:
    """Return the window with fresh results in the room that the assembly gave them."""
    by_id = {str(result.archive_id): result for result in results}
    body, spent = list(window.body), 0
    for at, placed in enumerate(body):
        chosen = {
            uuid: shown
            for uuid, room in zip(placed.archive_ids, placed.fresh, strict=bool(placed.fresh))
            if uuid in by_id and (shown := _fitting(by_id[uuid], room)) is not None
        }
        if chosen:
            body[at] = _shown(placed, chosen)
            spent += sum(shown.tokens for shown in chosen.values())
    if not spent:
        return window
    ledger = replace(window.ledger, recent=window.ledger.recent + spent)
    return replace(window, body=tuple(body), ledger=ledger)


@dataclass(frozen=True, slots=True)
class _ShownText:
    """The text that replaces a placeholder, after its first lines."""

    text: str
    tokens: int
    lines: int
    """So many lines of the placeholder stay: the first says how to read the archive, the second how long it is."""


def _fitting(result: FreshResult, room: int) -> _ShownText | None:
    text = marked(result.text) if result.text is not None else None
    if text is not None and (tokens := whole_tokens(text, result.tokens)) <= room:
        return _ShownText(neutral(text), tokens, lines=1)
    left, taken = min(room, PARTS_TOKENS_MAX) - FRAME_TOKENS, list[ResultPart]()
    for part in result.parts:
        if part.tokens + 1 > left:
            break
        left -= part.tokens + 1
        taken.append(part)
    if not taken:
        return None
    tokens = FRAME_TOKENS + sum(part.tokens + 1 for part in taken)
    return _ShownText("\n".join(part.text for part in sorted(taken)), tokens, lines=2)


def _shown(placed: Placed, results: Mapping[str, _ShownText]) -> Placed:
    messages = [_in_place(message, results) for message in chat_messages(placed.text)]
    tokens = placed.tokens + sum(result.tokens for result in results.values())
    text = ",".join(map(dumps, messages))
    return placed._replace(text=text, tokens=tokens, anthropic=None, passing=True, cache_mark=False)


def _in_place(message: dict[str, Any], results: Mapping[str, _ShownText]) -> dict[str, Any]:
    """Return a tool message whose placeholder's first lines are followed by the result."""
    content = message.get("content")
    if message.get("role") != "tool" or not isinstance(content, str):
        return message
    lines = content.split("\n")
    found = next((result for uuid, result in results.items() if uuid in lines[0]), None)
    if found is None:
        return message
    return {**message, "content": "\n".join([*lines[: found.lines], found.text])}
