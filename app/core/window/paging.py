"""Decide when a new epoch is due, and where its zones begin.

The theory: fill, then cut. Nothing leaves a window while it fits. When the window is full, one deep cut leaves a head,
condensed messages and the newest messages verbatim; then the window grows at its end until it is full again.

                        tokens of the history
    body's room B      ├──────────────────────────────┤ all verbatim
    cut at T0 = B      [head][condensed][ keep ]
    full at T1 = B + S [head][condensed][ keep ├─ S ──┤
    cut at T1                 [head][condensed][ keep ]
    full at T2 = B + 2S       [head][condensed][ keep ├─ S ──┤

S, the growth, is what head, condensed and kept messages leave of B. A loop with a memory would cut "when it is full".
This module quantises instead: with F the tokens of the whole history, verbatim, the cut in force is at

    T = B + k * S      the last threshold that F has passed; k = 0, 1, 2 ...

and the verbatim zone begins with the first page that begins at or after T - keep. Between two thresholds nothing
moves, so the window only grows at its end. T depends on F alone, so any process finds the same layout for any budget
at any time, by index look-ups, without a stored history of decisions.

``active_pages``, if set, limits the number of pages in the same way: past the limit the body falls to half of it and
grows again.

Cuts are made at page boundaries. If the pages within reach have fewer than ``full_recent_count`` messages (a long
agent loop is one page), the cut is made inside a page, between call groups; its user message then stays in view
(``pinned``), because what follows answers it.

The epoch's number is the ``seq`` of the message that passed the threshold: it grows, and it tells when.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from app.core.model import Entry, Layout, Policy, Totals
from app.core.window.budget import Shares

PAGES_MAX = 2**31 - 1
"""No limit, in a column of 32 bits."""


def token_threshold(full: int, shares: Shares) -> int:
    """Return the last threshold that ``full`` tokens of history have passed; 0 while all of it is shown."""
    if full <= shares.whole:
        return 0
    return shares.body + (full - shares.body - 1) // shares.growth * shares.growth


def page_step(policy: Policy) -> int:
    return max(1, policy.active_pages // 2)


def page_threshold(last_page: int, policy: Policy) -> int:
    """Return the page whose opening last made an epoch due by count; 0 while there is none."""
    if not policy.active_pages or last_page <= policy.active_pages:
        return 0
    step = page_step(policy)
    return policy.active_pages + 1 + (last_page - policy.active_pages - 1) // step * step


def holds_until(totals: Totals, shares: Shares, policy: Policy) -> tuple[int, int]:
    """Return the tokens and the page up to which the layout in force holds."""
    tokens_at = token_threshold(totals.full, shares)
    page_at = page_threshold(totals.last_page, policy)
    full_until = tokens_at + shares.growth if tokens_at else shares.whole
    return full_until, page_at + page_step(policy) - 1 if page_at else policy.active_pages or PAGES_MAX


def growth_left(totals: Totals, shares: Shares, policy: Policy) -> int:
    """Return by how many tokens the history can grow before the body's room is full."""
    return max(0, holds_until(totals, shares, policy)[0] - totals.full)


def in_force(layout: Layout, totals: Totals, shares: Shares, policy: Policy) -> bool:
    """Return whether a stored layout is the one that ``layout`` would return.

    It is not if it was made under other shares, or by a version of Quire that laid windows out differently.
    """
    until = layout.full_until, layout.pages_until
    return layout.generation == totals.generation and until == holds_until(totals, shares, policy)


def is_whole(totals: Totals, shares: Shares, policy: Policy) -> bool:
    """Return whether the whole history is shown, verbatim."""
    return not token_threshold(totals.full, shares) and not page_threshold(totals.last_page, policy)


def ledger_reach(shares: Shares) -> int:
    """Return how many condensed tokens back from the end the entries must reach for ``layout`` to be exact."""
    return shares.body + shares.growth


def layout(entries: Sequence[Entry], totals: Totals, shares: Shares, policy: Policy) -> Layout:
    """Lay the window out.

    ``entries`` are the newest messages in order, from a group's start on and reaching back over at least
    ``ledger_reach(shares)`` condensed tokens (or to the beginning), and before them the user message that
    opened the page they begin in. What is older cannot change the answer.
    """
    tokens_at = token_threshold(totals.full, shares)
    page_at = page_threshold(totals.last_page, policy)
    full_until, pages_until = holds_until(totals, shares, policy)
    beginning = Layout(
        number=totals.generation,
        condensed_from=1,
        verbatim_from=1,
        pinned=0,
        head_room=0,
        full_until=full_until,
        pages_until=pages_until,
        generation=totals.generation,
        trigger_page=0,
        revision=0,
        half_mark=full_until * 3 // 4,
    )
    if not entries or (tokens_at == 0 and page_at == 0):
        return beginning

    trigger = _trigger(entries, max(tokens_at, shares.whole) if tokens_at else 0, page_at)
    oldest_page = page_at - page_step(policy) if page_at else 0
    verbatim = _verbatim_start(entries, trigger, tokens_at - shares.keep if tokens_at else 0, oldest_page, policy)
    growth = full_until - verbatim.full_before
    opener = next((e for e in entries if e.seq == verbatim.user_seq), verbatim)
    room = max(0, shares.body - growth - (opener.full if opener.seq < verbatim.seq else 0))
    head_room = min(shares.head, room)
    condensed = _condensed_start(entries, verbatim, min(shares.condensed, room - head_room), oldest_page)
    return replace(
        beginning,
        number=trigger.seq + totals.generation,
        condensed_from=condensed.seq if condensed.full_before else 1,
        verbatim_from=verbatim.seq,
        pinned=opener.seq if opener.seq < condensed.seq else 0,
        head_room=head_room,
        trigger_page=trigger.page,
        revision=trigger.revision,
        half_mark=verbatim.full_before + growth * 3 // 4,
    )


def _trigger(entries: Sequence[Entry], tokens_at: int, page_at: int) -> Entry:
    """Return the message that made this epoch due: the later of the two that passed a threshold."""
    by_tokens = next((e for e in entries if e.full_after > tokens_at), entries[-1]) if tokens_at else entries[0]
    by_page = next((e for e in entries if e.page >= page_at), entries[-1]) if page_at else entries[0]
    return max(by_tokens, by_page, key=lambda e: e.seq)


def _verbatim_start(entries: Sequence[Entry], trigger: Entry, floor: int, oldest_page: int, policy: Policy) -> Entry:
    """Return the first message that stays verbatim: a page's first if enough messages are left, else a call group's."""
    unit = next((e for e in entries if e.seq == trigger.group), trigger)
    reachable = [e for e in entries if e.full_before >= floor and e.page >= oldest_page and e.seq <= unit.seq]
    enough = trigger.seq - policy.full_recent_count + 1
    page = next((e for e in reachable if e.opens_page), None)
    if page is not None and page.seq <= enough:
        return page
    return next((e for e in reachable if e.opens_group), unit)


def _condensed_start(entries: Sequence[Entry], verbatim: Entry, room: int, oldest_page: int) -> Entry:
    """Return the first message of the condensed zone: as far back as its room reaches, at a page's first if it can."""
    reachable = [
        e
        for e in entries
        if e.seq <= verbatim.seq and e.page >= oldest_page and verbatim.short_before - e.short_before <= room
    ]
    pages = [e for e in reachable if e.opens_page]
    if pages:
        return pages[0]
    return next((e for e in reachable if e.opens_group), verbatim)
