"""How much of a caller's message list is stored already.

Two hashes say so without reading any text. The *digest* of a message is of what it says. The *chain* after a
message is of its digest and the chain before it, so two histories with the same chain say the same from their first
message on. The leading system messages are in no chain: they are the prompt, which may change.

A list and a stored history meet in one of these ways. ``S`` is what is stored, ``L`` the list, without what both
begin with:

    S empty                                 everything in L is new
    L empty                                 the list ends earlier than what is stored; nothing is new
    L begins with the end of S              the caller left older messages out; what follows in L is new
    L is somewhere in S (two or more)       both of the above; nothing is new
    anything else                           a fork: L says otherwise than S

What is new may only ever be added at the end: of two forks Quire keeps both, never rewrites one.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any

from app.core.messages import THINKING_PARTS, Draft

LOOK_BACK = 1_000
"""Of the stored messages after those that the list begins with, the newest so many are compared one by one."""
DIGEST_BYTES = 16
INNER = b""
"""The digest of a message that is in no caller's list: Quire itself had the model recall something. Such a message has
the chain of the one before it.
"""
BEHIND_MIN = 2
"""A single message that is not the newest is no sign that the list is an old one: people say "ok" again."""
OVERLAP_MIN = 2
"""After a fork, so many messages in a row must be the newest stored ones for what follows to be new."""

_encode = json.JSONEncoder(separators=(",", ":"), sort_keys=True).encode


def digest(draft: Draft) -> bytes:
    """Of what a message says, however it is written down.

    Not in it, because clients drop or change them between two requests: ids of the message, thinking, cache marks,
    members that are null or that no model sees, the order of members, how a call's arguments are spaced, and
    whether a text is a string or one text part. System and developer are the same role.
    """
    content = draft.original.get("content") if draft.role != "tool" else None
    said = [
        "system" if draft.role == "developer" else draft.role,
        draft.name if draft.role != "tool" else None,
        _parts(content),
        draft.original.get("refusal"),
        [[call.id, call.name, _arguments(call.arguments)] for call in draft.calls],
        [[result.call_id, _parts(result.content)] for result in draft.results],
    ]
    return hashlib.sha256(_encode(said).encode()).digest()[:DIGEST_BYTES]


def _parts(content: Any) -> list[Any]:
    """Content as parts; a text part is its text."""
    if not isinstance(content, list):
        return [content] if content else []
    kept = [part for part in content if part.get("type") not in (*THINKING_PARTS, "tool_use", "tool_result")]
    parts = [part["text"] if part["type"] == "text" else _part(part) for part in kept]
    return [part for part in parts if part != ""]


def _part(part: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in part.items() if value is not None and name != "cache_control"}


def _arguments(text: str) -> str:
    """A call's arguments as canonical JSON; as they are where they are none."""
    try:
        return _encode(json.loads(text or "{}"))
    except (ValueError, RecursionError):
        return text


def link(chain: bytes, digest: bytes) -> bytes:
    """The chain after one more message. That of no message is empty."""
    return hashlib.sha256(chain + digest).digest()


def chains(digests: Sequence[bytes], start: bytes = b"") -> list[bytes]:
    """The chain before the first message, and after each."""
    return list(accumulate(digests, link, initial=start))


@dataclass(frozen=True, slots=True)
class Match:
    """Positions are those of the messages after the ones that both begin with."""

    new_from: int
    """From here on the list's messages are new."""
    ahead: int = 0
    """Stored messages that come after the list's last."""
    passed_over: tuple[int, ...] = ()
    """Messages of a fork that lie before stored ones, so that they cannot be added."""


def match(rest: Sequence[bytes], tail: Sequence[bytes], *, stored: int, joins_forks: bool) -> Match | None:
    """How the list goes on where it no longer says what is stored; None for a fork.

    ``tail`` are the newest of the ``stored`` messages beyond the common beginning, oldest first. With
    ``joins_forks`` there is always an answer.
    """
    if not rest or not stored:
        return Match(0, ahead=stored)
    runs = [(length, length == end, end) for end, length in enumerate(endings(rest, tail))]
    length, is_whole, end = max(run for run in runs if joins_forks or run[1])
    if is_whole and end:
        return Match(end)
    if length >= OVERLAP_MIN:
        known = set(tail)
        return Match(end, passed_over=tuple(i for i in range(end - length) if rest[i] not in known))
    if len(rest) >= BEHIND_MIN and (found := _last_place(rest, tail)) is not None:
        return Match(len(rest), ahead=len(tail) - found - len(rest))
    return Match(0) if joins_forks else None


def endings(rest: Sequence[bytes], tail: Sequence[bytes]) -> list[int]:
    """For each end in the list (0 to all of it): with how many of the newest stored messages it ends there.

    By the Z-function of both, reversed, so in linear time also for lists that say the same all the time.
    """
    both = [*reversed(tail), None, *reversed(rest)]
    size = [0] * len(both)
    left = right = 0
    for i in range(1, len(both)):
        length = min(right - i, size[i - left]) if i < right else 0
        while i + length < len(both) and both[length] == both[i + length]:
            length += 1
        size[i] = length
        if i + length > right:
            left, right = i, i + length
    return [0, *reversed(size[len(tail) + 1 :])]


def _last_place(rest: Sequence[bytes], tail: Sequence[bytes]) -> int | None:
    """Where in the tail the whole list is, for the last time."""
    text, wanted = b"".join(tail), b"".join(rest)
    found = text.rfind(wanted)
    while found > 0 and found % DIGEST_BYTES:
        found = text.rfind(wanted, 0, found + len(wanted) - 1)
    return found // DIGEST_BYTES if found >= 0 else None
