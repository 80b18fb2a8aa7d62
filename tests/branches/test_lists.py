"""A list whose turn was edited or answered again goes on as a branch; the conversation's id shows the newest."""

import httpx

from tests.api.kit import Json, append, assistant, canonical, history, ok, path, problem, user, window
from tests.sync.kit import sync


def said(client: httpx.Client, name: str, **query: str) -> list[str]:
    return [message["content"] for message in history(client, name, **query)]


def listed(*texts: str) -> list[Json]:
    return [assistant(text) if n % 2 else user(text) for n, text in enumerate(texts)]


def test_an_edited_turn_makes_a_branch_that_the_id_shows(client: httpx.Client) -> None:
    sync(client, "c", listed("one", "1", "two", "2", "three", "3"))
    done = sync(client, "c", listed("one", "1", "another two", "2b"))
    assert (done["matched"], len(done["appended"])) == (2, 2)
    branch = done["branch"]
    assert said(client, "c") == ["one", "1", "another two", "2b"]
    assert said(client, "c", branch=branch) == said(client, branch) == said(client, "c")
    assert said(client, "c", branch="c") == ["one", "1", "two", "2", "three", "3"]
    shown = canonical(window(client, "c", budget=4000)["messages"])
    assert "another two" in shown
    assert "three" not in shown
    old = ok(client.get(path("c", "context"), params={"branch": "c", "budget": 4000}))
    assert "three" in canonical(old["messages"])
    tree = ok(client.get(path("c", "branches")))
    assert (tree["trunk"], tree["shown"], [one["id"] for one in tree["items"]]) == ("c", branch, [branch])


def test_the_line_goes_on_by_the_name_and_sending_again_stores_nothing(client: httpx.Client) -> None:
    sync(client, "c", listed("one", "1", "two", "2"))
    edited = listed("one", "1", "other", "o")
    branch = sync(client, "c", edited)["branch"]
    for more in (edited, listed("one", "1", "other", "o", "more", "m")):
        for _ in range(2):
            assert sync(client, "c", more)["branch"] == branch
    append(client, "c", [user("posted")])
    assert said(client, "c") == ["one", "1", "other", "o", "more", "m", "posted"]
    assert said(client, "c", branch="c") == ["one", "1", "two", "2"]
    assert len(ok(client.get(path("c", "branches")))["items"]) == 1


def test_an_answer_given_again_and_the_way_back(client: httpx.Client) -> None:
    first = listed("one", "1", "two", "2")
    sync(client, "c", first)
    one = sync(client, "c", listed("one", "1", "two", "2b"))["branch"]
    two = sync(client, "c", listed("one", "1", "two", "2c", "three"))["branch"]
    assert len({one, two, "c"}) == 3
    assert sync(client, "c", [*first, user("on")])["branch"] is None
    assert said(client, "c") == ["one", "1", "two", "2", "on"]
    assert sync(client, "c", listed("one", "1", "two", "2b", "deep"))["branch"] == one
    assert said(client, "c") == ["one", "1", "two", "2b", "deep"]
    assert said(client, two) == ["one", "1", "two", "2c", "three"]


def test_a_branch_of_another_tree_or_none_is_not_found(client: httpx.Client) -> None:
    sync(client, "c", listed("one", "1"))
    sync(client, "other", listed("x", "y"))
    for branch in ("other", "nothing"):
        for part in ("context", "messages", "contents", "status"):
            problem(client.get(path("c", part), params={"branch": branch}), 404)
        problem(client.get(path("c"), params={"branch": branch}), 404)
    problem(client.get(path("c"), params={"branch": ""}), 422, "branch")


def test_a_contradiction_can_still_be_refused(client: httpx.Client) -> None:
    sync(client, "c", listed("one", "1", "two", "2"))
    body = {"messages": listed("one", "1", "other"), "on_fork": "error"}
    found = problem(client.post(path("c", "sync"), json=body), 409)
    assert (found["index"], found["seq"]) == (2, 3)
    found = problem(client.post(path("c", "sync"), json={"messages": listed("unknown", "u", "list")}), 409)
    assert (found["index"], found["seq"]) == (0, 1)
    assert said(client, "c") == ["one", "1", "two", "2"]


def test_deleting_the_shown_branch_shows_the_trunk_again(client: httpx.Client) -> None:
    sync(client, "c", listed("one", "1", "two", "2"))
    branch = sync(client, "c", listed("one", "1", "other", "o"))["branch"]
    ok(client.delete(path(branch)))
    assert said(client, "c") == ["one", "1", "two", "2"]
    branch = sync(client, "c", listed("one", "1", "other", "o"))["branch"]
    assert problem(client.delete(path("c")), 409, "Branches share")["branches"] == 1
    ok(client.delete(path("c"), params={"branches": "erase"}))
    problem(client.get(path(branch)), 404)


def test_an_edit_under_a_branchs_own_id_moves_the_trunks_id_too_where_that_showed_it(client: httpx.Client) -> None:
    sync(client, "c", listed("one", "1", "two", "2"))
    branch = sync(client, "c", listed("one", "1", "other", "o"))["branch"]
    deeper = sync(client, branch, listed("one", "1", "other", "o2", "deep", "d"))["branch"]
    assert said(client, "c") == said(client, branch) == said(client, deeper) == ["one", "1", "other", "o2", "deep", "d"]
    assert said(client, branch, branch=branch) == ["one", "1", "other", "o"]
    ok(client.post(path("c", "fork"), json={"id": "worker", "at": 2}), 201)
    sync(client, "worker", listed("one", "1", "work", "w"))
    sync(client, "worker", listed("one", "1", "more work", "w"))
    assert said(client, "worker") == ["one", "1", "more work", "w"]
    assert said(client, "c") == said(client, deeper)


def test_a_late_retry_and_an_edit_that_fails_leave_the_line_that_the_id_shows(client: httpx.Client) -> None:
    def send(messages: list[Json], key: str) -> httpx.Response:
        body = {"messages": messages, "user_id": "u"}
        return client.post(path("c", "sync"), json=body, headers={"Idempotency-Key": key})

    first, edited = listed("one", "1", "two", "2"), listed("one", "1", "other", "o")
    first[0]["client_id"] = "a"
    ok(send(first, "k1"))
    taken = [*edited[:3], {**edited[3], "client_id": "a"}]
    problem(send(edited, "k1"), 422, "different request")
    assert "is the id of message 1" in problem(send(taken, "k2"), 409)["errors"][0]["msg"]
    assert said(client, "c") == ["one", "1", "two", "2"]
    assert not ok(client.get(path("c", "branches")))["items"]

    done = ok(send(edited, "k2"))
    assert ok(send(first, "k1"))["branch"] is None
    assert said(client, "c") == said(client, done["branch"]) == ["one", "1", "other", "o"], "the first list came late"
    assert ok(send(edited, "k2")) == done
