"""Charges of windows: how many tokens of the model a hundred of ours are, for a given text.

Windows are laid out in tokens of one vocabulary, o200k_base, and budgets are in those of the model. Between them is the
percent of ``charged``: the count of the model's family (``families.json``) for what the window shows, times what its
API has reported of the conversation's windows, in percent of that formula. Until then it is the family's margin.

A report moves it by what it weighs, up at once and down in steps: a window that was too full costs more than one that
could have been fuller. It changes no stored cut: a window is cut again where it no longer fits.

A family's count is a linear formula of a text's tokens in o200k_base and its marks, kept with each message, in
integers: a · tokens + b · digits beyond groups of three + c · Han characters + d · letters in runs of capitals.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from operator import mul

from app.core.model import OURS, FileWeight, Marks, Mix
from app.core.models import Family

UNREPORTED = 0
"""No API has reported anything of the conversation's windows."""
PERCENT_MIN, PERCENT_MAX = 50, 400
"""Bounds of what is charged: numbers and emoji have three tokens of one, and no text of a family has half as many."""
LEARNED_MIN, LEARNED_MAX = 75, 200
"""Bounds of what is learned, in percent of the formula: a report beyond them tells of more than the window."""
NEXT_WINDOW = 2
"""Percent that the next window of a conversation makes more than the last, often."""
UP_TOKENS, DOWN_TOKENS = 1_000, 1_500
"""A report for a window of so many tokens moves what is charged half the way."""


def _class_of(byte: int) -> bytes:
    character = chr(byte)
    is_han = 0xE4 <= byte <= 0xE9  # the first byte in UTF-8 of U+4000 to U+9FFF
    return b"H" if is_han else b"0" if character in "0123456789" else b"A" if "A" <= character <= "Z" else b" "


_CLASSES = bytes.maketrans(bytes(range(256)), b"".join(_class_of(byte) for byte in range(256)))
"""A digit to 0, a capital to A, the first byte of a Han character in UTF-8 to H, any other to a blank."""
_DIGITS, _CAPITALS = re.compile(rb"0{1,3}"), re.compile(rb"AA+")


def marks_of(text: str) -> Marks:
    """Return the marks of a text, in a tenth of the time that counting its tokens takes."""
    classes = text.encode("utf-8", "replace").translate(_CLASSES)
    digits = classes.count(b"0") - len(_DIGITS.findall(classes))
    return Marks(digits, classes.count(b"H"), len(b"".join(_CAPITALS.findall(classes))))


@dataclass(frozen=True, slots=True)
class ReportedUsage:
    """A model call as its API counted it."""

    window_tokens: int
    """The window's ``usage.total``."""
    prompt_tokens: int
    """All that the model read for it, from its cache or not."""


def hundredths(family: Family, mix: Mix) -> int:
    """Return what a family's formula counts for texts, in hundredths of a token."""
    return sum(map(mul, family.factors, mix))


@dataclass(frozen=True, slots=True)
class Charge:
    """A model's way to count a conversation's windows."""

    family: Family
    learned: int = UNREPORTED
    """Percent of the family's formula, as its API reported."""

    @property
    def rest(self) -> int:
        """Return how many percent of the formula are charged."""
        return self.learned or OURS + self.family.margin

    @property
    def is_plain(self) -> bool:
        """Return whether our own count is charged for every text."""
        return self.family.is_plain and self.rest == OURS

    def tokens(self, mix: Mix, each: int = 1) -> int:
        """Return what the model charges for some texts, repeated, in its own tokens."""
        return -(-(hundredths(self.family, mix) * self.rest + mix.flat * OURS * OURS) * each // (OURS * OURS))


def charged(charge: Charge, mix: Mix) -> int:
    """Return the tokens that a model charges for a hundred of ours, in a window of this mix."""
    if mix.tokens < 1:
        mix = Mix(OURS)
    return min(PERCENT_MAX, max(PERCENT_MIN, -(-charge.tokens(mix, OURS) // mix.tokens)))


def counted(charge: Charge, percent: int, tokens: int, marks: Marks) -> int:
    """Return what the model charges for a text, in our tokens, as counted in a window of this percent."""
    return tokens if charge.is_plain else -(-charge.tokens(Mix.of(tokens, marks), OURS) // percent)


@dataclass(frozen=True, slots=True)
class Lesson:
    """The correction that a usage report gives."""

    percent: int
    """What the model's API counted, in percent of the family's formula."""
    file_percents: tuple[tuple[str, int], ...]
    """What files of each kind weigh, in percent of the usual."""


def learn_percent(charge: Charge, reported: ReportedUsage, predicted: int) -> int:
    """Learn the percent of the formula from a usage report. ``predicted``: the window's tokens by the formula alone. A
    model with our vocabulary is never charged less than that.
    """
    least, more = (LEARNED_MIN, NEXT_WINDOW) if charge.family.margin else (OURS, 0)
    seen = -(-reported.prompt_tokens * OURS // max(1, predicted))
    target = min(LEARNED_MAX, max(least, seen + more))
    distance, half = target - charge.rest, UP_TOKENS if target > charge.rest else DOWN_TOKENS
    moved = abs(distance) * reported.window_tokens // (reported.window_tokens + half)
    return charge.rest + (moved if distance > 0 else -moved)


FILE_PERCENTS = 25, 400
"""Bounds of what is learned of files, in percent of the usual estimate."""


FILES_KEPT = 100
"""Of a conversation's newest messages with files, those whose weights are kept."""


def learn_file_weights(
    known: dict[str, int], shown: Sequence[FileWeight], reported: ReportedUsage, charged: int
) -> tuple[dict[str, int], ReportedUsage, int]:
    """Learn the weight of a window's files (``shown``), in percent of the usual, from a usage report. Return the
    weights, and the report and charge of the text beside the files. Only files of a single kind can be weighed.
    """
    if len(kinds := {weight.kind for weight in shown}) != 1:
        return known, reported, charged
    counted = sum(weight.counted for weight in shown)
    usual = max(1, sum(weight.usual for weight in shown))
    text = max(0, charged - counted)
    least, most = FILE_PERCENTS
    percent = min(most, max(least, (reported.prompt_tokens - text) * OURS // usual))
    rest = max(0, reported.prompt_tokens - usual * percent // OURS)
    return {**known, kinds.pop(): percent}, ReportedUsage(max(0, reported.window_tokens - counted), rest), text
