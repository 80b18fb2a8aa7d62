"""Under which policy and budget a conversation's window is made."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from app.core.calibration import OURS
from app.core.messages import Limits
from app.core.model import Fixed, Policy
from app.core.models import TABLE, ModelTable
from app.core.setting import Variable, setting
from app.core.window.budget import WINDOW_DEFAULT, ZONES_MAX, Shares, shares, usable

TOOLS_SHARE = 4
"""The recall tools and their guide are offered where they take no more than one part in this of the budget."""


@dataclass(frozen=True, slots=True)
class Defaults:
    """The deployment's values, used if neither request nor conversation sets one."""

    policy: Policy = field(default_factory=Policy)
    limits: Limits = field(default_factory=Limits)
    context_window: int = setting(
        Variable("memory_context_window", 0, ge=0), "The model's context window, in tokens. 0: inferred from the model."
    )
    output_reserve: int = setting(
        Variable("memory_output_reserve", 4096, ge=0), "Tokens of the context window kept free for the model's answer."
    )
    summary_threshold: int = setting(
        Variable("memory_summary_threshold", 10, ge=1), "Messages before the first summary."
    )
    recall_top_k: int = setting(
        Variable("memory_recall_top_k", 5, ge=1, le=100), "Maximum passages that the tool `recall_memory` brings back."
    )
    models: ModelTable = TABLE


@dataclass(frozen=True, slots=True)
class Profile:
    policy: Policy
    budget: int
    fixed: Fixed
    shares: Shares
    token_percent: int
    """Tokens that the model makes of a hundred of ours."""
    offers_tools: bool = False
    """Whether the recall tools are in the window."""


def unfit_shares(policy: Policy) -> str | None:
    """Return what is wrong with a policy's shares of the window, or None."""
    taken = round(policy.head_share + policy.condensed_share, 6)
    if taken <= ZONES_MAX:
        return None
    return (
        f"head_share and condensed_share must add up to at most {ZONES_MAX}, so that messages have room; with the "
        f"deployment's values for those left out they add up to {taken}"
    )


def policy_of(defaults: Defaults, overrides: Mapping[str, Any]) -> Policy:
    """Return the deployment's policy with a conversation's values."""
    return replace(defaults.policy, **overrides) if overrides else defaults.policy


def budget_of(defaults: Defaults, requested: int | None, own: int | None, model: str | None) -> int:
    """Return the first that says: the request, the conversation, the deployment, the model's known window.

    A budget is what a window may take; of a context window, the room for the answer is taken off first.
    """
    if requested is not None:
        return requested
    if own is not None:
        return own
    window = defaults.context_window or (defaults.models.window(model) if model else None) or WINDOW_DEFAULT
    return max(window - defaults.output_reserve, window // 2)


def offers_tools(budget: int, tokens: int, token_percent: int = OURS) -> bool:
    """Return whether a budget is large enough for the recall tools and their guide."""
    return tokens * TOOLS_SHARE * token_percent <= budget * OURS


def profile(
    policy: Policy, budget: int, fixed: Fixed, token_percent: int = OURS,
    *, reserve: int = 0, offers_tools: bool = False,
) -> Profile:  # fmt: skip
    """Return the profile of a window that leaves so many tokens to its tail."""
    room = max(0, usable(budget, token_percent) - fixed.tokens)
    return Profile(policy, budget, fixed, shares(room, policy, reserve=reserve), token_percent, offers_tools)
