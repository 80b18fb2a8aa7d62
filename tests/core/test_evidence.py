"""Which results of a query can be shown in a window."""

from dataclasses import dataclass

from hypothesis import given
from hypothesis import strategies as st

from app.core.search.evidence import DOUBTFUL_TOKENS, UNASKED_MAX, WORDED_TOKENS, evidence
from app.core.search.relevance import APART, needed
from app.core.window.packing import FoundPassage, pack


@dataclass(frozen=True)
class Result:
    key: int
    score: float
    is_doubtful: bool


@st.composite
def results(draw: st.DrawFn) -> list[Result]:
    """Draw different results, best first."""
    scores = sorted(draw(st.lists(st.floats(-5, 30), max_size=30)), reverse=True)
    return [Result(number, score, draw(st.booleans())) for number, score in enumerate(scores)]


asked, wanted = st.none() | st.floats(0, 1), st.booleans()


@given(results(), asked, wanted, st.sets(st.integers(0, 30)), st.integers(0, 5_000))
def test_some_results_come_in_their_order_each_once_and_none_that_is_in_view(
    hits: list[Result], asks: float | None, is_said: bool, in_view: set[int], room: int
) -> None:
    shown, tokens = evidence(hits, asks, is_said=is_said).beside(lambda hit: hit.key in in_view, room)
    numbers = [hit.key for hit in shown]
    assert numbers == sorted(set(numbers) - in_view)
    assert 0 <= tokens <= room


@given(results(), asked)
def test_what_comes_unasked_answers_and_is_near_the_best(hits: list[Result], asks: float | None) -> None:
    shown, _ = evidence(hits, asks, is_said=True).beside(lambda _: False, 5_000)
    assert len(shown) <= UNASKED_MAX
    assert all(not hit.is_doubtful and hit.score > hits[0].score - APART for hit in shown)


@given(results(), asked)
def test_where_nothing_answers_a_caller_gets_the_best_alone(hits: list[Result], asks: float | None) -> None:
    hits = [Result(hit.key, hit.score, is_doubtful=True) for hit in hits]
    found = evidence(hits, asks, is_said=False)
    assert list(found.hits) in ([], hits[:1])
    assert found.tokens_max <= DOUBTFUL_TOKENS


@given(results(), asked, wanted, st.floats(0, 10))
def test_better_evidence_brings_in_no_fewer_tokens(
    hits: list[Result], asks: float | None, is_said: bool, more: float
) -> None:
    better = [Result(hit.key, hit.score + more, hit.is_doubtful) for hit in hits]
    before, after = (evidence(some, asks, is_said=is_said) for some in (hits, better))
    assert before.tokens_max <= after.tokens_max
    assert {hit.key for hit in before.hits} <= {hit.key for hit in after.hits}


def test_tokens_double_with_each_unit_of_the_score() -> None:
    sizes = [
        evidence([Result(0, needed(0.8) + over, is_doubtful=False)], 0.8, is_said=False).tokens_max for over in range(4)
    ]
    assert sizes == [DOUBTFUL_TOKENS * 2**over for over in range(4)]


def test_words_alone_bring_in_whole_passages() -> None:
    sizes = [
        evidence([Result(0, needed(None) + over, is_doubtful=False)], None, is_said=True).tokens_max
        for over in (-9, 0, 3)
    ]
    assert sizes == [WORDED_TOKENS, WORDED_TOKENS, DOUBTFUL_TOKENS * 2**3]


@given(results(), asked, wanted, st.integers(0, 400))
def test_the_passages_take_no_more_than_the_room(
    hits: list[Result], asks: float | None, is_said: bool, room: int
) -> None:
    shown, tokens = evidence(hits, asks, is_said=is_said).beside(lambda _: False, room)
    found = [FoundPassage("2024-05-01", "user", None, f"passage {hit.key}", (hit.key,)) for hit in shown]
    assert sum(item.tokens for item in pack(found, tokens, lambda text: len(text.split()), "en")) <= room
