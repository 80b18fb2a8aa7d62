"""When a new epoch is due, and where its zones begin.

The theory. The verbatim zone may grow to the recent cap R. When it passes it (the high watermark), the zone
is cut back to about R/2 (the low one) and the window is laid out anew. Where a loop with a memory would move
the boundary "when it is full", this module quantises it: with F the tokens of the whole history,

    T = R + k * R/2     the last threshold that F has passed; k = 0, 1, 2 ...

and the cut is the first page that begins at or after T - R/2. Between two thresholds nothing moves, so the
window only grows at its end; and since T depends on F alone, any process finds the same layout for any
budget at any time, by index look-ups, without a stored history of decisions. The same is done with the
number of pages (``active_pages``).

Cuts go to page boundaries. Only a page that is larger than the zone itself is cut inside, between call
groups; its user message stays in view then (``pinned``), since what follows answers it.

The epoch's number is the ``seq`` of the message that passed the threshold: it grows, and it says when.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from app.core.budget import Shares
from app.core.model import Entry, Layout, Policy, Totals


def token_threshold(full: int, shares: Shares) -> int:
    """The last threshold that ``full`` tokens of history have passed; 0 while there is none."""
    if full <= shares.recent:
        return 0
    return shares.recent + (full - shares.recent - 1) // shares.step * shares.step


def page_step(policy: Policy) -> int:
    return max(1, policy.active_pages // 2)


def page_threshold(last_page: int, policy: Policy) -> int:
    """The page whose opening last made an epoch due by count; 0 while there is none."""
    if last_page <= policy.active_pages:
        return 0
    step = page_step(policy)
    return policy.active_pages + 1 + (last_page - policy.active_pages - 1) // step * step


def ledger_reach(shares: Shares) -> int:
    """How many condensed tokens back from the end the entries must reach for ``layout`` to be exact."""
    return shares.recent + shares.condensed + shares.step


def layout(entries: Sequence[Entry], totals: Totals, shares: Shares, policy: Policy) -> Layout:
    """Lay the window out.

    ``entries`` are the newest messages in order, from a group's start on and reaching back over at least
    ``ledger_reach(shares)`` condensed tokens (or to the beginning), and before them the user message that
    opened the page they begin in. What is older cannot change the answer.
    """
    tokens_at = token_threshold(totals.full, shares)
    page_at = page_threshold(totals.last_page, policy)
    full_until = tokens_at + shares.step if tokens_at else shares.recent
    pages_until = page_at + page_step(policy) - 1 if page_at else policy.active_pages
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

    trigger = _trigger(entries, tokens_at, page_at)
    oldest_page = page_at - page_step(policy) if page_at else 0
    verbatim = _verbatim_start(entries, trigger, tokens_at, oldest_page, shares, policy)
    growth = full_until - verbatim.full_before
    opener = next((e for e in entries if e.seq == verbatim.user_seq), verbatim)
    room = max(0, shares.available - growth - (opener.full if opener.seq < verbatim.seq else 0))
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
    """The message that made this epoch due: the later of the two that passed a threshold."""
    by_tokens = next((e for e in entries if e.full_after > tokens_at), entries[-1]) if tokens_at else entries[0]
    by_page = next((e for e in entries if e.page >= page_at), entries[-1]) if page_at else entries[0]
    return max(by_tokens, by_page, key=lambda e: e.seq)


def _verbatim_start(
    entries: Sequence[Entry], trigger: Entry, tokens_at: int, oldest_page: int, shares: Shares, policy: Policy
) -> Entry:
    """The first message that stays verbatim: a page's first where one is in reach, else a call group's."""
    floor = tokens_at - (shares.recent - shares.step) if tokens_at else 0
    unit = next((e for e in entries if e.seq == trigger.group), trigger)
    reachable = [e for e in entries if e.full_before >= floor and e.page >= oldest_page and e.seq <= unit.seq]
    pages = [e for e in reachable if e.opens_page]
    if pages:
        recent = trigger.seq - policy.full_recent_count + 1
        rounded_out = [e for e in pages if e.seq <= recent]
        return rounded_out[-1] if rounded_out else pages[0]
    return next((e for e in reachable if e.opens_group), unit)


def _condensed_start(entries: Sequence[Entry], verbatim: Entry, room: int, oldest_page: int) -> Entry:
    """The first message of the condensed zone: as far back as its room reaches, at a page's first if it can."""
    reachable = [
        e
        for e in entries
        if e.seq <= verbatim.seq and e.page >= oldest_page and verbatim.short_before - e.short_before <= room
    ]
    pages = [e for e in reachable if e.opens_page]
    if pages:
        return pages[0]
    return next((e for e in reachable if e.opens_group), verbatim)
