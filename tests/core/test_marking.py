"""Marks for a prompt cache are placed after the messages that later requests repeat."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.core.dialects.marking import marked, places
from app.core.models import PromptCache

SAID = ("user", "assistant", "user", "assistant", "user")


@pytest.mark.parametrize(
    ("fleeting", "roles", "found"),
    [
        ("", SAID, [4, 3]),  # the next turn repeats everything
        ("4", SAID, [4, 3, 1]),  # what was recalled comes last
        ("45", (*SAID, "user"), [5, 3, 1]),  # recalled before the question
        ("4", (*SAID, "user", "assistant", "tool"), [7, 3, 5]),  # in a loop: its last call found up to 5
        ("", (), []),
    ],
)
def test_places_are_what_the_next_call_and_the_next_turn_repeat(
    fleeting: str, roles: tuple[str, ...], found: list[int]
) -> None:
    assert places([str(at) in fleeting for at in range(len(roles))], roles) == found


roles = st.lists(st.tuples(st.sampled_from(("user", "assistant", "tool")), st.booleans()), max_size=12)
kinds = st.sampled_from((PromptCache("marks", "cache_control"), PromptCache("breakpoints", "prompt_cache_breakpoint")))


@given(roles, kinds)
def test_marks_are_few_and_change_no_text(said: list[tuple[str, bool]], cache: PromptCache) -> None:
    messages = [{"role": role, "content": f"text {at}"} for at, (role, _) in enumerate(said)]
    after = [len(said) - 1 - at for at in places([one for _, one in said], [role for role, _ in said])]
    body: dict[str, Any] = marked(cache, "chat", {"messages": messages}, after)
    texts = [m["content"] if isinstance(m["content"], str) else m["content"][-1]["text"] for m in body["messages"]]
    assert texts == [f"text {at}" for at in range(len(said))]
    assert sum(isinstance(m["content"], list) for m in body["messages"]) <= 3


def test_a_clients_mode_without_its_marks_does_not_turn_the_cache_off() -> None:
    options = {"mode": "explicit", "ttl": "12h"}
    body = marked(PromptCache(), "responses", {"input": [], "prompt_cache_options": options}, [])
    assert body["prompt_cache_options"] == {"ttl": "12h"}


def test_an_assistants_text_of_responses_is_not_marked() -> None:
    said = [{"type": "message", "role": role, "content": "hi"} for role in ("user", "assistant")]
    found = marked(PromptCache("marks", "cache_control"), "responses", {"input": said}, [0])
    assert found["input"][1] == said[1]
    assert found["input"][0]["content"] == [
        {"type": "input_text", "text": "hi", "cache_control": {"type": "ephemeral"}},
    ]
