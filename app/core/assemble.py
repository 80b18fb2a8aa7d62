"""head + body + tail -> window.

The recipe: take the epoch's layout and head, show the body as the layout says, and add up. Nearly always
that fits, because the layout leaves room for the body's growth until the next epoch. It can fail to fit when a
single message is larger than the zone it is in, or when a recall tool brought in more than is free; then the
window is squeezed: the newest user message is kept whole whatever happens, then the newest unit, the head, and
older units, newest first, in their condensed form, which grow again as far as there is room. A squeezed window is
an epoch of its own.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from enum import Enum

from app.core.budget import smallest_budget, usable
from app.core.calibration import OURS
from app.core.groups import units
from app.core.model import Epoch, Fixed, Head, Item, Layout, Ledger, Placed, TailItem, Totals, Window, WindowWarning
from app.errors import BudgetTooSmall

TAIL_OVERHEAD = 40
"""Tokens of the message and the frame around the tail (render.TAIL_FRAMES), in either language."""
OPENING_TOKENS = 6
"""Tokens of the message that Anthropic's form needs before an assistant's that would be the first."""


class _Form(Enum):
    WHOLE = "whole"  # as sent, and what a recall tool brought in in full
    MARKED = "marked"  # as sent, a mark for what a recall tool brought in
    SHORT = "short"  # condensed


@dataclass(frozen=True, slots=True)
class _Unit:
    """What is shown together or not at all, in the forms it can take."""

    items: tuple[Item, ...]

    @property
    def is_user(self) -> bool:
        return _opens_page(self.items[0])

    def tokens(self, form: _Form) -> int:
        return sum(_shown(item, form)[1] for item in self.items)


def _opens_page(item: Item) -> bool:
    return item.role == "user" and item.kind == "message"


def _shown(item: Item, form: _Form) -> tuple[str, int]:
    """An item's text and tokens in a form."""
    if form is _Form.WHOLE and item.loaded_text is not None:
        return item.loaded_text, item.loaded_tokens
    if form is _Form.SHORT and item.short_text is not None:
        return item.short_text, item.short_tokens
    return item.text, item.tokens


def assemble(
    epoch: Epoch, items: Sequence[Item], fixed: Fixed, budget: int, totals: Totals, token_percent: int = OURS
) -> Window:
    """The window without its tail. Raises BudgetTooSmall, which says the smallest budget that works."""
    room = usable(budget, token_percent) - fixed.tokens
    number = _number(items, epoch, room, totals)
    shown, held_back = units(items)
    body = [_Unit(tuple(unit)) for unit in shown]
    newest = next((unit for unit in reversed(body) if unit.is_user), None)
    needed = newest.tokens(_Form.MARKED) if newest else 0
    if needed > room:
        raise BudgetTooSmall(smallest_budget(fixed.tokens + needed, token_percent))

    warnings = [_waiting(held_back)] if held_back else []
    head, layout = epoch.head, epoch.layout
    opening = _opening(head, body[0].items[0].role if body else "user")
    placed = [p for unit in body for p in _place(unit, _Form.WHOLE, layout)]
    if head.tokens + opening + sum(p.tokens for p in placed) > room:
        head, placed, squeezed = _squeeze(body, newest, head, layout, room)
        warnings.append(squeezed)
    ledger = _ledger(fixed, head, placed, budget, token_percent, totals)
    verbatim, condensed, listed = _pages(items, body, placed, head, layout)
    return Window(
        number=number,
        head=head.text,
        body=tuple(_marked(placed, items, layout)),
        tail=(),
        ledger=ledger,
        verbatim_pages=verbatim,
        condensed_pages=condensed,
        listed_pages=listed,
        unlisted=totals.last_page - len(verbatim) - len(condensed) - len(listed),
        warnings=tuple(warnings),
    )


def free_for_tail(window: Window) -> int:
    """Tokens that the body leaves free for the tail's texts."""
    ledger = window.ledger
    return usable(ledger.budget, ledger.token_percent) - ledger.total - TAIL_OVERHEAD


def with_tail(window: Window, wanted: Iterable[TailItem]) -> Window:
    """The window with what this call asked for, as much of it as fits, in the order it was asked for."""
    free = free_for_tail(window)
    taken: list[TailItem] = []
    left_out = 0
    for item in wanted:
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
    for item in unit.items:
        text, tokens = _shown(item, form)
        as_sent = item.seq >= layout.verbatim_from and text == item.text
        passing = text == item.loaded_text
        placed.append(
            Placed(
                seq=item.seq,
                page=item.page,
                zone="verbatim" if as_sent or passing else "condensed",
                role=item.role,
                text=text,
                parts=item.parts,
                tokens=tokens,
                anthropic=item.anthropic if as_sent else None,
                archive_ids=item.archive_ids,
                passing=passing,
            )
        )
    return placed


