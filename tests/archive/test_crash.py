"""SIGKILL at any moment: of Quire, and of PostgreSQL's postmaster."""

import pytest

from bench.load.crash import crash

pytestmark = pytest.mark.slow


def test_no_kill_loses_doubles_or_tears_what_was_acknowledged() -> None:
    """Some rounds; the seconds are for slow machines. `python -m bench.load.crash` does more."""
    report = crash(rounds=6, seconds=60, postmaster_every=4)
    assert report.problems == []
    assert report.kills >= 2
    assert report.turns >= report.kills
