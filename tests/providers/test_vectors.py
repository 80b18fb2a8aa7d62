"""Vectors keep their directions: to unit length exactly, to fewer dimensions within a stated error."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.providers import UnusableReply
from app.providers.vectors import COSINE_ERROR, WIDTH_MAX, Vectors, reduced, unit, vectors_of
from tests.by_turns import examples

WIDTHS = st.sampled_from([1025, 1344, 1536, 2048, 2560, 3072, 4096])


@st.composite
def pairs(draw: st.DrawFn) -> Vectors:
    """Two unit vectors of any angle: dense or with few coordinates, as random or as regular as can be."""
    width = draw(WIDTHS)
    dice = np.random.default_rng(draw(st.integers(0, 2**32)))
    kind = draw(st.sampled_from(["dense", "few", "one", "constant", "blocks"]))
    match kind:
        case "dense":
            rows = dice.normal(size=(2, width))
        case "few":
            rows = np.zeros((2, width))
            rows[:, dice.integers(0, width, 5)] = dice.normal(size=(2, 5))
        case "one":
            rows = np.zeros((2, width))
            rows[[0, 1], dice.integers(0, width, 2)] = 1
        case "constant":
            rows = np.stack([np.ones(width), dice.normal(size=width)])
        case _:
            rows = np.stack([np.arange(width) % 2 * 2.0 - 1, np.arange(width) // 2 % 2 * 2.0 - 1])
    rows = unit(rows)
    mix = draw(st.floats(-1, 1))
    return unit(np.stack([rows[0], mix * rows[0] + (1 - abs(mix)) * rows[1] + 1e-9 * dice.normal(size=width)]))


@settings(max_examples=examples(300))
@given(pairs())
def test_cosines_are_preserved_within_the_stated_error(vectors: Vectors) -> None:
    one, other = reduced(vectors)
    assert one.shape == (WIDTH_MAX,)
    assert np.linalg.norm(one) == pytest.approx(1)
    assert abs(one @ other - vectors[0] @ vectors[1]) <= COSINE_ERROR


@pytest.mark.parametrize("width", [1536, 3072, 4096])
def test_the_typical_error_is_smaller(width: int) -> None:
    vectors = unit(np.random.default_rng(7).normal(size=(200, width)) + 0.3)
    before, after = vectors @ vectors.T, reduced(vectors) @ reduced(vectors).T
    assert float(np.sqrt(np.mean((before - after) ** 2))) <= WIDTH_MAX**-0.5 * 1.03


@pytest.mark.parametrize("width", [1, 384, 1024])
def test_narrow_vectors_stay_as_they_are(width: int) -> None:
    vectors = unit(np.random.default_rng(7).normal(size=(3, width)))
    assert reduced(vectors) is vectors


def test_the_projection_never_changes() -> None:
    """Vectors that are stored were made with it."""
    one, other = reduced(unit(np.sin(np.arange(2 * 1536, dtype=np.float64).reshape(2, 1536))))
    assert one[:4] == pytest.approx([0.032612237, -0.012115257, 0.000609045, 0.039681664], abs=1e-8)
    assert other.sum() == pytest.approx(-0.080139511, abs=1e-8)


@given(st.lists(st.floats(-1e300, 1e300), min_size=1, max_size=8).filter(lambda row: any(abs(x) > 1e-300 for x in row)))
def test_any_finite_direction_becomes_a_unit_vector(row: list[float]) -> None:
    [found] = unit(np.array([row]))
    assert np.linalg.norm(found) == pytest.approx(1)
    assert np.sign(found[int(np.argmax(np.abs(row)))]) == np.sign(row[int(np.argmax(np.abs(row)))])


@pytest.mark.parametrize("row", [[0.0, 0.0], [np.nan, 1.0], [np.inf, 1.0], [-np.inf, 0.0]])
def test_vectors_without_a_direction_are_rejected(row: list[float]) -> None:
    with pytest.raises(UnusableReply):
        unit(np.array([[1.0, 0.0], row]))


def test_an_answer_may_mix_lists_and_base64() -> None:
    """Servers that do not know base64 answer a request for it with lists."""
    half = "AAAAAAAAAAAAAIA/"  # 0, 0, 1
    body = {"data": [{"index": 1, "embedding": half}, {"index": 0, "embedding": [3, 0.0, 4]}]}
    assert vectors_of(body, count=2, width=3).tolist() == [[0.6, 0.0, 0.8], [0.0, 0.0, 1.0]]
