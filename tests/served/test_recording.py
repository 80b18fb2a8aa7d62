"""Each served window is recorded once, whichever call served it, and nothing else is."""

from __future__ import annotations

import json
import signal
from collections.abc import Iterator
from datetime import datetime
from uuid import uuid4

import httpx
import pytest

from app.main import build_app
from app.postgres.database import Database
from app.postgres.embedded import EmbeddedPostgres
from app.postgres.tenants import DEFAULT_TENANT
from app.settings import Settings
from app.store import conversations
from app.store import served as stored
from tests.api.kit import append, assistant, created, ok, path, problem, system, user
from tests.cli.kit import environment, invoke, quire, running, url_of
from tests.conftest import patient, serving, wait_for
from tests.served.kit import Sent, given_back, is_given_back, records, served

__all__ = ["environment"]

TOOL = {"type": "function", "function": {"name": "look", "description": "Look.", "parameters": {"type": "object"}}}


@pytest.fixture(scope="module")
def elsewhere(postgres: EmbeddedPostgres, settings: Settings) -> Iterator[str]:
    yield from serving(build_app(settings, postgres.app_dsn))


def test_the_same_window_served_again_is_counted(client: httpx.Client) -> None:
    append(client, "c", [user("hello"), assistant("hello")])
    sent = served(client, "c")
    etag = {"If-None-Match": f'"{sent.etag}"'}
    assert client.get(path("c", "context"), headers=etag).status_code == 304
    (record,) = records(client, "c")
    assert record["count"] == 2
    served(client, "c")
    (record,) = records(client, "c")
    assert record["count"] == 3
    assert datetime.fromisoformat(record["last_served_at"]) > datetime.fromisoformat(record["served_at"])
    assert is_given_back(client, "c", record, sent)
    served(client, "c", budget=9_000)
    served(client, "c")
    assert [one["budget"] for one in records(client, "c")] == [record["budget"], 9_000, record["budget"]]


def test_a_record_says_what_was_served_when_and_by_which_call(client: httpx.Client) -> None:
    created(client, id="c", user_id="u", model="gpt-5")
    append(client, "c", [system("Be brief."), user("hello"), assistant("hello")])
    body = {"messages": [user("more")]}
    included = ok(client.post(path("c", "messages"), json=body, params={"include": "context", "budget": 5000}), 201)
    listed = {"messages": [system("Be brief."), user("hello"), assistant("hello"), user("more"), user("again")]}
    ok(client.post(path("c", "sync"), json=listed, params={"include": "context"}))
    wanted = {"format": "anthropic", "budget": 7000, "query": "hello", "system": "Be long.", "tools": [TOOL]}
    posted = client.post(path("c", "context"), json=wanted)
    newest, synced, appended = records(client, "c")
    assert [one["call"] for one in (newest, synced, appended)] == ["context", "sync", "append"]
    assert (appended["budget"], appended["is_own_budget"], appended["last_seq"]) == (5000, False, 4)
    assert (synced["is_own_budget"], synced["last_seq"], synced["model"]) == (True, 5, "gpt-5")
    assert (newest["format"], newest["query"], newest["budget"]) == ("anthropic", "hello", 7000)
    assert newest["total"] == ok(posted)["usage"]["total"]
    assert newest["root"] == posted.headers["x-quire-receipt"]
    assert is_given_back(client, "c", newest, Sent(posted.content, newest["root"]))
    again, _ = given_back(client, "c", appended["id"])
    assert {name: again[name] for name in included["context"]} == included["context"]


def test_the_inspector_and_the_parts_are_no_windows_that_a_model_saw(client: httpx.Client) -> None:
    append(client, "c", [user("hello"), assistant("hello")])
    for place in ("/ui/conversations/c", path("c", "contents"), path("c", "summary"), path("c", "windows")):
        assert client.get(place).status_code == 200, place
    assert client.get(path("c", "context"), params={"budget": 1}).status_code == 422
    assert records(client, "c") == []


def test_windows_are_listed_newest_first_page_by_page(client: httpx.Client) -> None:
    for number in range(40):
        append(client, "c", [user(f"question {number}")])
        served(client, "c")
    found: list[int] = []
    cursor: dict[str, str] = {}
    while True:
        page = ok(client.get(path("c", "windows"), params={"limit": 7, **cursor}))
        found += [one["id"] for one in page["items"]]
        if page["next_cursor"] is None:
            break
        cursor = {"cursor": page["next_cursor"]}
    assert found == list(range(40, 0, -1))


