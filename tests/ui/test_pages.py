"""Every page, with none, one and many conversations: sound, labelled, in both languages, of Quire's own files only."""

from __future__ import annotations

from collections.abc import Callable
from urllib.parse import quote

import asyncpg
import httpx
import pytest

from tests.api.kit import append, assistant, call, created, result, turn, user, window
from tests.by_turns import few
from tests.ui.html import Node, check, read
from tests.ui.made import DEAD, many, nasty, proxied, recalled, shipped

EVERYWHERE = ("/ui", "/ui/search", "/ui/people", "/ui/usage", "/ui/jobs")
OF_ONE = (
    "", "/pages/1", "/pages/1?why=1", "/pages/1?why=900", "?show=archives",
    "?budget=2500", "?query=tea&show=messages", "?show=messages&part=9",
    "?show=pages&budget=2500", "?format=anthropic", "?model=gpt-4o", "?budget=1", "?budget=x&model=nobody",
    "?show=pages&before=2", "?show=pages", "?show=memory", "?show=work",
    "?show=requests", "?show=requests&part=9",
)  # fmt: skip


def page(client: httpx.Client, path: str, status: int = 200, *, language: str = "") -> Node:
    """A page that is sound."""
    answer = client.get(path, headers={"accept-language": language})
    assert answer.status_code == status, f"{path}: {answer.status_code} {answer.text[:300]}"
    assert answer.headers["content-type"] == "text/html; charset=utf-8"
    found = read(answer.text)
    check(found, path)
    return found


def test_the_requests_of_a_conversation_are_summed_up_and_paged(
    client: httpx.Client, run_as_superuser: Callable[[str], list[asyncpg.Record]]
) -> None:
    nasty(client, "c")
    proxied(run_as_superuser, "c", 120)
    found = page(client, "/ui/conversations/c?show=requests")
    rows = [row.words for row in found.one("tbody").all("tr")]
    assert len(rows) == 50
    assert "<b>model</b> Chat Completions, window, 2 calls" in rows[0]
    assert "119–120 4,000 11 ms 120 ms 3,000 2,000 40 –" in rows[0]
    sums = found.one("main").words
    for one in ("Failed12", "Prompt tokens360,000", "cache240,000", "Answer tokens4,800", "Cost–"):
        assert one in sums
    assert "QUIRE_PROXY_PRICES" in found.words
    chinese = page(client, "/ui/conversations/c?show=requests&part=3", language="zh")
    assert len(chinese.one("tbody").all("tr")) == 20
    assert "客户端已断开" in chinese.one("tbody").words
    assert "命中 API 缓存" in chinese.words


@pytest.mark.parametrize(
    ("language", "title", "place"), [("en", "Branches", "from message 3 on"), ("zh", "分支", "自第 3")]
)
def test_a_conversation_shows_the_tree_of_its_branches(
    client: httpx.Client, language: str, title: str, place: str
) -> None:
    append(client, "c", [*turn(1), *turn(2)])
    for name, of, at in (("b", "c", 2), ("d", "b", 2), ("e", "b", 1)):
        assert client.post(f"/conversations/{of}/fork", json={"id": name, "at": at, "title": f"T{name}"}).is_success
    append(client, "b", turn(3))
    assert client.post("/conversations/b/fork", json={"id": "f", "title": "Tf"}).is_success
    for name in "cbdef":
        found = page(client, f"/ui/conversations/{name}", language=language)
        tree = found.one("details", id="tree")
        assert title in tree.words
        assert place in tree.words
        assert {f"/ui/conversations/{other}" for other in "cbdef" if other != name} == set(links(tree))
    append(client, "alone", turn(1))
    assert 'id="tree"' not in client.get("/ui/conversations/alone").text


def links(found: Node) -> list[str]:
    return [node.attributes["href"] for node in found.all("a")]


def test_without_a_conversation_the_first_page_says_how_to_make_one(client: httpx.Client) -> None:
    for path in EVERYWHERE:
        page(client, path)
    found = page(client, "/ui")
    assert found.one("h1").words == "No conversation yet"
    assert f"{str(client.base_url).rstrip('/')}/conversations/demo/messages" in found.one("main").words


def test_the_bare_address_leads_to_the_inspector(client: httpx.Client) -> None:
    answer = client.get("/", follow_redirects=True)
    assert (answer.url.path, answer.status_code) == ("/ui", 200)


