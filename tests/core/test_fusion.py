"""Each memory counts with its best score, and an expansion displaces no result of the query itself."""

from dataclasses import dataclass

from hypothesis import given
from hypothesis import strategies as st

from app.core.search.fusion import KEPT, fused, in_turns
from app.core.search.relevance import relevance


@dataclass(frozen=True)
class Result:
    key: int
    score: float


RESULTS = st.lists(st.builds(Result, st.integers(0, 20), st.floats(-5, 20)), max_size=10).map(
    lambda results: sorted(results, key=lambda result: -result.score)
)


@given(st.lists(RESULTS, min_size=1, max_size=6))
def test_of_each_memory_the_best_score_counts(lists: list[list[Result]]) -> None:
    best: dict[int, float] = {}
    for result in (one for results in lists for one in results):
        best[result.key] = max(result.score, best.get(result.key, result.score))
    found = fused(lists)
    assert {result.key: result.score for result in found} == best
    assert [result.score for result in found] == sorted(best.values(), reverse=True)


@given(RESULTS, RESULTS, st.integers(1, 10))
def test_an_expansion_never_pushes_out_what_the_query_finds(own: list[Result], more: list[Result], limit: int) -> None:
    relevant = [result.key for result in fused([own]) if relevance(result.score) >= KEPT]
    assert [result.key for result in fused([own], more)][:limit][: len(relevant)] == relevant[:limit]
    assert {result.key for result in fused([own], more)} == {result.key for result in [*own, *more]}


@given(st.lists(RESULTS, min_size=1, max_size=4))
def test_questions_take_turns_and_each_memory_stands_at_its_best_place(lists: list[list[Result]]) -> None:
    found = [one.key for one in in_turns(lists, lambda one: one.key)]
    assert len(found) == len(set(found)) == len({one.key for results in lists for one in results})
    for results in lists:
        for place, one in enumerate(results):
            assert found.index(one.key) < (place + 1) * len(lists)
