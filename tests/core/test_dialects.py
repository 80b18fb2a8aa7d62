"""Translations between dialects, as pure functions."""

import json
from collections.abc import Sequence
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.core.dialects.compaction import opened, sealed
from app.core.dialects.deltas import AnswerSoFar
from app.core.dialects.inbound_chat import ChatWriter
from app.core.dialects.inbound_messages import MessagesWriter, messages_usage
from app.core.dialects.inbound_responses import responses_usage
from app.core.dialects.items import items_of, messages_of
from app.core.dialects.proxy import ToolOwners
from app.core.dialects.question import AnswerReader, with_message
from app.core.dialects.stored import StoredPart, message
from app.core.dialects.upstream_chat import ChatReader
from app.core.dialects.upstream_messages import MessagesReader

TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
VALUE = st.recursive(st.none() | st.integers() | TEXT, lambda inner: st.lists(inner) | st.dictionaries(TEXT, inner))
SPACES = st.sampled_from([(",", ":"), (", ", ": "), (" ,\n ", " : ")])


@given(st.dictionaries(TEXT.filter(lambda name: name != "messages"), VALUE), st.lists(TEXT, min_size=1), TEXT, SPACES)
def test_one_message_is_added_and_no_other_byte_changes(
    rest: dict[str, Any], said: list[str], text: str, spaces: tuple[str, str]
) -> None:
    body = {**rest, "messages": [{"role": "user", "content": words} for words in said], "last": 1}
    sent = json.dumps(body, separators=spaces).encode()
    found = with_message(sent, "chat", text)
    assert json.loads(found) == {**body, "messages": [*body["messages"], {"role": "user", "content": text}]}
    at = next(i for i, (one, other) in enumerate(zip(sent, found, strict=False)) if one != other)
    assert found.endswith(sent[at:])


def test_a_request_without_a_list_to_go_on_stays_as_it_is() -> None:
    for body in (b"{}", b'{"messages": []}', b'{"messages":"x"}', b'{"messages":[{"role":"assistant"}]}'):
        assert with_message(body, "chat", "x") == body


CALLS = st.lists(st.sampled_from(["look", "patch"]), max_size=3)


@given(st.lists(st.tuples(TEXT.filter(bool), CALLS), min_size=1, max_size=4))
def test_messages_become_items_and_messages_again(turns: list[tuple[str, list[str]]]) -> None:
    listed: list[dict[str, Any]] = []
    for number, (text, calls) in enumerate(turns):
        made = [
            {"id": f"{number}.{i}", "type": "function", "function": {"name": name, "arguments": '{"input":"x"}'}}
            for i, name in enumerate(calls)
        ]
        said = {"role": "assistant", "content": text, **({"tool_calls": made} if made else {})}
        results = [{"role": "tool", "tool_call_id": call["id"], "content": text} for call in made]
        listed += [{"role": "user", "content": text}, said, *results]
    items = items_of(listed, custom={"patch"})
    assert messages_of(items) == listed


@given(TEXT.filter(lambda text: text.isprintable() and text), st.integers(0, 10**18 - 1), st.uuids(), st.uuids())
def test_a_compaction_is_of_one_conversation(name: str, through: int, uid: UUID, other: UUID) -> None:
    found = opened(sealed(name, through, uid))
    assert found is not None
    assert (found.conversation_id, found.through) == (name, through)
    assert found.is_of(uid)
    assert found.is_of(other) == (uid == other)


