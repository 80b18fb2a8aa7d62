"""What others export comes out as messages that an import takes."""

import json
from typing import Any
from uuid import UUID

import pytest

from app.core.edge.importers import SOURCES, is_quires, lines, looks_like, memory_lines
from app.core.messages import Limits, read

WHEN = "2025-10-03T12:34:56Z"
SAMPLES: dict[str, Any] = {
    "redis": {
        "session_id": "s",
        "messages": [
            {"id": "01", "role": "user", "content": "Hi", "created_at": WHEN},
            {"id": "02", "role": "assistant", "content": "Hello", "created_at": WHEN},
        ],
        "memories": [],
    },
    "zep": {
        "messages": [
            {"uuid": "a", "created_at": WHEN, "role": "Ann", "role_type": "user", "content": "Hi"},
            {"uuid": "b", "created_at": WHEN, "role": "assistant", "content": "Hello"},
        ]
    },
    "letta": [
        {"id": "m1", "date": WHEN, "message_type": "user_message", "content": "Hi"},
        {"id": "m2", "date": WHEN, "message_type": "reasoning_message", "reasoning": "hm"},
        {
            "id": "m2",
            "date": WHEN,
            "message_type": "tool_call_message",
            "tool_call": {"name": "look", "arguments": '{"q":1}', "tool_call_id": "c1"},
        },
        {"id": "m3", "date": WHEN, "message_type": "tool_return_message", "tool_return": "seen", "tool_call_id": "c1"},
        {"id": "m4", "date": WHEN, "message_type": "assistant_message", "content": [{"type": "text", "text": "Hello"}]},
    ],
    "langgraph": {
        "checkpoint": {
            "channel_values": {
                "messages": [
                    {"type": "human", "content": "Hi", "id": "h"},
                    {
                        "lc": 1,
                        "type": "constructor",
                        "id": ["langchain", "schema", "messages", "AIMessage"],
                        "kwargs": {"content": "", "tool_calls": [{"id": "c1", "name": "look", "args": {"q": 1}}]},
                    },
                    {"type": "tool", "content": "seen", "tool_call_id": "c1"},
                    {"type": "ai", "content": "Hello"},
                ]
            }
        }
    },
}


@pytest.mark.parametrize("source", SOURCES)
def test_a_conversation_of_another_service_is_read(source: str) -> None:
    found = [json.loads(line) for line in lines(source, SAMPLES[source], "c", "u")]
    assert [line["type"] for line in (found[0], found[1], found[-1])] == ["header", "conversation", "end"]
    messages = [line["message"] for line in found if line["type"] == "message"]
    assert [line["seq"] for line in found if line["type"] == "message"] == list(range(1, len(messages) + 1))
    drafts = read(messages, Limits())
    roles = ["user", "assistant", "tool", "assistant"] if source in ("letta", "langgraph") else ["user", "assistant"]
    assert [draft.role for draft in drafts] == roles
    assert (drafts[0].text, drafts[-1].text) == ("Hi", "Hello")
    if len(drafts) == 4:
        [call], [answer] = drafts[1].calls, drafts[2].results
        assert (call.id, call.name, json.loads(call.arguments)) == ("c1", "look", {"q": 1})
        assert (answer.call_id, answer.text) == ("c1", "seen")


@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize("value", [None, 1, {}, {"messages": 1}, [1]])
def test_an_unknown_format_is_rejected(source: str, value: Any) -> None:
    with pytest.raises(ValueError, match="no list of messages"):
        list(lines(source, value, "c", "u"))


def test_times_of_another_service_are_kept_unless_they_decrease() -> None:
    times = ["2025-10-03T12:00:00+02:00", "2025-10-03T09:00:00Z", "no time", "2025-10-03T10:00:01Z"]
    said = {"messages": [{"role": "user", "content": "Hi", "created_at": time} for time in times]}
    found = [json.loads(line).get("message", {}) for line in lines("redis", said, "c", "u")][2:-1]
    assert [message.get("said_at") for message in found] == [
        "2025-10-03T12:00:00+02:00", None, None, "2025-10-03T10:00:01+00:00"
    ]  # fmt: skip


