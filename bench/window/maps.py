"""Whether the map of a window leads to the pages that left it: `python -m bench.window.maps FOLDER`.

FOLDER holds data sets as `bench.search.talks` reads them. Each conversation is appended over HTTP, and its window read at each
budget, without a query and without a model. Asked about are questions whose evidence has left the window; the lines of
the contents page are ranked by BM25 of the question's words with each line alone. Halves of a set are told apart:
the formula was chosen looking at both.
"""

import json
import math
import re
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from statistics import fmean
from typing import Any

from rich.console import Console

from app.text import bm25
from bench import harness
from bench.harness import Api
from bench.search import talks
from bench.search.talks import Talk
from bench.tables import Table, show

BUDGETS = (2_000, 4_000, 8_000, 16_000)
FIRST = 3
K1, B = 1.2, 0.75
_SPAN = re.compile(r"(\d+)(?:–(\d+))?: ")
Line = tuple[range, str]
"""The pages and the text of a line of the map."""


def main() -> None:
    """Measure the sets of the folder that the command line names."""
    with harness.opened() as opened:
        for table in measure(opened.api, Path(sys.argv[1])):
            show(Console(), table)


def measure(api: Api, data: Path) -> list[Table]:
    """Return a table of all sets of a folder."""
    rows = [row for one in talks.public(data) for row in _rows(api, one)]
    head = ("set", "half", "budget", "questions", "all found", "any found", "lines", "tokens a line", "pages unlisted")
    notes = f"Questions about what left the window; found: its lines are among the first {FIRST} by word overlap."
    return [Table("What the map leads to", head, rows, [notes])]


def _rows(api: Api, one: talks.TalkSet) -> Iterator[Sequence[str]]:
    for half in (0, 1):
        some = one.talks[half::2]
        for talk in some:
            api.create(talk.id)
            api.append(talk.id, talk.messages)
        for budget in BUDGETS:
            found = [led for talk in some for led in _led(api, one, talk, budget)]
            if not found:
                continue
            means = [f"{100 * fmean(led[name] for led in found):.0f} %" for name in ("all", "any")]
            sizes = [f"{fmean(led[name] for led in found):.0f}" for name in ("lines", "tokens", "uncovered")]
            yield (one.name, "ab"[half], f"{budget:,}", str(len(found)), *means, *sizes)


def _led(api: Api, one: talks.TalkSet, talk: Talk, budget: int) -> Iterator[Mapping[str, float]]:
    """Yield the measurements of each question whose evidence left the window."""
    window = json.loads(api.window(talk.id, budget))
    lines = list(lines_of(window["messages"]))
    covered = {page for pages, _ in lines for page in pages}
    in_view = {*window["pages"]["verbatim"], *window["pages"]["condensed"]}
    uncovered = len(set(range(1, window["lag"]["last_page"])) - covered - in_view)
    page_of = list(_pages(talk.messages))
    for question in one.questions:
        if question.talk != talk.id or question.category == "adversarial":
            continue
        if not (wanted := {page_of[seq - 1] for seq in question.evidence} - in_view):
            continue
        first = [lines[at][0] for at in ranked(question.text, [text for _, text in lines])[:FIRST]]
        found = [any(page in pages for pages in first) for page in wanted]
        yield {
            "all": all(found),
            "any": any(found),
            "lines": len(lines),
            "tokens": window["usage"]["sections"]["contents"] / max(1, len(lines)),
            "uncovered": uncovered,
        }


def _pages(messages: Sequence[Mapping[str, Any]]) -> Iterator[int]:
    page = 0
    for message in messages:
        page = max(1, page + (message["role"] == "user"))
        yield page


def lines_of(messages: Sequence[Mapping[str, Any]]) -> Iterator[Line]:
    """Yield the lines of a window's map, each with the indented lines below it."""
    head = next((m["content"] for m in messages if str(m["content"]).startswith("<quire-memory>")), "")
    for block in re.split(r"\n(?! )", head):
        if span := _SPAN.match(block):
            yield range(int(span[1]), int(span[2] or span[1]) + 1), block[span.end() :]


def ranked(question: str, lines: Sequence[str]) -> list[int]:
    """Return the indices of lines by BM25 of the question's words, best first."""
    bags = [Counter(_words(line)) for line in lines]
    spread = Counter(word for bag in bags for word in bag)
    usual = fmean(bag.total() for bag in bags) if bags else 1.0
    scores = [
        sum(
            math.log(1 + (len(bags) - spread[word] + 0.5) / (spread[word] + 0.5))
            * (bag[word] * (K1 + 1) / (bag[word] + K1 * (1 - B + B * bag.total() / usual)))
            for word in set(_words(question))
            if bag[word]
        )
        for bag in bags
    ]
    return sorted(range(len(lines)), key=lambda at: -scores[at])


def _words(text: str) -> list[str]:
    return [term for term in bm25.terms(text) if term not in bm25.STOP_WORDS]


if __name__ == "__main__":
    main()
