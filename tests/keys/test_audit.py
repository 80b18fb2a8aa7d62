"""The log of reads and erasures: who, what, which ids, when and from where; and no answer that is not logged."""

import asyncio
import json
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import ExitStack
from uuid import UUID

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.api.operators.audit import LONG_AGO
from app.core.edge.audit import AuditEntry, action_of, ids_of
from app.errors import Overdue
from app.postgres.database import Database
from app.postgres.embedded import EmbeddedPostgres
from app.postgres.tenants import DEFAULT_TENANT
from app.services.audit import AuditLog
from app.store.operators import audit
from tests.api.kit import Json, ok, path, problem, user
from tests.api.test_concurrency import at_once
from tests.cli.kit import own_environment, running, url_of
from tests.conftest import wait_for
from tests.keys.conftest import Serve
from tests.keys.kit import Mint, Sql, bearing, key_id

WORDS = st.text(max_size=5)
LOGGING = "SELECT count(*) FROM pg_locks WHERE NOT granted AND mode = 'RowExclusiveLock'"
"""How many wait to write into a table; the service's chores wait only to read this one."""


@given(st.sampled_from(["GET", "POST", "DELETE"]), WORDS, st.sampled_from(["read", "write", "admin"]))
def test_what_was_refused_is_no_read(method: str, route: str, needed: str) -> None:
    assert action_of(method, route, needed, 404) is None
    assert action_of(method, route, needed, 503) is None
    logged = action_of(method, route, needed, 200)
    assert logged == ("erase" if method == "DELETE" else "read" if needed == "read" else None)


@given(st.dictionaries(WORDS, WORDS | st.integers() | st.none() | st.lists(WORDS)))
def test_ids_are_short_texts(named: dict[str, object]) -> None:
    found = ids_of({"id": "first"}, named, {"id": "last"})
    assert found["id"] == "first"
    assert all("\x00" not in value and len(value) <= 500 for value in found.values())


@pytest.fixture
def audited(serve: Serve) -> httpx.Client:
    return serve(quire_audit=True)


def entries(client: httpx.Client, key: str, **query: str) -> list[Json]:
    found: list[Json] = ok(client.get("/audit", params=query, headers=bearing(key)))["items"]
    return [entry for entry in found if entry["route"] != "GET /audit"]


def test_reads_and_erasures_are_logged(audited: httpx.Client, mint: Mint) -> None:
    admin, ann = mint(), mint(user="ann")
    say = {"messages": [user("the zebrafish")], "user_id": "ann"}
    ok(audited.post(path("c", "messages"), json=say, headers=bearing(admin)), 201)
    ok(audited.get(path("c", "messages"), headers=bearing(ann)))
    ok(audited.get(path("c", "context"), headers=bearing(ann, **{"X-Request-Id": "mine"})))
    search = {"user_id": "ann", "query": "zebrafish"}
    ok(audited.post("/memories/search", json=search, headers=bearing(admin)))
    problem(audited.get(path("other"), headers=bearing(ann)), 404)
    ok(audited.delete(path("c"), headers=bearing(admin)))
    found = entries(audited, admin)
    assert [(entry["action"], entry["route"]) for entry in found] == [
        ("read", "GET /conversations/{conversation_id}/messages"),
        ("read", "GET /conversations/{conversation_id}/context"),
        ("read", "POST /memories/search"),
        ("erase", "DELETE /conversations/{conversation_id}"),
    ]
    assert found[0]["ids"] == found[3]["ids"] == {"conversation_id": "c"}
    assert found[2]["ids"] == {"user_id": "ann"}
    assert found[1]["request_id"] == "mine"
    assert [entry["key_id"] for entry in found[1:3]] == [str(key_id(ann)), str(key_id(admin))]
    assert found[0]["user_id"] == "ann"
    assert found[0]["address"] == "127.0.0.1"
    assert "zebrafish" not in json.dumps(found)
    assert entries(audited, admin, action="erase") == found[3:]
    assert entries(audited, admin, since="2100-01-01") == []


def test_what_a_form_of_the_inspector_erases_is_logged_as_that(audited: httpx.Client, mint: Mint) -> None:
    admin = mint()
    say = {"messages": [user("hello")], "user_id": "ann"}
    ok(audited.post(path("c", "messages"), json=say, headers=bearing(admin)), 201)
    for form in ({"do": "rename", "title": "Tea"}, {"do": "delete"}):
        sent = audited.post("/ui/conversations/c", data=form, headers={"Cookie": f"quire_ui_key={admin}"})
        assert sent.status_code == 303
    [erased] = entries(audited, admin)
    assert (erased["action"], erased["route"]) == ("erase", "POST /ui/conversations/{conversation_id}")
    assert erased["ids"] == {"conversation_id": "c"}


