"""A recall in a window is recorded with it, and erased with its sources."""

from __future__ import annotations

import httpx
import pytest

from quire_command.demo.transcript import load
from tests.api.kit import SHIPPED, append, assistant, call, ok, result, user
from tests.served.kit import calls, given_back, is_given_back, records, served

PIER = "The harbour seeds of the marigold are kept under the third pier, beside the ice house."
LONG = "The committee heard the third reading and sent it back once more. " * 40


def talk(client: httpx.Client, conversation: str, turns: int = 10) -> None:
    for number in range(turns):
        append(client, conversation, [user(f"question {number}"), assistant(f"{number}: {LONG}")])


def test_what_a_query_found_is_given_back(client: httpx.Client) -> None:
    append(client, "c", [user(PIER), assistant("Noted.")])
    append(client, "d", [user("look"), call("a"), result("a", f"{PIER} " + "x y z " * 3_000), assistant("Seen.")])
    talk(client, "c")
    sent = served(client, "c", budget=6_000, query="Where are the marigold harbour seeds?")
    assert sent.body.count(b"ice house") > 1
    (record,) = records(client, "c")
    assert is_given_back(client, "c", record, sent)


def test_pages_and_archives_that_a_call_named_go_with_the_archive(client: httpx.Client) -> None:
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
    ok(client.delete(f"/archive/{uuid}"))
    for record in records(client, "c")[:2]:
        shown, body = given_back(client, "c", record["id"])
        assert not shown["verified"]
        assert "tail" in shown["erased"]["parts"]
        assert b"x y z" not in body


@pytest.mark.slow
def test_what_came_unasked_is_given_back(client: httpx.Client) -> None:
    sent = []
    for transcript in load(SHIPPED)[:1]:
        for messages in list(calls(transcript.messages))[:90]:
            append(client, "c", messages)
            sent.append(served(client, "c", budget=6_000))
    assert any(b"<quire-recalled>" in one.body for one in sent)
    for record, one in zip(reversed(records(client, "c")), sent, strict=True):
        assert is_given_back(client, "c", record, one)
