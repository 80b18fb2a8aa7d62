"""Shares of a token budget.

A budget is what the caller wants used and will not have exceeded. A tenth of it is kept back, because other vendors'
tokenizers count differently. The rest is shared out:

    available = 0.9 x budget / (the model's tokens to one of ours) - tools - system
    reserve   = 15 % of what is available, at most 6,000 tokens; 45 % for a request with a query
    body      = available - reserve

The reserve stays free for the tail and for what recall tools bring in. The body's room is for the head and the
messages; ``core/paging.py`` says how they fill it.
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

# Context windows in tokens by model-name prefix, as their vendors publish them. The longest prefix wins.
MODEL_WINDOWS: dict[str, int] = {
    "gpt-3.5": 16_385,
    "gpt-4": 8_192,
    "gpt-4-32k": 32_768,
    "gpt-4-turbo": 128_000,
    "gpt-4-1106": 128_000,
    "gpt-4-0125": 128_000,
    "gpt-4o": 128_000,
    "chatgpt-4o": 128_000,
    "gpt-4.1": 1_047_576,
    "gpt-4.5": 128_000,
    "gpt-5": 400_000,
    "gpt-oss": 131_072,
    "o1": 200_000,
    "o1-mini": 128_000,
    "o3": 200_000,
    "o4-mini": 200_000,
    "claude": 200_000,
    "gemini": 1_048_576,
    "gemini-1.5-pro": 2_097_152,
    "deepseek": 128_000,
    "qwen": 131_072,
    "qwen-max": 32_768,
    "qwen-turbo": 1_000_000,
    "qwen2.5": 131_072,
    "qwen3": 131_072,
    "glm-4": 128_000,
    "kimi": 128_000,
    "kimi-k2": 256_000,
    "moonshot": 128_000,
    "doubao": 128_000,
    "ernie": 128_000,
    "hunyuan": 128_000,
    "minimax": 1_000_000,
    "yi": 32_768,
    "llama-3": 128_000,
    "llama3": 128_000,
    "llama-4": 1_000_000,
    "mistral": 128_000,
    "mixtral": 32_768,
    "codestral": 256_000,
    "command-r": 128_000,
    "grok": 131_072,
    "grok-4": 256_000,
    "phi-4": 16_384,
}


def model_window(model: str) -> int | None:
    """The context window of a known model, or None. A vendor's prefix ("openai/gpt-4o") is passed over."""
    name = model.strip().lower().rsplit("/", 1)[-1]
    known = [prefix for prefix in MODEL_WINDOWS if name.startswith(prefix)]
    return MODEL_WINDOWS[max(known, key=len)] if known else None


def usable(budget: int, token_percent: int = OURS) -> int:
    """What of a budget of the model's tokens is handed out, in tokens of ours: all but the safety margin of a tenth,
    rounded up in its favour.
    """
    return budget * 90 // token_percent


def smallest_budget(needed: int, token_percent: int = OURS) -> int:
    """The smallest budget whose usable part holds ``needed`` tokens."""
    return -(-needed * token_percent // 90)


@dataclass(frozen=True, slots=True)
class Shares:
    """How one budget is shared out, in tokens."""

    available: int
    reserve: int
    """Kept free for the tail and for what recall tools bring in."""
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
        """How far the history grows between two cuts."""
        return max(1, self.body - self.head - self.condensed - self.keep)


LOADED_TOKENS = 4_000
"""What a recall tool brings in, if it is not asked for another amount."""
LOADED_SHARE, LOADED_SHARE_MAX = 0.25, 0.5
"""The parts of the available tokens that a recall tool brings in by itself, and whatever it is asked for: what it
brings in stays until the next user message, beside what was there before and what the next call brings in.
"""


def loaded(available: int) -> int:
    """What a recall tool brings in by itself."""
    return max(1, min(LOADED_TOKENS, int(available * LOADED_SHARE)))


def loaded_max(available: int, asked: int | None = None) -> int:
    """What it brings in at most, even where more is asked for."""
    most = max(1, int(available * LOADED_SHARE_MAX))
    return most if asked is None else min(asked, most)


def fair(wanted: Sequence[int], room: int) -> list[int]:
    """How a room is shared out: small ones have what they want, the others the same, and none more than it wants."""
    found = [0] * len(wanted)
    left = max(0, room)
    for done, index in enumerate(sorted(range(len(wanted)), key=lambda i: wanted[i])):
        found[index] = min(wanted[index], left // (len(wanted) - done))
        left -= found[index]
    return found


RESERVE_SHARE, RESERVE_MAX = 0.15, 6_000
QUERY_SHARE = 0.45
"""The part of the available tokens that is reserved for what a query brings in."""
ZONES_MAX = 0.9
"""What head, condensed and kept messages may take together of the body's room: the rest is growth."""
HEAD_TOKENS_MIN, HEAD_TOKENS_MIN_SHARE = 380, 0.25
"""A smaller head has no room for a summary. In a window of less than 1,500 tokens it has this part of them."""
HEAD_EXTRA = 1_000
"""What a head can use beside its summary and its contents page: the frame and standing notes."""


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
    """Share out what is available.

    A history that would fit beside the small reserve is shown whole to requests with a query too: a query could bring
    back nothing of it that is not in view.
    """
    free = reserve(available, policy, has_query=has_query)
    body = available - free
    scale = min(1.0, ZONES_MAX / max(zones(policy), ZONES_MAX))
    condensed, keep = int(body * policy.condensed_share * scale), int(body * policy.keep_share * scale)
    room = int(body * ZONES_MAX) - condensed - keep
    head = min(_head(int(body * policy.head_share * scale), available, policy), room)
    whole = available - reserve(available, policy, has_query=False)
    if policy.active_pages:  # pages leave before the body is full, and what stands for them needs room
        whole = max(0, whole - head - condensed)
    return Shares(available, free, whole, head, condensed, keep)


def _head(share: int, available: int, policy: Policy) -> int:
    """The head's share, within what a head needs and what it can use."""
    if not policy.head_share:
        return 0
    needed = min(HEAD_TOKENS_MIN, int(available * HEAD_TOKENS_MIN_SHARE))
    used = policy.contents_max + policy.summary_max + HEAD_EXTRA
    return max(needed, min(share, used))
