"""Conversations: made, browsed, changed, erased."""

from typing import Any

import httpx
import pytest

from tests.api.kit import Json, append, assistant, created, ok, path, problem, system, user, window

LISTED = {"id", "user_id", "title", "model", "budget", "metadata", "messages", "pages", "tokens", "created_at"}


def browse(client: httpx.Client, **query: Any) -> list[str]:
    return [item["id"] for item in ok(client.get("/conversations", params=query))["items"]]


def test_a_conversation_without_an_id_gets_one(client: httpx.Client) -> None:
    made = created(client, title="Plans", metadata={"b": 1.0, "a": [None, "龙井"]})
    assert made == ok(client.get(path(made["id"])))
    assert (made["title"], made["messages"], made["pages"], made["epoch"]) == ("Plans", 0, 0, 0)
    assert str(made["metadata"]) == "{'b': 1.0, 'a': [None, '龙井']}"
    assert made["created_at"].endswith("Z")


def test_an_id_of_the_clients_own_is_kept_and_taken_only_once(client: httpx.Client) -> None:
    made = created(client, id="mine", user_id="u", budget=5000, system="Be brief.", model="gpt-4o")
    assert (made["id"], made["user_id"], made["budget"], made["system"]) == ("mine", "u", 5000, "Be brief.")
    problem(client.post("/conversations", json={"id": "mine"}), 409, "id", "taken")
    assert ok(client.get(path("mine"))) == made


def test_the_list_has_the_latest_activity_first(client: httpx.Client) -> None:
    for name in "abc":
        append(client, name, [user(name)])
    assert browse(client) == ["c", "b", "a"]
    append(client, "a", [assistant()])
    assert browse(client) == ["a", "c", "b"]
    [first, *_] = ok(client.get("/conversations"))["items"]
    assert first.keys() >= LISTED
    assert (first["messages"], first["pages"], first["user_id"]) == (2, 1, "u")


@pytest.mark.parametrize("limit", [1, 2, 3, 7, 8])
def test_a_walk_by_cursor_meets_every_conversation_once(client: httpx.Client, limit: int) -> None:
    for number in range(7):
        created(client, id=f"c{number}")
    met: list[str] = []
    query: Json = {"limit": limit}
    while query.get("cursor", "") is not None:
        answer = ok(client.get("/conversations", params=query))
        assert len(answer["items"]) <= limit
        met += [item["id"] for item in answer["items"]]
        query["cursor"] = answer["next_cursor"]
    assert met == [f"c{number}" for number in reversed(range(7))]


def test_the_list_is_filtered_by_user_and_by_text(client: httpx.Client) -> None:
    append(client, "trip", [user("Ten days in Hangzhou")], user_id="ann")
    append(client, "tea", [user("龙井茶怎么泡?"), assistant(), user("How about 100% oolong_tea?")], user_id="ann")
    created(client, id="spare", user_id="bob", title="Nothing to do with Hangzhou")
    assert browse(client, user_id="ann") == ["tea", "trip"]
    assert browse(client, q="hangzhou") == ["spare", "trip"]
    assert browse(client, q="hangzhou", user_id="ann") == ["trip"]
    assert browse(client, q="龙井") == browse(client, q="100%") == browse(client, q="oolong_tea") == ["tea"]
    assert browse(client, q="10_%") == browse(client, q="\\") == browse(client, user_id="nobody") == []


def test_a_patch_changes_only_the_named_fields(client: httpx.Client) -> None:
    made = created(client, id="c", title="Old", budget=8000, settings={"active_pages": 3}, metadata={"k": 1})
    changed = ok(client.patch(path("c"), json={"title": "New"}))
    assert changed == {**made, "title": "New"} == ok(client.get(path("c")))
    changed = ok(client.patch(path("c"), json={"settings": {"chapter_lines": False}, "system": "Hi", "model": "o3"}))
    assert (changed["settings"], changed["system"], changed["model"]) == ({"chapter_lines": False}, "Hi", "o3")
    reset = ok(client.patch(path("c"), json={"settings": None, "system": None, "budget": None, "metadata": None}))
    assert [reset[name] for name in ("settings", "system", "budget", "metadata")] == [{}, None, None, {}]
    assert (reset["title"], reset["model"]) == ("New", "o3")


