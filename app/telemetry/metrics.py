"""Metrics of a process in Prometheus' terms, in a registry for each app.

Counting must cost next to nothing: labels have few values (route templates, never paths), and each combination's
counter is looked up once.
"""

from __future__ import annotations

import asyncio
import time

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
JOB_SECONDS = (0.01, 0.1, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 120.0, 300.0, 600.0)
LAG_LOOK_SECONDS = 0.5


class Metrics:
    """The names are in docs/jobs.md, which a test compares."""

    def __init__(self) -> None:
        own = self.registry = CollectorRegistry()
        self._requests = Counter("quire_requests", "Requests.", ["method", "route", "status"], registry=own)
        self._seconds = Histogram(
            "quire_request_seconds", "Time to the whole answer.", ["method", "route"], buckets=SECONDS, registry=own
        )
        self._windows = Counter("quire_windows", "Windows made.", registry=own)
        self._window_tokens = Counter("quire_window_tokens", "Tokens of the windows made.", registry=own)
        self._saved = Counter(
            "quire_saved_tokens", "Tokens by which windows were smaller than their whole history.", registry=own
        )
        self._ends = Counter("quire_job_ends", "Attempts at jobs that ended.", ["kind", "outcome"], registry=own)
        self._job_seconds = Histogram(
            "quire_job_seconds", "Time of an attempt.", ["kind"], buckets=JOB_SECONDS, registry=own
        )
        self._calls = Counter("quire_provider_calls", "Calls to models.", ["kind", "outcome"], registry=own)
        self._call_tokens = Counter("quire_provider_tokens", "Tokens of the calls.", ["kind", "way"], registry=own)
        self.jobs = Gauge("quire_jobs", "Jobs, of all processes.", ["lane", "state"], registry=own)
        self.unclaimed = Gauge(
            "quire_jobs_unclaimed", "Jobs that could be claimed for over a minute.", ["lane"], registry=own
        )
        self.oldest = Gauge("quire_jobs_oldest_seconds", "Age of the oldest pending job.", ["lane"], registry=own)
        self.stopped = Gauge("quire_lane_stopped", "1: its provider does not take us.", ["lane"], registry=own)
        self.up = Gauge("quire_database_up", "1: the database answers.", registry=own)
        self.pool = Gauge("quire_pool_connections", "Connections to the database.", ["state"], registry=own)
        self._lag = Gauge(
            "quire_event_loop_lag_seconds", "Longest hold-up of the event loop since the last look.", registry=own
        )
        self._children: dict[tuple[str, str, int], tuple[Counter, Histogram]] = {}
        self._worst_lag = 0.0

    def request(self, method: str, route: str, status: int, seconds: float) -> None:
        key = (method, route, status)
        child = self._children.get(key)
        if child is None:
            counter = self._requests.labels(method, route, str(status))
            child = self._children[key] = counter, self._seconds.labels(method, route)
        child[0].inc()
        child[1].observe(seconds)

    def window(self, total: int, saved: int) -> None:
        self._windows.inc()
        self._window_tokens.inc(total)
        self._saved.inc(saved)

    def job(self, kind: str, outcome: str, seconds: float) -> None:
        self._ends.labels(kind, outcome).inc()
        self._job_seconds.labels(kind).observe(seconds)

    def provider_call(self, kind: str, outcome: str, prompt_tokens: int = 0, completion_tokens: int = 0) -> None:
        """Count a call for a ``kind`` of work; ``outcome`` is ok or the class of the error."""
        self._calls.labels(kind, outcome).inc()
        self._call_tokens.labels(kind, "prompt").inc(prompt_tokens)
        self._call_tokens.labels(kind, "completion").inc(completion_tokens)

    async def watch_lag(self) -> None:
        """Measure repeatedly how late the event loop wakes this task."""
        while True:
            started = time.monotonic()
            await asyncio.sleep(LAG_LOOK_SECONDS)
            self._worst_lag = max(self._worst_lag, time.monotonic() - started - LAG_LOOK_SECONDS)

    def text(self) -> bytes:
        self._lag.set(self._worst_lag)
        self._worst_lag = 0.0
        return generate_latest(self.registry)
