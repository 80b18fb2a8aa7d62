"""Bad input in every dialect: an error in the client's own form, and a conversation that still works."""

from __future__ import annotations

from typing import Any

import httpx
import pytest

from tests import unhurried
from tests.api.kit import Json
from tests.proxy.kit import Script
from tests.proxy.models import Model

ODD: list[Any] = [None, 1, "", "x", [], [1], {}, {"type": ["x"]}, {"type": {}}, [{"type": ["x"]}], "\x00"]
MESSAGES = [
    "system", "tools", "tool_choice", "stop_sequences", "output_config", "output_format", "thinking", "messages",
]  # fmt: skip
RESPONSES = [
    "input", "instructions", "tools", "tool_choice", "text", "reasoning", "include", "previous_response_id",
    "conversation", "store", "context_management",
]  # fmt: skip
PARTS: list[Json] = [
    {"type": "image", "source": "x"}, {"type": "image"}, {"type": "document", "source": {"type": "content"}},
    {"type": "document", "source": {"type": "content", "content": [1, {"type": "text"}]}}, {"type": "search_result"},
    {"type": "image_url"}, {"type": "image_url", "image_url": 1}, {"type": "file"}, {"type": "file", "file": "x"},
    {"type": "input_file"}, {"type": "reasoning"}, {"type": "reasoning", "item": 1}, {"type": "thinking"},
]  # fmt: skip


def post(service: str, path: str, body: Json, **headers: str) -> httpx.Response:
    answer = unhurried.post(f"{service}/v1/{path}", json=body, headers=headers)
    assert answer.status_code in (200, 400, 404), (body, answer.text)
    if answer.status_code != 200:
        said = answer.json()
        assert set(said) == ({"type", "error"} if path == "messages" else {"error"})
    return answer


@pytest.mark.slow
def test_values_of_other_types_are_answered_in_the_clients_form(model: Model) -> None:
    asked: Json = {"model": "fake", "max_tokens": 9, "messages": [{"role": "user", "content": "hi"}]}
    for name in MESSAGES:
        for value in ODD:
            post(model.url, "messages", {**asked, name: value})
    for name in RESPONSES:
        for value in ODD:
            post(model.url, "responses", {"model": "fake", "input": "hi", name: value})
    for kind in ("message", "function_call", "function_call_output", "reasoning", "compaction"):
        for value in ODD:
            item = {"type": kind, "role": value, "content": value, "call_id": value, "name": value, "output": value}
            post(model.url, "responses", {"model": "fake", "input": [{"role": "user", "content": "hi"}, item]})


def test_a_part_that_is_malformed_does_not_lock_its_conversation(model: Model) -> None:
    for place, part in enumerate(PARTS):
        named = {"X-Quire-Conversation": f"c{place}"}
        said = {"role": "user", "content": [{"type": "text", "text": "See:"}, part]}
        post(model.url, "chat/completions", {"model": "fake", "messages": [said]}, **named)
        after = {"model": "fake", "messages": [{"role": "user", "content": "And now?"}]}
        assert post(model.url, "chat/completions", after, **named).status_code == 200, part


def test_names_of_options_cannot_write_a_header(base_url: str, clean: None, script: Script) -> None:
    body: Json = {"model": "fake", "input": "hi", "x\r\nSet-Cookie: a=b": 1, "ünknown": 1, "truncation": "auto"}
    answer = post(base_url, "responses", body)
    assert answer.headers["X-Quire-Dropped"] == "truncation"
    assert "set-cookie" not in answer.headers
