"""The inspector opens with the window that was served last, and leads to those before it."""

from __future__ import annotations

import httpx

from tests.api.kit import append, assistant, created, ok, path, user
from tests.ui.html import Node
from tests.ui.test_pages import page

LONG = "The committee heard the third reading and sent it back once more. " * 40


def told(client: httpx.Client, turns: int = 12) -> None:
    created(client, id="c", user_id="u", budget=30_000, model="gpt-4o")
    for number in range(turns):
        append(client, "c", [user(f"question {number}"), assistant(f"{number}: {LONG}")])
        ok(client.get(path("c", "context"), params={"budget": 4_000, "query": "the committee"}))


def facts(found: Node) -> str:
    return found.one("dl", id="served").words


def test_the_last_window_served_is_what_the_page_opens_with(client: httpx.Client) -> None:
    told(client)
    found = page(client, "/ui/conversations/c")
    assert "Budget4,000" in facts(found)
    assert "the committee" in facts(found)
    assert "the window's own call" in facts(found)
    [newest] = ok(client.get(path("c", "windows"), params={"limit": 1}))["items"]
    assert f"Seal{newest['root'][:12]} · signed by {newest['key']}" in facts(found)
    assert "Window 12" in found.words
    assert "Byte for byte what was served." in found.words
    assert "of 4,000 tokens" in found.words
    assert "Came in: messages 23–24" in found.one("ul", id="changes").words
    rows = found.one("section", id="growth").one("tbody").all("tr")
    assert len(rows) == 12
    messages = page(client, "/ui/conversations/c?show=messages")
    assert messages.words.count("came in") == 2
    now = page(client, "/ui/conversations/c?window=now")
    assert "of 30,000 tokens" in now.words
    assert "As it is now" in now.words


def test_a_bar_opens_its_window_and_a_command_gets_it(client: httpx.Client) -> None:
    told(client, turns=3)
    found = page(client, "/ui/conversations/c")
    bars = found.one("section", id="growth").one("svg", role="group").all("a")
    assert [bar.attributes["href"] for bar in bars] == [f"/ui/conversations/c?window={n}" for n in (1, 2, 3)]
    quoted = found.one("pre", id="curl").words
    assert quoted == f"curl -s '{str(client.base_url).rstrip('/')}/conversations/c/windows/3'"
    tried = page(client, "/ui/conversations/c?budget=3000&query=it's").one("pre", id="curl").words
    assert ok(client.get(tried.split("'")[1]))["usage"]["budget"] == 3000


def test_windows_lead_to_the_one_before_and_the_one_after(client: httpx.Client) -> None:
    told(client, turns=3)
    found = page(client, "/ui/conversations/c?window=2&show=messages")
    before = [a.attributes["href"] for a in found.all("a") if a.attributes.get("rel") in ("prev", "next")]
    assert [("window=1" in href, "show=messages" in href) for href in before[:1]] == [(True, True)]
    assert "window=3" in before[1]
    first = page(client, "/ui/conversations/c?window=1")
    assert "Previous window" not in first.words
    assert "came in" not in page(client, "/ui/conversations/c?window=1&show=messages").words
    page(client, "/ui/conversations/c?window=4", 404)
    page(client, "/ui/conversations/c?window=x", 404)
    chinese = page(client, "/ui/conversations/c", language="zh")
    assert "当时发出的窗口" in chinese.words


def test_what_was_erased_since_is_said(client: httpx.Client) -> None:
    told(client, turns=2)
    ok(client.delete(path("c", "messages", "1")))
    found = page(client, "/ui/conversations/c")
    assert "This is no longer what was served. Erased since: message 1." in found.words
    assert "question 0" not in found.words


def test_a_conversation_without_windows_opens_as_it_is_now(client: httpx.Client) -> None:
    append(client, "c", [user("hello"), assistant("hello")])
    found = page(client, "/ui/conversations/c")
    assert "As it is now" in found.words
    assert found.all("dl", id="served") == []
