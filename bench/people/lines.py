"""Lines of people, made from the templates of `en.txt` and `zh.txt`, with the right answer for each."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from random import Random
from typing import Literal

HERE = Path(__file__).parent
LANGUAGES = ("en", "zh")
KEYS = frozenset({"name", "address", "pronouns", "answer_language", "time_zone", "units", "diet"})
FOLLOWING = KEYS | {"need", "lasting"}
"""The kinds of lines that hold everywhere at once."""
NEVER = ("play", "quote", "paste", "passing", "question", "other", "proposed", "alike", "secret", "special")
"""The kinds that never do."""
_LINE = re.compile(r"([ab]) (\w+) \| (.*)")
_SLOTS = re.compile(r"= (\w+) \| (.*)")
_SLOT = re.compile(r"\{(\w+)\}")

Half = Literal["a", "b"]


@dataclass(frozen=True)
class Line:
    """A person's line, and its kind."""

    text: str
    kind: str
    language: str

    @property
    def follows(self) -> bool:
        return self.kind in FOLLOWING

    @property
    def key(self) -> str | None:
        return self.kind if self.kind in KEYS else None


@dataclass(frozen=True)
class _Templates:
    lines: tuple[tuple[str, str, str], ...]
    """Half, kind and text."""
    fillers: dict[str, list[str]]


@cache
def _read(language: str) -> _Templates:
    lines, fillers = [], {}
    for line in (HERE / f"{language}.txt").read_text("utf-8").splitlines():
        if found := _LINE.fullmatch(line):
            lines.append((found[1], found[2], found[3].replace("\\n", "\n")))
        elif slots := _SLOTS.fullmatch(line):
            fillers[slots[1]] = slots[2].split(" | ")
    return _Templates(tuple(lines), fillers)


def _filled(text: str, rng: Random, fillers: dict[str, list[str]]) -> str:
    chosen: dict[str, str] = {}
    said = _SLOT.sub(lambda slot: chosen.setdefault(slot[1], rng.choice(fillers[slot[1]])), text)
    return said[0].upper() + said[1:]


def some(rng: Random, language: str, count: int, *kinds: str, half: Half | None = None) -> Iterator[Line]:
    """Yield lines of some kinds, from all templates equally often; of both halves if none is named."""
    read = _read(language)
    templates = [one for one in read.lines if one[1] in kinds and half in (None, one[0])]
    for at in range(count):
        if at % len(templates) == 0:
            rng.shuffle(templates)
        _, kind, text = templates[at % len(templates)]
        yield Line(_filled(text, rng, read.fillers), kind, language)
