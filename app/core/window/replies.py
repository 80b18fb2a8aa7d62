"""Judge what a model wrote against what it covers, before it replaces anything.

A text is unusable if it refuses, loops ("Wait, I'll check. Wait, I'll check. …"), repeats its instructions or all that
it covers, names nothing of it, is in another language, or is far too short or too long for it. All of it is relative:
what repeats in the covered text may repeat as often in the reply, a quotation may be in its source's language, and
repetitions count once in a length. The bounds are wide: a bad style passes, a failure does not.
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
"""Ideographs and Latin words of a text, without code (``text.language.script_counts``)."""
Run = tuple[str, ...]

SEEN_CHARACTERS = 60_000
"""Of a text that is judged, so that the work is bounded."""
RUN = 8
"""Units (words; characters of other scripts) in a run. Lists of similar sentences share shorter ones."""
RUNS_MIN = 12
"""Fewer runs are too few to judge."""
KEPT_SHARE = 5
"""A summary keeps at least one part in so many of the content that is expected."""
SHORTEST_UNITS = 6
SHORTEST_SHARE = 40
"""Without an expectation a summary has SHORTEST_UNITS, or one part in so many of what it covers."""
LONGEST_TIMES = 4
LONGEST_SLACK = 200
"""The longest summary: this many times the units of the text that it covers, and these."""
LETTERS_MIN = 12
"""Ideographs and Latin words; fewer can be names and terms of any language."""
MOST, NEXT_TO_NONE = 0.5, 0.05
"""Shares of ideographs in texts of one language."""
IDEOGRAPHS_IN_WORD = 1.6
"""A Chinese word has so many characters, about."""
ALIKE_MIN, ALIKE_SHARE = 8, 4
"""Of so many different messages, at least one in so many has a line of its own."""

ECHO_SHARE, ECHO_RUNS_MIN = 0.8, 120
"""A long text that repeats this share of its source word by word is no summary of it."""
_WORDS = json.loads(files("app.core.window").joinpath("replies.json").read_text("utf-8"))
_REFUSAL = re.compile(rf"\W*(?:{'|'.join(_WORDS['refusal'])})", re.IGNORECASE)
_REFUSED_WITH = re.compile("|".join(_WORDS["refused_with"]), re.IGNORECASE)
REFUSAL_CHARACTERS = 400
"""What is longer and begins with an apology goes on to say something."""
_UNIT = re.compile(r"[a-z0-9]{1,12}|[^\W_a-z0-9]")
_COMMON, _COMMON_CHARACTERS = frozenset(_WORDS["common"].split()), frozenset(_WORDS["common_characters"])
"""A pair with one tells nothing: 都是, 我们."""
_NUMBERING = re.compile(r"^[^\S\n]*\d{1,4}[.)、:：]\s*", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class ReplyWording:
    """A text's units in order, without numbers at the start of lines: how many, and each run with its count."""

    units: int
    runs: Mapping[Run, int]
    telling: frozenset[str] = frozenset()
    """Numbers, words of three letters and more, and pairs of ideographs, without those that stand in any text."""

    @property
    def content(self) -> int:
        """Units, without those that only repeat."""
        return self.units - sum(self.runs.values()) + len(self.runs)


@dataclass(frozen=True, slots=True)
class Covered:
    """The subject of a reply."""

    wording: ReplyWording
    scripts: Scripts
    """Of what people and the assistant say."""


def wording_of(text: str) -> ReplyWording:
    units = _UNIT.findall(_NUMBERING.sub("", text[:SEEN_CHARACTERS].casefold()))
    runs = Counter(tuple(units[i : i + RUN]) for i in range(len(units) - RUN + 1))
    words = {unit for unit in units if unit.isdecimal() or (unit.isascii() and len(unit) > 2)}
    told = [unit if unit not in _COMMON_CHARACTERS else "." for unit in units]
    pairs = {one + other for one, other in pairwise(told) if not (one.isascii() or other.isascii())}
    return ReplyWording(len(units), runs, frozenset(words | pairs) - _COMMON)


def is_refusal(text: str) -> bool:
    """Return whether a model says that it will not answer, and nothing else."""
    begun = text.strip()
    return len(begun) <= REFUSAL_CHARACTERS and bool(_REFUSAL.match(begun) and _REFUSED_WITH.search(begun))


def summary_fault(
    text: str, scripts: Scripts, covered: Covered, content_expected: int, instructions: str = ""
) -> str | None:
    """Return what makes a summary unusable, as the end of a sentence; None if nothing does.

    ``content_expected`` is the content of the old summary, or the requested one; 0 if there is neither. The
    ``instructions`` are those that the model was given.
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
    told = covered.wording.telling
    comparable = {word.isascii() for word in wording.telling} & {word.isascii() for word in told}
    is_compared = bool(comparable or (told and is_foreign(scripts, covered.scripts, letters_min=1)))
    return is_compared and wording.telling.isdisjoint(told)


def _repeated(wording: ReplyWording, other: ReplyWording) -> int:
    return sum(times for run, times in wording.runs.items() if run in other.runs)


def _is_echo(wording: ReplyWording, covered: ReplyWording) -> bool:
    repeated = len(wording.runs.keys() & covered.runs.keys())
    return len(covered.runs) >= ECHO_RUNS_MIN and repeated > ECHO_SHARE * len(covered.runs)


def least_content(covered: Covered, content_expected: int) -> int:
    return max(content_expected // KEPT_SHARE, min(SHORTEST_UNITS, covered.wording.content // SHORTEST_SHARE))


def loops(wording: ReplyWording, covered: ReplyWording) -> bool:
    """Return whether more than half of a text's runs repeat earlier ones, more often than the covered text does."""
    total = sum(wording.runs.values())
    return total >= RUNS_MIN and 2 * _excess(wording, covered) > total


def is_strange(wording: ReplyWording, scripts: Scripts, covered: Covered) -> bool:
    """Return whether a text is in another language than what it covers, and is no quotation from it."""
    if not is_foreign(scripts, covered.scripts):
        return False
    return 2 * _repeated(wording, covered.wording) <= sum(wording.runs.values())


def is_foreign(written: Scripts, covered: Scripts, *, letters_min: int = LETTERS_MIN) -> bool:
    """Return whether one text is Chinese and the other has next to no Chinese, each long enough to judge."""
    if min(sum(written), sum(covered)) < letters_min:
        return False
    low, high = sorted((_chinese(written), _chinese(covered)))
    return low < NEXT_TO_NONE and high > MOST


def are_alike(lines: Collection[str], messages: Collection[str]) -> bool:
    """Return whether the lines of different messages are nearly all the same."""
    different = len(set(messages))
    return different >= ALIKE_MIN and len(lines) >= ALIKE_MIN and len(set(lines)) * ALIKE_SHARE < different


def _excess(wording: ReplyWording, covered: ReplyWording) -> int:
    """Return how many runs repeat one that the covered text does not hold as often."""
    return sum(max(0, times - max(1, covered.runs.get(run, 0))) for run, times in wording.runs.items())


def _chinese(scripts: Scripts) -> float:
    words = scripts[0] / IDEOGRAPHS_IN_WORD
    return words / (words + scripts[1])
