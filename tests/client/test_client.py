"""Both clients, method by method, against a running service: what one can do, the other can."""

import inspect
from typing import Any

import httpx
import pytest

from quire_client import AsyncQuire, BudgetTooSmall, Conflict, Fork, NotFound, Quire
from tests.api.kit import assistant, call, path, result, system, user


def test_both_have_the_same_methods_with_the_same_parameters() -> None:
    def public(kind: type) -> dict[str, list[str]]:
        found = inspect.getmembers(kind, inspect.isfunction)
        return {name: list(inspect.signature(f).parameters) for name, f in found if not name.startswith("_")}

    assert public(Quire) == public(AsyncQuire)
    assert len(public(Quire)) > 20


def test_a_turn_from_the_question_to_the_next_window(quire: Any) -> None:
    long = "crates on the shelf " * 1000
    asked = [user("Look."), call("a"), result("a", long)]
    assert quire.append("d/1", asked, user_id="me", system="Be brief.")["page"] == 1
    window = quire.context("d/1", budget=8000, query="crates", tools=[])
    assert window.messages[0]["content"].startswith("Be brief.")
    assert window.usage["total"] <= window.usage["budget"] == 8000
    assert {tool["function"]["name"] for tool in window.tools} >= {"recall_page", "load_tool_history"}
    assert window.raw["conversation_id"] == "d/1"
    [archive] = window.raw["archive_refs"]
    loaded = quire.call_tool("d/1", "load_tool_history", {"uuid": archive, "query": "crates"})
    assert "crates" in loaded["content"]
    assert quire.call_tool("d/1", "recall_page", {"page": 99})["is_error"]
    assert quire.load_archive(archive, offset=0, length=6)["content"] == "crates"
    assert [m["content"] for m in quire.history("d/1")][2] == long
    assert quire.status("d/1")["messages"] == quire.conversation("d/1")["messages"] == 3
    assert quire.context("d/1", format="anthropic").system.startswith("Be brief.")
    assert [one["id"] for one in quire.windows("d/1", batch=1)] == [2, 1]
    assert quire.window("d/1", 1)["verified"]
    assert quire.why("d/1", 3, budget=4000)["recalls"][0]["tool"] == "load_tool_history"
    assert quire.window_changes("d/1", 2)["settings"] == quire.window_changes("d/1", 2, since=1)["settings"]
    assert quire.delete("d/1")["erased"]["messages"] == 3
    with pytest.raises(NotFound):
        quire.conversation("d/1")


@pytest.mark.slow
def test_a_list_is_synced_however_long_it_is(quire: Any) -> None:
    whole = [system("s"), *(m for n in range(1200) for m in (user(f"q{n}"), assistant(f"a{n}")))]
    assert quire.sync("c", whole, user_id="me")["matched"] == 2001
    assert quire.sync("c", [*whole, user("new")])["matched"] == 2401
    assert len(list(quire.history("c"))) == 2401
    with pytest.raises(Fork) as raised:
        quire.sync("c", [*whole[:7], user("changed"), *whole[8:]], on_fork="error")
    assert (raised.value.index, raised.value.seq) == (7, 7)
    assert quire.sync("c", [*whole, assistant("other")], on_fork="append")["appended"][0]["seq"] == 2402


def test_a_conversation_is_forked_and_its_branches_listed(quire: Any) -> None:
    listed = [user("one"), assistant("1"), user("two"), assistant("2")]
    quire.append("c", listed, user_id="me")
    made = quire.fork("c", 2, id="b", title="Other")
    assert (made["parent_id"], made["forked_after"], made["title"]) == ("c", 2, "Other")
    assert quire.fork("c", 3, "before")["forked_after"] == 2
    branch = quire.sync("c", [*listed[:2], user("another two")])["branch"]
    assert next(iter(quire.branches("c", batch=1)))["id"] == branch
    assert len(list(quire.branches("b"))) == 3
    assert [m["content"] for m in quire.history("c")] == ["one", "1", "another two"]


