"""head + body + tail -> window.

The recipe: take the epoch's layout and head, show the body as the layout says, and add up. Nearly always that fits,
because a layout ends where it would not (``core/window/paging.py``).

It can still fail to fit, when the newest user message or call group is larger than the zone it is in. Then the window
is squeezed: the newest user message is kept whole whatever happens, then what is pinned in the head, the newest unit,
the rest of the head, and older units, newest first, in their condensed form, which grow again as far as there is room,
without date lines. A squeezed window is an epoch of its own.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from typing import NamedTuple

from app.core.calibration import OURS
from app.core.canonical import dumps
from app.core.groups import units
from app.core.model import (
    OPENING_TOKENS,
    UNMATCHED,
    UNSENT,
    UNZONED,
    Anchored,
    Day,
    Epoch,
    Fixed,
    Head,
    Item,
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
from app.core.window.fresh import shown_tokens
from app.errors import BudgetTooSmall

TAIL_OVERHEAD = 40
"""Tokens of the message and the frame around the tail (render.TAIL_FRAMES), in either language."""
UNBOUNDED = 2**31
UNMATCHED_NAMED = 10
"""Unmatched results that a warning names, the newest."""


class _Form(Enum):
    WHOLE = "w"  # as sent, with what is fresh and what a recall tool brought in
    MARKED = "m"  # as sent, with placeholders, and marks for what a recall tool brought in
    SHORT = "s"  # condensed


@dataclass(frozen=True, slots=True)
class _Unit:
    """Items that are shown together or not at all, in the forms they can take."""

    items: tuple[Item, ...]
    fresh: tuple[int, ...] = ()
    """Tokens for each of its archived results while they are fresh."""

    @property
    def is_user(self) -> bool:
        return _opens_page(self.items[0])

    def tokens(self, form: _Form) -> int:
        return sum(_shown(item, form)[1] for item in self.items) + (sum(self.fresh) if form is _Form.WHOLE else 0)

    def within(self, most_fresh: int) -> _Unit:
        sizes = [size for item in self.items for size in item.fresh]
        return replace(self, fresh=tuple(shown_tokens(sizes, most_fresh)))


def _opens_page(item: Item) -> bool:
    return item.role == "user" and item.kind == "message"


def _shown(item: Item, form: _Form) -> tuple[str, int]:
    if form is _Form.WHOLE and item.loaded_text is not None:
        return item.loaded_text, item.loaded_tokens
    if form is _Form.SHORT and item.short_text is not None:
        return item.short_text, item.short_tokens
    return item.text, item.tokens


def assemble(
    epoch: Epoch, items: Sequence[Item], fixed: Fixed, budget: int, totals: Totals, token_percent: int = OURS,
    *, most_fresh: int = 0, anchored: Anchored | None = None,
) -> Window:  # fmt: skip
    """Return the window without its tail. Raises BudgetTooSmall with the smallest budget that works.

    ``most_fresh``: tokens for the fresh results of one call group (``Shares.fresh``). ``anchored``: what was recalled
    for the newest user message; it is left out where it does not fit.
    """
    room = usable(budget, token_percent) - fixed.tokens
    shown, held_back = units(items)
    body = [_unit(tuple(unit), epoch.layout, totals.last_page, most_fresh) for unit in shown]
    newest = next((unit for unit in reversed(body) if unit.is_user), None)
    needed = newest.tokens(_Form.MARKED) if newest else 0
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
        head, placed, squeezed, tight = _squeeze(body, newest, head, layout, room)
        warnings.append(tight)
    if recalled is not None and anchored is not None:
        _insert(placed, recalled, anchored.seq)
    ledger = _ledger(fixed, head, placed, budget, token_percent, totals)
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
) -> tuple[tuple[Placed, ...], PagesShown]:
    """Return the body of a window that was assembled before, and its pages."""
    body = [_unit(tuple(unit), layout, last_page, most_fresh) for unit in units(items)[0]]
    if squeezed is None:
        placed = _placed(body, head, layout)
    else:
        newest_user = next((i for i in reversed(range(len(body))) if body[i].is_user), None)
        newest = next((i for i in reversed(range(len(body))) if i != newest_user), None)
        if newest is not None and body[newest].fresh:
            body[newest] = body[newest].within(squeezed.fresh_max)
        shown = zip(body, squeezed.forms, strict=False)
        placed = [p for unit, form in shown if form for p in _place(unit, _Form(form), layout)]
    recalled = _recalled(anchored, layout, last_page, UNBOUNDED)
    if recalled is not None and anchored is not None:
        _insert(placed, recalled, anchored.seq)
    return tuple(_marked(placed, items, layout)), _pages(items, body, placed, head, layout, last_page)


def _unit(items: tuple[Item, ...], layout: Layout, last_page: int, most_fresh: int) -> _Unit:
    unit = _Unit(items)
    is_fresh = items[0].page == last_page and items[0].seq >= layout.verbatim_from
    return unit.within(most_fresh) if is_fresh and any(item.fresh for item in items) else unit


def _placed(body: Sequence[_Unit], head: Head, layout: Layout) -> list[Placed]:
    return list(_dated([p for unit in body for p in _place(unit, _Form.WHOLE, layout)], head.days, layout))


def _dated(body: Iterable[Placed], days: Sequence[Day], layout: Layout) -> Iterator[Placed]:
    """Put date lines before the messages of the condensed zone and before the first verbatim one."""
    waiting = list(days)
    for placed in body:
        due = [day for day in waiting if day.page <= placed.page and placed.seq <= layout.verbatim_from]
        if due:
            waiting = waiting[len(due) :]
            text = due[-1].text
            yield Placed(0, placed.page, "condensed", "user", text, parts=1, tokens=MESSAGE_TOKENS)
        yield placed


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


def _place(unit: _Unit, form: _Form, layout: Layout) -> list[Placed]:
    placed = []
    fresh = list(unit.fresh) if form is _Form.WHOLE else []
    for item in unit.items:
        text, tokens = _shown(item, form)
        as_sent = item.seq >= layout.verbatim_from and text == item.text
        passing = text == item.loaded_text
        rooms = tuple(fresh[: len(item.fresh)])
        del fresh[: len(item.fresh)]
        placed.append(
            Placed(
                seq=item.seq,
                page=item.page,
                zone="verbatim" if as_sent or passing or item.seq == layout.pinned else "condensed",
                role=item.role,
                text=text,
                parts=item.parts,
                tokens=tokens,
                anthropic=item.anthropic if as_sent else None,
                archive_ids=item.archive_ids,
                fresh=rooms,
                passing=passing,
            )
        )
    return placed


def _squeeze(
    body: Sequence[_Unit], newest_user: _Unit | None, head: Head, layout: Layout, room: int
) -> tuple[Head, list[Placed], Squeezed, WindowWarning]:
    """Fit what matters most, in the order the module's docstring says."""
    body, fresh_max = list(body), 0
    forms: dict[int, _Form] = {}
    room -= OPENING_TOKENS  # should the newest user message not be the first
    newest_first = [i for i in reversed(range(len(body))) if body[i] is not newest_user]
    if newest_user is not None:
        forms[body.index(newest_user)] = _Form.MARKED
        room -= newest_user.tokens(_Form.MARKED)
    pinned = head.only_pinned()
    if pinned.tokens > room:
        pinned = Head()
    room -= pinned.tokens
    for index in newest_first[:1]:
        if body[index].fresh:
            fresh_max = min(sum(body[index].fresh), room - body[index].tokens(_Form.MARKED))
            body[index] = body[index].within(fresh_max)
        for form in _Form:
            if body[index].tokens(form) <= room:
                forms[index] = form
                room -= body[index].tokens(form)
                break
    if head.tokens - pinned.tokens <= room:
        room -= head.tokens - pinned.tokens
    else:
        head = pinned
    for index in newest_first[1:]:
        if body[index].tokens(_Form.SHORT) > room:
            break
        forms[index] = _Form.SHORT
        room -= body[index].tokens(_Form.SHORT)
    _grow(body, forms, newest_first, room)
    placed = [p for index in sorted(forms) for p in _place(body[index], forms[index], layout)]
    detail = f"the budget is tight: {len(body) - len(forms)} group(s) of messages are left out of view"
    shown = tuple(forms[index].value if index in forms else "" for index in range(len(body)))
    return head, placed, Squeezed(shown, fresh_max), WindowWarning("window_squeezed", detail)


