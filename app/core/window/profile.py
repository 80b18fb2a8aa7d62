"""The policy and budget of a conversation's window, and how many of the model's tokens its texts are charged.

Tables, Chinese and capitals have more of the model's tokens for each of ours. So a window's percent is computed from
its own texts: from everything that its cut shows, and for a new cut from the newest messages that can fit.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import Any

from app.core.calibration import Charge, charged, marks_of
from app.core.canonical import remembered
from app.core.groups import chat_messages
from app.core.messages import NO_FILES, Limits, flat_tokens, weigh
from app.core.model import OURS, Anchored, Cut, Entry, Fixed, Item, Language, Marks, Mix, Policy, Window
from app.core.models import EXACT, FAMILIES, TABLE, ModelTable
from app.core.setting import Variable, setting
from app.core.window.budget import WINDOW_DEFAULT, ZONES_MAX, Shares, shares, usable

TOOLS_SHARE = 4
"""The recall tools and their guide are offered if they take at most this fraction (1/4) of the budget."""


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


COUNTED = Charge(FAMILIES[EXACT])
"""The charge of a model that counts tokens as Quire does."""


@dataclass(frozen=True, slots=True)
class Profile:
    policy: Policy
    budget: int
    fixed: Fixed
    shares: Shares
    token_percent: int
    """Tokens that the model makes of a hundred of ours."""
    charge: Charge = COUNTED
    reserve: int = 0
    """Tokens that the body leaves to the tail, if that many are available."""
    offers_tools: bool = False
    """Whether the recall tools are in the window."""

    def of(self, mix: Mix) -> Profile:
        """Return the profile of a window that shows texts of this mix beside the fixed parts."""
        percent = charged(self.charge, self.fixed.mix.plus(mix))
        if percent == self.token_percent:
            return self
        return profile(
            self.policy, self.budget, self.fixed, self.charge,
            percent=percent, reserve=self.reserve, offers_tools=self.offers_tools,
        )  # fmt: skip

    @property
    def of_none(self) -> Profile:
        """Return the profile for a window whose texts are not known yet."""
        own = self.policy, self.budget, self.fixed, self.charge
        return self if self.charge.is_plain else profile(*own, reserve=self.reserve, offers_tools=self.offers_tools)

    def least(self, mix: Mix) -> int:
        """Return the smallest budget that holds texts of this mix beside the fixed parts."""
        whole = self.fixed.mix.plus(mix)
        return -(-whole.tokens * charged(self.charge, whole) // OURS)


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
    """Return the deployment's policy with a conversation's own values."""
    return replace(defaults.policy, **overrides) if overrides else defaults.policy


def budget_of(defaults: Defaults, requested: int | None, own: int | None, model: str | None) -> int:
    """Return the request's or conversation's budget, or derive one from the deployment's or model's context window.

    Room for the answer is subtracted from a context window, but not from a budget.
    """
    if requested is not None:
        return requested
    if own is not None:
        return own
    window = defaults.context_window or (defaults.models.window(model) if model else None) or WINDOW_DEFAULT
    return max(window - defaults.output_reserve, window // 2)


def offers_tools(budget: int, tokens: int) -> bool:
    """Return whether a budget is large enough for the recall tools and their guide, in the model's tokens."""
    return tokens * TOOLS_SHARE <= budget


def profile(
    policy: Policy, budget: int, fixed: Fixed, charge: Charge = COUNTED,
    *, percent: int = 0, reserve: int = 0, offers_tools: bool = False,
) -> Profile:  # fmt: skip
    """Return the profile of a window with ``reserve`` tokens for its tail. ``percent`` defaults to plain text's."""
    percent = percent or charged(charge, Mix(OURS))
    parts = shares(max(0, usable(budget, percent) - fixed.tokens), policy, reserve=reserve)
    return Profile(policy, budget, fixed, parts, percent, charge, reserve, offers_tools)


# --- The tokens that a model charges for texts ----------------------------------------------------------

