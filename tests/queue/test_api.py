"""Jobs over HTTP and by the command line."""

from collections.abc import Callable
from pathlib import Path
from uuid import UUID

import asyncpg
import httpx
import pytest

from app.ids import uuid7
from app.postgres.embedded import EmbeddedPostgres
from tests.api.kit import append, ok, path, problem, turn
from tests.cli.kit import invoke

Ask = Callable[[str], list[asyncpg.Record]]

BURY = "UPDATE work SET failed_at = now(), attempts = 3, error = 'RefusedInput: 400', token = NULL"


@pytest.fixture
def three(client: httpx.Client) -> httpx.Client:
    """Return a client whose conversation has three closed pages that nobody indexes."""
    append(client, "c", [message for number in range(4) for message in turn(number)])
    return client


def test_pending_work_is_shown(three: httpx.Client) -> None:
    for shown in (ok(three.get("/jobs")), ok(three.get(path("c", "status")))):
        assert (shown["pending"], shown["running"], shown["dead"], shown["unindexed"]) == (3, 0, 0, 3)
        assert 0 <= shown["oldest_pending_seconds"] < 60
        assert shown["spent"] == {}
    shown = ok(three.get("/jobs"))
    assert shown["lanes"]["llm"]["pending"] == 3
    assert (shown["items"], shown["next_cursor"], shown["unindexed_at_least"]) == ([], None, False)


def test_an_empty_queue_is_shown(client: httpx.Client) -> None:
    shown = ok(client.get("/jobs"))
    assert (shown["pending"], shown["oldest_pending_seconds"], shown["lanes"]) == (0, None, {})


def test_dead_letters_are_listed_in_pages_and_tried_again(three: httpx.Client, run_as_superuser: Ask) -> None:
    run_as_superuser(BURY)
    first = ok(three.get("/jobs", params={"limit": 2}))
    assert (first["dead"], first["pending"], len(first["items"])) == (3, 0, 2)
    rest = ok(three.get("/jobs", params={"limit": 2, "cursor": first["next_cursor"]}))
    assert len(rest["items"]) == 1
    assert rest["next_cursor"] is None
    [job] = rest["items"]
    assert (job["kind"], job["conversation_id"], job["attempts"]) == ("page", "c", 3)
    assert job["error"] == "RefusedInput: 400"
    assert job["failed_at"].endswith("Z")
    for _ in range(2):
        again = ok(three.post(f"/jobs/{job['id']}/retry"))
        assert (again["state"], again["attempts"], again["failed_at"]) == ("pending", 0, None)
    assert ok(three.get("/jobs"))["dead"] == 2


def test_a_repeated_retry_gets_the_same_response(three: httpx.Client, run_as_superuser: Ask) -> None:
    run_as_superuser(BURY)
    job = ok(three.get("/jobs"))["items"][0]["id"]
    key = {"Idempotency-Key": "k"}
    first = ok(three.post(f"/jobs/{job}/retry", headers=key))
    run_as_superuser(f"DELETE FROM work WHERE id = '{job}'")
    assert ok(three.post(f"/jobs/{job}/retry", headers=key)) == first
    problem(three.post(f"/jobs/{job}/retry"), 404)


def test_unknown_and_foreign_jobs_are_not_found(three: httpx.Client, run_as_superuser: Ask) -> None:
    [row] = run_as_superuser(
        "INSERT INTO work (tenant_id, kind, subject, id, lane, failed_at)"
        f" VALUES ('{UUID(int=7)}', 'embed', 's', '{uuid7()}', 'embedding', now()) RETURNING id"
    )
    unknown = problem(three.post(f"/jobs/{uuid7()}/retry"), 404)
    others = problem(three.post(f"/jobs/{row['id']}/retry"), 404)
    assert {**unknown, "request_id": ""} == {**others, "request_id": ""}
    assert ok(three.get("/jobs"))["dead"] == 0
    problem(three.post("/jobs/nonsense/retry"), 422, "job_id")
    problem(three.get("/jobs", params={"cursor": "nonsense"}), 422, "cursor")
    problem(three.get("/jobs", params={"limit": 0}), 422, "limit")


def test_readiness_warns_of_unclaimed_work(three: httpx.Client, run_as_superuser: Ask) -> None:
    assert ok(three.get("/readyz")) == {"status": "ok", "warnings": []}
    run_as_superuser("UPDATE work SET due = now() - interval '2 minutes', error = 'RefusedCaller: 401'")
    [warning] = ok(three.get("/readyz"))["warnings"]
    assert warning["code"] == "work_unclaimed"
    assert "lane llm" in warning["detail"]
    assert "RefusedCaller: 401" in warning["detail"]
    assert ok(three.get("/jobs"))["lanes"]["llm"]["unclaimed"] == 3


def test_work_is_deleted_with_its_conversation(three: httpx.Client) -> None:
    ok(three.delete(path("c")))
    assert ok(three.get("/jobs"))["pending"] == 0


@pytest.fixture
def quire(postgres: EmbeddedPostgres, data_dir: Path) -> Callable[..., tuple[int, str]]:
    def run(*arguments: str) -> tuple[int, str]:
        environment = {"DATABASE_URL": postgres.app_dsn, "QUIRE_DATA_DIR": str(data_dir)}
        done = invoke(environment, "jobs", *arguments)
        return done.exit_code, done.output

    return run


def test_the_command_line_lists_and_tries_again(
    three: httpx.Client, run_as_superuser: Ask, quire: Callable[..., tuple[int, str]]
) -> None:
    run_as_superuser(BURY)
    job = ok(three.get("/jobs"))["items"][0]["id"]
    code, said = quire("list")
    assert (code, said.count("RefusedInput: 400")) == (0, 3)
    assert "llm: 0 pending, 0 running, 3 dead" in said
    assert quire("retry", job) == (0, "1 to be tried again.\n")
    assert ok(three.get("/jobs"))["dead"] == 2
    assert quire("retry", "--all-dead") == (0, "2 to be tried again.\n")
    assert ok(three.get("/jobs"))["pending"] == 3
    code, said = quire("retry", job)
    assert (code, "no such dead letter" in said) == (1, True)
    assert quire("retry")[0] == 2
