"""Which conversation a list is of: the one that a header names, or the one whose own answer it holds."""

import json
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from typing import Any
from uuid import UUID

import httpx
import openai
import pytest

from app.core.edge.caller import Caller
from app.core.edge.deployment import Access
from app.core.wording import EARLIER_CONVERSATIONS
from tests.api.kit import append, history, ok, system, user
from tests.providers import fake_openai as fake
from tests.providers.fake_openai import FakeOpenAI
from tests.proxy.kit import Begun, Script, arriving, ask, calling, conversations, openai_of, sent, stored, tool

Listed = list[Any]
ANN = UUID("aaaaaaaa-0000-7000-8000-000000000001")


def goes_on(client: openai.OpenAI, listed: Listed, text: str, **body: Any) -> Listed:
    asked = [*listed, user(text)]
    return [*asked, sent(ask(client, asked, **body))]


def test_an_unnamed_list_continues_its_conversation(
    client: httpx.Client, nameless: openai.OpenAI, script: Script
) -> None:
    listed: Listed = []
    for text in ("one", "two", "three"):
        listed = goes_on(nameless, listed, text)
    [name] = conversations(client)
    assert stored(client, name) == [(m["role"], m["content"]) for m in listed]


def test_the_answer_names_the_conversation(client: httpx.Client, nameless: openai.OpenAI, script: Script) -> None:
    made = nameless.chat.completions.with_raw_response.create(model="fake", messages=[{"role": "user", "content": "a"}])
    [name] = conversations(client)
    assert made.headers["x-quire-conversation"] == name
    named = openai_of(str(nameless.base_url).removesuffix("/v1/"), "team%2F%E8%8C%B6")
    again = named.chat.completions.with_raw_response.create(model="fake", messages=[{"role": "user", "content": "a"}])
    assert again.headers["x-quire-conversation"] == "team/%E8%8C%B6"
    assert ok(client.get("/conversations/team%2F%E8%8C%B6"))["id"] == "team/茶"


def test_equal_openings_start_separate_conversations(
    client: httpx.Client, nameless: openai.OpenAI, script: Script
) -> None:
    one, two = goes_on(nameless, [], "hi"), goes_on(nameless, [], "hi")
    assert one != two
    goes_on(nameless, one, "and on")
    goes_on(nameless, two, "and on")
    found = [stored(client, name) for name in conversations(client)]
    assert [len(said) for said in found] == [4, 4]
    assert {said[1][1] for said in found} == {one[1]["content"], two[1]["content"]}


def test_few_shot_examples_are_not_taken_for_our_answers(client: httpx.Client, nameless: openai.OpenAI) -> None:
    examples: Listed = [user("2+2?"), {"role": "assistant", "content": "4"}]
    goes_on(nameless, examples, "3+3?")
    goes_on(nameless, examples, "3+3?")
    assert len(conversations(client)) == 2


def test_a_branch_leaves_the_conversation_as_it_is(
    client: httpx.Client, nameless: openai.OpenAI, script: Script
) -> None:
    listed = goes_on(nameless, goes_on(nameless, [], "one"), "two")
    [first] = conversations(client)
    kept = stored(client, first)
    goes_on(nameless, listed[:2], "another two")
    old = ok(client.get(f"/conversations/{first}/messages", params={"branch": first}))["items"]
    assert [(m["role"], m["content"]) for m in old] == kept
    [other] = set(conversations(client)) - {first}
    assert [text for _, text in stored(client, other)][:3] == ["one", listed[1]["content"], "another two"]
    assert stored(client, first) == stored(client, other)
    goes_on(nameless, listed, "three")
    assert stored(client, first)[: len(kept)] == kept
    assert len(stored(client, first)) == 6


def test_an_edited_turn_of_a_named_conversation_is_a_branch_that_its_id_shows(
    client: httpx.Client, chat: openai.OpenAI, script: Script
) -> None:
    listed = goes_on(chat, goes_on(chat, [], "one"), "two")
    other = goes_on(chat, listed[:2], "another two")
    assert "'two'" not in str(script.asked[-1])
    other = goes_on(chat, other, "and on")
    assert stored(client, "c") == [(m["role"], m["content"]) for m in other]
    kept = ok(client.get("/conversations/c/messages", params={"branch": "c"}))["items"]
    assert [m["content"] for m in kept] == [m["content"] for m in listed]
    goes_on(chat, listed, "back again")
    assert [text for role, text in stored(client, "c") if role == "user"] == ["one", "two", "back again"]
    assert len(ok(client.get("/conversations/c/branches"))["items"]) == 1


