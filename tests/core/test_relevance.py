"""Whether a query is answered: surer with better passages, more that is known, and fewer memories to choose from."""

from typing import NamedTuple

from hypothesis import given
from hypothesis import strategies as st

from app.core.search.relevance import (
    NOTHING,
    confidence,
    is_foreign,
    is_worth_it,
    judged,
    known,
    meaning,
    needed,
    recalled,
)


class Passage(NamedTuple):
    own: float
    coverage: float


scores = st.floats(-20, 40)
shares = st.floats(0, 1)
weights = st.floats(1, 1.5)
passages = st.builds(Passage, own=scores, coverage=shares)
some = st.lists(passages, min_size=1, max_size=5)


@given(some, passages, shares, shares, weights)
def test_more_evidence_never_lowers_the_confidence(
    found: list[Passage], more: Passage, one: float, other: float, weight: float
) -> None:
    low, high = sorted((one, other))
    assert confidence(found, low, weight) <= confidence(found, high, weight)
    assert confidence(found, low, weight) <= confidence([*found, more], low, weight)
    assert confidence([], low, weight) == float("-inf")
    assert low <= known(found, low) <= known([*found, more], low) <= 1


@given(st.integers(0, 2000), st.integers(0, 2000), weights, st.integers(0, 200), shares)
def test_more_memories_need_more_confidence_and_a_long_query_less(
    memories: int, others: int, weight: float, terms: int, part: float
) -> None:
    few, many = sorted((memories, others))
    assert 0 < needed(few, weight, terms, part) <= needed(many, weight, terms, part)
    assert needed(few, weight, terms + 100, part) <= needed(few, weight, terms, part)
    assert needed(few, weight, terms, part) <= needed(few, weight, terms, 0.0)


@given(scores, st.floats(0.1, 10))
def test_a_passage_of_another_conversation_must_be_clearly_better(score: float, least: float) -> None:
    here = is_worth_it(score, least, is_elsewhere=False)
    there = is_worth_it(score, least, is_elsewhere=True)
    assert here >= there
    assert here == (score > 0)
    assert not is_worth_it(least / 4, least, is_elsewhere=True)


@given(scores, scores, st.integers(0, 2000), weights, st.integers(0, 200), shares)
def test_the_surer_an_answer_is_the_more_is_recalled(
    confident: float, other: float, memories: int, weight: float, terms: int, part: float
) -> None:
    least = needed(memories, weight, terms, part)
    less, more = (recalled(one, least, weight) for one in sorted((confident, other)))
    assert less.passages <= more.passages
    assert less.passages != more.passages or less.tokens <= more.tokens
    assert recalled(least - 2 * weight * weight, least, weight) == NOTHING
    assert recalled(least - weight * weight / 2, least, weight).passages == 1
    assert recalled(confident, least, weight, is_dated=True) != NOTHING
    assert recalled(confidence([], 1, weight), least, weight, is_dated=True) == NOTHING


@given(st.integers(1, 500), st.integers(1, 500))
def test_chinese_and_english_are_foreign_to_each_other_and_not_to_themselves(han: int, latin: int) -> None:
    assert is_foreign(meaning(han, 0), meaning(0, latin))
    assert not is_foreign(meaning(han, 0), meaning(latin, 0))
    assert not is_foreign(meaning(0, latin), meaning(0, han))


@given(st.lists(passages, max_size=5), shares, st.integers(0, 2000), weights, st.integers(0, 200))
def test_what_is_shown_is_judged_by_what_is_known(
    found: list[Passage], part: float, memories: int, weight: float, terms: int
) -> None:
    shown, least = judged(found, part, memories, weight, terms)
    assert least == needed(memories, weight, terms, known(found, part))
    assert (shown == NOTHING) == (recalled(confidence(found, known(found, part), weight), least, weight) == NOTHING)
