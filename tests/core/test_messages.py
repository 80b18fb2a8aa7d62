"""Reading callers' messages, and refusing invalid ones with the place of the problem."""

from __future__ import annotations

from typing import Any

import pytest

from app.core.messages import Limits, read, weigh
from app.errors import Invalid, PayloadTooLarge

USER = {"role": "user", "content": "hello"}


def refused(message: Any) -> list[tuple[str, str]]:
    """Return the place (within the message) and the rule of each problem."""
    with pytest.raises(Invalid) as caught:
        read([message], Limits())
    return [(".".join(map(str, e["loc"][3:])), e["msg"]) for e in caught.value.errors]


@pytest.mark.parametrize(
    ("message", "place", "rule"),
    [
        ("hello", "", "must be an object"),
        ({"content": "x"}, "role", "must be one of"),
        ({"role": "robot", "content": "x"}, "role", "must be one of"),
        ({**USER, "seq": 3}, "seq", "set by Quire"),
        ({**USER, "tenant_id": "x"}, "tenant_id", "set by Quire"),
        ({"role": "user"}, "content", "must be a string or a list"),
        ({"role": "user", "content": None}, "content", "must be a string or a list"),
        ({"role": "user", "content": {"text": "x"}}, "content", "must be a string or a list"),
        ({"role": "assistant", "content": 7}, "content", "must be a string or a list"),
        ({"role": "user", "content": ["x"]}, "content.0", "must be an object with a `type`"),
        ({"role": "user", "content": [{"text": "x"}]}, "content.0", "must be an object with a `type`"),
        ({"role": "user", "content": [{"type": "text"}]}, "content.0.text", "must be a string"),
        ({**USER, "client_id": ""}, "client_id", "1 to 128"),
        ({**USER, "id": "x" * 129}, "id", "1 to 128"),
        ({**USER, "client_id": "a\nb"}, "client_id", "control characters"),
        ({**USER, "client_id": "a", "id": "b"}, "id", "must equal `client_id`"),
        ({**USER, "name": 5}, "name", "1 to 256"),
        ({**USER, "tool_calls": [{"id": "a"}]}, "tool_calls", "role is assistant"),
        ({"role": "assistant", "tool_calls": {}}, "tool_calls", "must be a list"),
        ({"role": "assistant", "tool_calls": ["x"]}, "tool_calls.0", "`id` and `function`"),
        ({"role": "assistant", "tool_calls": [{"id": "a", "function": 3}]}, "tool_calls.0", "`id` and `function`"),
        ({"role": "assistant", "tool_calls": [{"id": 3, "function": {"name": "f"}}]}, "tool_calls.0.id", "1 to 8192"),
        ({"role": "assistant", "tool_calls": [{"id": "a", "function": {}}]}, "tool_calls.0.name", "1 to 256"),
        (
            {"role": "assistant", "tool_calls": [{"id": "a", "function": {"name": "f", "arguments": 3}}]},
            "tool_calls.0.arguments",
            "JSON string or an object",
        ),
        ({"role": "tool", "tool_call_id": 3, "content": "x"}, "tool_call_id", "must be the id"),
        ({"role": "tool", "tool_call_id": "a", "content": None}, "content", "must be a string or a list"),
        (
            {"role": "user", "content": [{"type": "tool_result", "tool_use_id": 3}]},
            "content.0.tool_use_id",
            "must be the id",
        ),
        (
            {"role": "assistant", "content": [{"type": "tool_result", "tool_use_id": "a"}]},
            "content.0.tool_use_id",
            "must be the id",
        ),
        ({"role": "user", "content": [{"type": "tool_use", "id": "a", "name": "f"}]}, "content", "role is assistant"),
        (
            {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "a", "content": 3}]},
            "content.0.content",
            "must be a string or a list",
        ),
        (
            {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "a", "content": [{"type": "text"}]}]},
            "content.0.content.0.text",
            "must be a string",
        ),
        (
            {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "a", "content": [{}]}]},
            "content.0.content.0",
            "must be an object with a `type`",
        ),
    ],
)
def test_a_broken_rule_is_refused_with_its_place(message: Any, place: str, rule: str) -> None:
    problems = refused(message)
    assert place in [found for found, _ in problems]
    assert any(rule in msg for found, msg in problems if found == place)


@pytest.mark.parametrize("messages", [None, [], {}, "x"])
def test_messages_must_be_a_non_empty_list(messages: Any) -> None:
    with pytest.raises(Invalid) as caught:
        read(messages, Limits())
    assert caught.value.errors[0]["loc"] == ["body", "messages"]


def test_errors_name_the_limits() -> None:
    limits = Limits(messages=2, message_chars=10, result_chars=20)
    with pytest.raises(Invalid, match="must have at most 2 messages"):
        read([USER] * 3, limits)
    with pytest.raises(PayloadTooLarge) as caught:
        read([USER, {"role": "user", "content": "x" * 11}], limits)
    assert caught.value.errors[0]["loc"] == ["body", "messages", 1, "content"]
    with pytest.raises(PayloadTooLarge, match="tool result"):
        read([{"role": "tool", "tool_call_id": "a", "content": "x" * 21}], limits)
    assert read([{"role": "tool", "tool_call_id": "a", "content": "x" * 20}], limits)


