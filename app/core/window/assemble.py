"""head + body + tail -> window.

The recipe: take the cut's head, show the body in the cut's zones, and add up the tokens. If they exceed the room, the
window says so (``Window.fits``), and the caller makes another cut (``core/window/paging.py``).

Between two cuts a body only grows at its end. So the next window lays out only the messages after ``settled``, the
first part of a body, which no later message changes. Usually that part is the whole body of the previous window, so
each message is laid out once.

Even after a new cut, the newest user message or call group can be larger than its zone. Then the window is squeezed
(``core/window/squeezing.py``).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import NamedTuple

from app.core.canonical import dumps
from app.core.groups import comes_late, units
from app.core.model import (
    INTEGER_MAX,
    OPENING_TOKENS,
    UNMATCHED,
    UNSENT,
    UNZONED,
    Anchored,
    Cut,
    FreshForm,
    Head,
    Item,
    Language,
    Ledger,
    Mix,
    PagesShown,
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
from app.core.window.profile import Profile, mix_of, needed
from app.core.window.squeezing import Cutter, ItemForm, WindowUnit, opens_page, place, squeeze, squeezed_again
from app.errors import BudgetTooSmall

TAIL_OVERHEAD = 40
"""Tokens of the message and frame around the tail (``render.TAIL_FRAMES``), in either language."""
UNMATCHED_NAMED = 10
"""The number of unmatched results that a warning names (the newest)."""


class Sums(NamedTuple):
    """The tokens and pages of a body, by zone."""

    condensed: int = 0
    """Tokens of the condensed zone; ``recent`` are those of the verbatim zone."""
    recent: int = 0
    condensed_pages: frozenset[int] = frozenset()
    recent_pages: frozenset[int] = frozenset()

    def plus(self, placed: Sequence[Placed]) -> Sums:
        condensed, recent, condensed_pages, recent_pages = self
        condensed_new, recent_new = set[int](), set[int]()
        for one in placed:
            if one.zone == "verbatim":
                recent += one.tokens
                recent_new.add(one.page)
            else:
                condensed += one.tokens
                if one.seq:
                    condensed_new.add(one.page)
        return Sums(condensed, recent, condensed_pages | condensed_new, recent_pages | recent_new)


class Body(NamedTuple):
    """All or the first messages of a window, laid out in a cut's zones."""

    items: tuple[Item, ...] = ()
    units: tuple[WindowUnit, ...] = ()
    placed: tuple[Placed, ...] = ()
    sums: Sums = Sums()
    mix: Mix = Mix()
    """What determines the percent that it is charged (see ``core.calibration``)."""
    weight: int = 0
    """Tokens of its messages in their verbatim or condensed form, without fresh and loaded texts."""
    unsent: tuple[Item, ...] = ()
    asked: WindowUnit | None = None
    """The newest user message."""
    known: int = 0
    """The length of the part of ``placed`` that no later message changes."""
    held_back: tuple[Item, ...] = ()
    """The last items, which wait for results of their calls."""
    forms: tuple[FreshForm, ...] = ()
    """The forms of fresh results that fitted into the free room."""
    can_settle: bool = True
    """Whether no later message changes any of it, except that its last group can grow."""

    @property
    def fresh(self) -> tuple[int, ...]:
        """Return the tokens that each fresh result gets until its page ends."""
        return tuple(size for placed in self.placed[self.known :] for size in placed.fresh)

    def extended(
        self, items: Sequence[Item], units: Sequence[WindowUnit], cut: Cut, last_page: int = 0,
        *, held_back: Sequence[Item] = (), forms: Sequence[FreshForm] = (),
    ) -> Body:  # fmt: skip
        """Return the body with more messages and their units. Only on ``last_page`` are texts fresh or loaded."""
        last = self.units[-1].items if self.units else ()
        shown = _placed(units, cut, last[0].page if last else 0)
        placed = _marked(shown, items, cut, max((item.full_after for item in last), default=0))
        asked, weight, can_settle = self.asked, self.weight, not held_back
        for unit in units:
            asked = unit if unit.is_user else asked
            can_settle = can_settle and not unit.fresh
            for item in unit.items:
                weight += item.tokens
        mixes, unsent = [], self.unsent
        for item in items:
            if item.kind in UNSENT:
                unsent = (*unsent, item)
            if item.kind in UNZONED:
                continue
            is_newest = item.page == last_page
            mixes.append(mix_of(item, cut, is_newest=is_newest))
            if item.loaded_text is not None or (item.fresh and is_newest) or comes_late(item):
                can_settle = False
        return Body(
            (*self.items, *items), (*self.units, *units), (*self.placed, *placed), self.sums.plus(placed),
            self.mix.plus(*mixes), weight, unsent, asked, len(self.placed), tuple(held_back), tuple(forms), can_settle,
        )  # fmt: skip


