"""The page of a person: what is kept in mind, where it was said, and proposals to accept or refuse."""

from __future__ import annotations

import httpx
import pytest

from tests.api.kit import append, ok, user, window
from tests.ui.html import Node, check, read
from tests.ui.made import NASTY
from tests.ui.test_changes import CROSS, NOBODY, ann, anns_url

__all__ = ["ann", "anns_url"]


def page(client: httpx.Client, path: str = "/ui/people/ann", language: str = "en") -> Node:
    answer = client.get(path, headers={"accept-language": language})
    assert answer.status_code == 200, answer.text[:300]
    found = read(answer.text)
    check(found, path)
    return found


def items(found: Node, part: str) -> list[str]:
    return [one.words for one in found.one("section", id=part).all("li") if one.all("a", class_="quiet")]


def proposal(client: httpx.Client, conversation: str = "talk", user_id: str = "ann") -> str:
    """The key of what Ann said and a person has to accept."""
    append(client, conversation, [user("I prefer aisle seats.")], user_id=user_id)
    [asked] = ok(client.get("/memories", params={"user_id": user_id, "status": "proposed"}))["items"]
    return str(asked["memory_key"])


@pytest.mark.parametrize(
    ("language", "words"),
    [("en", ("for the user", "said so", "Earlier values: 1")), ("zh", ("属于该用户", "用户原话", "以前的值：1"))],
)
def test_what_is_kept_in_mind_says_where_it_was_said_and_what_it_was_before(
    client: httpx.Client, language: str, words: tuple[str, ...]
) -> None:
    append(
        client, "a/b", [user("Please call me Lin from now on."), user("Please call me Mei from now on.")], user_id="ann"
    )
    found = page(client, language=language)
    [line] = items(found, "kept")
    assert "call me Mei" in line.partition("Lin")[0]
    assert "Lin" in line
    for word in words:
        assert word in line
    links = [one.attributes["href"] for one in found.one("section", id="kept").all("a")]
    assert "/ui/conversations/a%2Fb" in links
    [said] = [one for one in links if "#" in one]
    assert page(client, said.partition("#")[0]).one("article", id=said.partition("#")[2]).all("pre")
    assert page(client, "/ui/conversations/a%2Fb").all("a", href="/ui/people/ann")
    assert page(client, "/ui?user=ann").all("a", href="/ui/people/ann")


def test_a_proposal_is_accepted_and_stands_in_the_next_window(client: httpx.Client) -> None:
    key = proposal(client)
    assert "I prefer aisle seats." in items(page(client), "proposed")[0]
    for _ in range(2):
        sent = client.post(f"/ui/memories/{key}", data={"do": "accept", "next": "/ui/people/ann"})
        assert (sent.status_code, sent.headers["location"]) == (303, "/ui/people/ann")
    found = page(client)
    assert (items(found, "proposed"), len(items(found, "kept"))) == ([], 1)
    append(client, "next", [user("hello")], user_id="ann")
    assert "aisle" in str(window(client, "next")["messages"])


def test_a_refused_proposal_is_gone(client: httpx.Client) -> None:
    key = proposal(client)
    assert client.post(f"/ui/memories/{key}", data={"do": "refuse", "next": "/ui/people/ann"}).status_code == 303
    found = page(client)
    assert items(found, "proposed") + items(found, "kept") == []


def test_what_a_form_names_wrongly_changes_nothing(client: httpx.Client) -> None:
    key = proposal(client)
    at = f"/ui/memories/{key}"
    assert client.post(at, data={"do": "propose"}).status_code == 422
    assert client.post(at).status_code == 422
    for wrong, status in (("x", 422), (str(NOBODY), 404)):
        assert client.post(f"/ui/memories/{wrong}", data={"do": "accept"}).status_code == status
    for headers in CROSS:
        assert client.post(at, data={"do": "accept"}, headers=headers).status_code == 422
    assert len(items(page(client), "proposed")) == 1


def test_a_space_is_named_and_its_memory_comes_with_its_members(client: httpx.Client) -> None:
    ok(client.post("/spaces", json={"id": "<i>team</i>", "members": {"ann": "write", "bob": "read"}}), 201)
    ok(
        client.post(
            "/memories", json={"content": NASTY.replace("\x00", ""), "scope": "space:<i>team</i>", "pinned": True}
        ),
        201,
    )
    for name in ("ann", "bob"):
        [line] = items(page(client, f"/ui/people/{name}"), "kept")
        assert "<script>alert(1)</script>" in line
        assert "space <i>team</i>" in line
    assert items(page(client, "/ui/people/eve"), "kept") == []


def test_a_key_of_one_user_sees_and_decides_nobody_elses(ann: httpx.Client, client: httpx.Client) -> None:
    own, other = proposal(client), proposal(client, "bobs", "bob")
    assert ann.get("/ui/people/bob").status_code == 404
    assert ann.post(f"/ui/memories/{other}", data={"do": "accept"}).status_code == 404
    assert len(items(page(client, "/ui/people/bob"), "proposed")) == 1
    ann.cookies.clear()
    methods = [form.attributes["action"] for form in page(ann).all("form", method="post")]
    assert methods == ["/ui/sign-out"]
    assert ann.post(f"/ui/memories/{own}", data={"do": "accept"}).status_code == 403
    assert len(items(page(client), "proposed")) == 1


