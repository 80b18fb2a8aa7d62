"""Decide when a new epoch is due, and where its zones begin.

The theory: grow, then cut. Between two cuts a window only grows at its end, each message in the form in which it first
came in. When the next message does not fit, one shallow cut leaves a head, condensed messages and the newest messages
verbatim; then the window grows again.

                      tokens in view
    room B           ├───────────────────────────────────┤ all verbatim
    full, so cut     [head][cond.][      keep      ]
    full again       [head][cond.][      keep      ├─────┤
    cut                     [head][cond.][      keep     ]

What is in view weighs: the frozen head and condensed zone, the verbatim messages, and what the newest page shows in
full for the page only (fresh results, recalled text). The last two make a cut come sooner; none is made for them when
the page closes, since they shrink where they stand.

That is a loop with a memory. So that any process finds the same layout at any time, and without reading the whole
history, a cut is also made wherever the condensed history passes a multiple of ANCHOR_BODIES rooms: from the last of
these anchors on the loop is played again, over entries of the store that have no texts. A layout says up to where it
holds (``full_until``), so this is done once a cut.

A cut falls on a page's first message, unless that leaves out more than PAGE_COST of the room or fewer than
``full_recent_count`` messages would stay: then on a call group's. The question of a page that is cut inside stays in
view (``pinned``), because what follows answers it. While messages are small, a cut keeps more than its share: see
``budget.GROUPS_TO_COME``.

``active_pages``, if set, limits the number of pages in the same way: past the limit the body falls to half of it and
grows again.

What a window recalls by itself for a user message (``Anchored``) weighs as what a recall tool brought in, but it comes
after the message: if it does not fit, that is a cut of its own.

The epoch's number is made of the ``seq`` of the message that did not fit (``epoch_number``), so it grows.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import takewhile
from operator import attrgetter
from typing import NamedTuple

from app.core.model import INTEGER_MAX, OPENING_TOKENS, UNZONED, Entry, Item, Kind, Layout, Policy, Totals, epoch_number
from app.core.window.budget import GROUPS_TO_COME, ZONES_MAX, Shares, with_head
from app.core.window.fresh import weight_in_turn

ANCHOR_BODIES = 4
"""An anchor is passed after so many rooms of condensed history: after a dozen cuts or more."""
PAGE_COST = 0.1
"""The part of the room that a cut at a page's beginning may leave out beyond one at a call group's."""


def anchor(short: int, shares: Shares) -> int:
    """Return the last anchor that so many condensed tokens have passed; 0 for none."""
    step = max(1, shares.body * ANCHOR_BODIES)
    return max(0, short - 1) // step * step


def page_step(policy: Policy) -> int:
    return max(1, policy.active_pages // 2)


def page_threshold(last_page: int, policy: Policy) -> int:
    """Return the page whose opening last made an epoch due by count; 0 while there is none."""
    if not policy.active_pages or last_page <= policy.active_pages:
        return 0
    step = page_step(policy)
    return policy.active_pages + 1 + (last_page - policy.active_pages - 1) // step * step


def pages_until(page_at: int, policy: Policy) -> int:
    """Return the last page up to which a layout holds that was made at a page threshold, or before the first (0)."""
    return page_at + page_step(policy) - 1 if page_at else policy.active_pages or INTEGER_MAX


def is_whole(totals: Totals, shares: Shares, policy: Policy) -> bool:
    """Return whether the whole history fits verbatim, beside an empty head and if nothing is fresh or recalled."""
    return (
        totals.full <= shares.whole
        and not anchor(totals.short, shares)
        and not page_threshold(totals.last_page, policy)
    )


def ledger_reach(totals: Totals, shares: Shares) -> int:
    """Return the condensed offset from which on ``layout`` needs the entries."""
    return max(0, anchor(totals.short, shares) - shares.body)


def is_over(layout: Layout, items: Iterable[Item], most_fresh: int) -> bool:
    """Return whether a layout's time was over before the last of the items, which are those that it shows.

    ``layout.holds`` looks at totals alone; this one also at what the newest page showed in full at each moment.
    """
    page = _NewestPage(most_fresh)
    for item in items:
        if item.seq < layout.verbatim_from or item.kind in UNZONED:
            continue
        loaded = max(0, item.loaded_tokens - item.tokens) if item.loaded_tokens else 0
        for arrival in _arrivals(item.kind, item.fresh, loaded):
            page.add(item.page, item.group, arrival.fresh, arrival.loaded)
            is_later = epoch_number(item.seq, layout.generation, recalled=arrival.is_recalled) > layout.number
            if is_later and item.full_after + page.since(layout.verbatim_from) > layout.full_until:
                return True
    return False


class _Arrival(NamedTuple):
    """A part of a message that is shown in full for its page only."""

    fresh: tuple[int, ...]
    loaded: int
    is_recalled: bool = False
    """It was recalled for the message, once that stood there."""


def _arrivals(kind: Kind, fresh: tuple[int, ...], loaded: int) -> tuple[_Arrival, ...]:
    if kind == "message" and loaded:
        return _Arrival(fresh, 0), _Arrival((), loaded, is_recalled=True)
    return (_Arrival(fresh, loaded),)


@dataclass(slots=True)
class _NewestPage:
    """The texts that a page shows in full while it is the newest, beyond what it shows afterwards."""

    most_fresh: int
    page: int = 0
    groups: dict[int, tuple[tuple[int, ...], int]] = field(default_factory=dict)
    """Sizes of fresh results and tokens of recalled text, by call group."""

    def add(self, page: int, group: int, fresh: tuple[int, ...], loaded: int) -> None:
        if page != self.page:
            self.page, self.groups = page, {}
        if fresh or loaded:
            sizes, recalled = self.groups.get(group, ((), 0))
            self.groups[group] = sizes + fresh, recalled + loaded

    def since(self, seq: int) -> int:
        return sum(fresh + recalled for fresh, recalled in self._weights(seq))

    def counted_at_a_cut(self, seq: int) -> int:
        """Return what a cut counts of it: fresh results by half, because they shrink when the page closes."""
        return sum(fresh // 2 + recalled for fresh, recalled in self._weights(seq))

    def _weights(self, seq: int) -> Iterator[tuple[int, int]]:
        for group, (sizes, recalled) in self.groups.items():
            if group >= seq:
                yield weight_in_turn(sizes, self.most_fresh), recalled


NO_HEADS: Mapping[int, int] = {}


def layouts(
    entries: Sequence[Entry], totals: Totals, shares: Shares, policy: Policy, heads: Mapping[int, int] = NO_HEADS
) -> list[Layout]:
    """Lay the window out. Return the layouts since the last anchor, in order: the last one holds now.

    ``entries`` are the newest messages in order, from a group's start on and reaching back to the condensed offset
    ``ledger_reach`` (or to the beginning), and before them the user message that opened the page they begin in. What
    is older cannot change the answer. ``heads``: what the head weighs at least in an epoch, by number.
    """
    last_anchor = anchor(totals.short, shares)
    frame = _Frame(totals, shares, policy, last_anchor, heads)
    found = _beginning(frame)
    passed = [] if last_anchor else [found]
    page = _NewestPage(shares.fresh)
    page_at, is_anchored = 0, not last_anchor
    for at, entry in enumerate(entries):
        if entry.kind in UNZONED:
            continue
        for arrival in _arrivals(entry.kind, entry.fresh, entry.loaded):
            page.add(entry.page, entry.group, arrival.fresh, arrival.loaded)
            extra = page.since(found.verbatim_from)
            passes_anchor = not is_anchored and entry.short_before + entry.short > last_anchor
            passes_page = page_threshold(entry.page, policy) > page_at
            if passes_anchor or (is_anchored and (passes_page or entry.full_after + extra > found.full_until)):
                is_anchored, page_at = True, page_threshold(entry.page, policy)
                found = _cut(entries, at, page, page_at, frame, recalled=arrival.is_recalled)
                passed.append(found)
    known_page = page_threshold(totals.last_page, policy)
    if is_anchored and known_page <= page_at and totals.full <= found.full_until:
        return passed
    # What made the cut due has been erased since.
    if entries:
        found = _cut(entries, len(entries) - 1, page, known_page, frame)
    full_until = max(found.full_until, totals.full)
    found = replace(found, full_until=full_until, pages_until=pages_until(known_page, policy))
    return [*(one for one in passed if one.number < found.number), found]


def layout(entries: Sequence[Entry], totals: Totals, shares: Shares, policy: Policy) -> Layout:
    """Return the layout that holds now where nothing is kept in mind."""
    return layouts(entries, totals, shares, policy)[-1]


@dataclass(frozen=True, slots=True)
class _Frame:
    """Everything that a cut depends on besides the entries."""

    totals: Totals
    shares: Shares
    policy: Policy
    anchor: int
    heads: Mapping[int, int]

    @property
    def short_until(self) -> int:
        return self.anchor + max(1, self.shares.body * ANCHOR_BODIES)


def _beginning(frame: _Frame) -> Layout:
    shares, number = frame.shares, epoch_number(0, frame.totals.generation)
    least_head = frame.heads.get(number, 0)
    until = shares.whole - least_head
    return Layout(
        number=number,
        condensed_from=1,
        verbatim_from=1,
        pinned=0,
        head_room=max(least_head, shares.body - shares.whole),
        full_until=until,
        short_until=frame.short_until,
        pages_until=pages_until(0, frame.policy),
        generation=frame.totals.generation,
        trigger_page=0,
        revision=0,
        half_mark=until * 3 // 4,
    )


def _cut(
    entries: Sequence[Entry], at: int, page: _NewestPage, page_at: int, frame: _Frame, *, recalled: bool = False
) -> Layout:
    """Return the layout of the cut that the message at a place makes due, or what was ``recalled`` for it."""
    trigger, shares = entries[at], frame.shares
    number = epoch_number(trigger.seq, frame.totals.generation, recalled=recalled)
    least_head = frame.heads.get(number, 0)
    if least_head > shares.head:
        shares = with_head(shares, least_head)
    oldest_page = page_at - page_step(frame.policy) if page_at else 0
    start = _verbatim_start(entries, at, page, oldest_page, shares, frame.policy)
    verbatim = entries[start]
    weight = trigger.full_after - verbatim.full_before + page.since(verbatim.seq)
    opener = _index_of(entries, verbatim.user_seq, start)
    pinned = entries[opener] if opener < start else None
    room = max(0, shares.body - OPENING_TOKENS - (pinned.full if pinned else 0))
    is_squeezed = weight > room
    if is_squeezed:  # the newest group is cut: the head has room beside it, and what was before, if no tail needs that
        room -= min(room, trigger.short_before + trigger.short - verbatim.short_before)
        kept = _squeezed_weight(entries[start : at + 1])
    else:
        room = max(0, room - weight)
        kept = trigger.full_after - verbatim.full_before + page.counted_at_a_cut(verbatim.seq)
    head_room = max(least_head, min(shares.head, room))
    unused = max(0, shares.keep - kept)
    most = max(0, min(shares.condensed + unused, int(room * ZONES_MAX) - head_room))
    most = 0 if is_squeezed and shares.reserve else most
    condensed = entries[_condensed_start(entries, start, most, oldest_page)]
    if oldest_page:  # the body holds fewer pages than would fit: the head may use its full size
        head_room = max(head_room, min(shares.head_most, (room - shares.condensed) // 2))
    frozen = head_room + (verbatim.short_before - condensed.short_before)
    if pinned:
        frozen += pinned.full - (pinned.short if pinned.seq >= condensed.seq else 0)
    room_until = verbatim.full_before + shares.body - OPENING_TOKENS - frozen
    # Where not even this fits, the window is squeezed, and the next message makes another cut.
    full_until = room_until if weight <= room_until - verbatim.full_before else trigger.full_after
    return Layout(
        number=number,
        condensed_from=condensed.seq if condensed.full_before else 1,
        verbatim_from=verbatim.seq,
        pinned=pinned.seq if pinned else 0,
        head_room=head_room,
        full_until=full_until,
        short_until=frame.short_until,
        pages_until=pages_until(page_at, frame.policy),
        generation=frame.totals.generation,
        trigger_page=trigger.page,
        revision=trigger.revision,
        half_mark=verbatim.full_before + (full_until - verbatim.full_before) * 3 // 4,
    )


def _index_of(entries: Sequence[Entry], seq: int, otherwise: int) -> int:
    found = bisect_left(entries, seq, key=attrgetter("seq"))
    return found if found < len(entries) and entries[found].seq == seq else otherwise


def _groups_back(entries: Sequence[Entry], last: int, oldest_page: int) -> Iterator[int]:
    """Yield the indexes of messages at which a zone can begin, the newest first: a cut reads no further than it
    reaches.
    """
    for index in range(last, -1, -1):
        if entries[index].page < oldest_page:
            return
        if entries[index].opens_group:
            yield index


def _verbatim_start(
    entries: Sequence[Entry], at: int, page: _NewestPage, oldest_page: int, shares: Shares, policy: Policy
) -> int:
    """Return the index of the first message that stays verbatim, so that what stays is nearest to its share and leaves
    the window room to grow. The newest group stays in any case.
    """
    trigger = entries[at]
    found = [*_reach(entries, at, page, oldest_page, shares)]
    weights = [weight for _, weight in found]
    keep, fitting = shares.keep, bisect_right(weights, shares.keep)
    if not fitting:
        return _index_of(entries, trigger.group, at)
    to_come = GROUPS_TO_COME * weights[fitting - 1] // fitting
    keep = max(keep, min(shares.keep_most, shares.body - shares.head - shares.condensed - to_come))
    fitting = bisect_right(weights, keep)
    if fitting < len(found) and weights[fitting] - keep < keep - weights[fitting - 1]:
        fitting += 1
    reachable = [index for index, _ in reversed(found[:fitting])]
    enough = trigger.seq - policy.full_recent_count + 1
    most = entries[reachable[0]].full_before + int(shares.body * PAGE_COST)
    return next((index for index in reachable if _opens(entries[index], most, enough)), reachable[0])


def _reach(
    entries: Sequence[Entry], at: int, page: _NewestPage, oldest_page: int, shares: Shares
) -> Iterator[tuple[int, int]]:
    """Yield the indexes of groups' first messages, the newest first, with what would stay verbatim from each on; up to
    the first that is more than can be kept.
    """
    trigger, room = entries[at], int(shares.body * ZONES_MAX) - shares.head
    most, is_passing = max(shares.keep, shares.keep_most), bool(page.groups)
    for index in _groups_back(entries, _index_of(entries, trigger.group, at), oldest_page):
        first = entries[index]
        said = trigger.full_after - first.full_before
        if said + (page.since(first.seq) if is_passing else 0) > room:
            return
        weight = said + (page.counted_at_a_cut(first.seq) if is_passing else 0)
        yield index, weight
        if weight > most:
            return


def _opens(entry: Entry, most: int, enough: int) -> bool:
    return entry.opens_page and entry.full_before <= most and entry.seq <= enough


def _squeezed_weight(group: Sequence[Entry]) -> int:
    """Return what a group weighs with what the assistant said condensed, and its results as long as there is room."""
    shown = [e for e in group if e.kind not in UNZONED]
    in_full = {e.seq for e in shown if e.kind == "result" or e.seq == e.user_seq}
    return sum((e.full if e.seq in in_full else e.short) + sum(e.fresh) for e in shown)


def _condensed_start(entries: Sequence[Entry], start: int, room: int, oldest_page: int) -> int:
    """Return the index of the first message of the condensed zone: as far back as its room reaches, at a page's first
    if that costs no more than a third of it.
    """
    end = entries[start].short_before
    fits = takewhile(
        lambda index: end - entries[index].short_before <= room, _groups_back(entries, start - 1, oldest_page)
    )
    reachable = [*fits][::-1]
    if not reachable:
        return start
    most = entries[reachable[0]].short_before + room // 3
    return next((i for i in reachable if entries[i].opens_page and entries[i].short_before <= most), reachable[0])
