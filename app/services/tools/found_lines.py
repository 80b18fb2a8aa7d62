"""Lines and keywords that tools found, in the form that models read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from app.core import wording
from app.core.line import is_here
from app.core.model import Language
from app.core.neutral import neutral, titled
from app.core.window.quote import day_heading, memories_text, passage_line, passage_text, who
from app.services.memory.grepping import GrepHit, GrepLines
from app.services.memory.hits import SearchHit
from app.services.memory.keywords import Keyword
from app.services.memory.searching import SearchOutcome

QUERY_SHOWN = 100
"""Characters of a query that found nothing."""


def hit_text(hit: GrepHit, here: str | None, language: Language) -> str:
    """Format a line for a model. ``here`` is the conversation that asks."""
    role = wording.ON_LINE.say(language, role=who(hit.role, hit.name), line=hit.line.number)
    if hit.archive_id is not None:
        at = {"uuid": hit.archive_id, "offset": hit.line.offset}
        role = wording.ON_ARCHIVED_LINE.say(language, role=hit.role, line=hit.line.number, **at)
    elsewhere = None if is_here(here, hit.conversation_id) else hit.conversation_id
    return passage_text(hit.page or 0, role, hit.line.shown, hit.said_at, elsewhere, language)


def search_text(found: SearchOutcome, shown: Sequence[Mapping[str, Any]], here: str | None, language: Language) -> str:
    """Format a search's results, given as values in ``shown``, and name the queries that found nothing."""
    lines = []
    for hit, one in zip(found.hits, shown, strict=True):
        key = f"(memory_key {one['memory_key']}, {one['relevance_score']})"
        lines.append((hit, f"{found_line(hit, one['content_preview'], language)} {key}"))
    title = wording.SOME_OF.say(language, count=len(lines), total=found.total)
    text = passages_text(title + wording.lacking(found.warnings, language), lines, here, language)
    if not found.unanswered:
        return text
    named = wording.LIST_SEPARATOR.say(language).join(titled(query[:QUERY_SHOWN]) for query in found.unanswered)
    return f"{text}\n{wording.NOT_FOUND.say(language, queries=named)}"


def passages_text(title: str, found: Sequence[tuple[SearchHit, str]], here: str | None, language: Language) -> str:
    """Quote search results for a model, by day. ``found`` has each result's line from ``found_line``."""
    told: dict[tuple[str | None, str], list[str]] = {}
    for hit, line in sorted(found, key=lambda one: one[0].told):
        told.setdefault((hit.elsewhere(here), hit.day), []).append(line)
    days = {day for _, day in told}
    newest = max(days) if len(days) > 1 else None
    lines = []
    for (elsewhere, day), said in told.items():
        lines += [day_heading(day, elsewhere, language, is_newest=day == newest), *said]
    return memories_text(title, lines)


def found_line(found: SearchHit, text: str, language: Language) -> str:
    """Format a memory for a model: page, speaker, text and the number of older ones that say the same."""
    more = wording.MORE_LIKE_IT.say(language, count=found.similar) if found.similar else ""
    doubt = wording.DOUBTFUL.say(language) if found.is_doubtful else ""
    return passage_line(found.hit.page or 0, found.role, text, found.name) + more + doubt


def found_title(count: int, found: GrepLines, language: Language) -> str:
    """Return a heading: how many of the found lines are shown, and whether everything was read."""
    if not found.hits:
        return (wording.NO_LINE if found.is_complete else wording.NO_LINE_YET).say(language)
    title = wording.SOME_LINES if found.is_complete else wording.SOME_LINES_YET
    return title.say(language, count=count, total=found.total)


def first_within(tokens: Sequence[int], room: int) -> int:
    """Return how many of the first texts fit; at least one."""
    count = 0
    for count, own in enumerate(tokens):
        room -= own
        if room < 0:
            return max(1, count)
    return len(tokens)


def keywords_text(found: Sequence[Keyword], expanded: str | None, language: Language) -> str:
    listed = [wording.KEYWORD.say(language, keyword=o.keyword, type=o.type, weight=f"{o.weight:g}") for o in found]
    text = wording.LIST_SEPARATOR.say(language).join(listed)
    return f"{text}\n{wording.EXPANDED.say(language, query=neutral(expanded))}" if expanded else text
