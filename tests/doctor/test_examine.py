"""The doctor's round over deployments that are broken, each in its way."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, cast

import asyncpg
import pytest

from app import healthcheck
from app.doctor.checks import Check
from app.doctor.examine import examine
from app.postgres import migrate
from app.postgres.embedded import EmbeddedPostgres
from app.postgres.tenants import DEFAULT_TENANT
from app.postgres.transactions import Connection, Tx
from app.settings import Settings
from app.signals import Stopping
from app.store.memory import embeddings
from tests.providers.fake_openai import FakeOpenAI, hang, status

Sql = Callable[[str], list[asyncpg.Record]]
NOWHERE = "http://127.0.0.1:1/v1"


def found(dsn: str | None, data_dir: Path, *, asks_models: bool = False, **more: Any) -> dict[str, Check]:
    settings = Settings(**{"database_url": dsn, "quire_data_dir": data_dir, "quire_port": 0, **more})
    checks = examine(settings, Stopping(), is_loopback=settings.quire_host == "127.0.0.1", asks_models=asks_models)
    return {check.name: check for check in checks}


def wrong(checks: dict[str, Check]) -> dict[str, str]:
    return {name: check.state for name, check in checks.items() if check.state != "ok"}


@pytest.fixture
def run(run_as_superuser: Sql, clean: None) -> Sql:
    return run_as_superuser


def test_a_sound_deployment_has_nothing_to_mend(postgres: EmbeddedPostgres, data_dir: Path, run: Sql) -> None:
    checks = found(postgres.app_dsn, data_dir, asks_models=True)
    assert wrong(checks) == {}
    everything = (
        "settings, data directory, tokenizer, port, database, role, durability, connections, clock, pgvector,"
        " migrations, isolation, grants, door, workers, chat model, embeddings"
    )
    assert list(checks) == everything.split(", ")


@pytest.mark.parametrize(
    ("dsn", "words"),
    [
        ("postgresql://ann:s3cret@127.0.0.1:1/quire", "Nothing listens at 127.0.0.1:1."),
        (
            "postgresql://ann:s3cret@no-such-host.invalid/quire",
            "The host name of no-such-host.invalid:5432 cannot be resolved.",
        ),
        ("postgresql://ann:s3cret@127.0.0.1:port/quire", "cannot be used"),
    ],
)
def test_an_unreachable_database_is_reported_without_its_password(dsn: str, words: str, data_dir: Path) -> None:
    check = found(dsn, data_dir)["database"]
    assert check.state == "fail"
    assert words in check.detail
    assert "s3cret" not in check.detail + check.fix


def test_a_missing_role_and_a_missing_database_are_distinguished(postgres: EmbeddedPostgres, data_dir: Path) -> None:
    unknown_role = found(postgres.app_dsn.replace("quire_app@", "nobody@"), data_dir)["database"]
    unknown_database = found(postgres.app_dsn.replace("/quire?", "/none?"), data_dir)["database"]
    assert "rejects the role" in unknown_role.detail
    assert "no database of this name" in unknown_database.detail


def test_a_superuser_is_refused(postgres: EmbeddedPostgres, data_dir: Path, run: Sql) -> None:
    assert wrong(found(postgres.superuser_dsn, data_dir))["role"] == "fail"


@pytest.fixture
def other(postgres: EmbeddedPostgres, run: Sql) -> Iterator[EmbeddedPostgres]:
    """The DSNs of a database beside the tests' own, without a schema."""
    run("CREATE DATABASE other OWNER quire_owner")
    there = EmbeddedPostgres(postgres._layout, -1)
    for name in ("owner_dsn", "app_dsn", "superuser_dsn"):
        setattr(there, name, getattr(postgres, name).replace("/quire?", "/other?"))
    yield there
    run("DROP DATABASE other WITH (FORCE)")


def in_other(other: EmbeddedPostgres, *statements: str) -> None:
    async def execute() -> None:
        connection = await asyncpg.connect(other.superuser_dsn)
        for statement in statements:
            await connection.execute(statement)
        await connection.close()

    asyncio.run(execute())


