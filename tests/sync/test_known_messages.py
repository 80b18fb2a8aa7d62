"""A list of which a process knows messages is read as one that it sees for the first time."""

from collections.abc import Sequence
from typing import Any

from hypothesis import example, given
from hypothesis import strategies as st

from app import errors
from app.caches import KnownMessages
from app.core.messages import Limits
from app.services.conversations.lists import read_list

MESSAGES: list[Any] = [
    {"role": "system", "content": "Be brief."},
    {"role": "developer", "content": "Be kind."},
    {"role": "user", "content": "hello"},
    {"role": "user", "content": [{"type": "text", "text": "hello"}], "client_id": "a"},
    {"role": "user", "content": "你好", "id": "a"},
    {"role": "assistant", "content": "hi"},
    {"role": "assistant", "content": None, "tool_calls": [{"id": "c", "function": {"name": "f", "arguments": "{}"}}]},
    {"role": "tool", "tool_call_id": "c", "content": "x" * 30},
    {"role": "user", "content": "x" * 51},
    {"role": "robot", "content": "no such role"},
    "no message",
]
LIMITS = Limits(messages=3, listed=5, message_chars=50, result_chars=50)
LISTS = st.lists(st.sampled_from(MESSAGES), max_size=6)


def read(messages: Any, known: KnownMessages) -> object:
    """Return all that is made of a list, or what is wrong with it."""
    try:
        found = read_list(messages, "Own.", LIMITS, known)
    except errors.QuireError as error:
        return type(error), error.errors
    drafts = [found.drafts(first) for first in range(len(messages) + 1)]
    told = found.lead, found.lead_digests, found.roles, found.digests, found.chains
    return told, found.system, found.new_max, drafts


@given(st.lists(LISTS, min_size=1, max_size=5), LISTS)
@example([[MESSAGES[3]]], [MESSAGES[3], MESSAGES[3], MESSAGES[4]])
def test_what_was_read_before_changes_nothing(earlier: Sequence[list[Any]], messages: list[Any]) -> None:
    known = KnownMessages()
    for one in earlier:
        read(one, known)
    assert read(messages, known) == read(messages, KnownMessages())


def test_only_the_messages_after_the_known_ones_are_taken_apart() -> None:
    known = KnownMessages()
    read_list(MESSAGES[2:4], None, LIMITS, known)
    assert len(read_list([*MESSAGES[2:4], MESSAGES[5]], None, LIMITS, known).new) == 1
    known.clear()
    assert len(read_list(MESSAGES[2:4], None, LIMITS, known).new) == 2
