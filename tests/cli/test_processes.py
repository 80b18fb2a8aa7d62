"""The commands as processes: what starts, stops, and is refused."""

import os
import re
import signal
import subprocess
from pathlib import Path

import pytest

from app.postgres.embedded import EmbeddedPostgres
from tests import unhurried
from tests.cli.kit import QUIRE, environment, read_until, refused, running, url_in, url_of
from tests.conftest import wait_for

pytestmark = pytest.mark.slow

__all__ = ["environment"]

AWAY = "postgresql://nobody@127.0.0.1:1/none"


def test_serve_starts_its_database_prints_three_lines_and_leaves_nothing_behind(environment: dict[str, str]) -> None:
    """The first time, and on the database that it left."""
    del environment["MEMORY_EMBEDDING_MODEL"]
    for number in (signal.SIGTERM, signal.SIGINT):
        with running("serve", environment) as process:
            hello = read_until(process.stdout, "Ctrl-C stops it")
            url = url_in(hello)
            assert unhurried.get(url + "/readyz").json() == {"status": "ok", "warnings": []}
            assert "cdn" not in unhurried.get(url + "/docs").text
            process.send_signal(number)
            rest, said = process.communicate(timeout=60)
        assert process.returncode == 0, said
        assert [len(hello.splitlines()), rest] == [3, ""]
        assert "No API keys yet" in hello
        assert "Authorization" not in hello
        assert [line for line in said.splitlines() if "running as root" not in line] == []


@pytest.mark.parametrize("moment", ["running as root", "alembic", "-> 0001"])
def test_a_signal_while_it_starts_is_obeyed_too(environment: dict[str, str], moment: str) -> None:
    """Also one that comes while the driver's C code runs."""
    if moment == "running as root" and os.geteuid():
        pytest.skip("it is not said")
    with running("serve", {**environment, "QUIRE_LOG_LEVEL": "debug"}) as process:
        read_until(process.stderr, moment)
        process.send_signal(signal.SIGTERM)
        _, said = process.communicate(timeout=60)
    assert process.returncode == 0, said
    assert "Traceback" not in said


def test_serve_and_worker_share_the_database(environment: dict[str, str]) -> None:
    with running("worker", environment) as worker:
        read_until(worker.stdout, "The worker is up")
        with running("serve", environment) as api:
            url = url_of(api)
            worker.send_signal(signal.SIGINT)
            assert worker.wait(timeout=60) == 0
            assert unhurried.get(url + "/readyz").status_code == 200
            api.send_signal(signal.SIGINT)
            assert api.wait(timeout=60) == 0


def stop_postgres(environment: dict[str, str]) -> None:
    """As `pg_ctl stop` does, by somebody who knows nothing of Quire."""
    cluster = Path(environment["QUIRE_DATA_DIR"]) / "postgres" / "cluster"
    pid = int((cluster / "postmaster.pid").read_text().split("\n", 1)[0])
    os.kill(pid, signal.SIGINT)
    wait_for(lambda: not (cluster / "postmaster.pid").exists())


@pytest.mark.parametrize("command", ["serve", "worker"])
def test_a_database_that_somebody_stopped_is_started_again(environment: dict[str, str], command: str) -> None:
    environment = {**environment, "QUIRE_WORKER_PORT": "0"}
    with running(command, environment) as process:
        [url] = re.findall(r"(http://\S+)/(?:ui|healthz)", read_until(process.stdout, "Ctrl-C stops it"))
        stop_postgres(environment)
        read_until(process.stderr, "was started again")
        wait_for(lambda: unhurried.get(url + "/readyz").status_code == 200)
        process.send_signal(signal.SIGTERM)
        assert process.wait(timeout=60) == 0


def test_a_database_that_cannot_be_started_again_ends_the_process(environment: dict[str, str]) -> None:
    with running("serve", environment) as process:
        read_until(process.stdout, "Ctrl-C stops it")
        stop_postgres(environment)
        (Path(environment["QUIRE_DATA_DIR"]) / "postgres" / "cluster" / "PG_VERSION").unlink()
        _, said = process.communicate(timeout=120)
    assert process.returncode == 1, said
    assert "PostgreSQL is down and cannot be started" in said


def test_the_api_leaves_its_jobs_to_a_worker_that_says_how_it_is(
    environment: dict[str, str], postgres: EmbeddedPostgres, clean: None
) -> None:
    said = {"user_id": "u", "messages": [{"role": "user", "content": text} for text in ("one", "two")]}
    environment = {**environment, "DATABASE_URL": postgres.app_dsn}
    with running("serve", {**environment, "QUIRE_WORKER": "false"}) as api:
        url = url_of(api)
        assert unhurried.post(f"{url}/conversations/c/messages", json=said).status_code == 201
        assert unhurried.get(f"{url}/jobs").json()["pending"] == 1
        with running("worker", {**environment, "QUIRE_WORKER_PORT": "0"}) as worker:
            health = read_until(worker.stdout, "The worker is up").split()[-3].rstrip(",")
            assert unhurried.get(health).json() == {"status": "ok"}
            wait_for(lambda: unhurried.get(f"{url}/jobs").json()["unindexed"] == 0)
            told = unhurried.get(health.replace("healthz", "metrics")).text
            assert 'quire_job_ends_total{kind="page",outcome="done"} 1.0' in told
            assert unhurried.get(health.replace("healthz", "conversations")).status_code == 404
            for process in (worker, api):
                process.send_signal(signal.SIGTERM)
                assert process.wait(timeout=60) == 0


def test_migrate_can_be_repeated(environment: dict[str, str]) -> None:
    for _ in range(2):
        done = subprocess.run([*QUIRE, "migrate"], env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        assert "The schema is at" in done.stdout


def test_a_refusal_is_one_sentence(environment: dict[str, str]) -> None:
    away = {**environment, "DATABASE_URL": AWAY}
    done = subprocess.run([*QUIRE, "serve"], env=away, capture_output=True, text=True, check=False, timeout=60)
    assert (done.returncode, done.stdout) == (1, "")
    [said] = done.stderr.splitlines()
    assert said.startswith("Error: ")


def test_an_open_door_is_refused(environment: dict[str, str], postgres: EmbeddedPostgres, clean: None) -> None:
    said = refused({**environment, "DATABASE_URL": postgres.app_dsn, "QUIRE_HOST": "0.0.0.0"}, "serve")
    assert "QUIRE_ALLOW_UNAUTHENTICATED" in said


def test_a_bad_setting_is_named(environment: dict[str, str]) -> None:
    assert "QUIRE_POOL_SIZE" in refused({**environment, "QUIRE_POOL_SIZE": "0"}, "serve")


def test_a_misspelt_setting_is_named_with_the_nearest_one(environment: dict[str, str]) -> None:
    misspelt = {"QUIRE_PROT": "1", "MEMORY_LLM_MODLE": "m"}
    said = refused({**environment, **misspelt, "DATABASE_URL": AWAY}, "serve")
    assert "QUIRE_PROT is not a setting and has no effect; did you mean QUIRE_PORT?" in said
    assert "MEMORY_LLM_MODLE is not a setting and has no effect; did you mean MEMORY_LLM_MODEL?" in said


@pytest.mark.parametrize("command", ["worker", "migrate"])
def test_an_unavailable_database_is_explained(environment: dict[str, str], command: str) -> None:
    refused({**environment, "DATABASE_URL": AWAY}, command)
