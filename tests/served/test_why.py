"""The reported place of a message agrees with the window, and the reported way to recall it works."""

from __future__ import annotations

import re
from collections.abc import Sequence

import httpx
import pytest

from quire_command.demo.transcript import load, steps
from tests.api.kit import (
    SHIPPED,
    Json,
    append,
    assistant,
    call,
    history,
    ok,
    path,
    problem,
    result,
    system,
    text_of,
    user,
    window,
)
from tests.served.kit import BUDGETS

IN_VIEW = ("passing", "verbatim", "condensed")
DATE = re.compile(r"\[[^\n]*\d{4}[^\n]*\]")


def why(client: httpx.Client, conversation: str, seq: int, **query: int | str) -> Json:
    return ok(client.get(path(conversation, "why"), params={"seq": seq, **query}))


def run(client: httpx.Client, conversation: str, recall: Json) -> str:
    answer = client.post(path(conversation, "tools", recall["tool"]), json={"arguments": recall["arguments"]})
    return str(ok(answer)["content"])


def agrees(client: httpx.Client, conversation: str, places: Sequence[Json], seen: Sequence[Json], shown: Json) -> None:
    """Compare the reported places of messages with a window's messages, in order. ``seen``: as models see them."""
    body = [m for m in shown["messages"] if m["role"] != "system"]
    head = body.pop(0)["content"] if str(body[0].get("content")).startswith("<quire-memory>") else ""
    body = [m for m in body if not (m["role"] == "user" and DATE.fullmatch(str(m["content"])))]
    in_view = [(found, message) for found, message in zip(places, seen, strict=True) if found["place"] in IN_VIEW]
    assert len(in_view) == len(body)
    for (found, message), rendered in zip(in_view, body, strict=True):
        assert rendered["role"] == message["role"]
        if found["place"] == "verbatim":
            assert text_of(rendered) == text_of(message), found
        elif found["place"] == "condensed":
            assert len(text_of(rendered)) <= len(text_of(message)) + 100
    for found in places:
        assert found["place"] in ("listed", "system" if found["role"] == "system" else "", *IN_VIEW), found
        if found["place"] == "listed":
            line = found["line"]
            assert f"\n{line['text']}\n" in head
            assert line["first_page"] <= found["page"] <= line["last_page"]
            assert "recall_page" in {one["tool"] for one in found["recalls"]}
        else:
            assert found["line"] is None


def sent(client: httpx.Client, conversation: str, messages_max: int) -> list[Json]:
    """Store the shipped conversation, with windows as it grows. Return its messages as a model sees them."""
    seen: list[Json] = []
    [transcript] = load(SHIPPED)
    for number, step in enumerate(steps(transcript.messages[:messages_max])):
        stored = append(client, conversation, step.messages)["messages"]
        seen += [{**one, "tool_calls": m.get("tool_calls")} for one, m in zip(stored, step.messages, strict=True)]
        if number % 20 == 0:
            for budget in BUDGETS:
                window(client, conversation, budget=budget)
    return seen


@pytest.mark.slow
@pytest.mark.parametrize("budget", BUDGETS)
def test_every_message_of_the_shipped_conversation_is_where_it_is_said_to_be(client: httpx.Client, budget: int) -> None:
    seen = sent(client, "c", 10_000)
    shown = window(client, "c", budget=budget)
    places = [why(client, "c", one["seq"], budget=budget) for one in seen]
    agrees(client, "c", places, seen, shown)
    assert window(client, "c", budget=budget)["prefix_hash"] == shown["prefix_hash"]
    for found, message in list(zip(places, seen, strict=True))[::7]:
        text = str(message["content"] or "").split("\n")[0][:20]
        for recall in found["recalls"]:
            if recall["is_whole"] and recall["tool"] != "load_tool_history":
                assert text in run(client, "c", recall)


def test_a_short_conversation_is_where_it_is_said_to_be(client: httpx.Client) -> None:
    seen = sent(client, "c", 120)
    shown = window(client, "c", budget=3000)
    places = [why(client, "c", one["seq"], budget=3000) for one in seen[::5]]
    every = [why(client, "c", one["seq"], budget=3000, format="anthropic")["place"] for one in seen[::5]]
    assert {found["place"] for found in places} >= {"listed", "verbatim"}
    assert [found["place"] for found in places] == every
    listed = next(found for found in places if found["place"] == "listed")
    [page] = [one for one in listed["recalls"] if one["tool"] == "recall_page"]
    message = next(one for one in seen if one["seq"] == listed["seq"])
    assert str(message["content"])[:20] in run(client, "c", page)
    assert shown["usage"]["total"] <= 3000


def test_looking_is_no_recall(client: httpx.Client) -> None:
    sent(client, "c", 120)
    window(client, "c", budget=3000)
    before = ok(client.get(path("c", "pages", "1")))
    why(client, "c", 1, budget=3000)
    assert ok(client.get(path("c", "pages", "1"))) == before


def test_an_archived_result_is_loaded_and_the_prompt_is_the_systems(client: httpx.Client) -> None:
    long = "".join(f"reading {n} is {n * n}\n" for n in range(2000))
    append(client, "c", [system("Be brief."), user("read it"), call("a"), result("a", long), assistant("It is long.")])
    assert why(client, "c", 1)["place"] == "system"
    assert why(client, "c", 2)["recalls"] == []
    append(client, "c", [user("and now?")])
    found = why(client, "c", 4)
    assert (found["place"], found["archive_ids"]) == ("verbatim", [found["recalls"][0]["arguments"]["uuid"]])
    assert "reading 7 is 49" in run(client, "c", found["recalls"][0])


def test_a_call_without_its_result_waits(client: httpx.Client) -> None:
    append(client, "c", [user("look"), call("a")])
    assert [why(client, "c", seq)["place"] for seq in (1, 2)] == ["verbatim", "waiting"]


def test_nothing_brings_an_erased_message_back(client: httpx.Client) -> None:
    append(client, "c", [user("my secret is plum"), assistant("noted"), user("next")])
    ok(client.delete(path("c", "messages", "1")))
    found = why(client, "c", 1)
    assert (found["text"], found["recalls"]) == ("erased", [])
    assert [why(client, "c", seq)["text"] for seq in (2, 3)] == ["stored", "stored"]


def test_a_message_that_is_not_there_is_named(client: httpx.Client) -> None:
    append(client, "c", [user("hi")])
    problem(client.get(path("c", "why"), params={"seq": 2}), 404, "message 2", "up to 1")
    problem(client.get(path("c", "why")), 422, "seq")
    problem(client.get(path("nobody", "why"), params={"seq": 1}), 404)
    assert [one["seq"] for one in history(client, "c")] == [1]
