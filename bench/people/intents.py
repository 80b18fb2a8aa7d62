"""Train the heads that read what a message does: `python -m bench.people.intents`.

Logistic regression by Newton's method on sentences that people wrote for this purpose, a file for each writer; ``g`` and
``h`` are of everyday messages with neighbours of wishes. A head sees the vector of a text, and which small words it has;
those ``by words`` see words alone, for where there is no vector. It writes ``app/extractive/intents.json``, and
prints how each writer's sentences are read by heads that have not seen them: of even rows, on which everything here was
chosen, and of odd ones. With ``--means`` it also writes the means of both languages into
``app/providers/e5/means.json``, from which every vector is taken: those stored are then of another model.
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import click
import numpy as np
from numpy.typing import NDArray

from app.core.history.judging import judgement
from app.core.search.relevance import ASKS_MIN
from app.core.search.vector_text import query_text
from app.extractive.intents import WORDS_MIN, signs
from app.extractive.wishes import HOLDS_MIN
from app.providers import local_embeddings
from app.providers.e5 import files
from app.providers.e5.centring import centred, language_of
from app.providers.e5.model import Model
from app.providers.e5.weights import open_weights
from bench.search import asked

SENTENCES = Path(__file__).with_name("sentences")
APP = Path(__file__).parents[2] / "app"
FILE, MEANS = APP / "extractive/intents.json", APP / "providers/e5/means.json"
RIDGE = 1e-3
"""The pull of weights towards 0, per sentence. Half and double of it change the report by a point."""
TEXTS_MIN, WRITERS_MIN = 6, 3
"""A word in fewer sentences than this, or of fewer writers, is a peculiarity of these and ignored."""
SIGN_MIN = 0.03
"""Smaller weights of words are left out, because they change no decision."""
PASSAGES_STEP = 8
"""The mean of passages is computed from every eighth sentence, which is exact enough."""
STEPS, DESCENTS = 9, 40
"""Steps of Newton's method, more than it needs to converge, and steps of conjugate gradients for each."""
CONVERGED = 1e-9
SCALE = 3.0
"""The factor of vectors after subtraction of their mean, so that words and components have similar weights."""
FALSE_ALARMS = (0.03, 0.1)
OF_MEANS = "abcdef"
"""The writers from whose sentences the means of both languages are computed."""
EVERYDAY = "gh"
"""The writers whose sentences are not labelled for asking; their halves are left out in turn."""
INTENTS = ("asks", "ends", "keeps", "need")
KINDS = ("lasting", "need", "bounded", "ends", "asks", "none")
"""The kinds in the report. A sentence counts as the first that applies."""

Floats = NDArray[np.floating]


@dataclass(frozen=True)
class Sentence:
    text: str
    writer: str
    does: frozenset[str]

    @property
    def kind(self) -> str:
        return next((kind for kind in KINDS if kind in self.does), KINDS[-1])

    @cached_property
    def signs(self) -> set[str]:
        return signs(self.text)

    def is_for(self, intent: str) -> bool:
        return intent != "asks" or self.writer[0] not in EVERYDAY

    def has(self, intent: str) -> bool:
        return not self.does.isdisjoint(("lasting", "need")) if intent == "keeps" else intent in self.does


def sentences() -> list[Sentence]:
    found: list[Sentence] = []
    for file in sorted(SENTENCES.glob("*.jsonl")):
        rows = map(json.loads, file.read_text("utf-8").splitlines())
        for number, row in enumerate(rows):
            writer = f"{file.stem} {number % 2}" if file.stem in EVERYDAY else file.stem
            found.append(Sentence(row["text"], writer, frozenset(row["does"].split())))
    for number, fact in enumerate(asked.facts()):
        questions = (fact.same_words, fact.other_words, fact.other_language)
        found += [Sentence(text, f"facts {number % 2}", frozenset({"asks"})) for text in questions]
    for number, message in enumerate(asked.off_topic()):
        found.append(Sentence(message.text, f"off topic {number % 2}", frozenset()))
    return found


