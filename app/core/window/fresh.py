"""Fresh tool results: archived, but shown whole or in part until the next user message.

An agent that has just called a tool sees the result, not a placeholder that would make it call again. From the next
user message on, the window shows the placeholder. The form is decided on arrival: a result is shown whole if it fits
into the room that is free then; otherwise the parts that matter to the page's question are shown, which are chosen when
the result is stored. So a result stays the same, byte for byte, until its page ends, and a cut that keeps it verbatim
keeps its form (``Cut.forms``). Its tokens count towards the next cut.
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
from app.core.model import Placed, Window, WindowWarning
from app.core.neutral import neutral, without_ranges
from app.core.window.budget import fair

FRAME_TOKENS, CHANGED_TOKENS = 8, 4
"""Tokens added by joining a result to its placeholder's first line, and by each character replaced in ``neutral``."""
PARTS_SHARE = 0.25
"""The largest share of the room for parts of a call group's results: more would cause cuts just for partial results."""
PARTS_CHARACTERS_MIN, TOKEN_CHARACTERS = 16_000, 4


def parts_characters(budget: int) -> int:
    """Return how many characters of a result's parts to store, so that they fill the room in windows of a budget."""
    return max(PARTS_CHARACTERS_MIN, int(budget * PARTS_SHARE) * TOKEN_CHARACTERS)


class ResultPart(NamedTuple):
    """A part of a result, in the form that windows show."""

    offset: int
    text: str
    tokens: int


@dataclass(frozen=True, slots=True)
class FreshResult:
    archive_id: UUID
    text: str | None
    """The whole text; None if it is too long for the window."""
    tokens: int
    parts: tuple[ResultPart, ...] = ()
    """The parts that matter to the page's question, the best first."""


def part_text(offset: int, text: str) -> str:
    """Return a part of a result in the form that windows show."""
    return f"[{offset}–{offset + len(text)}]\n{without_ranges(neutral(text))}"


def stored_parts(parts: Sequence[tuple[int, str]], counts: Mapping[str, int]) -> str | None:
    return dumps([[offset, text, counts[text]] for offset, text in parts]) if parts else None


def read_parts(stored: str | None) -> tuple[ResultPart, ...]:
    return tuple(ResultPart(*part) for part in json.loads(stored)) if stored else ()


def whole_tokens(text: str, tokens: int) -> int:
    """Return the tokens that a whole result, itself of ``tokens``, adds to its placeholder's first line."""
    shown = neutral(text)
    return tokens + FRAME_TOKENS + CHANGED_TOKENS * sum(text.count(mark) - shown.count(mark) for mark in "<[")


def rooms(sizes: Sequence[int], free: int, parts_max: int) -> list[int]:
    """Return the tokens for each of several results that arrived together. Less than its size means parts only.

    ``sizes`` are their ``whole_tokens``. Results that do not fit into ``free`` still get ``parts_max``, which then
    causes a cut.
    """
    if sum(sizes) <= free:
        return list(sizes)
    parts_max = max(0, parts_max)
    given = fair(sizes, max(free, parts_max))
    partly = [at for at, size in enumerate(sizes) if given[at] < size]
    for at, room in zip(partly, fair([given[at] for at in partly], parts_max), strict=True):
        given[at] = room
    return given


def wanted(window: Window) -> list[UUID]:
    return [UUID(uuid) for placed in window.body[window.settled :] if placed.fresh for uuid in placed.archive_ids]


def tokens_max(window: Window) -> int:
    """Return the tokens of the largest fresh result that can be shown whole."""
    return max((tokens for placed in window.body[window.settled :] for tokens in placed.fresh), default=0)


def with_fresh(window: Window, results: Sequence[FreshResult]) -> Window:
    """Return the window with fresh results shown in the tokens that ``assemble`` gave them."""
    by_id = {str(result.archive_id): result for result in results}
    body, spent, warnings = list(window.body), 0, list(window.warnings)
    for at, placed in enumerate(window.body[window.settled :], window.settled):
        chosen: dict[str, _ShownText] = {}
        for uuid, room in zip(placed.archive_ids, placed.fresh, strict=bool(placed.fresh)):
            if uuid not in by_id:
                continue
            if (shown := _fitting(by_id[uuid], room)) is not None:
                chosen[uuid] = shown
            if shown is None or not shown.is_whole:
                warnings.append(_in_part(placed.seq, by_id[uuid], shown))
        if chosen:
            body[at] = _shown(placed, chosen)
            spent += sum(shown.tokens for shown in chosen.values())
    ledger = replace(window.ledger, recent=window.ledger.recent + spent)
    return replace(window, body=tuple(body), ledger=ledger, warnings=tuple(warnings))


def _in_part(seq: int, result: FreshResult, shown: _ShownText | None) -> WindowWarning:
    tokens = shown.tokens if shown is not None else 0
    return WindowWarning(
        "result_in_part",
        f"{tokens:,} of {result.tokens:,} tokens of the result {result.archive_id} in message {seq} are shown; "
        "load_tool_history reads the rest",
    )


@dataclass(frozen=True, slots=True)
class _ShownText:
    """The text that replaces a placeholder after its first lines."""

    text: str
    tokens: int
    is_whole: bool

    @property
    def lines(self) -> int:
        """Return how many of the placeholder's lines stay: how to read the archive, and for parts also its length."""
        return 1 if self.is_whole else 2


def _fitting(result: FreshResult, room: int) -> _ShownText | None:
    text = marked(result.text) if result.text is not None else None
    if text is not None and (tokens := whole_tokens(text, result.tokens)) <= room:
        return _ShownText(neutral(text), tokens, is_whole=True)
    left, taken = room - FRAME_TOKENS, list[ResultPart]()
    for part in result.parts:
        if part.tokens + 1 > left:
            break
        left -= part.tokens + 1
        taken.append(part)
    if not taken:
        return None
    tokens = FRAME_TOKENS + sum(part.tokens + 1 for part in taken)
    return _ShownText("\n".join(part.text for part in sorted(taken)), tokens, is_whole=False)


def _shown(placed: Placed, results: Mapping[str, _ShownText]) -> Placed:
    messages = [_in_place(message, results) for message in chat_messages(placed.text)]
    tokens = placed.tokens + sum(result.tokens for result in results.values())
    text = ",".join(map(dumps, messages))
    return placed._replace(text=text, tokens=tokens, anthropic=None, passing=True, cache_mark=False)


def _in_place(message: dict[str, Any], results: Mapping[str, _ShownText]) -> dict[str, Any]:
    """Return a tool message in which the result follows the first lines of its placeholder."""
    content = message.get("content")
    if message.get("role") != "tool" or not isinstance(content, str):
        return message
    lines = content.split("\n")
    found = next((result for uuid, result in results.items() if uuid in lines[0]), None)
    if found is None:
        return message
    return {**message, "content": "\n".join([*lines[: found.lines], found.text])}
