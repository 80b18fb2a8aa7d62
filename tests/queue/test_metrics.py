"""The metrics of a process, and of all work in the table."""

import json
import logging
from collections.abc import Callable

import asyncpg
import httpx
import pytest
from prometheus_client.parser import text_string_to_metric_families

from app import errors
from app.telemetry import logs
from tests.api.kit import append, path, turn, window

Samples = dict[tuple[str, frozenset[tuple[str, str]]], float]


def scrape(client: httpx.Client) -> Samples:
    answer = client.get("/metrics")
    assert answer.status_code == 200
    assert answer.headers["content-type"].startswith("text/plain")
    families = text_string_to_metric_families(answer.text)
    return {(s.name, frozenset(s.labels.items())): s.value for family in families for s in family.samples}


def value(samples: Samples, name: str, **labels: str) -> float:
    return samples.get((name, frozenset(labels.items())), 0.0)


def test_requests_are_counted_by_route_and_status(client: httpx.Client) -> None:
    route = {"method": "POST", "route": "/conversations/{conversation_id}/messages"}
    before = scrape(client)
    append(client, "a/b", turn(1))
    client.post(path("a/b", "messages"), json={})
    client.get("/nowhere/at/all")
    after = scrape(client)

    def grown(name: str, **labels: str) -> float:
        return value(after, name, **labels) - value(before, name, **labels)

    assert grown("quire_requests_total", **route, status="201") == 1
    assert grown("quire_requests_total", **route, status="422") == 1
    assert grown("quire_requests_total", method="GET", route="other", status="404") == 1
    assert grown("quire_request_seconds_count", **route) == 2
    assert not [labels for _, labels in after if "a/b" in str(labels)]


def test_tokens_that_windows_save_are_counted(client: httpx.Client) -> None:
    for number in range(60):
        append(client, "c", turn(number, 100))
    before = scrape(client)
    usage = window(client, "c", budget=6000)["usage"]
    after = scrape(client)
    grown = {name: after[key] - before[key] for key in after if key in before for name in [key[0]]}
    assert grown["quire_windows_total"] == 1
    assert grown["quire_window_tokens_total"] == usage["total"]
    assert grown["quire_saved_tokens_total"] == usage["full_history"] - usage["total"] > 0


def test_work_is_shown_by_lane_and_state(
    client: httpx.Client, run_as_superuser: Callable[[str], list[asyncpg.Record]]
) -> None:
    append(client, "c", [message for number in range(4) for message in turn(number)])
    run_as_superuser("UPDATE work SET due = now() - interval '2 minutes', created_at = now() - interval '2 minutes'")
    run_as_superuser("UPDATE work SET failed_at = now() WHERE args = '{\"page\":1}'")
    seen = scrape(client)
    assert value(seen, "quire_jobs", lane="llm", state="pending") == 2
    assert value(seen, "quire_jobs", lane="llm", state="dead") == 1
    assert value(seen, "quire_jobs_unclaimed", lane="llm") == 2
    assert value(seen, "quire_jobs_oldest_seconds", lane="llm") >= 120
    assert value(seen, "quire_database_up") == 1
    assert value(seen, "quire_pool_connections", state="idle") >= 1
    run_as_superuser("DELETE FROM work")
    assert value(scrape(client), "quire_jobs", lane="llm", state="pending") == 0


def record(error: Exception | None = None) -> logging.LogRecord:
    info = (type(error), error, error.__traceback__) if error else None
    return logging.LogRecord("app.x", logging.WARNING, "f", 1, "job %s", ("7",), info)


def raised(error: Exception) -> Exception:
    """Return the error with a traceback, and a cause that quotes something."""
    secrets = {"first": "the first secret"}
    with pytest.raises(type(error)) as caught:
        try:
            secrets[secrets["first"]]
        except KeyError as cause:
            raise error from cause
    return caught.value


@pytest.mark.parametrize("form", [logs.LogLines(), logs.JsonLines()])
def test_logs_locate_errors_without_quoting_content(form: logging.Formatter) -> None:
    said = form.format(record(raised(ValueError("the second secret"))))
    assert "ValueError" in said
    assert "KeyError" in said
    assert "in raised" in said
    assert "the first secret" not in said.replace('{"first": "the first secret"}', "")
    assert "the second secret" not in said
    assert "the disk is full" in form.format(record(raised(OSError("the disk is full"))))
    assert "try again" in form.format(record(raised(errors.StorageUnavailable("try again"))))


def test_json_logs_have_one_object_per_line_with_context() -> None:
    logs.bind(job_id="1", tenant="2")
    said = logs.JsonLines().format(record())
    assert "\n" not in said
    found = json.loads(said)
    assert (found["message"], found["level"], found["job_id"], found["tenant"]) == ("job 7", "warning", "1", "2")
    assert " job_id=1 tenant=2" in logs.LogLines().format(record())
    logs.bind()
