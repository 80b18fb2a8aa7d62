"""Whether a result answers a query."""

from hypothesis import given
from hypothesis import strategies as st

from app.core.search.relevance import ASKS_MIN, TELLING_COVERAGE, answers, needed

scores, shares, odds = st.floats(-20, 40), st.floats(0, 1.2), st.floats(0, 1)


@given(scores, shares, st.floats(0, 10), st.floats(0, 1), odds, odds)
def test_more_evidence_never_makes_a_result_doubtful(
    score: float, coverage: float, more_score: float, more_coverage: float, asks: float, more: float
) -> None:
    assert answers(score, coverage, asks) <= answers(score + more_score, coverage + more_coverage, asks)
    asks, more = sorted((asks, more))
    assert needed(asks) >= needed(more)
    assert answers(score, coverage, asks) <= answers(score, coverage, more)


@given(scores, st.floats(0, ASKS_MIN, exclude_max=True))
def test_what_hardly_asks_is_answered_by_words_alone(score: float, asks: float) -> None:
    assert not answers(score, TELLING_COVERAGE - 0.01, asks)
    assert answers(40.0, TELLING_COVERAGE, asks)
