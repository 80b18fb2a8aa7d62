"""The benchmark against the bare handler runs, so the two answer alike."""

from __future__ import annotations

import pytest

from bench import harness
from bench.load.overhead import CLIENTS, OPERATIONS, Plan, compared

pytestmark = pytest.mark.slow


def test_the_bare_handler_answers_as_quire_does() -> None:
    """Raises otherwise, before anything is measured."""
    with harness.opened() as opened:
        table = compared(opened, Plan(rounds=1, seconds=0.1, messages=200, memories=1_000))
    assert len(table.rows) == len(OPERATIONS) * len(CLIENTS)
