"""Decide where the zones of a window begin when it is cut.

The theory: grow, then cut. Between two cuts a window only grows at its end, and each message keeps the form in which it
first appeared. When a message does not fit any more, a cut leaves a head, condensed messages and the newest messages
verbatim; then the window grows again.

                      tokens in view
    room B           ├───────────────────────────────────┤ all verbatim
    full, so cut     [head][cond.][      kept      ]
    full again       [head][cond.][      kept      ├─────┤
    cut                     [head][cond.][      kept     ]

A price determines how much is kept (``budget.kept_share``): if call groups are large for the room, a shallow cut would
be followed by another at the next call, and each makes the model read the window uncached. A cut falls on a page's
first message, unless that leaves out more than PAGE_COST of the room or keeps fewer than ``full_recent_count``
messages; then it falls on the first message of a call group. If a cut falls inside a page, the page's question stays in
view (``pinned``), because the following messages answer it. The newest NEWEST_GROUPS take precedence over condensed
messages, and in a small window over the head, as far as they fit: an agent needs most what it has just read.

Texts that the newest page shows only until it ends (fresh results, recalled text) count in the form in which they are
shown. A fresh result that no window has shown yet counts with its parts; it is shown whole if it then fits
(``core/window/fresh.py``).

``active_pages``, if set, limits the number of pages in the same way: past the limit a cut keeps half of it.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate, takewhile
from operator import attrgetter

from app.core.model import OPENING_TOKENS, UNZONED, Entry, Policy, Totals
from app.core.window.budget import ZONES_MAX, Shares, kept_share
from app.core.window.fresh import PARTS_SHARE

PAGE_COST = 0.1
"""The share of the room that a cut may additionally leave out in order to fall on the beginning of a page."""
NEWEST_GROUPS = 3
"""The number of call groups that take precedence over condensed messages."""
SMALL = 5_000
"""Available tokens below which the newest groups take precedence over the head, too."""
GROUPS_OF_LATE = 8
"""The number of newest groups whose mean size estimates what a call adds."""
HALF_MARK = 0.75
"""The share of the verbatim zone's growth after which a cache breakpoint is set."""


@dataclass(frozen=True, slots=True)
class Places:
    """The beginnings of a cut's zones, and the room of its head."""

    condensed_from: int
    verbatim_from: int
    pinned: int
    head_room: int
    half_mark: int
    is_squeezed: bool = False
    """Whether not even the newest group fits."""


def places(
    entries: Sequence[Entry], totals: Totals, shares: Shares, policy: Policy, *, frame: int = 0, least_head: int = 0,
    shown: Mapping[int, int] | None = None,
) -> Places:  # fmt: skip
    """Return where the zones of a new cut begin.

    ``entries`` are the newest messages in order, from the start of a group. They reach back by a room of condensed
    tokens (or to the beginning), after the user message that opened their first page; older messages cannot change the
    result. ``frame``: tokens of an empty head. ``least_head``: tokens of the head with its frame and the pinned
    memories. ``shown``: tokens with which fresh results were shown, by ``seq``.
    """
    at = next((i for i in reversed(range(len(entries))) if entries[i].kind not in UNZONED), None)
    if at is None:
        return Places(1, 1, 0, max(0, least_head), 0)
    cutting = _Cutting(entries, at, totals, shares, policy, frame, least_head, shown or {})
    return cutting.whole() or cutting.cut()


