"""Replays: how much of each window is in a provider's prompt cache already, and whether the promises hold.

Each conversation is appended step by step (a message, or a call with its results), and after each step that a model
would be called at, or that ends a turn, the window is fetched at every budget. Two series come of it: the windows
before each model call, and those at the end of each turn. What a window shares with the one before in its series is
counted from the bytes of the answer: the tools, if they are the same, and the leading messages that are.

Tokens are counted here once more with tiktoken, not taken from the ledger.
"""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise, takewhile
from pathlib import Path
from statistics import fmean
from typing import Any

import tiktoken

from app.core.messages import weigh
from app.recall.tools import SEARCH_LIMIT
from app.text import tokens
from bench.harness import Api, Harness
from bench.load.sizes import until_idle
from bench.tables import Table
from bench.window import evidence, layouts, money, window_use
from bench.window.evidence import Evidence
from quire_command.demo.command import CONVERSATION
from quire_command.demo.promises import Prefix, breaks_prefix, splits_calls
from quire_command.demo.transcript import Message, Transcript, load, steps

BUDGETS = (4_000, 8_000, 16_000, 32_000)
DATA = next((p for folder in Path(__file__).parents if (p := folder / "shared" / "data").is_dir()), Path("none"))
"""The folder of transcripts that are not part of the project: next to it, or further up."""
GOAL = 0.9
LONG_TURNS = 100
MONEY_TURNS = 30
"""The least number of turns or model calls, of which a working agent makes dozens in a turn."""
FRAME = 4
CHARGED = ("role", "content", "name", "tool_calls", "tool_call_id", "reasoning_content")
QUICK_CONVERSATIONS = 1
CALLS, TURNS = "model calls", "turns"


class Counter:
    """Counts the tokens of chat messages. Each distinct text is counted once."""

    def __init__(self, vocabularies: Path) -> None:
        tokens.load(vocabularies)  # tells tiktoken where they are
        self._encoding = tiktoken.get_encoding("o200k_base")
        self._known: dict[str, int] = {}

    def text(self, text: str) -> int:
        if text not in self._known:
            self._known[text] = len(self._encoding.encode_ordinary(text))
        return self._known[text]

    def message(self, rendered: str) -> int:
        """Return the tokens of a message in OpenAI form, given as JSON: its texts and their frame."""
        if rendered not in self._known:
            message = json.loads(rendered)
            self._known[rendered] = FRAME + sum(self.text(text) for text in _texts(message))
        return self._known[rendered]

    def charged(self, text: str) -> int:
        """Return the tokens that Quire charges for a message as sent, with names and the structure of calls."""
        message = {name: value for name, value in json.loads(text).items() if name in CHARGED}
        texts, overhead = weigh(message)
        return overhead + sum(map(self.text, texts))


def _texts(message: Message) -> Iterator[str]:
    """Yield the texts of a message that a model reads."""
    content = message.get("content")
    for part in content if isinstance(content, list) else [content]:
        yield part if isinstance(part, str) else str((part or {}).get("text", ""))
    yield str(message.get("reasoning_content", ""))
    yield message.get("tool_call_id", "")
    for call in message.get("tool_calls", []):
        yield from (call["id"], call["function"]["name"], call["function"]["arguments"])


