"""What is erased is gone from every branch that shared it; what a branch shares stays when the branch goes."""

from collections.abc import Callable
from typing import Any

import asyncpg
import httpx
import pytest

from tests.api.kit import append, assistant, call, canonical, history, ok, path, problem, result, turn, user, window

Rows = Callable[[str], list[asyncpg.Record]]


def forked(client: httpx.Client, name: str, **body: Any) -> None:
    ok(client.post(path(name, "fork"), json=body), 201)


@pytest.fixture
def tree(client: httpx.Client) -> httpx.Client:
    """t (12) → b at 6 (18) → d at 10; t → c at 2."""
    for number in range(1, 7):
        append(client, "t", turn(number))
    forked(client, "t", id="b", at=6)
    forked(client, "t", id="c", at=2)
    for number in range(1, 7):
        append(client, "b", turn(20 + number))
        append(client, "c", turn(30 + number))
    forked(client, "b", id="d", at=10)
    append(client, "d", turn(40))
    return client


def said(client: httpx.Client, name: str) -> str:
    shown = [
        window(client, name, budget=budget, format=form) for budget in (900, 9000) for form in ("openai", "anthropic")
    ]
    search = ok(client.post("/memories/search", json={"conversation_id": name, "query": "question", "limit": 50}))
    rest = [ok(client.get(path(name, part))) for part in ("contents", "pages", "summary", "topics")]
    return canonical([shown, search, rest, history(client, name)])


def test_an_erased_message_is_gone_from_every_branch_that_shares_it(tree: httpx.Client, run_as_superuser: Rows) -> None:
    before = {name: said(tree, name) for name in "tbcd"}
    assert all("question 2 " in before[name] for name in "tbd")
    ok(tree.delete(path("d", "messages", "3")))
    for name in "tbcd":
        after = said(tree, name)
        assert "question 2 " not in after, name
        assert "answer 2 " in after or name == "c"
    assert said(tree, "c") == before["c"]
    for table in ("messages", "memories", "cuts", "pages", "page_index", "conversations", "chapters", "idempotency"):
        assert "question 2 " not in canonical([str(dict(row)) for row in run_as_superuser(f"SELECT * FROM {table}")])


def test_a_page_across_a_fork_is_erased_where_its_messages_are(client: httpx.Client) -> None:
    append(client, "t", [user("question one"), assistant("answer one")])
    forked(client, "t", id="b", at=1)
    append(client, "b", [assistant("another answer")])
    erased = ok(client.delete(path("b", "pages", "1")))
    assert erased["erased"]["messages"] == 2
    assert "question one" not in said(client, "t")
    assert "answer one" in said(client, "t")
    assert not {"question one", "another answer"} & set(said(client, "b").split('"'))


def test_what_a_call_said_is_gone_from_the_results_of_every_branch(
    client: httpx.Client, run_as_superuser: Rows
) -> None:
    append(client, "t", [user("look"), call("a", name="search", arguments='{"of":"wombats"}')])
    forked(client, "t", id="b")
    for name in "tb":
        append(client, name, [result("a", f"found in {name}. " * 2000), assistant("done")])
    ok(client.delete(path("t", "messages", "2")))
    for table in ("messages", "archives", "memories", "conversations"):
        assert "wombats" not in canonical([str(dict(row)) for row in run_as_superuser(f"SELECT * FROM {table}")])


def test_deleting_a_branch_leaves_what_it_shares(tree: httpx.Client) -> None:
    before = {name: said(tree, name) for name in "tbc"}
    ok(tree.delete(path("d")))
    problem(tree.get(path("d")), 404)
    assert {name: said(tree, name) for name in "tbc"} == before


def test_a_trunk_is_erased_with_its_branches_or_not_at_all(tree: httpx.Client, run_as_superuser: Rows) -> None:
    refused = problem(tree.delete(path("t")), 409, "branches=erase", "branches too: 3")
    assert refused["branches"] == 3
    assert problem(tree.delete(path("b")), 409, "Branches share")["branches"] == 1
    problem(tree.delete(path("t"), params={"branches": "keep"}), 422, "branches")
    done = ok(tree.delete(path("t"), params={"branches": "erase"}))
    assert done["erased"]["conversations"] == 4
    for table in ("conversations", "messages", "memories", "pages"):
        assert run_as_superuser(f"SELECT count(*) FROM {table}")[0][0] == 0
    problem(tree.post(path("d", "fork"), json={}), 404)


def test_erasing_a_user_takes_every_branch(tree: httpx.Client, run_as_superuser: Rows) -> None:
    assert ok(tree.delete("/users/u"))["erased"]["conversations"] == 4
    assert run_as_superuser("SELECT count(*) FROM messages")[0][0] == 0


def test_an_archive_of_the_shared_part_is_erased_in_the_branch(client: httpx.Client) -> None:
    append(client, "t", [user("q"), call("a"), result("a", "the walrus sleeps. " * 2000), assistant("done")])
    forked(client, "t", id="b")
    for number in range(8):
        append(client, "b", turn(number))
    uuid = ok(client.get(path("b", "status")))["archived"][0]["archive_id"]
    loaded = client.post(path("b", "tools", "load_tool_history"), json={"arguments": {"uuid": uuid}}).text
    assert "walrus" in loaded
    ok(client.delete(f"/archive/{uuid}"))
    assert "walrus" not in said(client, "b")
