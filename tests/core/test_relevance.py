"""Whether a query is answered: surer with better passages, more that is known, and fewer memories to choose from."""

from hypothesis import given
from hypothesis import strategies as st

from app.core.relevance import Scored, confidence, is_worth_it, needed

scores = st.floats(-20, 40)
shares = st.floats(0, 1)
weights = st.floats(1, 1.5)
scored = st.builds(Scored, score=scores, own=scores, coverage=shares, is_elsewhere=st.booleans())
some = st.lists(scored, min_size=1, max_size=5)


@given(some, scored, shares, shares, weights)
def test_more_evidence_never_lowers_the_confidence(
    found: list[Scored], more: Scored, known: float, other: float, weight: float
) -> None:
    low, high = sorted((known, other))
    assert confidence(found, low, weight) <= confidence(found, high, weight)
    assert confidence(found, known, weight) <= confidence([*found, more], known, weight)
    assert confidence([], known, weight) == float("-inf")


@given(st.integers(0, 2000), st.integers(0, 2000), weights, st.integers(0, 200))
def test_more_memories_need_more_confidence_and_a_long_query_less(
    memories: int, others: int, weight: float, terms: int
) -> None:
    few, many = sorted((memories, others))
    assert 0 < needed(few, weight, terms) <= needed(many, weight, terms)
    assert needed(few, weight, terms + 100) <= needed(few, weight, terms)


@given(scores, shares, st.floats(0.1, 10))
def test_a_passage_of_another_conversation_must_be_clearly_better(score: float, coverage: float, least: float) -> None:
    here = is_worth_it(Scored(score, score, coverage, is_elsewhere=False), least)
    there = is_worth_it(Scored(score, score, coverage, is_elsewhere=True), least)
    assert here >= there
    assert here == (score > 0)
    assert not is_worth_it(Scored(least / 4, least, coverage, is_elsewhere=True), least)
