"""Weigh the words by which messages ask for something earlier: `python -m bench.people.asking`.

Logistic regression by Newton's method on the sentences of ``intents``. It writes ``app/extractive/asking.json``, and
prints how each writer's sentences are read by weights that have not seen them.
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Sequence
from math import log
from pathlib import Path

import click
import numpy as np
from numpy.typing import NDArray

from app.extractive.asking import WORDS_MIN, signs
from bench.people.intents import STEPS, Sentence, sentences

FILE = Path(__file__).parents[2] / "app/extractive/asking.json"
RIDGE = 2.0
TEXTS_MIN, WRITERS_MIN = 16, 3
"""What fewer say, or only one or two writers, is theirs alone."""
WEIGHT_MIN = 0.15
"""Smaller weights change no decision."""

Floats = NDArray[np.float64]


def common(said: Sequence[set[str]], writers: Sequence[str]) -> list[str]:
    """Return the signs that are common among the sentences of several writers."""
    counts: Counter[str] = Counter()
    by: defaultdict[str, set[str]] = defaultdict(set)
    for one, writer in zip(said, writers, strict=True):
        counts.update(one)
        for sign in one:
            by[sign].add(writer)
    return sorted(sign for sign, count in counts.items() if count >= TEXTS_MIN and len(by[sign]) >= WRITERS_MIN)


def weights(said: Sequence[set[str]], is_so: Floats, known: Sequence[str]) -> dict[str, float]:
    """Return the weight of each known sign; "" stands for the bias."""
    place = {sign: at for at, sign in enumerate(known)}
    rows = np.zeros((len(said), len(known) + 1))
    rows[:, -1] = 1.0
    for row, one in zip(rows, said, strict=True):
        row[[place[sign] for sign in one if sign in place]] = 1.0
    head, ridge = np.zeros(rows.shape[1]), RIDGE * np.eye(rows.shape[1])
    ridge[-1, -1] = 0.0
    for _ in range(STEPS):
        likely = 1 / (1 + np.exp(-rows @ head))
        slope = rows.T @ (likely - is_so) + ridge @ head
        head -= np.linalg.solve(rows.T @ ((likely * (1 - likely))[:, None] * rows) + ridge, slope)
    found = {sign: round(float(one), 2) for sign, one in zip(known, head, strict=False) if abs(one) >= WEIGHT_MIN}
    return {"": round(float(head[-1]), 2), **found}


def report(found: Sequence[Sentence], said: Sequence[set[str]], is_so: Floats) -> list[str]:
    """Return a line for each writer, read by weights that have not seen their sentences."""
    writers = np.array([one.writer for one in found])
    odds, lines = log(WORDS_MIN / (1 - WORDS_MIN)), []
    for writer in dict.fromkeys(writers):
        others, own = np.flatnonzero(writers != writer).tolist(), np.flatnonzero(writers == writer).tolist()
        rest = [said[at] for at in others]
        head = weights(rest, is_so[others], common(rest, [*writers[others]]))
        asks = np.array([head[""] + sum(head.get(sign, 0.0) for sign in said[at]) >= odds for at in own])
        yes, no = asks[is_so[own] == 1], asks[is_so[own] == 0]
        lines.append(f"without writer {writer}: {yes.sum()} of {len(yes)} that ask, {no.sum()} of {len(no)} others")
    return lines


def main() -> None:
    found = sentences()
    said = [signs(one.text) for one in found]
    is_so = np.array([float("asks" in one.does) for one in found])
    click.echo("\n".join(report(found, said, is_so)))
    head = weights(said, is_so, common(said, [one.writer for one in found]))
    FILE.write_text(json.dumps(head, ensure_ascii=False) + "\n", "utf-8")


if __name__ == "__main__":
    main()
