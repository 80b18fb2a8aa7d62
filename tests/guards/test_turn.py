"""A turn as an agent makes it costs so many statements and commits, and no more unseen.

Counts hold exactly where times do not. Whoever needs another statement raises a figure here, and says what for.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path

import asyncpg
import httpx
import pytest

from app.main import build_app
from app.postgres.embedded import EmbeddedPostgres
from app.settings import Settings
from tests.api.kit import append, assistant, call, ok, path, result, user, window
from tests.conftest import CITUS, patient, serving

pytestmark = pytest.mark.skipif(bool(CITUS), reason="reads the log of an embedded server")
Sql = Callable[[str], list[asyncpg.Record]]
_STATEMENT = re.compile(r"LOG:  (?:statement|execute [^:]*): (.*)")
_BESIDE = re.compile(r"served_(?:windows|texts)|FROM tenants")
"""Records are written a moment later, and whether callers need a key is read once a second."""
BUDGET, TURNS = 4_600, 40
STATEMENTS_MAX, COMMITS_MAX = 6.0, 2.3
"""Of a turn, on the average."""


class Log:
    """The statements of the service since the last look."""

    def __init__(self, file: Path) -> None:
        self._file, self._at = file, file.stat().st_size

    def new(self) -> list[str]:
        with self._file.open("rb") as opened:
            opened.seek(self._at)
            text = opened.read().decode()
            self._at = opened.tell()
        return [sql for sql in _STATEMENT.findall(text) if not sql.startswith("SELECT 1")]


@pytest.fixture
def agent(postgres: EmbeddedPostgres, settings: Settings, run_as_superuser: Sql, fresh: None) -> Iterator[httpx.Client]:
    """A service of its own whose statements PostgreSQL logs, and no other's."""
    run_as_superuser("ALTER ROLE quire_app SET log_statement = 'all'")
    try:
        for url in serving(build_app(settings, postgres.app_dsn)):
            with patient(url) as opened:
                yield opened
    finally:
        run_as_superuser("ALTER ROLE quire_app RESET log_statement")


@pytest.fixture
def log(data_dir: Path) -> Log:
    return Log(data_dir / "postgres/log")


def said(number: int) -> str:
    return f"Add the route {number} of the parser, then run its tests. " + "It is in the usual folder. " * 8


def turn(client: httpx.Client, number: int) -> Iterator[str]:
    """Make a turn; yield the name of each request once it is answered."""
    append(client, "c", [user(said(number))])
    yield "a user message"
    window(client, "c", budget=BUDGET)
    yield "its window"
    append(client, "c", [call(f"call {number}"), result(f"call {number}", f"line {number}\n" * 40)])
    yield "a call with its result"
    window(client, "c", budget=BUDGET)
    yield "the window after it"


def written(run_as_superuser: Sql) -> int:
    """Return how many transactions have written something."""
    return int(run_as_superuser("SELECT pg_snapshot_xmax(pg_current_snapshot())::text AS id")[0]["id"])


def test_a_turn_takes_a_statement_a_request(agent: httpx.Client, log: Log) -> None:
    append(agent, "c", [user("Hello, I work on a parser."), assistant("Good.")])
    for number in range(3):
        for _ in turn(agent, number):
            log.new()
    asked = {name: [sql for sql in log.new() if not _BESIDE.search(sql)] for name in turn(agent, 3)}
    assert {name: len(statements) for name, statements in asked.items()} == {
        "a user message": 1,
        "its window": 1,
        "a call with its result": 1,
        "the window after it": 1,
    }


def test_whether_callers_need_a_key_and_their_limits_are_one_statement(agent: httpx.Client, log: Log) -> None:
    log.new()
    append(agent, "c", [user("Hello, I work on a parser.")])
    assert len([sql for sql in log.new() if "FROM tenants" in sql]) == 1


def test_turns_commit_each_append_and_little_else(agent: httpx.Client, log: Log, run_as_superuser: Sql) -> None:
    """With cuts, chapters and records. How many records share a transaction is a matter of time."""
    append(agent, "c", [user("Hello, I work on a parser."), assistant("Good.")])
    window(agent, "c", budget=BUDGET)
    log.new()
    before = written(run_as_superuser)
    for number in range(TURNS):
        for _ in turn(agent, number):
            pass
    statements = [sql for sql in log.new() if not _BESIDE.search(sql)]
    ok(agent.get(path("c", "windows")))  # which writes the records
    assert len(statements) <= STATEMENTS_MAX * TURNS
    assert written(run_as_superuser) - before <= COMMITS_MAX * TURNS