def test_problems_before_and_after_the_first_migration_are_reported(other: EmbeddedPostgres, data_dir: Path) -> None:
    def states() -> dict[str, str]:
        return wrong(found(other.app_dsn, data_dir))

    assert states() == {"pgvector": "fail", "migrations": "fail"}
    in_other(other, "CREATE EXTENSION vector", "ALTER SCHEMA public OWNER TO quire_owner")
    migrate.upgrade(other.owner_dsn)
    assert states() == {"migrations": "fail"}
    in_other(other, "GRANT SELECT ON ALL TABLES IN SCHEMA public TO quire_app")
    assert states() == {"grants": "fail"}
    in_other(other, "GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public TO quire_app")
    assert states() == {}
    in_other(
        other, "ALTER DATABASE other SET synchronous_commit = off", "ALTER TABLE recalls NO FORCE ROW LEVEL SECURITY"
    )
    assert states() == {"durability": "warn", "isolation": "fail"}
    in_other(other, "UPDATE alembic_version SET version_num = '9999'")
    assert states() == {"durability": "warn", "migrations": "fail"}


WORK = """
INSERT INTO work (tenant_id, kind, subject, id, lane, due, token, claimed, failed_at, error)
VALUES ('{tenant}', 'page', '{subject}', gen_random_uuid(), 'llm', now() - interval '10 minutes', {token}, {claimed},
        {failed}, 'no answer within 60 s')
"""


def test_unclaimed_work_is_reported(postgres: EmbeddedPostgres, data_dir: Path, run: Sql) -> None:
    def work(subject: str, token: str = "NULL", claimed: str = "NULL", failed: str = "NULL") -> Check:
        run(WORK.format(tenant=DEFAULT_TENANT, subject=subject, token=token, claimed=claimed, failed=failed))
        return found(postgres.app_dsn, data_dir)["workers"]

    dead = work("dead", failed="now()")
    assert (dead.state, "1 failed for good" in dead.detail) == ("warn", True)
    left = work("left", "gen_random_uuid()", "1")
    assert (left.state, "stale: their worker died" in left.detail) == ("warn", True)
    waiting = work("waiting")
    assert "1 jobs (llm) have waited" in waiting.detail
    assert "no answer within 60 s" in waiting.detail
    assert "quire worker" in waiting.fix


@pytest.mark.slow
def test_models_are_probed(postgres: EmbeddedPostgres, data_dir: Path, run: Sql) -> None:
    def states(url: str) -> dict[str, str]:
        more = {"memory_llm_model": "m", "memory_llm_base_url": url, "memory_embedding_model": "e"}
        checks = found(postgres.app_dsn, data_dir, asks_models=True, memory_llm_timeout_seconds=1, **more)
        return wrong({name: checks[name] for name in checks if name in ("chat model", "embeddings", "models")})

    with FakeOpenAI() as api:
        assert states(api.url) == {}
        api.chat.default, api.embeddings.default = status(401, code="invalid_api_key"), hang()
        assert states(api.url) == {"chat model": "fail", "embeddings": "warn"}
        api.chat.default = status(400, message="This model has been retired.")
        more = {"memory_llm_model": "m", "memory_llm_base_url": api.url, "memory_embedding_model": "none"}
        said = found(postgres.app_dsn, data_dir, asks_models=True, **more)["chat model"].detail
        assert 'it says: "This model has been retired."' in said
    assert states(NOWHERE) == {"chat model": "warn", "embeddings": "warn"}


def test_a_reranker_is_asked_where_one_is_configured(postgres: EmbeddedPostgres, data_dir: Path, run: Sql) -> None:
    def check(url: str | None) -> Check:
        more = {"memory_rerank_model": "r", "memory_rerank_base_url": url, "memory_llm_timeout_seconds": 1}
        checks = found(postgres.app_dsn, data_dir, asks_models=True, **more)
        return checks.get("reranker") or checks["models"]

    with FakeOpenAI() as api:
        assert check(api.url).state == "ok"
        api.rerank.default = status(401)
        assert (check(api.url).state, "MEMORY_RERANK_MODEL" in check(api.url).fix) == ("fail", True)
    assert check(NOWHERE).state == "warn"
    assert "needs MEMORY_RERANK_BASE_URL" in check(None).detail


async def adopt(dsn: str) -> None:
    connection = await asyncpg.connect(dsn)
    await embeddings.adopt(Tx(cast("Connection", connection), DEFAULT_TENANT), "e", 7)
    await connection.close()