def test_the_commands_on_the_first_page_work(client: httpx.Client) -> None:
    client.post("/conversations/demo/messages", json={"user_id": "me", "messages": [user("Hello")]})
    found = page(client, "/ui")
    assert found.one("tbody").words.startswith("Hello demo me 1 1 ")
    (link,) = [href for href in links(found.one("tbody")) if "conversations" in href]
    assert page(client, link).one("h1").words == "Hello"


def test_a_page_says_where_each_of_its_messages_is_in_the_window(client: httpx.Client) -> None:
    shipped(client, budget=3000, limit=150)
    first, last = (page(client, f"/ui/conversations/release/pages/{n}").one("ol", class_="whole") for n in (1, 22))
    assert {one.words for one in first.all("span", class_="zone")} == {"system", "contents page"}
    assert {one.words for one in last.all("span", class_="zone")} <= {"verbatim", "condensed", "contents page"}


def test_a_message_leads_to_why_it_is_not_in_view_and_what_brings_it_back(client: httpx.Client) -> None:
    shipped(client, budget=3000, limit=150)
    first = page(client, "/ui/conversations/release/pages/2").one("ol", class_="whole")
    link = first.all("a")[0].attributes["href"]
    reason = page(client, str(link)).one("ul", class_="why").words
    assert reason.startswith("It is out of view, under a line of the contents page. Budget: 3,000")
    assert "What brings it back: recall_page" in reason
    assert "不在窗口中，列在目录的一行之下" in page(client, str(link), language="zh").one("ul", class_="why").words


def test_a_conversation_without_a_message_has_its_pages(client: httpx.Client) -> None:
    created(client, id="empty")
    for show in ("window", "pages", "archives"):
        page(client, f"/ui/conversations/empty?show={show}")


@pytest.mark.slow
def test_every_page_of_a_long_conversation(client: httpx.Client) -> None:
    shipped(client, limit=150)
    recalled(client)
    archive = client.get("/archive", params={"conversation_id": "release"}).json()["items"][0]["uuid"]
    rest = (f"/ui/conversations/release{path}" for path in OF_ONE)
    archives = (f"/ui/archives/{archive}{query}" for query in ("", "?offset=500", "?query=order", "?offset=9999999"))
    for path in (*EVERYWHERE, *rest, *archives, "/ui/search?query=order&user=mei", "/ui/search?query=order"):
        page(client, path)
        page(client, f"{path}{'&' if '?' in path else '?'}lang=zh")


def test_the_window_is_the_one_that_the_api_gives(client: httpx.Client) -> None:
    shipped(client, limit=150)
    given = window(client, "release")
    found = page(client, "/ui/conversations/release").one("section", id="window")
    table = found.one("table", class_="sections")
    rows = [[cell.words for cell in row.all("td")] for row in table.one("tbody").all("tr")]
    assert [row[0] for row in rows] == [f"{tokens:,}" for tokens in given["usage"]["sections"].values()]
    assert f"{given['usage']['total']:,} of 8,000 tokens" in found.words
    label = found.one("svg", class_="bar").attributes["aria-label"]
    assert f"verbatim {given['usage']['sections']['recent']:,}" in label


@pytest.mark.parametrize("form", few(["openai", "anthropic"]))
def test_the_messages_are_those_that_the_model_gets_with_their_zones(client: httpx.Client, form: str) -> None:
    shipped(client, limit=150)
    given = window(client, "release", format=form, query="orders")
    found = page(client, f"/ui/conversations/release?show=messages&format={form}&query=orders")
    shown = [item.one("summary") for item in found.one("ol", class_="messages").all("li") if item.all("summary")]
    roles = [item.one("span", class_="role").words for item in shown]
    beside = ["system"] if form == "anthropic" else []
    assert roles == beside + [message["role"] for message in given["messages"]]
    zones = [item.one("span", class_="zone").words for item in shown]
    assert list(dict.fromkeys(zones))[:2] == ["system", "head"]
    assert (
        {"system", "head", "verbatim", "tail"}
        <= set(zones)
        <= {"system", "head", "date", "condensed", "verbatim", "tail"}
    )
    assert zones[-1] == "tail"
    heaviest = sum(int(item.one("span", class_="weight").words.replace(",", "") or 0) for item in shown)
    assert heaviest == given["usage"]["total"] - given["usage"]["sections"]["tools"]