def test_the_models_usage_is_reported(quire: Any) -> None:
    quire.append("c", [user("one")], user_id="me", reported_usage={"window_tokens": 1000, "prompt_tokens": 1200})
    quire.append("c", [assistant("two")], reported_usage={"window_tokens": 1000, "prompt_tokens": 1300})
    assert quire.context("c", budget=4000).usage["token_percent"] == pytest.approx(131, abs=3)
    listed = [user("one"), assistant("two"), user("three")]
    quire.sync("c", listed, reported_usage={"window_tokens": 1000, "prompt_tokens": 1400})
    assert quire.conversation("c")["token_percent"] == pytest.approx(116, abs=3)


def test_archives_memories_and_notes(quire: Any) -> None:
    made = quire.archive("web", "tea " * 5000, tool_input={"q": "tea"}, user_id="me", sources=["https://a.example"])
    assert made["archived"]
    quire.append("c", [user("I like green tea from Hangzhou."), assistant("Noted.")], user_id="me")
    note = quire.add_note("c", "Temperatures in Celsius.")
    assert quire.change_note("c", note["id"], "In Kelvin.")["text"] == "In Kelvin."
    assert [n["text"] for n in quire.notes("c")] == ["In Kelvin."]
    quire.remove_note("c", note["id"])
    assert quire.notes("c") == []
    found = quire.search("green tea", user_id="me", limit=3)
    assert found["results"][0]["content_preview"]
    kept = quire.remember("The user drinks tea.", user_id="me", memory_type="preference")
    assert quire.memory(kept["memory_key"])["content"] == "The user drinks tea."
    named = quire.remember("Lives in Porto", user_id="me", name="home", pinned=True)["memory_key"]
    assert quire.change_memory(named, content="Lives in Lima")["content"] == "Lives in Lima"
    assert [one["content_preview"] for one in quire.memories(user_id="me", pinned=True)] == ["Lives in Lima"]
    assert [one["content"] for one in quire.versions(named)] == ["Lives in Lima", "Lives in Porto"]
    assert quire.forget(kept["memory_key"])["erased"]
    assert quire.recall("What tea?", user_id="me")["relevant_memory_keys"]
    assert quire.tools(format="mcp")["tools"]


def test_a_space_is_shared_and_left(quire: Any) -> None:
    quire.create_space(id="a team", members={"ann": "write"})
    assert quire.put_member("a team", "bob", "read")["right"] == "read"
    assert [one["user_id"] for one in quire.members("a team")] == ["ann", "bob"]
    assert quire.change_space("a team", participants={"Annie": "ann"})["participants"] == {"Annie": "ann"}
    quire.remember("The ferry leaves at 7:40.", scope="space:a team")
    [found] = quire.search("ferry", user_id="bob")["results"]
    assert found["scope"] == "space:a team"
    assert quire.remove_member("a team", "bob")["user_id"] == "bob"
    assert quire.spaces(user_id="bob") == []
    assert quire.delete_space("a team")["erased"]["spaces"] == 1


def test_errors_tell_what_to_do(quire: Any, client: httpx.Client) -> None:
    quire.append("c", [user("a" * 400)], user_id="me")
    with pytest.raises(BudgetTooSmall) as small:
        quire.context("c", budget=3)
    assert quire.context("c", budget=small.value.minimum_budget).messages
    with pytest.raises(Conflict) as conflict:
        quire.append("c", [user()], user_id="bob")
    assert conflict.value.errors[0]["loc"] == ["body", "user_id"]
    assert conflict.value.request_id
    assert client.get(path("c")).json()["messages"] == 1


def test_a_write_under_a_key_of_ones_own_is_done_once(quire: Any) -> None:
    first = quire.append("c", [user()], user_id="me", key="turn-1")
    assert quire.append("c", [user()], user_id="me", key="turn-1") == first
    assert len(list(quire.history("c"))) == 1
