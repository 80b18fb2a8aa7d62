"""Warnings of a window, except those about messages that it could not show."""

from __future__ import annotations

from collections.abc import Sequence

from app.core.calibration import UNREPORTED
from app.core.conversation import Conversation
from app.core.model import Cut, Head, Policy, WindowWarning
from app.core.models import ModelTable
from app.core.window.summarising import lag

LAG_PAGES_MAX = 2
LAG_MESSAGES_MAX = 10
"""A window warns if the model's texts lag further behind than this."""


def of_tools(taken: Sequence[str], *, offered: bool) -> list[WindowWarning]:
    """Warn if recall tools are missing. ``taken``: names of recall tools that the caller's own tools use."""
    if not offered:
        return [WindowWarning("recall_tools_left_out", "the budget is too small for the recall tools")]
    detail = f"your tools take the names of recall tools: {', '.join(taken)}"
    return [WindowWarning("recall_tools_left_out", detail)] if taken else []


def of_model(model: str | None, models: ModelTable, learned: int) -> list[WindowWarning]:
    """Warn of an unknown model: it is in no row of the table, and no usage report has ``learned`` its percent."""
    if model is None or models.window(model) is not None or learned != UNREPORTED:
        return []
    return [
        WindowWarning(
            "unknown_model",
            "the model's window and tokenizer are not known; it is charged as the costliest that is common",
        )
    ]


def of_lag(conversation: Conversation, cut: Cut, policy: Policy, summary_threshold: int) -> list[WindowWarning]:
    """Warn if texts that a model writes are overdue. Extractive ones replace them meanwhile."""
    warnings, totals = [], conversation.totals
    behind = totals.last_page - 1 - conversation.indexed_through
    if behind > LAG_PAGES_MAX:
        warnings.append(WindowWarning("index_lags", f"{behind} closed pages are not indexed yet"))
    if cut.head.summary_through_seq:  # the lag among messages that have left the window
        through = cut.head.summary_through_seq if cut.head.summary_source == "llm" else 0
        behind = cut.condensed_from - 1 - through
    else:
        behind = lag(totals.last_seq, conversation.summary_through, summary_threshold)
    if policy.summary_enabled and behind > LAG_MESSAGES_MAX:
        warnings.append(WindowWarning("summary_lags", f"the summary is {behind} messages behind"))
    return warnings


def of_head(head: Head) -> list[WindowWarning]:
    if not (left_out := head.notes_left_out):
        return []
    return [WindowWarning("notes_left_out", f"there is no room for {left_out} memories to keep in mind")]
