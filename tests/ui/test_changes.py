"""What the inspector changes and erases: with a key that can write, and by forms of its own site only."""

from __future__ import annotations

from collections.abc import Iterator
from uuid import UUID

import httpx
import pytest

from app.main import build_app
from app.postgres.embedded import EmbeddedPostgres
from app.postgres.tenants import DEFAULT_TENANT
from app.runtime import Runtime
from app.services.keys import Knock
from app.settings import Settings
from app.ui.session import Viewer
from tests.api.kit import append, user, window
from tests.conftest import serving
from tests.ui.html import Node, check, read

CROSS = ({"sec-fetch-site": "cross-site"}, {"origin": "http://evil.example"}, {"origin": "null"})
NOBODY = UUID(int=7)


async def only_anns(_: Runtime, knock: Knock) -> Viewer:
    """A door: Ann, who can write if her key says so."""
    scopes = {"read", "write"} if knock.key == "writes" else {"read"}
    return Viewer(DEFAULT_TENANT, "ann", frozenset(scopes), NOBODY)


@pytest.fixture(scope="module")
def anns_url(postgres: EmbeddedPostgres, settings: Settings) -> Iterator[str]:
    app = build_app(settings, postgres.app_dsn)
    app.state.ui_door = only_anns
    yield from serving(app)


@pytest.fixture
def ann(anns_url: str, client: httpx.Client) -> Iterator[httpx.Client]:
    """A browser of Ann's, signed in with a key that can write; she and Bob have a conversation each."""
    for name in ("ann", "bob"):
        append(client, f"of-{name}", [user(f"the secret of {name}")], user_id=name)
    with httpx.Client(base_url=anns_url, cookies={"quire_ui_key": "writes"}, timeout=30) as opened:
        yield opened


def page(client: httpx.Client, path: str) -> Node:
    answer = client.get(path)
    assert answer.status_code == 200, f"{path}: {answer.text[:300]}"
    found = read(answer.text)
    check(found, path)
    return found


def remembered(client: httpx.Client, content: str, **more: str) -> str:
    body = {"user_id": "ann", "content": content, "memory_type": "preference", **more}
    return str(client.post("/memories", json=body).raise_for_status().json()["memory_key"])


def test_a_conversation_is_renamed_and_erased(client: httpx.Client) -> None:
    append(client, "a/b", [user("hello")], user_id="ann")
    renamed = client.post("/ui/conversations/a%2Fb", data={"do": "rename", "title": "  Plans \n 计划 "})
    assert (renamed.status_code, renamed.headers["location"]) == (303, "/ui/conversations/a%2Fb")
    assert client.get("/conversations/a%2Fb").json()["title"] == "Plans 计划"
    assert client.post("/ui/conversations/a%2Fb", data={"do": "rename", "title": "x" * 501}).status_code == 422
    gone = client.post("/ui/conversations/a%2Fb", data={"do": "delete"})
    assert (gone.status_code, gone.headers["location"]) == (303, "/ui")
    assert client.get("/conversations/a%2Fb").status_code == 404
    assert client.post("/ui/conversations/a%2Fb", data={"do": "delete"}).status_code == 404


def test_a_note_is_added_edited_and_erased_and_windows_follow(client: httpx.Client) -> None:
    append(client, "c", [user("hello")])

    def head() -> str:
        return str(window(client, "c")["messages"])

    assert client.post("/ui/conversations/c", data={"do": "note", "text": "Answer in French."}).status_code == 303
    assert "Answer in French." in head()
    [note] = client.get("/conversations/c/notes").json()["items"]
    found = page(client, "/ui/conversations/c?show=memory")
    assert found.one("input", id=f"note-{note['id']}").attributes["value"] == "Answer in French."
    client.post("/ui/conversations/c", data={"do": "note", "text": "Answer in Latin.", "note": note["id"]})
    assert ("Latin" in head(), "French" in head()) == (True, False)
    assert client.post("/ui/conversations/c", data={"do": "note", "text": " "}).status_code == 422
    client.post("/ui/conversations/c", data={"do": "delete-note", "note": note["id"]})
    assert "Latin" not in head()
    for wrong in (note["id"], "x", ""):
        assert client.post("/ui/conversations/c", data={"do": "delete-note", "note": wrong}).status_code == 404


