"""Trials, one seed after the other: `python -m tests.histories.run --minutes 60 --seed 1`.

They take turns on one PostgreSQL, on a pair that fails over and, if it is installed, behind PgBouncer.
"""

import asyncio
import sys
from argparse import ArgumentParser

from tests.cluster.pooler import POOLER
from tests.histories.databases import Alone, Pair, Pooled
from tests.histories.trial import trial

DATABASES = (Alone, Pair, Pooled) if POOLER else (Alone, Pair)
TRIAL_SECONDS = 120.0
"""The longest trial; a longer time is spent on more seeds."""


def main() -> None:
    parser = ArgumentParser(prog="python -m tests.histories.run", description=__doc__)
    parser.add_argument("--minutes", type=float, default=2, help="of disturbed load, over all seeds")
    parser.add_argument("--seed", type=int, default=1, help="the first one")
    asked = parser.parse_args()
    left, seed, problems = asked.minutes * 60, asked.seed, 0
    while left > 0:
        database = DATABASES[seed % len(DATABASES)]
        report = asyncio.run(trial(seed, min(left, TRIAL_SECONDS), database))
        print(database.__name__, report, flush=True)  # noqa: T201
        left, seed, problems = left - TRIAL_SECONDS, seed + 1, problems + len(report.problems)
    sys.exit(1 if problems else 0)


if __name__ == "__main__":
    main()
