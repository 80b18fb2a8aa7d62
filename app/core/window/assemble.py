"""head + body + tail -> window.

The recipe: take the cut's head, show the body as the cut's zones say, and add up. If that fits, it is the window; if
not, the window says so (``Window.fits``), and whoever asks makes another cut (``core/window/paging.py``).

Between two cuts a body only grows at its end. So the next window lays out only what comes after ``settled``: the first
messages of a body, which no later message changes.

It can still fail to fit after that, when the newest user message or call group is larger than the zone it is in. Then
the window is squeezed (``core/window/squeezing.py``).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
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
        condensed = [p for p in placed if p.zone == "condensed"]
        recent = [p for p in placed if p.zone == "verbatim"]
        tokens = self.condensed + sum(p.tokens for p in condensed), self.recent + sum(p.tokens for p in recent)
        pages = self.condensed_pages.union(p.page for p in condensed if p.seq)
        return Sums(*tokens, pages, self.recent_pages.union(p.page for p in recent))


@dataclass(frozen=True, slots=True)
class Body:
    """The first messages of a window, as a cut lays them out."""

    items: tuple[Item, ...] = ()
    units: tuple[WindowUnit, ...] = ()
    placed: tuple[Placed, ...] = ()
    sums: Sums = Sums()  # noqa: RUF009 - a tuple
    mix: Mix = Mix()  # noqa: RUF009 - a tuple
    """What it is charged for, if it is settled."""
    weight: int = 0
    """Tokens of its messages, whole."""
    unsent: tuple[Item, ...] = ()
    asked: WindowUnit | None = None
    """The newest user message."""

    def extended(self, items: Sequence[Item], units: Sequence[WindowUnit], cut: Cut) -> Body:
        """Return the body with more messages, in their units."""
        last = self.units[-1].items if self.units else ()
        shown = _placed(units, cut, last[0].page if last else 0)
        placed = _marked(shown, items, cut, max((item.full_after for item in last), default=0))
        asked = next((unit for unit in reversed(units) if unit.is_user), self.asked)
        unsent = (*self.unsent, *(item for item in items if item.kind in UNSENT))
        weight = self.weight + sum(unit.tokens(ItemForm.MARKED) for unit in units)
        return Body(
            (*self.items, *items), (*self.units, *units), (*self.placed, *placed), self.sums.plus(placed),
            weight=weight, unsent=unsent, asked=asked,
        )  # fmt: skip


def settled(body: Body, items: Sequence[Item], cut: Cut, last_page: int, anchored: Anchored | None) -> Body:
    """Return a settled body with those of the messages after it that are settled too: all before the last call group,
    which can grow, and before the first that shows something for its page only.

    A late result changes what stands before it, so that with one nothing is settled.
    """
    recalled_at = anchored.seq if anchored is not None and anchored.text is not None else INTEGER_MAX
    new = items[len(body.items) :]
    if (body.items and recalled_at <= body.items[-1].seq) or any(map(comes_late, new)):
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
        return body
    new = new[:end]
    mix = body.mix.plus(*(mix_of(item, cut, is_newest=False) for item in new if item.kind not in UNZONED))
    return replace(body.extended(new, [WindowUnit(tuple(unit)) for unit in units(new, go_on=True)[0]], cut), mix=mix)


def assemble(
    cut: Cut, items: Sequence[Item], target: Profile, totals: Totals,
    *, anchored: Anchored | None = None, cutter: Cutter | None = None, known: Body = Body(),
) -> Window:  # fmt: skip
    """Return the window without its tail. Raises BudgetTooSmall with the smallest budget that works.

    ``anchored``: what was recalled for the newest user message; it is left out where it does not fit. ``cutter``: for
    a window that has to be squeezed; without it, one that exceeds the budget says so (``Window.is_over``). ``known``:
    what of the items is settled.
    """
    room = usable(target.budget, target.token_percent) - target.fixed.tokens
    new = items[len(known.items) :]
    found, held_back = units(new)
    recalled = _recalled(anchored, cut, totals.last_page)
    head, before = cut.head, recalled.tokens if recalled else 0
    first = known.units[0].items[0] if known.units else found[0][0] if found else None
    before += head.tokens + _opening(head, first.role if first else "user")
    open_units, forms = _units(found, cut, totals.last_page, before + known.weight)
    body = known.extended(new, open_units, cut)
    if (least := needed(target, body.asked.items if body.asked else ())) > target.budget:
        raise BudgetTooSmall(least)

    warnings = [_waiting(held_back)] if held_back else []
    warnings += _unmatched(body.unsent, totals)
    fresh = tuple(size for p in body.placed[len(known.placed) :] for size in p.fresh)
    taken = before + body.sums.condensed + body.sums.recent + sum(fresh)
    fits = taken <= target.shares.body and not _is_over_pages(cut, body.units, target.policy, totals)
    if recalled is not None and taken > room:
        taken, recalled = taken - recalled.tokens, None
    placed, sums = [*body.placed], body.sums
    squeezed: Squeezed | None = None
    is_over = taken > room
    if is_over and cutter is not None:
        head, placed, squeezed, tight = squeeze(body.units, head, cut, room, target.shares.reserve, cutter)
        placed = _marked(placed, items, cut)
        sums = Sums().plus(placed)
        warnings.append(tight)
    if recalled is not None and anchored is not None:
        _insert(placed, recalled, anchored.seq)
        sums = sums.plus([recalled])
    return Window(
        number=cut.number,
        head=head.text,
        body=tuple(placed),
        tail=(),
        ledger=_ledger(target, head, sums, placed[0].role if placed else "user", totals),
        pages=_pages(body, placed, sums, head, cut, totals.last_page, is_squeezed=squeezed is not None),
        warnings=tuple(warnings),
        squeezed=squeezed,
        is_over=is_over,
        fits=fits,
        rooms=fresh,
        forms=tuple(forms),
        settled=0 if squeezed else len(known.placed),
    )


def _is_over_pages(cut: Cut, body: Sequence[WindowUnit], policy: Policy, totals: Totals) -> bool:
    if not policy.active_pages:
        return False
    first = next((unit.items[0].page for unit in body if unit.items[0].seq >= cut.condensed_from), totals.last_page)
    return totals.last_page - first >= policy.active_pages


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
    found: list[WindowUnit] = []
    for unit in (WindowUnit(tuple(unit)) for unit in units(items)[0]):
        count = len(unit.sizes) if _is_fresh(unit, cut, last_page) else 0
        found.append(replace(unit, fresh=tuple(left[:count])))
        del left[:count]
    body = Body().extended(items, found, cut)
    placed = [*body.placed]
    if squeezed:
        placed = _marked(squeezed_again(body.units, squeezed, cut, language), items, cut)
    recalled = _recalled(anchored, cut, last_page)
    if recalled is not None and anchored is not None:
        _insert(placed, recalled, anchored.seq)
    return tuple(placed), _pages(
        body, placed, Sums().plus(placed), cut.head, cut, last_page, is_squeezed=squeezed is not None
    )


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


def _placed(body: Sequence[WindowUnit], cut: Cut, after_page: int) -> list[Placed]:
    """Return what units show, with date lines before those of the condensed zone and before the first verbatim one."""
    placed: list[Placed] = []
    waiting = [day for day in cut.head.days if day.page > after_page]
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


def _marked(placed: Sequence[Placed], items: Sequence[Item], cut: Cut, before: int = 0) -> list[Placed]:
    """Set the cache breakpoints: the end of the condensed zone, and one place in the verbatim zone's growth.

    Both depend on the cut alone, so a breakpoint never moves until the next one. ``before``: where that growth begins.
    """
    after = {item.seq: item.full_after for item in items}
    last_condensed = max((i.seq for i in items if i.seq < cut.verbatim_from and i.kind not in UNSENT), default=0)
    is_due = before < cut.half_mark
    halfway = next((p.seq for p in placed if after.get(p.seq, 0) >= cut.half_mark), 0) if is_due else 0
    marks = {last_condensed, halfway} - {0}
    return [p._replace(cache_mark=True) if p.seq in marks and not p.passing else p for p in placed]


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
