"""Train the heads that read a message's vector: `python -m bench.people.intents`.

Logistic regression by Newton's method, and of several kinds at once by accelerated descent, on sentences that people
wrote for this purpose, a file for each writer; ``g`` and ``h`` are of everyday messages with neighbours of wishes. It writes
``app/extractive/intents.json``, and prints how each writer's sentences are read by heads that have not seen them, and
how half of ``g`` and of ``bench/search/asked`` are by heads that saw the other half. With ``--means`` it also writes the
means of both languages into ``app/providers/e5/means.json``, from which every vector is taken: those stored are then of
another model.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import log
from pathlib import Path

import click
import numpy as np
from numpy.typing import NDArray

from app.core.history.judging import judgement
from app.core.search.vector_text import query_text
from app.providers import local_embeddings
from app.providers.e5 import files
from app.providers.e5.centring import centred, language_of
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
ASKED = "abcdef"
"""Writers whose sentences are labelled for *asks*, and of whom the languages' means are."""
KINDS = ("lasting", "need", "bounded", "ends", "asks", "none")
"""What a sentence is, the first that it does; the last two keep what is neither from looking like a wish."""
DESCENTS = 300
"""Enough for kinds: twice as many change no probability by .01."""

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Sentence:
    text: str
    writer: str
    does: frozenset[str]

    @property
    def kind(self) -> str:
        return next((kind for kind in KINDS if kind in self.does), KINDS[-1])

    def is_for(self, intent: str) -> bool:
        """Return whether it teaches a head: everyday messages with wishes are not labelled for what they ask."""
        return intent != "asks" or not self.writer.startswith(("g", "h"))


def sentences() -> list[Sentence]:
    found: list[Sentence] = []
    for file in sorted(SENTENCES.glob("*.jsonl")):
        rows = map(json.loads, file.read_text("utf-8").splitlines())
        for number, row in enumerate(rows):
            writer = file.stem if file.stem in ASKED else f"{file.stem} {number % 2}"
            found.append(Sentence(row["text"], writer, frozenset(row["does"].split())))
    for number, fact in enumerate(asked.facts()):
        questions = (fact.same_words, fact.other_words, fact.other_language)
        found += [Sentence(text, f"facts {number % 2}", frozenset({"asks"})) for text in questions]
    for number, message in enumerate(asked.off_topic()):
        found.append(Sentence(message.text, f"off topic {number % 2}", frozenset()))
    return found


def write_means(model: Model, found: Sequence[Sentence]) -> None:
    texts = [one.text for one in found if one.is_for("asks")]
    languages = [language_of(text) for text in texts]
    queries = np.array([model.query(query_text(text)) for text in texts])
    passages = np.array([model.passage(f"user: {text}") for text in texts[::PASSAGES_STEP]])
    means = {"query": _means(queries, languages), "passage": _means(passages, languages[::PASSAGES_STEP])}
    MEANS.write_text(json.dumps(means) + "\n", "utf-8")


def vectors(model: Model, found: Sequence[Sentence]) -> Floats:
    """Return the vectors of queries as the service makes them."""
    return np.array([centred(model.query(query_text(one.text)), one.text, "query") for one in found])


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


def trained_kinds(given: Floats, kinds: Sequence[str]) -> list[Trained]:
    """Return a head for each of ``KINDS``, whose scores are compared."""
    mean = given.mean(axis=0)
    rows = np.c_[(given - mean) * SCALE, np.ones(len(given))]
    is_so = np.array([[float(kind == one) for one in KINDS] for kind in kinds])
    steepest = np.linalg.eigvalsh(rows.T @ rows / len(rows))[-1] / 2 + RIDGE
    pull = np.r_[np.full(rows.shape[1] - 1, RIDGE), 0.0][:, None]
    heads = ahead = np.zeros((rows.shape[1], len(KINDS)))
    speed = 1.0
    for _ in range(DESCENTS):
        slope = rows.T @ (likely_kinds(rows @ ahead) - is_so) / len(rows) + pull * ahead
        before, heads = heads, ahead - slope / steepest
        speed, last = (1 + (1 + 4 * speed * speed) ** 0.5) / 2, speed
        ahead = heads + (last - 1) / speed * (heads - before)
    return [Trained(mean, head[:-1], float(head[-1])) for head in heads.T]


