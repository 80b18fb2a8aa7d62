"""From the database of a release to the schemas after it, under load and with two versions at once, and back.

A release's database is its dump. The releases after this one are trees of this one with a trial migration more: the
next only adds, and the one after takes away what the next no longer uses.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import httpx
import pytest

from app import __version__
from app.postgres import backup, embedded, folder_permissions, migrate
from app.postgres.embedded import EmbeddedPostgres
from bench.load.crash import PROMISES
from tests.api.kit import append, history, path, turn, user, window
from tests.cluster.kit import ask, quire
from tests.conftest import wait_for
from tests.deploy import dump
from tests.test_embedded import servers_of

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
TRIALS = Path(__file__).parent / "next"
DUMPS = sorted(dump.FOLDER.glob("*.sql"))
TRIES = 100
THIS, NEXT, AFTER = (f"{int(migrate.HEAD) + steps:04}" for steps in range(3))


@pytest.fixture
def folder() -> Iterator[Path]:
    made = Path(tempfile.mkdtemp(prefix="quire-upgrade-"))
    folder_permissions.make_passable(made)
    yield made
    wait_for(lambda: not servers_of(made))
    shutil.rmtree(made)


@pytest.fixture(params=DUMPS, ids=lambda file: str(file.stem))
def released(request: pytest.FixtureRequest, folder: Path) -> Iterator[EmbeddedPostgres]:
    """The database of a release."""
    server = embedded.start(folder / "data")
    dump.restore(folder / "data", request.param)
    yield server
    server.stop()


def tree(folder: Path, revision: str, *trials: str) -> Path:
    """Make the tree of a later release: this one's, at another schema."""
    made = folder / revision
    shutil.copytree(ROOT / "app", made / "app", ignore=shutil.ignore_patterns("__pycache__"))
    before = THIS
    for number, trial in enumerate(trials, int(THIS) + 1):
        migration = (TRIALS / f"{trial}.py").read_text("utf-8")
        script = migration.replace("{revision}", f"{number:04}").replace("{before}", before)
        before = f"{number:04}"
        (made / "app/postgres/migrations/versions" / f"{before}_{trial}.py").write_text(script, "utf-8")
    source = made / "app/postgres/migrate.py"
    source.write_text(source.read_text("utf-8").replace(f'HEAD = "{THIS}"', f'HEAD = "{revision}"'), "utf-8")
    return made


def migrated(server: EmbeddedPostgres, release: Path) -> None:
    own = {**os.environ, "MIGRATION_DATABASE_URL": server.owner_dsn}
    command = [sys.executable, "-m", "app", "migrate"]
    done = subprocess.run(command, cwd=release, env=own, capture_output=True, text=True, check=False, timeout=120)
    assert done.stdout == f"The schema is at {release.name}.\n", done.stderr


def texts(client: httpx.Client) -> dict[str, list[object]]:
    return {name: [message["content"] for message in history(client, name)] for name in ("long", "archived", "forked")}


class Writer(threading.Thread):
    """Appends and reads windows in turns at each of some services until it is stopped, and repeats what is refused."""

    def __init__(self, *urls: httpx.URL) -> None:
        super().__init__()
        self.urls = urls
        self.stop = threading.Event()
        self.acknowledged: list[str] = []
        self.refused: list[str] = []
        self.tries_max = 0

    def run(self) -> None:
        with httpx.Client(timeout=30) as client:
            while not self.stop.is_set():
                text = f"number {len(self.acknowledged)}"
                body = {"messages": [user(text)], "user_id": "u"}
                self.until_taken(client, "POST", path("load", "messages"), json=body, headers={"Idempotency-Key": text})
                self.acknowledged.append(text)
                self.until_taken(client, "GET", path("long", "context"), params={"budget": 1200})

    def until_taken(self, client: httpx.Client, method: str, target: str, **request: Any) -> None:
        for tries in range(1, TRIES + 1):
            url = self.urls[(len(self.acknowledged) + tries) % len(self.urls)]
            answer = client.request(method, url.join(target), **request)
            self.tries_max = max(self.tries_max, tries)
            if answer.is_success:
                return
            self.refused.append(f"{answer.status_code} {answer.text[:300]}")
        raise AssertionError(self.refused)

    def goes_on(self) -> None:
        """Return when some more was acknowledged."""
        before = len(self.acknowledged)
        wait_for(lambda: len(self.acknowledged) > before + 20)


def test_a_dump_brought_to_this_schema_is_this_schema(released: EmbeddedPostgres, folder: Path) -> None:
    migrate.upgrade(released.owner_dsn)
    fresh = embedded.start(folder / "fresh")
    migrate.upgrade(fresh.owner_dsn)
    found, wanted = (dump.schema_in(dump.dumped(folder / name, "--schema-only")) for name in ("data", "fresh"))
    fresh.stop()
    assert found == wanted, f"Before the tag of {__version__}: `make dump`. After it: add a migration, never edit one."


def test_everything_said_outlives_two_upgrades_under_load_and_the_way_back(
    released: EmbeddedPostgres, folder: Path
) -> None:
    """Processes are replaced one by one; nothing is lost or doubled, and what is refused is taken at the next try."""
    migrate.upgrade(released.owner_dsn)
    following, last = tree(folder, NEXT, "expand"), tree(folder, AFTER, "expand", "contract")
    database = {"DATABASE_URL": released.app_dsn}
    with ExitStack() as processes:
        this = processes.enter_context(quire(database))
        before = texts(this)
        backup.back_up(folder / "data", folder / "backup")
        writer = Writer(this.base_url)
        writer.start()
        try:
            writer.goes_on()
            migrated(released, following)
            writer.goes_on()
            assert this.get("/readyz").is_success
            newer = processes.enter_context(quire(database, following))
            writer.urls = (this.base_url, newer.base_url)
            writer.goes_on()
            writer.urls = (newer.base_url,)
            writer.goes_on()
            migrated(released, last)
            writer.goes_on()
            assert (this.get("/readyz").status_code, newer.get("/readyz").status_code) == (503, 200)
            newest = processes.enter_context(quire(database, last))
            writer.urls = (newer.base_url, newest.base_url)
            writer.goes_on()
        finally:
            writer.stop.set()
            writer.join()
        assert [message["content"] for message in history(newest, "load")] == writer.acknowledged
        assert texts(newest) == before
        assert writer.tries_max <= 2, writer.refused
        assert [promise for promise, sql in PROMISES.items() if ask(released.superuser_dsn, sql)] == []
    backup.restore(folder / "restored", folder / "backup")
    with quire({"QUIRE_DATA_DIR": str(folder / "restored")}) as again:
        assert texts(again) == before
        append(again, "long", turn(len(before["long"])))
        assert window(again, "long", budget=3000)["messages"][-1]["content"] == turn(len(before["long"]))[-1]["content"]
