"""Questions that a model's API refused for good."""

import json
from typing import Any

import pytest

from app.core.conversation import ConversationEnd
from app.core.history.ingest import place
from app.core.history.preparation import Origin
from app.core.history.refused import leaves, open_again
from app.core.messages import Limits, read
from app.providers import RefusedInput, TemporaryError, UnusableReply
from app.providers.upstream import RefusalError, is_final


@pytest.mark.parametrize(
    ("origin", "role", "left"),
    [
        ("proxy question", "user", True),
        ("proxy question", "assistant", True),
        ("proxy recall", "assistant", False),
        ("proxy answer", "assistant", False),
        ("caller", "user", True),
        ("caller", "assistant", False),
        ("caller", "tool", True),
        ("import", "user", True),
    ],
)
def test_what_follows_decides_whether_it_leaves(origin: Origin, role: str, left: bool) -> None:
    assert leaves(origin, role) is left


@pytest.mark.parametrize(
    ("error", "final"),
    [
        (RefusalError(400, "", None), True),
        (RefusalError(413, "", None), True),
        (RefusalError(400, "", None, param="messages[1].content"), True),
        (RefusalError(400, "", None, param="temperature"), False),
        (RefusalError(403, "", None), False),
        (RefusalError(403, "", None, code="content_filter"), True),
        (RefusalError(500, "", None, code="content_filter"), False),
        (RefusalError(404, "", None), False),
        (RefusalError(429, "", None), False),
        (RefusedInput("content_filter"), True),
        (TemporaryError("away"), False),
        (UnusableReply("empty"), False),
    ],
)
def test_only_a_refusal_of_the_question_itself_is_final(error: Exception, final: bool) -> None:
    assert is_final(error) is final


def test_calls_are_open_again_without_their_results() -> None:
    calls = [{"id": i, "type": "function", "function": {"name": f"f{i}", "arguments": "{}"}} for i in "ab"]
    call = {"role": "assistant", "content": None, "tool_calls": calls}
    shown = [json.dumps(call), json.dumps({"role": "tool", "tool_call_id": "a", "content": "1"})]
    assert [c.id for c in open_again(shown[:1], 1)] == ["a", "b"]
    assert [(c.id, c.name) for c in open_again(shown, 1)] == [("b", "fb")]


def test_refused_messages_keep_their_place_and_leave_calls_open() -> None:
    call = {"id": "a", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    said: list[dict[str, Any]] = [
        {"role": "user", "content": "look"},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "a", "content": "refused"},
        {"role": "tool", "tool_call_id": "a", "content": "anew"},
        {"role": "user", "content": "refused"},
        {"role": "user", "content": "next"},
    ]
    placed, end = place(ConversationEnd(), read(said, Limits()), {2, 4})
    assert [p.kind for p in placed] == ["message", "call", "refused", "result", "refused", "message"]
    assert [p.group for p in placed] == [1, 2, 3, 2, 5, 6]
    assert [p.page for p in placed] == [1, 1, 1, 1, 2, 3]
    assert (end.last_seq, end.open_calls) == (6, ())
