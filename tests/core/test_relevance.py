"""Whether a result answers a query, and which results are worth showing beside it."""

from typing import NamedTuple

from hypothesis import given
from hypothesis import strategies as st

from app.core.search.relevance import APART, answers, near_best


class Passage(NamedTuple):
    score: float
    coverage: float


scores = st.floats(-20, 40)
passages = st.builds(Passage, score=scores, coverage=st.floats(0, 1.2))


@given(passages, st.floats(0, 10), st.floats(0, 1), st.booleans())
def test_more_evidence_never_makes_a_result_doubtful(one: Passage, score: float, coverage: float, asked: bool) -> None:
    more = Passage(one.score + score, one.coverage + coverage)
    assert answers(one, asked=asked) <= answers(more, asked=asked)
    assert answers(one, asked=False) <= answers(one, asked=True)


@given(st.lists(passages, max_size=8))
def test_what_is_far_below_the_best_falls_out(found: list[Passage]) -> None:
    near = near_best(found)
    assert [one for one in found if one in near] == near
    best = max((one.score for one in found), default=0.0)
    assert all((one.score > best - APART) == (one in near) for one in found)