@dataclass(frozen=True)
class _Cutting:
    entries: Sequence[Entry]
    at: int
    """The index of the newest message that a window shows."""
    totals: Totals
    shares: Shares
    policy: Policy
    frame: int
    least_head: int
    shown: Mapping[int, int]

    @property
    def newest(self) -> Entry:
        return self.entries[self.at]

    @cached_property
    def oldest_page(self) -> int:
        """The oldest page that the body can hold; 0 if their number has no limit."""
        active = self.policy.active_pages
        return max(0, self.totals.last_page - max(1, active // 2)) if active else 0

    @cached_property
    def passing(self) -> list[tuple[int, int]]:
        """The newest page's groups, newest first, with cumulated tokens of the texts that they show until it ends."""
        members: dict[int, list[Entry]] = {}
        for entry in self.entries:
            if entry.page == self.totals.last_page and entry.kind not in UNZONED and (entry.fresh or entry.loaded):
                members.setdefault(entry.group, []).append(entry)
        groups = sorted(members, reverse=True)
        return list(zip(groups, accumulate(self._passing(members[group]) for group in groups), strict=True))

    def _passing(self, group: Sequence[Entry]) -> int:
        new = sum(sum(entry.fresh) for entry in group if entry.seq not in self.shown)
        known = sum(self.shown.get(entry.seq, 0) for entry in group)
        return known + min(new, int(self.shares.body * PARTS_SHARE)) + sum(entry.loaded for entry in group)

    def pinned(self, start: int) -> Entry | None:
        """Return the question of the page inside which a zone begins, if it does."""
        opener = index_of(self.entries, self.entries[start].user_seq, start)
        return self.entries[opener] if opener < start else None

    def taken(self, start: int) -> int:
        """Return the tokens of all messages from a group on, with the pinned question."""
        pinned = self.pinned(start)
        return self.weight(self.entries[start]) + (pinned.full if pinned else 0)

    def weight(self, first: Entry) -> int:
        """Return the tokens of all messages from a group's first one on, verbatim."""
        extra = next((weight for group, weight in reversed(self.passing) if group >= first.seq), 0)
        return self.newest.full_after - first.full_before + extra

    def whole(self) -> Places | None:
        """Return the places of a window that shows the whole history; None if it does not fit."""
        first, room = self.entries[0], self.shares.whole - self.least_head
        is_long = bool(self.policy.active_pages) and self.totals.last_page > self.policy.active_pages
        if first.full_before or is_long or self.weight(first) > room:
            return None
        return Places(1, 1, 0, self.least_head, int(room * HALF_MARK))

    def cut(self) -> Places:
        body, entries = self.shares.body, self.entries
        head = max(self.frame, self.least_head) + self.shares.head(self.totals.last_page - 1)
        start = self._verbatim_start(head)
        verbatim = entries[start]
        weight = self.weight(verbatim)
        pinned = self.pinned(start)
        room = max(0, body - OPENING_TOKENS - (pinned.full if pinned else 0))
        is_squeezed = weight > room
        if is_squeezed:  # the newest group will be cut, so that the head and condensed messages fit beside it
            room -= min(room, self.newest.short_before + self.newest.short - verbatim.short_before)
            weight = 0
        free = max(0, int(room * ZONES_MAX) - weight)
        head_room = min(max(self.least_head, min(head, free)), max(0, room - weight))
        most = max(0, min(self.shares.condensed + max(0, self._keep(head) - weight), free - head_room))
        condensed = entries[self._condensed_start(start, 0 if is_squeezed and self.shares.reserve else most)]
        if self.oldest_page:  # fewer pages are kept than would fit, so the head can use the rest
            left = int(room * ZONES_MAX) - weight - (verbatim.short_before - condensed.short_before)
            head_room = max(head_room, min(self.shares.head_most, left))
        frozen = head_room + verbatim.short_before - condensed.short_before
        return Places(
            condensed_from=condensed.seq if condensed.full_before else 1,
            verbatim_from=verbatim.seq,
            pinned=pinned.seq if pinned else 0,
            head_room=head_room,
            half_mark=verbatim.full_before + int(max(0, room - frozen) * HALF_MARK),
            is_squeezed=is_squeezed,
        )

    @cached_property
    def kept(self) -> float:
        if self.policy.keep_share is not None:
            return self.policy.keep_share
        groups: dict[int, int] = {}
        for entry in reversed(self.entries[: self.at + 1]):
            if entry.kind in UNZONED:
                continue
            if entry.group not in groups and len(groups) == GROUPS_OF_LATE:
                break
            fresh = min(sum(entry.fresh), int(self.shares.body * PARTS_SHARE))
            groups[entry.group] = groups.get(entry.group, 0) + entry.full + fresh + entry.loaded
        mean = sum(groups.values()) / len(groups)
        return kept_share(mean, self.shares.whole, self.policy.view_price)

    def _keep(self, head: int) -> int:
        """Return the tokens to keep verbatim, as closely as whole groups allow."""
        return int(max(0, self.shares.whole - head - self.shares.condensed) * self.kept)

    def _verbatim_start(self, head: int) -> int:
        """Return the index of the first message that stays verbatim. The newest group always does."""
        first_head = self.least_head if self.shares.available < SMALL else head
        room = int(self.shares.whole * ZONES_MAX) - first_head
        keep = min(self._keep(head), self.shares.whole - self.least_head)
        reachable: list[int] = []
        first = index_of(self.entries, self.newest.group, self.at)
        for index in self._groups_back(first):
            weight = self.taken(index)
            if reachable and weight > (max(keep, room) if len(reachable) < NEWEST_GROUPS else keep):
                break
            reachable.append(index)
        reachable = reachable[::-1] or [first]
        enough = self.newest.seq - self.policy.full_recent_count + 1
        most = self.entries[reachable[0]].full_before + int(self.shares.body * PAGE_COST)
        return next((index for index in reachable if _opens(self.entries[index], most, enough)), reachable[0])

    def _condensed_start(self, start: int, room: int) -> int:
        """Return the index of the condensed zone's first message: as far back as its room allows, or on a page's first
        message if that gives up at most a third of the room.
        """
        end = self.entries[start].short_before
        fits = takewhile(lambda i: end - self.entries[i].short_before <= room, self._groups_back(start - 1))
        reachable = [*fits][::-1]
        if not reachable:
            return start
        most = self.entries[reachable[0]].short_before + room // 3
        opening = (i for i in reachable if self.entries[i].opens_page and self.entries[i].short_before <= most)
        return next(opening, reachable[0])

    def _groups_back(self, last: int) -> Iterator[int]:
        """Yield the indices of messages at which a zone can begin, newest first."""
        for index in range(last, -1, -1):
            if self.entries[index].page < self.oldest_page:
                return
            if self.entries[index].opens_group:
                yield index


def index_of(entries: Sequence[Entry], seq: int, otherwise: int) -> int:
    found = bisect_left(entries, seq, key=attrgetter("seq"))
    return found if found < len(entries) and entries[found].seq == seq else otherwise


def _opens(entry: Entry, most: int, enough: int) -> bool:
    return entry.opens_page and entry.full_before <= most and entry.seq <= enough
