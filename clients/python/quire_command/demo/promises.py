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

    @property
    def text(self) -> str:
        return "".join((self.fixed, *self.messages))

    @property
    def users(self) -> int:
        """Return how many messages a user said."""
        return sum(
            '"role"' in said and '"user"' in said and '"tool_result"' not in said and "<quire-recalled>" not in said
            for said in self.messages
        )


PASSING = ('"tool_call_id"', '"tool_result"', "<quire-recalled>")
"""Marks of messages that can be shown in full for their page only."""


def breaks_prefix(before: Prefix, after: Prefix) -> bool:
    """Return whether a later window of the same epoch fails to begin with the stable part of an earlier one.

    At the next user message, what was shown for its page only shrinks where it stands: from there on all can differ.
    """
    if before.epoch != after.epoch:
        return False
    if before.fixed != after.fixed:
        return True
    stable = before.messages[: before.stable]
    changed = next((at for at, two in enumerate(zip(stable, after.messages, strict=False)) if two[0] != two[1]), None)
    if changed is None:
        return len(after.messages) < len(stable)
    return not (after.users > before.users and any(mark in stable[changed] for mark in PASSING))


def repeated(before: Prefix, after: Prefix) -> int:
    """Return how many characters of a window repeat the beginning of the one before: what a prompt cache serves."""
    pairs = enumerate(zip(before.text, after.text, strict=False))
    return next((at for at, (one, other) in pairs if one != other), min(len(before.text), len(after.text)))


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