def settled(
    known: Body, whole: Body, items: Sequence[Item], cut: Cut, last_page: int, anchored: Anchored | None
) -> Body:
    """Return the part of a body that no later message changes: everything before the last call group, which can grow,
    and before the first message that shows a text only until its page ends. A late result changes what precedes it, so
    nothing is settled if there is one. ``known`` is this part of the previous window's body, which is ``whole``.
    """
    recalled_at = anchored.seq if anchored is not None and anchored.text is not None else INTEGER_MAX
    if whole.can_settle and whole.items and recalled_at > whole.items[-1].seq and _begins_group(items, whole):
        known = whole
    new = items[len(known.items) :]
    if (known.items and recalled_at <= known.items[-1].seq) or any(map(comes_late, new)):
        return Body()
    end, group = 0, 0
    for at, item in enumerate(new):
        if item.kind in UNZONED:
            continue
        if item.group != group:
            end, group = at, item.group
        if item.seq >= recalled_at or item.loaded_text is not None or (item.fresh and item.page == last_page):
            break
    if not end or new[end].seq < cut.verbatim_from:  # the condensed zone's only breakpoint is at its end
        return known
    new = new[:end]
    return known.extended(new, [WindowUnit(tuple(unit)) for unit in units(new, go_on=True)[0]], cut)


def _begins_group(items: Sequence[Item], whole: Body) -> bool:
    """Return whether the messages after a body begin a new call group."""
    first = next((item for item in items[len(whole.items) :] if item.kind not in UNZONED), None)
    last = next((item for item in reversed(whole.items) if item.kind not in UNZONED), None)
    return first is not None and (last is None or first.group != last.group)


def lay_out(known: Body, items: Sequence[Item], cut: Cut, last_page: int, anchored: Anchored | None) -> Body:
    """Return the body of a window. ``known`` is its settled part, which is laid out already."""
    new = items[len(known.items) :]
    groups, held_back = units(new)
    first = known.units[0].items[0] if known.units else groups[0][0] if groups else None
    before = _before(cut, _recalled(anchored, cut, last_page), first.role if first else "user")
    open_units, forms = _units(groups, cut, last_page, before + known.weight)
    return known.extended(new, open_units, cut, last_page, held_back=held_back, forms=forms)


def assemble(
    cut: Cut, body: Body, target: Profile, totals: Totals,
    *, anchored: Anchored | None = None, cutter: Cutter | None = None,
) -> Window:  # fmt: skip
    """Return the window without its tail. Raises BudgetTooSmall with the smallest budget that works.

    ``anchored``, the text recalled for the newest user message, is left out if it does not fit. ``cutter`` squeezes a
    window that exceeds the budget; without a cutter the window only reports this (``Window.is_over``).
    """
    room = usable(target.budget, target.token_percent) - target.fixed.tokens
    recalled, head = _recalled(anchored, cut, totals.last_page), cut.head
    first_role = body.units[0].items[0].role if body.units else "user"
    fresh = body.fresh
    taken = _before(cut, recalled, first_role) + body.sums.condensed + body.sums.recent + sum(fresh)
    fits = taken <= target.shares.body and not _is_over_pages(cut, body.units, target.policy, totals)
    if (not fits or room < 0) and (least := needed(target, body.asked.items if body.asked else ())) > target.budget:
        raise BudgetTooSmall(least)

    warnings = [_waiting(body.held_back)] if body.held_back else []
    warnings += _unmatched(body.unsent, totals)
    if recalled is not None and taken > room:
        taken, recalled = taken - recalled.tokens, None
    placed, sums = body.placed, body.sums
    squeezed: Squeezed | None = None
    is_over = taken > room
    if is_over and cutter is not None:
        head, cut_down, squeezed, tight = squeeze(body.units, head, cut, room, target.shares.reserve, cutter)
        placed = tuple(_marked(cut_down, body.items, cut))
        sums = Sums().plus(placed)
        warnings.append(tight)
    if recalled is not None and anchored is not None:
        placed = _inserted(placed, recalled, anchored.seq)
        sums = sums.plus([recalled])
    ledger = _ledger(target, head, sums, placed[0].role if placed else "user", totals)
    pages = _pages(body, placed, sums, head, cut, totals.last_page, is_squeezed=squeezed is not None)
    return Window(
        cut.number, head.text, placed, (), ledger, pages, tuple(warnings), squeezed, is_over=is_over, fits=fits,
        rooms=fresh, forms=body.forms, settled=0 if squeezed else body.known,
    )  # fmt: skip


