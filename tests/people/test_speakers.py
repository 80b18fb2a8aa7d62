"""Who speaks in a space: names stand for members, and a window for one of them shows what is theirs."""

import json

import httpx

from tests.api.kit import Json, append, assistant, ok, path, problem, user, window
from tests.people.test_spaces import as_, found, searched, space

WISH = "Always answer Ann in French."
NUTS = "I'm allergic to nuts."


def team(client: httpx.Client) -> None:
    """A space in which Ann is called Annie, and Ann's own wishes, said elsewhere."""
    space(client, "team", ann="write", bob="write")
    ok(client.patch("/spaces/team", json={"participants": {"Annie": "ann", "Bobby": "bob"}}))
    append(client, "anns", [user("Call me Annie. " + NUTS)], user_id="ann")
    append(client, "talk", [user("What is for lunch?", name="Annie")], user_id=None, space_id="team")


def shown(client: httpx.Client, headers: dict[str, str] | None = None, **query: str) -> str:
    return json.dumps(client.get(path("talk", "context"), params=query, headers=headers).json()["messages"])


def codes(window: Json) -> list[str]:
    return [one["code"] for one in window["warnings"]]


def test_a_window_for_a_participant_shows_what_they_keep_in_mind(client: httpx.Client) -> None:
    team(client)
    assert NUTS not in shown(client)
    assert NUTS in shown(client, speaker="Annie")
    assert NUTS in shown(client, speaker="annie")
    assert NUTS in shown(client, speaker="Annie", format="anthropic")
    assert NUTS in shown(client, speaker="Annie", query="lunch")
    assert NUTS not in shown(client, speaker="Bobby")
    posted = ok(client.post(path("talk", "context"), json={"speaker": "Annie"}))
    assert "## To keep in mind" in json.dumps(posted["messages"])
    assert posted["usage"]["sections"]["tail"] > 0
    asked = {"include": "context", "speaker": "Annie"}
    answer = client.post(path("talk", "messages"), params=asked, json={"messages": [assistant("Soup.")]})
    assert NUTS in json.dumps(ok(answer, 201)["context"]["messages"])


def test_a_window_for_somebody_leaves_the_prefix_as_it_is(client: httpx.Client) -> None:
    team(client)
    plain, hers = window(client, "talk"), window(client, "talk", speaker="Annie")
    assert hers["messages"][:-1] == plain["messages"]
    assert (hers["prefix_hash"], hers["stable_tokens"]) == (plain["prefix_hash"], plain["stable_tokens"])


def test_a_name_of_no_member_is_nobody(client: httpx.Client) -> None:
    team(client)
    for name in ("ann", "Eve", "Annie2", "system"):
        nobodys = window(client, "talk", speaker=name)
        assert NUTS not in json.dumps(nobodys["messages"])
        assert codes(nobodys) == ["speaker_not_shown"]
    ok(client.delete("/spaces/team/members/ann"))
    assert codes(window(client, "talk", speaker="Annie")) == ["speaker_not_shown"]
    assert NUTS not in shown(client, speaker="Annie")
    append(client, "bobs", [user("hi", name="Annie")], user_id="bob")
    assert NUTS not in json.dumps(window(client, "bobs", speaker="Annie"))


def test_a_speaker_is_no_right(client: httpx.Client) -> None:
    team(client)
    assert NUTS not in shown(client, as_("bob"), speaker="Annie")
    assert NUTS in shown(client, as_("ann"), speaker="Annie")
    problem(client.get(path("talk", "context"), params={"speaker": "Annie"}, headers=as_("eve")), 404)


def test_no_other_member_reads_it_in_what_was_served(client: httpx.Client) -> None:
    team(client)
    assert NUTS in shown(client, speaker="Annie")
    assert NUTS not in shown(client)
    windows = ok(client.get(path("talk", "windows"), headers=as_("bob")))["items"]
    texts = [client.get(path("talk", "windows", str(one["id"])), headers=as_("bob")).text for one in windows]
    assert len(texts) == 1
    assert "allergic" not in "".join(texts)


def test_what_is_withdrawn_or_sensitive_is_not_shown(client: httpx.Client) -> None:
    team(client)
    secret = {"content": "I take lithium.", "user_id": "ann", "pinned": True, "sensitivity": "sensitive"}
    ok(client.post("/memories", json=secret), 201)
    assert "lithium" not in shown(client, speaker="Annie")
    held = ok(client.get("/memories", params={"user_id": "ann", "pinned": True}))["items"]
    [nuts] = [one for one in held if "nuts" in one["content_preview"]]
    ok(client.delete(f"/memories/{nuts['memory_key']}"))
    left = shown(client, speaker="Annie")
    assert "Call me Annie." in left
    assert "allergic" not in left