def test_vectors_of_another_width_are_reported(postgres: EmbeddedPostgres, data_dir: Path, run: Sql) -> None:
    asyncio.run(adopt(postgres.superuser_dsn))
    with FakeOpenAI() as api:
        more = {"memory_embedding_model": "e", "memory_embedding_base_url": api.url}
        check = found(postgres.app_dsn, data_dir, asks_models=True, **more)["embeddings"]
    assert check.state == "warn"
    assert "256 dimensions; stored vectors are from e (7 dimensions)" in check.detail


@pytest.mark.slow
def test_quire_and_other_listeners_at_the_port_are_distinguished(
    base_url: str, postgres: EmbeddedPostgres, data_dir: Path
) -> None:
    quires = int(base_url.rsplit(":", 1)[1])
    assert "Quire is running" in found(postgres.app_dsn, data_dir, quire_port=quires)["port"].detail
    with socket.create_server(("127.0.0.1", 0)) as other:
        others = found(postgres.app_dsn, data_dir, quire_port=other.getsockname()[1])["port"]
    assert others.state == "fail"
    assert found(postgres.app_dsn, data_dir, quire_host="192.0.2.1", quire_port=8000)["port"].state == "fail"


def test_an_unsafe_listening_address_is_reported(postgres: EmbeddedPostgres, data_dir: Path, run: Sql) -> None:
    assert found(postgres.app_dsn, data_dir, quire_host="0.0.0.0")["door"].state == "fail"
    assert found(postgres.app_dsn, data_dir, quire_host="0.0.0.0", quire_require_keys=True)["door"].state == "warn"


@pytest.fixture
def folder() -> Iterator[Path]:
    made = Path(tempfile.mkdtemp(prefix="quire-doctor-test-"))
    yield made
    shutil.rmtree(made)


def doctor(**environment: str) -> subprocess.CompletedProcess[str]:
    kept = {n: value for n, value in os.environ.items() if not n.startswith(("QUIRE_", "MEMORY_", "DATABASE_"))}
    command = [sys.executable, "-m", "app", "doctor", "--skip-models"]
    if environment.pop("json", None):
        command.append("--json")
    env = {**kept, "QUIRE_PORT": "0", **environment}
    return subprocess.run(command, env=env, capture_output=True, text=True, check=False, timeout=60)


@pytest.mark.slow
def test_nothing_is_created_before_the_first_start(folder: Path) -> None:
    done = doctor(QUIRE_DATA_DIR=str(folder / "data"))
    assert done.returncode == 0, done.stderr
    assert "the first `quire serve` creates" in done.stdout
    assert list(folder.iterdir()) == []


@pytest.mark.slow
def test_a_failure_is_the_exit_code_too_and_says_how_to_mend_it(folder: Path) -> None:
    (folder / "file").write_text("")
    away = {"DATABASE_URL": "postgresql://ann:s3cret@127.0.0.1:1/q", "QUIRE_DATA_DIR": str(folder / "file" / "data")}
    done = doctor(json="yes", **away)
    assert done.returncode == 1, done.stderr
    answer = json.loads(done.stdout)
    assert answer["status"] == "fail"
    bad = {check["name"]: check["state"] for check in answer["checks"] if check["fix"]}
    assert bad == {"data directory": "warn", "tokenizer": "fail", "database": "fail"}
    assert "s3cret" not in done.stdout + done.stderr


# --- Health checks ----------------------------------------------------------------------------------


def check_alive(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "app.healthcheck", *arguments]
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=False, timeout=30)


def test_an_api_is_alive_when_it_is_ready_and_a_worker_when_it_lives(client: Any, base_url: str) -> None:
    port = base_url.rsplit(":", 1)[1]
    assert check_alive("api", QUIRE_HOST="0.0.0.0", QUIRE_PORT=port).returncode == 0
    assert check_alive("worker", QUIRE_WORKER_PORT=port).returncode == 0
    for away in (check_alive("api", QUIRE_PORT="1"), check_alive("worker", QUIRE_WORKER_PORT="1")):
        assert (away.returncode, "does not answer" in away.stderr) == (1, True)
    assert check_alive().returncode == check_alive("worker").returncode == 2


def test_wildcard_addresses_are_probed_at_a_reachable_address() -> None:
    assert healthcheck.url("0.0.0.0", "80", "/x") == "http://127.0.0.1:80/x"
    assert healthcheck.url("::", "80", "/x") == "http://[::1]:80/x"
    assert healthcheck.url("fd00::1", "80", "/x") == "http://[fd00::1]:80/x"
    assert healthcheck.url("localhost", "80", "/x") == "http://localhost:80/x"