def _is_over_pages(cut: Cut, body: Sequence[WindowUnit], policy: Policy, totals: Totals) -> bool:
    if not policy.active_pages:
        return False
    first = next((unit.items[0].page for unit in body if unit.items[0].seq >= cut.condensed_from), totals.last_page)
    return totals.last_page - first >= policy.active_pages


def placed_again(
    items: Sequence[Item], cut: Cut, last_page: int, of_fresh: Sequence[int], squeezed: Squeezed | None,
    anchored: Anchored | None, language: Language,
) -> tuple[tuple[Placed, ...], PagesShown]:  # fmt: skip
    """Return the body and pages of a window assembled earlier. ``of_fresh``: the tokens that each fresh result had."""
    left = list(of_fresh)
    shown: list[WindowUnit] = []
    for unit in (WindowUnit(tuple(unit)) for unit in units(items)[0]):
        count = len(unit.sizes) if _is_fresh(unit, cut, last_page) else 0
        shown.append(replace(unit, fresh=tuple(left[:count])))
        del left[:count]
    body = Body().extended(items, shown, cut)
    placed = body.placed
    if squeezed:
        placed = tuple(_marked(squeezed_again(body.units, squeezed, cut, language), items, cut))
    recalled = _recalled(anchored, cut, last_page)
    if recalled is not None and anchored is not None:
        placed = _inserted(placed, recalled, anchored.seq)
    return placed, _pages(body, placed, Sums().plus(placed), cut.head, cut, last_page, is_squeezed=squeezed is not None)


def _is_fresh(unit: WindowUnit, cut: Cut, last_page: int) -> bool:
    first = unit.items[0]
    return first.page == last_page and first.seq >= cut.verbatim_from and any(item.fresh for item in unit.items)


def _units(
    groups: Iterable[Sequence[Item]], cut: Cut, last_page: int, taken: int
) -> tuple[list[WindowUnit], list[FreshForm]]:
    """Return the groups as units with tokens for each fresh result, and the forms of results that fitted.

    ``taken``: tokens before the first unit. A result that does not fit into the room that was free on its arrival is
    shown in parts; those of one call group share a quarter of the room. All messages that preceded the cut count as
    arriving at once.
    """
    body = [WindowUnit(tuple(items)) for items in groups]
    is_fresh = [_is_fresh(unit, cut, last_page) for unit in body]
    if True not in is_fresh:
        return body, []
    known = {(form.seq, form.archive_id): form.tokens for form in cut.forms}
    parts_max, in_parts = int(cut.room * PARTS_SHARE), dict[int, int]()
    weights = [unit.tokens(ItemForm.WHOLE) for unit in body]
    was_there = [max(item.seq for item in unit.items) <= cut.last_seq for unit in body]
    at_cut = sum(weight for weight, there in zip(weights, was_there, strict=True) if there)
    forms: list[FreshForm] = []
    taken += at_cut
    for at, unit in enumerate(body):
        first = unit.items[0]
        taken += 0 if was_there[at] else weights[at]
        if not is_fresh[at]:
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


def _placed(body: Sequence[WindowUnit], cut: Cut, after_page: int) -> list[Placed]:
    """Return the units' items, with date lines in the condensed zone and before the first verbatim message."""
    placed: list[Placed] = []
    waiting = [day for day in cut.head.days if day.page > after_page]
    for unit in body:
        first = unit.items[0]
        if waiting and (due := [day for day in waiting if day.page <= first.page and first.seq <= cut.verbatim_from]):
            waiting = waiting[len(due) :]
            placed.append(Placed(0, first.page, "condensed", "user", due[-1].text, parts=1, tokens=MESSAGE_TOKENS))
        placed += place(unit, ItemForm.WHOLE, cut)
    return placed


def free_for_tail(window: Window) -> int:
    """Return the tokens that are left for the tail's texts."""
    ledger = window.ledger
    return usable(ledger.budget, ledger.token_percent) - ledger.total - TAIL_OVERHEAD


