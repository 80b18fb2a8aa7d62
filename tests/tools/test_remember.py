"""The tool that writes: a person's own words are held, anything else waits for a person."""

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
import pytest

from app.core.canonical import spaced
from app.recall import tools
from app.text.tokens import TokenCounter
from tests.api.kit import Json, append, assistant, call, created, ok, path, problem, result, user, window
from tests.tools.kit import refused, said

HARBOUR = "The harbour office closes at noon on Fridays."
HELD = "It is remembered."
WAITS = "It is proposed: it counts once a person accepts it."
OFFERED = ["recall_page", "load_tool_history", "search_memories"]


def listed(client: httpx.Client, status: str = "held", **query: Any) -> list[Json]:
    query = {"user_id": "u", "status": status, **query}
    found: list[Json] = ok(client.get("/memories", params=query))["items"]
    return [one for one in found if one["source"] != "rule"]


def texts(client: httpx.Client, status: str = "held", **query: Any) -> list[str]:
    return [one["content_preview"] for one in listed(client, status, **query)]


def opted(client: httpx.Client, name: str = "c", **settings: Any) -> None:
    created(client, id=name, user_id="u", settings={"remember_tool": True, **settings})


def offered(body: Json) -> list[str]:
    return [tool.get("name") or tool["function"]["name"] for tool in body["tools"]]


@pytest.mark.parametrize("form", ["openai", "anthropic"])
def test_windows_offer_it_where_their_conversation_wants_it(
    client: httpx.Client, form: str, counter: TokenCounter
) -> None:
    append(client, "c", [user("Hello."), assistant("Hi.")])
    before = window(client, "c", format=form)
    assert offered(before) == OFFERED
    ok(client.patch(path("c"), json={"settings": {"remember_tool": True}}))
    after = window(client, "c", format=form)
    assert offered(after) == [*OFFERED, "remember"]
    assert after["prefix_hash"] != before["prefix_hash"]
    schemas = tools.window_schemas("openai" if form == "openai" else "anthropic", tools.WINDOW_TOOLS_WRITING)
    more = counter.count(spaced(schemas)) - before["usage"]["sections"]["tools"]
    assert after["usage"]["sections"]["tools"] == before["usage"]["sections"]["tools"] + more
    append(client, "c", [user("And now?")])
    assert window(client, "c", format=form)["tools"] == after["tools"]
    ok(client.patch(path("c"), json={"settings": {"remember_tool": False}}))
    assert window(client, "c", format=form)["tools"] == before["tools"]


def test_a_served_window_keeps_the_tools_that_it_offered(client: httpx.Client) -> None:
    opted(client)
    append(client, "c", [user("Hello.")])
    served = window(client, "c")
    ok(client.patch(path("c"), json={"settings": {"remember_tool": False}}))
    [one] = ok(client.get(path("c", "windows")))["items"]
    again = ok(client.get(path("c", "windows", str(one["id"]))))
    assert again["verified"]
    assert (again["tools"], again["messages"]) == (served["tools"], served["messages"])


def test_a_tool_of_the_callers_takes_its_place(client: httpx.Client) -> None:
    opted(client)
    append(client, "c", [user("Hello.")])
    own = {"type": "function", "function": {"name": "remember", "parameters": {"type": "object"}}}
    body = ok(client.post(path("c", "context"), json={"tools": [own], "budget": 8000}))
    assert offered(body) == ["remember", *OFFERED]
    [warning] = [one for one in body["warnings"] if one["code"] == "recall_tools_left_out"]
    assert "remember" in warning["detail"]


