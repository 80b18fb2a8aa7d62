"""Quire's windows beside the two simplest ways: the newest that fit, and cut to half when full.

Over HTTP, before each model call of a replayed conversation, with the same count of tokens:

* Fill: tokens of the budget, mean and tenth percentile, where the history has outgrown it (bench/window/window_use.py).
* Cost: tokens of a call with a prompt cache (bench/window/money.py), and the same divided by the newest that fit.
* In view: of the history, the tokens that stand there word for word; archived results are left out.
* Literals: of the names, paths and numbers in the arguments of the calls that the model makes next and that were said
  before, those that stand in the prompt.
"""

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from statistics import fmean

from bench.tables import Table
from bench.window import money
from bench.window.evidence import texts_of
from bench.window.window_use import OUTGROWN, Shown

WAYS = ("Quire", "newest that fit", "cut to half")
LITERAL = re.compile(r"[A-Za-z0-9_][\w./:@#-]{4,79}")


@dataclass
class Layout:
    """A way at a budget, over the conversations of a set."""

    fills: list[float] = field(default_factory=list)
    cost: float = 0.0
    calls: int = 0
    in_view: list[float] = field(default_factory=list)
    literals: list[bool] = field(default_factory=list)

    def row(self, name: str, budget: int, way: str, newest: "Layout") -> Sequence[str]:
        ordered = sorted(self.fills)
        tenth = f"{ordered[len(ordered) // 10]:.2f}" if ordered else "–"
        return (
            name,
            f"{budget:,}",
            way,
            f"{fmean(self.fills):.2f}" if self.fills else "–",
            tenth,
            f"{self.cost / self.calls:,.0f}",
            f"{self.cost / newest.cost:.2f}",
            f"{fmean(self.in_view):.2f}",
            f"{fmean(self.literals):.2f} of {len(self.literals)}" if self.literals else "–",
        )


def rows(
    name: str,
    budget: int,
    conversations: Sequence[tuple[Sequence[Shown], Sequence[money.Said], Sequence[int]]],
) -> list[Sequence[str]]:
    """``conversations``: of each, Quire's windows, its history, and how many messages there were at each model call."""
    found = [Layout() for _ in WAYS]
    for shown, history, calls in conversations:
        ways = [
            [window.parts for window in shown],
            money.newest(history, calls, budget).prompts,
            money.halved(history, calls, budget).prompts,
        ]
        wanted = [_literals(history, call) for call in calls]
        for layout, prompts in zip(found, ways, strict=True):
            layout.cost += money.bill(prompts).cached
            layout.calls += len(prompts)
            for prompt, window, literals in zip(prompts, shown, wanted, strict=True):
                _measure(layout, prompt, window, literals, budget)
    return [layout.row(name, budget, way, found[1]) for way, layout in zip(WAYS, found, strict=True)]


def _measure(layout: Layout, prompt: money.Prompt, window: Shown, literals: frozenset[str], budget: int) -> None:
    if window.needed > budget * OUTGROWN:
        layout.fills.append(sum(tokens for _, tokens in prompt) / budget)
    said = frozenset(texts_of(json.loads(text)) for text, _ in prompt if text.startswith("{"))
    layout.in_view.append(Shown(prompt, said, window.history).in_view())
    text = "\n".join(text for text, _ in prompt)
    layout.literals += [literal in text for literal in literals]


def _literals(history: Sequence[money.Said], call: int) -> frozenset[str]:
    """Return the literals in the arguments of the next calls that occur in earlier messages."""
    if call >= len(history):
        return frozenset()
    made = json.loads(history[call].text).get("tool_calls") or ()
    wanted = {literal for one in made for literal in LITERAL.findall(one["function"]["arguments"])}
    said = "\n".join(one.text for one in history[:call])
    return frozenset(literal for literal in wanted if literal in said)


def table(found: Sequence[Sequence[str]]) -> Table:
    return Table(
        "Layouts",
        ("set", "budget", "way", "fill", "p10", "cost", "of newest", "in view", "literals"),
        found,
        (
            (
                "Before each model call, over HTTP. Fill: of the budget, where the history does not fit (mean, tenth "
                "percentile). Cost: tokens of a call with a prompt cache. In view: of the history, word for word. Literals: "
                "of the names, paths and numbers that the model's next calls need and that were said before. Exactly: "
                "bench/window/layouts.py."
            ),
        ),
    )