@dataclass(frozen=True)
class Window:
    """An answer of the API, divided without losing its bytes."""

    epoch: int
    tools: str
    messages: tuple[str, ...]
    stable: int
    tokens: int
    ledger: int

    @staticmethod
    def read(answer: str, counter: Counter) -> "Window":
        messages, rest = _elements(answer, answer.index('"messages":[') + len('"messages":['))
        more: dict[str, Any] = json.loads("{" + rest.removeprefix("]").removeprefix(","))
        tools = json.dumps(more["tools"], ensure_ascii=False) if more["tools"] else ""
        total = counter.text(tools) + sum(map(counter.message, messages))
        stable, ledger = more["stable_messages"], more["usage"]["total"]
        return Window(more["epoch"], tools, messages, stable, total, ledger)

    def common(self, before: "Window", counter: Counter) -> int:
        """Return the tokens of the beginning that it shares with the window before."""
        if self.tools != before.tools:
            return 0
        same = takewhile(lambda two: two[0] == two[1], zip(self.messages, before.messages, strict=False))
        return counter.text(self.tools) + sum(counter.message(one) for one, _ in same)

    def breaks_prefix_of(self, before: "Window") -> bool:
        return breaks_prefix(before.prefix, self.prefix)

    @property
    def prefix(self) -> Prefix:
        return Prefix(self.epoch, self.tools, self.messages, self.stable)

    def splits_pairs(self) -> bool:
        """Return whether a call lacks a result, or a result its call."""
        return splits_calls(map(json.loads, self.messages))


def _elements(text: str, at: int) -> tuple[tuple[str, ...], str]:
    """Return the elements of a JSON array as written, from the first on, and the text after them."""
    decoder, found = json.JSONDecoder(), []
    while text[at] != "]":
        at += text[at] == ","
        _, end = decoder.raw_decode(text, at)
        found.append(text[at:end])
        at = end
    return tuple(found), text[at:]


@dataclass
class Replay:
    """One conversation at one budget."""

    conversation: str
    turns: int
    series: dict[str, list[Window]] = field(default_factory=lambda: {CALLS: [], TURNS: []})
    seen: list[Window] = field(default_factory=list)
    history_tokens: int = 0
    """Tokens of the whole history, summed over all model calls."""
    history: list[money.Said] = field(default_factory=list)
    calls: list[int] = field(default_factory=list)
    """The number of messages at each model call."""

    @property
    def is_long(self) -> bool:
        return max(self.turns, len(self.calls)) > MONEY_TURNS

    def shares(self, name: str, counter: Counter, *, within_epoch: bool = False) -> list[float]:
        """Return the shared part of each window but the first, optionally only within an epoch."""
        return [
            after.common(before, counter) / after.tokens
            for before, after in pairwise(self.series[name])
            if before.epoch == after.epoch or not within_epoch
        ]

    @property
    def epochs(self) -> int:
        return 1 + sum(before.epoch != after.epoch for before, after in pairwise(self.seen))


def run(harness: Harness, *, quick: bool) -> list[Table]:
    counter = Counter(harness.folder / "vocabularies")
    rows: list[Sequence[str]] = []
    faults: list[Sequence[str]] = []
    used: list[Sequence[str]] = []
    beside: list[Sequence[str]] = []
    of_all: dict[int, list[Sequence[window_use.Shown]]] = {budget: [] for budget in BUDGETS}
    long: dict[int, list[float]] = {budget: [] for budget in BUDGETS}
    rooms: list[Room] = []
    known: dict[str, evidence.Texts] = {}
    for name, transcripts in _sets(quick=quick):
        replays = [
            replay(harness.api, f"replay-{name}-{i}", one, counter, known) for i, one in enumerate(transcripts, 1)
        ]
        for budget in BUDGETS:
            here = [found[budget] for found in replays]
            rows.append(_stability(name, budget, here, counter))
            faults.append(_faults(name, budget, here))
            shown = [_shown(one, counter) for one in here]
            used.append(window_use.row(name, budget, shown))
            windows = zip(shown, (one.history for one in here), (one.calls for one in here), strict=True)
            beside += layouts.rows(name, budget, list(windows))
            of_all[budget] += shown
            rooms += [_room(f"{name} {i}", budget, one, counter) for i, one in enumerate(here, 1) if one.is_long]
            long[budget] += [fmean(found.shares(CALLS, counter)) for found in here if found.turns >= LONG_TURNS]
    used += [window_use.row("all", budget, shown) for budget, shown in of_all.items()]
    until_idle(harness.api)  # long texts are indexed by jobs
    gathered = {
        room.conversation: evidence.gather(harness.api, room.conversation, room.history, known, counter.text)
        for room in {room.conversation: room for room in rooms}.values()
    }
    tables = [_stability_table(rows, long), layouts.table(beside), window_use.table(used), _budget_table(faults)]
    return [*tables, _money_table(rooms), _evidence_table(rooms, gathered)]