def test_the_growth_ends_with_the_window_of_now(client: httpx.Client) -> None:
    created(client, id="c", budget=4000, user_id="u")
    for number in range(70):
        append(client, "c", turn(number, words=60))
        window(client, "c")
    given = window(client, "c")["usage"]["sections"]
    table = page(client, "/ui/conversations/c").one("section", id="growth").one("table")
    rows = [[cell.words for cell in row.all("td")] for row in table.one("tbody").all("tr")]
    assert 48 <= len(rows) <= 70
    _, notes, summary, contents, condensed, recent, *_ = rows[0]
    assert [notes, summary, contents, condensed, recent] == [
        f"{given[name]:,}" for name in ("notes", "summary", "contents", "condensed", "recent")
    ]
    assert sum("new" in row[0] for row in rows) > 2


def test_a_budget_can_be_tried(client: httpx.Client) -> None:
    shipped(client, limit=150)
    found = page(client, "/ui/conversations/release?budget=2500&query=orders").one("section", id="window")
    assert len(found.all("svg", class_="bar")) == 2
    assert found.one("input", id="budget").attributes["value"] == "2500"
    assert found.one("textarea").text.strip() == "orders"
    small = page(client, "/ui/conversations/release?budget=1").one("section", id="window")
    (link,) = [href for href in links(small) if "budget=" in href]
    assert len(page(client, link.split("#")[0]).all("svg", class_="bar")) == 2


@pytest.mark.parametrize(
    ("query", "field"),
    [("budget=x", "budget"), ("budget=0", "budget"), ("budget=٣", "budget"), ("model=nobody", "model")],
)
def test_form_errors_appear_at_their_field(client: httpx.Client, query: str, field: str) -> None:
    created(client, id="c")
    found = page(client, f"/ui/conversations/c?{query}")
    assert found.one("input", id=field).attributes["aria-invalid"] == "true"
    assert found.one("p", id=f"{field}-problem").words


def test_ten_thousand_conversations_are_paginated(
    client: httpx.Client, run_as_superuser: Callable[[str], list[asyncpg.Record]]
) -> None:
    many(run_as_superuser, 10_000)
    found = page(client, "/ui")
    assert found.one("p", class_="count").words == "10,000"
    seen = [row.one("th").words for row in found.one("tbody").all("tr")]
    (after,) = [node.attributes["href"] for node in found.all("a", rel="next")]
    second = page(client, after)
    assert len(seen) == 50
    assert not set(seen) & {row.one("th").words for row in second.one("tbody").all("tr")}
    assert "/ui" in links(second.one("nav", class_="turn"))
    assert len(page(client, "/ui?user=user-7&q=Plans").one("tbody").all("tr")) == 50
    assert "search" in links(page(client, "/ui?q=zebra").one("main"))[-1]


SORTED = ["title", "tokens", "user", "messages", "-messages", "pages", "-title", "-activity"]


@pytest.mark.parametrize("sort", few(SORTED, 2))
def test_the_list_can_be_sorted_by_each_column(
    client: httpx.Client, run_as_superuser: Callable[[str], list[asyncpg.Record]], sort: str
) -> None:
    many(run_as_superuser, 120)
    column = ("title", "user", "messages", "pages", "tokens", "activity").index(sort.removeprefix("-"))
    seen, ids, path = list[str](), set[str](), f"/ui?sort={sort}"
    while path:
        found = page(client, path)
        rows = found.one("tbody").all("tr")
        seen += [[row.one("th"), *row.all("td")][column].words for row in rows]
        ids |= {row.one("th").one("a").attributes["href"] for row in rows}
        path = next((node.attributes["href"] for node in found.all("a", rel="next")), "")
    assert (len(seen), len(ids)) == (120, 120)
    values = [int(one.replace(",", "")) for one in seen] if column in (2, 3, 4) else seen
    is_ascending = (column < 2) != sort.startswith("-")
    if sort.removeprefix("-") not in ("title", "activity"):  # of a title the list shows the id too; times show minutes
        assert values == sorted(values, reverse=not is_ascending)
    heading = page(client, f"/ui?sort={sort}").one("thead").all("th")[column]
    assert heading.attributes["aria-sort"] == ("ascending" if is_ascending else "descending")


