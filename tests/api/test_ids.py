"""Ids that clients choose: up to 128 characters of anything but control characters, the same in path and body."""

from urllib.parse import quote

import httpx
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.api.kit import Json, append, contents, created, history, ok, path, problem, recall, user, window
from tests.by_turns import examples, few

IDS = [
    "a/b", "/", "//", "a//b/", "../etc", "...", "a/..", "a b", " ", "100%", "%2F", "%252F", "a%2Fb", "q?x=1&y#z",
    "+", "a+b",
    "林妍/周报 🦜", "e\u0301", "\u00e9", "ß",
    "👩‍👩‍👧", "\u202egnp", '"\'\\', "{}", ";,:@&=$!*()", "\ufeff", "\U0010ffff",
    "messages", "a/messages", "x" * 128, "龙" * 128, "🦜" * 128,
]  # fmt: skip
DOTS = (".", "..")
"""Clients remove them from paths, so they are refused."""
TOO_LONG_OR_ODD = ["", "x" * 129, "a\nb", "a\x00b", "\x7f", "\x85", "a\uffffb"]


def assert_usable(client: httpx.Client, name: str) -> None:
    assert append(client, name, [user(f"hello {name}")], user_id=name)["page"] == 1
    assert ok(client.get(path(name)))["id"] == name
    assert ok(client.patch(path(name), json={"title": "t"}))["user_id"] == name
    assert len(history(client, name)) == 1
    assert window(client, name)["conversation_id"] == name
    assert contents(client, name)["entries"] == []
    assert recall(client, name, 1)["is_error"] is False
    assert [i["id"] for i in ok(client.get("/conversations", params={"user_id": name}))["items"]] == [name]
    assert ok(client.delete(path(name)))["id"] == name


@pytest.mark.parametrize("name", few(IDS, 10))
def test_an_id_of_any_characters_works_in_every_path(client: httpx.Client, name: str) -> None:
    assert_usable(client, name)


ANY_ID = st.text(
    st.characters(exclude_categories=["Cc", "Cs"], exclude_characters="\uffff"), min_size=1, max_size=128
).filter(lambda name: name not in DOTS)


@settings(max_examples=examples(15), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(ANY_ID)
def test_any_other_id_round_trips(client: httpx.Client, name: str) -> None:
    assert_usable(client, name)


@pytest.mark.parametrize("name", TOO_LONG_OR_ODD)
def test_an_id_that_is_not_usable_is_refused_in_body_and_path(client: httpx.Client, name: str) -> None:
    problem(client.post("/conversations", json={"id": name}), 422, "id", "128 characters")
    problem(client.post("/conversations", json={"id": "c", "user_id": name}), 422, "user_id", "128 characters")
    body: Json = {"messages": [user()], "user_id": name}
    problem(client.post("/conversations/c/messages", json=body), 422, "user_id", "128 characters")
    problem(client.post("/conversations/c/messages", json={"messages": [user(id=name)]}), 422, "id", "128 characters")
    if name:
        for part in ("", "/messages", "/context"):
            problem(client.get(f"/conversations/{quote(name, safe='')}{part}"), 422, "conversation_id", "128")


@pytest.mark.parametrize("name", DOTS)
def test_an_id_that_no_client_could_put_in_a_path_is_refused(client: httpx.Client, name: str) -> None:
    problem(client.post("/conversations", json={"id": name}), 422, "id", "must not be . or ..")


@pytest.mark.parametrize("raw", ["%FF", "a%C0%AFb", "a%EF%BF%BFb", "%ED%A0%80", "%00"])
def test_a_path_that_is_not_unicode_text_names_no_conversation(client: httpx.Client, raw: str) -> None:
    for name in ("a/b", "\ufffd"):
        append(client, name, [user()])
    problem(client.get(f"/conversations/{raw}"), 422, "conversation_id")
    problem(client.post(f"/conversations/{raw}/messages", json={"messages": [user()], "user_id": "u"}), 422)


def test_lookalike_ids_are_distinct(client: httpx.Client) -> None:
    alike = ["e\u0301", "\u00e9", "E\u0301", "a/b", "a%2Fb", "a", "A", "a ", " a"]
    for name in alike:
        created(client, id=name)
    assert sorted(i["id"] for i in ok(client.get("/conversations"))["items"]) == sorted(alike)