remembered_marks = remembered(500)(marks_of)
"""The marks of a system prompt, tools or a head, cached because every window needs them."""
HAN_PER_TOKEN = 1.35
"""Han characters per token of a Chinese head."""
_FULL, _SHORT, _PASSING = slice(0, 4), slice(4, 8), slice(8, 12)
"""Slices of a message's stored marks, by form (see ``core.history.ingest.form_marks``)."""


def marks_in(views: Iterable[dict[str, Any]], beside: Iterable[str] = (), files: Mapping[str, int] = NO_FILES) -> Marks:
    """Return the marks of chat messages and of the texts ``beside`` them. Marks of separate lines add up."""
    views = list(views)
    digits, han, capitals, _ = marks_of("\n".join([*chain(*(weigh(view)[0] for view in views)), *beside]))
    return Marks(digits, han, capitals, sum([flat_tokens(view, files) for view in views]))


def marks_at(marks: Sequence[int], form: slice) -> Marks:
    return Marks(*marks[form])


def of_cut(target: Profile, cut: Cut, body: Mix, anchored: Anchored | None) -> Profile:
    """Return the profile of a cut's window. ``body``: the mix of the messages that it shows."""
    if target.charge.is_plain:
        return target
    mixes = [body, Mix.of(cut.head.tokens, remembered_marks(cut.head.text))]
    if anchored is not None and anchored.text and anchored.seq >= cut.verbatim_from:
        mixes.append(Mix.of(anchored.tokens, remembered_marks(anchored.text)))
    return target.of(Mix().plus(*mixes))


def mix_of(item: Item, cut: Cut, *, is_newest: bool) -> Mix:
    if item.seq < cut.verbatim_from and item.seq != cut.pinned:
        return Mix.of(item.tokens, marks_at(item.marks, _SHORT), calls=item.calls)
    if is_newest and item.loaded_text is not None:
        return Mix.of(item.loaded_tokens, marks_at(item.marks, _PASSING), calls=item.calls)
    mix = Mix.of(item.tokens, marks_at(item.marks, _FULL), calls=item.calls)
    return mix.plus(Mix.of(sum(item.fresh), marks_at(item.marks, _PASSING))) if is_newest and item.fresh else mix


def of_newest(target: Profile, entries: Sequence[Entry], language: Language) -> Profile:
    """Return the profile of a new cut, computed from the newest messages that can fit beside a head."""
    if target.charge.is_plain:
        return target
    head = min(target.shares.head_most, int(target.shares.available * target.shares.head_share))
    mix = Mix(head, han=int(head * HAN_PER_TOKEN) if language == "zh" else 0)
    for entry in reversed(entries):
        if target.least(mix) > target.budget:
            break
        mix = mix.plus(_of_entry(entry, is_newest=entry.page == entries[-1].page))
    return target.of(mix)


def needed(target: Profile, newest: Iterable[Entry | Item]) -> int:
    """Return the smallest budget that holds the ``newest`` messages beside the fixed parts."""
    weighed = ((message.full if isinstance(message, Entry) else message.tokens, message) for message in newest)
    return target.least(Mix().plus(*(Mix.of(tokens, marks_at(m.marks, _FULL), calls=m.calls) for tokens, m in weighed)))


def _of_entry(entry: Entry, *, is_newest: bool) -> Mix:
    mix = Mix.of(entry.full, marks_at(entry.marks, _FULL), calls=entry.calls)
    if not is_newest or not (entry.loaded or entry.fresh):
        return mix
    return mix.plus(Mix.of(entry.loaded + sum(entry.fresh), marks_at(entry.marks, _PASSING)))


def of_squeezed(target: Profile, window: Window) -> Profile:
    """Return the profile of a squeezed window, computed from the texts it shows: cut texts can have another percent."""
    head = Mix.of(window.ledger.total - target.fixed.tokens, remembered_marks(window.head))
    shown = marks_in(message for placed in window.body for message in chat_messages(placed.text))
    return target.of(head.plus(Mix.of(0, shown)))
