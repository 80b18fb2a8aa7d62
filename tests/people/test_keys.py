"""Memories with a key: the latest value holds, its history is kept, and a person accepts what was proposed."""

import random
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
import pytest

from tests.api.kit import Json, append, ok, path, problem, user, window

DAY = "2026-{:02}-{:02}T00:00:00Z"
COLUMNS = "SELECT column_name FROM information_schema.columns WHERE table_name = 'memories' ORDER BY 1"
LATER = {
    "id": "gen_random_uuid()", "content": "'v' || n", "valid_from": "valid_from + n * interval '1 hour'",
    "former": "n < 9999",
}  # fmt: skip
"""What is different in the n-th version of a memory."""


def store(client: httpx.Client, content: str, **more: Any) -> Json:
    return ok(client.post("/memories", json={"user_id": "u", "content": content, **more}), 201)


def listed(client: httpx.Client, **query: Any) -> list[str]:
    items = ok(client.get("/memories", params={"user_id": "u", **query}))["items"]
    return [one["content_preview"] for one in items]


def head(client: httpx.Client, conversation: str) -> str:
    sent = (str(message["content"]) for message in window(client, conversation)["messages"])
    return "".join(text for text in sent if text.startswith("<quire-memory>"))


def test_the_latest_value_holds_whenever_it_is_told(client: httpx.Client) -> None:
    store(client, "Lives in Porto", key="home", valid_from=DAY.format(5, 1))
    store(client, "Lives in Berlin", key="home", valid_from=DAY.format(1, 1))
    newest = store(client, "Lives in Lima", key="home", valid_from=DAY.format(9, 1))
    assert listed(client, key="home") == ["Lives in Lima"]
    for day, home in ((DAY.format(2, 1), "Berlin"), (DAY.format(6, 1), "Porto"), (DAY.format(10, 1), "Lima")):
        assert listed(client, key="home", as_of=day) == [f"Lives in {home}"]
    assert listed(client, key="home", as_of="2025-01-01T00:00:00Z") == []
    versions = ok(client.get(f"/memories/{newest['memory_key']}/versions"))["items"]
    assert [(one["content"][9:], one["valid_from"], one["valid_to"]) for one in versions] == [
        ("Lima", DAY.format(9, 1), None),
        ("Porto", DAY.format(5, 1), DAY.format(9, 1)),
        ("Berlin", DAY.format(1, 1), DAY.format(5, 1)),
    ]
    found = ok(client.get("/memories/search", params={"user_id": "u", "query": "where lives"}))["results"]
    assert [one["content_preview"].replace("**", "") for one in found] == ["Lives in Lima"]


def test_versions_come_page_by_page(client: httpx.Client) -> None:
    made = [store(client, f"value {day}", key="k", valid_from=DAY.format(1, day)) for day in range(1, 8)]
    at, seen, cursor = f"/memories/{made[-1]['memory_key']}/versions", list[Json](), None
    while True:
        found = ok(client.get(at, params={"limit": 3, **({"cursor": cursor} if cursor else {})}))
        seen += found["items"]
        if (cursor := found["next_cursor"]) is None:
            break
    assert [one["content"] for one in seen] == [f"value {day}" for day in range(7, 0, -1)]
    assert [one["valid_to"] for one in seen[1:]] == [one["valid_from"] for one in seen[:-1]]


def test_eight_writers_in_any_order_leave_the_latest(client: httpx.Client) -> None:
    days = [(month, day) for month in (1, 2) for day in range(1, 13)]
    random.Random(1).shuffle(days)
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda at: store(client, f"value {at}", key="k", valid_from=DAY.format(*at)), days))
    assert listed(client, key="k") == ["value (2, 12)"]
    found = ok(client.get("/memories/search", params={"user_id": "u", "query": "value", "limit": 50}))["results"]
    assert [one["content_preview"].replace("**", "") for one in found] == ["value (2, 12)"]
    assert listed(client, key="k", as_of=DAY.format(1, 5)) == ["value (1, 5)"]


NAMES = ("Ann", "Bob", "Cleo", "Dan", "Eva", "Finn", "Gina", "Hugo", "Ida", "Jan", "Kim", "Lin", "Mei", "Nora", "Otto")
NOT_ONE_VALUE = """
SELECT key FROM memories WHERE key IS NOT NULL AND status = 'held' GROUP BY holder, key
HAVING count(*) FILTER (WHERE NOT former) <> 1
"""


def test_writers_at_the_same_microsecond_leave_one_value_and_lose_none(
    client: httpx.Client, run_as_superuser: Any
) -> None:
    def write(turn: int) -> None:
        if turn % 2:
            store(client, f"Call me {NAMES[turn]}.", key="name", valid_from=DAY.format(3, 1))
        else:
            append(client, f"c{turn}", [user(f"Call me {NAMES[turn]}.", said_at=DAY.format(3, 1))])

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(write, range(len(NAMES))))
    assert run_as_superuser(NOT_ONE_VALUE) == []
    [value] = listed(client, key="name")
    [item] = ok(client.get("/memories", params={"user_id": "u", "key": "name"}))["items"]
    versions = ok(client.get(f"/memories/{item['memory_key']}/versions"))["items"]
    assert (len(versions), versions[0]["content"]) == (len(NAMES), value)
    assert {one["content"] for one in versions} == {f"Call me {name}." for name in NAMES}


