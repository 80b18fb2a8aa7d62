"""The rolling summary: when it is due, what goes into it, and how it is kept within its cap.

* It is first written once a conversation has ``threshold`` messages, and again after every STEP further messages. The
  newest LEFT_OUT messages are never covered, because they are in view anyway.
* A refresh is one call, which merges the old summary and the new messages.
* If the result exceeds its cap, the old summary is compressed to a third and merged again; if that exceeds it too, the
  whole is compressed; finally it is cut at the end of a line. So a refresh takes four calls at most.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from enum import Enum

from app.core.search.days import DAY_TOKENS
from app.core.window.excerpts import Excerpt

LEFT_OUT = 6
STEP = 5
LINE_CHARACTERS_MAX = 600
"""Characters above which a line of a reply is split into its sentences."""
LINES_MAX = 60
_NOTHING = frozenset({"", "none", "null", "n/a", "undefined", "无", "empty"})
_BULLET = re.compile(r"^(?:[-*•·–—]+|#{1,6}|\d{1,2}[.)、])\s+")
_PREFACE = re.compile(
    r"(?:(?:sure|certainly|of course|okay|ok)\b.*|(?:here|below)(?:'s|’s| is| are)? .*"
    r"|(?:the )?(?:new |updated )*summary.*"
    r"|(?:好的|当然|以下|下面|总结如下|摘要如下).{0,30})[:：]$",
    re.IGNORECASE,
)
_SENTENCE = re.compile(r"(?<=[.!?])\s+|(?<=[。！？])")


def due_through(last_seq: int, covered: int, threshold: int) -> int:
    """Return the ``seq`` that a refresh must reach, or 0 if none is due."""
    target = _target(last_seq, threshold)
    return target if target - covered >= (STEP if covered else 1) else 0


def lag(last_seq: int, covered: int, threshold: int) -> int:
    """Return how many messages a summary should cover but does not."""
    return max(0, _target(last_seq, threshold) - covered)


def _target(last_seq: int, threshold: int) -> int:
    """Return the ``seq`` to cover as of the last multiple of STEP, at which an append enqueues a refresh."""
    if last_seq < threshold:
        return 0
    aligned = last_seq // STEP * STEP - LEFT_OUT
    return aligned if aligned > 0 else max(0, last_seq - LEFT_OUT)


def chunk(excerpts: Sequence[Excerpt], room: int, frame: int) -> int:
    """Return how many messages fit into one call, at least one. Each takes ``frame`` tokens more than its text."""
    used = taken = 0
    day = ""
    for excerpt in excerpts:
        used += excerpt.tokens + frame + (DAY_TOKENS if excerpt.day != day else 0)
        day = excerpt.day
        if taken and used > room:
            break
        taken += 1
    return taken


class SummaryStep(Enum):
    MERGE = "merge"  # the old summary and the new messages
    COMPRESS_OLD = "compress the old summary to a third"
    COMPRESS = "compress the new summary"
    CUT = "cut the new summary"
    DONE = "done"


def next_step(taken: Sequence[SummaryStep], tokens: int, cap: int, *, has_old: bool) -> SummaryStep:
    """Return the next step. The last of those ``taken`` gave a text of ``tokens``."""
    last = taken[-1] if taken else SummaryStep.COMPRESS_OLD
    if last is SummaryStep.COMPRESS_OLD:
        return SummaryStep.MERGE
    if last in (SummaryStep.CUT, SummaryStep.DONE) or tokens <= cap:
        return SummaryStep.DONE
    if last is SummaryStep.COMPRESS:
        return SummaryStep.CUT
    return SummaryStep.COMPRESS_OLD if has_old and SummaryStep.COMPRESS_OLD not in taken else SummaryStep.COMPRESS


def lines_of(reply: str) -> list[str]:
    """Return a summary's lines without preface, bullets, heading marks, fences and duplicates; [] if it is empty."""
    result: dict[str, None] = {}
    for raw in reply.splitlines():
        line = " ".join(raw.split())
        if line.startswith("```"):
            continue
        line = _BULLET.sub("", line).strip("*_ ")
        if line.casefold().strip("\"'.`") in _NOTHING or _PREFACE.match(line):
            continue
        for part in _parts(line):
            result[part] = None
    return list(result)[:LINES_MAX]


def _parts(line: str) -> list[str]:
    if len(line) <= LINE_CHARACTERS_MAX:
        return [line]
    parts = [part.strip() for part in _SENTENCE.split(line) if part and part.strip()]
    return [part[: LINE_CHARACTERS_MAX - 1] + "…" if len(part) > LINE_CHARACTERS_MAX else part for part in parts]


def fitting(lines: Sequence[str], cap: int, count: Callable[[str], int]) -> list[str]:
    """Return the leading lines that fit a cap in tokens with line ends; if none fits, the first one's beginning."""
    taken: list[str] = []
    room = cap
    for line in lines:
        room -= count(line) + 1
        if room < 0:
            break
        taken.append(line)
    if taken or not lines:
        return taken
    line = lines[0]
    while line and count(line) + 2 > cap:
        line = line[: len(line) * 3 // 4]
    return [line + "…"] if line else []
