"""What memory costs: the calls and tokens that a model spends on index and summary, against the tokens saved.

Each conversation is appended step by step to a Quire that has a model, played here by a script. After each step that
a model would be called at, the work that is due is waited for, and the window is fetched at the budget. The script
answers as long as models do: a line of some fifteen words for each message, three topics, now and then a memory, and
a summary that grows by a sentence for each two messages until it is half as long as it may be.

Background tokens are prompts and replies, counted with tiktoken from what was sent and answered. Saved is what the
windows leave out of the whole history, summed over all model calls.
"""

import json
import re
import time
from collections import Counter as Tally
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from app.core.window.summarising import STEP
from app.prompts import prompt
from bench.harness import Api, Harness, opened
from bench.tables import Table
from bench.window.replay import Counter, _sets
from quire_command.demo.transcript import Transcript, steps
from tests.providers.fake_openai import FakeOpenAI

BUDGET = 8_000
GOAL = 0.25
WAIT_SECONDS = 60
LINE_WORDS, TITLE_WORDS, SENTENCE_WORDS = 15, 6, 20
SUMMARY_TOKENS = 500
MEMORY_EACH = 3
"""Every third page has a memory to store."""

Json = dict[str, Any]
_MESSAGE = re.compile(r"^\[(\d+)\] \w+: ", re.MULTILINE)


def begins(text: str, words: int) -> str:
    """Return the first words of a text; without spaces, twice as many characters."""
    spaced = text.count(" ") * 12 > len(text)
    return " ".join(text.split()[:words]) if spaced else " ".join(text[: 2 * words].split())


