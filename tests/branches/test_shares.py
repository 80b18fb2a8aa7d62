"""A branch in which a sub-agent speaks: what it shares with its parent besides the messages up to the fork."""

from typing import Any

import httpx
import pytest

from tests.api.kit import Json, append, assistant, call, canonical, ok, path, problem, result, user, window

SHARED = "The boiler in the cellar has the service code KX-2291."
ELSEWHERE = "The garden shed has the service code PD-7714."
TOLD = "The lift in the hall has the service code LM-3308."
LARGE = "The attic heater has the service code QQ-1200. " * 500


def found(client: httpx.Client, conversation: str | None, query: str = "service code", **more: Any) -> str:
    where = {"conversation_id": conversation} if conversation is not None else {}
    body = {"user_id": "u", "query": query, "search_mode": "keyword", **where, **more}
    return canonical(ok(client.post("/memories/search", json=body))["results"])


def by_tool(client: httpx.Client, conversation: str, name: str, **arguments: Any) -> str:
    answer = client.post(path(conversation, "tools", name), json={"arguments": arguments})
    return str(ok(answer)["content"])


@pytest.fixture
def parent(client: httpx.Client) -> Json:
    append(client, "other", [user(ELSEWHERE), assistant("Noted.")])
    sent = [user(SHARED), call("a"), result("a", LARGE), assistant("Noted.")]
    uuid = append(client, "t", sent)["messages"][2]["archive_id"]
    append(client, "t", [user("Never wear boots in the house, always remember that."), assistant("Noted.")])
    return {"archive": uuid}


@pytest.mark.parametrize("shares", ["none", "read", "write"])
def test_a_sub_agents_branch_finds_what_it_shares(client: httpx.Client, parent: Json, shares: str) -> None:
    made = ok(client.post(path("t", "fork"), json={"id": "b", "shares": shares}), 201)
    assert (made["parent"], made["parent_id"]) == ("t", "t")
    append(client, "b", [user(TOLD), assistant("Noted.")])
    append(client, "t", [user("The gate at the road has the service code ZZ-9900."), assistant("Noted.")])
    mine = found(client, "b")
    assert "KX-2291" in mine
    assert "LM-3308" in mine
    assert "PD-7714" not in mine
    assert "ZZ-9900" not in mine
    tool = by_tool(client, "b", "search_memories", query="service code")
    assert "KX-2291" in tool
    assert "LM-3308" in tool
    assert "ZZ-9900" not in tool
    assert ("PD-7714" in tool) is (shares != "none")
    asked = canonical(window(client, "b", query="the service code of the garden shed")["messages"])
    assert ("PD-7714" in asked) is (shares != "none")
    assert "QQ-1200" in by_tool(client, "b", "load_tool_history", uuid=parent["archive"], query="attic heater")
    assert "QQ-1200" in by_tool(client, "b", "grep_memories", pattern="QQ-1200", this_conversation=True)


@pytest.mark.parametrize("name", ["t", "b"])
def test_a_pattern_is_looked_for_beyond_its_tree(client: httpx.Client, parent: Json, name: str) -> None:
    ok(client.post(path("t", "fork"), json={"id": "b"}), 201)
    assert by_tool(client, name, "grep_memories", pattern="PD-7714").startswith("<quire-memories 1 of 1 lines, newest")
    assert by_tool(client, name, "grep_memories", pattern="QQ-12").startswith("<quire-memories 1 of 1 lines, newest")


@pytest.mark.parametrize(("shares", "seen"), [("none", False), ("read", False), ("write", True), (None, True)])
def test_what_is_said_in_it_is_found_elsewhere_only_with_write(
    client: httpx.Client, parent: Json, shares: str | None, seen: bool
) -> None:
    ok(client.post(path("t", "fork"), json={"id": "b", "shares": shares}), 201)
    append(client, "b", [user(TOLD), assistant("Noted.")])
    assert "LM-3308" not in found(client, "t")
    assert "LM-3308" not in by_tool(client, "t", "search_memories", query="service code of the lift")
    assert ("LM-3308" in by_tool(client, "other", "search_memories", query="service code of the lift")) is seen
    assert ("LM-3308" in found(client, None)) is seen
    deeper = ok(client.post(path("b", "fork"), json={"id": "deeper"}), 201)
    assert deeper["parent"] == (None if shares is None else "t")
    assert "LM-3308" in found(client, "deeper")


def test_its_first_window_is_the_parents_if_it_reads_what_that_reads(client: httpx.Client, parent: Json) -> None:
    before = canonical(window(client, "t", budget=4000)["messages"])
    for shares in ("read", "write"):
        ok(client.post(path("t", "fork"), json={"id": shares, "shares": shares}), 201)
        assert canonical(window(client, shares, budget=4000)["messages"]) == before


def test_nothing_said_in_it_becomes_a_memory_of_the_person(client: httpx.Client, parent: Json) -> None:
    ok(client.post(path("t", "fork"), json={"id": "b", "shares": "write"}), 201)
    append(client, "b", [user("Always answer me in French, please remember that."), assistant("Noted.")])
    append(client, "new", [user("hello")])
    assert "French" not in canonical(window(client, "new")["messages"])


def test_the_same_fork_with_other_shares_is_another(client: httpx.Client, parent: Json) -> None:
    body = {"id": "b", "shares": "read", "at": 2}
    first = ok(client.post(path("t", "fork"), json=body), 201)
    assert ok(client.post(path("t", "fork"), json=body), 201) == first
    problem(client.post(path("t", "fork"), json={**body, "shares": "write"}), 409, "id")
    problem(client.post(path("t", "fork"), json={"id": "b", "at": 2}), 409, "id")
    problem(client.post(path("t", "fork"), json={"shares": "some"}), 422, "shares")
