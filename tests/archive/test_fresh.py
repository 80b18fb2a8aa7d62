"""What a tool has just said is in view in full, until the next user message."""

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
    assert after["epoch"] == first["epoch"]
    assert after["messages"][: first["stable_messages"]] == first["messages"][: first["stable_messages"]]
    assert window(large, "c", **asked) == after


def test_where_it_does_not_fit_the_placeholder_stands_for_it(client: httpx.Client) -> None:
    uuid = archived(client, "c", 1, FILE)
    small = all_text(window(client, "c", budget=6_000))
    assert loaded(client, uuid)["placeholder"].split("\n")[-1] in small
    assert FILE.split("\n")[-1] not in small
    assert FILE.split("\n")[-1] in all_text(window(client, "c", budget=20_000))


def test_what_is_erased_is_gone_from_the_newest_page_too(client: httpx.Client, large: httpx.Client) -> None:
    uuid = archived(client, "c", 1, FILE)
    for server in (client, large):
        assert FILE.split("\n")[-1] in all_text(window(server, "c"))
    ok(client.delete(f"/archive/{uuid}"))
    for server in (client, large):
        assert FILE.split("\n")[-1] not in all_text(window(server, "c"))


def test_ten_turns_with_a_large_result_each_still_save_four_fifths(client: httpx.Client) -> None:
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


def test_nobody_else_sees_it(client: httpx.Client) -> None:
    archived(client, "c", 1, FILE)
    append(client, "d", [user("hello")], user_id="somebody else")
    assert FILE.split("\n")[-1] not in all_text(window(client, "d"))
    problem(client.get(path("nobody", "context")), 404)