def test_settings_take_effect_with_the_next_window(client: httpx.Client) -> None:
    for number in range(12):
        append(client, "c", [user(f"question {number}"), assistant()])
    assert ok(client.get(path("c", "context")))["pages"]["verbatim"] == list(range(1, 13))
    ok(client.patch(path("c"), json={"settings": {"active_pages": 4, "full_recent_count": 2}}))
    pages = ok(client.get(path("c", "context")))["pages"]
    assert len(pages["verbatim"]) <= 4
    assert sorted(pages["verbatim"] + pages["condensed"] + pages["listed"]) == list(range(1, 13))


def test_a_summary_that_is_switched_off_does_not_lag(client: httpx.Client) -> None:
    created(client, id="c", user_id="u", settings={"summary_enabled": False})
    append(client, "c", [message for _ in range(20) for message in (user(), assistant())])
    found = ok(client.get(path("c", "summary")))
    assert (found["text"], found["through_seq"], found["lag"]) == ("", 0, 0)


def test_an_erased_conversation_is_gone_from_every_path(client: httpx.Client) -> None:
    append(client, "c", [user(), assistant()])
    erased = ok(client.delete(path("c")))
    assert erased["id"] == "c"
    assert (erased["erased"]["conversations"], erased["erased"]["messages"], erased["erased"]["pages"]) == (1, 2, 1)
    assert browse(client) == []
    for part in ("", "messages", "context", "contents", "pages", "pages/1", "summary"):
        problem(client.get(f"{path('c')}/{part}".rstrip("/")), 404)
    problem(client.delete(path("c")), 404)
    problem(client.patch(path("c"), json={"title": "x"}), 404)
    problem(client.post(path("c", "tools", "recall_page"), json={"arguments": {"page": 1}}), 404)
    problem(client.post(path("c", "messages"), json={"messages": [user()]}), 404, "user_id")


def test_an_id_can_be_used_again_after_it_was_erased(client: httpx.Client) -> None:
    for number in range(8):
        append(client, "c", [user(f"first life, question {number} " * 40), assistant("yes " * 40)])
    assert ok(client.get(path("c", "context"), params={"budget": 2000}))["epoch"] > 0
    ok(client.delete(path("c")))
    stored = append(client, "c", [user("second life")])
    assert (stored["messages"][0]["seq"], stored["page"], stored["epoch"]) == (1, 1, 0)
    found = ok(client.get(path("c", "context"), params={"budget": 2000}))
    assert (found["epoch"], found["messages"][-1]) == (1, user("second life"))
    assert "first life" not in str(found)


def test_erasing_a_conversation_erases_its_archives(client: httpx.Client, run_as_superuser: Any) -> None:
    calls = [{"id": "1", "type": "function", "function": {"name": "f", "arguments": "{}"}}]
    asked = [user(), {"role": "assistant", "content": None, "tool_calls": calls}]
    append(client, "c", [*asked, {"role": "tool", "tool_call_id": "1", "content": "x" * 20_000}])
    assert ok(client.delete(path("c")))["erased"]["archives"] == 1
    assert run_as_superuser("SELECT count(*) FROM archive_contents")[0][0] == 0


def test_the_first_thing_a_user_wants_is_the_title(client: httpx.Client) -> None:
    for name, own in (("untitled", None), ("titled", "Plans")):
        created(client, id=name, user_id="u", title=own)
        append(client, name, [system("You are a travel agent. Always use the tools.")])
        assert ok(client.get(path(name)))["title"] == own
        append(client, name, [user("Hi! Please book a train to Hangzhou for two."), assistant("Done.")])
        append(client, name, [user("Cancel the hotel in Suzhou.")])
    assert ok(client.get(path("untitled")))["title"] == "Book a train to Hangzhou for two"
    assert ok(client.get(path("titled")))["title"] == "Plans"


