"""What a person takes back, by an edit or in words, is in mind no longer."""

import httpx

from tests.api.kit import Json, append, assistant, ok, path, user, window

HELLO = [user("Hello."), assistant("Hi.")]
FRENCH = [*HELLO, user("From now on, always answer in French."), assistant("D'accord.")]


def synced(client: httpx.Client, *messages: Json) -> Json:
    return ok(client.post(path("c", "sync"), json={"user_id": "u", "messages": messages}))


def in_mind(client: httpx.Client, conversation: str) -> str:
    return str(window(client, conversation)["messages"])


def held(client: httpx.Client) -> list[str]:
    items = ok(client.get("/memories", params={"user_id": "u"}))["items"]
    return [one["content_preview"] for one in items]


def test_a_wish_that_was_edited_away_is_in_no_window_and_returns_with_its_branch(client: httpx.Client) -> None:
    synced(client, *FRENCH)
    assert len(held(client)) == 1
    synced(client, *HELLO, user("What is the weather in Bern?"), assistant("Sunny."))
    assert held(client) == []
    assert "French" not in in_mind(client, "c")
    append(client, "next", [user("Hi there.")])
    assert "French" not in in_mind(client, "next")
    synced(client, *FRENCH, user("And now?"))
    assert len(held(client)) == 1
    append(client, "later", [user("Hi there.")])
    assert "French" in in_mind(client, "later")


def test_what_was_said_before_the_edit_stays(client: httpx.Client) -> None:
    said = [user("Call me Lin."), assistant("Yes."), *FRENCH]
    synced(client, *said)
    synced(client, *said[:4], user("What is the weather in Bern?"), assistant("Sunny."))
    assert held(client) == ["Call me Lin."]


def test_a_value_that_was_edited_away_gives_way_to_the_one_before(client: httpx.Client) -> None:
    append(client, "a", [user("I'm vegetarian.")])
    synced(client, *HELLO, user("I'm vegan."), assistant("Noted."))
    assert held(client) == ["I'm vegan."]
    synced(client, *HELLO, user("What is the weather in Bern?"), assistant("Sunny."))
    assert held(client) == ["I'm vegetarian."]


def test_what_a_person_asks_to_forget_is_ended_and_the_request_is_no_wish(client: httpx.Client) -> None:
    append(client, "a", [user("I'm vegetarian.")])
    append(client, "b", [user("Forget that I'm vegetarian.")])
    append(client, "c", [user("Forget that I'm allergic to nuts. 忘掉我对花生过敏。")])
    assert held(client) == []
    append(client, "next", [user("What shall I cook?")])
    for conversation in ("b", "next"):
        assert "vegetarian" not in in_mind(client, "next"), conversation


def test_wishes_in_traditional_characters_are_kept_as_written(client: httpx.Client) -> None:
    for number, text in enumerate(("以後都用中文回答。", "我對花生過敏。", "以後不要用表情符號。")):
        append(client, f"c{number}", [user(text)])
    assert sorted(held(client)) == sorted(["以後都用中文回答。", "我對花生過敏。", "以後不要用表情符號。"])


def test_a_proposal_and_a_title_of_an_edited_message_go_and_return_with_its_branch(client: httpx.Client) -> None:
    ok(client.post("/conversations", json={"id": "c", "user_id": "u", "settings": {"carry": "proposed"}}), 201)
    synced(client, *FRENCH)
    title = ok(client.get(path("c")))["title"]
    proposals = proposed(client)
    assert proposals
    assert "French" in title
    synced(client, *HELLO, user("What is the weather in Bern?"), assistant("Sunny."))
    assert proposed(client) == []
    assert "Bern" in ok(client.get(path("c")))["title"]
    synced(client, *FRENCH, user("And now?"))
    assert proposed(client) == proposals
    assert ok(client.get(path("c")))["title"] == title


def proposed(client: httpx.Client) -> list[str]:
    items = ok(client.get("/memories", params={"user_id": "u", "status": "proposed"}))["items"]
    return [one["content_preview"] for one in items]
