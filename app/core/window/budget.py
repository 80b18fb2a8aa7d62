"""Shares of a token budget.

A budget is what the caller wants to use and never to exceed, in tokens of the model. What is uncertain of the token
count is its only margin (``core/calibration.py``):

    available = budget / (the model's tokens to one of ours, for this text) - tools - system
    body      = available - what is reserved for the tail: nothing, unless a tail was asked for that does not fit

The body's room is for the head and the messages; ``core/window/paging.py`` decides how they fill it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from app.core.model import OPENING_TOKENS, OURS, Policy

BUDGET_MAX = 10_000_000
"""The largest budget that is taken for one, in tokens."""

WINDOW_DEFAULT = 128_000
"""The context window, in tokens, where neither settings nor a known model say."""


def usable(budget: int, token_percent: int = OURS) -> int:
    """Return a budget, which is in tokens of the model, in our tokens, rounded in its favour."""
    return budget * OURS // token_percent


@dataclass(frozen=True, slots=True)
class Shares:
    """The parts of a budget, in tokens."""

    available: int
    reserve: int
    """Kept free for what the request loads or its query brings in."""
    condensed: int
    """What condensed messages take after a cut."""
    head_share: float
    """Of ``available``: what the head has for summary and map once ``HEAD_PAGES`` have left the window."""
    head_most: int
    """What a head can use at all."""

    @property
    def body(self) -> int:
        """Return the room of head and messages."""
        return self.available - self.reserve

    @property
    def whole(self) -> int:
        """Return what messages may weigh beside an empty head."""
        return max(0, self.body - OPENING_TOKENS)

    def head(self, pages: int) -> int:
        """Return what the head has, beside what is kept in mind, once so many pages have left the window."""
        if not self.head_most or not pages:
            return 0
        needed = min(HEAD_TOKENS_MIN, int(self.available * HEAD_TOKENS_MIN_SHARE))
        share = int(self.available * self.head_share * min(1.0, pages / HEAD_PAGES))
        return min(max(needed, min(share, self.head_most)), int(self.body * ZONES_MAX))


def kept_share(group_tokens: float, room: int, view_price: float) -> float:
    """Return the largest share of the room to keep at which a token in view costs no more than a price.

    With g the tokens that a call adds, W the room and k the share kept, a window is filled from k·W to W in
    (1 − k)·W/g calls and then read anew, and otherwise pays for g new tokens and reads about W·(1 + k)/2 from the
    cache. So a token in view costs 2·(g/W)/(1 − k²) beside its cached price.
    """
    dear = 2 * group_tokens / max(1, room) / (view_price - CACHED_PRICE)
    return min(KEPT_MOST, max(KEPT_LEAST, math.sqrt(max(0.0, 1 - dear))))


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
CACHED_PRICE = 0.1
"""The price of a token that a model's API reads from its cache, beside that of another: what the large vendors ask."""
KEPT_LEAST, KEPT_MOST = 0.5, 0.85
"""Bounds of the share that a cut keeps by price: an emptier window shows too little, a fuller one is cut every call."""
HEAD_PAGES = 20
"""Pages out of view from which on the head has its whole share: a map of fewer needs less."""
HEAD_TOKENS_MIN, HEAD_TOKENS_MIN_SHARE = 380, 0.25
"""A smaller head has no room for a summary. In a window of less than 1,500 tokens it has this part of them."""
HEAD_EXTRA = 1_000
"""What a head can use besides its summary and its contents page: the frame and memories in mind."""


def reserves(available: int, policy: Policy) -> list[int]:
    """Return the tokens that the body can leave to the tail, in order: none, then the steps."""
    most = policy.recall_share if policy.recall_share is not None else RESERVES[-1]
    return [int(available * step) for step in (*(step for step in RESERVES if step < most), most)]


def shares(available: int, policy: Policy, *, reserve: int = 0) -> Shares:
    """Divide the available tokens, of which so many are left to the tail."""
    free = min(reserve, int(available * RESERVE_MOST))
    head_most = policy.contents_max + policy.summary_max + HEAD_EXTRA if policy.head_share else 0
    condensed = int((available - free) * policy.condensed_share)
    return Shares(available, free, condensed, policy.head_share, head_most)
