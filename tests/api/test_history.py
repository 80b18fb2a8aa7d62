"""What was sent comes back as it was sent, whatever windows make of it."""

import json
from typing import Any

import httpx
import pytest

from quire_command.demo.transcript import load
from tests.api.kit import (
    SHIPPED,
    Json,
    append,
    assistant,
    call,
    canonical,
    history,
    ok,
    path,
    problem,
    recorded,
    result,
    turn,
    user,
)  # fmt: skip

SET_BY_QUIRE = (
    "id",
    "author",
    "client_id",
    "seq",
    "page",
    "tokens",
    "archived",
    "archive_id",
    "created_at",
    "said_at",
    "refused",
)
ALWAYS_THERE = ("content", "tool_calls", "tool_call_id", "name")

AS_THEY_ARE: list[Json] = [
    user('a\u0000b 🦜 e\u0301 \u202e \ufeff \uffff \U0010ffff \\u0000 \\ " / \r\n\t end'),
    user("   "),
    user(""),
    user("x", z=1, a={"z": 1, "a": [1.0, 1e5, -0.0, 0, -1, 0.1, 1e-7, 123456789012345678901234567890]}, m=None, t=True),
    {"content": "role last", "role": "user", "name": "林妍"},
    user([{"type": "text", "text": "看"}, {"type": "image_url", "image_url": {"url": "data:image/png;base64,AA=="}}]),
    {"role": "assistant", "content": None, "refusal": "no", "reasoning_content": "hm"},
    {"role": "assistant", "content": [{"type": "thinking", "thinking": "hm", "signature": "s"}], "extra": []},
    {"role": "developer", "content": "in the middle"},
    {"role": "assistant", "tool_calls": [{"id": "a", "name": "flat", "arguments": {"z": 1.0, "a": {"深": [[], {}]}}}]},
    {"role": "tool", "tool_call_id": "a", "content": [{"type": "text", "text": "18 °C"}], "is_error": False},
    {"role": "tool", "tool_call_id": "nobody asked", "content": "kept all the same"},
]  # fmt: skip


def original(stored: Json, sent: Json) -> Json:
    """A message of the history without what Quire added to it."""
    return {k: v for k, v in stored.items() if k not in SET_BY_QUIRE and (k in sent or k not in ALWAYS_THERE)}


def assert_faithful(stored: list[Json], sent: list[Json]) -> None:
    assert [s["seq"] for s in stored] == list(range(1, len(sent) + 1))
    for got, message in zip(stored, sent, strict=True):
        wanted = {k: v for k, v in message.items() if k not in ("id", "client_id")}
        assert canonical(original(got, message)) == canonical(wanted)


def test_every_member_keeps_its_order_and_type(client: httpx.Client) -> None:
    append(client, "c", AS_THEY_ARE)
    assert_faithful(history(client, "c"), AS_THEY_ARE)


def test_numbers_and_escapes_are_returned_as_the_same_json(client: httpx.Client) -> None:
    """Spelling is canonical: `1e5` is `100000.0` and an escape is its character; kind, sign and value are kept."""
    message = '{"role":"user","content":"\\u0041\\ud83d\\ude00\\u0000","n":[1.0,1e5,-0,1E+2,10,-0.0]}'
    sent = f'{{"messages":[{message}],"user_id":"u"}}'
    ok(client.post(path("c", "messages"), content=sent, headers={"content-type": "application/json"}), 201)
    text = client.get(path("c", "messages")).text
    assert '"content":"A😀\\u0000","n":[1.0,100000.0,-0.0,100.0,10,-0.0]' in text


ANTHROPIC: list[Json] = [
    user("天气?"),
    {"role": "assistant", "content": [
        {"type": "thinking", "thinking": "two cities", "signature": "sig"},
        {"type": "text", "text": "Looking."},
        {"type": "tool_use", "id": "t1", "name": "weather", "input": {"城市": "杭州", "n": {"z": 1.0, "a": [None]}}},
        {"type": "tool_use", "id": "t2", "name": "weather", "input": {}},
    ]},
    {"role": "user", "content": [
        {"type": "tool_result", "tool_use_id": "t2", "content": [{"type": "text", "text": "rain"}], "is_error": True},
        {"type": "tool_result", "tool_use_id": "t1", "content": "18 °C", "cache_control": {"type": "ephemeral"}},
    ]},
    {"role": "assistant", "content": [{"type": "text", "text": "Take an umbrella."}], "stop_reason": "end_turn"},
]  # fmt: skip


def test_anthropic_messages_are_returned_and_understood(client: httpx.Client) -> None:
    stored = append(client, "c", ANTHROPIC)
    assert_faithful(history(client, "c"), ANTHROPIC)
    assert [m["page"] for m in stored["messages"]] == [1, 1, 1, 1]
    openai = ok(client.get(path("c", "context")))["messages"][1:]
    assert [m["role"] for m in openai] == ["user", "assistant", "tool", "tool", "assistant"]
    assert [c["id"] for c in openai[1]["tool_calls"]] == ["t1", "t2"]
    anthropic = ok(client.get(path("c", "context"), params={"format": "anthropic"}))["messages"]
    assert anthropic[1]["content"] == ANTHROPIC[1]["content"]
    assert [b["tool_use_id"] for b in anthropic[2]["content"]] == ["t2", "t1"]


