"""OpenAI's client of Conversations in front of Quire."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
import openai
import pytest

from tests.api.kit import Json, append, created, history, ok, result, user
from tests.api.kit import call as calls
from tests.proxy.kit import Script, calling, openai_of, stored

TURN: list[Any] = [
    {"type": "message", "role": "user", "content": "Look."},
    {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "opaque"},
    {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Both."}]},
    {"type": "function_call", "call_id": "call_1", "name": "look", "arguments": '{"at":"a"}'},
    {"type": "custom_tool_call", "call_id": "call_2", "name": "patch", "input": "*** Begin"},
    {"type": "function_call_output", "call_id": "call_1", "output": "seen"},
    {"type": "custom_tool_call_output", "call_id": "call_2", "output": "done"},
    {"type": "message", "role": "assistant", "content": "First."},
    {"type": "message", "role": "assistant", "content": "Second."},
]


def dumped(items: Any) -> list[Json]:
    return [item.model_dump(exclude_none=True, mode="json") for item in items]


def told(items: Any) -> list[str]:
    """What each item is, in a word."""
    found = []
    for item in dumped(items):
        parts = item.get("content") or []
        texts = [part["text"] for part in parts if "text" in part] if isinstance(parts, list) else []
        found.append(texts[0] if texts else item["type"])
    return found


@pytest.fixture
def chat(base_url: str, clean: None) -> Any:
    with openai_of(base_url) as found:
        yield found


def test_items_come_back_as_they_were_sent(chat: openai.OpenAI, client: httpx.Client) -> None:
    made = chat.conversations.create(metadata={"topic": "tea"}, items=TURN[:1])
    assert made.id.startswith("conv_")
    added = chat.conversations.items.create(made.id, items=TURN[1:])
    listed = list(chat.conversations.items.list(made.id, order="asc", limit=2))
    assert [item.id for item in listed[1:]] == [item.id for item in added.data]
    kinds = ["type", "call_id", "name", "arguments", "input", "output", "encrypted_content"]
    assert [{n: item[n] for n in kinds if n in item} for item in dumped(listed)] == [
        {n: item[n] for n in kinds if n in item} for item in TURN
    ]
    assert told(listed)[-2:] == ["First.", "Second."]
    assert [message["role"] for message in history(client, made.id)] == [
        "user", "assistant", "tool", "tool", "assistant", "assistant",
    ]  # fmt: skip
    assert [item.id for item in chat.conversations.items.list(made.id, limit=3)] == [i.id for i in listed[::-1]]
    for item in listed:
        assert chat.conversations.items.retrieve(item.id or "", conversation_id=made.id) == item


def test_metadata_is_replaced_and_a_conversation_deleted(chat: openai.OpenAI, client: httpx.Client) -> None:
    made = chat.conversations.create(metadata={"topic": "tea", "old": "x"})
    assert chat.conversations.retrieve(made.id) == made
    assert chat.conversations.update(made.id, metadata={"topic": "coffee"}).metadata == {"topic": "coffee"}
    assert chat.conversations.retrieve(made.id).metadata == {"topic": "coffee"}
    assert chat.conversations.delete(made.id).deleted
    for gone in (chat.conversations.retrieve, chat.conversations.delete, chat.conversations.items.list):
        with pytest.raises(openai.NotFoundError):
            gone(made.id)
    assert client.get(f"/conversations/{made.id}").status_code == 404


def test_a_deleted_item_takes_its_message_with_it(chat: openai.OpenAI, client: httpx.Client) -> None:
    made = chat.conversations.create(items=TURN)
    by_kind = {item.type: item.id or "" for item in chat.conversations.items.list(made.id)}
    assert chat.conversations.items.delete(by_kind["function_call"], conversation_id=made.id).id == made.id
    left = chat.conversations.items.list(made.id, order="asc")
    assert told(left) == ["Look.", "function_call_output", "custom_tool_call_output", "First.", "Second."]
    assert "opaque" not in client.get(f"/conversations/{made.id}/export").text
    for name in ("function_call", "custom_tool_call", "reasoning"):
        with pytest.raises(openai.NotFoundError):
            chat.conversations.items.retrieve(by_kind[name], conversation_id=made.id)
        with pytest.raises(openai.NotFoundError):
            chat.conversations.items.delete(by_kind[name], conversation_id=made.id)


def test_what_was_said_through_responses_are_items_with_the_same_ids(chat: openai.OpenAI, script: Script) -> None:
    script.says(calling(("recall_page", {"page": 1})), "Longjing.")
    made = chat.conversations.create(items=[{"role": "user", "content": "I like longjing."}])
    answer = chat.responses.create(model="fake", input="Which tea?", conversation=made.id)
    listed = list(chat.conversations.items.list(made.id, order="asc"))
    assert told(listed) == ["I like longjing.", "Which tea?", "Longjing."]
    assert listed[-1].id == answer.output[0].id
    assert [item.id for item in chat.responses.input_items.list(answer.id)] == [listed[1].id, listed[0].id]
    assert chat.conversations.items.retrieve(listed[-1].id or "", conversation_id=made.id) == listed[-1]
    assert list(chat.conversations.items.list(made.id, order="asc", after=listed[-1].id or "")) == []


def test_conversations_of_every_form_are_items(chat: openai.OpenAI, client: httpx.Client) -> None:
    blocks: list[Json] = [
        {"role": "assistant", "content": [
            {"type": "thinking", "thinking": "hm", "signature": "s"}, {"type": "text", "text": "Looking."},
            {"type": "tool_use", "id": "t1", "name": "look", "input": {"at": "a"}},
        ]},
        {"role": "user", "content": [
            {"type": "tool_result", "tool_use_id": "t1", "content": "seen"}, {"type": "text", "text": "So?"},
        ]},
    ]  # fmt: skip
    long = "line of a log\n" * 4000
    append(client, "tea", [user("Look."), *blocks, calls("c1"), result("c1", long), user("[erased]")])
    listed = list(chat.conversations.items.list("tea", order="asc"))
    assert [item.type for item in listed] == [
        "message", "message", "function_call", "function_call_output", "message", "function_call",
        "function_call_output", "message",
    ]  # fmt: skip
    assert told(listed)[-1] == "[erased]"
    assert dumped(listed)[6]["output"] == long


def test_an_answer_that_only_refuses_is_an_item(chat: openai.OpenAI, client: httpx.Client) -> None:
    parts = [{"type": "refusal", "refusal": "I cannot say."}]
    append(client, "tea", [user("Who is it?"), {"role": "assistant", "content": parts}])
    items = dumped(chat.conversations.items.list("tea", order="asc"))
    assert items[1]["content"] == parts


def test_a_retry_and_a_key_store_once(chat: openai.OpenAI, client: httpx.Client) -> None:
    made = chat.conversations.create()
    new: Any = [{"role": "user", "content": "Hi."}, {"role": "assistant", "content": "Hello."}]
    first = chat.conversations.items.create(made.id, items=new)
    again = chat.conversations.items.create(made.id, items=new, extra_headers={"X-Stainless-Retry-Count": "1"})
    assert [i.id for i in again.data] == [i.id for i in first.data]
    chat.conversations.items.create(made.id, items=new[:1])
    with ThreadPoolExecutor(8) as pool:
        keyed = {"Idempotency-Key": "one"}
        one = {i.data[0].id for i in pool.map(
            lambda _: chat.conversations.items.create(made.id, items=new, extra_headers=keyed), range(20)
        )}  # fmt: skip
        many = {i.id for i in pool.map(
            lambda _: chat.conversations.create(items=new, extra_headers={"Idempotency-Key": "two"}), range(20)
        )}  # fmt: skip
    assert (len(one), len(many)) == (1, 1)
    assert len(stored(client, made.id)) == 5
    assert len(stored(client, many.pop())) == 2


def test_others_find_nothing(chat: openai.OpenAI, client: httpx.Client, base_url: str) -> None:
    with openai_of(base_url, headers={"X-Quire-User": "me"}) as mine:
        made = mine.conversations.create(items=TURN)
    [item, *_] = chat.conversations.items.list(made.id)
    created(client, id="other", user_id="you")
    with openai_of(base_url, headers={"X-Quire-User": "you"}) as yours:
        asked: list[Any] = [
            lambda: yours.conversations.retrieve(made.id),
            lambda: yours.conversations.update(made.id, metadata={}),
            lambda: yours.conversations.delete(made.id),
            lambda: yours.conversations.items.list(made.id),
            lambda: yours.conversations.items.create(made.id, items=TURN),
            lambda: yours.conversations.items.retrieve(item.id or "", conversation_id=made.id),
            lambda: yours.conversations.items.delete(item.id or "", conversation_id=made.id),
            lambda: yours.conversations.items.retrieve(item.id or "", conversation_id="other"),
            lambda: yours.conversations.items.list("other", after=item.id or ""),
        ]  # fmt: skip
        for ask in asked:
            with pytest.raises(openai.NotFoundError):
                ask()
    assert len(stored(client, made.id)) == 6


@pytest.mark.parametrize(
    ("items", "named"),
    [
        ([], "items"),
        ([*TURN, {"text": "no type"}], "items[9].type"),
        (["text"], "items[0]"),
        ([{"role": "nobody", "content": "x"}], "items[0].role"),
        ([{"type": "function_call", "name": "x"}], "items[0].call_id"),
    ],
)
def test_bad_items_are_named_and_nothing_is_stored(
    chat: openai.OpenAI, client: httpx.Client, items: Any, named: str
) -> None:
    made = chat.conversations.create()
    with pytest.raises(openai.BadRequestError) as refused:
        chat.conversations.items.create(made.id, items=items)
    assert refused.value.param == named
    if items:
        with pytest.raises(openai.BadRequestError):
            chat.conversations.create(items=items)
    assert [c["id"] for c in ok(client.get("/conversations"))["items"]] == [made.id]
    assert not stored(client, made.id)


def test_limits_are_named(chat: openai.OpenAI) -> None:
    made = chat.conversations.create()
    long: list[Any] = [
        {"metadata": {str(n): "" for n in range(17)}},
        {"metadata": {"x" * 65: ""}},
        {"metadata": {"x": "y" * 513}},
        {"metadata": {"x": 1}},
    ]
    for body in long:
        with pytest.raises(openai.BadRequestError, match="metadata"):
            chat.conversations.create(**body)
    with pytest.raises(openai.BadRequestError, match="limit"):
        chat.conversations.items.list(made.id, limit=101)
    for item_id in ("x", "msg_0", f"msg_{'0' * 32}_0", f"msg_{'f' * 40}_0", f"msg_{'0' * 40}_99"):
        with pytest.raises(openai.NotFoundError):
            chat.conversations.items.retrieve(item_id, conversation_id=made.id)