MEMORY = {
    "id": "0f6c2f0e-3f8b-4d0c-9a43-8f1f6f1f2a11", "memory": "喜欢龙井 and hiking", "hash": "ab", "user_id": "ann",
    "metadata": {"topic": "tea"}, "created_at": "2025-09-25T10:31:31.000000-07:00", "updated_at": None,
}  # fmt: skip


@pytest.mark.parametrize("value", [{"results": [MEMORY]}, [MEMORY]])
def test_memories_of_another_service_are_read(value: Any) -> None:
    header, memory = (json.loads(line) for line in memory_lines("mem0", value, "me"))
    assert (header["type"], header["user_id"]) == ("header", "me")
    assert memory == {
        "type": "memory", "id": MEMORY["id"], "user_id": "me", "memory_type": "general", "content": MEMORY["memory"],
        "metadata": {"topic": "tea"}, "created_at": "2025-09-25T17:31:31Z",
    }  # fmt: skip


def test_a_memory_keeps_its_identity_and_needs_no_time() -> None:
    odd = {"results": [{"id": "mem-1", "memory": "Likes tea", "created_at": "2025-09-25T10:31:31"}]}
    [first], [second] = ([json.loads(line) for line in memory_lines("mem0", odd, "me")][1:] for _ in range(2))
    assert first == second
    assert str(UUID(first["id"])) == first["id"]
    assert "created_at" not in first


@pytest.mark.parametrize(
    "value", [None, {}, {"results": 1}, ["text"], [{"memory": "no id"}], [{"id": "a"}], [{"id": "a", "memory": " "}]]
)
def test_an_unknown_format_of_memories_is_rejected(value: Any) -> None:
    with pytest.raises(ValueError, match=r"no list of memories|has no text"):
        list(memory_lines("mem0", value, "me"))


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("letta", {"message_type": "tool_call_message", "tool_call": {"name": "look"}}),
        ("letta", {"message_type": "tool_call_message", "tool_call": [1]}),
        ("langgraph", {"type": "tool", "content": "seen"}),
        ("langgraph", {"type": "constructor", "id": []}),
        ("redis", {"role": "user", "content": [1]}),
    ],
)
def test_a_message_of_another_form_is_named(source: str, message: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="after 1 messages comes one of another form"):
        list(lines(source, [{"role": "user", "type": "human", "message_type": "user_message"}, message], "c", "u"))


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b'{"results": [], "page": 1}', "is a JSON object with results, page"),
        (b'[{"role": "user", "content": "x"}]', "is a JSON list of 1, the first with role, content"),
        (b'{"type": "user"}\n{"type": "assistant"}\n', "has a JSON object on each line, the first with type"),
        (b"PK\x03\x04", "is a ZIP archive: unpack it first"),
        (b"Dear diary", "is text, not JSON"),
        (b'{"half": ', "is JSON that ends too early"),
        (b"", "is empty"),
    ],
)
def test_a_file_is_described_by_what_it_looks_like(content: bytes, said: str) -> None:
    assert looks_like(content) == said
    assert is_quires(content) == (content == b"")


def test_a_removal_in_a_langgraph_dump_is_no_message() -> None:
    dump = {"messages": [{"type": "human", "content": "Hi"}, {"type": "remove", "content": "", "id": "h"}]}
    found = [json.loads(line) for line in lines("langgraph", dump, "c", "u")]
    assert [line["message"]["content"] for line in found if line["type"] == "message"] == ["Hi"]


def test_a_state_of_langgraphs_api_is_read_beside_the_checkpoint_that_it_names() -> None:
    state: Any = {
        "values": {"messages": [{"type": "human", "content": "Hi"}]}, "next": [], "tasks": [], "metadata": {},
        "checkpoint": {"thread_id": "t", "checkpoint_ns": "", "checkpoint_id": "c1"}, "parent_checkpoint": None,
    }  # fmt: skip
    found = [json.loads(line) for line in lines("langgraph", state, "c", "u")]
    assert [line["message"]["content"] for line in found if line["type"] == "message"] == ["Hi"]
