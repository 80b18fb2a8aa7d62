"""Everything real: PostgreSQL in a folder of its own, uvicorn on a free port, HTTP over loopback."""

import asyncio
import atexit
import gc
import os
import shutil
import socket
import tempfile
import threading
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import cast

import asyncpg
import httpx
import hypothesis
import pytest
import uvicorn
from fastapi import FastAPI

from app import worker
from app.api.http.deadlines import impatient
from app.main import build_app
from app.postgres import embedded, folder_permissions, migrate
from app.postgres.database import Database
from app.postgres.embedded import EmbeddedPostgres
from app.providers import Embedder, local_embeddings
from app.queue.loop import Pace
from app.settings import Settings
from app.text import tokens
from tests import temporary
from tests.by_turns import further
from tests.kept_rows import KeptRows
from tests.probes import LONG_SECONDS, Named, WatchedLoop, watch_transactions
from tests.tables import TABLES

SLOW_FOLDERS = ("cluster", "examples", "faults", "frameworks", "fuzz", "llm", "load")
"""Every test below them is slow; elsewhere a test or a module carries the marker itself."""
TESTS = Path(__file__).parent
CLIENT = str(TESTS.parent / "clients" / "python")
os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, (CLIENT, os.environ.get("PYTHONPATH"))))
"""What a test starts uses the client of this tree, whichever is installed."""
# A slow machine fails no test: nothing is judged by how long it took.
hypothesis.settings.register_profile(
    "untimed",
    deadline=None,
    suppress_health_check=[hypothesis.HealthCheck.too_slow],
    derandomize="CI" in os.environ,  # a change fails for what it changes, never by chance
    max_examples=int(os.environ.get("QUIRE_EXAMPLES", "100")),  # `make test` tries fewer, a thorough search thousands
)
hypothesis.settings.load_profile("untimed")
TRIES = 10
CITUS = os.environ.get("QUIRE_TEST_CITUS_URL", "")
"""Run the tests on a cluster. Those that look at plans or kill the server expect an embedded one."""
WAITING = f"SELECT count(*) FROM {'citus_lock_waits' if CITUS else 'pg_locks WHERE NOT granted'}"
"""How many wait for a lock."""


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the slow folders and further combinations, and begin with the files that have most slow tests."""
    for item in items:
        if item.path.is_relative_to(TESTS) and item.path.relative_to(TESTS).parts[0] in SLOW_FOLDERS:
            item.add_marker("slow")
    for item in further(item for item in items if not item.get_closest_marker("slow")):
        item.add_marker("slow")
    slow = Counter(item.path for item in items if item.get_closest_marker("slow"))
    items.sort(key=lambda item: -slow[item.path])


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Iterator[None]:
    """Search for garbage when tests run, and not among the modules and thousands of tests, which stay to the end."""
    gc.disable()
    yield
    gc.freeze()
    gc.enable()


def _choose_temporary_folder() -> None:
    """Take what tests/temporary.py says, unless PostgreSQL's user, under root, cannot reach the folder.

    What is above it is not ours to change, so /tmp serves instead. The workers of a parallel run inherit the choice.
    """
    user, chosen = folder_permissions.server_user(), temporary.folder()
    if user is not None and folder_permissions.first_closed(user, (chosen, *chosen.parents)) is not None:
        chosen = Path("/tmp")
    elif "TMPDIR" in os.environ:
        return
    ours = Path(tempfile.mkdtemp(prefix="quire-tests-", dir=chosen))
    folder_permissions.make_passable(ours)
    atexit.register(shutil.rmtree, ours, ignore_errors=True)
    os.environ["TMPDIR"] = tempfile.tempdir = str(ours)


_choose_temporary_folder()


def _trust_no_certificates() -> None:
    """Let clients find an empty folder where they look for certificates: the tests speak plain HTTP over loopback.

    Reading the machine's takes a client a fortieth of a second, and thousands are made. pip goes on using them.
    """
    machines = os.environ.pop("SSL_CERT_FILE", None)
    if machines:
        os.environ.setdefault("PIP_CERT", machines)
    nobody = tempfile.mkdtemp(prefix="quire-tests-")
    atexit.register(shutil.rmtree, nobody, ignore_errors=True)
    os.environ["SSL_CERT_DIR"] = nobody


_trust_no_certificates()


@pytest.fixture(scope="session")
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(scope="session")
def data_dir() -> Iterator[Path]:
    """Not pytest's own folder: its parents are closed to the user that PostgreSQL runs as under root."""
    folder = Path(tempfile.mkdtemp(prefix="quire-tests-"))
    folder_permissions.make_passable(folder)
    yield folder
    shutil.rmtree(folder)