def test_opaque_items_say_which_call_they_came_before() -> None:
    parts = [
        StoredPart("native", native={"id": "r1"}, dialect="responses"), StoredPart("call", "a"),
        StoredPart("native", native={"id": "r2"}, dialect="responses"), StoredPart("text", "Hm."),
    ]  # fmt: skip
    call = {"id": "a", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    said = message(parts, [call], "Hm.")
    assert [part.get("before_call") for part in said["content"]] == ["a", None, None]


def told(reader: AnswerReader, events: Sequence[dict[str, Any]]) -> tuple[AnswerSoFar, dict[str, Any]]:
    """Return an answer read from events, and the same for a Messages client."""
    said, writer = AnswerSoFar.start(ToolOwners((), ())), MessagesWriter("msg_1", "m")
    said, passed = said.feed_all(chunk for event in events for chunk in reader.feed(event))
    said, held = said.end_round()
    for chunk in [*passed, *held, said.end("stop")]:
        writer.feed(chunk)
    writer.end(None)
    return said, writer.whole()


def chunk(*calls: dict[str, Any], finish: str | None = None) -> dict[str, Any]:
    return {"choices": [{"index": 0, "delta": {"tool_calls": list(calls)}, "finish_reason": finish}]}


def part(id_: str | None, name: str | None, arguments: str, index: int = 0) -> dict[str, Any]:
    return {"index": index, "id": id_, "type": "function", "function": {"name": name, "arguments": arguments}}


def test_a_new_id_at_the_index_of_another_call_is_a_new_call() -> None:
    found, _ = told(
        ChatReader(), [chunk(part("a", "f", '{"p":')), chunk(part("a", None, "1}")), chunk(part("b", "f", "{}"))]
    )
    assert [(c["id"], c["function"]["arguments"]) for c in found.calls] == [("a", '{"p":1}'), ("b", "{}")]
    same = [chunk(part("a", "f", "{")), chunk(part("a", "f", "}")), chunk(part("c", "f", "{}", index=1))]
    assert [c["function"]["arguments"] for c in told(ChatReader(), same)[0].calls] == ["{}", "{}"]


def test_a_custom_tools_call_is_read_as_a_functions_once_it_is_whole() -> None:
    def custom(id_: str | None, name: str | None, text: str) -> dict[str, Any]:
        return {"index": 0, "id": id_, "type": "custom", "custom": {"name": name, "input": text}}

    events = [chunk(custom("a", "patch", "*** ")), chunk(custom(None, None, "Begin")), chunk(finish="tool_calls")]
    found, _ = told(ChatReader(), events)
    assert [c["function"] for c in found.calls] == [{"name": "patch", "arguments": '{"input":"*** Begin"}'}]
    writer = ChatWriter(custom={"patch"})
    for event in [chunk({**found.calls[0], "index": 0}), chunk(finish="tool_calls")]:
        writer.feed(event)
    [call] = writer.whole()["choices"][0]["message"]["tool_calls"]
    assert (call["id"], call["custom"]) == ("a", {"name": "patch", "input": "*** Begin"})


CITED = {"type": "char_location", "cited_text": "abc", "document_index": 0}


def block(index: int, start: dict[str, Any], *deltas: dict[str, Any]) -> list[dict[str, Any]]:
    return [
        {"type": "content_block_start", "index": index, "content_block": start},
        *({"type": "content_block_delta", "index": index, "delta": delta} for delta in deltas),
        {"type": "content_block_stop", "index": index},
    ]


def test_citations_stay_on_their_block_wherever_they_come() -> None:
    empty = {"type": "text", "text": ""}
    cite, words = {"type": "citations_delta", "citation": CITED}, {"type": "text_delta", "text": "So it is"}
    before = {"type": "text_delta", "text": "In my view. "}
    for deltas in ((words, cite), (cite, words)):
        found, whole = told(MessagesReader(), [*block(0, empty, before), *block(1, empty, *deltas)])
        cited = {"type": "text", "text": "So it is", "citations": [CITED]}
        assert whole["content"] == [{"type": "text", "text": "In my view. "}, cited]
        assert message(found.round.parts, [], found.text)["content"] == whole["content"]
        assert found.text == "In my view. So it is"


def test_arguments_that_come_whole_at_the_beginning_of_a_block_count() -> None:
    start = {"type": "tool_use", "id": "a", "name": "f", "input": {"p": 1}}
    found, whole = told(MessagesReader(), block(0, start))
    assert [c["function"]["arguments"] for c in found.calls] == ['{"p":1}']
    assert whole["content"] == [start]


@pytest.mark.parametrize(
    "usage",
    [
        {"prompt_tokens_details": {"cached_tokens": 60, "cache_creation_tokens": 30}},
        {"prompt_tokens_details": {"cached_tokens": 60, "cache_write_tokens": 30}},
        {"prompt_cache_hit_tokens": 60, "prompt_cache_miss_tokens": 40, "cache_creation_input_tokens": 30},
        {"cached_tokens": 60, "prompt_tokens_details": {"cache_creation_tokens": 30}},
    ],
    ids=["Messages", "OpenAI", "DeepSeek and Qwen", "Kimi"],
)
def test_what_a_cache_gave_and_took_is_told_by_any_name(usage: dict[str, Any]) -> None:
    """The names are those that clients read: openai 3.57.0, litellm 1.110.2 (deepseek, dashscope, moonshot)."""
    said = {"prompt_tokens": 100, "completion_tokens": 5, "total_tokens": 105, **usage}
    found = messages_usage(said)
    names = ("input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens", "output_tokens")
    assert [found[name] for name in names] == [10, 60, 30, 5]
    found = responses_usage(said)
    assert found["input_tokens_details"] == {"cached_tokens": 60, "cache_write_tokens": 30}
    assert (found["input_tokens"], found["total_tokens"]) == (100, 105)
