"""A branch shares what was said up to its fork, and goes on by itself."""

from typing import Any

import httpx
import pytest

from tests.api.kit import (
    Json,
    append,
    assistant,
    call,
    canonical,
    contents,
    history,
    ok,
    path,
    problem,
    result,
    system,
    turn,
    user,
    window,
)
from tests.by_turns import few

BIG = "The warehouse in Rotterdam has confirmed the contract once more. " * 300
BUDGETS = (1500, 2500, 4000, 8000, 20_000)


def forked(client: httpx.Client, conversation: str, **body: Any) -> Json:
    return ok(client.post(path(conversation, "fork"), json=body), 201)


def texts(client: httpx.Client, conversation: str) -> list[Any]:
    return [(one["seq"], one["content"]) for one in history(client, conversation)]


def grown(client: httpx.Client, name: str, turns: int, first: int = 1) -> None:
    for number in range(first, first + turns):
        append(client, name, turn(number))


@pytest.fixture
def trunk(client: httpx.Client) -> httpx.Client:
    sent = [system("Be kind."), user("look it up"), call("a", name="search"), result("a", BIG), assistant("done")]
    append(client, "t", sent)
    grown(client, "t", 40, 2)
    return client


def _sent(found: Json) -> str:
    """What goes to the model, and what the window says of itself."""
    return canonical([found[name] for name in ("messages", "system", "tools", "usage", "pages", "archive_refs")])


@pytest.mark.parametrize("form", few(["openai", "anthropic"]))
def test_first_window_of_a_branch_is_the_trunks(trunk: httpx.Client, form: str) -> None:
    before = {budget: _sent(window(trunk, "t", budget=budget, format=form)) for budget in BUDGETS}
    forked(trunk, "t", id="now")
    place = forked(trunk, "t")["forked_after"]
    grown(trunk, "t", 30, 100)
    forked(trunk, "t", id="then", at=place)
    for name in ("now", "then"):
        after = {budget: _sent(window(trunk, name, budget=budget, format=form)) for budget in BUDGETS}
        assert after == before


def test_a_branch_goes_on_by_itself(trunk: httpx.Client) -> None:
    made = forked(trunk, "t", at=7, id="b", title="Other")
    assert (made["parent_id"], made["forked_after"], made["messages"], made["title"]) == ("t", 7, 7, "Other")
    assert texts(trunk, "b") == texts(trunk, "t")[:7]
    grown(trunk, "b", 20, 500)
    assert texts(trunk, "b")[:7] == texts(trunk, "t")[:7]
    assert [seq for seq, _ in texts(trunk, "b")] == list(range(1, 48))
    said = canonical([window(trunk, "b", budget=3000), contents(trunk, "b"), texts(trunk, "b")])
    assert "question 500" in said
    assert not any(f"question {number} " in said for number in range(4, 42))
    assert "question 500" not in canonical([window(trunk, "t", budget=3000), contents(trunk, "t"), texts(trunk, "t")])
    pages = ok(trunk.get(path("b", "pages"), params={"limit": 200}))["items"]
    assert [page["page"] for page in pages] == list(range(1, 23))


def test_the_whole_history_of_a_branch_is_its_ancestors_and_its_own(client: httpx.Client) -> None:
    grown(client, "f0", 3)
    for depth in range(1, 11):
        forked(client, f"f{depth - 1}", id=f"f{depth}", at=depth * 4, position="before")
        grown(client, f"f{depth}", 3, depth * 10)
    said = texts(client, "f10")
    assert [seq for seq, _ in said] == list(range(1, len(said) + 1))
    assert len(said) == 39 + 6
    for budget in (700, 1500, 20_000):
        shown = canonical(window(client, "f10", budget=budget)["messages"])
        assert "question 102" in shown
    page = ok(client.get(path("f10", "pages", "2")))
    assert [message["seq"] for message in page["messages"]] == [3, 4][: len(page["messages"])]


@pytest.mark.parametrize(("at", "calls"), [(3, {"a", "b"}), (4, {"b"}), (5, set())])
def test_calls_without_results_are_open_in_the_branch(client: httpx.Client, at: int, calls: set[str]) -> None:
    append(client, "t", [system("s"), user("q"), call("a", "b"), result("a"), result("b"), assistant("done")])
    forked(client, "t", id="b", at=at)
    answered = append(client, "b", [result(name, f"other {name}") for name in sorted(calls)] or [assistant("ok")])
    assert answered["warnings"] == []
    shown = window(client, "b", budget=4000)["messages"]
    asked = [one["id"] for message in shown for one in message.get("tool_calls") or ()]
    assert sorted(m["tool_call_id"] for m in shown if m["role"] == "tool") == sorted(asked) == ["a", "b"]


def test_a_place_that_is_not_there_is_refused(trunk: httpx.Client) -> None:
    append(trunk, "other", turn(1))
    foreign = history(trunk, "other")[0]["id"]
    for at in (0, -1, 10_000, 10**12, foreign, "nothing", "99999"):
        problem(trunk.post(path("t", "fork"), json={"at": at}), 422, "at", "messages 1–85 exist")
    problem(trunk.post(path("t", "fork"), json={"position": "beside"}), 422, "position")
    problem(trunk.post(path("nothing", "fork"), json={}), 404)
    own = history(trunk, "t")[9]["id"]
    assert forked(trunk, "t", at=own)["forked_after"] == 10
    assert forked(trunk, "t", at=own, position="before")["forked_after"] == 9
    assert forked(trunk, "t", at=1, position="before")["forked_after"] == 1


def test_the_same_fork_twice_is_one_and_a_taken_id_is_refused(trunk: httpx.Client) -> None:
    first = forked(trunk, "t", at=9, id="b")
    assert forked(trunk, "t", at=9, id="b") == first
    problem(trunk.post(path("t", "fork"), json={"at": 8, "id": "b"}), 409, "id")
    problem(trunk.post(path("t", "fork"), json={"at": 9, "id": "t"}), 409, "id")
    key = {"Idempotency-Key": "k"}
    again = [trunk.post(path("t", "fork"), json={"at": 9}, headers=key).json()["id"] for _ in range(2)]
    assert again[0] == again[1]
    listed = ok(trunk.get(path("b", "branches")))
    assert (listed["trunk"], [one["id"] for one in listed["items"]]) == ("t", [again[0], "b"])


def test_an_empty_conversation_can_be_forked(client: httpx.Client) -> None:
    ok(client.post("/conversations", json={"id": "t", "user_id": "u"}), 201)
    assert forked(client, "t", id="b")["forked_after"] == 0
    append(client, "b", turn(1))
    append(client, "t", turn(2))
    assert "question 2" not in canonical(texts(client, "b"))


def test_the_windows_of_a_branch_are_given_back_as_they_were_served(trunk: httpx.Client) -> None:
    for place, name in ((40, "b"), (None, "e")):
        forked(trunk, "t", id=name, at=place)
        for budget in (1500, 4000):
            served = window(trunk, name, budget=budget)
            newest = ok(trunk.get(path(name, "windows"), params={"limit": 1}))["items"][0]
            found = ok(trunk.get(path(name, "windows", str(newest["id"]))))
            assert found["verified"]
            assert canonical(found["messages"]) == canonical(served["messages"])
        append(trunk, name, turn(700))
        grown(trunk, "t", 2, 800)
