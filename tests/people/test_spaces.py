"""A space shares memory among its members, and with nobody else."""

from collections.abc import AsyncIterator
from typing import Any

import asyncpg
import httpx
import pytest

from app.core.scope import Scope
from app.postgres.database import Database
from app.postgres.sight import narrow
from app.postgres.tenants import DEFAULT_TENANT
from tests.api.kit import Json, append, created, ok, path, problem, user, window

pytestmark = pytest.mark.anyio

FERRY = "The ferry to Grado leaves at 7:40."


def as_(name: str) -> dict[str, str]:
    return {"X-Quire-User": name}


def space(client: httpx.Client, space_id: str = "team", **members: str) -> Json:
    return ok(client.post("/spaces", json={"id": space_id, "members": members or {"ann": "write", "bob": "read"}}), 201)


def put(client: httpx.Client, name: str, right: str, **more: Any) -> httpx.Response:
    return client.put(f"/spaces/team/members/{name}", json={"right": right}, **more)


def searched(client: httpx.Client, query: str = "ferry", headers: dict[str, str] | None = None, **body: Any) -> Json:
    return ok(client.post("/memories/search", json={"query": query, **body}, headers=headers))


def found(client: httpx.Client, query: str = "ferry", headers: dict[str, str] | None = None, **body: Any) -> list[str]:
    return [one["content_preview"].replace("**", "") for one in searched(client, query, headers, **body)["results"]]


def test_a_space_is_made_listed_changed_and_erased(client: httpx.Client) -> None:
    made = space(client)
    assert (made["id"], made["participants"], made["metadata"]) == ("team", {}, {})
    problem(client.post("/spaces", json={"id": "team"}), 409, "id")
    space(client, "other", eve="write")
    assert [one["id"] for one in ok(client.get("/spaces"))["items"]] == ["other", "team"]
    assert [one["id"] for one in ok(client.get("/spaces", headers=as_("bob")))["items"]] == ["team"]
    first = ok(client.get("/spaces", params={"limit": 1}))
    again = ok(client.get("/spaces", params={"limit": 1, "cursor": first["next_cursor"]}))
    assert [one["id"] for one in again["items"]] == ["team"]
    changed = ok(client.patch("/spaces/team", json={"name": "The team", "participants": {"Bobby": "bob"}}))
    assert (changed["name"], changed["participants"]) == ("The team", {"Bobby": "bob"})
    append(client, "talk", [user(FERRY)], user_id=None, space_id="team")
    erased = ok(client.delete("/spaces/team"))["erased"]
    assert (erased["conversations"], erased["messages"], erased["space_members"], erased["spaces"]) == (1, 1, 2, 1)
    problem(client.get("/spaces/team"), 404)
    problem(client.get(path("talk")), 404)


def test_members_are_listed_and_the_last_writer_stays(client: httpx.Client) -> None:
    space(client)
    rights = {one["user_id"]: one["right"] for one in ok(client.get("/spaces/team/members"))["items"]}
    assert rights == {"ann": "write", "bob": "read"}
    problem(client.delete("/spaces/team/members/ann"), 409)
    problem(put(client, "ann", "read"), 409)
    assert ok(put(client, "bob", "write"))["right"] == "write"
    assert ok(client.delete("/spaces/team/members/ann"))["user_id"] == "ann"
    problem(client.delete("/spaces/team/members/ann"), 404)
    [bob] = ok(client.get("/spaces/team/members"))["items"]
    assert (bob["user_id"], bob["right"]) == ("bob", "write")


