"""Property: however the caller's list grew, was cut or is written down, each message is stored once and in order."""

from typing import Any

import httpx
import pytest

from tests.api.kit import Json, append, assistant, call, ok, path, problem, result, system, user, window
from tests.sync.kit import dialogue, fork, said, stored, sync


def test_a_list_that_grows_is_stored_message_by_message(client: httpx.Client) -> None:
    whole = dialogue(1, 2, 3)
    for end in range(1, len(whole) + 1):
        answer = sync(client, "c", whole[:end])
        assert answer["matched"] == end - 1
        assert [m["seq"] for m in answer["appended"]] == [end]
        assert (answer["ahead"], answer["passed_over"]) == (0, [])
        assert (answer["page"], answer["epoch"]) == ((end + 3) // 4, 0)
    assert stored(client, "c") == said(whole)


def test_a_list_sent_again_stores_nothing(client: httpx.Client) -> None:
    whole = dialogue(1, 2)
    sync(client, "c", whole)
    for end in range(1, len(whole) + 1):
        answer = sync(client, "c", whole[:end])
        assert (answer["matched"], answer["appended"], answer["ahead"]) == (end, [], len(whole) - end)
    assert stored(client, "c") == said(whole)


def test_syncs_and_appends_make_one_conversation(client: httpx.Client) -> None:
    append(client, "c", dialogue(1))
    sync(client, "c", dialogue(1, 2))
    append(client, "c", dialogue(3))
    assert sync(client, "c", dialogue(1, 2, 3, 4))["matched"] == 12
    assert stored(client, "c") == said(dialogue(1, 2, 3, 4))


def test_a_sync_responds_like_an_append_with_an_optional_window(client: httpx.Client) -> None:
    body = {"messages": dialogue(1), "user_id": "u"}
    answer = ok(client.post(path("c", "sync"), params={"include": "context", "budget": 3000}, json=body))
    assert set(answer["appended"][0]) == {"id", "client_id", "seq", "page", "role", "tokens", "archive_id", "content"}
    assert answer["context"] == window(client, "c", budget=3000)
    again = ok(client.post(path("c", "sync"), params={"include": "context", "budget": 2}, json=body))
    assert again["context"] is None
    assert again["context_error"]["code"] == "budget-too-small"


def blocks(role: str, *content: Json) -> Json:
    return {"role": role, "content": list(content)}


SAME: dict[str, tuple[Json, Json]] = {
    "ids": (user("hi", client_id="a"), user("hi", client_id="b")),
    "parts": (user("hi"), user([{"type": "text", "text": "hi"}])),
    "cache marks": (user([{"type": "text", "text": "hi", "cache_control": {"type": "ephemeral"}}]), user("hi")),
    "members that are null": (assistant("x", refusal=None, audio=None), assistant("x")),
    "members no model sees": (assistant("x", response_metadata={"id": 1}), assistant("x")),
    "thinking": (assistant("x", reasoning_content="hm"), assistant("x")),
    "thinking blocks": (
        blocks("assistant", {"type": "thinking", "thinking": "hm", "signature": "s"}, {"type": "text", "text": "x"}),
        assistant("x"),
    ),
    "spaces in arguments": (call("a", arguments='{"b": 1, "a": [2]}'), call("a", arguments='{"a":[2],"b":1}')),
    "no content": (call("a"), call("a") | {"content": ""}),
    "whose form": (call("a"), blocks("assistant", {"type": "tool_use", "id": "a", "name": "look", "input": {}})),
    "who instructs": (system("hi"), {"role": "developer", "content": "hi"}),
}  # fmt: skip
OTHER: dict[str, tuple[Json, Json]] = {
    "text": (user("hi"), user("Hi")),
    "role": (user("hi"), assistant("hi")),
    "name": (user("hi", name="ann"), user("hi", name="bob")),
    "parts": (user([{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]), user("ab")),
    "id of a call": (call("a"), call("b")),
    "arguments": (call("a", arguments='{"n":1}'), call("a", arguments='{"n":2}')),
    "no arguments at all": (call("a", arguments="[1"), call("a", arguments="[2")),
    "an image": (
        user([{"type": "image_url", "image_url": {"url": "https://a.example"}}]),
        user([{"type": "image_url", "image_url": {"url": "https://b.example"}}]),
    ),
}


@pytest.mark.parametrize("what", SAME)
def test_the_same_said_in_another_way_is_the_same_message(client: httpx.Client, what: str) -> None:
    first, second = SAME[what]
    sync(client, "c", [user("before"), first])
    assert sync(client, "c", [user("before"), second])["appended"] == []


@pytest.mark.parametrize("what", OTHER)
def test_different_content_is_another_message(client: httpx.Client, what: str) -> None:
    first, second = OTHER[what]
    sync(client, "c", [user("before"), first])
    assert fork(client, "c", [user("before"), second]) == (1, 2)


def test_deep_long_or_odd_arguments_are_compared(client: httpx.Client) -> None:
    for name, text in {"deep": "[" * 100_000, "long": "9" * 5000, "odd": '{"a":"\\ud800","n":NaN}'}.items():
        asked = [user(), call("a", arguments=text)]
        sync(client, name, asked)
        assert sync(client, name, asked)["appended"] == []


def test_archived_results_match_by_their_full_text(client: httpx.Client) -> None:
    long = "all of it " * 5000
    asked = [user(), call("a"), result("a", long)]
    assert sync(client, "c", asked)["appended"][2]["archive_id"]
    answer = sync(client, "c", [*asked, assistant("done")])
    assert (answer["matched"], len(answer["appended"])) == (3, 1)
    assert fork(client, "c", [user(), call("a"), result("a", long + "."), assistant("done")]) == (2, 3)


def anthropic(n: int, *, marked: bool = False) -> list[Json]:
    """A turn in Anthropic form. The newest message of a request carries the cache mark, as clients move it along."""
    mark = {"cache_control": {"type": "ephemeral"}} if marked else {}
    return [
        blocks("user", {"type": "text", "text": f"q{n}"}),
        blocks(
            "assistant",
            {"type": "thinking", "thinking": "hm", "signature": f"s{n}"},
            {"type": "text", "text": "I look."},
            {"type": "tool_use", "id": f"t{n}", "name": "look", "input": {"b": n, "a": None}},
        ),
        blocks("user", {"type": "tool_result", "tool_use_id": f"t{n}", "content": f"r{n}", **mark}),
    ]


def test_lists_in_anthropic_form_are_matched_and_windows_made_of_them(client: httpx.Client) -> None:
    sync(client, "c", anthropic(1, marked=True), system="Be brief.")
    without_thinking = [blocks("assistant", *anthropic(1)[1]["content"][1:])]
    answer = sync(client, "c", [anthropic(1)[0], *without_thinking, *anthropic(1)[2:], *anthropic(2, marked=True)])
    assert (answer["matched"], len(answer["appended"])) == (3, 3)
    found = window(client, "c", format="anthropic")
    assert found["system"].startswith("Be brief.")
    sent = [b["type"] for m in found["messages"] for b in m["content"] if isinstance(b, dict)]
    assert sent.count("tool_use") == sent.count("tool_result") == 2


# --- System prompts -----------------------------------------------------------------------------------


IMAGE = "data:image/png;base64,iVBORw0KGgo="
CHAT_LIST: list[Json] = [
    {"role": "user", "content": [{"type": "text", "text": "q"}, {"type": "image_url", "image_url": {"url": IMAGE}}]},
    call("a", "b"), result("a", "first"), result("b", "second "), assistant("done"),
]  # fmt: skip
MESSAGES_LIST: list[Json] = [
    {"role": "user", "content": [
        {"type": "text", "text": "q"},
        {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "iVBORw0KGgo="}},
    ]},
    {"role": "assistant", "content": [{"type": "tool_use", "id": i, "name": "look", "input": {}} for i in "ab"]},
    {"role": "user", "content": [
        {"type": "tool_result", "tool_use_id": "a", "content": [{"type": "text", "text": "first"}]},
        {"type": "tool_result", "tool_use_id": "b", "content": "second"},
    ]},
    {"role": "assistant", "content": [{"type": "text", "text": "done\n"}]},
]  # fmt: skip
RESPONSES_PARTS: list[Json] = [
    {"role": "user", "content": [
        {"type": "input_text", "text": "q"}, {"type": "input_image", "image_url": IMAGE}]},
    *CHAT_LIST[1:4], {"role": "assistant", "content": [{"type": "output_text", "text": "done", "annotations": []}]},
]  # fmt: skip


@pytest.mark.parametrize("second", [CHAT_LIST, MESSAGES_LIST, RESPONSES_PARTS])
@pytest.mark.parametrize("first", [CHAT_LIST, MESSAGES_LIST, RESPONSES_PARTS])
def test_a_list_that_changes_its_dialect_continues(client: httpx.Client, first: list[Json], second: list[Json]) -> None:
    sync(client, "c", first)
    found = sync(client, "c", [*second, user("and then?")])
    assert (found["matched"], len(found["appended"])) == (len(second), 1)
    trimmed = sync(client, "c", [*second[2:], user("and then?"), assistant("so")])
    assert [message["content"] for message in trimmed["appended"]] == ["so"]


def test_the_leading_system_messages_are_the_prompt_and_may_change(client: httpx.Client) -> None:
    for number, day in enumerate(("Monday", "Tuesday"), 1):
        lead = [system(f"Today is {day}."), {"role": "developer", "content": [{"type": "text", "text": "Be brief."}]}]
        answer = sync(client, "c", [*lead, *dialogue(*range(1, number + 1))])
        assert answer["matched"] == (2 if number == 1 else 6)
        assert ok(client.get(path("c")))["system"] == f"Today is {day}.\n\nBe brief."
    assert stored(client, "c") == said(dialogue(1, 2))
    sync(client, "c", dialogue(1, 2))
    assert ok(client.get(path("c")))["system"] == "Today is Tuesday.\n\nBe brief."
    assert sync(client, "c", [system("Alone."), *dialogue(1, 2)])["appended"] == []
    assert "Alone." in window(client, "c")["messages"][0]["content"]


def test_a_prompt_that_was_appended_is_matched_and_cannot_change(client: httpx.Client) -> None:
    append(client, "c", [system("Be brief."), *dialogue(1)])
    assert sync(client, "c", [system("Be brief."), *dialogue(1, 2)])["matched"] == 5
    assert sync(client, "c", dialogue(1, 2, 3))["matched"] == 8
    assert ok(client.get(path("c")))["system"] is None
    assert fork(client, "c", [system("Be long."), *dialogue(1, 2, 3)]) == (0, 1)
    assert len(sync(client, "c", [system("Be long."), *dialogue(1, 2, 3, 4)], on_fork="append")["appended"]) == 4
    assert ok(client.get(path("c")))["system"] is None


def test_later_system_messages_are_messages(client: httpx.Client) -> None:
    asked = [user(), system("The tool is down."), assistant()]
    assert sync(client, "c", asked)["matched"] == 0
    assert sync(client, "c", asked)["matched"] == 3


# --- Trimmed lists ------------------------------------------------------------------------------------


@pytest.mark.parametrize("kept", [0, 1, 4])
@pytest.mark.parametrize("cut", [4, 5, 9, 11])
def test_a_trimmed_list_continues(client: httpx.Client, kept: int, cut: int) -> None:
    """From the start, or after the first few, which some clients keep."""
    known, new = dialogue(1, 2, 3), dialogue(4)
    sync(client, "c", known)
    asked = [system("Be brief."), *known[:kept], *known[cut:], *new]
    answer = sync(client, "c", asked)
    assert (answer["matched"], len(answer["appended"])) == (len(asked) - 4, 4)
    again = sync(client, "c", asked)
    assert (again["matched"], again["appended"]) == (len(asked), [])
    assert stored(client, "c") == said(dialogue(1, 2, 3, 4))


def test_a_trimmed_list_that_is_behind_is_known(client: httpx.Client) -> None:
    sync(client, "c", dialogue(1, 2, 3, 4))
    answer = sync(client, "c", dialogue(2, 3))
    assert (answer["matched"], answer["appended"], answer["ahead"]) == (8, [], 4)


def test_a_list_that_overlaps_with_nothing_is_a_fork(client: httpx.Client) -> None:
    sync(client, "c", [user("ok"), *dialogue(1, 2)])
    assert fork(client, "c", [user("new")]) == (0, 1)
    assert fork(client, "c", dialogue(7)) == (0, 1)


# --- Forks --------------------------------------------------------------------------------------------


def test_a_fork_names_the_first_difference_and_stores_nothing(client: httpx.Client) -> None:
    whole = dialogue(*range(1, 26))
    sync(client, "c", [system("s"), *whole])
    for index in (0, 1, 37, 98, 99):
        changed = [*whole[:index], {**whole[index], "content": "changed", "tool_call_id": "x", "tool_calls": None}]
        assert fork(client, "c", [system("s"), *changed, user("and on")]) == (index + 1, index + 1)
    assert stored(client, "c") == said(whole)
    assert ok(client.get(path("c")))["system"] == "s"


def test_another_answer_can_be_appended_and_nothing_is_lost(client: httpx.Client) -> None:
    sync(client, "c", [user("why?"), assistant("because"), user("oh")])
    other = [user("why?"), assistant("who knows")]
    for _ in range(2):
        sync(client, "c", other, on_fork="append")
        assert stored(client, "c") == ["why?", "because", "oh", "who knows"]
    sync(client, "c", [*other, user("I see")])
    assert stored(client, "c") == ["why?", "because", "oh", "who knows", "I see"]


def test_a_result_that_the_client_cleared_does_not_stop_what_follows(client: httpx.Client) -> None:
    whole = dialogue(1, 2, 3)
    sync(client, "c", whole)
    cleared = [*whole[:2], result("c1", "[cleared]"), *whole[3:]]
    assert fork(client, "c", [*cleared, *dialogue(4)]) == (2, 3)
    answer = sync(client, "c", [*cleared, *dialogue(4)], on_fork="append")
    assert (answer["matched"], answer["passed_over"], len(answer["appended"])) == (12, [2], 4)
    assert stored(client, "c") == said(dialogue(1, 2, 3, 4))


def test_a_summary_in_place_of_older_messages_is_passed_over(client: httpx.Client) -> None:
    sync(client, "c", dialogue(1, 2, 3))
    asked = [user("Here is a summary: …"), *dialogue(3, 4)]
    assert sync(client, "c", asked, on_fork="append")["passed_over"] == [0]
    assert sync(client, "c", asked, on_fork="append")["appended"] == []
    assert stored(client, "c") == said(dialogue(1, 2, 3, 4))


# --- What is refused ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("body", "says"),
    [
        ({"messages": []}, "at least one message"),
        ({"messages": [system("s")]}, "after the leading system messages"),
        ({"messages": [user()], "on_fork": "rewrite"}, "on_fork"),
        ({"messages": [user()], "system": "a\0b"}, "U+0000"),
        ({"messages": [system("a\0b"), user()]}, "U+0000"),
        ({"messages": [user(), user(seq=1)]}, "is set by Quire"),
        ({"messages": [user()] * 1001}, "at most 1000"),
        ({"messages": [user()] * 20_001}, "at most 20000"),
        ({"messages": [user()], "user_id": "\n"}, "user_id"),
        ({}, "messages"),
    ],
)
def test_an_invalid_list_is_rejected_and_nothing_stored(client: httpx.Client, body: Json, says: str) -> None:
    problem(client.post(path("c", "sync"), json={"user_id": "u", **body}), 422, says)
    assert client.get(path("c")).status_code == 404


