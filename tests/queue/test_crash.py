"""SIGKILL of workers, of the API and of PostgreSQL while turns stream in and jobs run."""

import pytest

from bench.load.crash_work import crash

pytestmark = pytest.mark.slow


def test_no_kill_loses_a_turn_or_a_job_or_does_one_twice() -> None:
    """A few kills, with enough seconds for slow machines. `python -m bench.load.crash_work` does more."""
    report = crash({"worker": 3, "api": 1, "postgres": 1}, turns=120, seconds=90, lease=2.0, embeds=False)
    assert report.problems == []
    assert min(report.kills.values()) >= 1
    assert report.pages >= report.turns - 6 > 0