def _sets(*, quick: bool) -> Iterator[tuple[str, list[Transcript]]]:
    """Yield the conversation that ships with Quire, and the transcripts next to the project, if they exist."""
    yield "shipped", load(CONVERSATION)
    for folder in sorted(DATA.glob("*/conversations.jsonl")):
        found = [one for one in load(folder) if one.messages]
        yield folder.parent.name, found[:QUICK_CONVERSATIONS] if quick else found


def replay(
    api: Api, conversation: str, transcript: Transcript, counter: Counter, known: dict[str, evidence.Texts]
) -> dict[int, Replay]:
    """At every budget, in a conversation each: what is recalled unasked is chosen once for all windows of one.

    What was said is noted in ``known``, under the ids of messages and archives.
    """
    plan = steps(transcript.messages, every_message=True)
    found = {budget: Replay(f"{conversation}-{budget}", turns=plan[-1].turn) for budget in BUDGETS}
    history: list[money.Said] = []
    for one in found.values():
        api.create(one.conversation, recall_scope="conversation")  # the others say the same
    for step, following in zip(plan, [*plan[1:], None], strict=True):
        for so_far in found.values():
            stored = api.append(so_far.conversation, step.messages)
            for message, row in zip(step.messages, stored, strict=True):
                known |= dict.fromkeys(filter(None, (row["id"], row["archive_id"])), evidence.texts_of(message))
        for message in step.messages:
            text = json.dumps(message, ensure_ascii=False)
            history.append(money.Said(text, counter.message(text), message["role"]))
        ends_turn = following is None or following.turn > step.turn
        calls_model = step.messages[-1]["role"] in ("user", "tool")
        for budget, so_far in found.items() if ends_turn or calls_model else ():
            window = Window.read(api.window(so_far.conversation, budget), counter)
            so_far.seen.append(window)
            so_far.history = history
            so_far.calls += [len(history)] if calls_model else []
            so_far.history_tokens += sum(said.tokens for said in history) if calls_model else 0
            for name, wanted in ((CALLS, calls_model), (TURNS, ends_turn)):
                so_far.series[name] += [window] if wanted else []
    return found


def _stability(name: str, budget: int, replays: Sequence[Replay], counter: Counter) -> Sequence[str]:
    cells = []
    for series in (CALLS, TURNS):
        means = [fmean(shares) for one in replays if (shares := one.shares(series, counter))]
        cells += [f"{fmean(means):.3f}", f"{min(means):.3f}"] if means else ["–", "–"]
    within = [share for one in replays for share in one.shares(CALLS, counter, within_epoch=True)]
    turns, epochs = sum(one.turns for one in replays), sum(one.epochs for one in replays)
    cells.append(f"{fmean(within):.3f}" if within else "–")
    return (name, f"{len(replays)}", f"{turns}", f"{budget:,}", *cells, f"{epochs}")


def _faults(name: str, budget: int, replays: Sequence[Replay]) -> Sequence[str]:
    windows = [window for one in replays for window in one.seen]
    pairs = [pair for one in replays for pair in pairwise(one.seen)]
    sent = sum(window.tokens for one in replays for window in one.series[CALLS])
    whole = sum(one.history_tokens for one in replays)
    return (
        name,
        f"{budget:,}",
        f"{len(windows):,}",
        f"{sum(window.tokens > budget for window in windows)}",
        f"{max(window.tokens for window in windows) / budget:.2f}",
        f"{sum(window.tokens > window.ledger for window in windows)}",
        f"{sum(after.breaks_prefix_of(before) for before, after in pairs)}",
        f"{sum(window.splits_pairs() for window in windows)}",
        f"{whole:,}",
        f"{sent:,}",
        f"{1 - sent / whole:.0%}",
    )


