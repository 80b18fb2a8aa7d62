"""What clients were told under kills and network faults can be put in one order: nothing lost, doubled, stale or back.

20 seconds of load each on one PostgreSQL, on a pair that fails over and behind PgBouncer; two minutes each with
QUIRE_LONG. `make soak` takes as long as it is told (tests/histories/run.py).
"""

import asyncio
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cluster.pooler import MISSING, POOLER
from tests.histories.databases import Alone, Database, Pair, Pooled
from tests.histories.trial import trial

IS_LONG = bool(os.environ.get("QUIRE_LONG"))
SEED = 1
SECONDS = 120.0 if IS_LONG else 20.0
POOLED = pytest.param(Pooled, marks=pytest.mark.skipif(POOLER is None, reason=MISSING))

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("database", [Alone, Pair, POOLED])
def test_a_history_under_faults_is_linearizable(database: Callable[[Path], Database]) -> None:
    report = asyncio.run(trial(SEED, SECONDS, database))
    assert report.problems == [], str(report)
    assert report.operations.total() > 100, str(report)
    assert report.faults.total() > 0, str(report)
    assert report.undecided < report.conversations / 2, str(report)