def test_a_name_is_stored_searched_and_shown_and_its_member_finds_what_was_said(client: httpx.Client) -> None:
    team(client)
    append(client, "talk", [user("The boiler is in the cellar.", name="Bobby")], user_id=None, space_id="team")
    for headers in (as_("ann"), as_("bob")):
        [hit] = searched(client, "boiler", headers)["results"]
        assert (hit["name"], hit["conversation_id"]) == ("Bobby", "talk")
    assert found(client, "boiler", as_("eve")) == []
    said = ok(client.get(path("talk", "messages")))["items"]
    assert [one["name"] for one in said] == ["Annie", "Bobby"]


def test_a_participant_stands_for_one_member(client: httpx.Client) -> None:
    team(client)
    before = ok(client.get("/spaces/team"))
    for participants in (
        {"Lin": "ann", "lin": "bob"},
        {"Lin": "eve"},
        {"": "ann"},
        {"Lin": 3},
        {"Lin": ["ann", "bob"]},
    ):
        problem(client.patch("/spaces/team", json={"participants": participants}), 422, "participants")
    twice = '{"participants": {"Lin": "ann", "Lin": "bob"}}'
    problem(client.patch("/spaces/team", content=twice, headers={"content-type": "application/json"}), 422)
    assert ok(client.get("/spaces/team")) == before
    ok(client.patch("/spaces/team", json={"participants": {"Lin": "ann", "林": "ann"}}))


def test_a_speaker_has_a_name_of_1_to_128_characters(client: httpx.Client) -> None:
    team(client)
    for name in ("", "x" * 129):
        problem(client.get(path("talk", "context"), params={"speaker": name}), 422, "speaker")
    problem(client.get(path("talk", "context"), params={"speaker": "Annie", "as_of": 1}), 422, "as_of")


def test_what_is_kept_in_mind_names_the_person_who_said_it(client: httpx.Client) -> None:
    space(client, "team", ann="write", bob="write")
    talk = [user("I'm allergic to nuts.", name="Bob"), user("I'm allergic to nuts.", name="Ann")]
    append(client, "talk", [*talk, user("I'm vegetarian.", name="Bob")], user_id=None, space_id="team")
    append(client, "talk", [user("I'm vegan.", name="Ann")], user_id=None)
    for part in range(40):
        append(
            client, "talk", [user(f"Order part {part}. " * 30, name="Ann"), assistant("Ordered. " * 20)], user_id=None
        )
    shown = json.dumps(window(client, "talk", budget=3000)["messages"])
    for said in ("Bob: I'm allergic", "Ann: I'm allergic", "Bob: I'm vegetarian", "Ann: I'm vegan"):
        assert f"- {said}" in shown


def test_map_pages_and_lines_name_the_person_who_speaks(client: httpx.Client) -> None:
    space(client, "team", ann="write", bob="write")
    talk = [
        user("The gate of the shed is rusty.", name="张伟"),
        assistant("Noted."),
        user("Paint it blue.", name="Ann"),
    ]
    append(client, "talk", [*talk, assistant("OK.")], user_id=None, space_id="team")
    for part in range(20):
        append(client, "talk", [user(f"Order part {part}. " * 30), assistant("Ordered. " * 20)], user_id=None)
    contents = ok(client.get(path("talk", "contents"), params={"budget": 2000}))["text"]
    assert "张伟: The gate" in contents
    assert "Ann: Paint it blue" in contents
    recalled = ok(client.post(path("talk", "tools", "recall_page"), json={"arguments": {"page": 1}}))["content"]
    assert "[1] user (张伟): The gate" in recalled
    grepped = {"arguments": {"pattern": "shed is rusty"}}
    assert "user (张伟)" in ok(client.post(path("talk", "tools", "grep_memories"), json=grepped))["content"]


def test_a_persons_own_words_need_no_name(client: httpx.Client) -> None:
    append(client, "alone", [user("I'm allergic to nuts.", name="ann")], user_id="ann")
    items = ok(client.get("/memories", params={"user_id": "ann"}))["items"]
    assert [one["content_preview"] for one in items] == ["I'm allergic to nuts."]