def test_who_is_no_member_sees_no_space_and_who_reads_cannot_write(client: httpx.Client) -> None:
    space(client)
    append(client, "talk", [user(FERRY)], user_id=None, space_id="team")
    for answer in (
        client.get("/spaces/team", headers=as_("eve")),
        client.get("/spaces/team/members", headers=as_("eve")),
        client.patch("/spaces/team", json={"name": "mine"}, headers=as_("eve")),
        client.delete("/spaces/team", headers=as_("eve")),
        put(client, "eve", "write", headers=as_("eve")),
        client.get(path("talk"), headers=as_("eve")),
        client.get(path("talk", "context"), headers=as_("eve")),
        client.get(path("talk", "messages"), headers=as_("eve")),
        client.post(path("talk", "messages"), json={"messages": [user()]}, headers=as_("eve")),
        client.post("/conversations", json={"space_id": "team"}, headers=as_("eve")),
        client.post("/memories", json={"content": "x", "scope": "space:team"}, headers=as_("eve")),
        client.post("/memories/search", json={"query": "ferry", "scopes": ["space:team"]}, headers=as_("eve")),
        client.get("/memories", params={"scope": "space:team"}, headers=as_("eve")),
    ):
        assert answer.json() == {**answer.json(), "status": 404}, answer.request.url
    unknown = client.get("/spaces/none", headers=as_("eve")).json()
    foreign = client.get("/spaces/team", headers=as_("eve")).json()
    assert {**unknown, "request_id": ""} == {**foreign, "request_id": ""}
    for answer in (
        client.patch("/spaces/team", json={"name": "mine"}, headers=as_("bob")),
        put(client, "eve", "write", headers=as_("bob")),
        client.post(path("talk", "messages"), json={"messages": [user()]}, headers=as_("bob")),
        client.post("/conversations", json={"space_id": "team"}, headers=as_("bob")),
        client.post("/memories", json={"content": "x", "scope": "space:team"}, headers=as_("bob")),
        client.delete(path("talk"), headers=as_("bob")),
    ):
        problem(answer, 403)
    assert "Grado" in str(ok(client.get(path("talk", "context"), headers=as_("bob")))["messages"])
    ok(client.post(path("talk", "messages"), json={"messages": [user("noted")]}, headers=as_("ann")), 201)
    assert ok(client.get(path("talk")))["messages"] == 2


def test_a_search_looks_into_what_its_user_may_view_and_says_where_it_found_it(client: httpx.Client) -> None:
    space(client)
    append(client, "talk", [user(FERRY)], user_id=None, space_id="team")
    append(client, "anns", [user("Ann's own ferry is the night ferry.")], user_id="ann")
    results = searched(client, user_id="ann")["results"]
    assert {one["conversation_id"]: one["scope"] for one in results} == {"talk": "space:team", "anns": "user"}
    assert found(client, user_id="ann", scopes=["user"]) == ["Ann's own ferry is the night ferry."]
    assert found(client, user_id="ann", scopes=["space:team"]) == [FERRY]
    assert found(client, headers=as_("bob")) == [FERRY]
    assert found(client, headers=as_("eve")) == []
    assert found(client, conversation_id="talk") == [FERRY]
    assert found(client, scopes=["space:team"]) == [FERRY]
    problem(client.post("/memories/search", json={"query": "x", "user_id": "ann", "scopes": ["space:no"]}), 404)
    problem(client.post("/memories/search", json={"query": "x", "user_id": "ann", "scopes": ["all"]}), 422, "scopes")
    problem(client.post("/memories/search", json={"query": "x", "user_id": "ann", "scopes": ["conversation"]}), 422)


def test_a_memory_of_a_space_is_its_members(client: httpx.Client) -> None:
    space(client)
    made = ok(client.post("/memories", json={"content": FERRY, "scope": "space:team"}, headers=as_("ann")), 201)
    assert made["scope"] == "space:team"
    at = f"/memories/{made['memory_key']}"
    assert ok(client.get(at, headers=as_("bob")))["content"] == FERRY
    assert [one["scope"] for one in ok(client.get("/memories", params={"user_id": "bob"}))["items"]] == ["space:team"]
    problem(client.get(at, headers=as_("eve")), 404)
    problem(client.patch(at, json={"content": "no"}, headers=as_("bob")), 403)
    problem(client.delete(at, headers=as_("bob")), 403)
    problem(client.delete(at, headers=as_("eve")), 404)
    assert ok(client.patch(at, json={"content": "It leaves at eight."}, headers=as_("ann")))["scope"] == "space:team"
    assert ok(client.delete(at, headers=as_("ann")))["erased"]["memories"] == 1


def test_a_space_named_like_a_user_is_another_scope(client: httpx.Client) -> None:
    space(client, "ann", bob="write")
    append(client, "team", [user(FERRY)], user_id=None, space_id="ann")
    append(client, "own", [user("Ann has no ferry.")], user_id="ann")
    assert found(client, user_id="ann") == ["Ann has no ferry."]
    assert found(client, user_id="bob") == [FERRY]


