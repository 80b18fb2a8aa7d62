"""`quire window`, `quire why` and `quire search` on a running service, for people and as JSON."""

from __future__ import annotations

import json

import httpx

from tests.api.kit import append, assistant, call, result, user
from tests.cli.kit import invoke


def quire(base_url: str, *arguments: str) -> str:
    done = invoke({"QUIRE_URL": base_url}, *arguments)
    assert done.exit_code == 0, done.output
    return done.stdout


def test_a_window_is_shown_with_its_tokens_and_its_messages(client: httpx.Client, base_url: str) -> None:
    append(client, "team/tea", [user("Which longjing is best?"), assistant("The early one.")], user_id="ann")
    shown = quire(base_url, "window", "team/tea", "--budget", "4000")
    assert "of 4,000 tokens" in shown
    assert "[user] Which longjing is best?" in shown
    found = json.loads(quire(base_url, "window", "team/tea", "--json"))
    assert found["usage"]["budget"] == 8000


def test_what_is_found_is_listed_with_its_place(client: httpx.Client, base_url: str) -> None:
    append(client, "tea", [user("The longjing from Hangzhou is best."), assistant("Noted.")], user_id="ann")
    shown = quire(base_url, "search", "longjing", "--user", "ann")
    assert "tea  The **longjing** from Hangzhou is best." in shown
    assert json.loads(quire(base_url, "search", "longjing", "--user", "ann", "--json"))["results"]
    assert "Nothing was found." in quire(base_url, "search", "longjing", "--user", "bob")


def test_a_message_is_found_and_what_would_bring_it_back(client: httpx.Client, base_url: str) -> None:
    long = "".join(f"reading {n} is {n * n}\n" for n in range(2000))
    append(client, "c", [user("read it"), call("a"), result("a", long), assistant("Long."), user("and now?")])
    shown = quire(base_url, "why", "c", "3", "--budget", "8000")
    assert shown.startswith("Message 3 (tool, page 1), budget 8,000: verbatim.")
    assert '  load_tool_history(uuid="' in shown
    assert json.loads(quire(base_url, "why", "c", "1", "--budget", "4000", "--json"))["budget"] == 4000
    done = invoke({"QUIRE_URL": base_url}, "why", "c", "6")
    assert (done.exit_code, "up to 5" in done.stderr) == (1, True)


def test_a_conversation_that_is_not_there_is_named(base_url: str) -> None:
    done = invoke({"QUIRE_URL": base_url}, "window", "none")
    assert (done.exit_code, "404: There is no such conversation" in done.stderr) == (1, True)