def test_an_erased_value_leaves_its_key_one_that_has_ended(client: httpx.Client, run_as_superuser: Any) -> None:
    store(client, "Lives in Berlin", key="home", valid_from=DAY.format(1, 1))
    porto = store(client, "Lives in Porto", key="home", valid_from=DAY.format(5, 1))
    ok(client.delete(f"/memories/{porto['memory_key']}"))
    assert listed(client, key="home") == listed(client, key="home", as_of=DAY.format(6, 1)) == []
    assert listed(client, key="home", as_of=DAY.format(2, 1)) == ["Lives in Berlin"]
    assert run_as_superuser(NOT_ONE_VALUE) == []
    store(client, "Lives in Lima", key="home")
    assert listed(client, key="home") == ["Lives in Lima"]


def test_a_value_told_ahead_of_its_time_takes_nothing_from_search(client: httpx.Client) -> None:
    store(client, "Lives in Porto", key="home")
    store(client, "Lives in Lima", key="home", valid_from="2099-01-01T00:00:00Z")
    assert listed(client, key="home") == ["Lives in Porto"]
    found = ok(client.get("/memories/search", params={"user_id": "u", "query": "Porto"}))["results"]
    assert [one["content_preview"].replace("**", "") for one in found] == ["Lives in Porto"]


def test_values_never_replace_across_keys_scopes_and_users(client: httpx.Client) -> None:
    append(client, "c", [user("hello")])
    store(client, "A", key="one")
    store(client, "B", key="two")
    store(client, "C", key="one", user_id="v")
    store(client, "D", key="one", conversation_id="c", scope="conversation")
    assert sorted(listed(client)) == ["A", "B"]
    assert listed(client, conversation_id="c", scope="conversation") == ["D"]


def test_a_correction_is_in_the_next_window_and_its_erasure_revives_nothing(client: httpx.Client) -> None:
    made = store(client, "Call me Lin", key="name", pinned=True)
    append(client, "c", [user("hello")])
    assert "Call me Lin" in head(client, "c")
    at = f"/memories/{made['memory_key']}"
    changed = ok(client.patch(at, json={"content": "Call me Mei"}))
    assert (changed["memory_key"], changed["content"], changed["pinned"]) == (made["memory_key"], "Call me Mei", True)
    assert "Mei" in head(client, "c")
    assert "Lin" not in head(client, "c")
    assert [one["content"] for one in ok(client.get(f"{at}/versions"))["items"]] == ["Call me Mei", "Call me Lin"]
    ok(client.delete(at))
    assert head(client, "c") == ""
    assert listed(client, key="name") == []


def test_a_proposal_is_accepted_or_refused_and_not_proposed_again(client: httpx.Client) -> None:
    append(client, "a", [user("I prefer aisle seats. I prefer green tea.")])
    append(client, "c", [user("hello")])
    assert head(client, "c") == ""
    asked = ok(client.get("/memories", params={"user_id": "u", "status": "proposed"}))["items"]
    by_text = {one["content_preview"]: one["memory_key"] for one in asked}
    ok(client.patch(f"/memories/{by_text['I prefer aisle seats.']}", json={"status": "held"}))
    ok(client.patch(f"/memories/{by_text['I prefer green tea.']}", json={"status": "refused"}))
    append(client, "b", [user("I prefer green tea.")])
    assert listed(client, status="proposed") == []
    assert "aisle" in head(client, "b")
    assert "tea" not in head(client, "b")


def test_an_ended_and_a_refused_memory_leave_every_process_at_once(client: httpx.Client, other: httpx.Client) -> None:
    made = [store(client, text, pinned=True)["memory_key"] for text in ("Be brief", "Be kind", "Be bold")]
    append(client, "c", [user("hello")])
    assert all(word in head(other, "c") for word in ("brief", "kind", "bold"))
    ok(client.patch(f"/memories/{made[0]}", json={"valid_to": "2099-01-01T00:00:00Z"}))
    assert "brief" in head(other, "c")
    ok(client.patch(f"/memories/{made[1]}", json={"status": "refused"}))
    ok(client.patch(f"/memories/{made[2]}", json={"pinned": False}))
    for one in (other, client):
        assert "kind" not in head(one, "c")
        assert "bold" not in head(one, "c")
        assert "brief" in head(one, "c")