def test_a_group_never_views_a_members_own_memory(client: httpx.Client) -> None:
    space(client)
    append(client, "anns", [user("Call me Annie. Always answer in French. My ferry code is 7781.")], user_id="ann")
    ok(client.post("/memories", json={"user_id": "ann", "content": "Her ferry is at nine.", "pinned": True}), 201)
    append(client, "talk", [user("hello, when is the ferry?")], user_id=None, space_id="team")
    for text in (
        str(window(client, "talk", query="ferry code")["messages"]),
        str(ok(client.post(path("talk", "tools", "search_memories"), json={"arguments": {"query": "ferry code"}}))),
        str(ok(client.post(path("talk", "tools", "grep_memories"), json={"arguments": {"pattern": "ferry"}}))),
    ):
        assert not any(private in text for private in ("Annie", "French", "7781", "nine")), text
    problem(
        client.post("/memories/search", json={"query": "x", "conversation_id": "talk", "scopes": ["user"]}),
        422,
        "scopes",
    )


def test_a_users_conversation_reads_the_spaces_it_names(client: httpx.Client) -> None:
    space(client)
    append(client, "talk", [user(FERRY)], user_id=None, space_id="team")
    pinned = {"content": "Say ship, not boat.", "scope": "space:team", "pinned": True}
    ok(client.post("/memories", json=pinned), 201)
    ok(client.post("/memories", json={"user_id": "ann", "content": "Be brief.", "pinned": True}), 201)
    created(client, id="reads", user_id="ann", spaces=["team"])
    created(client, id="alone", user_id="ann")
    for name in ("reads", "alone"):
        append(client, name, [user("When does the ferry leave?")], user_id=None)
        ok(client.post(path(name, "notes"), json={"text": "Only here."}), 201)
    shown = str(window(client, "reads", query="When does the ferry leave?")["messages"])
    assert shown.index("Say ship") < shown.index("Be brief.") < shown.index("Only here.")
    assert "7:40" in shown
    assert "Say ship" not in str(window(client, "alone")["messages"])
    tool = path("alone", "tools", "search_memories")
    assert "7:40" not in str(ok(client.post(tool, json={"arguments": {"query": "ferry leaves"}})))
    tool = path("reads", "tools", "search_memories")
    assert "7:40" in str(ok(client.post(tool, json={"arguments": {"query": "ferry leaves"}})))
    problem(client.post("/conversations", json={"user_id": "eve", "spaces": ["team"]}), 404)
    problem(client.post("/conversations", json={"spaces": ["team"]}), 422, "spaces")
    problem(client.post("/conversations", json={"user_id": "ann", "space_id": "team"}), 422, "user_id")


def test_a_removed_member_sees_nothing_from_the_next_request_on(client: httpx.Client, other: httpx.Client) -> None:
    space(client)
    append(client, "talk", [user(FERRY)], user_id=None, space_id="team")
    ok(client.post("/memories", json={"content": "Say ship.", "scope": "space:team", "pinned": True}), 201)
    created(client, id="bobs", user_id="bob", spaces=["team"])
    append(client, "bobs", [user("hello")], user_id=None)
    for one in (client, other):
        assert "Say ship" in str(window(one, "bobs")["messages"])
        assert found(one, headers=as_("bob")) == [FERRY]
        assert "7:40" in str(ok(one.get(path("talk", "context"), headers=as_("bob"))))
    assert ok(client.delete("/spaces/team/members/bob"))["conversations"] == 1
    for one in (other, client):
        assert found(one, headers=as_("bob")) == []
        problem(one.get(path("talk", "context"), headers=as_("bob")), 404)
        problem(one.post(path("talk", "messages"), json={"messages": [user()]}, headers=as_("bob")), 404)
        assert "Say ship" not in str(window(one, "bobs")["messages"])
        assert "7:40" not in str(window(one, "bobs", query="When does the ferry leave?")["messages"])


def test_a_participant_is_a_member_and_a_name_stands_for_one(client: httpx.Client) -> None:
    space(client)
    problem(client.patch("/spaces/team", json={"participants": {"Sam": "ann", "sam": "bob"}}), 422, "sam")
    problem(client.patch("/spaces/team", json={"participants": {"Sam": ["ann", "bob"]}}), 422, "participants")
    problem(client.patch("/spaces/team", json={"participants": {"Eve": "eve"}}), 422, "Eve")
    assert ok(client.get("/spaces/team"))["participants"] == {}


