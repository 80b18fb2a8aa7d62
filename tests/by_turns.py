"""Combinations and examples, of which `make test` tries some and `make test-all` every one."""

from collections import defaultdict
from collections.abc import Iterable, Iterator
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


def few(rows: Iterable[Any], often: int = 1) -> list[Any]:
    """Return the rows; a tuple is several values. All but the first so many are slow."""
    found = []
    for number, row in enumerate(rows):
        marks = [pytest.mark.slow] if number >= often else []
        found.append(pytest.param(*row if isinstance(row, tuple) else (row,), marks=marks))
    return found


def further(items: Iterable[pytest.Item]) -> Iterator[pytest.Item]:
    """Yield those combinations of several parameters whose every value another one has too."""
    combinations: defaultdict[str, list[pytest.Function]] = defaultdict(list)
    for item in items:
        if isinstance(item, pytest.Function) and hasattr(item, "callspec") and len(item.callspec._idlist) > 1:
            combinations[item.nodeid.split("[")[0]].append(item)
    for rest in combinations.values():
        tried: set[tuple[int, str]] = set()
        while rest and not _values(chosen := max(rest, key=lambda row: len(_values(row) - tried))) <= tried:
            tried |= _values(chosen)
            rest.remove(chosen)
        yield from rest


def _values(combination: pytest.Function) -> set[tuple[int, str]]:
    return set(enumerate(combination.callspec._idlist))


def examples(wanted: int) -> int:
    """Return how many examples a costly property tries: so many with `make test-all`, fewer each time."""
    return -(-wanted * hypothesis.settings().max_examples // 100)
