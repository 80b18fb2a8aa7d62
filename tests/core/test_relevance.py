"""Whether a result answers a query."""

from hypothesis import given
from hypothesis import strategies as st

from app.core.search.relevance import answers

scores, shares = st.floats(-20, 40), st.floats(0, 1.2)


@given(scores, shares, st.floats(0, 10), st.floats(0, 1), st.booleans())
def test_more_evidence_never_makes_a_result_doubtful(
    score: float, coverage: float, more_score: float, more_coverage: float, asked: bool
) -> None:
    assert answers(score, coverage, asked=asked) <= answers(score + more_score, coverage + more_coverage, asked=asked)
    assert answers(score, coverage, asked=False) <= answers(score, coverage, asked=True)