def likely_kinds(scores: Floats) -> Floats:
    raised = np.exp(scores - scores.max(axis=1, keepdims=True))
    likely: Floats = raised / raised.sum(axis=1, keepdims=True)
    return likely


def _held(found: Sequence[Sentence]) -> Iterator[tuple[str, NDArray[np.bool_]]]:
    """Yield each writer, or half, and which sentences are theirs."""
    writers = np.array([one.writer for one in found])
    for writer in dict.fromkeys(one.writer for one in found):
        yield writer, writers == writer


def report(found: Sequence[Sentence], given: Floats, intent: str) -> Iterator[str]:
    """Yield a line for each writer, judged by a head that has not seen their sentences."""
    is_so = np.array([float(intent in one.does) for one in found])
    for writer, held in _held(found):
        scores = trained(given[~held], is_so[~held]).scores(given[held])
        yes, no = scores[is_so[held] == 1], scores[is_so[held] == 0]
        if not len(yes) or not len(no):
            continue
        used = ""
        if intent == "asks":
            odds = log(ASKS_MIN / (1 - ASKS_MIN))
            used = f"; at {ASKS_MIN} {(yes >= odds).mean():.0%} and {(no >= odds).mean():.1%}"
        yield f"{intent}, without {writer} ({len(yes)} of {held.sum()}): {_at(yes, no)}{used}"


def report_kinds(found: Sequence[Sentence], given: Floats) -> Iterator[str]:
    """Yield the same of what is to be kept, and how much of each kind is proposed and carried."""
    kinds = np.array([one.kind for one in found])
    for writer, held in _held(found):
        heads = trained_kinds(given[~held], kinds[~held].tolist())
        likely = likely_kinds(np.array([head.scores(given[held]) for head in heads]).T)
        keeps, its = likely[:, 0] + likely[:, 1], kinds[held]
        wanted = (its == "lasting") | (its == "need")
        if not wanted.any():
            continue
        judged = [judgement(dict(zip(KINDS, map(float, one), strict=True))) for one in likely]
        of = {kind: [one for one, its_kind in zip(judged, its, strict=True) if its_kind == kind] for kind in KINDS}
        used = "; ".join(
            f"{kind} {sum(one is not None for one in some) / len(some):.0%}, {some.count('carry') / len(some):.1%}"
            for kind, some in of.items() if some
        )  # fmt: skip
        yield f"keeps, without {writer} ({wanted.sum()} of {held.sum()}): {_at(keeps[wanted], keeps[~wanted])}; {used}"


def _at(yes: Floats, no: Floats) -> str:
    return "; ".join(f"{(yes > np.quantile(no, 1 - share)).mean():.0%} at {share:.0%}" for share in FALSE_ALARMS)


@click.command()
@click.option("--means", is_flag=True, help="Make the means of both languages anew.")
def main(*, means: bool) -> None:
    found = sentences()
    model = Model(open_weights(files.find()), threads=1)
    if means:
        write_means(model, found)
    given = vectors(model, found)
    written: dict[str, object] = {"model": local_embeddings.MODEL}
    for intent in ("asks", "ends"):
        is_in = np.array([one.is_for(intent) for one in found])
        some = [one for one in found if one.is_for(intent)]
        click.echo("\n".join(report(some, given[is_in], intent)))
        is_so = np.array([float(intent in one.does) for one in some])
        written[intent] = trained(given[is_in], is_so).value()
    click.echo("\n".join(report_kinds(found, given)))
    heads = trained_kinds(given, [one.kind for one in found])
    written["kinds"] = {kind: head.value() for kind, head in zip(KINDS, heads, strict=True)}
    FILE.write_text(json.dumps(written) + "\n", "utf-8")


if __name__ == "__main__":
    main()
