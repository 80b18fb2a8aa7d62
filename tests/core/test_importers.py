"""What others export comes out as messages that an import takes."""

import json
from typing import Any

import pytest

from app.core.importers import SOURCES, lines
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
def test_what_is_something_else_is_refused(source: str, value: Any) -> None:
    with pytest.raises(ValueError, match="no list of messages"):
        list(lines(source, value, "c", "u"))


def test_times_of_another_service_are_when_messages_were_said_unless_they_go_back() -> None:
    times = ["2025-10-03T12:00:00+02:00", "2025-10-03T09:00:00Z", "no time", "2025-10-03T10:00:01Z"]
    said = {"messages": [{"role": "user", "content": "Hi", "created_at": time} for time in times]}
    found = [json.loads(line).get("message", {}) for line in lines("redis", said, "c", "u")][2:-1]
    assert [message.get("said_at") for message in found] == [
        "2025-10-03T10:00:00Z", None, None, "2025-10-03T10:00:01Z"
    ]  # fmt: skip
