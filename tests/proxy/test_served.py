"""A request through the proxy points to the window that the model saw."""

from __future__ import annotations

from typing import Any

import httpx
import openai
import pytest

from tests.api.kit import Json, append, assistant, ok, path, user, window
from tests.conftest import wait_for
from tests.providers.fake_openai import FakeOpenAI
from tests.proxy.kit import Script, calling
from tests.proxy.test_refused import POISON, strict
from tests.served.kit import given_back, records

__all__ = ["strict"]


def requests(client: httpx.Client, count: int) -> list[Json]:
    """What became of the requests, in their order, once so many are recorded: nothing waits for a record."""
    found: list[Json] = []

    def are_there() -> bool:
        items = ok(client.get(path("c", "requests")))["items"]
        found[:] = sorted(items, key=lambda one: one["first_seq"])
        return len(found) == count

    wait_for(are_there)
    return found


def asked(chat: openai.OpenAI, messages: list[Any]) -> str:
    answer = chat.chat.completions.create(model="fake", messages=messages)
    return answer.choices[0].message.content or ""


def test_the_window_of_a_request_is_what_the_model_was_sent(
    client: httpx.Client, chat: openai.OpenAI, script: Script
) -> None:
    listed: list[Any] = [user("My cat is called Mira.")]
    for number in range(4):
        listed += [{"role": "assistant", "content": asked(chat, listed)}, user(f"question {number}")]
    found = requests(client, 4)
    assert [one["window"] for one in found] == [1, 2, 3, 4]
    for one, sent in zip(found, script.asked, strict=True):
        window, _ = given_back(client, "c", one["window"])
        assert window["verified"]
        assert window["record"]["call"] == "proxy"
        assert window["messages"] == sent["messages"]
        assert window["record"]["total"] == one["window_tokens"]


def test_of_several_calls_it_is_the_last_window(client: httpx.Client, chat: openai.OpenAI, script: Script) -> None:
    script.says(calling(("recall_page", {"page": 1})), "There it was.")
    asked(chat, [user("What was on page 1?")])
    (one,) = requests(client, 1)
    assert one["calls"] == 2
    assert one["window"] == 2
    assert [record["id"] for record in records(client, "c")] == [2, 1]
    assert given_back(client, "c", 2)[0]["messages"] == script.asked[1]["messages"]


def test_what_the_model_saw_stays_though_its_api_refused_it(
    client: httpx.Client, chat: openai.OpenAI, api: FakeOpenAI, strict: Script
) -> None:
    with pytest.raises(openai.BadRequestError):
        asked(chat, [user(POISON)])
    asked(chat, [user("something else")])
    refused, answered = requests(client, 2)
    first, _ = given_back(client, "c", refused["window"])
    assert first["verified"]
    assert POISON in str(first["messages"])
    second, _ = given_back(client, "c", answered["window"])
    assert second["verified"]
    assert POISON not in str(second["messages"])
    change = ok(client.get(path("c", "windows", str(answered["window"]), "diff")))
    assert [run["why"] for run in change["went_out"]] == ["refused"]


@pytest.mark.parametrize("stream", [False, True])
def test_a_proxied_answer_names_the_receipt_of_its_window(
    client: httpx.Client, chat: openai.OpenAI, stream: bool
) -> None:
    sent: Any = chat.chat.completions.with_raw_response
    answer = sent.create(model="fake", messages=[user("My cat is called Mira.")], stream=stream)
    answer.http_response.read()
    root = answer.headers["x-quire-receipt"]
    [record] = records(client, "c")
    assert root == record["root"]
    found = ok(client.get(path("c", "windows", root, "receipt"), params={"prove": 1}))
    assert "Mira" in found["text"]


def test_what_windows_saved_is_counted_with_their_use(
    client: httpx.Client, chat: openai.OpenAI, script: Script
) -> None:
    for number in range(30):
        append(client, "c", [user(f"question {number}"), assistant("The committee heard the third reading. " * 40)])
    ok(client.patch(path("c"), json={"budget": 4_000}))
    asked(chat, [user("What was decided?")])
    (one,) = requests(client, 1)
    now = window(client, "c", budget=4_000)["usage"]
    [used] = ok(client.get("/usage"))["items"]
    # The answer came after the window that the model saw, and is in both.
    assert used["saved_tokens"] == now["full_history"] - now["total"] > 0
    assert one["window_tokens"] < now["total"]