def test_a_client_id_is_used_once_in_a_request() -> None:
    with pytest.raises(Invalid) as caught:
        read([{**USER, "client_id": "a"}, {**USER, "id": "a"}], Limits())
    assert caught.value.errors[0]["loc"] == ["body", "messages", 1, "client_id"]


def test_every_problem_is_named_at_once() -> None:
    assert len(refused({"role": "user", "content": 3, "seq": 1, "id": ""})) == 3


def view(message: dict[str, Any]) -> dict[str, Any]:
    return read([message], Limits())[0].view


def test_both_forms_of_a_call_read_alike() -> None:
    anthropic = {
        "role": "assistant",
        "content": [
            {"type": "thinking", "thinking": "hm", "signature": "c2ln"},
            {"type": "text", "text": "Looking."},
            {"type": "tool_use", "id": "a", "name": "find", "input": {"q": "x"}},
        ],
    }
    openai = {
        "role": "assistant",
        "content": "Looking.",
        "tool_calls": [{"id": "a", "type": "function", "function": {"name": "find", "arguments": '{"q":"x"}'}}],
    }
    assert view(anthropic) == view(openai) == openai


def test_unknown_fields_stay_out_of_the_view() -> None:
    assert view({**USER, "id": "m1", "mood": "good", "name": "ann"}) == {**USER, "name": "ann"}


@pytest.mark.parametrize("content", [None, "", []])
def test_an_assistant_without_content_or_calls_says_nothing_in_a_form_that_apis_take(content: Any) -> None:
    assert view({"role": "assistant", "content": content}) == {"role": "assistant", "content": ""}


def test_a_user_message_without_parts_is_an_empty_text() -> None:
    assert view({"role": "user", "content": []}) == {"role": "user", "content": ""}


def test_a_calling_assistant_may_have_no_content() -> None:
    call = {"id": "a", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    assert view({"role": "assistant", "tool_calls": [call]})["content"] is None


def test_blank_text_next_to_results_is_ignored() -> None:
    result = {"type": "tool_result", "tool_use_id": "a", "content": "x"}
    assert view({"role": "user", "content": [result, {"type": "text", "text": " "}]}) == {}
    assert view({"role": "user", "content": [result, {"type": "text", "text": "ok"}]}) == {**USER, "content": "ok"}


@pytest.mark.parametrize(
    "message",
    [
        {"role": "assistant", "content": "x", "reasoning": ["a", {"b": 1}]},
        {"role": "assistant", "content": "x", "refusal": {"why": "no"}},
        {"role": "user", "content": [{"type": "image_url"}]},
        {"role": "user", "content": [{"type": "input_audio", "input_audio": {}}]},
    ],
)
def test_odd_fields_can_be_counted(message: dict[str, Any]) -> None:
    texts, overhead = weigh(view(message))
    assert overhead >= 4
    assert all(isinstance(text, str) for text in texts)


def test_a_call_is_weighed_with_its_id_and_name() -> None:
    call = {"id": "a1", "type": "function", "function": {"name": "find", "arguments": "{}"}}
    assert weigh({"role": "assistant", "content": None, "tool_calls": [call]}) == (["a1", "find", "{}"], 16)


def call(id_: str) -> dict[str, Any]:
    return {"role": "assistant", "tool_calls": [{"id": id_, "function": {"name": "f", "arguments": "{}"}}]}


def test_a_call_id_that_holds_a_signature_is_read_and_a_longer_one_is_refused_with_the_limit() -> None:
    (found,) = read([call("c" * 8192)], Limits())
    assert len(found.calls[0].id) == 8192
    answer = {"role": "tool", "tool_call_id": "c" * 9216, "content": "x"}
    block = {"type": "tool_result", "tool_use_id": "c" * 9216, "content": "x"}
    for message in (call("c" * 9216), answer, {"role": "user", "content": [block]}):
        assert all("8192 characters" in rule for _, rule in refused(message))


@pytest.mark.parametrize(
    "part",
    [
        {"type": "document", "source": {"type": "base64", "media_type": "application/pdf", "data": "+/aZ" * 100_000}},
        {"type": "file", "file": {"filename": "a.pdf", "file_data": "data:application/pdf;base64," + "Zm9v" * 100_000}},
        {"type": "input_audio", "input_audio": {"format": "wav", "data": "Zm9v" * 5_000_000}},
    ],
)
def test_a_file_weighs_a_bounded_number_of_tokens_and_none_of_its_base64(part: dict[str, Any]) -> None:
    texts, tokens = weigh({"role": "user", "content": [part]})
    assert (texts, 500 <= tokens < 60_000) == ([], True)


def test_a_document_of_text_weighs_its_text() -> None:
    source = {"type": "text", "media_type": "text/plain", "data": "the very words"}
    texts, _ = weigh({"role": "user", "content": [{"type": "document", "source": source}]})
    assert "the very words" in texts[0]
