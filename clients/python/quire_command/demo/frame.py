"""Frames: one window of a replay, the promises between two of them, and the totals of many.

A window breaks a promise if it exceeds its budget, or breaks the prefix of the one before (``demo.promises``).
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import fmean
from typing import Any

from quire_command.demo.promises import Prefix, breaks_prefix, repeated

SECTIONS = ("tools", "system", "notes", "summary", "contents", "condensed", "recent", "tail")


@dataclass(frozen=True)
class Frame:
    turn: int
    budget: int
    history_tokens: int
    window_tokens: int
    sections: dict[str, int]
    saved: float
    epoch: int
    prefix: Prefix
    seconds: float = 0.0

    @property
    def over_budget(self) -> bool:
        return self.window_tokens > self.budget


def read_frame(turn: int, budget: int, context: dict[str, Any], seconds: float = 0.0) -> Frame:
    usage = context["usage"]
    prefix = Prefix(
        context["epoch"],
        fixed=json.dumps([context["tools"], context["system"]], ensure_ascii=False),
        messages=tuple(json.dumps(message, ensure_ascii=False) for message in context["messages"]),
        stable=context["stable_messages"],
    )
    return Frame(
        turn=turn,
        budget=budget,
        history_tokens=usage["full_history"],
        window_tokens=usage["total"],
        sections={name: usage["sections"].get(name, 0) for name in SECTIONS},
        saved=usage["saved"],
        epoch=context["epoch"],
        prefix=prefix,
        seconds=seconds,
    )


def share_out(sections: dict[str, int], budget: int, width: int) -> dict[str, int]:
    """Return the cells per section of a bar of `width` for a full budget, by largest remainder; never more than the
    width.
    """
    scale = width / max(budget, sum(sections.values()), 1)
    exact = {name: tokens * scale for name, tokens in sections.items()}
    cells = {name: int(size) for name, size in exact.items()}
    left = round(sum(exact.values())) - sum(cells.values())
    for name in sorted(exact, key=lambda name: cells[name] - exact[name])[:left]:
        cells[name] += 1
    return cells


@dataclass(frozen=True)
class Report:
    conversation: str
    messages: int
    turns: int
    frames: int
    budget: int
    history_tokens: int
    window_tokens_max: int
    saved: float
    saved_mean: float
    epochs: int
    repeated_share: float
    """Of all characters, those that repeat the beginning of the window before."""
    seconds_mean: float
    over_budget: int
    prefix_breaks: int
    recalled: str = ""

    @property
    def kept(self) -> bool:
        return not self.over_budget and not self.prefix_breaks


def summarise(conversation: str, messages: int, frames: Sequence[Frame], recalled: str = "") -> Report:
    last, pairs = frames[-1], list(pairwise(frame.prefix for frame in frames))
    return Report(
        conversation=conversation,
        messages=messages,
        turns=last.turn,
        frames=len(frames),
        budget=last.budget,
        history_tokens=last.history_tokens,
        window_tokens_max=max(frame.window_tokens for frame in frames),
        saved=last.saved,
        saved_mean=fmean(frame.saved for frame in frames),
        epochs=len({frame.epoch for frame in frames}),
        repeated_share=sum(repeated(*pair) for pair in pairs) / max(1, sum(len(after.text) for _, after in pairs)),
        seconds_mean=fmean(frame.seconds for frame in frames),
        over_budget=sum(frame.over_budget for frame in frames),
        prefix_breaks=sum(breaks_prefix(*pair) for pair in pairs),
        recalled=recalled,
    )
