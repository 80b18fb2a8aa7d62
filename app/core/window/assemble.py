"""head + body + tail -> window.

The recipe: take the cut's head, show the body as the cut's zones say, and add up. If that fits, it is the window; if
not, the window says so (``Window.fits``), and whoever asks makes another cut (``core/window/paging.py``).

It can still fail to fit after that, when the newest user message or call group is larger than the zone it is in. Then
the window is squeezed (``core/window/squeezing.py``).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import NamedTuple

from app.core.canonical import dumps
from app.core.groups import units
from app.core.model import (
    OPENING_TOKENS,
    UNMATCHED,
    UNSENT,
    Anchored,
    Cut,
    FreshForm,
    Head,
    Item,
    Language,
    Ledger,
    Placed,
    Policy,
    Squeezed,
    TailItem,
    Totals,
    Window,
    WindowWarning,
)
from app.core.search.days import MESSAGE_TOKENS
from app.core.window.budget import usable
from app.core.window.fresh import PARTS_SHARE, rooms
from app.core.window.profile import Profile, needed
from app.core.window.squeezing import Cutter, ItemForm, WindowUnit, opens_page, place, squeeze, squeezed_again
from app.errors import BudgetTooSmall

TAIL_OVERHEAD = 40
"""Tokens of the message and the frame around the tail (render.TAIL_FRAMES), in either language."""
UNMATCHED_NAMED = 10
"""Unmatched results that a warning names, the newest."""


def assemble(
    cut: Cut, items: Sequence[Item], target: Profile, totals: Totals,
    *, anchored: Anchored | None = None, cutter: Cutter | None = None,
) -> Window:  # fmt: skip
    """Return the window without its tail. Raises BudgetTooSmall with the smallest budget that works.

    ``anchored``: what was recalled for the newest user message; it is left out where it does not fit. ``cutter``: for
    a window that has to be squeezed; without it, one that exceeds the budget says so (``Window.is_over``).
    """
    room = usable(target.budget, target.token_percent) - target.fixed.tokens
    shown, held_back = units(items)
    recalled = _recalled(anchored, cut, totals.last_page)
    head, before = cut.head, recalled.tokens if recalled else 0
    before += head.tokens + _opening(head, shown[0][0].role if shown else "user")
    body, forms = _units(shown, cut, totals.last_page, before)
    newest = next((unit for unit in reversed(body) if unit.is_user), None)
    if (least := needed(target, newest.items if newest else ())) > target.budget:
        raise BudgetTooSmall(least)

    warnings = [_waiting(held_back)] if held_back else []
    warnings += _unmatched(items, totals)
    placed = _placed(body, head, cut)
    taken = before + sum(p.tokens + sum(p.fresh) for p in placed)
    fits = taken <= target.shares.body and not _is_over_pages(cut, body, target.policy, totals)
    if recalled is not None and taken > room:
        taken, recalled = taken - recalled.tokens, None
    squeezed: Squeezed | None = None
    is_over = taken > room
    if is_over and cutter is not None:
        head, placed, squeezed, tight = squeeze(body, head, cut, room, target.shares.reserve, cutter)
        warnings.append(tight)
    if recalled is not None and anchored is not None:
        _insert(placed, recalled, anchored.seq)
    ledger = _ledger(target, head, placed, totals)
    pages = _pages(items, body, placed, head, cut, totals.last_page)
    return Window(
        number=cut.number,
        head=head.text,
        body=tuple(_marked(placed, items, cut)),
        tail=(),
        ledger=ledger,
        verbatim_pages=pages.verbatim,
        condensed_pages=pages.condensed,
        listed_pages=pages.listed,
        unlisted=pages.unlisted,
        warnings=tuple(warnings),
        squeezed=squeezed,
        is_over=is_over,
        fits=fits,
        rooms=tuple(size for unit in body for size in unit.fresh),
        forms=tuple(forms),
    )


def _is_over_pages(cut: Cut, body: Sequence[WindowUnit], policy: Policy, totals: Totals) -> bool:
    if not policy.active_pages:
        return False
    first = next((unit.items[0].page for unit in body if unit.items[0].seq >= cut.condensed_from), totals.last_page)
    return totals.last_page - first >= policy.active_pages


class PagesShown(NamedTuple):
    """The pages in each zone, and how many are in none."""

    verbatim: tuple[int, ...]
    condensed: tuple[int, ...]
    listed: tuple[int, ...]
    unlisted: int


def placed_again(
    items: Sequence[Item],
    cut: Cut,
    last_page: int,
    of_fresh: Sequence[int],
    squeezed: Squeezed | None,
    anchored: Anchored | None,
    language: Language,
) -> tuple[tuple[Placed, ...], PagesShown]:
    """Return the body of a window that was assembled before, and its pages. ``of_fresh``: the rooms of its results."""
    left = list(of_fresh)
    body: list[WindowUnit] = []
    for found in units(items)[0]:
        unit = WindowUnit(tuple(found))
        count = len(unit.sizes) if _is_fresh(unit, cut, last_page) else 0
        body.append(replace(unit, fresh=tuple(left[:count])))
        del left[:count]
    placed = squeezed_again(body, squeezed, cut, language) if squeezed else _placed(body, cut.head, cut)
    recalled = _recalled(anchored, cut, last_page)
    if recalled is not None and anchored is not None:
        _insert(placed, recalled, anchored.seq)
    return tuple(_marked(placed, items, cut)), _pages(items, body, placed, cut.head, cut, last_page)


def _is_fresh(unit: WindowUnit, cut: Cut, last_page: int) -> bool:
    first = unit.items[0]
    return first.page == last_page and first.seq >= cut.verbatim_from and any(item.fresh for item in unit.items)


def _units(
    found: Iterable[Sequence[Item]], cut: Cut, last_page: int, taken: int
) -> tuple[list[WindowUnit], list[FreshForm]]:
    """Return units with the room of what is fresh in them, and the forms that were given in what was free.

    ``taken``: tokens before the first. What does not fit in the room that is free when it comes has parts; those of one
    call group share a quarter of the room. All that was there when the cut was made came at once.
    """
    known = {(form.seq, form.archive_id): form.tokens for form in cut.forms}
    parts_max, in_parts = int(cut.room * PARTS_SHARE), dict[int, int]()
    body = [WindowUnit(tuple(items)) for items in found]
    weights = [unit.tokens(ItemForm.WHOLE) for unit in body]
    was_there = [max(item.seq for item in unit.items) <= cut.last_seq for unit in body]
    at_cut = sum(weight for weight, there in zip(weights, was_there, strict=True) if there)
    forms: list[FreshForm] = []
    taken += at_cut
    for at, unit in enumerate(body):
        first = unit.items[0]
        taken += 0 if was_there[at] else weights[at]
        if not _is_fresh(unit, cut, last_page):
            continue
        places = [(item.seq, uuid) for item in unit.items for uuid in item.archive_ids[: len(item.fresh)]]
        if all(place in known for place in places):
            given = [known[place] for place in places]
        else:
            given = rooms(unit.sizes, cut.room - taken, parts_max - in_parts.get(first.group, 0))
        partly = sum(room for room, size in zip(given, unit.sizes, strict=True) if room < size)
        in_parts[first.group] = in_parts.get(first.group, 0) + partly
        taken += sum(given)
        body[at] = replace(unit, fresh=tuple(given))
        if taken <= cut.room:
            forms += [FreshForm(*place, room) for place, room in zip(places, given, strict=True)]
    return body, forms


def _placed(body: Sequence[WindowUnit], head: Head, cut: Cut) -> list[Placed]:
    """Return the body with date lines before the units of the condensed zone and before the first verbatim one."""
    placed: list[Placed] = []
    waiting = list(head.days)
    for unit in body:
        first = unit.items[0]
        due = [day for day in waiting if day.page <= first.page and first.seq <= cut.verbatim_from]
        if due:
            waiting = waiting[len(due) :]
            placed.append(Placed(0, first.page, "condensed", "user", due[-1].text, parts=1, tokens=MESSAGE_TOKENS))
        placed += place(unit, ItemForm.WHOLE, cut)
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


def _insert(placed: list[Placed], recalled: Placed, seq: int) -> None:
    placed.insert(next(at for at, shown in enumerate(placed) if shown.seq == seq), recalled)


def _recalled(anchored: Anchored | None, cut: Cut, page: int) -> Placed | None:
    """Return what was recalled for the newest user message, if that is verbatim."""
    if anchored is None or anchored.text is None or anchored.seq < cut.verbatim_from:
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
    cut: Cut,
    last_page: int,
) -> PagesShown:
    """Assign each page to one zone: that of its least complete part.

    A page that is only partly in view and not on the contents page belongs to no zone.
    """
    listed = set(head.listed)
    shown = {p.seq for p in placed}
    partly = {item.page for unit in body for item in unit.items if item.seq not in shown}
    first = next((item for item in items if item.seq >= cut.condensed_from and item.kind not in UNSENT), None)
    if first is not None and cut.condensed_from > 1 and (first.page == 1 or not opens_page(first)):
        partly.add(first.page)
    condensed = {p.page for p in placed if p.zone == "condensed" and p.seq} - listed - partly
    verbatim = {p.page for p in placed if p.zone == "verbatim"} - listed - condensed - partly
    unlisted = last_page - len(verbatim) - len(condensed) - len(listed)
    return PagesShown(tuple(sorted(verbatim)), tuple(sorted(condensed)), tuple(sorted(listed)), unlisted)


def _marked(placed: Sequence[Placed], items: Sequence[Item], cut: Cut) -> Iterable[Placed]:
    """Set the cache breakpoints: the end of the condensed zone, and one place in the verbatim zone's growth.

    Both depend on the cut alone, so a breakpoint never moves until the next one.
    """
    after = {item.seq: item.full_after for item in items}
    last_condensed = max((i.seq for i in items if i.seq < cut.verbatim_from and i.kind not in UNSENT), default=0)
    halfway = next((p.seq for p in placed if after.get(p.seq, 0) >= cut.half_mark > 0), 0)
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
