"""Erased data is also erased from the windows that showed it; other windows are not changed."""

from __future__ import annotations

import json
from collections.abc import Callable

import asyncpg
import httpx

from app.core.window.served import unpack
from app.store.served import Row
from tests.api.kit import append, assistant, call, ok, path, problem, result, user
from tests.erasure.test_messages import MARK, SECRET
from tests.served.kit import given_back, is_given_back, records, served

Sql = Callable[[str], list[asyncpg.Record]]
LONG = "The committee heard the third reading and sent it back once more. " * 40


def told(run_as_superuser: Sql) -> str:
    """Return everything that is stored of windows."""
    rows = run_as_superuser("SELECT body FROM served_texts UNION ALL SELECT body FROM own_texts")
    lines = run_as_superuser("SELECT body FROM served_windows")
    return "\n".join([*(str(unpack(row["body"])) for row in rows), *(str(Row.read(1, row["body"])) for row in lines)])


def talk(client: httpx.Client, turns: int = 12) -> None:
    append(client, "c", [user(SECRET), assistant("Noted.")])
    for number in range(turns):
        append(client, "c", [user(f"question {number}"), assistant(f"{number}: {LONG}")])
        served(client, "c", budget=4_000)


def test_an_erased_message_is_in_no_window_and_nothing_that_quoted_it(
    client: httpx.Client, run_as_superuser: Sql
) -> None:
    append(client, "c", [user("Before anything was said."), assistant("Yes.")])
    before = served(client, "c", budget=4_000)
    talk(client)
    last = served(client, "c", budget=4_000, query=f"Where are the {MARK} seeds?")
    assert MARK.encode() in last.body
    listed = list(reversed(records(client, "c")))
    assert MARK in told(run_as_superuser)
    gone = ok(client.delete(path("c", "messages", "3")))["erased"]
    assert gone["served_texts"] > 0
    assert MARK not in told(run_as_superuser)
    assert is_given_back(client, "c", listed[0], before)
    shown, body = given_back(client, "c", 2)
    assert not shown["verified"]
    assert shown["erased"]["messages"] == [3]
    assert MARK.encode() not in body
    shown, body = given_back(client, "c", len(listed))
    assert {"head", "query"} <= set(shown["erased"]["parts"])
    assert shown["record"]["query"] is None
    assert MARK.encode() not in body
    served(client, "c", budget=4_000)
    newest = records(client, "c")[0]
    assert given_back(client, "c", newest["id"])[0]["verified"]


def test_what_another_conversation_recalled_goes_with_its_source(client: httpx.Client, run_as_superuser: Sql) -> None:
    append(client, "c", [user(SECRET), assistant("Noted.")])
    append(client, "d", [user("hello"), assistant("hello")])
    found = served(client, "d", query=f"Where are the {MARK} seeds of the harbour?")
    assert b"pier" in found.body
    (record,) = records(client, "d")
    assert is_given_back(client, "d", record, found)
    ok(client.delete(path("c", "messages", "1")))
    assert MARK not in told(run_as_superuser)
    shown, body = given_back(client, "d", record["id"])
    assert not shown["verified"]
    assert "tail" in shown["erased"]["parts"]
    assert MARK.encode() not in body


def test_an_erased_conversation_takes_its_windows_with_it(client: httpx.Client, run_as_superuser: Sql) -> None:
    talk(client, turns=3)
    append(client, "d", [user("hello"), assistant("hello")])
    served(client, "d", query=f"Where are the {MARK} seeds of the harbour?")
    records(client, "c")
    gone = ok(client.delete(path("c")))["erased"]
    assert gone["served_windows"] == 1
    assert gone["served_texts"] > 0
    assert MARK not in told(run_as_superuser)
    problem(client.get(path("c", "windows")), 404)
    problem(client.get(path("c", "windows", "1")), 404)
    append(client, "c", [user("A new one of the same name.")])
    assert records(client, "c") == []


def test_a_deleted_note_is_in_no_head(client: httpx.Client, run_as_superuser: Sql) -> None:
    append(client, "c", [user("hello"), assistant("hello")])
    note = ok(client.post(path("c", "notes"), json={"text": f"Say {MARK} first."}), 201)
    sent = served(client, "c")
    assert MARK.encode() in sent.body
    (record,) = records(client, "c")
    assert is_given_back(client, "c", record, sent)
    ok(client.delete(path("c", "notes", note["id"])))
    assert MARK not in told(run_as_superuser)
    assert given_back(client, "c", record["id"])[0]["erased"]["parts"] == ["head"]


def test_a_wish_that_followed_its_user_goes_from_all_heads(client: httpx.Client, run_as_superuser: Sql) -> None:
    wish = f"From now on always call me Captain {MARK}."
    append(client, "c", [user(wish), assistant("Aye.")])
    append(client, "d", [user("hello"), assistant("hello")])
    sent = served(client, "d")
    if MARK.encode() not in sent.body:
        memory = ok(client.get("/memories", params={"user_id": "u"}))
        raise AssertionError(json.dumps(memory))
    records(client, "d")
    ok(client.delete(path("c", "messages", "1")))
    assert MARK not in told(run_as_superuser)


def test_an_archive_that_was_shown_fresh_goes_from_the_window(client: httpx.Client) -> None:
    append(client, "c", [user("look"), call("a"), result("a", f"{MARK} " + "x y z " * 3_000)])
    sent = served(client, "c")
    (record,) = records(client, "c")
    assert is_given_back(client, "c", record, sent)
    append(client, "c", [assistant("Seen."), user("next")])
    assert is_given_back(client, "c", record, sent)
    (archive,) = ok(client.get("/archive", params={"conversation_id": "c"}))["items"]
    ok(client.delete(f"/archive/{archive['uuid']}"))
    shown, body = given_back(client, "c", record["id"])
    assert not shown["verified"]
    assert shown["erased"]["messages"] == [3]
    assert MARK.encode() not in body
