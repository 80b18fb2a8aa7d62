"""Train the heads that read a message's vector: `python -m bench.people.intents`.

Logistic regression by Newton's method, on sentences that people wrote for this purpose, a file for each writer. It
writes ``app/extractive/intents.json``, and the means of both languages into ``app/providers/e5/means.json``, and prints how each writer's sentences are read by heads that have not seen them,
and how half of the questions and off-topic messages of ``bench/search/asked`` are by heads that saw the other half.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from math import log
from pathlib import Path

import click
import numpy as np
from numpy.typing import NDArray

from app.core.search.vector_text import query_text
from app.providers import local_embeddings
from app.providers.e5 import files
from app.providers.e5.centring import language_of, taken, without
from app.providers.e5.model import Model
from app.providers.e5.weights import open_weights
from app.services.memory.searching import ASKS_MIN
from bench.search import asked

SENTENCES = Path(__file__).with_name("sentences")
APP = Path(__file__).parents[2] / "app"
FILE, MEANS = APP / "extractive/intents.json", APP / "providers/e5/means.json"
RIDGE = 1e-3
"""The pull of weights towards 0, a sentence. Half and twice as much change the report by a point."""
PASSAGES_STEP = 8
"""Every so many sentences show the mean of passages well enough."""
STEPS = 8
"""Newton's method has long converged by then."""
SCALE = 3.0
"""The parts of vectors are taken from their mean, and this many times as large."""
FALSE_ALARMS = (0.03, 0.1)
INTENTS = ("asks",)

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Sentence:
    text: str
    writer: str
    does: frozenset[str]


def sentences() -> list[Sentence]:
    found: list[Sentence] = []
    for file in sorted(SENTENCES.glob("*.jsonl")):
        rows = map(json.loads, file.read_text("utf-8").splitlines())
        found += [Sentence(row["text"], file.stem, frozenset(row["does"].split())) for row in rows]
    for number, fact in enumerate(asked.facts()):
        questions = (fact.same_words, fact.other_words, fact.other_language)
        found += [Sentence(text, f"facts {number % 2}", frozenset({"asks"})) for text in questions]
    for number, message in enumerate(asked.off_topic()):
        found.append(Sentence(message.text, f"off topic {number % 2}", frozenset()))
    return found


def vectors(texts: Sequence[str]) -> Floats:
    """Return the vectors of queries as the service makes them; the means of the languages are written on the way."""
    model = Model(open_weights(files.find()), threads=1)
    languages = [language_of(text) for text in texts]
    queries = np.array([model.query(query_text(text)) for text in texts])
    passages = np.array([model.passage(f"user: {text}") for text in texts[::PASSAGES_STEP]])
    means = {"query": _means(queries, languages), "passage": _means(passages, languages[::PASSAGES_STEP])}
    MEANS.write_text(json.dumps(means) + "\n", "utf-8")
    away, rows = taken(means["query"]), zip(queries.tolist(), languages, strict=True)
    return np.array([without(row, away[language]) for row, language in rows])


def _means(rows: Floats, languages: Sequence[str]) -> dict[str, list[float]]:
    own = {one: rows[np.array(languages) == one].mean(axis=0) for one in ("en", "zh")}
    return {language: [float(f"{one:.4g}") for one in mean] for language, mean in own.items()}


@dataclass(frozen=True)
class Trained:
    """A head as it was trained: on vectors less their mean."""

    mean: Floats
    weights: Floats
    bias: float

    def scores(self, given: Floats) -> Floats:
        return (given - self.mean) * SCALE @ self.weights + self.bias

    def value(self) -> dict[str, object]:
        """Return the head as the file holds it: for vectors as they are."""
        weights = SCALE * self.weights
        bias = self.bias - float(weights @ self.mean)
        return {"weights": [float(f"{one:.4g}") for one in weights], "bias": round(bias, 4)}


def trained(given: Floats, is_so: Floats) -> Trained:
    mean = given.mean(axis=0)
    rows = np.c_[(given - mean) * SCALE, np.ones(len(given))]
    head, ridge = np.zeros(rows.shape[1]), RIDGE * len(rows) * np.eye(rows.shape[1])
    ridge[-1, -1] = 0.0
    for _ in range(STEPS):
        likely = 1 / (1 + np.exp(-rows @ head))
        slope = rows.T @ (likely - is_so) + ridge @ head
        head -= np.linalg.solve(rows.T @ ((likely * (1 - likely))[:, None] * rows) + ridge, slope)
    return Trained(mean, head[:-1], float(head[-1]))


def report(found: Sequence[Sentence], given: Floats, intent: str) -> list[str]:
    """Return a line for each writer, judged by a head that has not seen their sentences."""
    is_so = np.array([float(intent in one.does) for one in found])
    writers = np.array([one.writer.split()[-1] if one.writer[-1] in "01" else one.writer for one in found])
    lines = []
    for writer in dict.fromkeys(writers):
        held = writers == writer
        scores = trained(given[~held], is_so[~held]).scores(given[held])
        yes, no = scores[is_so[held] == 1], scores[is_so[held] == 0]
        at = [f"{(yes > np.quantile(no, 1 - share)).mean():.0%} at {share:.0%}" for share in FALSE_ALARMS]
        odds = log(ASKS_MIN / (1 - ASKS_MIN))
        used = f"at {ASKS_MIN} {(yes >= odds).mean():.0%} and {(no >= odds).mean():.1%}"
        lines.append(f"{intent}, without writer {writer} ({len(yes)} of {held.sum()}): {'; '.join(at)}; {used}")
    return lines


def main() -> None:
    found = sentences()
    given = vectors([one.text for one in found])
    heads = {}
    for intent in INTENTS:
        click.echo("\n".join(report(found, given, intent)))
        heads[intent] = trained(given, np.array([float(intent in one.does) for one in found])).value()
    FILE.write_text(json.dumps({"model": local_embeddings.MODEL, **heads}) + "\n", "utf-8")


if __name__ == "__main__":
    main()
