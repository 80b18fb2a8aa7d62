"""The lines and keywords that tools found, as a model reads them."""

from __future__ import annotations

from collections.abc import Sequence

from app.core import wording
from app.core.model import Language
from app.core.neutral import neutral
from app.core.quote import moment_text
from app.services.memory.grepping import Hit, Lines
from app.services.memory.keywords import Keyword


def hit_text(hit: Hit, here: str | None, language: Language) -> str:
    """Format a line for a model; ``here`` is the conversation that asks."""
    role = wording.ON_LINE.say(language, role=hit.role, line=hit.line.number)
    if hit.archive_id is not None:
        at = {"uuid": hit.archive_id, "offset": hit.line.offset}
        role = wording.ON_ARCHIVED_LINE.say(language, role=hit.role, line=hit.line.number, **at)
    elsewhere = None if hit.conversation_id == here else hit.conversation_id
    return moment_text(hit.page or 0, role, hit.line.shown, hit.said_at, elsewhere, language)


def found_title(count: int, found: Lines, language: Language) -> str:
    """Return how many lines are shown of how many, and whether everything was read."""
    if not found.hits:
        return (wording.NO_LINE if found.is_complete else wording.NO_LINE_YET).say(language)
    title = wording.SOME_LINES if found.is_complete else wording.SOME_LINES_YET
    return title.say(language, count=count, total=found.total)


def first_within(tokens: Sequence[int], room: int) -> int:
    """Return how many of the first texts fit, at least one."""
    count = 0
    for count, own in enumerate(tokens):
        room -= own
        if room < 0:
            return max(1, count)
    return len(tokens)


def keywords_text(found: Sequence[Keyword], expanded: str | None, language: Language) -> str:
    text = ", ".join(f"{one.keyword} ({one.type} {one.weight:g})" for one in found)
    return f"{text}\n{wording.EXPANDED.say(language, query=neutral(expanded))}" if expanded else text