@pytest.mark.parametrize(
    ("body", "name"),
    [
        ({"key": "a/../b"}, "key"),
        ({"key": "a\u202eb"}, "key"),
        ({"key": "1/2/3/4/5/6/7/8/9"}, "key"),
        ({"key": "e\u0301"}, "key"),
        ({"valid_from": DAY.format(2, 1), "valid_to": DAY.format(1, 1)}, "valid_to"),
        ({"content": "x" * 2001, "pinned": True}, "content"),
        ({"scope": "conversation"}, "conversation_id"),
        ({"scope": "planet"}, "scope"),
    ],
)
def test_what_cannot_be_kept_is_named_and_not_stored(client: httpx.Client, body: Json, name: str) -> None:
    sent = {"user_id": "u", "content": "x", **body}
    problem(client.post("/memories", json=sent), 422, name)
    assert listed(client) == []


def test_changes_that_cannot_be_are_named(client: httpx.Client) -> None:
    made = store(client, "Be brief", pinned=True, valid_from=DAY.format(5, 1))
    at = f"/memories/{made['memory_key']}"
    problem(client.patch(at, json={}), 422, "change")
    problem(client.patch(at, json={"valid_to": DAY.format(4, 1)}), 422, "valid_to")
    problem(client.patch(at, json={"content": "x" * 2001}), 422, "content")
    problem(client.patch(at, json={"status": "proposed"}), 422, "status")
    problem(client.patch("/memories/00000000-0000-7000-8000-000000000001", json={"status": "held"}), 404)
    assert listed(client) == ["Be brief"]


def test_a_patch_that_is_sent_twice_is_done_once(client: httpx.Client) -> None:
    made = store(client, "v1", key="k")
    at, key = f"/memories/{made['memory_key']}", {"Idempotency-Key": "once"}
    first = ok(client.patch(at, json={"content": "v2"}, headers=key))
    assert ok(client.patch(at, json={"content": "v2"}, headers=key)) == first
    assert len(ok(client.get(f"{at}/versions"))["items"]) == 2


def test_an_export_and_its_import_keep_what_is_in_mind(client: httpx.Client) -> None:
    append(client, "a", [user("Call me Lin. I prefer aisle seats.")])
    store(client, "Be brief", pinned=True)
    append(client, "c", [user("hello")])
    before = (head(client, "c"), sorted(listed(client)), listed(client, status="proposed"))
    exported = client.get("/users/u/export").content
    ok(client.delete("/users/u"))
    for _ in range(2):
        answer = client.post("/import", content=exported, headers={"content-type": "application/x-ndjson"})
        assert answer.is_success, answer.text
        assert (sorted(listed(client)), listed(client, status="proposed")) == before[1:]
    append(client, "d", [user("hello")])
    assert head(client, "d") == before[0]


@pytest.mark.parametrize(
    "key", ["..", "a/./b", "/a", "a/", "a//b", "a\x07b", "\u2066a", "a\u200fb", " a", "x" * 257, ""]
)
def test_keys_that_are_no_paths_are_named_wherever_they_are_sent(client: httpx.Client, key: str) -> None:
    problem(client.post("/memories", json={"user_id": "u", "content": "x", "key": key}), 422, "key")
    problem(client.get("/memories", params={"user_id": "u", "key": key}), 422, "key")
    append(client, "c", [user("hello")])
    arguments = {"content": "hello", "key": key}
    if key:
        assert ok(client.post(path("c", "tools", "remember"), json={"arguments": arguments}))["is_error"]
    assert listed(client) == []


@pytest.mark.slow
def test_a_key_with_many_versions_is_paged_and_its_latest_holds(client: httpx.Client, run_as_superuser: Any) -> None:
    first = store(client, "v0", key="k", pinned=True, valid_from="2000-01-01T00:00:00Z")
    columns = [row["column_name"] for row in run_as_superuser(COLUMNS)]
    copied = ", ".join(LATER.get(column, column) for column in columns)
    versions = f"SELECT {copied} FROM memories, generate_series(1, 9999) n"
    run_as_superuser("UPDATE memories SET former = true")
    run_as_superuser(f"INSERT INTO memories ({', '.join(columns)}) {versions}")
    run_as_superuser("ANALYZE memories")  # as autovacuum does within a minute
    assert listed(client, key="k") == ["v9999"]
    at, cursor, seen = f"/memories/{first['memory_key']}/versions", None, []
    while True:
        page = ok(client.get(at, params={"limit": 200, **({"cursor": cursor} if cursor else {})}))
        seen += [one["content"] for one in page["items"]]
        if (cursor := page["next_cursor"]) is None:
            break
    assert seen == [f"v{number}" for number in range(9999, -1, -1)]
    append(client, "c", [user("hello")])
    assert "v9999" in head(client, "c")
    assert listed(client, key="k", as_of="2000-01-01T01:30:00Z") == ["v1"]


def test_a_search_names_no_foreign_scope(client: httpx.Client) -> None:
    ok(client.post("/spaces", json={"id": "theirs", "members": {"bob": "write"}}), 201)
    ok(client.post("/memories", json={"content": "The ferry is at nine.", "scope": "space:theirs"}), 201)
    for scope in ("space:theirs", "space:nothing"):
        body = {"user_id": "ann", "query": "ferry", "scopes": [scope]}
        answer = client.post("/memories/search", json=body)
        problem(answer, 404)
        assert "nine" not in answer.text
