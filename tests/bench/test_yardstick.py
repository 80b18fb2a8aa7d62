"""The benchmark against the bare handler runs, so the two answer alike."""

from __future__ import annotations

import pytest

from bench import harness, overhead
from bench.overhead import CLIENTS, OPERATIONS, Plan

pytestmark = pytest.mark.slow


def test_the_bare_handler_answers_as_quire_does(monkeypatch: pytest.MonkeyPatch) -> None:
    """Raises otherwise, before anything is measured."""
    monkeypatch.setattr(overhead, "MESSAGES", 100)
    monkeypatch.setattr(overhead, "MEMORIES", 1_000)
    monkeypatch.setattr(overhead, "QUICK", Plan(1, 0.1))
    with harness.opened() as opened:
        [table] = overhead.run(opened, quick=True)
    assert len(table.rows) == len(OPERATIONS) * len(CLIENTS)
