"""The prompts of jobs: instructions, followed by the material."""

from __future__ import annotations

import json
from collections.abc import Sequence
from importlib.resources import files
from typing import Any

from app.core.model import Language
from app.core.neutral import flat, neutral
from app.core.window.excerpts import Excerpt, framed
from app.prompts import prompt

_WORDS: dict[Language, dict[str, str]] = json.loads(files("app.jobs").joinpath("prompts.json").read_text("utf-8"))
WORDS_PER_TOKEN: dict[Language, float] = {"en": 0.65, "zh": 1.1}
"""Slightly fewer words than a token holds, so that a reply of the requested length fits."""


def page_request(
    excerpts: Sequence[Excerpt], kept: Sequence[str], topics: Sequence[str], last_line: int, language: Language
) -> list[dict[str, Any]]:
    """Return the chat messages that ask for a page's index. ``last_line`` is a ``seq``."""
    words = _WORDS[language]
    parts = [framed(excerpts, language)]
    if kept:
        listed = "\n".join(f"- {flat(memory)}" for memory in kept)
        parts.append(f"{words['kept']}\n<quire-kept>\n{listed}\n</quire-kept>")
    if topics:
        listed = flat("; ".join(topics))
        parts.append(words["topics"].format(f"<quire-topics>{listed}</quire-topics>"))
    parts.append(words["lines"].format(excerpts[0].seq, last_line))
    return _chat(prompt("page", language), "\n\n".join(parts))


def chapter_request(lines: Sequence[Excerpt], language: Language) -> list[dict[str, Any]]:
    """Return the chat messages that ask for a chapter's title."""
    return _chat(prompt("chapter", language), framed(lines, language))


def corrected(request: Sequence[dict[str, Any]], reply: str, error: str, language: Language) -> list[dict[str, Any]]:
    """Return the request with the unusable reply and its faults added."""
    again = {"role": "user", "content": _WORDS[language]["again"].format(error)}
    reply_messages = [{"role": "assistant", "content": reply}] if reply else []
    return [*request, *reply_messages, again]


def summary_request(old: str, excerpts: Sequence[Excerpt], cap: int, language: Language) -> list[dict[str, Any]]:
    parts = [_summary(old)] if old else []
    return _chat(prompt("summary", language), "\n\n".join([*parts, framed(excerpts, language), _length(cap, language)]))


def compress_request(text: str, cap: int, language: Language) -> list[dict[str, Any]]:
    return _chat(prompt("compress", language), f"{_summary(text)}\n\n{_length(cap, language)}")


def _summary(text: str) -> str:
    return f"<quire-summary>\n{neutral(text)}\n</quire-summary>"


def _length(cap: int, language: Language) -> str:
    return _WORDS[language]["length"].format(int(cap * WORDS_PER_TOKEN[language]))


def _chat(system: str, user: str) -> list[dict[str, Any]]:
    return [{"role": "system", "content": system}, {"role": "user", "content": user}]
