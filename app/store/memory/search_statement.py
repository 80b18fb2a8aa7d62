"""The statement that searches the memories of owners: it scores every row and finds the best.

Every memory and every vector of the owners is read, from covering indexes only. Further work on each row is the larger
part of the cost, so it is kept small: most memories have no word of the query, and of these only vectors that can
still be among the best, or count as found, are kept.

Of owners with an index (``app.jobs.search_index``) only candidates are read. They are scored in the same way, so
memories that are erased, expired or out of view are never found, whatever the index contains.
"""

from __future__ import annotations

from collections.abc import Mapping

from app.core.search import relevance
from app.postgres.statements import SqlFile, Statement
from app.store.memory.narrowing import IS_OWN
from app.text.bm25 import ASKING, DIMENSIONS, ONLY_ASKS

RECENT = 1_000
"""The number of newest memories, equally many of each owner, that show how common words and how close vectors are."""
RECENT_FOR_MEAN = 250
"""The number of these that show what all vectors have in common; more would change it by hundredths."""
# The bounds of raising scores by the turns around a message and by names in the query: see the piece ``lifting``, and
# core.search.relevance.
LOOKED_AT = 400
"""The number of best memories that neighbours can lift. It is the same for every limit, so that no score depends on
the limit.
"""
SILENT_MAX = 60
"""The number of best memories whose neighbours join them without a word of the query. Neighbours get a lower score than
these, so the neighbours of other memories would not be among the results.
"""
ALL_WORDS = 0.6
"""The coverage from which a memory of any length counts as having all of the query's words. It is the answer itself, so
its neighbours need not join it.
"""
ARCHIVE_PASSAGES = 3
"""The most passages of one archive among the results, which a log that repeats the query's words would fill."""

PART_MAX, POSTED_MAX = 0.05, 2_000
"""The largest share and number of memories that the query's rarest words find together; twice that without vectors."""
LISTS, NEAR = 24, 500
"""The number of lists of vectors that are read, and of the nearest vectors in them: more than LOOKED_AT."""

_SQL = SqlFile(
    __file__,
    dimensions=DIMENSIONS,
    int_max=2**31 - 2,
    recent=RECENT,
    looked_at=LOOKED_AT,
    silent_max=SILENT_MAX,
    posted_max=POSTED_MAX,
    is_own=IS_OWN,
    is_wide="true",
    all_words=ALL_WORDS,
    archive_passages=ARCHIVE_PASSAGES,
    asking_terms=ASKING,
    only_asks_terms=ONLY_ASKS,
    only_asks_less=relevance.ONLY_ASKS_LESS,
    telling_coverage=relevance.TELLING_COVERAGE,
    words=relevance.WORDS,
    chance=relevance.CHANCE,
    common=relevance.COMMON,
    few=relevance.FEW,
    per_closeness=relevance.WORDS * relevance.COVERAGE_PER_CLOSENESS,
    long_terms=relevance.LONG_TERMS,
    shared_words=relevance.SHARED_WORDS,
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
"""Conditions on a memory's place, as named SQL."""


ALL = {"candidates": "", "all_of": ":owners", "read_memories": "{all_memories}", "read_vectors": "{all_vectors}"}
"""Read all memories of the owners in the searched time, because none has an index."""


def candidates(part_max: float = PART_MAX, lists: int = LISTS, near: int = NEAR) -> dict[str, object]:
    """Return how to read candidates of owners with an index, and all memories of the others."""
    return {
        "candidates": "{looked_up} ", "all_of": ":scanned", "read_memories": "{candidate_memories}", "near": near,
        "read_vectors": "{candidate_vectors}", "compared_ids": "{best_worded}", "part_max": part_max, "lists": lists,
        "is_wide": ":conversation_uid::uuid IS NULL",
    }  # fmt: skip


WITHIN = candidates() | {"candidates": "{within} ", "compared_ids": "SELECT id FROM candidates", "is_wide": "false"}
"""Read all memories to which a search is narrowed."""


def without_vectors(place: str, read: Mapping[str, object]) -> Statement:
    """Return the search by words: only memories with one of the query's words and their neighbours are scored."""
    how = {
        "compared": "", "by_meaning": "", "joined": "{no_vectors}", "is_close": "false", "nearest_vectors": "",
        "words_min": 1, "shares": 2, "of_silent": "{silent} ", "of_silent_turns": "{silent_turns}",
    }  # fmt: skip
    return _SQL.statement("search", on_place=place, **how, **read)


def with_vectors(place: str, read: Mapping[str, object]) -> Statement:
    newest = {
        "newest_for_mean": _SQL.piece("newest", vectors=RECENT_FOR_MEAN),
        "newest_for_spread": _SQL.piece("newest", vectors=RECENT),
    }
    how = {
        "compared": "{how_compared} ", "by_meaning": "{closeness} ", "joined": "{vectors}",
        "is_close": "closeness >= (SELECT least FROM closeness)", "nearest_vectors": "{nearest}", "words_min": 0,
        "shares": 1, "of_silent": "", "of_silent_turns": "",
    }  # fmt: skip
    return _SQL.statement("search", on_place=place, **newest, **how, **read)


STATEMENTS = {
    (read, is_on_line): (without_vectors(place, how), with_vectors(place, how))
    for read, how in (("all", ALL), ("indexed", candidates()), ("within", WITHIN))
    for is_on_line, place in ((False, IN_CONVERSATION), (True, ON_LINE))
}
"""The statements by words, and by words and meaning, by what they read and whether a line of a tree asks."""
BY_WORDS, SEARCH = STATEMENTS["all", False]
ARE_FEW = _SQL.statement("are_few")