def with_tail(window: Window, requested: Iterable[TailItem]) -> Window:
    """Return the window with those requested tail items that fit, in order."""
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


def _before(cut: Cut, recalled: Placed | None, first_role: str) -> int:
    """Return the tokens that precede a body's own messages."""
    return cut.head.tokens + _opening(cut.head, first_role) + (recalled.tokens if recalled else 0)


def _opening(head: Head, first_role: str) -> int:
    return OPENING_TOKENS if first_role == "assistant" and not head.text else 0


def _inserted(placed: tuple[Placed, ...], recalled: Placed, seq: int) -> tuple[Placed, ...]:
    at = next(at for at, shown in enumerate(placed) if shown.seq == seq)
    return (*placed[:at], recalled, *placed[at:])


def _recalled(anchored: Anchored | None, cut: Cut, page: int) -> Placed | None:
    """Return the text recalled for the newest user message, if the message is in the verbatim zone."""
    if anchored is None or anchored.text is None or anchored.seq < cut.verbatim_from:
        return None
    said = dumps({"role": "user", "content": anchored.text})
    return Placed(0, page, "verbatim", "user", said, parts=1, tokens=anchored.tokens, passing=True)


def _ledger(target: Profile, head: Head, sums: Sums, first_role: str, totals: Totals) -> Ledger:
    return Ledger(
        budget=target.budget,
        token_percent=target.token_percent,
        tools=target.fixed.tools_tokens,
        system=target.fixed.system_tokens,
        notes=head.notes_tokens,
        summary=head.summary_tokens,
        contents=head.contents_tokens + head.frame_tokens,
        condensed=sums.condensed,
        recent=sums.recent + _opening(head, first_role),
        full_history=target.fixed.tokens + totals.history,
    )


def _pages(
    body: Body, placed: Sequence[Placed], sums: Sums, head: Head, cut: Cut, last_page: int, *, is_squeezed: bool
) -> PagesShown:
    """Assign each page to one zone: the zone of its least complete part.

    A page that is only partly in view and not on the contents page belongs to no zone.
    """
    gone = set(head.listed)
    if is_squeezed:
        shown = {p.seq for p in placed}
        gone |= {item.page for unit in body.units for item in unit.items if item.seq not in shown}
    first = next((item for item in body.items if item.seq >= cut.condensed_from and item.kind not in UNSENT), None)
    if first is not None and cut.condensed_from > 1 and (first.page == 1 or not opens_page(first)):
        gone.add(first.page)
    condensed = sums.condensed_pages - gone
    verbatim = sums.recent_pages - gone - condensed
    unlisted = last_page - len(verbatim) - len(condensed) - len(head.listed)
    return PagesShown(tuple(sorted(verbatim)), tuple(sorted(condensed)), tuple(sorted(head.listed)), unlisted)


def _marked(placed: Sequence[Placed], items: Sequence[Item], cut: Cut, before: int = 0) -> Sequence[Placed]:
    """Set the cache breakpoints: at the end of the condensed zone, and at one place in the verbatim zone.

    Both depend on the cut alone, so a breakpoint never moves until the next cut. ``before``: tokens before ``items``.
    """
    marks = {max((i.seq for i in items if i.seq < cut.verbatim_from and i.kind not in UNSENT), default=0)}
    if items and before < cut.half_mark <= items[-1].full_after:
        after = {item.seq: item.full_after for item in items}
        marks.add(next((p.seq for p in placed if after.get(p.seq, 0) >= cut.half_mark), 0))
    if marks == {0}:
        return placed
    return [p._replace(cache_mark=True) if p.seq and p.seq in marks and not p.passing else p for p in placed]


def _waiting(held_back: Sequence[Item]) -> WindowWarning:
    missing = sum(item.calls for item in held_back) - sum(item.results for item in held_back)
    return WindowWarning(
        "tool_results_awaited", f"message {held_back[0].seq} has {missing} call(s) without a result yet"
    )


def _unmatched(unsent: Sequence[Item], totals: Totals) -> list[WindowWarning]:
    """Warn of results on the newest two pages that answer no open call."""
    seqs = [str(item.seq) for item in unsent if item.kind == "orphan" and item.page >= totals.last_page - 1]
    if not seqs:
        return []
    named = ", ".join(seqs[-UNMATCHED_NAMED:])
    detail = f"{len(seqs)} recent tool result(s) answer no open call and are not shown: message {named}"
    return [WindowWarning(UNMATCHED, detail)]
