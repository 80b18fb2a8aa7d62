"""Find how much of a caller's message list is already stored.

Two hashes decide this without reading any text. The *digest* of a message covers its content. The *chain* after a
message covers its digest and the chain before it, so two histories with the same chain are equal from the start.
Leading system messages are in no chain: they are the prompt, which can change.

A list relates to the stored history in one of these ways. ``S`` are the stored messages and ``L`` the list, both
without their common beginning:

    S empty                                 everything in L is new
    L empty                                 the list ends before the stored messages do; nothing is new
    L begins with the end of S              the caller left older messages out; the rest of L is new
    L is somewhere in S (two or more)       both of the above; nothing is new
    anything else                           a fork: L differs from S

New messages are only ever added at the end: Quire keeps both sides of a fork and never rewrites one.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any

from app.core.messages import THINKING_PARTS, Draft
from app.core.parts import chat_parts, is_translated

LOOK_BACK = 1_000
"""The number of newest stored messages, beyond the common beginning, that are compared one by one."""
DIGEST_BYTES = 16
"""Bytes of a SHA-256 that are kept: lists are compared as strings of digests."""
INNER = b""
"""The digest of a message that is in no caller's list, because it belongs to a recall that the proxy ran by itself.
Such a message has the same chain as the one before it.
"""
BEHIND_MIN = 2
"""Messages that a list must have to count as an old one: a single match proves nothing, since people repeat "ok"."""
OVERLAP_MIN = 2
"""After a fork, this many consecutive messages must equal the newest stored ones before later ones count as new."""

_encode = json.JSONEncoder(separators=(",", ":"), sort_keys=True).encode


def digest(draft: Draft) -> bytes:
    """Return the digest of a message's content, independent of its notation.

    It ignores what clients drop or change between two requests: message ids, thinking, cache marks, members that are
    null or that no model sees, the order of members, the spacing of a call's arguments, blanks at the end of a text,
    and the dialect: parts are compared in the form of Chat Completions, and a single text part as its text. System and
    developer count as the same role. A message with several results, or with a text beside them, has one piece of
    DIGEST_BYTES for each, because other dialects send a separate message for each.
    """
    results = [_hashed(["tool", None, [], None, [], [[r.call_id, _parts(r.content)]]]) for r in draft.results]
    if draft.results and (draft.role == "tool" or not draft.view):
        return b"".join(results)
    said = [
        "system" if draft.role == "developer" else draft.role, draft.name, _parts(draft.original.get("content")),
        draft.original.get("refusal"), [[call.id, call.name, _arguments(call.arguments)] for call in draft.calls], [],
    ]  # fmt: skip
    return b"".join([*results, _hashed(said)])


def _hashed(said: list[Any]) -> bytes:
    return hashlib.sha256(_encode(said).encode()).digest()[:DIGEST_BYTES]


def pieces(digests: Sequence[bytes]) -> tuple[list[bytes], list[int]]:
    found = [
        (digest[at : at + DIGEST_BYTES], place)
        for place, digest in enumerate(digests)
        for at in range(0, max(1, len(digest)), DIGEST_BYTES)
    ]
    return [piece for piece, _ in found], [place for _, place in found]


def begins_with(stored: Sequence[bytes], said: Sequence[bytes]) -> bool:
    """Return whether stored messages begin with the messages ``said``, by their digests; False if there are none."""
    return any(said) and b"".join(stored).startswith(b"".join(said))


def _parts(content: Any) -> list[Any]:
    """Return the content's parts; each text part as its text, without trailing blanks."""
    if isinstance(content, str):
        content = [{"type": "text", "text": content}]
    if not isinstance(content, list):
        return [content] if content else []
    own_parts = [part for part in content if part.get("type") not in (*THINKING_PARTS, "tool_use", "tool_result")]
    parts = [found for part in own_parts for found in _part(part)]
    return [part for part in parts if part != ""]


def _part(part: dict[str, Any]) -> list[Any]:
    if not is_translated(part):
        return [{name: value for name, value in part.items() if value is not None and name != "cache_control"}]
    return [found["text"].rstrip() if found["type"] == "text" else found for found in chat_parts(part)]


def _arguments(text: str) -> str:
    """Return a call's arguments as canonical JSON; unchanged if they are not valid JSON."""
    try:
        return _encode(json.loads(text or "{}"))
    except (ValueError, RecursionError):
        return text


def link(chain: bytes, digest: bytes) -> bytes:
    """Return the chain after one more message. The chain of no message is empty."""
    for piece in pieces([digest])[0]:
        chain = hashlib.sha256(chain + piece).digest()
    return chain


def chains(digests: Sequence[bytes], start: bytes = b"") -> list[bytes]:
    """Return the chain before the first message, and after each."""
    return list(accumulate(digests, link, initial=start))


@dataclass(frozen=True, slots=True)
class Match:
    """The match between a caller's list and what is stored."""

    matched: int
    """The number of the list's leading messages that are not new."""
    ahead: int = 0
    """The number of stored messages after the list's last one."""
    passed_over: tuple[int, ...] = ()
    """Indices of messages that differ from the stored ones but precede a match, so that they cannot be added."""


def match(rest: Sequence[bytes], tail: Sequence[bytes], *, stored: int, joins_forks: bool) -> Match | None:
    """Find where ``rest``, a list without its common beginning with the stored messages, continues these. Return None
    for a fork; never with ``joins_forks``. ``stored`` is the number of stored messages beyond the common beginning and
    ``tail`` holds the digests of the newest of them, oldest first.
    """
    if not rest or not stored:
        return Match(0, ahead=stored)
    runs = [(length, length == end, end) for end, length in enumerate(endings(rest, tail))]
    length, is_whole, end = max(run for run in runs if joins_forks or run[1])
    if is_whole and end:
        return Match(end)
    if length >= OVERLAP_MIN:
        stored_digests = set(tail)
        return Match(end, passed_over=tuple(i for i in range(end - length) if rest[i] not in stored_digests))
    if len(rest) >= BEHIND_MIN and (place := _last_place(rest, tail)) is not None:
        return Match(len(rest), ahead=len(tail) - place - len(rest))
    return Match(0) if joins_forks else None


def is_edited(rest: Sequence[bytes], tail: Sequence[bytes], *, stored: int) -> bool:
    """Return whether a list that differs from the stored messages never returns to them. (It does return to them if
    the client only cleared an old result.)
    """
    return match(rest, tail, stored=stored, joins_forks=True) == Match(0)


def endings(rest: Sequence[bytes], tail: Sequence[bytes]) -> list[int]:
    """Return for each position in the list (0 to its length) how many of the newest stored messages precede it.

    Uses the Z-function of both lists reversed, so it takes linear time even for repetitive lists.
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
    text, pattern = b"".join(tail), b"".join(rest)
    at = text.rfind(pattern)
    while at > 0 and at % DIGEST_BYTES:
        at = text.rfind(pattern, 0, at + len(pattern) - 1)
    return at // DIGEST_BYTES if at >= 0 else None
