"""head + body + tail -> window.

The recipe: take the epoch's layout and head, show the body as the layout says, and add up. Nearly always that fits,
because a layout ends where it would not (``core/window/paging.py``).

It can still fail to fit, when the newest user message or call group is larger than the zone it is in. Then the window
is squeezed (``core/window/squeezing.py``), and is an epoch of its own.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import NamedTuple

from app.core.canonical import dumps
from app.core.groups import units
from app.core.model import (
    INTEGER_MAX,
    OPENING_TOKENS,
    UNMATCHED,
    UNSENT,
    UNZONED,
    Anchored,
    Epoch,
    Head,
    Item,
    Language,
    Layout,
    Ledger,
    Placed,
    Squeezed,
    TailItem,
    Totals,
    Window,
    WindowWarning,
    epoch_number,
)
from app.core.search.days import MESSAGE_TOKENS
from app.core.window.budget import smallest_budget, usable
from app.core.window.profile import Profile
from app.core.window.squeezing import Cutter, ItemForm, WindowUnit, opens_page, place, squeeze, squeezed_again
from app.errors import BudgetTooSmall

TAIL_OVERHEAD = 40
"""Tokens of the message and the frame around the tail (render.TAIL_FRAMES), in either language."""
UNMATCHED_NAMED = 10
"""Unmatched results that a warning names, the newest."""


def assemble(
    epoch: Epoch, items: Sequence[Item], target: Profile, totals: Totals,
    *, anchored: Anchored | None = None, cutter: Cutter | None = None,
) -> Window:  # fmt: skip
    """Return the window without its tail. Raises BudgetTooSmall with the smallest budget that works.

    ``anchored``: what was recalled for the newest user message; it is left out where it does not fit. ``cutter``: for
    results that have to be cut, which are condensed without it.
    """
    fixed, token_percent = target.fixed, target.token_percent
    room = usable(target.budget, token_percent) - fixed.tokens
    shown, held_back = units(items)
    body = _units(shown, epoch.layout, totals.last_page, target.shares.fresh)
    newest = next((unit for unit in reversed(body) if unit.is_user), None)
    needed = newest.tokens(ItemForm.MARKED) if newest else 0
    if needed > room:
        raise BudgetTooSmall(smallest_budget(fixed.tokens + needed, token_percent))

    warnings = [_waiting(held_back)] if held_back else []
    warnings += _unmatched(items, totals)
    head, layout = epoch.head, epoch.layout
    opening = _opening(head, body[0].items[0].role if body else "user")
    placed = _placed(body, head, layout)
    squeezed: Squeezed | None = None
    taken = head.tokens + opening + sum(p.tokens + sum(p.fresh) for p in placed)
    recalled = _recalled(anchored, layout, totals.last_page, room - taken)
    if taken > room:
        head, placed, squeezed, tight = squeeze(body, head, layout, room, target.shares.reserve, cutter)
        warnings.append(tight)
    if recalled is not None and anchored is not None:
        _insert(placed, recalled, anchored.seq)
    ledger = _ledger(target, head, placed, totals)
    pages = _pages(items, body, placed, head, layout, totals.last_page)
    return Window(
        number=_number(items, layout, totals, anchored if recalled else None),
        head=head.text,
        body=tuple(_marked(placed, items, layout)),
        tail=(),
        ledger=ledger,
        verbatim_pages=pages.verbatim,
        condensed_pages=pages.condensed,
        listed_pages=pages.listed,
        unlisted=pages.unlisted,
        warnings=tuple(warnings),
        squeezed=squeezed,
    )


class PagesShown(NamedTuple):
    """The pages in each zone, and how many are in none."""

    verbatim: tuple[int, ...]
    condensed: tuple[int, ...]
    listed: tuple[int, ...]
    unlisted: int


def placed_again(
    items: Sequence[Item],
    head: Head,
    layout: Layout,
    last_page: int,
    most_fresh: int,
    squeezed: Squeezed | None,
    anchored: Anchored | None,
    language: Language,
) -> tuple[tuple[Placed, ...], PagesShown]:
    """Return the body of a window that was assembled before, and its pages."""
    body = _units(units(items)[0], layout, last_page, most_fresh)
    placed = squeezed_again(body, squeezed, layout, language) if squeezed else _placed(body, head, layout)
    recalled = _recalled(anchored, layout, last_page, INTEGER_MAX)
    if recalled is not None and anchored is not None:
        _insert(placed, recalled, anchored.seq)
    return tuple(_marked(placed, items, layout)), _pages(items, body, placed, head, layout, last_page)


def _units(found: Iterable[Sequence[Item]], layout: Layout, last_page: int, most_fresh: int) -> list[WindowUnit]:
    """Return units with the room of what is fresh in them, which those of one call group share, in their order."""
    body: list[WindowUnit] = []
    taken: dict[int, int] = {}
    for items in found:
        unit, first = WindowUnit(tuple(items)), items[0]
        if first.page == last_page and first.seq >= layout.verbatim_from and any(item.fresh for item in items):
            unit = unit.within(most_fresh - taken.get(first.group, 0))
            taken[first.group] = taken.get(first.group, 0) + sum(unit.fresh)
        body.append(unit)
    return body


def _placed(body: Sequence[WindowUnit], head: Head, layout: Layout) -> list[Placed]:
    """Return the body with date lines before the units of the condensed zone and before the first verbatim one."""
    placed: list[Placed] = []
    waiting = list(head.days)
    for unit in body:
        first = unit.items[0]
        due = [day for day in waiting if day.page <= first.page and first.seq <= layout.verbatim_from]
        if due:
            waiting = waiting[len(due) :]
            placed.append(Placed(0, first.page, "condensed", "user", due[-1].text, parts=1, tokens=MESSAGE_TOKENS))
        placed += place(unit, ItemForm.WHOLE, layout)
    return placed


def free_for_tail(window: Window) -> int:
    """Return the tokens that the body leaves free for the tail's texts."""
    ledger = window.ledger
    return usable(ledger.budget, ledger.token_percent) - ledger.total - TAIL_OVERHEAD