def test_a_persons_words_are_held_with_their_source_and_anything_else_is_proposed(client: httpx.Client) -> None:
    opted(client)
    sent = [user(HARBOUR), call("a"), result("a", "The lighthouse keeper earns 900."), assistant("The pier is closed.")]
    stored = append(client, "c", sent)["messages"]
    assert said(client, "c", "remember", content="the harbour  office closes at NOON on fridays.") == HELD
    for content in ("The lighthouse keeper earns 900.", "The pier is closed.", "Prefers to go on Thursdays."):
        assert said(client, "c", "remember", content=content) == WAITS
    [held] = listed(client)
    assert (held["content_preview"], held["source"], held["pinned"]) == (HARBOUR, "tool", False)
    assert (held["conversation_id"], held["quote"]) == ("c", {"text": HARBOUR, "seq": stored[0]["seq"]})
    assert sorted(texts(client, "proposed")) == [
        "Prefers to go on Thursdays.", "The lighthouse keeper earns 900.", "The pier is closed.",
    ]  # fmt: skip
    ok(client.delete(path("c", "messages", str(stored[0]["seq"]))))
    assert texts(client) == []
    assert texts(client, "proposed") == [], "a model said it of the page"


def test_the_same_said_again_or_at_once_is_stored_once(client: httpx.Client) -> None:
    opted(client)
    append(client, "c", [user(HARBOUR)])
    with ThreadPoolExecutor(8) as pool:
        for content in (HARBOUR, "Prefers Thursdays."):
            list(pool.map(lambda _: said(client, "c", "remember", content=content), range(8)))  # noqa: B023
    assert (texts(client), texts(client, "proposed")) == ([HARBOUR], ["Prefers Thursdays."])
    [key] = [one["memory_key"] for one in listed(client, "proposed")]
    ok(client.patch(f"/memories/{key}", json={"status": "refused"}))
    assert refused(client, "c", "remember", content="Prefers Thursdays.").startswith("It is not remembered")
    assert texts(client, "proposed") == []
    [key] = [one["memory_key"] for one in listed(client)]
    ok(client.delete(f"/memories/{key}"))
    assert said(client, "c", "remember", content=HARBOUR) == HELD
    assert texts(client) == [HARBOUR], "erased, it can be said again"


def test_a_repeated_request_is_answered_alike(client: httpx.Client) -> None:
    append(client, "c", [user(HARBOUR)])
    at, key = path("c", "tools", "remember"), {"Idempotency-Key": "k"}
    first = ok(client.post(at, json={"arguments": {"content": HARBOUR}}, headers=key))
    assert ok(client.post(at, json={"arguments": {"content": HARBOUR}}, headers=key)) == first
    problem(client.post(at, json={"arguments": {"content": "Prefers Thursdays."}}, headers=key), 422)
    assert texts(client, "proposed") == []


@pytest.mark.parametrize(
    "message",
    [
        f'Ann wrote: "{HARBOUR} And nobody told me."',
        f"Summarise this text:\n\n{HARBOUR}",
        f"Let's play a game: you are a pirate and I am a sailor. {HARBOUR}",
    ],
    ids=["quoted", "handed over", "role play"],
)
def test_what_a_person_only_passes_on_is_proposed(client: httpx.Client, message: str) -> None:
    append(client, "c", [user(message)])
    assert said(client, "c", "remember", content=HARBOUR) == WAITS


def test_another_speaker_is_not_the_user(client: httpx.Client) -> None:
    append(client, "c", [user(HARBOUR, name="Bob")])
    assert said(client, "c", "remember", content=HARBOUR) == WAITS


@pytest.mark.parametrize(
    ("message", "content", "key", "is_held"),
    [
        ("I am vegetarian and like long walks.", "I am vegetarian and like long walks", "diet", True),
        ("My friend Anna is a vegetarian cook.", "My friend Anna is a vegetarian cook.", "diet", False),
        ("The project deadline is on May 3.", "The project deadline is on May 3.", "diet", False),
        ("The project deadline is on May 3.", "The project deadline is on May 3.", "project/deadline", True),
    ],
)
def test_a_closed_key_is_held_only_where_the_words_show_it(
    client: httpx.Client, message: str, content: str, key: str, is_held: bool
) -> None:
    append(client, "c", [user(message)])
    assert said(client, "c", "remember", content=content, key=key) == (HELD if is_held else WAITS)


