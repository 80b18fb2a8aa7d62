"""Shares of a token budget.

The budget is what the caller will not have exceeded. A tenth of it is kept back, because another vendor's
tokenizer counts differently; what is left after the fixed parts is shared out by caps:

    available = 0.9 x budget / (the model's tokens to one of ours) - tools - system
    head <= 10 %, condensed <= 35 %, recent <= 55 %; the tail takes what they leave free

In a small window the condensed zone's cap is lower, and in a tiny one the recent zone's too: what a call asks for
finds more of what matters there than zones that are the same for every call (docs/retrieval.md).
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
    """The caps of one budget, in tokens; they add up to no more than ``available``."""

    available: int
    head: int
    condensed: int
    recent: int

    @property
    def step(self) -> int:
        """How far the recent zone grows between two epochs: half its cap, so it falls to about half."""
        return max(1, self.recent // 2)


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


TINY, TINY_END = 1_500, 3_000
"""Available tokens up to which a window is tiny, and from which on it is not."""
SMALL, LARGE = 3_600, 6_400
"""Available tokens up to which a window is small, and from which on it is not."""
RECENT_TINY, CONDENSED_TINY, CONDENSED_SMALL = 0.40, 0.10, 0.15
"""The zones' shares of a tiny and of a small window; in between they grow with the window."""


def recent_share(available: int, policy: Policy) -> float:
    low = min(RECENT_TINY, policy.recent_share)
    return low + (policy.recent_share - low) * _grown(available, TINY, TINY_END)


def condensed_share(available: int, policy: Policy) -> float:
    tiny, small = min(CONDENSED_TINY, policy.condensed_share), min(CONDENSED_SMALL, policy.condensed_share)
    low = tiny + (small - tiny) * _grown(available, TINY, TINY_END)
    return low + (policy.condensed_share - low) * _grown(available, SMALL, LARGE)


def _grown(available: int, low: int, high: int) -> float:
    return min(max((available - low) / (high - low), 0.0), 1.0)


def shares(available: int, policy: Policy) -> Shares:
    return Shares(
        available=available,
        head=int(available * policy.head_share),
        condensed=int(available * condensed_share(available, policy)),
        recent=max(1, int(available * recent_share(available, policy))),
    )
