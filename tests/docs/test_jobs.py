"""What docs/jobs.md says of metrics, times and limits is what the code does."""

import re
from pathlib import Path
from typing import get_args

from prometheus_client import Counter

from app.queue import depths, table
from app.queue.enqueue import KINDS, Lane
from app.queue.loop import GRACE_SECONDS, JOB_SECONDS_MAX, PROBE_SECONDS
from app.settings import Settings
from app.telemetry.metrics import Metrics
from app.worker import HANDLERS

JOBS = (Path(__file__).parents[2] / "docs/jobs.md").read_text()


def test_every_metric_is_listed_with_its_labels() -> None:
    listed = dict(re.findall(r"^\| `(quire_\w+)` \|([^|]*)\|", JOBS, re.MULTILINE))
    found = {}
    for metric in vars(Metrics()).values():
        if hasattr(metric, "describe"):
            name = metric._name + ("_total" if isinstance(metric, Counter) else "")
            found[name] = ", ".join(f"`{label}`" for label in metric._labelnames)
    assert {name: labels.strip() for name, labels in listed.items()} == found


def test_every_kind_and_lane_is_listed() -> None:
    rows = re.findall(r"^\| `((?!quire_)[a-z_]+)` \| `([a-z]+)` \|", JOBS, re.MULTILINE)
    assert {kind for kind, _ in rows} == {kind.name for kind in KINDS} == set(HANDLERS)
    assert {lane for _, lane in rows} == set(get_args(Lane))


def test_times_and_limits_are_those_of_the_code() -> None:
    lease = Settings.model_fields["quire_worker_lease_seconds"].default
    assert f"`QUIRE_WORKER_LEASE_SECONDS` ({lease:.0f})" in JOBS
    assert lease == table.LEASE_SECONDS
    assert f"dead after {table.ATTEMPTS_MAX} attempts" in JOBS
    assert f"after {table.TRANSIENT_ATTEMPTS_MAX} such attempts" in JOBS
    for seconds, words in (
        (GRACE_SECONDS, "five seconds to end"),
        (JOB_SECONDS_MAX, "more than ten minutes"),
        (PROBE_SECONDS, "once a minute one job probes"),
        (table.BACKOFF_MAX_SECONDS, "at most five minutes"),
        (table.BACKOFF_MIN_SECONDS, "at least one second"),
        (table.RETRY_AFTER_MAX_SECONDS, "a minute at most"),
        (depths.UNCLAIMED_SECONDS, "for over a minute"),
    ):
        assert words in JOBS, seconds
    assert (GRACE_SECONDS, JOB_SECONDS_MAX, PROBE_SECONDS, table.BACKOFF_MAX_SECONDS) == (5, 600, 60, 300)
    assert (table.BACKOFF_MIN_SECONDS, table.RETRY_AFTER_MAX_SECONDS, depths.UNCLAIMED_SECONDS) == (1, 60, 60)
    assert [table.backoff(n, 1.0) for n in (1, 2, 3)] == [2, 4, 8], "2ⁿ"