class Citus:
    """The coordinator of a cluster, in place of an embedded server: a superuser's DSN, of `postgres`.

    The roles have the same password.
    """

    def __init__(self, url: str) -> None:
        self.superuser_dsn = url
        self.owner_dsn = url.replace("//postgres", "//quire_owner", 1)
        self.app_dsn = url.replace("//postgres", "//quire_app", 1)


@pytest.fixture(scope="session")
def postgres(data_dir: Path) -> Iterator[EmbeddedPostgres]:
    """A server with the schema, for the whole run."""
    if CITUS:
        migrate.upgrade(Citus(CITUS).owner_dsn)
        yield cast("EmbeddedPostgres", Citus(CITUS))
        return
    server = embedded.start(data_dir)
    migrate.upgrade(server.owner_dsn)
    yield server
    server.stop()


@pytest.fixture(scope="session")
def run_as_superuser(postgres: EmbeddedPostgres) -> Iterator[Callable[[str], list[asyncpg.Record]]]:
    """Runs one statement past row-level security, from synchronous code, on a connection that is kept."""
    with asyncio.Runner() as runner:
        connection = runner.run(_connect(postgres.superuser_dsn))
        yield lambda sql: runner.run(connection.fetch(sql))
        runner.run(connection.close())


async def _connect(dsn: str) -> asyncpg.Connection:
    return await asyncpg.connect(dsn)


@pytest.fixture(scope="session")
def delete_every_row(run_as_superuser: Callable[[str], list[asyncpg.Record]]) -> Callable[[], None]:
    """Deleting is ten times quicker than TRUNCATE, and more so without triggers.

    Nothing is written meanwhile: a worker stops before its test ends (see `working`), and what the proxy still stores
    of an answer whose reader has left is waited for. Rows go in the order in which Quire locks them, since another
    process may hold some: see app/store/locks.py.
    """
    last: tuple[str, ...] = ("archive_contents", "memories", "embeddings", "unembedded", "work", "idempotency")
    last += ("tenants",) if CITUS else ()  # whose foreign keys hold
    first = ("spending", "conversations")  # as `spending.record` locks them
    others = [name for name in TABLES if name not in (*first, *last)]
    statements = "".join(f"DELETE FROM {name};" for name in (*first, *others, *last))
    if CITUS:
        run_as_superuser("SET citus.multi_shard_modify_mode = sequential")
    else:
        run_as_superuser("SET session_replication_role = replica")

    def delete() -> None:
        wait_for(lambda: not any(server.is_storing for server in _serving))
        run_as_superuser(f"DO $$BEGIN {statements} END$$")

    return delete


@pytest.fixture(scope="module")
def kept_rows(
    run_as_superuser: Callable[[str], list[asyncpg.Record]], delete_every_row: Callable[[], None]
) -> Iterator[KeptRows]:
    """None yet."""
    kept = KeptRows(run_as_superuser, delete_every_row)
    yield kept
    kept.drop()


@pytest.fixture
def clean(delete_every_row: Callable[[], None]) -> None:
    """The database has no rows when the test begins."""
    delete_every_row()


@pytest.fixture
def fresh(run_as_superuser: Callable[[str], list[asyncpg.Record]], clean: None) -> Iterator[None]:
    """Tables and indexes take no space when the test begins: the planner counts pages that earlier tests left too.

    Nor does autovacuum find tables empty that the test leaves so, after which the planner would read them whole.
    """
    run_as_superuser("ALTER SYSTEM SET autovacuum = off")
    run_as_superuser("SELECT pg_reload_conf()")
    found = run_as_superuser(
        "SELECT string_agg(format('%I.%I', schemaname, tablename), ', ') FROM pg_tables"
        " WHERE schemaname = 'public' AND tablename <> 'alembic_version'"
    )
    run_as_superuser(f"TRUNCATE {found[0][0]}")
    yield
    run_as_superuser("ALTER SYSTEM RESET autovacuum")
    run_as_superuser("SELECT pg_reload_conf()")


@pytest.fixture
async def database(postgres: EmbeddedPostgres, clean: None) -> AsyncIterator[Database]:
    """A pool of the app's role on an empty database."""
    opened = await Database.connect(postgres.app_dsn, pool_size=4)
    yield opened
    await opened.close()


@pytest.fixture(scope="session")
def counter(data_dir: Path) -> tokens.TokenCounter:
    return tokens.load(data_dir / "vocabularies")


@pytest.fixture(scope="session")
def local_embedder() -> Embedder:
    """The local model, which takes half a second to load."""
    if (embedder := local_embeddings.load()) is None:
        pytest.skip("the local embedding model is not installed")
    return embedder


os.environ["MEMORY_EMBEDDING_MODEL"] = "none"  # where a test says nothing else: the local one takes a second to load
os.environ["MEMORY_CARRY"] = "explicit"  # as with the local model


