"""The statement that searches the memories of owners: how every row is scored, and the best are found.

Every memory and every vector of the owners is read, in covering indexes alone. What happens to a row after that is the
larger part of the cost, so little does: most memories have no word of the query, and of these only a vector that could
still be among the best, or count as found, is kept.
"""

from __future__ import annotations

from app.core.search import relevance
from app.postgres.statements import SqlFile, Statement
from app.text.bm25 import ASKING, DIMENSIONS

RECENT = 1_000
"""The newest memories, of each owner as many, which tell how common words are and how close vectors."""
RECENT_FOR_MEAN = 250
"""So many of them show what all vectors have in common; more change it by hundredths."""
# What a search looks at to raise a score by the turns around a message, and by what a query names: the piece
# ``lifting``, and core.search.relevance.
LOOKED_AT, LOOKED_AT_EACH = 300, 6
"""The best memories before neighbours count, and more for each requested one: a memory below all of these is not lifted
into the results.
"""
SILENT_MAX = 60
"""The best memories, of those that are requested, whose neighbours join them without a word of the query. Neighbours
earn less than these have, so those of the others would not be among the results.
"""
ALL_WORDS = 0.6
"""The coverage of a memory that has all of the query's words, however long it is. It is what the words ask for, and its
neighbours need not join it.
"""
ARCHIVE_PASSAGES = 3
"""Passages of one archive among the results: a log that has the query's words everywhere would fill them."""

_SQL = SqlFile(
    __file__,
    dimensions=DIMENSIONS,
    recent=RECENT,
    looked_at=LOOKED_AT,
    looked_at_each=LOOKED_AT_EACH,
    silent_max=SILENT_MAX,
    all_words=ALL_WORDS,
    archive_passages=ARCHIVE_PASSAGES,
    asking_terms=ASKING,
    words=relevance.WORDS,
    chance=relevance.CHANCE,
    common=relevance.COMMON,
    few=relevance.FEW,
    per_closeness=relevance.WORDS * relevance.COVERAGE_PER_CLOSENESS,
    closeness_per_coverage=relevance.CLOSENESS_PER_COVERAGE,
    closeness_usual_max=relevance.CLOSENESS_USUAL_MAX,
    messages_a_page=relevance.DIALOGUE_MESSAGES_A_PAGE,
    spoken=relevance.SPOKEN,
    neighbour=relevance.NEIGHBOUR,
    next_but_one=relevance.NEXT_BUT_ONE,
    around=relevance.AROUND,
    around_turns=relevance.AROUND_TURNS,
)
IN_CONVERSATION, ON_LINE = _SQL.piece("in_conversation"), _SQL.piece("on_line")
"""Conditions of a memory's place; named SQL."""


def _without_vectors(place: str) -> Statement:
    """Return the search by words: only memories with one of the query's are scored, and their neighbours join them."""
    silent = {"silent": _SQL.piece("silent", on_place=place) + " ", "silent_turns": _SQL.piece("silent_turns")}
    joined = _SQL.piece("no_vectors")
    return _SQL.statement("search", on_place=place, by_meaning="", joined=joined, is_close="false", **silent)


def _with_vectors(place: str) -> Statement:
    newest = {
        "newest_for_mean": _SQL.piece("newest", vectors=RECENT_FOR_MEAN),
        "newest_for_spread": _SQL.piece("newest", vectors=RECENT),
    }
    by_meaning, joined = _SQL.piece("closeness", **newest) + " ", _SQL.piece("vectors")
    is_close = "closeness >= (SELECT least FROM closeness)"
    return _SQL.statement(
        "search", on_place=place, by_meaning=by_meaning, joined=joined, is_close=is_close, silent="", silent_turns=""
    )


BY_WORDS, SEARCH = _without_vectors(IN_CONVERSATION), _with_vectors(IN_CONVERSATION)
BY_WORDS_ON_LINE, SEARCH_ON_LINE = _without_vectors(ON_LINE), _with_vectors(ON_LINE)
