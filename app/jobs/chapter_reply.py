"""Judge a model's reply about a chapter."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from app.core.window.excerpts import Excerpt
from app.jobs.asking import covered_by
from app.jobs.page_reply import TITLE_CHARACTERS, is_in_another_language, one_line_text
from app.providers import UnusableReply

SENTENCE_CHARACTERS = 300


def judge(value: Mapping[str, Any], shown: Sequence[Excerpt]) -> tuple[str, str]:
    """Return the title and the sentence. Raises UnusableReply."""
    covered = covered_by(shown)
    title = one_line_text(value.get("title"), TITLE_CHARACTERS, covered)
    sentence = one_line_text(value.get("sentence"), SENTENCE_CHARACTERS, covered)
    if not title or not sentence:
        raise UnusableReply('"title" and "sentence" must be texts that say what the pages are about')
    if is_in_another_language(f"{title}\n{sentence}", covered):
        raise UnusableReply("the answer must be in the language of the messages")
    return title, sentence
