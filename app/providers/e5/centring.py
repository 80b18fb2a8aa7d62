"""Take the mean of its language from a vector.

In a store of two languages, a text's language outweighs its meaning: a question finds anything in its own first. Three
quarters of what the texts of a language have in common are taken away; the rest lets its own language come first. The
means are of sentences in ``bench/people/sentences`` (``python -m bench.people.intents``).
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Literal

from app.text.language import script_counts

Kind = Literal["query", "passage"]
Means = Mapping[str, Sequence[float]]
"""Of a kind's vectors, by language."""

PART = 0.75
"""The part of a language's own mean that is taken away; the rest is the mean of both. Chosen on ``bench recall``."""
IDEOGRAPHS_IN_WORD = 1.6


def taken(means: Means) -> dict[str, list[float]]:
    """Return what is taken from the vectors of each language."""
    both = [(one + other) / 2 for one, other in zip(means["en"], means["zh"], strict=True)]
    return {
        language: [PART * own + (1 - PART) * mean for own, mean in zip(means[language], both, strict=True)]
        for language in ("en", "zh")
    }


_MEANS: dict[Kind, Means] = json.loads(Path(__file__).with_name("means.json").read_text("utf-8"))
_TAKEN: dict[Kind, dict[str, list[float]]] = {kind: taken(means) for kind, means in _MEANS.items()}


def language_of(text: str) -> str:
    han, latin = script_counts(text)
    return "zh" if han > IDEOGRAPHS_IN_WORD * latin else "en"


def centred(vector: Sequence[float], text: str, kind: Kind) -> list[float]:
    """Return the vector of a text without what its language's texts have in common, of unit length."""
    return without(vector, _TAKEN[kind][language_of(text)])


def without(vector: Sequence[float], mean: Sequence[float]) -> list[float]:
    moved = [one - other for one, other in zip(vector, mean, strict=True)]
    length = sum(one * one for one in moved) ** 0.5
    return [one / length for one in moved]