def with_tail(window: Window, requested: Iterable[TailItem]) -> Window:
    """Return the window with the requested tail items, in order, as far as they fit."""
    free = free_for_tail(window)
    taken: list[TailItem] = []
    left_out = 0
    for item in requested:
        if item.tokens <= free:
            taken.append(item)
            free -= item.tokens
        else:
            left_out += 1
    warnings = window.warnings
    if left_out:
        warnings += (WindowWarning("tail_cut", f"{left_out} requested part(s) did not fit the budget"),)
    if not taken:
        return replace(window, warnings=warnings)
    tokens = sum(item.tokens for item in taken) + TAIL_OVERHEAD
    return replace(window, tail=tuple(taken), ledger=replace(window.ledger, tail=tokens), warnings=warnings)


def _opening(head: Head, first_role: str) -> int:
    return OPENING_TOKENS if first_role == "assistant" and not head.text else 0


def _number(items: Sequence[Item], layout: Layout, totals: Totals, shown: Anchored | None) -> int:
    """Return the epoch's number: that of its cut, or of the message that last changed what was in view.

    A user message does that which closes a page with fresh results or recalled text, since they shrink there; and what
    is recalled for one does, since windows may have been made without it.
    """
    changed, page, passing = 0, 0, False
    for item in items:
        if item.seq < layout.verbatim_from or item.kind in UNZONED:
            continue
        if item.page != page:
            changed = item.seq if passing else changed
            page, passing = item.page, False
        passing = passing or bool(item.fresh) or item.loaded_tokens > 0
    numbers = [layout.number]
    if changed:
        numbers.append(epoch_number(changed, totals.generation))
    if shown:
        numbers.append(epoch_number(shown.seq, totals.generation, recalled=True))
    return max(numbers)


