"""The inspector in a real browser: nothing is refused or loaded from elsewhere, nothing overflows, keys suffice.

With QUIRE_SCREENSHOTS set to a folder, every view is kept there as a picture to look at. With QUIRE_AXE set to the file
`axe.min.js` of the npm package axe-core, it finds nothing to say about any view.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta, timezone
from pathlib import Path
from urllib.parse import quote

import asyncpg
import httpx
import pytest

from tests.api.kit import append, user, window
from tests.ui.browser import PROGRAM, Browser, browser
from tests.ui.made import DEAD, LONG_WORD, NASTY, many, nasty, recalled, shipped
from tests.ui.test_usage import SPENT

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(PROGRAM is None, reason="no Chromium is installed (Debian: apt-get install chromium)"),
]

FINDINGS = """
axe.run().then(found => found.violations.map(one => [one.id, one.help, one.nodes.map(node => node.html.slice(0, 200))]))
"""
SIZES = {"wide": 1280, "narrow": 390}


@pytest.fixture(scope="module")
def tab() -> Iterator[Browser]:
    with browser() as opened:
        yield opened


def views(tab: Browser, client: httpx.Client, name: str, path: str, status: int = 200) -> None:
    """Look at a page in both widths, light and dark, and both languages; keep pictures if they are wanted."""
    for look in ("wide", "wide-dark", "narrow", "narrow-dark-zh", "wide-zh"):
        width = SIZES[look.split("-")[0]]
        tab.look(width=width, dark="dark" in look, language="zh-CN,zh;q=0.9" if "zh" in look else "en")
        tab.requested.clear()
        tab.complaints.clear()
        tab.go(f"{client.base_url}{path}")
        assert tab.complaints == [] or status != 200
        assert all(url.startswith((str(client.base_url), "data:")) for url in tab.requested), tab.requested
        assert tab.ask("document.documentElement.lang") == ("zh-Hans" if "zh" in look else "en")
        assert tab.ask("document.scrollingElement.scrollWidth") <= width, f"{name} {look} is wider than the screen"
        if axe := os.environ.get("QUIRE_AXE"):
            tab.ask(Path(axe).read_text("utf-8") + ";0")
            assert tab.ask(FINDINGS) == [], f"{name} {look}"
        if folder := os.environ.get("QUIRE_SCREENSHOTS"):
            tab.picture(Path(folder) / f"{name}.{look}.png")


def test_no_conversation(tab: Browser, client: httpx.Client) -> None:
    views(tab, client, "none", "/ui")
    for name in ("jobs", "people", "usage"):
        views(tab, client, f"none-{name}", f"/ui/{name}")
    views(tab, client, "none-search", "/ui/search?query=tea&user=mei")
    views(tab, client, "none-such", "/ui/conversations/none", status=404)


def test_the_pages_of_a_conversation(tab: Browser, client: httpx.Client) -> None:
    shipped(client, limit=6)
    views(tab, client, "one", "/ui")
    views(tab, client, "one-conversation", "/ui/conversations/release")
    views(tab, client, "one-messages", "/ui/conversations/release?show=messages")


def test_a_long_conversation(
    tab: Browser, client: httpx.Client, run_as_superuser: Callable[[str], list[asyncpg.Record]]
) -> None:
    shipped(client)
    recalled(client)
    for show in ("window", "messages", "pages", "archives", "memory", "requests", "work"):
        views(tab, client, f"long-{show}", f"/ui/conversations/release?show={show}")
        assert tab.ask("document.scrollingElement.scrollHeight") < 4_500, f"{show} is long"
    views(tab, client, "tried", "/ui/conversations/release?budget=3000&query=release+plan&format=anthropic")
    views(tab, client, "page", "/ui/conversations/release/pages/2")
    views(tab, client, "why", "/ui/conversations/release/pages/2?why=4")
    views(tab, client, "pages", "/ui/conversations/release?show=pages&before=40")
    views(tab, client, "search", "/ui/search?query=release+plan&user=mei")
    run_as_superuser(DEAD)
    run_as_superuser(SPENT.format(whose="", value=""))
    for name in ("jobs", "people", "usage"):
        views(tab, client, name, f"/ui/{name}")


def test_windows_that_were_served(tab: Browser, client: httpx.Client) -> None:
    shipped(client, limit=120)
    for budget, query in ((8_000, None), (3_000, None), (3_000, "release plan")):
        window(client, "release", budget=budget, **({"query": query} if query else {}))
        append(client, "release", [user("Thanks. What is next?")], user_id="mei")
    window(client, "release", budget=3_000)
    views(tab, client, "served", "/ui/conversations/release")
    views(tab, client, "served-before", "/ui/conversations/release?window=3")
    views(tab, client, "served-messages", "/ui/conversations/release?show=messages")
    client.delete("/conversations/release/messages/110").raise_for_status()
    views(tab, client, "served-erased", "/ui/conversations/release?window=2")


def test_a_person(tab: Browser, client: httpx.Client) -> None:
    said = ("Please call me Lin from now on.", "Please call me Mei from now on.", "I prefer aisle seats.", LONG_WORD)
    append(client, "release", [user(f"{text} Always answer in French.") for text in said], user_id="mei")
    client.post("/memories", json={"user_id": "mei", "content": NASTY[:-3] + LONG_WORD[:900], "pinned": True})
    views(tab, client, "person", "/ui/people/mei")
    views(tab, client, "person-nobody", "/ui/people/nobody")


def test_a_long_list_of_conversations(
    tab: Browser, client: httpx.Client, run_as_superuser: Callable[[str], list[asyncpg.Record]]
) -> None:
    many(run_as_superuser, 10_000)
    views(tab, client, "many", "/ui")
    views(tab, client, "many-nothing", "/ui?q=zebra")


def test_hostile_text_does_nothing(tab: Browser, client: httpx.Client) -> None:
    name = quote(nasty(client), safe="")
    archive = client.get("/archive", params={"user_id": "<i>u</i>"}).json()["items"][0]["uuid"]
    views(tab, client, "hostile-list", "/ui")
    views(tab, client, "hostile", f"/ui/conversations/{name}")
    views(tab, client, "hostile-messages", f"/ui/conversations/{name}?show=messages")
    views(tab, client, "hostile-memory", f"/ui/conversations/{name}?show=memory")
    views(tab, client, "hostile-page", f"/ui/conversations/{name}/pages/1")
    views(tab, client, "hostile-archive", f"/ui/archives/{archive}")
    assert tab.ask("document.querySelectorAll('main img, main script, main b, main i').length") == 0


def focused(tab: Browser) -> str:
    return str(tab.ask("document.activeElement.innerText || document.activeElement.id || document.activeElement.name"))


def test_the_keyboard_is_enough(tab: Browser, client: httpx.Client) -> None:
    """Every stop is seen, the first one leads past the header, and messages open without a mouse."""
    shipped(client, limit=20)
    tab.look()
    tab.go(f"{client.base_url}/ui/conversations/release?show=messages")
    tab.press("Tab")
    assert focused(tab) == "Skip to the content"
    assert tab.ask("document.activeElement.getBoundingClientRect().left") >= 0
    for _ in range(60):
        assert tab.ask("getComputedStyle(document.activeElement).outlineStyle") != "none", focused(tab)
        assert tab.ask("document.activeElement.getBoundingClientRect().width") > 0, focused(tab)
        if tab.ask("document.activeElement.localName") == "summary":
            break
        tab.press("Tab")
    assert tab.ask("document.activeElement.parentElement.open") is False
    tab.press("Enter", code=13, text="\r")
    assert tab.ask("document.activeElement.parentElement.open") is True


def test_one_button_opens_every_message_and_closes_them_again(tab: Browser, client: httpx.Client) -> None:
    shipped(client, limit=20)
    tab.look()
    tab.go(f"{client.base_url}/ui/conversations/release?show=messages")
    count = "document.querySelectorAll('#messages details:not([open])').length"
    assert tab.ask(count) > 0
    tab.ask("document.querySelector('button[data-toggle]').click()")
    assert tab.ask(count) == 0
    assert tab.ask("document.querySelector('button[data-toggle]').innerText") == "Close all"
    tab.ask("document.querySelector('button[data-toggle]').click()")
    assert tab.ask("document.querySelectorAll('#messages details[open]').length") == 0


def test_the_box_tries_a_window(tab: Browser, client: httpx.Client) -> None:
    shipped(client, limit=150)
    tab.look()
    tab.go(f"{client.base_url}/ui/conversations/release")
    tab.ask("document.getElementById('budget').value = '2500'; document.querySelector('form.try').requestSubmit()")
    tab.wait_for("Page.loadEventFired")
    assert tab.ask("document.querySelectorAll('svg.bar').length") == 2
    assert tab.ask("location.hash") == "#window"


def test_times_are_in_the_readers_zone(tab: Browser, client: httpx.Client) -> None:
    shipped(client, limit=6)
    tab.look()
    tab.send("Emulation.setTimezoneOverride", timezoneId="Asia/Shanghai")
    tab.go(f"{client.base_url}/ui")
    utc, shown, zone = tab.ask(
        "[...document.querySelectorAll('time, [data-zone]')].flatMap(t => t.dateTime ? [t.dateTime, t.innerText]"
        " : [t.innerText])"
    )
    tab.send("Emulation.setTimezoneOverride", timezoneId="")
    assert datetime.fromisoformat(utc).astimezone(timezone(timedelta(hours=8))).strftime("%Y-%m-%d %H:%M") == shown
    assert zone == "Times are in your zone, Asia/Shanghai."


LOOK_AGAIN = "document.dispatchEvent(new Event('visibilitychange'))"
"""The page looks again when somebody comes back to it."""
# Waits until an expression is true on the page.
UNTIL = """new Promise((done, fail) => {
  const deadline = Date.now() + 20000;
  const look = () => (%s) ? done(true) : Date.now() > deadline ? fail(new Error("not in time")) : setTimeout(look, 20);
  look();
})"""


def test_the_list_follows_what_happens(tab: Browser, client: httpx.Client) -> None:
    shipped(client, limit=6)
    tab.look()
    tab.go(f"{client.base_url}/ui")
    tab.ask("document.getElementById('q').focus(); document.getElementById('q').value = 'half a word'")
    append(client, "another", [user("hello")])
    tab.ask(LOOK_AGAIN)
    assert tab.ask(UNTIL % "document.querySelectorAll('tbody tr').length === 2")
    assert tab.ask("[document.activeElement.id, document.activeElement.value]") == ["q", "half a word"]
    tab.ask("document.querySelector('[data-live-switch]').click()")
    assert tab.ask("document.querySelector('[data-live-switch]').ariaPressed") == "false"


def test_what_somebody_types_is_not_replaced(tab: Browser, client: httpx.Client) -> None:
    append(client, "c", [user("hello")])
    tab.look()
    tab.go(f"{client.base_url}/ui/conversations/c?show=memory")
    opened = "document.querySelector('#memory details.change').open = true"
    tab.ask(f"{opened}; const note = document.getElementById('new-note'); note.value = 'Answer in'; note.focus()")
    client.post("/conversations/c/messages", json={"messages": [user("hello again")]})
    tab.ask(LOOK_AGAIN)
    assert tab.ask(UNTIL % "document.getElementById('facts').innerText.replace(/\\s+/g, ' ').includes('Messages 2')")
    assert tab.ask("document.getElementById('new-note').value") == "Answer in"
    assert tab.ask("document.querySelector('#memory details.change').open") is True
