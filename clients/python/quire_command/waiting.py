"""`quire wait`: how much is not indexed yet, and how long that will take."""

from __future__ import annotations

import time
from typing import Any

import click
import httpx

from quire_command.service import AsJson, Key, Url, opened, progress, refuse_problem, show

LOOK_SECONDS = 1.0


@click.command()
@click.option("--timeout", type=click.FloatRange(min=0), help="Seconds; then exit with 1. Default: none.")
@AsJson
@Url
@Key
def wait(timeout: float | None, url: str, api_key: str | None, *, as_json: bool) -> None:
    """Wait until everything is indexed: after an import, or while another embedding model replaces all vectors."""
    until = None if timeout is None else time.monotonic() + timeout
    with opened(url, api_key) as client:
        found = _jobs(client)
        total = _left(found)
        with progress("Indexing", total) as bar:
            while _left(found) and (until is None or time.monotonic() < until):
                time.sleep(LOOK_SECONDS)
                found = _jobs(client)
                total = max(total, _left(found))
                bar.length = total
                bar.update(total - _left(found) - bar.pos)
    counts = {name: found[name] for name in ("pending", "running", "dead", "unindexed")}
    more = "at least " if found["unindexed_at_least"] else ""
    show(counts, [f"{more}{counts['unindexed']} not indexed; {counts['dead']} jobs are dead."], as_json=as_json)
    if _left(found):
        raise SystemExit(1)


def _left(found: dict[str, Any]) -> int:
    return int(max(found["unindexed"], found["pending"] + found["running"]))


def _jobs(client: httpx.Client) -> dict[str, Any]:
    answer = client.get("/jobs", params={"limit": 1})
    refuse_problem(answer)
    found: dict[str, Any] = answer.json()
    return found