def _insert(placed: list[Placed], recalled: Placed, seq: int) -> None:
    placed.insert(next(at for at, shown in enumerate(placed) if shown.seq == seq), recalled)


def _recalled(anchored: Anchored | None, layout: Layout, page: int, free: int) -> Placed | None:
    """Return what was recalled for the newest user message, if that is verbatim and there is room."""
    if anchored is None or anchored.text is None or anchored.tokens > free or anchored.seq < layout.verbatim_from:
        return None
    said = dumps({"role": "user", "content": anchored.text})
    return Placed(0, page, "verbatim", "user", said, parts=1, tokens=anchored.tokens, passing=True)


def _ledger(target: Profile, head: Head, placed: Sequence[Placed], totals: Totals) -> Ledger:
    return Ledger(
        budget=target.budget,
        token_percent=target.token_percent,
        tools=target.fixed.tools_tokens,
        system=target.fixed.system_tokens,
        notes=head.notes_tokens,
        summary=head.summary_tokens,
        contents=head.contents_tokens + head.frame_tokens,
        condensed=sum(p.tokens for p in placed if p.zone == "condensed"),
        recent=sum(p.tokens for p in placed if p.zone == "verbatim")
        + _opening(head, placed[0].role if placed else "user"),
        full_history=target.fixed.tokens + totals.history,
    )


def _pages(
    items: Sequence[Item],
    body: Sequence[WindowUnit],
    placed: Sequence[Placed],
    head: Head,
    layout: Layout,
    last_page: int,
) -> PagesShown:
    """Assign each page to one zone: that of its least complete part.

    A page that is only partly in view and not on the contents page belongs to no zone.
    """
    listed = set(head.listed)
    shown = {p.seq for p in placed}
    partly = {item.page for unit in body for item in unit.items if item.seq not in shown}
    first = next((item for item in items if item.seq >= layout.condensed_from and item.kind not in UNSENT), None)
    if first is not None and layout.condensed_from > 1 and (first.page == 1 or not opens_page(first)):
        partly.add(first.page)
    condensed = {p.page for p in placed if p.zone == "condensed" and p.seq} - listed - partly
    verbatim = {p.page for p in placed if p.zone == "verbatim"} - listed - condensed - partly
    unlisted = last_page - len(verbatim) - len(condensed) - len(listed)
    return PagesShown(tuple(sorted(verbatim)), tuple(sorted(condensed)), tuple(sorted(listed)), unlisted)


def _marked(placed: Sequence[Placed], items: Sequence[Item], layout: Layout) -> Iterable[Placed]:
    """Set the cache breakpoints: the end of the condensed zone, and one place in the verbatim zone's growth.

    Both depend on the layout alone, so a breakpoint never moves within an epoch.
    """
    after = {item.seq: item.full_after for item in items}
    last_condensed = max((i.seq for i in items if i.seq < layout.verbatim_from and i.kind not in UNSENT), default=0)
    halfway = next((p.seq for p in placed if after.get(p.seq, 0) >= layout.half_mark > 0), 0)
    for p in placed:
        is_mark = 0 < p.seq in (last_condensed, halfway) and not p.passing
        yield p._replace(cache_mark=True) if is_mark else p


def _waiting(held_back: Sequence[Item]) -> WindowWarning:
    missing = sum(item.calls for item in held_back) - sum(item.results for item in held_back)
    return WindowWarning(
        "tool_results_awaited", f"message {held_back[0].seq} has {missing} call(s) without a result yet"
    )


def _unmatched(items: Sequence[Item], totals: Totals) -> list[WindowWarning]:
    """Warn of recent results that answer no open call: on the newest page and the one before it."""
    seqs = [str(item.seq) for item in items if item.kind == "orphan" and item.page >= totals.last_page - 1]
    if not seqs:
        return []
    named = ", ".join(seqs[-UNMATCHED_NAMED:])
    detail = f"{len(seqs)} recent tool result(s) answer no open call and are not shown: message {named}"
    return [WindowWarning(UNMATCHED, detail)]
