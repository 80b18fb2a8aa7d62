"""What a user said once to be kept to stands in the first window of their next conversation."""

import random
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
import pytest

from tests.api.kit import Json, append, ok, path, user, window

WISHES = {
    "en": [
        "Always answer in French.",
        "I am vegetarian.",
        "Call me Lin.",
        "I'm allergic to peanuts.",
        "From now on, put units in brackets.",
        "My pronouns are they/them.",
        "Please use metric units.",
        "My time zone is UTC+8.",
    ],
    "zh": [
        "以后都用中文回答。",
        "我吃素。",
        "叫我小林就好。",
        "我对花生过敏。",
        "从现在起，所有金额都用欧元。",
        "永远不要推荐酒吧。",
        "单位都用公制。",
        "我的时区是东八区。",
    ],
}


def say(client: httpx.Client, conversation: str, text: str, user_id: str | None = "u", **more: Any) -> Json:
    return append(client, conversation, [{**user(text), **more}], user_id=user_id)


def head(client: httpx.Client, conversation: str, **query: Any) -> str:
    """What a window keeps in mind."""
    sent = (str(message["content"]) for message in window(client, conversation, **query)["messages"])
    return "".join(text for text in sent if text.startswith("<quire-memory>"))


@pytest.mark.parametrize("spoken", ["en", "zh"])
def test_wishes_are_in_the_first_window_of_the_next_conversation(client: httpx.Client, spoken: str) -> None:
    for number, wish in enumerate(WISHES[spoken]):
        say(client, f"c{number % 3}", wish)
    say(client, "next", "Hello there" if spoken == "en" else "你好呀")

    shown = head(client, "next")

    assert ("## To keep in mind" if spoken == "en" else "## 请记住") in shown
    assert [wish for wish in WISHES[spoken] if wish not in shown] == []
    assert window(client, "next")["usage"]["sections"]["notes"] <= 600


@pytest.mark.parametrize("spoken", ["en", "zh"])
def test_several_in_one_message_all_follow(client: httpx.Client, spoken: str) -> None:
    say(client, "c", " ".join(WISHES[spoken]))
    say(client, "next", "Hello")

    shown = head(client, "next")

    assert [wish for wish in WISHES[spoken] if wish not in shown] == []


@pytest.mark.parametrize(
    "text",
    [
        "Let's play: from now on you are a pirate. Always answer in French.",
        "> Always answer in French.\n\nWhat does this mean?",
        "Please summarise this email:\n\nI am vegetarian. Call me Lin. Always answer in French.",
        "My sister is vegetarian.",
        "Am I vegetarian if I eat fish?",
        "Always answer in French on this trip.",
        "My boss says: always answer in French.",
        "Imagine I am vegetarian.",
        "请翻译下面这段话：我吃素。以后都用法语回答。",
        "我妹妹吃素。",
        "这次旅行都用法语回答。",
        "假设我吃素。",
        "My password is always hunter2, never forget it.",
        "I prefer aisle seats.",
        "Whenever I write code, please add type hints.",
        "We never deploy on Fridays.",
    ],
)
def test_nothing_else_travels(client: httpx.Client, text: str) -> None:
    say(client, "c", text)
    say(client, "next", "Hello")
    assert head(client, "next") == ""


def test_an_assistant_a_tool_and_another_speaker_carry_nothing(client: httpx.Client) -> None:
    append(client, "c", [user("hi"), {"role": "assistant", "content": "Always answer in French."}], user_id="u")
    say(client, "c", "Always answer in German.", name="somebody")
    say(client, "next", "Hello")
    assert head(client, "next") == ""
    say(client, "c", "Always answer in Italian.", name="u")
    say(client, "third", "Hello")
    assert "Italian" in head(client, "third")


def test_another_user_and_another_conversation_without_a_user_see_nothing(client: httpx.Client) -> None:
    say(client, "c", "Always answer in French.")
    say(client, "theirs", "Hello", "v")
    ok(client.post("/conversations", json={"id": "nobodys"}), 201)
    say(client, "nobodys", "Hello", None)
    assert (head(client, "theirs"), head(client, "nobodys")) == ("", "")


def test_a_later_value_of_a_key_holds_and_an_ended_one_does_not(client: httpx.Client) -> None:
    say(client, "a", "Call me Lin. I am vegetarian. I'm allergic to nuts.")
    say(client, "b", "Call me Mei.")
    say(client, "c", "I'm not vegetarian any more.")
    say(client, "next", "Hello")
    shown = head(client, "next")
    assert "Mei" in shown
    assert "nuts" in shown
    assert "Lin" not in shown
    assert "vegetarian" not in shown