def test_any_user_has_a_page(client: httpx.Client) -> None:
    for name in ("<i>u</i>/..?#", "李 雷", "x" * 128):
        append(client, "of", [user("I prefer aisle seats.")], user_id=name)
        [at] = [one.attributes["href"] for one in page(client, "/ui/conversations/of").all("dd")[1].all("a")]
        found = page(client, at)
        assert found.one("h1").words == name
        assert "I prefer aisle seats." in items(found, "proposed")[0]
        form = found.one("section", id="proposed").one("form")
        sent = {"next": form.one("input").attributes["value"], "do": "accept"}
        assert client.post(form.attributes["action"], data=sent).headers["location"] == at
        ok(client.delete("/conversations/of"))
    assert client.get("/ui/people/a%00b").status_code == 422


def test_many_memories_are_paged(client: httpx.Client) -> None:
    for number in range(51):
        body = {"user_id": "ann", "content": f"Wish {number}", "pinned": True}
        ok(client.post("/memories", json=body), 201)
    first = page(client)
    rest = page(client, first.one("a", rel="next").attributes["href"])
    assert (len(items(first, "kept")), len(items(rest, "kept"))) == (50, 1)
    assert "Wish 0 " in items(rest, "kept")[0]


def test_what_is_kept_in_mind_stays_so_when_its_text_is_edited(client: httpx.Client) -> None:
    append(client, "talk", [user("Please call me Lin from now on.")], user_id="ann")
    ok(client.post("/spaces", json={"id": "team", "members": {"ann": "write"}}), 201)
    body = {"content": "We deploy on Tuesdays.", "scope": "space:team", "pinned": True}
    ok(client.post("/memories", json=body), 201)
    listed = ok(client.get("/memories", params={"user_id": "ann"}))["items"]
    append(client, "next", [user("hello")], user_id="ann")
    assert "Lin" in str(window(client, "next")["messages"])
    for one in listed:
        sent = client.post(f"/ui/memories/{one['memory_key']}", data={"do": "edit", "content": f"Edited: {one['key']}"})
        assert sent.status_code == 303
    after = ok(client.get("/memories", params={"user_id": "ann"}))["items"]
    standing = [{(one["key"], one["scope"], one["pinned"], one["status"]) for one in some} for some in (listed, after)]
    assert standing[0] == standing[1]
    assert "Edited: name" in str(window(client, "next")["messages"])
    assert "Lin" not in str(window(client, "next")["messages"])
    key = proposal(client)
    assert (
        client.post(f"/ui/memories/{key}", data={"do": "edit", "content": "I prefer window seats."}).status_code == 303
    )
    assert "window seats" in items(page(client), "proposed")[0]


def test_a_kept_memory_that_is_edited_has_the_limit_of_one(client: httpx.Client) -> None:
    body = {"content": "Be brief.", "user_id": "ann", "pinned": True}
    key = ok(client.post("/memories", json=body), 201)["memory_key"]
    assert client.post(f"/ui/memories/{key}", data={"do": "edit", "content": "x" * 2_001}).status_code == 422
    assert ok(client.get(f"/memories/{key}"))["content"] == "Be brief."


BOLD = "<b>Annie</b>"


@pytest.mark.parametrize(("language", "words"), [("en", ("may read and write", "Members")), ("zh", ("可读写", "成员"))])
def test_a_space_shows_its_members_what_is_kept_and_what_waits(
    client: httpx.Client, language: str, words: tuple[str, ...]
) -> None:
    made = {"id": "team/1", "name": BOLD, "members": {"ann": "write", "bob": "read"}, "participants": {BOLD: "ann"}}
    ok(client.post("/spaces", json=made), 201)
    kept = {"content": "We deploy on Tuesdays.", "scope": "space:team/1", "pinned": True}
    ok(client.post("/memories", json=kept), 201)
    append(client, "talk", [user("We never deploy on Fridays.")], user_id=None, space_id="team/1")
    at = "/ui/spaces/team%2F1"
    found = page(client, at, language)
    assert all(word in found.words for word in (*words, BOLD))
    assert ["Tuesdays" in one for one in items(found, "kept")] == [True]
    assert ["Fridays" in one for one in items(found, "proposed")] == [True]
    assert [one.partition(" ")[0] for one in items(found, "members")] == ["ann", "bob"]
    assert page(client).all("a", href=at)
    [asked] = ok(client.get("/memories", params={"scope": "space:team/1", "status": "proposed"}))["items"]
    sent = client.post(f"/ui/memories/{asked['memory_key']}", data={"do": "accept", "next": at})
    assert (sent.status_code, sent.headers["location"]) == (303, at)
    assert len(items(page(client, at), "kept")) == 2


def test_who_is_no_member_sees_no_page_of_a_space(client: httpx.Client, ann: httpx.Client) -> None:
    for space_id, members in (("hers", {"ann": "write"}), ("others", {"bob": "write"})):
        ok(client.post("/spaces", json={"id": space_id, "members": members}), 201)
    assert ann.get("/ui/spaces/hers").status_code == 200
    assert ann.get("/ui/spaces/others").status_code == 404
    assert client.get("/ui/spaces/none").status_code == 404
    assert client.get("/ui/spaces/a%00b").status_code == 422