def _squeeze(
    body: Sequence[_Unit], newest_user: _Unit | None, head: Head, layout: Layout, room: int
) -> tuple[Head, list[Placed], WindowWarning]:
    """Fit what matters most, in the order the module's docstring says."""
    forms: dict[int, _Form] = {}
    room -= OPENING_TOKENS  # should the newest user message not be the first
    newest_first = [i for i in reversed(range(len(body))) if body[i] is not newest_user]
    if newest_user is not None:
        forms[body.index(newest_user)] = _Form.MARKED
        room -= newest_user.tokens(_Form.MARKED)
    for index in newest_first[:1]:
        for form in _Form:
            if body[index].tokens(form) <= room:
                forms[index] = form
                room -= body[index].tokens(form)
                break
    if head.tokens <= room:
        room -= head.tokens
    else:
        head = Head()
    for index in newest_first[1:]:
        if body[index].tokens(_Form.SHORT) > room:
            break
        forms[index] = _Form.SHORT
        room -= body[index].tokens(_Form.SHORT)
    _grow(body, forms, newest_first, room)
    placed = [p for index in sorted(forms) for p in _place(body[index], forms[index], layout)]
    detail = f"the budget is tight: {len(body) - len(forms)} group(s) of messages are left out of view"
    return head, placed, WindowWarning("window_squeezed", detail)


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


def _number(items: Sequence[Item], epoch: Epoch, room: int, totals: Totals) -> int:
    """The epoch's number, which grows with every squeeze and again after it.

    Whether a window was squeezed can be seen from what came after it too, by adding up again what was in view
    then: so the number needs no memory, and no two windows that differ in what they held have the same.
    """
    layout = epoch.layout
    held, brought_in, page, squeezed, last = epoch.head.tokens + OPENING_TOKENS, 0, 0, 0, 0
    for item in items:
        if item.kind in ("orphan", "prompt"):
            continue
        if item.page != page:
            page, brought_in = item.page, 0
        held += item.tokens
        brought_in += max(0, item.loaded_tokens - item.tokens)
        last = item.seq
        if held + brought_in > room:
            squeezed = item.seq
    if not squeezed:
        return layout.number
    return max(layout.number, squeezed + (squeezed != last) + totals.generation)


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
    items: Sequence[Item], body: Sequence[_Unit], placed: Sequence[Placed], head: Head, layout: Layout
) -> tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]]:
    """Each page in one place only: where the least of it is shown. A page that is in view in part only, and not on
    the contents page, is none of them.
    """
    listed = set(head.listed)
    shown = {p.seq for p in placed}
    partly = {item.page for unit in body for item in unit.items if item.seq not in shown}
    first = next((item for item in items if item.seq >= layout.condensed_from and item.kind != "orphan"), None)
    if first is not None and layout.condensed_from > 1 and (first.page == 1 or not _opens_page(first)):
        partly.add(first.page)
    condensed = {p.page for p in placed if p.zone == "condensed"} - listed - partly
    verbatim = {p.page for p in placed if p.zone == "verbatim"} - listed - condensed - partly
    return tuple(sorted(verbatim)), tuple(sorted(condensed)), tuple(sorted(listed))


def _marked(placed: Sequence[Placed], items: Sequence[Item], layout: Layout) -> Iterable[Placed]:
    """Where cache breakpoints go: the end of the condensed zone, and one place in the verbatim zone's growth.

    Both depend on the layout alone, so a breakpoint never moves while an epoch lasts.
    """
    after = {item.seq: item.full_after for item in items}
    last_condensed = max((i.seq for i in items if i.seq < layout.verbatim_from and i.kind != "orphan"), default=0)
    halfway = next((p.seq for p in placed if after.get(p.seq, 0) >= layout.half_mark > 0), 0)
    for p in placed:
        yield p._replace(cache_mark=True) if p.seq in (last_condensed, halfway) and not p.passing else p


def _waiting(held_back: Sequence[Item]) -> WindowWarning:
    missing = sum(item.calls for item in held_back) - sum(item.results for item in held_back)
    return WindowWarning(
        "tool_results_awaited", f"message {held_back[0].seq} has {missing} call(s) without a result yet"
    )
