"""What the soak calls flat."""

from __future__ import annotations

from random import Random

import pytest

from bench.load import flat
from bench.load.flat import slices, trend, trend_of

SECONDS = 600.0


def taken(rng: Random, number: int, rise: float) -> list[tuple[float, float]]:
    """Latencies with as much noise as those of a busy machine have, that rise by a part of their mean."""
    times = (rng.uniform(0, SECONDS) for _ in range(number))
    return [(at, (1 + rise * (at / SECONDS - 0.5)) * rng.lognormvariate(0, 0.6)) for at in times]


@pytest.mark.parametrize("seed", range(20))
def test_noise_is_flat_and_a_rise_by_half_is_not(seed: int) -> None:
    flat_one = trend_of(taken(Random(seed), 2000, 0.0), 0.0, SECONDS)
    risen = trend_of(taken(Random(seed), 2000, 0.7), 0.0, SECONDS)
    assert flat_one is not None
    assert flat_one.is_flat
    assert risen is not None
    assert not risen.is_flat
    assert 0.4 < risen.rise < 1.0


def test_a_fall_or_a_single_slow_slice_counts_as_flat() -> None:
    assert trend([3.0 - 0.2 * number for number in range(flat.SLICES)]).is_flat
    assert trend([1.0] * 10 + [4.0, 1.0]).is_flat
    assert trend([1.0] * flat.SLICES).is_flat
    steady = trend([1.0 + 0.1 * number for number in range(flat.SLICES)])
    assert not steady.is_flat


def test_few_samples_give_no_verdict() -> None:
    assert trend_of(taken(Random(1), flat.EACH_MIN * flat.SLICES - 1, 3.0), 0.0, SECONDS) is None
    late = [(SECONDS - 1, 1.0)] * 1000
    assert trend_of(late, 0.0, SECONDS) is None


def test_slices_divide_the_time_span() -> None:
    values = [(-1.0, 9.0), (0.0, 1.0), (299.9, 2.0), (300.0, 3.0), (599.9, 4.0), (600.0, 9.0)]
    assert slices(values, 0.0, SECONDS, 2) == [[1.0, 2.0], [3.0, 4.0]]
