"""What counts as the text of a completion, and which messages it can come in."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.providers import ModelToolCall, ProviderError, Reply, UnusableReply
from app.providers.replies import prompt_tokens, reply_of, without_thoughts


def read(message: object, **fields: Any) -> Reply:
    body = {"choices": [{"message": message, "finish_reason": "stop"}], **fields}
    return reply_of(body, model="asked", count=len, prompt=lambda: 7)


@pytest.mark.parametrize(
    ("content", "text"),
    [
        (" plain\n", "plain"),
        ("<think>a</think>\n\nb", "b"),
        ("\n<thinking>a\n</thinking> b", "b"),
        ("of thoughts only the end\n</think>\n\nb", "b"),
        ("Write <think>a</think> like this.", "Write <think>a</think> like this."),
        ("The mark is </think>.", "The mark is </think>."),
        ([{"type": "thinking", "thinking": "a"}, {"type": "text", "text": "b"}, {"type": "text", "text": "c"}], "bc"),
        ("a\0b\ud800", "a\ufffdb\ufffd"),
        ("None of them.", "None of them."),
    ],
)
def test_the_text_is_what_was_said_not_what_was_thought(content: object, text: str) -> None:
    assert read({"content": content}).text == text


def test_arguments_that_come_as_an_object_are_written_as_json() -> None:
    function = {"name": "search", "arguments": {"query": "词"}}
    reply = read({"tool_calls": [{"id": "1", "function": function}, {"id": "2", "function": {"name": "end"}}]})
    assert reply.tool_calls == (ModelToolCall("1", "search", '{"query": "词"}'), ModelToolCall("2", "end", "{}"))


@pytest.mark.parametrize(
    "usage", [None, {}, [], {"prompt_tokens": None, "completion_tokens": -1}, {"prompt_tokens": True}]
)
def test_missing_usage_is_counted_locally(usage: object) -> None:
    reply = read({"content": "four"}, usage=usage)
    assert (reply.prompt_tokens, reply.completion_tokens) == (7, 4)


@pytest.mark.parametrize("model", [None, "", 7, {}])
def test_a_missing_model_name_defaults_to_the_requested_one(model: object) -> None:
    assert read({"content": "a"}, model=model).model == "asked"


def test_a_prompt_is_counted_with_its_calls_and_tools() -> None:
    messages: list[dict[str, Any]] = [
        {"role": "user", "content": "four"},
        {"role": "assistant", "content": None, "tool_calls": [1]},
    ]
    assert prompt_tokens(messages, [{}], len) == len("four") + len("[1]") + len("{}") + 2 * 4


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5) | st.sampled_from(["stop", "length", "text"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                [
                    "choices",
                    "message",
                    "content",
                    "tool_calls",
                    "function",
                    "name",
                    "id",
                    "arguments",
                    "finish_reason",
                    "type",
                ]
            ),
            inner,
            max_size=4,
        )
    ),
)


@given(st.dictionaries(st.sampled_from(["choices", "usage", "model"]), JSON))
def test_any_body_gives_a_reply_or_a_provider_error(body: dict[str, Any]) -> None:
    try:
        reply = reply_of(body, model="asked", count=len, prompt=lambda: 0)
    except ProviderError:
        return
    assert reply.text or reply.tool_calls


@given(st.text() | st.text("<>/think \n"))
def test_reasoning_is_stripped_from_any_text(text: str) -> None:
    rest = without_thoughts(text)
    assert rest == rest.strip()
    assert rest in text


def test_no_thought_at_all_is_no_answer() -> None:
    with pytest.raises(UnusableReply):
        read({"content": "<think>cut off"})