def test_search_offers_the_users_and_takes_the_only_one(client: httpx.Client) -> None:
    append(client, "a", [user("The kettle whistles")], user_id="ann")
    assert page(client, "/ui/search?query=kettle").one("ol", class_="results").all("li")
    append(client, "b", [user("The kettle is quiet")], user_id="bob")
    found = page(client, "/ui/search?query=kettle")
    assert [node.attributes["value"] for node in found.all("option") if "ann" in node.attributes["value"]] == ["ann"]
    assert "Specify a user or a conversation." in found.one("main").words


def test_a_search_leads_to_the_page_and_marks_what_it_found(client: httpx.Client) -> None:
    append(client, "a/b", [user("The kettle whistles **loudly** at noon")], user_id="ann")
    found = page(client, "/ui/search?query=kettle&user=ann")
    assert [node.words for node in found.all("mark")] == ["kettle"]
    assert "**loudly**" in found.one("ol").words
    (link,) = [href for href in links(found.one("ol")) if "pages" in href]
    assert "The kettle" in page(client, link).one("article").words
    assert "No results." in page(client, "/ui/search?query=kettle&user=bob").one("main").words
    assert "There is no such conversation." in page(client, "/ui/search?query=kettle&conversation=x").one("main").words


def test_an_archive_is_read_part_by_part(client: httpx.Client) -> None:
    text = "".join(f"line {number}\n" for number in range(6000))
    append(client, "c", [user("go"), call("x"), result("x", text), assistant("done")])
    found = page(client, "/ui/conversations/c/pages/1")
    assert "line 5999" in found.one("main").text
    path = next(href for href in links(found) if "archives" in href)
    read_so_far = ""
    while path:
        part = page(client, path)
        read_so_far += part.one("pre", class_="boxed").text
        path = next((node.attributes["href"] for node in part.all("a", rel="next")), "")
    assert read_so_far == text


def test_a_page_of_very_many_messages_is_shown_in_part(client: httpx.Client) -> None:
    append(client, "c", [user("go"), *(assistant(f"step {number}") for number in range(700))])
    found = page(client, "/ui/conversations/c/pages/1")
    assert len(found.all("article")) == 500
    assert "201 more messages" in found.one("main").words


@pytest.mark.parametrize(
    "path",
    [
        "/ui/conversations/nobody", "/ui/conversations/c/pages/9", "/ui/conversations/c/pages/0", "/ui/nothing/here",
        "/ui/archives/00000000-0000-7000-8000-000000000009", "/ui/static/secret", "/ui/static/..%2Frouter.py",
        "/ui/conversations/nobody?show=pages", "/ui/conversations/nobody?show=archives",
    ],
)  # fmt: skip
def test_missing_resources_get_an_error_page(client: httpx.Client, path: str) -> None:
    created(client, id="c")
    assert page(client, path, 404).one("h1").words == "Not found"
    assert page(client, path, 404, language="zh").one("h1").words == "没有找到"


@pytest.mark.parametrize(
    "path",
    [
        "/ui?cursor=x",
        "/ui?cursor=x&sort=tokens",
        "/ui/conversations/c?show=x",
        "/ui/conversations/c/pages/x",
        "/ui/archives/x",
        "/ui?q=%00",
        f"/ui?user={'u' * 200}",
    ],
)
def test_an_address_that_is_not_usable_is_a_page_too(client: httpx.Client, path: str) -> None:
    created(client, id="c")
    page(client, path, 422)


def test_the_language_is_the_browsers_until_one_is_chosen(client: httpx.Client) -> None:
    assert page(client, "/ui").one("html").attributes["lang"] == "en"
    prefers = "fr;q=0.9, zh-CN;q=0.8, en;q=0.5"
    assert page(client, "/ui", language=prefers).one("h1").words == "还没有会话"
    assert page(client, "/ui", language="zh;q=0, en;q=0.1").one("html").attributes["lang"] == "en"
    assert page(client, "/ui?lang=en", language=prefers).one("html").attributes["lang"] == "en"
    assert page(client, "/ui", language=prefers).one("html").attributes["lang"] == "en", (
        "the choice is kept in a cookie"
    )
    switch = page(client, "/ui?q=a&lang=en").one("a", hreflang="zh-Hans").attributes["href"]
    assert switch == "?q=a&lang=zh"


