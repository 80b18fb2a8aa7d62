"""What is kept of people and of spaces leaves with an export, and comes back once."""

import json
from typing import Any

import httpx

from tests.api.kit import Json, append, created, ok, problem, user
from tests.people.test_spaces import as_, space

FORGET = ("users/ann", "spaces/team")


def lines(client: httpx.Client, path: str) -> str:
    answer = client.get(path)
    assert answer.status_code == 200, answer.text
    return answer.text


def put_in(client: httpx.Client, text: str, **more: Any) -> Json:
    return ok(client.post("/import", content=text, headers={"content-type": "application/x-ndjson"}, **more))


def remember(client: httpx.Client, content: str, **more: Any) -> Json:
    return ok(client.post("/memories", json={"content": content, **more}), 201)


def tool(client: httpx.Client, conversation: str, **arguments: Any) -> str:
    answer = ok(client.post(f"/conversations/{conversation}/tools/memory", json={"arguments": arguments}))
    assert not answer["is_error"], answer
    return str(answer["content"])


def kept(client: httpx.Client, **query: Any) -> list[Any]:
    items = ok(client.get("/memories", params=query))["items"]
    wanted = ("memory_key", "content_preview", "key", "pinned", "status", "scope", "valid_from", "valid_to", "quote")
    return sorted(([one[name] for name in wanted] for one in items), key=str)


def everything(client: httpx.Client) -> list[Any]:
    queries: tuple[Json, ...] = ({}, {"status": "proposed"}, {"scope": "space:team"})
    return [kept(client, user_id="ann", **query) for query in queries]


def fill(client: httpx.Client) -> None:
    space(client, "team", ann="write", bob="read")
    ok(client.patch("/spaces/team", json={"participants": {"Annie": "ann"}}))
    remember(client, "Lives in Berlin.", user_id="ann", key="home", valid_from="2020-01-01T00:00:00Z")
    remember(client, "Lives in Porto.", user_id="ann", key="home", valid_from="2024-01-01T00:00:00Z", pinned=True)
    append(client, "anns", [user("Call me Annie. I prefer aisle seats.")], user_id="ann")
    append(client, "talk", [user("We never deploy on Fridays.", name="Annie")], user_id=None, space_id="team")
    remember(client, "We deploy on Tuesdays.", scope="space:team", pinned=True, key="deploys")
    for conversation in ("anns", "talk"):
        tool(client, conversation, command="create", path="/memories/a.md", file_text="first\n")
        tool(client, conversation, command="str_replace", path="/memories/a.md", old_str="first", new_str="second")
        tool(client, conversation, command="create", path="/memories/b/c.md", file_text="gone")
        tool(client, conversation, command="delete", path="/memories/b/c.md")


def test_an_export_of_a_user_and_a_space_comes_back_once(client: httpx.Client) -> None:
    fill(client)
    told = [lines(client, f"/{of}/export") for of in FORGET]
    before = [
        kept(client, user_id="ann"),
        kept(client, user_id="ann", status="proposed"),
        kept(client, scope="space:team"),
    ]
    for of in reversed(FORGET):
        ok(client.delete(f"/{of}"))
    assert kept(client, user_id="ann") == []

    first = [put_in(client, text) for text in reversed(told)]
    again = [put_in(client, text) for text in reversed(told)]

    for done in first:
        assert done["imported"]["memory_files"] == 1
        assert done["matched"].get("memory_files", 0) == 0
    assert [done["imported"] for done in again] == [{}, {}]
    now = [
        kept(client, user_id="ann"),
        kept(client, user_id="ann", status="proposed"),
        kept(client, scope="space:team"),
    ]
    assert now == before
    assert [lines(client, f"/{of}/export") for of in FORGET] == told
    for conversation in ("anns", "talk"):
        assert "second" in tool(client, conversation, command="view", path="/memories/a.md")
    members = {one["user_id"]: one["right"] for one in ok(client.get("/spaces/team/members"))["items"]}
    assert (members, ok(client.get("/spaces/team"))["participants"]) == (
        {"ann": "write", "bob": "read"},
        {"Annie": "ann"},
    )


def test_a_file_is_not_taken_from_another_user_and_a_wrong_line_is_named(client: httpx.Client) -> None:
    fill(client)
    told = [json.loads(line) for line in lines(client, "/users/ann/export").splitlines()]
    file = next(line for line in told if line["type"] == "memory_file")
    head = told[0]

    def sent(*some: Json, **more: Any) -> httpx.Response:
        text = "\n".join(map(json.dumps, [head, *some]))
        return client.post("/import", content=text, headers={"content-type": "application/x-ndjson", **more})

    problem(sent({**file, "user_id": "bob"}), 409, "id")
    problem(sent({**file, "id": "01a2011c-bd43-7af3-947d-f765a2581a4a", "path": "/../b"}), 422, "path")
    problem(sent({**file, "content": "x" * 102_401}), 422, "content")
    problem(sent({**file, "id": "01a2011c-bd43-7af3-947d-f765a2581a4b"}), 409, "path")
    problem(sent({**file, "user_id": None}), 422, "user_id")
    problem(sent(file, **as_("bob")), 403)
    assert '"second' in lines(client, "/users/ann/export")


def test_files_of_the_memory_tool_go_with_their_space_or_their_conversation(client: httpx.Client) -> None:
    space(client, "team", ann="write")
    created(client, id="talk", space_id="team")
    created(client, id="nobodys")
    for conversation in ("talk", "nobodys"):
        tool(client, conversation, command="create", path="/memories/a.md", file_text="secret")
    ok(client.delete("/spaces/team"))
    space(client, "team", ann="write")
    created(client, id="talk", space_id="team")
    ok(client.delete("/conversations/nobodys"))
    created(client, id="nobodys")
    for conversation in ("talk", "nobodys"):
        assert "a.md" not in tool(client, conversation, command="view", path="/memories")
