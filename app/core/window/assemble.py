"""head + body + tail -> window.

The recipe: take the cut's head, show the body as the cut's zones say, and add up. If that fits, it is the window; if
not, the window says so (``Window.fits``), and whoever asks makes another cut (``core/window/paging.py``).

Between two cuts a body only grows at its end. So the next window lays out only what comes after ``settled``: the first
messages of a body, which no later message changes. Mostly that is the whole body of the window before: each message is
laid out once.

It can still fail to fit after that, when the newest user message or call group is larger than the zone it is in. Then
the window is squeezed (``core/window/squeezing.py``).
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
"""Tokens of the message and the frame around the tail (render.TAIL_FRAMES), in either language."""
UNMATCHED_NAMED = 10
"""Unmatched results that a warning names, the newest."""


class Sums(NamedTuple):
    """The sums of a body's parts, by zone."""

    condensed: int = 0
    """Tokens."""
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
    """The messages of a window, or its first ones, as a cut lays them out."""

    items: tuple[Item, ...] = ()
    units: tuple[WindowUnit, ...] = ()
    placed: tuple[Placed, ...] = ()
    sums: Sums = Sums()
    mix: Mix = Mix()
    """What it is charged for."""
    weight: int = 0
    """Tokens of its messages, whole."""
    unsent: tuple[Item, ...] = ()
    asked: WindowUnit | None = None
    """The newest user message."""
    known: int = 0
    """How many of what it shows no later message changes."""
    held_back: tuple[Item, ...] = ()
    """Its last items, whose results are awaited."""
    forms: tuple[FreshForm, ...] = ()
    """Of fresh results that were given in what was free."""
    can_settle: bool = True
    """Whether no later message changes anything of it, but for its last group, which can grow."""

    @property
    def fresh(self) -> tuple[int, ...]:
        """Return the tokens that results have for their page only."""
        return tuple(size for one in self.placed[self.known :] for size in one.fresh)

    def extended(
        self, items: Sequence[Item], units: Sequence[WindowUnit], cut: Cut, last_page: int = 0,
        *, held_back: Sequence[Item] = (), forms: Sequence[FreshForm] = (),
    ) -> Body:  # fmt: skip
        """Return the body with more messages, in their units. ``last_page``: that of fresh and loaded texts."""
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
    """Return those of the messages that no later one changes: all before the last call group, which can grow, and
    before the first that shows something for its page only. ``known``: such a body of the window before this one,
    which was ``whole``.

    A late result changes what stands before it, so that with one nothing is settled.
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
    if not end or new[end].seq < cut.verbatim_from:  # the zone before has one breakpoint, at its end
        return known
    new = new[:end]
    return known.extended(new, [WindowUnit(tuple(unit)) for unit in units(new, go_on=True)[0]], cut)


def _begins_group(items: Sequence[Item], whole: Body) -> bool:
    """Return whether the messages after a body begin with another call group than its last."""
    first = next((item for item in items[len(whole.items) :] if item.kind not in UNZONED), None)
    last = next((item for item in reversed(whole.items) if item.kind not in UNZONED), None)
    return first is not None and (last is None or first.group != last.group)


def lay_out(known: Body, items: Sequence[Item], cut: Cut, last_page: int, anchored: Anchored | None) -> Body:
    """Return the body of a window, of which the first messages are ``known``: those that are settled."""
    new = items[len(known.items) :]
    found, held_back = units(new)
    first = known.units[0].items[0] if known.units else found[0][0] if found else None
    before = _before(cut, _recalled(anchored, cut, last_page), first.role if first else "user")
    open_units, forms = _units(found, cut, last_page, before + known.weight)
    return known.extended(new, open_units, cut, last_page, held_back=held_back, forms=forms)


def assemble(
    cut: Cut, body: Body, target: Profile, totals: Totals,
    *, anchored: Anchored | None = None, cutter: Cutter | None = None,
) -> Window:  # fmt: skip
    """Return the window without its tail. Raises BudgetTooSmall with the smallest budget that works.

    ``anchored``: what was recalled for the newest user message; it is left out where it does not fit. ``cutter``: for
    a window that has to be squeezed; without it, one that exceeds the budget says so (``Window.is_over``).
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
    """Return the body of a window that was assembled before, and its pages. ``of_fresh``: the rooms of its results."""
    left = list(of_fresh)
    found: list[WindowUnit] = []
    for unit in (WindowUnit(tuple(unit)) for unit in units(items)[0]):
        count = len(unit.sizes) if _is_fresh(unit, cut, last_page) else 0
        found.append(replace(unit, fresh=tuple(left[:count])))
        del left[:count]
    body = Body().extended(items, found, cut)
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
    found: Iterable[Sequence[Item]], cut: Cut, last_page: int, taken: int
) -> tuple[list[WindowUnit], list[FreshForm]]:
    """Return units with the room of what is fresh in them, and the forms that were given in what was free.

    ``taken``: tokens before the first. What does not fit in the room that is free when it comes has parts; those of one
    call group share a quarter of the room. All that was there when the cut was made came at once.
    """
    body = [WindowUnit(tuple(items)) for items in found]
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
    """Return what units show, with date lines before those of the condensed zone and before the first verbatim one."""
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


def _before(cut: Cut, recalled: Placed | None, first_role: str) -> int:
    """Return the tokens beside a body's own messages."""
    return cut.head.tokens + _opening(cut.head, first_role) + (recalled.tokens if recalled else 0)


def _opening(head: Head, first_role: str) -> int:
    return OPENING_TOKENS if first_role == "assistant" and not head.text else 0


def _inserted(placed: tuple[Placed, ...], recalled: Placed, seq: int) -> tuple[Placed, ...]:
    at = next(at for at, shown in enumerate(placed) if shown.seq == seq)
    return (*placed[:at], recalled, *placed[at:])


def _recalled(anchored: Anchored | None, cut: Cut, page: int) -> Placed | None:
    """Return what was recalled for the newest user message, if that is verbatim."""
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
    """Assign each page to one zone: that of its least complete part.

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
    """Set the cache breakpoints: the end of the condensed zone, and one place in the verbatim zone's growth.

    Both depend on the cut alone, so a breakpoint never moves until the next one. ``before``: where that growth begins.
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
    """Warn of recent results that answer no open call: on the newest page and the one before it."""
    seqs = [str(item.seq) for item in unsent if item.kind == "orphan" and item.page >= totals.last_page - 1]
    if not seqs:
        return []
    named = ", ".join(seqs[-UNMATCHED_NAMED:])
    detail = f"{len(seqs)} recent tool result(s) answer no open call and are not shown: message {named}"
    return [WindowWarning(UNMATCHED, detail)]
