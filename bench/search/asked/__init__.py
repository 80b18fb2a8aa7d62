"""Questions and messages as people send them to an assistant, written by hand in English and Chinese."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

_FOLDER = Path(__file__).parent


@dataclass(frozen=True)
class Fact:
    """A fact that somebody stated, and questions about it."""

    lang: str
    fact: str
    same_words: str
    other_words: str
    other_language: str
    answer: str
    lookalike: str
    """Another statement with the same words."""


@dataclass(frozen=True)
class Message:
    """A message that no earlier message answers."""

    lang: str
    kind: str
    text: str


def _rows(name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (_FOLDER / f"{name}.jsonl").read_text("utf-8").splitlines()]


def facts() -> Sequence[Fact]:
    return [Fact(**row) for row in _rows("facts")]


def off_topic() -> Sequence[Message]:
    return [Message(**row) for row in _rows("off_topic")]