def test_an_unknown_conversation_needs_a_user_and_anothers_stays_his(client: httpx.Client) -> None:
    asked: dict[str, Any] = {"messages": [user()]}
    problem(client.post(path("c", "sync"), json=asked), 404, "user_id")
    sync(client, "c", [user()])
    problem(client.post(path("c", "sync"), json={**asked, "user_id": "bob"}), 409, "user_id")
    assert sync(client, "c", [user()])["appended"] == []


@pytest.mark.slow
def test_a_long_list_can_be_synced_in_prefixes(client: httpx.Client) -> None:
    whole = [m for n in range(1250) for m in (user(f"q{n}"), assistant(f"a{n}"))]
    refused = problem(client.post(path("c", "sync"), json={"messages": whole, "user_id": "u"}), 422, "1000")
    ends = []
    while "messages_max" in refused:
        ends.append(refused["matched"] + refused["messages_max"])
        sync(client, "c", whole[: ends[-1]])
        refused = client.post(path("c", "sync"), json={"messages": whole}).json()
    assert ends == [1000, 2000]
    assert (refused["matched"], len(refused["appended"])) == (2000, 500)
    assert stored(client, "c") == said(whole)


def test_a_client_id_that_is_taken_is_named_by_its_place_in_the_list(client: httpx.Client) -> None:
    asked = [user("a", client_id="m1"), assistant("b", client_id="m2"), user("c", client_id="m3")]
    sync(client, "c", asked)
    clash = [*asked[1:], assistant("d"), user("e", client_id="m1")]
    found = problem(client.post(path("c", "sync"), json={"messages": clash}), 409, "is the id of message 1")
    assert found["errors"][0]["loc"] == ["body", "messages", 3, "client_id"]
    assert len(stored(client, "c")) == 3
