"""Transcripts that people have come out as messages that an import takes."""

from __future__ import annotations

import json
from typing import Any

import pytest

from app.core.edge.importers import TRANSCRIPTS, parsed, transcript_lines
from app.core.messages import Limits, read

Json = dict[str, Any]


def node(name: str, parent: str | None, role: str, *parts: Any, **more: Any) -> Json:
    content = more.pop("content", {"content_type": "text", "parts": list(parts)})
    message = {"id": name, "author": {"role": role}, "content": content, "create_time": 1_700_000_000.25, **more}
    return {"id": name, "parent": parent, "children": [], "message": message}


def chatgpt(*nodes: Json, current: str | None) -> list[Json]:
    root: Json = {"id": "root", "parent": None, "children": [], "message": None}
    mapping = {one["id"]: one for one in (root, *nodes)}
    return [{"conversation_id": "c1", "title": "Tea", "mapping": mapping, "current_node": current}]


CHATGPT = chatgpt(
    node("u", "root", "user", "Plot it"),
    node("old", "u", "assistant", "An answer that was replaced"),
    node("think", "u", "assistant", content={"content_type": "thoughts", "thoughts": []}),
    node("run", "think", "assistant", content={"content_type": "code", "text": "plot()"}, recipient="python"),
    node("ran", "run", "tool", content={"content_type": "execution_output", "text": "done"}),
    node("a", "ran", "assistant", "Here it is"),
    current="a",
)
CLAUDE_AI = [
    {
        "uuid": "c2",
        "name": "Tea",
        "chat_messages": [
            {"uuid": "m1", "sender": "human", "text": "Plot it", "created_at": "2025-10-03T12:00:00.5Z",
             "attachments": [{"file_name": "a.csv", "extracted_content": "1,2"}]},
            {"uuid": "m2", "sender": "assistant", "content": [
                {"type": "thinking", "thinking": "hm"},
                {"type": "tool_use", "id": "t", "name": "python", "input": {"input": "plot()"}, "message": None},
                {"type": "tool_result", "tool_use_id": "t", "content": [{"type": "text", "text": "done"}]},
                {"type": "text", "text": "Here it is", "start_timestamp": "x"},
            ]},
        ],
    }
]  # fmt: skip


def line(uuid: str, parent: str | None, role: str, content: Any, **more: Any) -> Json:
    return {"type": role, "uuid": uuid, "parentUuid": parent, "sessionId": "c3", "timestamp": "2025-10-03T12:00:00.1Z",
            "message": {"role": role, "content": content, "usage": {}}, **more}  # fmt: skip


CLAUDE_CODE = [
    {"type": "summary", "summary": "Tea", "leafUuid": "x"},
    line("0", "root", "user", "A prompt that was taken back"),
    line("00", "0", "assistant", [{"type": "text", "text": "Its answer"}]),
    line("1", "root", "user", "Plot it"),
    line("2", "1", "assistant", [{"type": "tool_use", "id": "t1", "name": "python", "input": {"input": "plot()"}}]),
    line("3", "2", "assistant", [{"type": "tool_use", "id": "t2", "name": "Task", "input": {}}]),
    line("s", None, "user", "said to a sub-agent", isSidechain=True),
    line("4", "2", "user", [{"type": "tool_result", "tool_use_id": "t1", "content": "done"}], toolUseResult={"a": 1}),
    line("5", "3", "user", [{"type": "tool_result", "tool_use_id": "t2", "content": "ok"}]),
    line("6", "5", "assistant", [{"type": "text", "text": "Here it is"}]),
    line("6", "5", "assistant", [{"type": "text", "text": "Here it is"}]),
]


def item(kind: str, **payload: Any) -> Json:
    return {"timestamp": "2025-10-03T12:00:00.1Z", "type": "response_item", "payload": {"type": kind, **payload}}