def entry(number: int) -> AuditEntry:
    return AuditEntry("read", "GET /c", {"id": "c"}, None, "u" if number else None, "", 200, str(number))


@pytest.mark.anyio
@pytest.mark.parametrize("given_up", [0, 1])
async def test_entries_that_come_at_once_are_each_stored_once_by_few_commits(database: Database, given_up: int) -> None:
    """Also where a request was given up: the first, which stores its own, or one that waits for it."""
    log = AuditLog()
    adding = [asyncio.create_task(log.add(database, DEFAULT_TENANT, entry(number))) for number in range(200)]
    await asyncio.sleep(0)
    adding[given_up].cancel()
    await asyncio.wait(adding)
    assert [number for number, one in enumerate(adding) if one.cancelled()] == [given_up]
    async with database.snapshot(DEFAULT_TENANT) as tx:
        rows = await audit.browse(tx, UUID(int=0), LONG_AGO, None, None, 1000)
        commits = await tx.connection.fetchval("SELECT count(DISTINCT xmin::text) FROM audit")
    assert [entry.request_id for _, entry in rows if entry.request_id != str(given_up)] == [
        str(number) for number in range(200) if number != given_up
    ]
    assert commits <= 3


@pytest.mark.anyio
@pytest.mark.parametrize("while_storing", [False, True])
async def test_nobody_waits_for_an_entry_whose_storing_was_cancelled(database: Database, while_storing: bool) -> None:
    """As the end of an event loop cancels it."""
    log, others = AuditLog(), asyncio.all_tasks()
    adding = [asyncio.create_task(log.add(database, DEFAULT_TENANT, entry(number))) for number in range(3)]
    await adding[0]
    [storing] = asyncio.all_tasks() - others - set(adding)
    if while_storing:
        await asyncio.sleep(0)
    storing.cancel()
    first, *told = await asyncio.wait_for(asyncio.gather(*adding, return_exceptions=True), 30)
    assert first is None
    assert [type(one) for one in told] == [Overdue, Overdue]
    await log.add(database, DEFAULT_TENANT, entry(3))


@pytest.mark.slow
def test_a_service_that_stops_answers_whoever_waits_for_the_log(
    postgres: EmbeddedPostgres, run_as_superuser: Sql, clean: None
) -> None:
    with own_environment() as environment, ExitStack() as stack:
        settings = {
            "DATABASE_URL": postgres.app_dsn,
            "QUIRE_AUDIT": "true",
            "QUIRE_DATA_DIR": environment["QUIRE_DATA_DIR"],
        }
        process = stack.enter_context(running("serve", environment | settings))
        url = url_of(process)
        run_as_superuser("BEGIN")
        stack.callback(run_as_superuser, "ROLLBACK")
        run_as_superuser("LOCK TABLE audit")
        pool = stack.enter_context(ThreadPoolExecutor(8))
        asked = [pool.submit(httpx.get, f"{url}/conversations", timeout=60) for _ in range(8)]
        wait_for(lambda: bool(run_as_superuser(LOGGING)[0]["count"]))
        process.terminate()
        wait(asked)
        late = [one for one in asked if isinstance(one.exception(), httpx.NetworkError | httpx.RemoteProtocolError)]
        for answer in {*asked} - {*late}:
            problem(answer.result(), 503, "The read was refused")
        assert len(late) < len(asked)
        assert process.wait(timeout=30) == 0


def test_what_cannot_be_logged_is_not_answered(audited: httpx.Client, mint: Mint, run_as_superuser: Sql) -> None:
    key = bearing(mint())
    ok(audited.post(path("c", "messages"), json={"messages": [user("secret")], "user_id": "u"}, headers=key), 201)
    run_as_superuser("ALTER TABLE audit ADD CONSTRAINT full_disk CHECK (false) NOT VALID")
    try:
        for answer in (audited.get(path("c", "messages"), headers=key), audited.get("/users/u/export", headers=key)):
            problem(answer, 503, "The read was refused")
            assert "secret" not in answer.text
        at_once(lambda _: problem(audited.get(path("c", "messages"), headers=key), 503, "The read was refused"), 8)
        problem(audited.delete(path("c"), headers=key), 503, "The erasure was done")
    finally:
        run_as_superuser("ALTER TABLE audit DROP CONSTRAINT full_disk")
    problem(audited.get(path("c"), headers=key), 404)


def test_nothing_is_logged_unless_it_is_set(locked: httpx.Client, mint: Mint) -> None:
    key = mint()
    ok(locked.get("/conversations", headers=bearing(key)))
    assert entries(locked, key) == []