def test_a_sub_agent_reads_what_its_parent_shares_and_tells_nobody(client: httpx.Client) -> None:
    ok(client.post("/memories", json={"user_id": "ann", "content": "Be brief.", "pinned": True}), 201)
    append(client, "parent", [user(FERRY)], user_id="ann")
    for shares in ("none", "read", "write"):
        made = created(client, id=shares, parent="parent", shares=shares)
        assert (made["user_id"], made["parent"]) == ("ann", "parent")
        append(client, shares, [user(f"Call me {shares.title()}. I always drink {shares} tea.")], user_id=None)
    reads = {name: str(window(client, name, query="When does the ferry leave?")) for name in ("none", "read", "write")}
    assert ["Be brief." in reads[name] and "7:40" in reads[name] for name in reads] == [False, True, True]
    teas = " ".join(found(client, "who drinks tea", user_id="ann", min_relevance_score=0))
    assert ["none tea" in teas, "read tea" in teas, "write tea" in teas] == [False, False, True]
    held = ok(client.get("/memories", params={"user_id": "ann"}))["items"]
    proposed = ok(client.get("/memories", params={"user_id": "ann", "status": "proposed"}))["items"]
    assert [one["content_preview"] for one in held + proposed] == ["Be brief."]
    assert "tea" in str(ok(client.get(path("none", "context"), headers=as_("ann"))))
    problem(client.get(path("none", "context"), headers=as_("eve")), 404)
    problem(client.post("/conversations", json={"parent": "parent"}, headers=as_("eve")), 404)
    problem(client.post("/conversations", json={"parent": "parent", "user_id": "eve"}), 422, "user_id")


def test_a_memory_of_a_conversation_is_found_by_its_user(client: httpx.Client) -> None:
    append(client, "c", [user("hello")], user_id="ann")
    body = {"conversation_id": "c", "scope": "conversation", "content": FERRY}
    made = ok(client.post("/memories", json=body), 201)
    [one] = searched(client, user_id="ann")["results"]
    assert (one["memory_key"], one["scope"]) == (made["memory_key"], "conversation")
    assert found(client, user_id="eve") == []


@pytest.fixture
async def strangers_count(database: Database) -> AsyncIterator[None]:
    yield
    narrow(None)


async def test_a_strangers_count_is_nothing(client: httpx.Client, database: Database, strangers_count: None) -> None:
    space(client)
    append(client, "talk", [user(FERRY)], user_id=None, space_id="team")
    append(client, "anns", [user("Ann has a ferry.")], user_id="ann")
    counts = []
    for name in (None, "ann", "bob", "eve"):
        narrow(None if name is None else Scope("user", name))
        async with database.snapshot(DEFAULT_TENANT) as tx:
            counts.append(await tx.connection.fetchval("SELECT count(*) FROM memories"))
    assert counts == [2, 2, 1, 0]
    for copy in (
        "unembedded (tenant_id, owner, memory_id) VALUES ($1, $2, gen_random_uuid())",
        "listed (tenant_id, owner, memory_id, model, list, embedding) VALUES ($1, $2, $2, $2, 1, '[1]')",
        "postings (tenant_id, owner, memory_id, term) VALUES ($1, $2, gen_random_uuid(), 1)",
        "search_indexes (tenant_id, owner, model, centroids) VALUES ($1, $2, gen_random_uuid(), '{}')",
    ):
        with pytest.raises(asyncpg.InsufficientPrivilegeError):  # nor can a stranger put anything in another's scope
            async with database.begin(DEFAULT_TENANT) as tx:
                await tx.execute(f"INSERT INTO {copy}", Scope("user", "ann").owner)


def test_a_write_sent_twice_is_done_once_and_limits_are_said(client: httpx.Client) -> None:
    space(client)
    once = {"Idempotency-Key": "one"}
    first = ok(put(client, "cat", "read", headers=once))
    assert ok(put(client, "cat", "read", headers=once)) == first
    removed = {"Idempotency-Key": "two"}
    gone = ok(client.delete("/spaces/team/members/cat", headers=removed))
    assert ok(client.delete("/spaces/team/members/cat", headers=removed)) == gone
    many = {f"user{number}": "read" for number in range(999)}
    ok(client.post("/spaces", json={"id": "large", "members": {**many, "ann": "write"}}), 201)
    problem(client.put("/spaces/large/members/more", json={"right": "read"}), 409)
    problem(client.post("/spaces", json={"members": {**many, "a": "write", "b": "read"}}), 422, "members")
    problem(client.post("/spaces", json={"members": {"ann": "read"}}), 422, "members")
    problem(client.put("/spaces/team/members/x", json={"right": "own"}), 422, "right")
    problem(client.put("/spaces/team/members/%07", json={"right": "read"}), 422, "user")