@pytest.mark.parametrize("turns", [1, 3], ids=["a turn", "turns"])
@pytest.mark.parametrize("lead", [[], [system("Be brief.")]], ids=["", "prompt"])
def test_an_edit_of_the_first_message_is_another_line_once_the_list_goes_on(
    client: httpx.Client, chat: openai.OpenAI, script: Script, turns: int, lead: Listed
) -> None:
    first = lead
    for text in ("What is the capital of France?", "Since when?", "And before?")[:turns]:
        first = goes_on(chat, first, text)
    other = goes_on(chat, lead, "What is the capital of Switzerland?")
    other = goes_on(chat, other, "How large is it?")
    assert "France" not in str(script.asked[-1])
    other = goes_on(chat, other, "And the lake?")
    assert stored(client, "c") == [(m["role"], m["content"]) for m in other[len(lead) :]]
    old = ok(client.get("/conversations/c/messages", params={"branch": "c"}))["items"]
    assert [m["content"] for m in old[: 2 * turns]] == [m["content"] for m in first[len(lead) :]]


@pytest.mark.parametrize("turns", [1, 3], ids=["a turn", "turns"])
@pytest.mark.parametrize("lead", [[], [system("Be brief.")]], ids=["", "prompt"])
def test_going_back_to_the_old_first_message_returns_to_its_line(
    client: httpx.Client, chat: openai.OpenAI, script: Script, turns: int, lead: Listed
) -> None:
    first = lead
    for text in ("What is the capital of France?", "Since when?", "And before?")[:turns]:
        first = goes_on(chat, first, text)
    other = goes_on(chat, lead, "What is the capital of Switzerland?")
    goes_on(chat, other, "How large is it?")
    before = stored(client, "c")
    back = goes_on(chat, lead, "What is the capital of France?")
    goes_on(chat, back, "Is it old?")
    assert "How large" not in str(script.asked[-2:])
    assert stored(client, "c")[0] == ("user", "What is the capital of France?")
    branches = ok(client.get("/conversations/c/branches"))["items"]
    lines = [ok(client.get("/conversations/c/messages", params={"branch": one["id"]}))["items"] for one in branches]
    assert before in [[(m["role"], m["content"]) for m in line] for line in lines]


def test_a_client_that_begins_its_list_anew_goes_on_with_its_conversation(
    client: httpx.Client, chat: openai.OpenAI, script: Script
) -> None:
    goes_on(chat, goes_on(chat, [], "My locker is number 7."), "It is green.")
    goes_on(chat, goes_on(chat, [], "Good morning!"), "Which locker is mine?")
    assert "locker is number 7" in str(script.asked[-1])
    assert len(stored(client, "c")) == 8
    script.says(calling(("look", {})))
    asked = [user("My locker is number 8 now, look.")]
    called = sent(ask(chat, asked, tools=[tool("look")]))
    found = {"role": "tool", "tool_call_id": called["tool_calls"][0]["id"], "content": "It is."}
    ask(chat, [*asked, called, found], tools=[tool("look")])
    assert "locker is number 7" in str(script.asked[-1])
    assert not ok(client.get("/conversations/c/branches"))["items"]


def test_answers_that_a_client_changes_are_not_stored_again(
    client: httpx.Client, chat: openai.OpenAI, script: Script
) -> None:
    listed: Listed = []
    for text in ("one", "two", "three"):
        listed = goes_on(chat, listed, text)
        listed[-1]["content"] = listed[-1]["content"][:5]
    assert [text for _, text in stored(client, "c")] == [
        "one", "Answer 1 to one.", "two", "Answer 2 to two.", "three", "Answer 3 to three.",
    ]  # fmt: skip


