"""A comparison of two windows shows what came in, what went out and why. Windows of the past can be made again."""

from __future__ import annotations

import httpx
import pytest

from tests.api.kit import Json, append, assistant, call, created, ok, path, problem, result, user
from tests.served.kit import calls, records, served, transcripts

LONG = "The committee heard the third reading and sent it back once more. " * 40


def changes(client: httpx.Client, number: int, **query: int) -> Json:
    return ok(client.get(path("c", "windows", str(number), "diff"), params=query))


def reasons(found: Json, kind: str) -> set[str]:
    return {run["why"] for run in found[kind]}


def test_what_was_said_comes_in_and_what_was_cut_goes_out(client: httpx.Client) -> None:
    for number in range(12):
        append(client, "c", [user(f"question {number}"), assistant(f"{number}: {LONG}")])
        served(client, "c", budget=4_000)
    newest = records(client, "c")[0]["id"]
    first = changes(client, 1)
    assert (first["from"], reasons(first, "came_in"), first["went_out"]) == (None, {"said"}, [])
    second = changes(client, 2)
    assert second["came_in"] == [{"first_seq": 3, "last_seq": 4, "messages": 2, "form": "verbatim", "why": "said"}]
    assert second["went_out"] == second["changed"] == second["parts"] == []
    whole = changes(client, newest, **{"from": 1})
    assert reasons(whole, "went_out") | reasons(whole, "changed") == {"cut"}
    assert [part["part"] for part in whole["parts"]] == ["head"]
    assert whole["tokens"]["to"] == records(client, "c")[0]["total"]


def test_a_fresh_result_shrinks_when_its_page_is_over(client: httpx.Client) -> None:
    append(client, "c", [user("look"), call("a"), result("a", "x y z " * 3_000)])
    served(client, "c")
    append(client, "c", [assistant("Seen."), user("next")])
    served(client, "c")
    found = changes(client, 2)
    assert found["changed"] == [{"first_seq": 3, "last_seq": 3, "messages": 1, "form": "verbatim", "why": "page"}]


def test_recalls_settings_edits_and_erasures_are_told_apart(client: httpx.Client) -> None:
    append(client, "c", [user("The harbour seeds lie under pier nine."), assistant("Noted."), user("hello")])
    append(client, "d", [user("hello"), assistant("hello")])
    served(client, "c")
    served(client, "c", budget=9_000)
    served(client, "c", budget=9_000, format="anthropic")
    ok(client.post(path("c", "notes"), json={"text": "Answer in French."}), 201)
    served(client, "c", budget=9_000, format="anthropic")
    ok(client.delete(path("c", "messages", "1")))
    served(client, "c", budget=9_000, format="anthropic")
    ok(client.patch(path("c"), json={"system": "Be brief."}))
    served(client, "c", budget=9_000, format="anthropic", pages="1")
    assert {one["name"] for one in changes(client, 2)["settings"]} == {"budget"}
    assert {one["name"] for one in changes(client, 3)["settings"]} == {"format"}
    assert [(part["part"], part["why"]) for part in changes(client, 4)["parts"]] == [("head", "edit")]
    assert reasons(changes(client, 5), "changed") == {"erasure"}
    assert {(part["part"], part["why"]) for part in changes(client, 6)["parts"]} >= {
        ("system", "edit"),
        ("tail", "recall"),
    }


def test_a_difference_with_no_window_is_refused(client: httpx.Client) -> None:
    append(client, "c", [user("hello")])
    served(client, "c")
    problem(client.get(path("c", "windows", "1", "diff"), params={"from": 2}), 404, "2")
    problem(client.get(path("c", "windows", "1", "diff"), params={"from": 0}), 422, "from")
    problem(client.get(path("c", "windows", "2", "diff")), 404)


@pytest.mark.slow
@pytest.mark.parametrize("budget", [5_000, 20_000])
def test_the_window_as_of_a_message_is_the_one_that_was_served_then(client: httpx.Client, budget: int) -> None:
    created(client, id="c", user_id="u", budget=budget)
    sent: dict[int, Json] = {}
    for transcript in transcripts(1, "shipped"):
        for messages in calls(transcript.messages):
            append(client, "c", messages)
            window = ok(client.get(path("c", "context"), params={"recall": "off"}))
            sent[window["lag"]["last_seq"]] = window
    for seq, window in sent.items():
        found = ok(client.get(path("c", "context"), params={"as_of": seq, "recall": "off"}))
        assert found["messages"] == window["messages"], seq
        assert found["epoch"] == window["epoch"]
        assert found["usage"]["sections"] == window["usage"]["sections"]
    assert len(records(client, "c")) == len(sent)


def test_as_of_what_never_was_is_refused(client: httpx.Client) -> None:
    append(client, "c", [user("hello"), assistant("hello")])
    get = path("c", "context")
    problem(client.get(get, params={"as_of": 3}), 422, "as_of", "1 to 2")
    problem(client.get(get, params={"as_of": 0}), 422, "as_of")
    problem(client.get(get, params={"as_of": 1, "query": "x"}), 422, "as_of")
    problem(client.get(path("nobody", "context"), params={"as_of": 1}), 404)
    assert ok(client.get(get, params={"as_of": 1}))["lag"]["last_seq"] == 1
    created(client, id="empty", user_id="u")
    problem(client.get(path("empty", "context"), params={"as_of": 1}), 422, "the conversation has none")


def test_a_conversation_without_messages_has_windows_of_the_past(client: httpx.Client) -> None:
    body = {"user_id": "u", "content": "Call me Mei.", "pinned": True, "valid_from": "2026-01-01T00:00:00Z"}
    ok(client.post("/memories", json=body), 201)
    created(client, id="c", user_id="u")
    for time, is_kept in (("2026-02-01T00:00:00Z", True), ("2025-02-01T00:00:00Z", False)):
        found = ok(client.get(path("c", "context"), params={"as_of": time, "budget": 4000}))
        assert ("Call me Mei." in str(found["messages"])) == is_kept
