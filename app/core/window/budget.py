"""Shares of a token budget.

A budget is the number of the model's tokens that the caller wants to use and never to exceed. The only margin is the
uncertainty of the token count (``core/calibration.py``):

    available = budget / (the model's tokens for one of ours, in this text) - tools - system
    body      = available - reserve for the tail: 0, unless a requested tail does not fit otherwise

The body holds the head and the messages; ``core/window/paging.py`` decides how they fill it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from app.core.model import OPENING_TOKENS, OURS, Policy

BUDGET_MAX = 10_000_000
"""The largest budget that is accepted, in tokens."""

WINDOW_DEFAULT = 128_000
"""The context window, in tokens, if neither the settings nor a known model determine it."""


def usable(budget: int, token_percent: int = OURS) -> int:
    """Convert a budget in the model's tokens to our tokens, rounded down."""
    return budget * OURS // token_percent


@dataclass(frozen=True, slots=True)
class Shares:
    """The parts of a budget, in tokens."""

    available: int
    reserve: int
    """Tokens kept free for texts that the request loads or its query finds."""
    condensed: int
    """Tokens of condensed messages after a cut."""
    head_share: float
    """The share of ``available`` for summary and contents page once ``HEAD_PAGES`` have left the window."""
    head_most: int
    """The most tokens that a head can use."""

    @property
    def body(self) -> int:
        """Return the tokens for the head and the messages."""
        return self.available - self.reserve

    @property
    def whole(self) -> int:
        """Return the tokens for messages if the head is empty."""
        return max(0, self.body - OPENING_TOKENS)

    def head(self, pages: int) -> int:
        """Return the head's tokens, pinned memories aside, once this number of pages has left the window."""
        if not self.head_most or not pages:
            return 0
        needed = min(HEAD_TOKENS_MIN, int(self.available * HEAD_TOKENS_MIN_SHARE))
        share = int(self.available * self.head_share * min(1.0, pages / HEAD_PAGES))
        return min(max(needed, min(share, self.head_most)), int(self.body * ZONES_MAX))


def kept_share(group_tokens: float, room: int, view_price: float) -> float:
    """Return the largest share of the room that a cut can keep if a token in view may cost ``view_price`` per call.

    With g the tokens that a call adds, W the room and k the share kept, a window fills from k·W to W in (1 − k)·W/g
    calls. Each call pays for g new tokens and reads about W·(1 + k)/2 from the cache, and then a cut makes the model
    read the window uncached. So a token in view costs 2·(g/W)/(1 − k²) on top of its cached price.
    """
    price_ratio = 2 * group_tokens / max(1, room) / (view_price - CACHED_PRICE)
    return min(KEPT_MOST, max(KEPT_LEAST, math.sqrt(max(0.0, 1 - price_ratio))))


LOADED_TOKENS = 4_000
"""Tokens that a recall tool loads if the model names no number."""
LOADED_SHARE, LOADED_SHARE_MAX = 0.25, 0.5
"""The shares of the available tokens that a recall tool loads at most: by default, and whatever the model asks for."""


@dataclass(frozen=True, slots=True)
class RecallRoom:
    """The tokens that a call of a recall tool can load."""

    usual: int
    """By default."""
    most: int
    """At most, whatever the model asks for."""


def recall_room(shares: Shares) -> RecallRoom:
    """Return the room for text that a recall tool loads. Text that does not fit beside the body causes a cut."""
    usual = max(1, min(LOADED_TOKENS, int(shares.available * LOADED_SHARE)))
    return RecallRoom(usual, max(usual, int(shares.available * LOADED_SHARE_MAX)))


def fair(requests: Sequence[int], room: int) -> list[int]:
    """Divide a room fairly: small requests are granted in full, and the others get equal parts."""
    parts = [0] * len(requests)
    left = max(0, room)
    for done, index in enumerate(sorted(range(len(requests)), key=lambda i: requests[i])):
        parts[index] = min(requests[index], left // (len(requests) - done))
        left -= parts[index]
    return parts


RESERVES = (0.0, 0.15, 0.35, 0.65)
"""The steps in which the body shrinks for a tail that does not fit: shares of the available tokens for the tail."""
ANCHORED_SHARE = 0.2
"""The largest share of the available tokens for text that a window recalls by itself."""
RESERVE_MOST = 0.8
"""The largest share of the available tokens that can be reserved for the tail."""
ZONES_MAX = 0.9
"""The largest share of the body for head, condensed and kept messages after a cut; the rest is room to grow."""
CACHED_PRICE = 0.1
"""The price of a token that a model's API reads from its cache, relative to an uncached one, at the large vendors."""
KEPT_LEAST, KEPT_MOST = 0.5, 0.85
"""Bounds of the share that a cut keeps: an emptier window shows too little, a fuller one is cut at every call."""
HEAD_PAGES = 20
"""The head gets its whole share once this many pages are out of view, because a map of fewer pages needs less."""
HEAD_TOKENS_MIN, HEAD_TOKENS_MIN_SHARE = 380, 0.25
"""The smallest head with room for a summary; in windows of less than 1,500 tokens this share of them instead."""
HEAD_EXTRA = 1_000
"""Tokens that a head can use besides summary and contents page: for its frame and for pinned memories."""


def reserves(available: int, policy: Policy) -> list[int]:
    """Return the steps in which the body can leave tokens to the tail, from none to the most."""
    most = policy.recall_share if policy.recall_share is not None else RESERVES[-1]
    return [int(available * step) for step in (*(step for step in RESERVES if step < most), most)]


def shares(available: int, policy: Policy, *, reserve: int = 0) -> Shares:
    """Divide the available tokens, with ``reserve`` of them for the tail."""
    free = min(reserve, int(available * RESERVE_MOST))
    head_most = policy.contents_max + policy.summary_max + HEAD_EXTRA if policy.head_share else 0
    condensed = int((available - free) * policy.condensed_share)
    return Shares(available, free, condensed, policy.head_share, head_most)
