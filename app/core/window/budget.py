"""Shares of a token budget.

A budget is what the caller wants to use and never to exceed, in tokens of the model. What is uncertain of the token
count is its only margin (``core/calibration.py``):

    available = budget / (the model's tokens to one of ours) - tools - system
    body      = available - what is reserved for the tail: nothing, unless a tail was asked for that does not fit

The body's room is for the head and the messages; ``core/window/paging.py`` decides how they fill it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from app.core.calibration import OURS
from app.core.model import OPENING_TOKENS, Policy

BUDGET_MAX = 10_000_000
"""The largest budget that is taken for one, in tokens."""

WINDOW_DEFAULT = 128_000
"""The context window, in tokens, where neither settings nor a known model say."""


def usable(budget: int, token_percent: int = OURS) -> int:
    """Return a budget, which is in tokens of the model, in our tokens, rounded in its favour."""
    return budget * OURS // token_percent


def smallest_budget(needed: int, token_percent: int = OURS) -> int:
    """Return the smallest budget that holds ``needed`` of our tokens."""
    return -(-needed * token_percent // OURS)


@dataclass(frozen=True, slots=True)
class Shares:
    """The parts of a budget, in tokens."""

    available: int
    reserve: int
    """Kept free for what the request loads or its query brings in."""
    whole: int
    """While the history weighs no more than this, all of it is verbatim."""
    head: int
    condensed: int
    keep: int
    """What is verbatim right after a cut, as near as call groups allow."""
    head_most: int
    """What a head can use at all."""
    keep_most: int = 0
    """As much as ``keep`` becomes where messages are so small that there is still room for ``GROUPS_TO_COME``."""

    @property
    def body(self) -> int:
        return self.available - self.reserve

    @property
    def fresh(self) -> int:
        """Most that the fresh results of one call group take together."""
        return int(self.body * FRESH_SHARE)


FRESH_SHARE = 0.25
"""The part of the body's room that the fresh results of one call group share."""
LOADED_TOKENS = 4_000
"""What a recall tool brings in, if it is not asked for another amount."""
LOADED_SHARE, LOADED_SHARE_MAX = 0.25, 0.5
"""The parts of the available tokens that a recall tool brings in by itself, and at most, whatever it is asked for."""


@dataclass(frozen=True, slots=True)
class RecallRoom:
    """The tokens that a call of a recall tool can bring in."""

    usual: int
    """By itself."""
    most: int
    """Whatever it is asked for."""


def recall_room(shares: Shares) -> RecallRoom:
    """Return the room for what a recall tool brings in. What does not fit beside the body brings a cut forward."""
    usual = max(1, min(LOADED_TOKENS, int(shares.available * LOADED_SHARE)))
    return RecallRoom(usual, max(usual, int(shares.available * LOADED_SHARE_MAX)))


def fair(requests: Sequence[int], room: int) -> list[int]:
    """Share a room fairly: small ones get what they want, the others equal parts, none more than it wants."""
    parts = [0] * len(requests)
    left = max(0, room)
    for done, index in enumerate(sorted(range(len(requests)), key=lambda i: requests[i])):
        parts[index] = min(requests[index], left // (len(requests) - done))
        left -= parts[index]
    return parts


RESERVES = (0.0, 0.15, 0.35, 0.65)
"""The steps in which the body gives way to a tail that does not fit beside it: parts of the available tokens."""
ANCHORED_SHARE = 0.2
"""The largest part of the available tokens for what a window recalls by itself."""
RESERVE_MOST = 0.8
"""The largest part of the available tokens that can be left to the tail."""
ZONES_MAX = 0.9
"""The largest share of the body's room for head, condensed and kept messages; the rest is growth."""
GROUPS_TO_COME = 20
"""Call groups for which a cut leaves room, which are ten model calls or more. After a cut the model reads the whole
window anew, at ten times the price of what its cache holds: ten calls on, that has cost no more than the cache.
"""
HEAD_TOKENS_MIN, HEAD_TOKENS_MIN_SHARE = 380, 0.25
"""A smaller head has no room for a summary. In a window of less than 1,500 tokens it has this part of them."""
HEAD_EXTRA = 1_000
"""What a head can use besides its summary and its contents page: the frame and memories in mind."""


def reserves(available: int, policy: Policy) -> list[int]:
    """Return the tokens that the body can leave to the tail, in order: none, then the steps."""
    most = policy.recall_share if policy.recall_share is not None else RESERVES[-1]
    return [int(available * step) for step in (*(step for step in RESERVES if step < most), most)]


def zones(policy: Policy) -> float:
    """Return the part of the body's room that is taken right after a cut."""
    return policy.head_share + policy.condensed_share + policy.keep_share


def shares(available: int, policy: Policy, *, reserve: int = 0) -> Shares:
    """Divide the available tokens, of which so many are left to the tail."""
    free = min(reserve, int(available * RESERVE_MOST))
    body = available - free
    scale = min(1.0, ZONES_MAX / max(zones(policy), ZONES_MAX))
    head_most = policy.contents_max + policy.summary_max + HEAD_EXTRA if policy.head_share else 0
    head = min(_head(int(body * policy.head_share * scale), available, head_most), int(body * ZONES_MAX))
    condensed, keep = int(body * policy.condensed_share * scale), int(body * policy.keep_share * scale)
    whole = max(0, body - OPENING_TOKENS)
    found = with_head(Shares(available, free, whole, head, condensed, keep, head_most), head)
    if policy.active_pages:  # pages leave before the body is full, and what stands for them needs room
        return replace(found, whole=max(0, whole - head - found.condensed))
    return found


def with_head(found: Shares, head: int) -> Shares:
    """Return the shares of a body with a head of another size: it can take more than its share."""
    condensed, keep = found.condensed, found.keep
    rest = max(0, int(found.body * ZONES_MAX) - head)
    if rest < condensed + keep:
        condensed, keep = rest * condensed // (condensed + keep), rest * keep // (condensed + keep)
    keep_most = max(keep, min(rest - condensed, keep * 7 // 6))
    return replace(found, head=head, condensed=condensed, keep=keep, keep_most=keep_most)


def _head(share: int, available: int, most: int) -> int:
    """Return the head's share, between what a head needs and what it can use."""
    if not most:
        return 0
    needed = min(HEAD_TOKENS_MIN, int(available * HEAD_TOKENS_MIN_SHARE))
    return max(needed, min(share, most))