@dataclass
class Model:
    """The script, with its prompts and replies."""

    counter: Counter
    calls: Tally[str] = field(default_factory=Tally)
    tokens: Tally[str] = field(default_factory=Tally)

    def __call__(self, request: Json) -> str:
        system, user = (message["content"] for message in request["messages"][:2])
        kind = next(k for k in ("page", "summary", "compress") for lang in ("en", "zh") if system == prompt(k, lang))
        answer = {"page": self._page, "summary": self._summary, "compress": self._compress}[kind](user)
        self.calls[kind] += 1
        self.tokens[kind] += sum(self.counter.text(m["content"]) + 4 for m in request["messages"])
        self.tokens[kind] += self.counter.text(answer)
        return answer

    def _page(self, user: str) -> str:
        said = _said(user)
        lines = {str(seq): begins(text, LINE_WORDS) for seq, text in said.items()}
        [first, *_] = said.values()
        seq = next(iter(said))
        memory = {"text": begins(first, SENTENCE_WORDS) or "-", "quote": begins(first, SENTENCE_WORDS), "seq": seq}
        memories = [memory] if seq % MEMORY_EACH == 0 else []
        topics = [begins(text, 2) for text in list(said.values())[:3]]
        found = {"title": begins(first, TITLE_WORDS) or "Page", "lines": lines, "topics": topics, "memories": memories}
        return json.dumps(found, ensure_ascii=False)

    def _summary(self, user: str) -> str:
        old = (
            user.split("<quire-summary>\n")[1].split("\n</quire-summary>", maxsplit=1)[0].split("\n")
            if "<quire-s" in user
            else []
        )
        lines = [*old, *(begins(text, SENTENCE_WORDS) for text in list(_said(user).values())[::2])]
        while len(lines) > 1 and self.counter.text("\n".join(lines)) > SUMMARY_TOKENS:
            lines.pop(0)
        return "\n".join(lines) or "-"

    def _compress(self, user: str) -> str:
        lines = user.split("\n")[1:-3]
        return "\n".join(lines[: max(1, len(lines) // 3)])


def _said(user: str) -> dict[int, str]:
    data = user.split("<quire-data>\n")[1].split("\n</quire-data>", maxsplit=1)[0]
    parts = _MESSAGE.split(data)[1:]
    return {int(seq): text.strip() or "-" for seq, text in zip(parts[::2], parts[1::2], strict=True)}


@dataclass
class Cost:
    """The cost of some conversations."""

    pages: int = 0
    versions: int = 0
    calls: Tally[str] = field(default_factory=Tally)
    tokens: Tally[str] = field(default_factory=Tally)
    history: int = 0
    saved: int = 0

    @property
    def background(self) -> int:
        return sum(self.tokens.values())

    def __add__(self, other: "Cost") -> "Cost":
        return Cost(
            self.pages + other.pages, self.versions + other.versions, self.calls + other.calls,
            self.tokens + other.tokens, self.history + other.history, self.saved + other.saved,
        )  # fmt: skip


def run(harness: Harness, *, quick: bool) -> list[Table]:
    model = Model(Counter(harness.folder / "vocabularies"))
    rows = []
    whole = Cost()
    with FakeOpenAI(reply=model) as provider:
        settings = {"MEMORY_LLM_MODEL": "scripted", "MEMORY_LLM_BASE_URL": provider.url}
        with opened({**settings, "MEMORY_EMBEDDING_MODEL": "none"}) as own:  # the other harness's worker has no model
            for name, transcripts in _sets(quick=quick):
                costs = [replay(own.api, f"{name}-{i}", one, model) for i, one in enumerate(transcripts)]
                rows.append(row(name, costs))
                whole = sum(costs, whole)
    rows.append(row("all", [whole]))
    return [table(rows, whole)]


def replay(api: Api, conversation: str, transcript: Transcript, model: Model) -> Cost:
    model.calls, model.tokens = Tally(), Tally()
    found = Cost(calls=model.calls, tokens=model.tokens)
    api.create(conversation, BUDGET)
    for step in steps(transcript.messages, every_message=True):
        api.append(conversation, step.messages)
        if step.messages[-1]["role"] in ("user", "tool"):
            usage = caught_up(api, conversation)["usage"]
            found.history += usage["full_history"]
            found.saved += usage["full_history"] - usage["total"]
            found.pages = max(found.pages, step.turn - 1)
    caught_up(api, conversation)
    found.versions = json.loads(api.call("GET", f"/conversations/{conversation}/summary")).get("version") or 0
    return found


def caught_up(api: Api, conversation: str) -> Json:
    """Return the window once every closed page is indexed and the summary covers all that it should."""
    deadline = time.monotonic() + WAIT_SECONDS
    lag: Json = {}
    while time.monotonic() < deadline:
        found: Json = json.loads(api.window(conversation))
        lag = found["lag"]
        if lag["indexed_through_page"] >= lag["last_page"] - 1:
            summary = json.loads(api.call("GET", f"/conversations/{conversation}/summary"))
            if summary["lag"] < STEP:
                return found
        time.sleep(0.01)
    raise RuntimeError(f"the work on {conversation} was not done in time: {lag}")


def row(name: str, costs: Sequence[Cost]) -> Sequence[str]:
    whole = sum(costs, Cost())
    summaries = whole.calls["summary"] + whole.calls["compress"]
    return (
        name,
        f"{whole.pages:,}",
        f"{whole.calls['page'] / whole.pages:.2f}" if whole.pages else "–",
        f"{whole.versions:,}",
        f"{summaries / whole.versions:.2f}" if whole.versions else "–",
        f"{whole.tokens['page']:,}",
        f"{whole.tokens['summary'] + whole.tokens['compress']:,}",
        f"{whole.history:,}",
        f"{whole.saved:,}",
        f"{whole.background / whole.saved:.0%}" if whole.saved > 0 else "–",
    )


def table(rows: Sequence[Sequence[str]], whole: Cost) -> Table:
    return Table(
        f"Cost of memory at {BUDGET:,} tokens",
        ("set", "closed pages", "calls each", "summaries", "calls each", "page tokens", "summary tokens",
         "whole history", "saved", "background / saved"),
        rows,
        (
            (
                "Tokens that the background jobs spend (prompts and replies), against the tokens that the windows save "
                "over sending the whole history at each model call. The model is a script that answers as long as "
                "models do."
            ),
            (
                f"Goal: at most one call for a page and for a summary, and under {GOAL:.0%}; found: "
                f"{whole.background / max(whole.saved, 1):.0%} over all."
            ),
        ),
    )  # fmt: skip