CODEX = [
    {"timestamp": "2025-10-03T12:00:00Z", "type": "session_meta", "payload": {"id": "c4", "cwd": "/p"}},
    item("message", role="user", content=[{"type": "input_text", "text": "Plot it"}]),
    {"timestamp": "2025-10-03T12:00:00Z", "type": "event_msg", "payload": {"type": "token_count"}},
    item("reasoning", summary=[], encrypted_content="x"),
    item("function_call", name="python", arguments='{"input": "plot()"}', call_id="k"),
    item("function_call_output", call_id="k", output={"content": "done", "success": True}),
    item("message", role="assistant", content=[{"type": "output_text", "text": "Here it is"}]),
]
CALLED = {"type": "tool_use", "id": "t", "name": "python", "input": {"input": "plot()"}}
MESSAGES = {
    "system": "Be brief.",
    "messages": [
        {"role": "user", "content": "Plot it", "timestamp": 1_700_000_000},
        {
            "role": "assistant",
            "content": [{"type": "tool_use", "id": "t", "name": "python", "input": {"input": "plot()"}}],
        },
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t", "content": "done"}]},
        {"role": "assistant", "content": "Here it is"},
    ],
}
SAMPLES: dict[str, Any] = {
    "chatgpt": CHATGPT, "claude-ai": CLAUDE_AI, "claude-code": CLAUDE_CODE, "codex": CODEX, "messages": MESSAGES,
}  # fmt: skip
NAMED = {"chatgpt": "chatgpt:c1", "claude-ai": "claude-ai:c2", "claude-code": "claude-code:c3", "codex": "codex:c4"}


def read_lines(source: str, value: Any, conversation: str | None = None) -> list[Json]:
    return [json.loads(one) for one in transcript_lines(source, value, "u", conversation)]


@pytest.mark.parametrize("source", TRANSCRIPTS)
def test_a_transcript_is_read_as_it_was_shown(source: str) -> None:
    found = read_lines(source, SAMPLES[source], None if source in NAMED else "c")
    assert [one["type"] for one in (found[0], found[1], found[-1])] == ["header", "conversation", "end"]
    assert (found[1]["id"], found[1]["user_id"]) == (NAMED.get(source, "c"), "u")
    told = [one for one in found if one["type"] == "message"]
    assert [one["seq"] for one in told] == list(range(1, len(told) + 1))
    drafts = read([one["message"] for one in told], Limits())
    assert drafts[-1].text == "Here it is"
    assert "Plot it" in next(draft.text for draft in drafts if draft.role == "user")
    calls = {call.id: call for draft in drafts for call in draft.calls}
    results = {result.call_id: result.text for draft in drafts for result in draft.results}
    assert calls.keys() == results.keys()
    [ran] = [call for call in calls.values() if call.name == "python"]
    assert (json.loads(ran.arguments), results[ran.id]) == ({"input": "plot()"}, "done")
    said = json.dumps([one["message"] for one in told])
    assert not any(gone in said for gone in ("replaced", "taken back", "Its answer", "sub-agent", "hm"))
    assert any(draft.said_at is not None for draft in drafts)


@pytest.mark.parametrize("source", TRANSCRIPTS)
@pytest.mark.parametrize("value", [None, 1, "x", {}, [], [1], [{"role": "captain"}], {"messages": 1}, [{"mapping": 3}]])
def test_what_is_no_transcript_is_refused(source: str, value: Any) -> None:
    with pytest.raises(ValueError, match=r"the file has no|has no `mapping`|has no id|`chat_messages`"):
        read_lines(source, value, "c")


def test_a_tree_with_a_cycle_is_refused() -> None:
    tree = chatgpt(node("a", "b", "user", "x"), node("b", "a", "assistant", "y"), current="b")
    with pytest.raises(ValueError, match="'c1' has a cycle"):
        read_lines("chatgpt", tree)


def test_a_tree_that_does_not_name_the_branch_shown_has_its_last_leaf() -> None:
    tree = chatgpt(node("a", "root", "user", "x"), node("b", "a", "assistant", "y"), current=None)
    tree[0]["mapping"]["root"]["children"], tree[0]["mapping"]["a"]["children"] = ["a"], ["b"]
    assert [one["message"]["content"] for one in read_lines("chatgpt", tree) if one["type"] == "message"] == ["x", "y"]


def test_a_file_without_an_id_needs_one_and_a_file_with_several_takes_none() -> None:
    with pytest.raises(ValueError, match="--conversation"):
        read_lines("messages", MESSAGES)
    with pytest.raises(ValueError, match="--conversation"):
        read_lines("chatgpt", [*CHATGPT, *CHATGPT], "c")


def test_json_lines_are_read_as_their_list() -> None:
    text = "\n".join(json.dumps(one) for one in CODEX)
    assert parsed(text.encode()) == CODEX
    assert parsed(f'{text}\n{{"type":"user","mess'.encode()) == CODEX
    for wrong in (b"", b"text", b'{"a": 1', b'{"a": 1}\n{\n{"a": 1}'):
        with pytest.raises(ValueError, match="Expecting"):
            parsed(wrong)
