"""What a tool has just said is in view, in full or in part, until the next user message."""

from typing import Any

import httpx
import pytest

from tests.api.kit import append, assistant, call, ok, path, problem, result, user, window
from tests.archive.made import all_text, archived, loaded, looked_up, made

FILE = made("log", size=15_800)


@pytest.mark.parametrize("form", ["openai", "anthropic"])
def test_an_agent_sees_the_file_that_it_has_just_read(client: httpx.Client, large: httpx.Client, form: str) -> None:
    stored = append(client, "c", [user("why did it fail?"), call("a", name="read_file"), result("a", FILE)])
    uuid = stored["messages"][2]["archive_id"]
    asked = {"format": form, "budget": 128_000}
    first = window(client, "c", **asked)
    assert FILE.split("\n")[-1] in all_text(first)
    assert uuid in all_text(first)
    assert first["archive_refs"] == [uuid]
    assert window(large, "c", **asked) == first

    append(client, "c", [call("b", name="grep"), result("b", "nothing"), assistant("The disk was full.")])
    assert FILE.split("\n")[-1] in all_text(window(client, "c", **asked))

    append(client, "c", [user("thanks")])
    after = window(client, "c", **asked)
    assert FILE.split("\n")[-1] not in all_text(after)
    assert loaded(client, uuid)["placeholder"].split("\n")[-1] in all_text(after)
    assert after["epoch"] == first["epoch"]  # nothing before it moved
    assert after["messages"][:2] == first["messages"][:2]
    assert window(large, "c", **asked) == after


def test_where_it_does_not_fit_what_answers_the_question_is_shown(client: httpx.Client, large: httpx.Client) -> None:
    answer = "The seal of container 7781 was broken in Tallinn by Ivar Tamm."
    text = made("prose", size=30_000) + f"\n{answer}\n" + made("prose", size=30_000)
    append(client, "c", [user("Where was the seal broken, and by whom?")])
    append(client, "c", [call("a", name="read_file"), result("a", text)])
    first = window(client, "c", budget=6_000)
    shown = first["messages"][-1]["content"]
    assert answer in shown
    assert shown.startswith("[Archived tool result ")
    assert f"Original: {len(text)} characters." in shown
    assert text not in shown
    assert first["usage"]["total"] <= 5_400
    append(client, "c", [call("b", name="grep"), result("b", "nothing"), assistant("By Ivar Tamm.")])
    assert shown in [message.get("content") for message in window(client, "c", budget=6_000)["messages"]]
    assert shown in [message.get("content") for message in window(large, "c", budget=6_000)["messages"]]
    append(client, "c", [user("thanks")])
    after = window(client, "c", budget=6_000)
    assert answer not in all_text(after)
    assert after["messages"][:3] == first["messages"][:3]


def test_a_result_that_an_earlier_version_archived_is_its_placeholder(
    client: httpx.Client, run_as_superuser: Any
) -> None:
    uuid = archived(client, "c", 1, FILE)
    run_as_superuser("UPDATE archives SET parts = NULL")
    small = all_text(window(client, "c", budget=3_000))
    assert loaded(client, uuid)["placeholder"].split("\n")[-1] in small
    assert FILE.split("\n")[-1] in all_text(window(client, "c", budget=20_000))


def test_an_erased_result_disappears_from_the_newest_page_too(client: httpx.Client, large: httpx.Client) -> None:
    uuid = archived(client, "c", 1, FILE)
    for server in (client, large):
        assert FILE.split("\n")[-1] in all_text(window(server, "c"))
    ok(client.delete(f"/archive/{uuid}"))
    for server in (client, large):
        assert FILE.split("\n")[-1] not in all_text(window(server, "c"))


@pytest.mark.slow
def test_ten_turns_with_large_results_save_four_fifths(client: httpx.Client) -> None:
    """Counting a window before each model call: each turn has two."""
    whole = sent = later = later_whole = 0
    for number in range(1, 11):
        question, asked, answer, said = looked_up(number, made("prose", size=50_000, seed=number))
        for step in ([question], [asked, answer]):
            append(client, "c", step)
            usage = window(client, "c", budget=128_000)["usage"]
            whole, sent = whole + usage["full_history"], sent + usage["total"]
            if step == [question]:
                later, later_whole = later + usage["total"], later_whole + usage["full_history"]
        append(client, "c", [said])
    assert 1 - sent / whole >= 0.8
    assert 1 - later / later_whole >= 0.95


def test_other_users_cannot_see_a_fresh_result(client: httpx.Client) -> None:
    archived(client, "c", 1, FILE)
    append(client, "d", [user("hello")], user_id="somebody else")
    assert FILE.split("\n")[-1] not in all_text(window(client, "d"))
    problem(client.get(path("nobody", "context")), 404)