@pytest.mark.parametrize(("parallel", "kept"), [(1, 0), (2, 0), (2, 1)])
def test_results_find_calls_that_a_client_gave_other_ids(
    chat: openai.OpenAI, script: Script, parallel: int, kept: int
) -> None:
    """As langchain-mistralai 1.1.6 does with each id that is not nine letters and digits; it keeps the others."""
    listed: Listed = [user("Look at all.")]
    for step in range(3):
        script.says(calling(*[("look", {"at": step})] * parallel))
        called = sent(ask(chat, listed, tools=[tool("look")]))
        for at, one in enumerate(called["tool_calls"][kept:]):
            one["id"] = f"ev9dpDd{step}{at}"
        listed.append(called)
        for at, one in enumerate(called["tool_calls"]):
            listed.append({"role": "tool", "tool_call_id": one["id"], "content": f"result {step}.{at}"})
    ask(chat, listed, tools=[tool("look")])
    shown = [m for m in script.asked[-1]["messages"] if m["role"] in ("assistant", "tool")]
    assert [m["content"] for m in shown if m["role"] == "tool"] == [
        f"result {step}.{at}" for step in range(3) for at in range(parallel)
    ]
    for turn in range(0, len(shown), 1 + parallel):
        call, *results = shown[turn : turn + 1 + parallel]
        assert [one["id"] for one in call["tool_calls"]] == [one["tool_call_id"] for one in results]


def test_earlier_history_of_a_client_is_imported(client: httpx.Client, chat: openai.OpenAI, script: Script) -> None:
    append(client, "c", [system("s"), user("one"), {"role": "assistant", "content": "1"}], user_id="u")
    goes_on(chat, [system("s"), user("one"), {"role": "assistant", "content": "1"}], "two")
    assert [text for _, text in stored(client, "c")] == ["s", "one", "1", "two", "Answer 1 to two."]
    synced = [m for m in history(client, "c") if m["role"] != "system"]
    found = client.post(
        "/conversations/c/sync",
        json={"messages": [{"role": m["role"], "content": m["content"]} for m in synced] + [user("three")]},
    )
    assert ok(found)["matched"] == 4


def test_recalls_are_excluded_from_a_synced_list(client: httpx.Client, chat: openai.OpenAI, script: Script) -> None:
    function = {"name": "recall_page", "arguments": '{"page": 1}'}
    script.says({"content": None, "tool_calls": [{"id": "r", "type": "function", "function": function}]}, "Here.")
    listed = goes_on(chat, [], "one")
    assert len(stored(client, "c")) == 4
    for asked, appended, ahead in (([*listed, user("two")], 1, 0), ([*listed, user("two")], 0, 0), (listed, 0, 1)):
        found = ok(client.post("/conversations/c/sync", json={"messages": asked}))
        assert (len(found["appended"]), found["ahead"]) == (appended, ahead)
    moved = client.get("/conversations/c/export").text
    ok(client.delete("/conversations/c"))
    ok(client.post("/import", content=moved, headers={"content-type": "application/x-ndjson"}))
    assert ok(client.post("/conversations/c/sync", json={"messages": [*listed, user("two")]}))["matched"] == 3


@pytest.mark.parametrize("how", ["header", "body"])
def test_users_are_isolated(client: httpx.Client, nameless: openai.OpenAI, script: Script, how: str) -> None:
    bodies: dict[str, Any] = {
        name: {"user": name} if how == "body" else {"extra_headers": {"X-Quire-User": name}} for name in ("ann", "bob")
    }
    one = goes_on(nameless, [], "hi", **bodies["ann"])
    goes_on(nameless, one, "and on", **bodies["bob"])
    goes_on(nameless, one, "and on", **bodies["ann"])
    goes_on(nameless, one, "and on")
    found = {c["user_id"]: c["messages"] for c in client.get("/conversations").json()["items"]}
    assert found == {"ann": 4, "bob": 4, "default": 4}


def test_a_base_url_alone_remembers_across_runs(
    client: httpx.Client, nameless: openai.OpenAI, script: Script, base_url: str
) -> None:
    first = goes_on(nameless, [], "My favourite tea is longjing.")
    goes_on(nameless, first, "Thanks.")
    second = goes_on(nameless, [], "Which tea is my favourite?")
    goes_on(nameless, second, "And which do I drink at night?")
    goes_on(nameless, [], "hello", extra_headers={"X-Quire-User": "ann"})
    told = [str(request["messages"][0]["content"]) for request in script.asked]
    assert [EARLIER_CONVERSATIONS.en in text for text in told] == [False, False, True, True, False]
    assert told[2] == told[3]
    assert "longjing" in str(script.asked[2]["messages"])


def test_the_default_user_takes_no_part_in_another_users_conversation(
    client: httpx.Client, chat: openai.OpenAI, script: Script
) -> None:
    ask(chat, [user("hi")], user="ann")
    ask(chat, [user("hi"), user("and on")])
    assert [c["user_id"] for c in ok(client.get("/conversations"))["items"]] == ["ann"]


