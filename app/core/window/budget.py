"""Shares of a token budget.

A budget is what the caller wants to use and never to exceed. A tenth of it is held back, because other vendors'
tokenizers count differently. The rest is divided:

    available = 0.9 x budget / (the model's tokens to one of ours) - tools - system
    reserve   = 15 % of what is available, at most 6,000 tokens; 65 % for a request with a query
    body      = available - reserve

The reserve stays free for the tail and for what recall tools load. The body's room is for the head and the messages;
``core/window/paging.py`` decides how they fill it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from app.core.calibration import OURS
from app.core.model import Policy

BUDGET_MAX = 10_000_000
"""The largest budget that is taken for one, in tokens."""

WINDOW_DEFAULT = 128_000
"""The context window, in tokens, where neither settings nor a known model say."""


def usable(budget: int, token_percent: int = OURS) -> int:
    """Return the usable part of a budget in our tokens: all but a tenth as safety margin, rounded up in its favour.

    ``budget`` is in tokens of the model.
    """
    return budget * 90 // token_percent


def smallest_budget(needed: int, token_percent: int = OURS) -> int:
    """Return the smallest budget whose usable part holds ``needed`` tokens."""
    return -(-needed * token_percent // 90)


@dataclass(frozen=True, slots=True)
class Shares:
    """The parts of a budget, in tokens."""

    available: int
    reserve: int
    """Kept free for the tail and for what recall tools load."""
    whole: int
    """While the history weighs no more than this, all of it is verbatim."""
    head: int
    condensed: int
    keep: int
    """Most that is verbatim right after a cut."""

    @property
    def body(self) -> int:
        """The room of the head and the messages."""
        return self.available - self.reserve

    @property
    def growth(self) -> int:
        """Return by how much the history grows between two cuts."""
        return max(1, self.body - self.head - self.condensed - self.keep)


LOADED_TOKENS = 4_000
"""What a recall tool brings in, if it is not asked for another amount."""
LOADED_SHARE, LOADED_SHARE_MAX, LOADED_SHARE_MIN = 0.25, 0.5, 0.1
"""The parts of the available tokens that a recall tool brings in by itself, at most whatever it is asked for, and even
where the reserve is smaller.
"""
CALL_SHARE = 0.1
"""The part that is kept for the tool's call, which comes into the window with what the tool brings in."""


@dataclass(frozen=True, slots=True)
class RecallRoom:
    """The tokens that a call of a recall tool can bring in."""

    usual: int
    """By itself."""
    most: int
    """Whatever it is asked for."""


def recall_room(shares: Shares, growth_left: int) -> RecallRoom:
    """Return the room for what a recall tool brings in: the reserve and what is free, so that the body never moves.

    ``growth_left``: tokens by which the history can grow until the next epoch.
    """
    available = shares.available
    free = shares.reserve + max(0, growth_left - int(available * CALL_SHARE))
    room = max(1, free, min(LOADED_TOKENS, int(available * LOADED_SHARE_MIN)))
    usual = max(1, min(LOADED_TOKENS, int(available * LOADED_SHARE), room))
    return RecallRoom(usual, max(usual, min(int(available * LOADED_SHARE_MAX), room)))


def fair(requests: Sequence[int], room: int) -> list[int]:
    """Share a room fairly: small ones get what they want, the others equal parts, none more than it wants."""
    parts = [0] * len(requests)
    left = max(0, room)
    for done, index in enumerate(sorted(range(len(requests)), key=lambda i: requests[i])):
        parts[index] = min(requests[index], left // (len(requests) - done))
        left -= parts[index]
    return parts


RESERVE_SHARE, RESERVE_MAX = 0.15, 6_000
QUERY_SHARE = 0.65
"""The part of the available tokens that is reserved for what a query brings in."""
ZONES_MAX = 0.9
"""The largest share of the body's room for head, condensed and kept messages; the rest is growth."""
HEAD_TOKENS_MIN, HEAD_TOKENS_MIN_SHARE = 380, 0.25
"""A smaller head has no room for a summary. In a window of less than 1,500 tokens it has this part of them."""
HEAD_EXTRA = 1_000
"""What a head can use besides its summary and its contents page: the frame and memories in mind."""


def reserve(available: int, policy: Policy, *, has_query: bool) -> int:
    """Return the tokens kept free of head and messages, for a request with a query or without one."""
    if policy.recall_share is not None:
        return int(available * policy.recall_share)
    if has_query:
        return int(available * QUERY_SHARE)
    return min(int(available * RESERVE_SHARE), RESERVE_MAX)


def zones(policy: Policy) -> float:
    """Return the part of the body's room that is taken right after a cut."""
    return policy.head_share + policy.condensed_share + policy.keep_share


def shares(available: int, policy: Policy, *, has_query: bool = False) -> Shares:
    """Divide the available tokens.

    A history that would fit beside the small reserve is shown in full even to requests with a query: everything that
    the query could bring back is in view.
    """
    free = reserve(available, policy, has_query=has_query)
    body = available - free
    scale = min(1.0, ZONES_MAX / max(zones(policy), ZONES_MAX))
    head = min(_head(int(body * policy.head_share * scale), available, policy), int(body * ZONES_MAX))
    condensed, keep = int(body * policy.condensed_share * scale), int(body * policy.keep_share * scale)
    rest = int(body * ZONES_MAX) - head
    if rest < condensed + keep:  # in a small window the head takes more than its share
        condensed, keep = rest * condensed // (condensed + keep), rest * keep // (condensed + keep)
    whole = available - reserve(available, policy, has_query=False)
    if policy.active_pages:  # pages leave before the body is full, and what stands for them needs room
        whole = max(0, whole - head - condensed)
    return Shares(available, free, whole, head, condensed, keep)


def _head(share: int, available: int, policy: Policy) -> int:
    """Return the head's share, between what a head needs and what it can use."""
    if not policy.head_share:
        return 0
    needed = min(HEAD_TOKENS_MIN, int(available * HEAD_TOKENS_MIN_SHARE))
    used = policy.contents_max + policy.summary_max + HEAD_EXTRA
    return max(needed, min(share, used))
