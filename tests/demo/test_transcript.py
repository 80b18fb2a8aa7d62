"""Transcripts of both forms become the same chat messages, cut into steps that keep pairs whole."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quire_command.demo.transcript import TranscriptError, as_chat, batches, groups, load, steps, transcript

Message = dict[str, Any]


def user(text: str = "hi") -> Message:
    return {"role": "user", "content": text}


def call(*ids: str) -> Message:
    calls = [{"id": name, "type": "function", "function": {"name": "look", "arguments": "{}"}} for name in ids]
    return {"role": "assistant", "content": None, "tool_calls": calls}


def result(name: str) -> Message:
    return {"role": "tool", "tool_call_id": name, "content": "seen"}


def answer(text: str = "ok") -> Message:
    return {"role": "assistant", "content": text}


DIALOGUE = [
    {"role": "system", "content": "be kind"},
    user(),
    call("a", "b"),
    result("a"),
    result("b"),
    answer(),
    user(),
    answer(),
]

message_lists = st.lists(
    st.sampled_from([[user()], [answer()], [call("a"), result("a")], [call("a", "b"), result("a"), result("b")]]),
    max_size=12,
).map(lambda parts: [message for part in parts for message in part])


def write(path: Path, lines: list[Any]) -> Path:
    path.write_text("\n".join(json.dumps(line) for line in lines), "utf-8")
    return path


def test_one_message_a_line_is_one_conversation_named_after_the_file(tmp_path: Path) -> None:
    [found] = load(write(tmp_path / "talk.jsonl", DIALOGUE))
    assert (found.id, list(found.messages)) == ("talk", DIALOGUE)


def test_one_conversation_a_line_keeps_its_ids(tmp_path: Path) -> None:
    lines = [{"id": "c1", "messages": [user()]}, {"id": "c2", "messages": []}]
    assert [found.id for found in load(write(tmp_path / "many.jsonl", lines))] == ["c1", "c2"]


@pytest.mark.parametrize("arguments", [{"q": "龙井"}, '{"q": "龙井"}'])
def test_a_flat_call_becomes_a_function_call(arguments: Any) -> None:
    message = {"role": "assistant", "content": "", "tool_calls": [{"id": "x", "name": "find", "arguments": arguments}]}
    [found] = as_chat(message)["tool_calls"]
    assert found == {"id": "x", "type": "function", "function": {"name": "find", "arguments": '{"q": "龙井"}'}}


def test_thinking_and_client_id_get_their_names_and_unknown_fields_go() -> None:
    found = as_chat(
        {"role": "assistant", "content": "x", "thinking": "hm", "dia_id": "D1:1", "timestamp": "2023", "tool_calls": []}
    )
    assert found == {"role": "assistant", "content": "x", "reasoning_content": "hm", "client_id": "D1:1"}


def ids(messages: list[Message]) -> list[Any]:
    """The ids of calls (as lists) and of results, in order; None for other messages."""
    lines = transcript("t", messages).messages
    return [[c["id"] for c in m["tool_calls"]] if "tool_calls" in m else m.get("tool_call_id") for m in lines]


def test_a_result_without_an_id_answers_the_oldest_unanswered_call_of_its_turn() -> None:
    nameless: Message = {"role": "tool", "content": "seen"}
    assert ids([user(), call("a", "b"), result("a"), nameless, nameless]) == [None, ["a", "b"], "a", "b", "unpaired-1"]
    assert ids([call("a"), user(), nameless, nameless]) == [["a"], None, "unpaired-1", "unpaired-2"]


def test_a_call_without_an_id_made_the_result_that_no_other_call_made() -> None:
    lost = {"role": "assistant", "tool_calls": [*call("a")["tool_calls"], {"id": None, "name": "", "arguments": "{"}]}
    assert ids([user(), lost, result("x"), result("a")]) == [None, ["a", "x"], "x", "a"]
    assert ids([user(), lost, result("a"), user(), result("x")]) == [None, ["a", "unpaired-1"], "a", None, "x"]


def test_empty_names_go_and_a_call_that_lost_its_name_is_unnamed() -> None:
    found = as_chat({"role": "assistant", "name": "", "tool_calls": [{"id": "", "name": "", "arguments": "{"}]})
    assert "name" not in found
    assert found["tool_calls"][0]["function"] == {"name": "unnamed", "arguments": "{"}


@pytest.mark.parametrize("text", ["", "{", "[]", '{"a": 1}'])
def test_a_file_that_is_no_transcript_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "bad.jsonl").write_text(text)
    with pytest.raises(TranscriptError):
        load(tmp_path / "bad.jsonl")


def test_a_turn_reaches_to_the_next_user_message_and_the_first_takes_the_system_prompt() -> None:
    assert [(step.turn, len(step.messages)) for step in steps(DIALOGUE)] == [(1, 6), (2, 2)]


def test_every_message_is_a_step_but_calls_stay_with_their_results() -> None:
    found = [(step.turn, len(step.messages)) for step in steps(DIALOGUE, every_message=True)]
    assert found == [(1, 1), (1, 1), (1, 3), (1, 1), (2, 1), (2, 1)]


@given(message_lists, st.booleans(), st.integers(1, 6))
def test_steps_and_batches_lose_nothing_and_never_begin_with_a_result(
    messages: list[Message], every: bool, size: int
) -> None:
    found = steps(messages, every)
    assert [message for step in found for message in step.messages] == messages
    assert [message for batch in batches(messages, size) for message in batch] == messages
    assert all(step.messages[0]["role"] != "tool" for step in found)
    assert all(batch[0]["role"] != "tool" for batch in batches(messages, size))


@given(message_lists, st.integers(1, 6))
def test_a_batch_is_small_unless_one_group_is_longer(messages: list[Message], size: int) -> None:
    assert all(len(batch) <= size or len(list(groups(batch))) == 1 for batch in batches(messages, size))