def test_a_memory_is_edited_and_erased(client: httpx.Client) -> None:
    key = remembered(client, "Prefers green tea")
    found = page(client, f"/ui/memories/{key}")
    assert found.one("textarea").text.strip() == "Prefers green tea"
    edited = client.post(f"/ui/memories/{key}", data={"do": "edit", "content": "Prefers black tea\r\nin the morning"})
    assert edited.status_code == 303
    results = client.get("/memories/search", params={"user_id": "ann", "query": "tea"}).json()["results"]
    assert [(one["memory_key"], one["memory_type"]) for one in results] == [(key, "preference")]
    assert edited.headers["location"] == f"/ui/memories/{key}"
    assert client.get(f"/memories/{key}").json()["content"] == "Prefers black tea\nin the morning"
    assert client.post(f"/ui/memories/{key}", data={"do": "edit", "content": " "}).status_code == 422
    assert client.post(f"/ui/memories/{key}", data={"do": "delete"}).status_code == 303
    assert client.get(f"/memories/{key}").status_code == 404


def test_what_was_said_is_not_edited_but_can_be_forgotten(client: httpx.Client) -> None:
    append(client, "c", [user("The kettle whistles")], user_id="ann")
    [hit] = client.get("/memories/search", params={"user_id": "ann", "query": "kettle"}).json()["results"]
    assert page(client, f"/ui/memories/{hit['memory_key']}").all("textarea") == []
    assert (
        client.post(f"/ui/memories/{hit['memory_key']}", data={"do": "edit", "content": "changed"}).status_code == 404
    )
    assert client.post(f"/ui/memories/{hit['memory_key']}", data={"do": "delete"}).status_code == 303
    assert not client.get("/memories/search", params={"user_id": "ann", "query": "kettle"}).json()["results"]
    assert client.get("/conversations/c/messages").json()["items"]


def forms(client: httpx.Client, conversation: str, user_id: str) -> list[tuple[str, dict[str, str]]]:
    """Every form that changes something of a user."""
    body = {"user_id": user_id, "content": "likes tea", "memory_type": "fact"}
    key = client.post("/memories", json=body).json()["memory_key"]
    note = client.post(f"/conversations/{conversation}/notes", json={"text": "In French."}).json()["id"]
    one = f"/ui/conversations/{conversation}"
    return [
        (one, {"do": "rename", "title": "x"}),
        (one, {"do": "note", "text": "x"}), (one, {"do": "note", "text": "x", "note": note}),
        (one, {"do": "delete-note", "note": note}), (one, {"do": "delete"}),
        (f"/ui/memories/{key}", {"do": "edit", "content": "x"}), (f"/ui/memories/{key}", {"do": "delete"}),
    ]  # fmt: skip


def stored(client: httpx.Client, conversation: str, user_id: str) -> list[str]:
    lines = client.get(f"/users/{user_id}/export").text.splitlines()[1:]
    return [*lines, client.get(f"/conversations/{conversation}/notes").text]


@pytest.mark.parametrize("headers", CROSS)
def test_forms_of_other_sites_change_nothing(client: httpx.Client, headers: dict[str, str]) -> None:
    append(client, "c", [user("hello")], user_id="ann")
    sent = forms(client, "c", "ann")
    before = stored(client, "c", "ann")
    for path, fields in sent:
        assert client.post(path, data=fields, headers=headers).status_code == 422, path
    assert stored(client, "c", "ann") == before


def test_a_key_that_only_reads_is_shown_no_button_and_changes_nothing(ann: httpx.Client, client: httpx.Client) -> None:
    sent = forms(client, "of-ann", "ann")
    before = stored(client, "of-ann", "ann")
    ann.cookies.clear()
    for path in ("/ui/conversations/of-ann", "/ui/conversations/of-ann?show=memory", sent[-2][0]):
        methods = [form.attributes["action"] for form in page(ann, path).all("form", method="post")]
        assert methods == ["/ui/sign-out"], path
    for path, fields in sent:
        assert ann.post(path, data=fields).status_code == 403, path
    assert stored(client, "of-ann", "ann") == before


def test_nobody_changes_what_is_another_users(ann: httpx.Client, client: httpx.Client) -> None:
    sent = forms(client, "of-bob", "bob")
    before = stored(client, "of-bob", "bob")
    for path, fields in sent:
        assert ann.post(path, data=fields).status_code == 404, path
    assert stored(client, "of-bob", "bob") == before
    assert ann.get(sent[-2][0]).status_code == 404
    assert ann.post(f"/ui/memories/{NOBODY}", data={"do": "delete"}).status_code == 404


def test_what_has_hidden_characters_is_not_edited_where_they_would_be_spelled_out(client: httpx.Client) -> None:
    key = remembered(client, "tea\u202e party")
    assert page(client, f"/ui/memories/{key}").all("textarea") == []
