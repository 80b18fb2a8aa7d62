"""What clients were told under kills and network faults can be put in one order: nothing lost, doubled, stale or back.

45 seconds of load, or two minutes with QUIRE_LONG; `make soak` takes as long as it is told (tests/histories/run.py).
"""

import asyncio
import os

import pytest

from tests.histories.trial import trial

SECONDS = 120.0 if os.environ.get("QUIRE_LONG") else 45.0
SEED = 1


@pytest.mark.slow
def test_a_history_under_faults_is_linearizable() -> None:
    report = asyncio.run(trial(SEED, SECONDS))
    assert report.problems == [], str(report)
    assert report.operations.total() > 100, str(report)
    assert report.faults.total() > 0, str(report)
    assert report.undecided < report.conversations / 2, str(report)