@pytest.mark.parametrize("number", ["2", "2147483647"])
def test_a_window_that_never_was_is_not_found(client: httpx.Client, number: str) -> None:
    append(client, "c", [user("hello")])
    served(client, "c")
    problem(client.get(path("c", "windows", number)), 404)


def test_what_is_no_window_number_is_said(client: httpx.Client) -> None:
    append(client, "c", [user("hello")])
    for number in ("newest", "0", "-1", "1.5"):
        problem(client.get(path("c", "windows", number)), 422, "window")
    assert client.get(path("c", "windows", "99999999999999")).status_code in (404, 422)
    problem(client.get(path("c", "windows"), params={"cursor": "x"}), 422, "cursor")
    problem(client.get(path("c", "windows"), params={"limit": 0}), 422, "limit")
    problem(client.get(path("nobody", "windows")), 404)


@pytest.mark.slow
def test_processes_write_the_windows_of_one_conversation_by_turns(client: httpx.Client, elsewhere: str) -> None:
    sent = []
    with patient(elsewhere) as other:
        for number in range(40):
            turn = (client, other)[number % 2]
            append(client, "c", [user(f"question {number}")])
            sent.append(served(turn, "c"))
            if number % 5 == 0:
                records(turn, "c")
        records(client, "c")
        listed = records(other, "c")
    by_hash = {one["root"]: one for one in listed}
    assert len(listed) == 40
    assert all(is_given_back(client, "c", by_hash[one.root], one) for one in sent)


@pytest.mark.anyio
async def test_no_window_is_written_into_a_conversation_that_took_the_id(
    client: httpx.Client, database: Database
) -> None:
    append(client, "c", [user("hello")])
    served(client, "c")
    records(client, "c")
    async with database.begin(DEFAULT_TENANT) as tx:
        known, last = await conversations.get(tx, "c"), await stored.last(tx, "c")
        assert last is not None
        for uid, done in ((uuid4(), set()), (known.uid, {"c"})):
            assert await stored.change(tx, [("c", uid, last)], [len(last.body)]) == done


@pytest.mark.slow
def test_a_killed_process_loses_no_window_that_was_listed_and_no_message(
    postgres: EmbeddedPostgres, environment: dict[str, str], client: httpx.Client
) -> None:
    with (
        running("serve", environment | {"DATABASE_URL": postgres.app_dsn}) as process,
        patient(url_of(process)) as doomed,
    ):
        append(doomed, "c", [user("first")])
        sent = served(doomed, "c")
        wait_for(lambda: [one["root"] for one in records(client, "c")] == [sent.root])
        append(doomed, "c", [user("second")])
        served(doomed, "c")
        process.kill()
    found = records(client, "c")
    assert found[-1]["root"] == sent.root
    assert len(found) in (1, 2)
    assert is_given_back(client, "c", found[-1], sent)
    append(client, "c", [user("third")])
    again = served(client, "c")
    assert is_given_back(client, "c", records(client, "c")[0], again)


@pytest.mark.slow
def test_a_process_that_ends_writes_what_it_served(
    postgres: EmbeddedPostgres, environment: dict[str, str], client: httpx.Client
) -> None:
    with (
        running("serve", environment | {"DATABASE_URL": postgres.app_dsn}) as process,
        patient(url_of(process)) as ending,
    ):
        append(ending, "c", [user("first")])
        sent = served(ending, "c")
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=20)
    assert [one["root"] for one in records(client, "c")] == [sent.root]


def test_the_command_shows_what_a_model_saw(base_url: str, client: httpx.Client) -> None:
    env = {"QUIRE_URL": base_url}
    append(client, "c", [system("Be brief."), user("hello"), assistant("hello")])
    assert "No window of this conversation" in invoke(env, "replay", "c").output
    served(client, "c", budget=5_000)
    append(client, "c", [user("Where is the key?")])
    served(client, "c", budget=6_000, format="anthropic", query="key")
    said = quire(env, "replay", "c")
    assert "Window 2 of c" in said
    assert "GET context; anthropic; budget 6,000" in said
    assert "Byte for byte what was served" in said
    assert "+ message 4, verbatim: said" in said
    assert "~ budget: 5000 to 6000" in said
    assert "Where is the key?" in said
    first = quire(env, "replay", "c", "1")
    assert "Where is the key?" not in first
    assert "[system] Be brief." in first
    assert json.loads(quire(env, "replay", "c", "1", "--json"))["verified"]
    assert "There is no window 3" in invoke(env, "replay", "c", "3").output
    ok(client.delete(path("c", "messages", "2")))
    assert "Erased since: message 2" in quire(env, "replay", "c", "1")
