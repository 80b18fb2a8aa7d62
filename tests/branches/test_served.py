"""The windows of a branch are its own, and what it shares is erased in them too."""

from __future__ import annotations

import httpx

from tests.api.kit import append, assistant, ok, path, user
from tests.branches.test_fork import forked, grown
from tests.served.kit import given_back, is_given_back, records, served


def test_a_branch_has_windows_of_its_own(client: httpx.Client) -> None:
    grown(client, "t", 30)
    of_trunk = served(client, "t", budget=4_000)
    forked(client, "t", id="b", at=20)
    assert records(client, "b") == []
    of_branch = served(client, "b", budget=4_000)
    append(client, "t", [user("only the trunk"), assistant("knows")])
    append(client, "b", [user("only the branch"), assistant("knows")])
    later = served(client, "b", budget=2_500)
    assert is_given_back(client, "t", records(client, "t")[0], of_trunk)
    newest, first = records(client, "b")
    assert is_given_back(client, "b", first, of_branch)
    assert is_given_back(client, "b", newest, later)
    then = ok(client.get(path("b", "context"), params={"as_of": 20, "budget": 4_000}))
    assert then["messages"] == given_back(client, "b", first["id"])[0]["messages"]


def test_an_erased_shared_message_is_in_no_window_of_a_branch(client: httpx.Client) -> None:
    append(client, "t", [user("The secret is marmalade."), assistant("Noted.")])
    grown(client, "t", 20)
    forked(client, "t", id="b", at=20)
    for budget in (2_500, 20_000):
        served(client, "b", budget=budget)
    listed = records(client, "b")
    assert len(listed) == 2
    ok(client.delete(path("t", "messages", "1")))
    for record in listed:
        shown, body = given_back(client, "b", record["id"])
        assert b"marmalade" not in body
        assert not shown["verified"]
