"""Build the texts that memories and queries are embedded as.

A turn of a dialogue means little without what it answers: "Yes, last Friday!" Its text is therefore the line before it,
shortened to its ends, and its own, each with its speaker. (On dialogues this more than doubles what vectors find; the
following line would help a little more, but does not exist yet when the vector is made.) Two consecutive messages of
the same role are not an exchange, so there the previous line is omitted.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

_SAYS = re.compile(r"\s*([^\s:：][^:：\n]{0,39})[:：]")

BEFORE_CHARACTERS = 240
"""Characters of the previous message; of a longer one, half of them from each end."""


QUERY_CHARACTERS = 600
"""Characters of a query; of a longer one, half of them from each end: about 125 tokens. Beyond that its vector finds
nothing more (bench/results/README.md) and costs four times as much.
"""
WIDE_CHARACTERS = 3
"""The weight of a Chinese, Japanese or Korean character, which has more tokens."""
_WIDE = re.compile("[\u3000-\ud7af\uf900-\ufaff\uff00-\uffef\U00020000-\U0003ffff]")


@dataclass(frozen=True, slots=True)
class Utterance:
    role: str
    text: str
    name: str | None = None

    @property
    def speaker(self) -> str:
        return self.name or self.role


def turn_text(passage: Utterance, before: Utterance | None) -> str:
    """Return the embedding text of a message passage; "" if blank."""
    if not passage.text.strip():
        return ""
    own = f"{passage.speaker}: {passage.text}"
    if before is None or before.role == passage.role or not before.text.strip():
        return own
    return f"{before.speaker}: {_ends(before.text)}\n{own}"


def _ends(text: str) -> str:
    text = " ".join(text.split())
    if len(text) <= BEFORE_CHARACTERS:
        return text
    half = BEFORE_CHARACTERS // 2
    return f"{text[:half]} … {text[-half:]}"


def query_text(query: str) -> str:
    """Return the embedding text of a query; of a long one only its ends, since dialogues end with the question."""
    room = QUERY_CHARACTERS // 2
    begun = _reach(query[: 2 * room], room)
    if _weight(query[begun : begun + 2 * room]) <= room:
        return query
    return f"{query[:begun]} {query[len(query) - _reach(query[: -2 * room - 1 : -1], room) :]}"


def _reach(text: str, room: int) -> int:
    end = min(len(text), room)
    while _weight(text[:end]) > room:
        end -= max(1, (_weight(text[:end]) - room) // WIDE_CHARACTERS)
    return end


def _weight(text: str) -> int:
    return len(text) + (WIDE_CHARACTERS - 1) * len(_WIDE.findall(text))


def result_text(tool: str, passage: str) -> str:
    """Return the embedding text of a passage of an archived result; "" if blank."""
    return f"{tool}: {passage}" if passage.strip() else ""


def last_speaker(query: str) -> str | None:
    """Return the words of the last speaker if the query is a dialogue of ``name: words`` lines; else None.

    The last speaker wants something. What they hear stays in the query, but its vector is moved towards their part.
    """
    turns: list[tuple[str, str]] = []
    for line in filter(str.strip, query.splitlines()):
        match = _SAYS.match(line)
        if match is None:
            return None
        turns.append((match[1], line))
    if len({speaker for speaker, _ in turns}) < 2:
        return None
    return "\n".join(line for speaker, line in turns if speaker == turns[-1][0])


def middle(vectors: Sequence[Sequence[float]]) -> list[float]:
    """Return the direction between some vectors of unit length, as one of unit length."""
    sums = [sum(column) for column in zip(*vectors, strict=True)]
    length = sum(value * value for value in sums) ** 0.5
    return [value / length for value in sums] if length else sums