@pytest.mark.parametrize("shared", [True, False], ids=["others have access", "only this machine"])
def test_callers_that_can_speak_for_many_have_no_default_user(shared: bool) -> None:
    access = Access(allows_unauthenticated=shared)
    assert access.default_user(Caller(ANN)) == (None if shared else "default")
    assert access.default_user(Caller(ANN, key=ANN)) is None
    assert Access(named_default_user="me").default_user(Caller(ANN, key=ANN)) == "me"


def test_another_users_conversation_is_refused(client: httpx.Client, chat: openai.OpenAI, script: Script) -> None:
    ask(chat, [user("hi")], user="ann")
    with pytest.raises(openai.BadRequestError, match="belongs to another user") as caught:
        ask(chat, [user("hi")], user="bob")
    assert (caught.value.code, caught.value.type) == ("conflict", "invalid_request_error")
    assert len(stored(client, "c")) == 2


@pytest.mark.parametrize("whole", [True, False], ids=["the whole list", "what is new"])
def test_twenty_equal_concurrent_requests_are_one_turn(
    client: httpx.Client, chat: openai.OpenAI, api: FakeOpenAI, script: Script, whole: bool
) -> None:
    """All have begun before the first of them is answered."""
    first = goes_on(chat, [], "one")
    api.chat.queue.append(fake.held())
    with ExitStack() as stack:
        listed = [*first, user("two")] if whole else [user("two")]
        begun = [stack.enter_context(Begun(str(client.base_url), "c", listed)) for _ in range(20)]
        with ThreadPoolExecutor(20) as pool:
            asked = [pool.submit(one.answer) for one in begun]
            api.wait_until(lambda: api.chat.running == 1)
            api.release()
            answers = {future.result() for future in asked}
    assert answers == {"Answer 2 to two."}
    assert [role for role, _ in stored(client, "c")] == ["user", "assistant"] * 2
    assert len(script.asked) == 2


@pytest.mark.parametrize("whole", [True, False], ids=["the whole list", "what is new"])
def test_a_request_sent_before_the_answer_joins_its_turn(
    client: httpx.Client, chat: openai.OpenAI, script: Script, whole: bool
) -> None:
    first = goes_on(chat, [], "one")
    listed = [*first, user("two")] if whole else [user("two")]
    with Begun(str(client.base_url), "c", listed) as one, Begun(str(client.base_url), "c", listed) as other:
        assert one.answer() == other.answer() == "Answer 2 to two."
    assert [role for role, _ in stored(client, "c")] == ["user", "assistant"] * 2
    if not whole:  # what is said again once the answer was there is new
        with Begun(str(client.base_url), "c", listed) as again:
            assert again.answer() == "Answer 3 to two."
        assert [role for role, _ in stored(client, "c")] == ["user", "assistant"] * 3


def test_twenty_concurrent_userless_requests_are_separate(
    client: httpx.Client, nameless: openai.OpenAI, script: Script
) -> None:
    with ThreadPoolExecutor(20) as pool:
        list(pool.map(lambda _: ask(nameless, [user("hi")]), range(20)))
    assert len(conversations(client)) == 20


def test_a_turn_that_arrived_before_another_was_answered_is_beside_it(
    client: httpx.Client, chat: openai.OpenAI, script: Script
) -> None:
    """Its sender did not leave that turn out: it could not know it. Here the body is late, as a queue makes it."""
    first = goes_on(chat, [], "one")
    late = json.dumps({"model": "fake", "messages": [*first, user("q1")]}).encode()
    with arriving(client, late, {"X-Quire-Conversation": "c"}) as connection:
        goes_on(chat, first, "q2")
        connection.sendall(late)
        assert b"200 OK" in connection.recv(65536)
    assert [text for role, text in stored(client, "c") if role == "user"] == ["one", "q2", "q1"]


def test_parallel_turns_of_a_conversation_are_all_stored(
    client: httpx.Client, chat: openai.OpenAI, api: FakeOpenAI, script: Script
) -> None:
    first = goes_on(chat, [], "one")
    api.chat.default = fake.held()  # a turn that is sent after another was answered leaves that one out
    with ThreadPoolExecutor(8) as pool:
        asked = [pool.submit(ask, chat, [*first, user(f"q{n}")], tools=[tool("look")]) for n in range(8)]
        api.wait_until(lambda: len(api.chat.requests) == 9)
        api.release()
        for one in asked:
            one.result()
    kept = stored(client, "c")
    assert sorted(text for role, text in kept if role == "user") == sorted(["one", *(f"q{n}" for n in range(8))])
    assert len(kept) == 18