def _grow(body: Sequence[_Unit], forms: dict[int, _Form], newest_first: Sequence[int], room: int) -> None:
    """Give the room that is left to units in a smaller form than they could have, the newest first."""
    for smaller, larger in ((_Form.SHORT, _Form.MARKED), (_Form.MARKED, _Form.WHOLE)):
        for index in newest_first:
            grown = body[index].tokens(larger) - body[index].tokens(smaller)
            if forms.get(index) is smaller and grown <= room:
                forms[index] = larger
                room -= grown


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


def _ledger(
    fixed: Fixed, head: Head, placed: Sequence[Placed], budget: int, token_percent: int, totals: Totals
) -> Ledger:
    return Ledger(
        budget=budget,
        token_percent=token_percent,
        tools=fixed.tools_tokens,
        system=fixed.system_tokens,
        notes=head.notes_tokens,
        summary=head.summary_tokens,
        contents=head.contents_tokens + head.frame_tokens,
        condensed=sum(p.tokens for p in placed if p.zone == "condensed"),
        recent=sum(p.tokens for p in placed if p.zone == "verbatim")
        + _opening(head, placed[0].role if placed else "user"),
        full_history=fixed.tokens + totals.history,
    )


def _pages(
    items: Sequence[Item],
    body: Sequence[_Unit],
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
    if first is not None and layout.condensed_from > 1 and (first.page == 1 or not _opens_page(first)):
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