def test_a_model_remembers_what_a_person_said_and_proposes_the_rest(client: httpx.Client) -> None:
    append(client, "c", [user("My locker at the harbour is number 214.")], user_id="ann")
    tool = path("c", "tools", "remember")
    for content, key in (("My locker at the harbour is number 214.", None), ("Ann wants all mail forwarded.", "mail")):
        arguments = {"content": content, **({"key": key} if key else {})}
        assert not ok(client.post(tool, json={"arguments": arguments}))["is_error"]
    held = ok(client.get("/memories", params={"user_id": "ann"}))["items"]
    assert [one["content_preview"] for one in held] == ["My locker at the harbour is number 214."]
    [proposed] = ok(client.get("/memories", params={"user_id": "ann", "status": "proposed"}))["items"]
    assert (proposed["key"], proposed["pinned"], proposed["source"]) == ("mail", False, "tool")
    ok(client.patch(f"/memories/{proposed['memory_key']}", json={"status": "held"}))
    assert len(ok(client.get("/memories", params={"user_id": "ann"}))["items"]) == 2
    assert ok(client.post(tool, json={"arguments": {"content": "x", "key": "../x"}}))["is_error"]
    space(client)
    append(client, "talk", [user(FERRY)], user_id=None, space_id="team")
    said = {"arguments": {"content": FERRY}}
    problem(client.post(path("talk", "tools", "remember"), json=said, headers=as_("bob")), 403)
    ok(client.post(path("talk", "tools", "remember"), json=said, headers=as_("ann")))
    assert FERRY in [one["content_preview"] for one in ok(client.get("/memories", headers=as_("bob")))["items"]]


def test_a_space_is_taken_out_and_put_in_again(client: httpx.Client) -> None:
    space(client)
    ok(client.patch("/spaces/team", json={"name": "The team", "participants": {"Bobby": "bob"}}))
    append(client, "talk", [user(FERRY)], user_id=None, space_id="team")
    kept = {"content": "Say ship, not boat.", "scope": "space:team", "pinned": True, "key": "words"}
    ok(client.post("/memories", json=kept), 201)
    lines = client.get("/spaces/team/export", headers=as_("bob"))
    assert client.get("/spaces/team/export", headers=as_("eve")).status_code == 404
    sent: Any = {"content": lines.content, "headers": {"content-type": "application/x-ndjson"}}
    assert ok(client.post("/import", **sent))["imported"] == {}
    ok(client.delete("/spaces/team"))
    imported = ok(client.post("/import", **sent))["imported"]
    assert {name: count for name, count in imported.items() if count} == {
        "spaces": 1,
        "conversations": 1,
        "messages": 1,
        "memories": 1,
    }
    assert ok(client.get("/spaces/team"))["participants"] == {"Bobby": "bob"}
    assert sorted(found(client, "ferry", headers=as_("bob"))) == [FERRY]
    assert client.get("/spaces/team/export").content == lines.content
    append(client, "next", [user("hello")], user_id=None, space_id="team")
    assert "Say ship" in str(window(client, "next")["messages"])


def test_what_nobody_accepted_comes_into_no_window_and_what_was_refused_is_not_found(client: httpx.Client) -> None:
    append(client, "c", [user("hello")], user_id="ann")
    arguments = {"content": "The vault's code is QX-7714."}
    assert not ok(client.post(path("c", "tools", "remember"), json={"arguments": arguments}))["is_error"]
    question = {"role": "user", "content": "What is the vault's code?"}
    append(client, "d", [question], user_id="ann")
    for query in ({}, {"query": question["content"]}):
        assert "7714" not in str(ok(client.get(path("d", "context"), params=query))["messages"])
    [proposed] = ok(client.get("/memories", params={"user_id": "ann", "status": "proposed"}))["items"]
    search = {"user_id": "ann", "query": question["content"]}
    at = f"/memories/{proposed['memory_key']}"
    ok(client.patch(at, json={"status": "refused"}))
    assert "7714" not in str(ok(client.post("/memories/search", json=search))["results"])


def test_what_somebody_accepted_comes_into_windows(client: httpx.Client) -> None:
    append(client, "c", [user("hello")], user_id="ann")
    arguments = {"content": "The vault's code is QX-7714."}
    ok(client.post(path("c", "tools", "remember"), json={"arguments": arguments}))
    [proposed] = ok(client.get("/memories", params={"user_id": "ann", "status": "proposed"}))["items"]
    ok(client.patch(f"/memories/{proposed['memory_key']}", json={"status": "held"}))
    append(client, "d", [user("What is the vault's code?")], user_id="ann")
    assert "7714" in str(ok(client.get(path("d", "context")))["messages"])
