"""Check the promises of every window and of every two, by what the API returned.

The demo, the tests and the benchmarks check their windows here.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Prefix:
    """A window as a prompt cache sees it: the exact bytes, and how many leading messages are stable."""

    epoch: int
    fixed: str
    """Tools and system prompt."""
    messages: tuple[str, ...]
    stable: int


def breaks_prefix(before: Prefix, after: Prefix) -> bool:
    """Return whether a later window of the same epoch fails to begin with the stable part of an earlier one."""
    if before.epoch != after.epoch:
        return False
    return before.fixed != after.fixed or before.messages[: before.stable] != after.messages[: before.stable]


def splits_calls(messages: Iterable[Mapping[str, Any]]) -> bool:
    """Return whether messages in OpenAI form part a call from its results: each call must be followed at once by all.

    A result without its call counts too.
    """
    awaited: list[str] = []
    for message in messages:
        if message["role"] == "tool":
            if message["tool_call_id"] not in awaited:
                return True
            awaited.remove(message["tool_call_id"])
        elif awaited:
            return True
        else:
            awaited = [call["id"] for call in message.get("tool_calls") or ()]
    return bool(awaited)


def splits_blocks(messages: Iterable[Mapping[str, Any]]) -> bool:
    """Return the same of messages in Anthropic form: each holds the results of all calls in the one before."""
    awaited: set[str] = set()
    for message in messages:
        results = {block["tool_use_id"] for block in message["content"] if block["type"] == "tool_result"}
        if results != awaited:
            return True
        awaited = {block["id"] for block in message["content"] if block["type"] == "tool_use"}
    return bool(awaited)
