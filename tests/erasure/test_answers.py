"""Answers that were kept for Idempotency-Keys: an erasure looks at those that may speak of what it erases, and only
at those.
"""

from collections.abc import Callable

import asyncpg
import httpx
import pytest

from app.core.scope import Scope
from app.store.idempotency import UNKNOWN
from tests.api.kit import Json, assistant, call, created, ok, path, problem, result, user
from tests.archive.conftest import Grep
from tests.archive.made import made

Sql = Callable[[str], list[asyncpg.Record]]
MARK = "Xylocarpus"
SECRET = f"The {MARK} seeds of the harbour are under pier {MARK}-7781."


def say_all(client: httpx.Client, user_id: str | None, name: str) -> dict[str, Json]:
    """Whatever is answered with a key and speaks of a conversation, or of its user."""
    scope: Json = {"user_id": user_id} if user_id is not None else {"conversation_id": name}

    def keyed(verb: str, url: str, body: Json | None = None) -> Json:
        answer = client.request(verb, url, json=body, headers={"Idempotency-Key": f"{name} {verb} {url}"})
        found: Json = ok(answer, answer.status_code)
        assert answer.is_success
        return found

    of_user: Json = {"user_id": user_id} if user_id is not None else {}
    keyed("POST", "/conversations", {"id": name, **of_user, "title": MARK})
    keyed("PATCH", path(name), {"title": f"{MARK} again"})
    messages = [user(SECRET), call("a"), result("a", f"{SECRET} {made('prose')}"), assistant(SECRET)]
    said = keyed("POST", path(name, "messages"), {"messages": messages})
    note = keyed("POST", path(name, "notes"), {"text": SECRET})
    keyed("POST", path(name, "tools", "recall_memory"), {"arguments": {"query": MARK}})
    return {
        "append": said,
        "note": note,
        "memory": keyed("POST", "/memories", {**scope, "content": SECRET}),
        "archive": keyed("POST", "/archive", {**scope, "tool_name": "t", "result": f"{SECRET}{made('prose')}"}),
    }


def owners(run_as_superuser: Sql) -> set[object]:
    return {row[0] for row in run_as_superuser("SELECT owner FROM idempotency")}


@pytest.mark.parametrize("user_id", ["u", None])
def test_every_stored_response_has_an_owner(client: httpx.Client, run_as_superuser: Sql, user_id: str | None) -> None:
    said = say_all(client, user_id, "c")
    for url in (
        path("c", "notes", said["note"]["id"]), path("c", "messages", "1"), path("c", "pages", "1"),
        f"/memories/{said['memory']['memory_key']}", f"/archive/{said['archive']['uuid']}", path("c"),
    ):  # fmt: skip
        ok(client.delete(url, headers={"Idempotency-Key": f"erase {url}"}))
    assert owners(run_as_superuser) == {Scope.read("u:u" if user_id else "c:c").owner}


@pytest.mark.parametrize("known", [True, False])
@pytest.mark.parametrize("user_id", ["u", None])
def test_responses_with_and_without_an_owner_lose_an_erased_conversation(
    client: httpx.Client, run_as_superuser: Sql, tables_with: Grep, user_id: str | None, known: bool
) -> None:
    say_all(client, user_id, "c")
    if not known:  # as they were kept before owners were
        run_as_superuser(f"UPDATE idempotency SET owner = '{UNKNOWN}'")
    assert "idempotency" in tables_with(MARK)
    ok(client.delete(path("c")))
    if user_id is not None:
        ok(client.delete(f"/users/{user_id}"))
    assert "idempotency" not in tables_with(MARK)


def test_a_user_named_with_an_ownerless_conversation_is_searched_in_both(
    client: httpx.Client, run_as_superuser: Sql, tables_with: Grep
) -> None:
    created(client, id="c")
    both: Json = {"user_id": "u", "conversation_id": "c"}
    for number, (url, sent) in enumerate((
        ("/memories", {**both, "content": SECRET}),
        ("/archive", {**both, "tool_name": "t", "result": f"{SECRET}{made('prose')}"}),
    )):  # fmt: skip
        ok(client.post(url, json=sent, headers={"Idempotency-Key": str(number)}), 201)
    assert owners(run_as_superuser) == {UNKNOWN}
    ok(client.delete(path("c")))
    ok(client.delete("/users/u"))
    assert tables_with(MARK) == []


def test_responses_of_others_are_unchanged(client: httpx.Client, run_as_superuser: Sql) -> None:
    """Also where they say the same."""
    for name in ("u", "v"):
        say_all(client, name, f"of {name}")
    theirs = Scope("user", "v").owner
    where = f"WHERE owner = '{theirs}' AND position('{MARK}' IN response) > 0"
    before = run_as_superuser(f"SELECT key, response FROM idempotency {where} ORDER BY key")
    assert before
    ok(client.delete("/users/u"))
    assert run_as_superuser(f"SELECT key, response FROM idempotency {where} ORDER BY key") == before


def test_no_stored_response_repeats_an_erased_note(client: httpx.Client, run_as_superuser: Sql) -> None:
    created(client, id="c", user_id="u")
    note = ok(client.post(path("c", "notes"), json={"text": SECRET}, headers={"Idempotency-Key": "add"}), 201)
    where = path("c", "notes", note["id"])
    ok(client.put(where, json={"text": f"{SECRET} Now."}, headers={"Idempotency-Key": "change"}))
    done = ok(client.delete(where, headers={"Idempotency-Key": "erase"}))
    assert (done["erased"]["memories"], done["erased"]["idempotency"]) == (1, 2)
    assert not [row for row in run_as_superuser("SELECT response FROM idempotency") if MARK in row[0]]
    assert ok(client.delete(where, headers={"Idempotency-Key": "erase"})) == done
    again = client.post(path("c", "notes"), json={"text": SECRET}, headers={"Idempotency-Key": "add"})
    assert problem(again, 409, "Idempotency-Key")["type"] == "urn:quire:problem:erased-since"
