"""Quire's local model behind an embedding API, for peers that know APIs only: `fake_openai --embed`.

A request for the model `query` embeds questions, one for `prefixed` what a text's prefix says, any other passages: the
model reads them differently. Passages are kept, since several peers store the same ones; questions are not, so that
each peer waits for its own.
"""

from functools import cache
from typing import Any

from app.providers.e5 import files, weights
from app.providers.e5.model import Model
from tests.providers.fake_openai import texts_of

THREADS = 1
"""The number of threads, as in Quire."""


def vectors(request: dict[str, Any]) -> list[list[float]]:
    found = [of_kind(str(request.get("model")), text) for text in texts_of(request)]
    return [_loaded().query(text) if kind == "query" else _passage(text) for kind, text in found]


def of_kind(model: str, text: str) -> tuple[str, str]:
    """Return `query` or another kind, and the text without a prefix that marks it."""
    kind, _, rest = text.partition(":")
    return (kind, rest.lstrip()) if model == "prefixed" else (model, text)


@cache
def _passage(text: str) -> list[float]:
    return _loaded().passage(text)


@cache
def _loaded() -> Model:
    return Model(weights.open_weights(files.find()), THREADS)