def test_what_a_person_set_or_keeps_in_view_is_not_replaced(client: httpx.Client) -> None:
    mine: Json = {"user_id": "u", "content": "The deadline is on June 9.", "key": "deadline"}
    ok(client.post("/memories", json=mine), 201)
    append(client, "c", [user("The project deadline is on May 3.")])
    assert said(client, "c", "remember", content="The project deadline is on May 3.", key="deadline") == WAITS
    assert texts(client, key="deadline") == ["The deadline is on June 9."]


def test_secrets_wait_and_are_sensitive(client: httpx.Client) -> None:
    secret = "My bank password is marmalade toast."
    append(client, "c", [user(secret)])
    assert said(client, "c", "remember", content=secret) == WAITS
    [one] = listed(client, "proposed")
    assert ok(client.get(f"/memories/{one['memory_key']}"))["sensitivity"] == "sensitive"


@pytest.mark.parametrize("shares", ["none", "read", "write"])
def test_a_sub_agent_writes_nobodys_memory(client: httpx.Client, shares: str) -> None:
    append(client, "c", [user(HARBOUR), assistant("Noted.")])
    ok(client.post(path("c", "fork"), json={"id": "b", "shares": shares}), 201)
    append(client, "b", [user("The gate code is 4711 this week.")])
    for content in (HARBOUR, "The gate code is 4711 this week."):
        assert refused(client, "b", "remember", content=content) == "Nothing is remembered in this conversation."
    assert texts(client) == texts(client, "proposed") == []


def test_a_conversation_that_remembers_nothing_says_so(client: httpx.Client) -> None:
    opted(client, remember=False)
    append(client, "c", [user(HARBOUR)])
    assert offered(window(client, "c")) == OFFERED
    assert refused(client, "c", "remember", content=HARBOUR) == "Nothing is remembered in this conversation."
    assert texts(client) == texts(client, "proposed") == []


def test_a_branch_quotes_the_message_where_it_stands(client: httpx.Client) -> None:
    seq = append(client, "c", [user(HARBOUR), assistant("Noted.")])["messages"][0]["seq"]
    ok(client.post(path("c", "fork"), json={"id": "b"}), 201)
    assert said(client, "b", "remember", content=HARBOUR) == HELD
    [held] = listed(client)
    assert (held["conversation_id"], held["quote"]["seq"]) == ("c", seq)
    ok(client.delete(path("c", "messages", str(seq))))
    assert texts(client) == []


def test_a_groups_words_are_its_spaces_and_a_closed_key_is_proposed(client: httpx.Client) -> None:
    ok(client.post("/spaces", json={"id": "team", "members": {"ann": "write", "bob": "read"}}), 201)
    append(client, "talk", [user(HARBOUR, name="Bobby"), user("I am vegetarian and like long walks.", name="Ann")],
           user_id=None, space_id="team")  # fmt: skip
    assert said(client, "talk", "remember", content=HARBOUR) == HELD
    assert said(client, "talk", "remember", content="I am vegetarian and like long walks.", key="diet") == WAITS
    [held] = ok(client.get("/memories", params={"scope": "space:team"}))["items"]
    assert (held["content_preview"], held["scope"]) == (HARBOUR, "space:team")
    at, body = path("talk", "tools", "remember"), {"arguments": {"content": "Prefers tea."}}
    problem(client.post(at, json=body, headers={"X-Quire-User": "bob"}), 403)
    problem(client.post(at, json=body, headers={"X-Quire-User": "eve"}), 404)


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ({}, "content"),
        ({"content": "x" * 10_001}, "10000"),
        ({"content": "x" * 2001, "key": "k"}, "2000"),
        ({"content": "x", "key": "a/../b"}, "segments"),
        ({"content": "x", "scope": "user"}, "scope"),
    ],
)
def test_a_models_mistake_says_what_works(client: httpx.Client, arguments: Json, text: str) -> None:
    append(client, "c", [user(HARBOUR)])
    assert text in refused(client, "c", "remember", **arguments)
    assert texts(client) == texts(client, "proposed") == []
