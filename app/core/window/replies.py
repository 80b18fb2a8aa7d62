"""Judge a model's reply against the text it covers, before it replaces anything.

A reply is unusable if it refuses, loops ("Wait, I'll check. Wait, I'll check. …"), repeats its instructions or the
whole covered text, names nothing of it, is in another language, or is far too short or too long for it. All this is
relative: repetitions in the covered text can be repeated as often in the reply, a quotation can be in its source's
language, and repetitions count once in a length. The bounds are wide: they let bad style pass, but not failures.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from importlib.resources import files
from itertools import pairwise

Scripts = tuple[int, int]
"""The numbers of ideographs and of Latin words in a text, without code (``text.language.script_counts``)."""
Run = tuple[str, ...]

SEEN_CHARACTERS = 60_000
"""Characters of a text that are judged, to bound the work."""
RUN = 8
"""Units (words; characters in other scripts) of a run. Even lists of similar sentences share shorter runs."""
RUNS_MIN = 12
"""The least number of runs to judge by."""
KEPT_SHARE = 5
"""A summary keeps at least this fraction (1/5) of the expected content."""
SHORTEST_UNITS = 6
SHORTEST_SHARE = 40
"""If no content is expected, a summary has at least SHORTEST_UNITS or 1/40 of the covered content, the smaller."""
LONGEST_TIMES = 4
LONGEST_SLACK = 200
"""A summary has at most LONGEST_TIMES the units of the covered text, plus LONGEST_SLACK."""
LETTERS_MIN = 12
"""Ideographs and Latin words needed to judge the language; fewer can be names and terms of any language."""
MOST, NEXT_TO_NONE = 0.5, 0.05
"""The share of Chinese words above which a text is Chinese, and below which it is not at all."""
IDEOGRAPHS_IN_WORD = 1.6
"""The average number of characters in a Chinese word."""
ALIKE_MIN, ALIKE_SHARE = 8, 4
"""Of at least 8 different messages, at least every fourth must have a line of its own."""

ECHO_SHARE, ECHO_RUNS_MIN = 0.8, 120
"""A reply that repeats this share of a long source word for word (in runs) is no summary."""
_WORDS = json.loads(files("app.core.window").joinpath("replies.json").read_text("utf-8"))
_REFUSAL = re.compile(rf"\W*(?:{'|'.join(_WORDS['refusal'])})", re.IGNORECASE)
_REFUSED_WITH = re.compile("|".join(_WORDS["refused_with"]), re.IGNORECASE)
REFUSAL_CHARACTERS = 400
"""The longest refusal: a longer reply that begins with an apology goes on to say something."""
_UNIT = re.compile(r"[a-z0-9]{1,12}|[^\W_a-z0-9]")
_COMMON, _COMMON_CHARACTERS = frozenset(_WORDS["common"].split()), frozenset(_WORDS["common_characters"])
"""Words and characters that any text can contain. Pairs with such a character say nothing: 都是, 我们."""
_NUMBERING = re.compile(r"^[^\S\n]*\d{1,4}[.)、:：]\s*", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class ReplyWording:
    """The number of a text's units and the counts of its runs. Numbers at the start of lines are ignored."""

    units: int
    runs: Mapping[Run, int]
    telling: frozenset[str] = frozenset()
    """Numbers, words of three letters and more, and pairs of ideographs, except common ones."""

    @property
    def content(self) -> int:
        """The number of units without repetitions."""
        return self.units - sum(self.runs.values()) + len(self.runs)


@dataclass(frozen=True, slots=True)
class Covered:
    """The text that a reply covers."""

    wording: ReplyWording
    scripts: Scripts
    """Only of the words of people and the assistant."""


def wording_of(text: str) -> ReplyWording:
    units = _UNIT.findall(_NUMBERING.sub("", text[:SEEN_CHARACTERS].casefold()))
    runs = Counter(tuple(units[i : i + RUN]) for i in range(len(units) - RUN + 1))
    words = {unit for unit in units if unit.isdecimal() or (unit.isascii() and len(unit) > 2)}
    rare = [unit if unit not in _COMMON_CHARACTERS else "." for unit in units]
    pairs = {first + second for first, second in pairwise(rare) if not (first.isascii() or second.isascii())}
    return ReplyWording(len(units), runs, frozenset(words | pairs) - _COMMON)