def test_a_leading_system_message_is_no_title(client: httpx.Client) -> None:
    append(client, "c", [system("Use the tools for anything that can be looked up."), user("帮我查一下退货的进度")])
    assert ok(client.get(path("c")))["title"] == "查一下退货的进度"
    assert ok(client.get(path("c", "pages", "1")))["title"] == "查一下退货的进度"


@pytest.mark.parametrize(
    ("said", "answer", "line"),
    [
        ("Yes", "Great, I booked the flight to Rome.", "I booked the flight to Rome"),
        ("好的", "已经为您取消订单 4711。", "已经为您取消订单 4711"),
        ("ok, thanks", "You're welcome!", ""),
        (
            "<environment_context>\n<cwd>/repo</cwd>\n</environment_context>",
            "The repository has three parts.",
            "three parts",
        ),
    ],
)
def test_small_talk_is_no_title_of_a_page(client: httpx.Client, said: str, answer: str, line: str) -> None:
    append(client, "c", [user("Find me a flight to Rome."), assistant("At nine. Shall I?"), user(said)])
    append(client, "c", [assistant(answer), *(user(f"Row {n} of the ledger. " * 40) for n in range(30))])
    titles = [ok(client.get(path("c", "pages")))["items"][1]["title"], ok(client.get(path("c", "pages", "2")))["title"]]
    titles += [one["title"] for one in ok(client.get(path("c", "contents")))["entries"] if one["page"] == 2]
    assert {line in title and bool(title) == bool(line) for title in titles} == {True}, titles
    head = window(client, "c", budget=2000)
    assert f"Page 2] {said}" not in str(head["messages"])
    assert f"第2页] {said}" not in str(head["messages"])


@pytest.mark.parametrize(
    ("greeting", "wanted", "title"),
    [
        ("Hey Mel! Good to see you! How have you been?", "Find me a flight to Rome.", "Find me a flight to Rome"),
        ("Hi, my name is Lucy. Nice to meet you.", "I loved Gulangyu Island.", "I loved Gulangyu Island"),
        ("你好，我叫张曼婷，很高兴认识你。", "帮我查一下退货的进度", "查一下退货的进度"),
    ],
)
def test_a_conversation_is_titled_by_the_first_message_that_does_more_than_greet(
    client: httpx.Client, greeting: str, wanted: str, title: str
) -> None:
    append(client, "c", [user(greeting), assistant("Hello!")])
    assert ok(client.get(path("c")))["title"] not in (None, title)
    append(client, "c", [user(wanted)])
    append(client, "c", [user("Cancel the hotel in Suzhou.")])
    assert ok(client.get(path("c")))["title"] == title
    append(client, "at once", [user(greeting), assistant("Hello!"), user(wanted)])
    assert ok(client.get(path("at once")))["title"] == title
    pages = ok(client.get(path("at once", "pages")))["items"]
    assert pages[0]["title"] != title == pages[1]["title"]


@pytest.mark.parametrize("is_renamed", [False, True])
def test_a_title_that_the_caller_sets_stays_though_it_greets(client: httpx.Client, is_renamed: bool) -> None:
    created(client, id="c", user_id="u", title=None if is_renamed else "Hello there")
    append(client, "c", [user("Good morning!"), assistant("Hello!")])
    if is_renamed:
        ok(client.patch(path("c"), json={"title": "Hello there"}))
    append(client, "c", [user("Find me a flight to Rome."), assistant("Done.")])
    append(client, "c", [user("Cancel the hotel in Suzhou.")])
    assert ok(client.get(path("c")))["title"] == "Hello there"