def _shown(one: Replay, counter: Counter) -> list[window_use.Shown]:
    history = [
        (evidence.texts_of(json.loads(said.text)) if said.role != "system" else (), counter.charged(said.text))
        for said in one.history
    ]
    return [
        window_use.Shown(
            [
                ("tools " + window.tools, counter.text(window.tools)),
                *((m, counter.message(m)) for m in window.messages),
            ],
            frozenset(evidence.texts_of(json.loads(message)) for message in window.messages),
            history[:call],
        )
        for window, call in zip(one.series[CALLS], one.calls, strict=True)
    ]


WAYS = ("whole history", "newest", "cut to half", "rolling summary", "Quire")


@dataclass(frozen=True)
class Room:
    """A long conversation at a budget: the cost of each of the WAYS, and its last window."""

    name: str
    conversation: str
    turns: int
    calls: int
    budget: int
    bills: Sequence[money.Bill]
    windows: Sequence[Sequence[Message]]
    history: Sequence[Message]
    """The messages up to the last model call."""
    is_all: bool
    """Whether the whole history fits."""

    @property
    def of_cheapest(self) -> float:
        """Return Quire's cost as a share of the cheapest other way's."""
        return self.bills[-1].cached / min(bill.cached for bill in self.bills[:-1])

    @property
    def place(self) -> tuple[str, ...]:
        return (self.name, f"{self.turns}", f"{self.calls}", f"{self.budget:,}")


def _room(name: str, budget: int, one: Replay, counter: Counter) -> Room:
    windows = [
        [("tools", counter.text(window.tools)), *((text, counter.message(text)) for text in window.messages)]
        for window in one.series[CALLS]
    ]
    ways = [
        money.whole(one.history, one.calls),
        money.newest(one.history, one.calls, budget),
        money.halved(one.history, one.calls, budget),
        money.summarised(one.history, one.calls, budget),
        money.Way(windows),
    ]
    return Room(
        name,
        one.conversation,
        one.turns,
        len(one.calls),
        budget,
        [way.bill() for way in ways],
        [_messages(way.prompts[-1]) for way in ways],
        [json.loads(said.text) for said in one.history[: one.calls[-1]]],
        money.weight(one.history) <= budget,
    )


def _messages(prompt: money.Prompt) -> list[Message]:
    """Return the messages of a prompt, without tools and a summary without text."""
    return [json.loads(text) for text, _ in prompt if text.startswith("{")]


def _money_table(rooms: Sequence[Room]) -> Table:
    shown, roomy = ([room for room in rooms if room.is_all is fits] for fits in (False, True))
    dearer = [f"{room.name} at {room.budget:,} ({room.of_cheapest:.2f})" for room in shown if room.of_cheapest > 1]
    notes = [
        (
            "Input tokens of a model call, without / with a prompt cache, at the price of an uncached token; a cached one "
            f"costs {money.CACHED}. bench/money.py defines each way; the next table shows what each still knows."
        ),
        (
            f"Conversations of more than {MONEY_TURNS} turns or model calls, at budgets that they outgrow. Goal: Quire is "
            f"the cheapest in each; it is not in {len(dearer)} of {len(shown)}{': ' if dearer else ''}{', '.join(dearer)}. "
            "The whole history counts among the others although it exceeds the budget."
        ),
    ]
    if roomy:
        ratios = [room.bills[-1].cached / room.bills[0].cached for room in roomy]
        notes.append(
            f"Left out: {len(roomy)} whose whole history fits in the budget. There Quire with a cache costs "
            f"{fmean(ratios):.2f} times the whole history on average ({min(ratios):.2f} to {max(ratios):.2f}; more in "
            f"{sum(ratio > 1 for ratio in ratios)})."
        )
    rows = [
        (
            *room.place,
            *(f"{bill.plain / room.calls:,.0f} / {bill.cached / room.calls:,.0f}" for bill in room.bills),
            f"{room.of_cheapest:.2f}",
        )
        for room in shown
    ]
    columns = ("conversation", "turns", "calls", "budget", *WAYS, "of the cheapest other")
    return Table("Money", columns, rows, notes)


