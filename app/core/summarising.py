"""The rolling summary: when it is due, what it is made of, and how it is kept within its cap.

* It is first written once a conversation has ``threshold`` messages, and again at each STEP messages more: then STEP
  are not covered, besides the newest LEFT_OUT, which stay out of it since they are in view anyway.
* A refresh is one call: the old summary and the new messages give the new one.
* Is that over its cap, the old one is compressed to a third and merged again; is it still over, the whole is
  compressed; and what is over even then is cut where a line ends. So a refresh takes four calls at the most.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from enum import Enum

from app.core.excerpts import Excerpt

LEFT_OUT = 6
STEP = 5
LINE_CHARACTERS_MAX = 600
LINES_MAX = 60
_NOTHING = frozenset({"", "none", "null", "n/a", "undefined", "无", "empty"})
_BULLET = re.compile(r"^(?:[-*•·–—]+|#{1,6}|\d{1,2}[.)、])\s+")
_SENTENCE = re.compile(r"(?<=[.!?])\s+|(?<=[。！？])")


def due_through(last_seq: int, covered: int, threshold: int) -> int:
    """The ``seq`` that a refresh is to reach, or 0 while none is due."""
    target = _target(last_seq, threshold)
    return target if target - covered >= (STEP if covered else 1) else 0


def lag(last_seq: int, covered: int, threshold: int) -> int:
    """Messages that a summary ought to cover and does not."""
    return max(0, _target(last_seq, threshold) - covered)


def _target(last_seq: int, threshold: int) -> int:
    """What was to be covered when the conversation last came to a multiple of STEP messages: that is when appends
    ask for it.
    """
    if last_seq < threshold:
        return 0
    aligned = last_seq // STEP * STEP - LEFT_OUT
    return aligned if aligned > 0 else max(0, last_seq - LEFT_OUT)


def chunk(excerpts: Sequence[Excerpt], room: int, frame: int) -> int:
    """How many of the messages go into one call: at least one, each with ``frame`` tokens around it."""
    used = taken = 0
    for excerpt in excerpts:
        used += excerpt.tokens + frame
        if taken and used > room:
            break
        taken += 1
    return taken


class Step(Enum):
    MERGE = "merge"  # the old summary and the new messages
    COMPRESS_OLD = "compress the old summary to a third"
    COMPRESS = "compress the new summary"
    CUT = "cut the new summary"
    DONE = "done"


def next_step(taken: Sequence[Step], tokens: int, cap: int, *, has_old: bool) -> Step:
    """What follows the steps taken, of which the last gave a text of ``tokens``."""
    last = taken[-1] if taken else Step.COMPRESS_OLD
    if last is Step.COMPRESS_OLD:
        return Step.MERGE
    if last in (Step.CUT, Step.DONE) or tokens <= cap:
        return Step.DONE
    if last is Step.COMPRESS:
        return Step.CUT
    return Step.COMPRESS_OLD if has_old and Step.COMPRESS_OLD not in taken else Step.COMPRESS


def lines_of(reply: str) -> list[str]:
    """The lines of a model's summary without bullets, headings, fences and repetition; none if it says nothing."""
    found: dict[str, None] = {}
    for raw in reply.splitlines():
        line = " ".join(raw.split())
        if line.startswith("```"):
            continue
        line = _BULLET.sub("", line).strip("*_ ")
        if line.casefold().strip("\"'.`") in _NOTHING:
            continue
        for part in _parts(line):
            found[part] = None
    return list(found)[:LINES_MAX]


def _parts(line: str) -> list[str]:
    """A long line by its sentences."""
    if len(line) <= LINE_CHARACTERS_MAX:
        return [line]
    parts = [part.strip() for part in _SENTENCE.split(line) if part and part.strip()]
    return [part[: LINE_CHARACTERS_MAX - 1] + "…" if len(part) > LINE_CHARACTERS_MAX else part for part in parts]


def fitting(lines: Sequence[str], cap: int, count: Callable[[str], int]) -> list[str]:
    """The leading lines that fit a cap in tokens, joined by line ends; of a first one that does not, its beginning."""
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