def write_means(model: Model, found: Sequence[Sentence]) -> None:
    texts = [one.text for one in found if one.writer in OF_MEANS or one.writer[:2] in ("fa", "of")]
    languages = [language_of(text) for text in texts]
    queries = np.array([model.query(query_text(text)) for text in texts])
    passages = np.array([model.passage(f"user: {text}") for text in texts[::PASSAGES_STEP]])
    means = {"query": _means(queries, languages), "passage": _means(passages, languages[::PASSAGES_STEP])}
    MEANS.write_text(json.dumps(means) + "\n", "utf-8")


def vectors(model: Model, texts: Sequence[str]) -> Floats:
    """Return the vectors of queries as the service makes them."""
    return np.array([centred(model.query(query_text(one)), one, "query") for one in texts], np.float32)


def _means(rows: NDArray[np.float64], languages: Sequence[str]) -> dict[str, list[float]]:
    own = {one: rows[np.array(languages) == one].mean(axis=0) for one in ("en", "zh")}
    return {language: [float(f"{one:.4g}") for one in mean] for language, mean in own.items()}


# --- A head ---------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Trained:
    """A trained head, on vectors without their mean and on common words."""

    mean: Floats
    known: Sequence[str]
    weights: Floats
    """The weights of the vector's components and of the words, and the bias."""

    def probabilities(self, given: Floats, said: Sequence[set[str]]) -> Floats:
        return _likely(_rows(given - self.mean, said, self.known) @ self.weights)

    def value(self) -> dict[str, object]:
        """Return the head for the file, converted for vectors with their mean."""
        parts = SCALE * self.weights[: len(self.mean)]
        bias = float(self.weights[-1]) - float(parts @ self.mean)
        words = zip(self.known, self.weights[len(self.mean) : -1].tolist(), strict=True)
        return {
            "bias": round(bias, 3),
            "parts": [float(f"{one:.4g}") for one in parts.tolist()],
            "signs": {sign: round(weight, 2) for sign, weight in words if abs(weight) >= SIGN_MIN},
        }


def trained(given: Floats, found: Sequence[Sentence], intent: str) -> Trained:
    mean = given.mean(axis=0)
    known = common(found)
    rows = _rows(given - mean, [one.signs for one in found], known)
    is_so = np.array([one.has(intent) for one in found], np.float32)
    ridge = np.full(rows.shape[1], RIDGE * len(rows), np.float32)
    ridge[-1] = 1e-3  # hardly pulls the bias
    head = np.zeros(rows.shape[1], np.float32)
    for _ in range(STEPS):
        likely = _likely(rows @ head)
        head -= _step(rows, likely * (1 - likely), ridge, rows.T @ (likely - is_so) + ridge * head)
    return Trained(mean, known, head)


def _likely(scores: Floats) -> Floats:
    likely: Floats = 1 / (1 + np.exp(-scores))
    return likely


def _step(rows: Floats, bends: Floats, ridge: Floats, slope: Floats) -> Floats:
    """Return a step of Newton's method, by conjugate gradients with a diagonal preconditioner."""
    scale = 1 / (ridge + bends @ rows**2)
    step, rest = np.zeros_like(slope), slope
    along = ahead = scale * rest
    for _ in range(DESCENTS):
        bent = rows.T @ (bends * (rows @ along)) + ridge * along
        if (size := rest @ ahead) < CONVERGED:
            break
        share = size / (along @ bent)
        step, rest = step + share * along, rest - share * bent
        ahead = scale * rest
        along = ahead + (rest @ ahead) / size * along
    return step


def common(found: Sequence[Sentence]) -> list[str]:
    """Return the signs that are common among the sentences of several writers."""
    counts: Counter[str] = Counter()
    by: defaultdict[str, set[str]] = defaultdict(set)
    for one in found:
        counts.update(one.signs)
        for sign in one.signs:
            by[sign].add(one.writer)
    return sorted(sign for sign, count in counts.items() if count >= TEXTS_MIN and len(by[sign]) >= WRITERS_MIN)


def _rows(parts: Floats, said: Sequence[Collection[str]], known: Sequence[str]) -> Floats:
    place = {sign: at for at, sign in enumerate(known)}
    words = np.zeros((len(said), len(known)), np.float32)
    for row, one in zip(words, said, strict=True):
        row[[place[sign] for sign in one if sign in place]] = 1.0
    return np.concatenate([parts * np.float32(SCALE), words, np.ones((len(said), 1), np.float32)], axis=1)