def _evidence_table(rooms: Sequence[Room], gathered: dict[str, Evidence]) -> Table:
    rows, losses = [], []
    for room in rooms:
        if room.is_all:
            continue
        known = gathered[room.conversation]
        lost = known.lost(room.windows[-1])
        shares = [*(known.held(window) for window in room.windows[1:]), 1 - len(lost) / max(len(known.asked), 1)]
        rows.append((*room.place, f"{len(known.asked)}", *(f"{share:.1%}" for share in shares)))
        if lost:
            here = sum(one.texts in known.found_here for one in lost)
            losses.append(f"{room.name} at {room.budget:,} ({len(lost)}; {here} found in that conversation alone)")
    prices = [price for known in gathered.values() for price in known.prices]
    asked = sum(len(known.asked) for known in gathered.values())
    first, found = (sum(known.found_within(n) for known in gathered.values()) for n in (SEARCH_LIMIT, evidence.DEPTH))
    notes = [
        (
            "Share of the history's messages that are word for word in the last call's window; last column: or are "
            "found by one search. bench/evidence.py chooses the messages and queries. A summary counts only for what it "
            "quotes word for word. Searches are by keyword, across all conversations of the replay."
        ),
        (
            f"A search alone finds {found:,} of {asked:,} in its first {evidence.DEPTH} results, {first:,} in the first "
            f"{SEARCH_LIMIT}, the tool's default. Its {evidence.DEPTH} previews take {fmean(prices):,.0f} tokens on average, "
            "in the window until the next user message."
        ),
        (
            "Goal: no evidence lost that the whole history had; lost in "
            f"{len(losses)} of {len(rows)}{': ' if losses else ''}{', '.join(losses)}."
        ),
    ]
    columns = ("conversation", "turns", "calls", "budget", "messages", *WAYS[1:], "Quire and a search")
    return Table("Evidence", columns, rows, notes)


def _stability_table(rows: Sequence[Sequence[str]], long: dict[int, list[float]]) -> Table:
    reached = ", ".join(f"{fmean(shares):.3f} at {budget:,}" for budget, shares in long.items() if shares)
    return Table(
        "Cache stability",
        ("set", "convs", "turns", "budget", "calls: mean", "min", "turns: mean", "min", "calls within epoch", "epochs"),
        rows,
        (
            (
                "Share of each window that is a byte-identical prefix of the window before it, tools and system prompt "
                "included, averaged over a conversation; mean and minimum of a set's conversations. Calls: a window before "
                "each model call; turns: one after each turn. Within epoch: calls in the same epoch as the one before."
            ),
            (
                f"Goal: {GOAL} on average over a long conversation. Conversations of {LONG_TURNS} turns or more, before "
                f"each model call: {reached}."
            ),
        ),
    )


def _budget_table(rows: Sequence[Sequence[str]]) -> Table:
    wrong = sum(int(row[at]) for row in rows for at in (3, 6, 7))
    columns = ("windows", "over budget", "fullest", "over ledger", "prefix breaks", "split pairs")
    return Table(
        "Budget",
        ("set", "budget", *columns, "whole history", "windows' tokens", "saved"),
        rows,
        (
            (
                "Every window recounted with tiktoken, tools and system prompt included. Over ledger: windows larger than "
                "their own ledger. The last columns sum tokens over all model calls and compare with sending the whole "
                "history (without recall tools) each time."
            ),
            f"Goal: no window over its budget, no prefix broken within an epoch, no pair split; found: {wrong}.",
        ),
    )