def is_refusal(text: str) -> bool:
    """Return whether a model only says that it will not answer."""
    text = text.strip()
    return len(text) <= REFUSAL_CHARACTERS and bool(_REFUSAL.match(text) and _REFUSED_WITH.search(text))


def summary_fault(
    text: str, scripts: Scripts, covered: Covered, content_expected: int, instructions: str = ""
) -> str | None:
    """Return what makes a summary unusable, as the end of a sentence; None if nothing does.

    ``content_expected`` is the content of the old summary, or the requested content; 0 if there is neither.
    ``instructions`` is the model's prompt.
    """
    return next(_faults(text, scripts, covered, least_content(covered, content_expected), instructions), None)


def _faults(text: str, scripts: Scripts, covered: Covered, least: int, instructions: str) -> Iterator[str]:
    wording = wording_of(text)
    if is_refusal(text):
        yield "is a refusal"
    if loops(wording, covered.wording):
        yield "repeats itself"
    if wording.content < least:
        yield f"says too little for what it covers ({wording.content} words of {least})"
    most = covered.wording.units * LONGEST_TIMES + LONGEST_SLACK
    if wording.units > most:
        yield f"is too long for what it covers ({wording.units} words of {most})"
    if is_strange(wording, scripts, covered):
        yield "is in another language than the messages"
    if _repeated(wording, wording_of(instructions)) > sum(wording.runs.values()) // 2:
        yield "repeats its instructions"
    if _is_echo(wording, covered.wording):
        yield "only repeats what it covers"
    if _names_nothing(wording, scripts, covered):
        yield "names nothing of what it covers"


def _names_nothing(wording: ReplyWording, scripts: Scripts, covered: Covered) -> bool:
    telling = covered.wording.telling
    comparable = {word.isascii() for word in wording.telling} & {word.isascii() for word in telling}
    is_compared = bool(comparable or (telling and is_foreign(scripts, covered.scripts, letters_min=1)))
    return is_compared and wording.telling.isdisjoint(telling)


def _repeated(wording: ReplyWording, other: ReplyWording) -> int:
    return sum(times for run, times in wording.runs.items() if run in other.runs)


def _is_echo(wording: ReplyWording, covered: ReplyWording) -> bool:
    repeated = len(wording.runs.keys() & covered.runs.keys())
    return len(covered.runs) >= ECHO_RUNS_MIN and repeated > ECHO_SHARE * len(covered.runs)


def least_content(covered: Covered, content_expected: int) -> int:
    return max(content_expected // KEPT_SHARE, min(SHORTEST_UNITS, covered.wording.content // SHORTEST_SHARE))


def loops(wording: ReplyWording, covered: ReplyWording) -> bool:
    """Return whether more than half of a text's runs are repetitions beyond those of the covered text."""
    total = sum(wording.runs.values())
    return total >= RUNS_MIN and 2 * _excess(wording, covered) > total


def is_strange(wording: ReplyWording, scripts: Scripts, covered: Covered) -> bool:
    """Return whether a text is in another language than the covered text, and does not quote it."""
    if not is_foreign(scripts, covered.scripts):
        return False
    return 2 * _repeated(wording, covered.wording) <= sum(wording.runs.values())


def is_foreign(written: Scripts, covered: Scripts, *, letters_min: int = LETTERS_MIN) -> bool:
    """Return whether one text is Chinese and the other has next to no Chinese. Too short texts are never foreign."""
    if min(sum(written), sum(covered)) < letters_min:
        return False
    low, high = sorted((_chinese(written), _chinese(covered)))
    return low < NEXT_TO_NONE and high > MOST


def are_alike(lines: Collection[str], messages: Collection[str]) -> bool:
    """Return whether the lines of different messages are nearly all the same."""
    different = len(set(messages))
    return different >= ALIKE_MIN and len(lines) >= ALIKE_MIN and len(set(lines)) * ALIKE_SHARE < different


def _excess(wording: ReplyWording, covered: ReplyWording) -> int:
    """Return the number of repeated runs that the covered text does not repeat as often."""
    return sum(max(0, times - max(1, covered.runs.get(run, 0))) for run, times in wording.runs.items())


def _chinese(scripts: Scripts) -> float:
    words = scripts[0] / IDEOGRAPHS_IN_WORD
    return words / (words + scripts[1])