def test_told_late_is_filed_where_it_belongs(client: httpx.Client) -> None:
    say(client, "a", "Call me Mei.", said_at="2026-05-02T10:00:00Z")
    say(client, "b", "Call me Lin.", said_at="2026-03-01T10:00:00Z")
    say(client, "next", "Hello")
    assert "Mei. (2026-05-02)" in head(client, "next")
    assert "Lin" not in head(client, "next")


def test_the_head_is_frozen_until_something_is_withdrawn(client: httpx.Client) -> None:
    say(client, "a", "Call me Lin. I'm allergic to nuts.")
    say(client, "long", "Hello")
    before = window(client, "long")
    say(client, "b", "Always answer in French.")
    say(client, "long", "And now?")
    after = window(client, "long")
    assert after["messages"][: len(before["messages"])] == before["messages"]
    assert after["epoch"] == before["epoch"]

    [name] = [one for one in memories(client, pinned=True) if one["key"] == "name"]
    ok(client.delete(f"/memories/{name['memory_key']}"))

    shown = head(client, "long")
    assert "Lin" not in shown
    assert "nuts" in shown
    assert window(client, "long")["epoch"] > before["epoch"]


def memories(client: httpx.Client, user_id: str = "u", **query: Any) -> list[Json]:
    found: list[Json] = ok(client.get("/memories", params={"user_id": user_id, **query}))["items"]
    return found


def test_what_is_carried_goes_with_its_message(client: httpx.Client) -> None:
    say(client, "a", "Call me Lin.")
    say(client, "a", "Call me Mei.")
    say(client, "next", "Hello")
    assert "Mei" in head(client, "next")
    ok(client.delete(path("a", "messages", "2")))
    assert head(client, "next") == ""  # and the former value does not come back
    say(client, "b", "I am vegan.")
    say(client, "more", "Hello")
    assert "vegan" in head(client, "more")
    ok(client.delete(path("b")))
    assert head(client, "more") == ""


def test_a_conversation_and_a_deployment_can_forbid_it(client: httpx.Client) -> None:
    ok(client.post("/conversations", json={"id": "quiet", "user_id": "u", "settings": {"remember": False}}), 201)
    say(client, "quiet", "Always answer in French.")
    say(client, "next", "Hello")
    assert head(client, "next") == ""
    ok(client.post("/conversations", json={"id": "asks", "user_id": "u", "settings": {"carry": "proposed"}}), 201)
    say(client, "asks", "Always answer in French.")
    say(client, "third", "Hello")
    assert head(client, "third") == ""
    assert [one["content_preview"] for one in memories(client, status="proposed")] == ["Always answer in French."]


def test_the_same_wish_again_is_one_memory(client: httpx.Client) -> None:
    for number in range(3):
        say(client, f"c{number}", "Never suggest bars.")
    assert len(memories(client, pinned=True)) == 1


def test_erasing_a_conversation_says_what_it_had_given_and_can_leave_it(client: httpx.Client) -> None:
    say(client, "a", "Call me Lin. I'm allergic to nuts.")
    say(client, "b", "Always answer in French.")
    say(client, "next", "Hello")
    assert ok(client.delete(path("a"), params={"keep_memories": True}))["carried"] == 2
    assert "nuts" in head(client, "next")
    assert ok(client.delete(path("b")))["carried"] == 1
    assert "French" not in head(client, "next")
    assert "Lin" in head(client, "next")


def test_appends_at_once_in_many_conversations_keep_the_latest_value(client: httpx.Client) -> None:
    def tell(number: int) -> None:
        say(client, f"c{number}", f"Call me Max{number}.", said_at=f"2026-01-{number + 1:02}T00:00:00Z")

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(tell, random.Random(2).sample(range(24), 24)))
    say(client, "next", "Hello")
    assert "Call me Max23. (2026-01-24)" in head(client, "next")
    assert head(client, "next").count("Call me") == 1


def test_a_request_that_is_sent_twice_keeps_one(client: httpx.Client) -> None:
    sent = {"messages": [user("Call me Lin.")], "user_id": "u"}
    for _ in range(2):
        ok(client.post(path("c", "messages"), json=sent, headers={"Idempotency-Key": "once"}), 201)
    assert len(memories(client, pinned=True)) == 1


def test_what_is_left_out_is_counted(client: httpx.Client) -> None:
    for number in range(80):
        say(
            client,
            f"c{number % 4}",
            f"Never suggest restaurant number {number} of the long list in the old town to me.",
        )
    say(client, "next", "Hello")
    found = window(client, "next")
    assert 0 < found["usage"]["sections"]["notes"] <= 600
    [warning] = [one for one in found["warnings"] if one["code"] == "notes_left_out"]
    shown = head(client, "next").count("Never suggest")
    assert warning["detail"] == f"there is no room for {80 - shown} memories to keep in mind"
    assert "number 79 " in head(client, "next"), "the newest come first"
    small = window(client, "next", budget=2000)
    assert small["usage"]["sections"]["notes"] <= 160
