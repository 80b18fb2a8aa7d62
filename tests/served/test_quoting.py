"""What was recalled into a window is recorded by its places, and read again from there."""

from __future__ import annotations

from collections.abc import Callable

import asyncpg
import httpx
import pytest

from app.core.window.served_quotes import unpack
from quire_command.demo.transcript import load
from tests.api.kit import SHIPPED, append, assistant, call, ok, path, result, user
from tests.served.kit import calls, given_back, is_given_back, records, served

Sql = Callable[[str], list[asyncpg.Record]]
PIER = "The harbour seeds of the marigold are kept under the third pier, beside the ice house."
LONG = "The committee heard the third reading and sent it back once more. " * 40


def kept(run_as_superuser: Sql, part: str) -> str:
    rows = run_as_superuser(f"SELECT body FROM served_texts WHERE part = '{part}'")
    return "\n".join(str(unpack(row["body"])) for row in rows)


def talk(client: httpx.Client, conversation: str, turns: int = 10) -> None:
    for number in range(turns):
        append(client, conversation, [user(f"question {number}"), assistant(f"{number}: {LONG}")])


def test_what_a_query_found_is_kept_by_its_places(client: httpx.Client, run_as_superuser: Sql) -> None:
    append(client, "c", [user(PIER), assistant("Noted.")])
    append(client, "d", [user("look"), call("a"), result("a", f"{PIER} " + "x y z " * 3_000), assistant("Seen.")])
    talk(client, "c")
    sent = served(client, "c", budget=6_000, query="Where are the marigold harbour seeds?")
    assert sent.body.count(b"ice house") > 1
    (record,) = records(client, "c")
    assert is_given_back(client, "c", record, sent)
    assert "ice house" not in kept(run_as_superuser, "tail")


def test_pages_and_archives_that_a_call_named_are_kept_by_their_places(
    client: httpx.Client, run_as_superuser: Sql
) -> None:
    stored = append(client, "c", [user(PIER), call("a"), result("a", f"{PIER}\n" + "x y z\n" * 3_000)])
    uuid = stored["messages"][-1]["archive_id"]
    talk(client, "c")
    sent = [
        served(client, "c", budget=12_000, pages="1"),
        served(client, "c", budget=12_000, load=uuid),
        served(client, "c", budget=12_000, load=uuid, query="Where are the marigold seeds?"),
    ]
    assert all(b"ice house" in one.body for one in sent)
    for record, one in zip(reversed(records(client, "c")), sent, strict=True):
        assert is_given_back(client, "c", record, one)
    assert "ice house" not in kept(run_as_superuser, "tail")
    ok(client.delete(f"/archive/{uuid}"))
    for record in records(client, "c")[:2]:
        shown, body = given_back(client, "c", record["id"])
        assert not shown["verified"]
        assert "tail" in shown["erased"]["parts"]
        assert b"x y z" not in body


@pytest.mark.slow
def test_what_came_unasked_is_kept_by_its_places(client: httpx.Client, run_as_superuser: Sql) -> None:
    sent = []
    for transcript in load(SHIPPED)[:1]:
        for messages in list(calls(transcript.messages))[:80]:
            append(client, "c", messages)
            sent.append(served(client, "c", budget=6_000))
    assert any(b"<quire-recalled>" in one.body for one in sent)
    for record, one in zip(reversed(records(client, "c")), sent, strict=True):
        assert is_given_back(client, "c", record, one)
    longest = run_as_superuser("SELECT max(length(body)) AS most FROM served_texts WHERE part = 'recalled'")
    assert longest[0]["most"] < 400
    ok(client.get(path("c")))
