"""Compare two windows: which parts came in, which went out, and why.

said      the conversation went on
page      a user message ended the page, until which it was shown in full
cut       the zones moved to make room
recall    the call asked for it, or its query found it
refused   the model's API refused it for good
erasure   it was erased
edit      notes, the system prompt or other texts changed
setting   budget, format, model, tools or the token ratio changed
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from itertools import groupby
from typing import Any, Literal

from app.core.model import Window
from app.core.window.served import Served, ServedFrame, ledger_of

Why = Literal["said", "page", "cut", "recall", "refused", "erasure", "edit", "setting"]
SETTINGS = ("budget", "model", "format", "own_percent", "language")


@dataclass(frozen=True, slots=True)
class Side:
    """One of the two windows."""

    frame: ServedFrame
    served: Served
    window: Window
    erased: Collection[int] = ()
    """Its messages that have been erased since."""
    gone: Collection[str] = ()
    """Its other texts that have been erased since."""
    is_verified: bool = True

    @property
    def forms(self) -> dict[int, str]:
        return {p.seq: "passing" if p.passing else p.zone for p in self.window.body if p.seq}


def difference(old: Side | None, new: Side) -> dict[str, Any]:
    """Return the difference between two windows of a conversation. ``old`` is None if ``new`` is the first window."""
    if old is None:
        came_in: list[Change] = [(seq, form, "said") for seq, form in new.forms.items()]
        return {"came_in": _runs(came_in), "went_out": [], "changed": [], "parts": [], "settings": []}
    settings = [
        {"name": name, "from": getattr(old.frame, name), "to": getattr(new.frame, name)}
        for name in SETTINGS
        if getattr(old.frame, name) != getattr(new.frame, name)
    ]
    cause = _cause(old.frame, new.frame, settings)
    return {
        "came_in": _runs(_came_in(old, new, cause)), "went_out": _runs(_went_out(old, new, cause)),
        "changed": _runs(_changed(old, new, cause)), "parts": list(_parts(old, new, cause)), "settings": settings,
    }  # fmt: skip


def _cause(old: ServedFrame, new: ServedFrame, settings: Collection[object]) -> Why:
    """Return why the zones or the head changed."""
    if settings:
        return "setting"
    zones = [(frame.condensed_from, frame.verbatim_from, frame.pinned) for frame in (old, new)]
    return "cut" if zones[0] != zones[1] else "edit"


Change = tuple[int, str, Why]


def _came_in(old: Side, new: Side, cause: Why) -> Iterable[Change]:
    before = old.forms
    for seq, form in new.forms.items():
        if seq not in before:
            yield seq, form, "said" if seq > old.served.last_seq else cause


def _went_out(old: Side, new: Side, cause: Why) -> Iterable[Change]:
    after = new.forms
    for seq, form in old.forms.items():
        if seq not in after:
            yield seq, form, "refused" if seq in new.served.refused else cause


def _changed(old: Side, new: Side, cause: Why) -> Iterable[Change]:
    before, was_erased = old.forms, not old.is_verified and new.is_verified
    for seq, form in new.forms.items():
        if was_erased and seq in old.erased and seq in before:
            yield seq, form, "erasure"
        elif before.get(seq, form) != form:
            is_page = before[seq] == "passing" and new.served.last_page > old.served.last_page
            yield seq, form, "page" if is_page else cause


def _parts(old: Side, new: Side, cause: Why) -> Iterable[Mapping[str, Any]]:
    before, after = ledger_of(old.frame, old.served), ledger_of(new.frame, new.served)
    head: Why = "erasure" if "head" in old.gone and cause == "edit" else cause
    rows: tuple[tuple[str, str, str, int, int, Why], ...] = (
        ("tools", old.frame.tools, new.frame.tools, before.tools, after.tools, "setting"),
        ("system", old.frame.system, new.frame.system, before.system, after.system, "edit"),
        ("head", old.frame.head, new.frame.head, _head(old.frame), _head(new.frame), head),
        ("recalled", old.served.recalled, new.served.recalled, *_recalled(old, new), "recall"),
        ("tail", old.served.tail, new.served.tail, before.tail, after.tail, "recall"),
    )
    for part, was, is_, from_tokens, to_tokens, why in rows:
        if was != is_:
            yield {"part": part, "from_tokens": from_tokens, "to_tokens": to_tokens, "why": why}


def _recalled(old: Side, new: Side) -> tuple[int, int]:
    return old.served.recalled_tokens, new.served.recalled_tokens


def _head(frame: ServedFrame) -> int:
    return sum(frame.sections[2:5])


def _runs(changes: Iterable[Change]) -> list[dict[str, Any]]:
    runs = []
    for (form, why), run in groupby(sorted(changes), key=lambda change: change[1:]):
        seqs = [seq for seq, _, _ in run]
        runs.append({"first_seq": seqs[0], "last_seq": seqs[-1], "messages": len(seqs), "form": form, "why": why})
    return runs