def test_viewing_is_read_only_and_counts_no_recall(client: httpx.Client) -> None:
    shipped(client, limit=60)
    before = client.get("/conversations/release").json()
    for path in OF_ONE:
        client.get(f"/ui/conversations/release{path}")
    assert client.get("/conversations/release").json() == before
    assert client.get("/conversations/release/pages/1").json()["recall_count"] == 0


def test_every_answer_has_the_policy(client: httpx.Client) -> None:
    created(client, id="c")
    for path in (*EVERYWHERE, "/ui/conversations/c", "/ui/nothing", "/ui/static/style.css", "/ui/static/inspector.js"):
        answer = client.get(path)
        policy = answer.headers["content-security-policy"]
        assert policy.startswith("default-src 'none';")
        assert "unsafe" not in policy
        assert "http" not in policy
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["referrer-policy"] == "same-origin"
        if "static" not in path:
            assert answer.headers["cache-control"] == "no-store"


def test_the_files_are_ours_and_kept_by_browsers(client: httpx.Client) -> None:
    for name in ("style.css", "inspector.js", "icon.svg"):
        answer = client.get(f"/ui/static/{name}")
        assert answer.status_code == 200
        assert "http" not in answer.text.replace("http://www.w3.org/2000/svg", "")
        again = client.get(f"/ui/static/{name}", headers={"if-none-match": answer.headers["etag"]})
        assert again.status_code == 304


def test_the_api_does_not_list_the_pages(client: httpx.Client) -> None:
    assert not [path for path in client.get("/openapi.json").json()["paths"] if path.startswith("/ui")]


def test_hostile_text_stays_text_on_every_page(client: httpx.Client) -> None:
    name = nasty(client)
    archive = client.get("/archive", params={"conversation_id": name}).json()["items"][0]["uuid"]
    one = f"/ui/conversations/{quote(name, safe='')}"
    paths = [f"{one}{rest}" for rest in (*OF_ONE, "/pages/2", "/pages/3", "/pages/4")]
    others = ("/ui", f"/ui/archives/{archive}", f"/ui/archives/{archive}?query=tea", "/ui/jobs")
    searches = (
        "/ui/search?query=alert&user=%3Ci%3Eu%3C/i%3E",
        "/ui/search?query=%22%3E%3Cscript%3E&user=%22%3E%3Cb%3E",
    )
    for path in (*paths, *others, *searches, "/ui?q=%22%3E%3Cscript%3Ex&user=%3C/main%3E"):
        found = page(client, path)
        assert found.all("img") == found.all("b") == found.all("i") == []
        assert len(found.all("script")) == 1, path
        body = found.one("body").text
        assert "\x00" not in body
        assert "\u202e" not in body, f"{path} shows a mark that turns the line"


def test_invisible_characters_are_spelled_out(client: httpx.Client) -> None:
    append(client, "c", [user("hello\U000e0068\U000e0069\u200b there\u202e \x00\x1b")])
    found = page(client, "/ui/conversations/c?show=messages").one("section", id="messages")
    assert "hello‹tags: hi›‹U+200B› there‹U+202E› \ufffd␛" in found.text
    warning = found.one("p", class_="warning").words
    assert "U+200B zero width space × 1" in warning
    assert "tag characters × 2" in warning


def test_dead_jobs_can_be_retried_by_line_or_all_together(
    client: httpx.Client, run_as_superuser: Callable[[str], list[asyncpg.Record]]
) -> None:
    run_as_superuser(DEAD)
    forms = page(client, "/ui/jobs").all("form", action="/ui/jobs/retry")
    *by_line, everything = [
        {node.attributes["name"]: node.attributes["value"] for node in form.all("input")} for form in forms
    ]
    assert (len(by_line), everything) == (2, {})
    refused = client.post("/ui/jobs/retry", data=by_line[0], headers={"sec-fetch-site": "cross-site"})
    assert (refused.status_code, client.get("/jobs").json()["dead"]) == (422, 6)
    for fields, dead in ((by_line[0], 3), (by_line[0], 3), (everything, 0)):
        answer = client.post("/ui/jobs/retry", data=fields)
        assert (answer.status_code, answer.headers["location"]) == (303, "/ui/jobs")
        assert client.get("/jobs").json()["dead"] == dead
    assert client.get("/jobs").json()["pending"] == 6
    assert page(client, "/ui/jobs").all("form", action="/ui/jobs/retry") == []