# --- The report -----------------------------------------------------------------------------------------


def report(found: Sequence[Sentence], given: Floats, intent: str, used: float | None = None) -> Iterator[str]:
    """Yield a line for each writer, judged by a head that has not seen their sentences.

    ``used``: the probability from which the service takes a message for one.
    """
    for writer, own in _left_out(found):
        its = [found[at] for at in own]
        likely = _unseen(found, given, own, intent)
        halves = []
        for name, half in (("even", slice(0, None, 2)), ("odd", slice(1, None, 2))):
            is_so = np.array([one.has(intent) for one in its[half]])
            yes, no = likely[half][is_so], likely[half][~is_so]
            if len(yes) and len(no):
                at = f"; at {used} {(yes >= used).mean():.0%} and {(no >= used).mean():.1%}" if used else ""
                halves.append(f"{name} {_at(yes, no)}{at}")
        if halves:
            count = sum(one.has(intent) for one in its)
            yield f"{intent}, without {writer} ({count} of {len(its)}): {'; '.join(halves)}"


def report_kept(found: Sequence[Sentence], given: Floats) -> Iterator[str]:
    """Yield for each kind how many sentences become memories, and how many hold everywhere."""
    for writer, own in _left_out(found):
        its = [found[at] for at in own]
        keeps, need = (_unseen(found, given, own, intent) for intent in ("keeps", "need"))
        judged = [
            judgement({"keeps": float(one), "need": float(other)}) for one, other in zip(keeps, need, strict=True)
        ]
        of = {kind: [one for one, its_own in zip(judged, its, strict=True) if its_own.kind == kind] for kind in KINDS}
        used = "; ".join(
            f"{kind} {sum(one is not None for one in some) / len(some):.0%}, {some.count('carry') / len(some):.1%}"
            for kind, some in of.items() if some
        )  # fmt: skip
        yield f"kept and carried, without {writer}: {used}"


def _left_out(found: Sequence[Sentence]) -> Iterator[tuple[str, NDArray[np.intp]]]:
    """Yield each writer, or half, with the indices of their sentences."""
    writers = np.array([one.writer for one in found])
    for writer in dict.fromkeys(one.writer for one in found):
        yield writer, np.flatnonzero(writers == writer)


def _unseen(found: Sequence[Sentence], given: Floats, own: NDArray[np.intp], intent: str) -> Floats:
    is_own = np.zeros(len(found), bool)
    is_own[own] = True
    seen = [at for at, one in enumerate(found) if not is_own[at] and one.is_for(intent)]
    head = trained(given[seen], [found[at] for at in seen], intent)
    return head.probabilities(given[own], [found[at].signs for at in own])


def _at(yes: Floats, no: Floats) -> str:
    return ", ".join(f"{(yes > np.quantile(no, 1 - share)).mean():.0%} at {share:.0%}" for share in FALSE_ALARMS)


@click.command()
@click.option("--means", is_flag=True, help="Make the means of both languages anew.")
def main(*, means: bool) -> None:
    found = sentences()
    model = Model(open_weights(files.find()), threads=1)
    if means:
        write_means(model, found)
    given = vectors(model, [one.text for one in found])
    without = np.zeros((len(found), 0), np.float32)
    written: dict[str, object] = {"model": local_embeddings.MODEL}
    for name, intent, parts, used in (
        *((one, one, given, ASKS_MIN if one == "asks" else None) for one in INTENTS),
        ("asks by words", "asks", without, WORDS_MIN),
        ("keeps by words", "keeps", without, HOLDS_MIN),
    ):
        places = [at for at, one in enumerate(found) if one.is_for(intent)]
        some = [found[at] for at in places]
        click.echo("\n".join(f"{name}: {line}" for line in report(some, parts[places], intent, used)))
        written[name] = trained(parts[places], some, intent).value()
    click.echo("\n".join(report_kept(found, given)))
    FILE.write_text(json.dumps(written, ensure_ascii=False) + "\n", "utf-8")


if __name__ == "__main__":
    main()