@pytest.fixture(scope="session")
def settings(data_dir: Path) -> Settings:
    return Settings(quire_data_dir=data_dir, quire_body_max_bytes=1024 * 1024)


@pytest.fixture(scope="session")
def base_url(postgres: EmbeddedPostgres, settings: Settings) -> Iterator[str]:
    """A server for the whole run; jobs are run by the tests themselves."""
    yield from serving(build_app(settings, postgres.app_dsn))


class Patient(httpx.HTTPTransport):
    """Repeats what a busy machine refuses: 503 `storage-unavailable`, which has stored nothing."""

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        answer = super().handle_request(request)
        for _ in range(TRIES):
            if answer.status_code != 503 or b"storage-unavailable" not in answer.read():
                break
            answer = super().handle_request(request)
        return answer


def patient(url: str) -> httpx.Client:
    """A client of a service whose database is well; on a slow machine many requests at once exceed its time limits."""
    return httpx.Client(base_url=url, timeout=30, transport=Patient())


class Served(uvicorn.Server):
    """An app that a thread of this process serves on a free port."""

    def __init__(self, app: FastAPI) -> None:
        protocols = impatient(10.0, 30.0, 30.0)  # those of `quire serve`
        watched = "tests.probes:WatchedLoop"
        super().__init__(uvicorn.Config(Named(app), port=0, lifespan="on", loop=watched, log_config=None, **protocols))
        self.app = app
        self._stopped = asyncio.Event()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        loop = asyncio.get_running_loop()
        assert isinstance(loop, WatchedLoop)
        self.loop = loop
        await super().startup(sockets)
        self.loop.found.clear()  # nobody waits before it listens

    async def main_loop(self) -> None:
        """Wait for the end itself; uvicorn looks for it ten times a second."""
        while not await self.on_tick(0):
            with suppress(TimeoutError):
                await asyncio.wait_for(self._stopped.wait(), 1)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """As uvicorn does, which waits a tenth of a second for connections that have ended already."""
        for server in self.servers:
            server.close()
        for own in sockets or []:
            own.close()
        for connection in list(self.server_state.connections):
            connection.shutdown()
        await asyncio.sleep(0)
        await self._wait_tasks_to_complete()
        await self.lifespan.shutdown()

    def stop(self) -> None:
        self.should_exit = True
        self.loop.call_soon_threadsafe(self._stopped.set)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.servers[0].sockets[0].getsockname()[1]}"

    @property
    def is_storing(self) -> bool:
        """Whether answers of the proxy are in progress. (Some tests serve an app of their own.)"""
        return hasattr(self.app.state, "runtime") and bool(self.app.state.runtime.turns.tasks)


watch_transactions()


@pytest.fixture(autouse=True)
def nothing_long() -> Iterator[None]:
    """What is served meanwhile takes no long step, and computes for no long time in a transaction.

    A host that takes the CPU away for a while makes any step long, so a place counts when it is long a second time.
    """
    yield
    for server in _serving:
        found, server.loop.found = server.loop.found, []
        for step in (one for one in found if one.seconds > 2 * LONG_SECONDS):  # the tests' own garbage is not counted
            assert step.place not in _long, step
            _long.add(step.place)


_long: set[str] = set()


_serving: set[Served] = set()
"""The servers that this process runs now."""


@contextmanager
def serve(app: FastAPI) -> Iterator[Served]:
    server = Served(app)
    thread = threading.Thread(target=server.run)
    thread.start()
    try:
        wait_for(lambda: server.started or not thread.is_alive())
        assert server.started
        _serving.add(server)
        yield server
    finally:
        _serving.discard(server)
        if thread.is_alive():
            server.stop()
        thread.join()


def serving(app: FastAPI) -> Iterator[str]:
    """Yield the URL of an app that is served until the generator ends."""
    with serve(app) as served:
        yield served.url


@contextmanager
def working(served: Served, pace: Pace | None = None) -> Iterator[None]:
    """Run a worker beside a served app, and stop it before the block ends, so that it works for one test only."""
    stop = asyncio.Event()
    running = asyncio.run_coroutine_threadsafe(worker.run(served.app.state.runtime, stop, pace=pace), served.loop)
    try:
        yield
    finally:
        served.loop.call_soon_threadsafe(stop.set)
        running.result(timeout=30)


@pytest.fixture
def client(base_url: str, clean: None) -> Iterator[httpx.Client]:
    """Speaks to the server, on an empty database."""
    with patient(base_url) as opened:
        yield opened


def wait_for(condition: Callable[[], bool], *, seconds: float = 60, every: float = 0.01) -> None:
    """Until it holds; fails when it does not in time. Looks every so many seconds."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it did not happen in time"
        time.sleep(every)