@pytest.mark.parametrize("words", ["天地玄黄", "row 1\u0000,", "🦜"])
def test_an_archived_result_is_returned_in_full(client: httpx.Client, words: str) -> None:
    text = (words * 50_000)[:50_000]
    blocks = [{"type": "tool_result", "tool_use_id": "b", "content": text + "!"}]
    sent = [user(), call("a"), result("a", text), call("b"), {"role": "user", "content": blocks}, assistant()]
    stored = append(client, "c", sent)["messages"]
    assert stored[2]["archive_id"] in stored[2]["content"]
    assert len(stored[2]["content"]) < 2000
    found = history(client, "c")
    assert_faithful(found, sent)
    assert [m["archived"] for m in found] == [False, False, True, False, True, False]
    assert found[2]["archive_id"] == stored[2]["archive_id"]


def test_equal_archived_results_of_a_user_are_stored_once(client: httpx.Client, run_as_superuser: Any) -> None:
    for name in ("c", "d"):
        append(client, name, [user(), call("a", "b"), result("a", "x" * 30_000), result("b", "x" * 30_000)])
        assert [len(m["content"] or "") for m in history(client, name)] == [2, 0, 30_000, 30_000]
    [(archives, contents)] = run_as_superuser(
        "SELECT (SELECT count(*) FROM archives), (SELECT count(*) FROM archive_contents)"
    )
    assert (archives, contents) == (4, 1)


@pytest.mark.parametrize("order", ["asc", "desc"])
@pytest.mark.parametrize("limit", [1, 4, 5, 9, 10, 1000])
def test_the_history_is_walked_in_both_orders(client: httpx.Client, order: str, limit: int) -> None:
    append(client, "c", [message for number in range(5) for message in turn(number, 1)])
    seqs = [m["seq"] for m in history(client, "c", order=order, limit=limit)]
    assert seqs == (list(range(1, 11)) if order == "asc" else list(range(10, 0, -1)))


def test_pages_together_contain_the_whole_history(client: httpx.Client) -> None:
    sent = [{"role": "system", "content": "s"}, *turn(1), call("a"), result("a", "y" * 20_000), *turn(2), *turn(3)]
    append(client, "c", sent)
    listed = ok(client.get(path("c", "pages"), params={"limit": 2}))
    rest = ok(client.get(path("c", "pages"), params={"limit": 2, "cursor": listed["next_cursor"]}))
    pages = [*listed["items"], *rest["items"]]
    assert [(p["page"], p["first_seq"], p["last_seq"]) for p in pages] == [(1, 1, 5), (2, 6, 7), (3, 8, 9)]
    found = [m for p in pages for m in ok(client.get(path("c", "pages", str(p["page"]))))["messages"]]
    assert found == history(client, "c")
    for page in ("0", "4", "-1", str(10**20)):
        problem(client.get(path("c", "pages", page)), 404, "ages")


def test_an_append_says_where_each_message_went(client: httpx.Client) -> None:
    stored = append(client, "c", [*turn(1), *turn(2)])
    assert [(m["seq"], m["page"], m["role"]) for m in stored["messages"]] == [
        (1, 1, "user"), (2, 1, "assistant"), (3, 2, "user"), (4, 2, "assistant"),
    ]  # fmt: skip
    assert (stored["page"], stored["epoch"]) == (2, 0)
    assert [m["id"] for m in stored["messages"]] == [m["id"] for m in history(client, "c")]
    assert [m["tokens"] for m in stored["messages"]] == [m["tokens"] for m in history(client, "c")]
    assert ok(client.get(path("c")))["tokens"] == sum(m["tokens"] for m in stored["messages"])


@pytest.mark.parametrize("field", ["id", "client_id"])
def test_a_client_id_is_taken_from_either_member_and_only_once(client: httpx.Client, field: str) -> None:
    stored = append(client, "c", [user("a", **{field: "m/1 🦜"}), assistant("b", **{field: "m2"})])
    assert [m["client_id"] for m in stored["messages"]] == ["m/1 🦜", "m2"]
    assert [m["client_id"] for m in history(client, "c")] == ["m/1 🦜", "m2"]
    again = {"messages": [user("x"), user("y", client_id="m2")]}
    problem(client.post(path("c", "messages"), json=again), 409, "client_id", "message 2")
    twice = {"messages": [user("x", client_id="m3"), user("y", id="m3")]}
    problem(client.post(path("c", "messages"), json=twice), 422, "client_id", "twice")
    assert len(history(client, "c")) == 2
    append(client, "d", [user("in another conversation it is free", **{field: "m2"})])


@pytest.mark.slow
def test_real_transcripts_are_returned_in_full(client: httpx.Client) -> None:
    transcripts = [(i, t) for i, name in enumerate(("deerflow", "sweagent", "taubench")) for t in recorded(name)[:3]]
    transcripts += [(9, load(SHIPPED)[0])]
    for index, transcript in transcripts:
        name = f"{index} {transcript.id}"
        sent = list(transcript.messages)
        for first in range(0, len(sent), 100):
            append(client, name, sent[first : first + 100])
        assert_faithful(history(client, name), json.loads(json.dumps(sent)))
