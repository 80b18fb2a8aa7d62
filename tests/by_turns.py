"""Combinations and examples, of which `make test` tries some and `make test-all` every one."""

from collections.abc import Iterable
from itertools import product
from typing import Any

import hypothesis
import pytest


def by_turns(*axes: Iterable[Any], every: int = 2) -> list[Any]:
    """Return the combinations. All but one in so many are slow; each value stays with each other one by turns."""
    found = []
    for combination in product(*(enumerate(axis) for axis in axes)):
        is_slow = sum(number for number, _ in combination) % every != 0
        marks = [pytest.mark.slow] if is_slow else []
        found.append(pytest.param(*(value for _, value in combination), marks=marks))
    return found


def examples(wanted: int) -> int:
    """Return how many examples a costly property tries: so many with `make test-all`, fewer each time."""
    return -(-wanted * hypothesis.settings().max_examples // 100)
