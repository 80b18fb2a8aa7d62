"""Analyse the texts of an append without a model."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from uuid import UUID

from app.core.dialects.proxy import newest_user_text
from app.core.encoded import marked
from app.core.history.erasure_plan import StoredMessage
from app.core.history.ingest import AnsweredCall, Placement
from app.core.history.placeholder import ArchiveCard
from app.core.history.preparation import LinesOfMessage, Passage
from app.core.model import PEOPLE, Language
from app.core.neutral import neutral
from app.core.parts import said_by
from app.extractive.calls import call_line, nameless
from app.extractive.chapters import words_told
from app.extractive.lines import greets, line_of, line_of_shape, message_line, read, result_line, title_of
from app.extractive.parts import best_parts
from app.extractive.shapes import examine
from app.extractive.subjects import subjects_of_page
from app.extractive.wishes import wishes_of
from app.services.memory.archiving import make_card, vectors
from app.text.language import language

TOPICS_MAX = 3
"""The most topics of a page."""
SCAN_MAX = 20_000
"""Characters of a message that are read to write its line."""


class ExtractiveReader:
    """The ``TextReader`` of ``core.history.preparation``."""

    def language(self, text: str) -> Language:
        return language(text)

    def lines(self, placement: Placement, line: str | None) -> LinesOfMessage:
        found = self._lines(placement, line)
        return found.of(placement.draft.name) if placement.author == "participant" else found

    def _lines(self, placement: Placement, line: str | None) -> LinesOfMessage:
        draft = placement.draft
        if not placement.opens_page and placement.seq != 1:
            line = line or _line(placement)
            return LinesOfMessage(line, words=_words(placement, line))
        opening = read("user", draft.text[:SCAN_MAX])
        is_persons = placement.author in PEOPLE
        is_read = is_persons and 0 < len(draft.text) <= SCAN_MAX and not placement.answers
        line = line_of(opening) if is_read else line or _line(placement)
        wishes = wishes_of(draft.text[:SCAN_MAX], opening.blocks.prose) if is_persons and opening.blocks else ()
        return LinesOfMessage(
            line=line,
            words=_words(placement, line),
            is_greeting=greets(opening),
            title=title_of(opening) if is_persons or draft.role != "user" else "",
            wishes=tuple(wishes),
        )

    def greets(self, text: str) -> bool:
        """Return whether a text only greets, agrees or introduces its speaker."""
        return greets(read("user", text))

    def card(self, uuid: UUID, answer: AnsweredCall, language: Language, now: datetime) -> tuple[ArchiveCard, str]:
        call, text, seen = answer.call, answer.result.text, examine(marked(answer.result.text))
        return make_card(uuid, call.name, call.arguments, text, seen, (), language, now), line_of_shape(call.name, seen)

    def passages(self, text: str, speaker: str | None) -> list[Passage]:
        return vectors(text, speaker=speaker)

    def parts(self, text: str, question: str, characters_max: int) -> list[tuple[int, int]]:
        return best_parts(text, question, characters_max)

    def topics(self, title: str, lines: Sequence[tuple[str, str]]) -> list[str]:
        return [neutral(topic) for topic in subjects_of_page(title, lines, TOPICS_MAX)]


READER = ExtractiveReader()


def titles_of(messages: Iterable[StoredMessage]) -> list[str]:
    """Return the titles that messages can give to their conversation. (Its first request is no page's title if an
    assistant's greeting opened the page.)
    """
    found = []
    for said in (message.shown for message in messages):
        if (text := newest_user_text(said)) is not None:
            title = neutral(title_of(read("user", marked(text)[:SCAN_MAX])))
            found += [title, said_by(said[0].get("name"), title)]
    return [title for title in found if title]


def _words(placement: Placement, line: str) -> str:
    """Return the words that can name a subject, without names of tools and arguments, which every chapter repeats."""
    text = placement.draft.text
    is_said = text.strip() and not placement.answers
    return " ".join(words_told(text if is_said else nameless(line)))


def _line(placement: Placement) -> str:
    draft = placement.draft
    if placement.answers:
        answer = placement.answers[0]
        return result_line(answer.call.name, marked(answer.result.text))
    if draft.calls and not draft.text.strip():
        return ", ".join(call_line(call.name, marked(call.arguments)) for call in draft.calls[:3])
    text = draft.text or "\n".join(marked(result.text) for result in draft.results)
    return message_line(draft.role, text)
