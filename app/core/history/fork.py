"""Decide the initial state of a branch: the conversation as it was when a given message was its newest."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Literal
from uuid import UUID

from app.core.conversation import Conversation, ConversationEnd, OpenCall
from app.core.line import Line, Stretch
from app.core.model import Totals


@dataclass(frozen=True, slots=True)
class ForkPlace:
    """A conversation's state after one of its messages, as far as the rows of this message and the next show it."""

    seq: int
    page: int = 0
    user_seq: int = 0
    group: int = 0
    """The call group that further calls join; 0 if they begin a new one."""
    open_calls: tuple[OpenCall, ...] = ()
    full: int = 0
    short: int = 0
    history: int = 0
    chain: bytes = b""
    answered: bytes | None = None
    said_at: datetime | None = None
    said_offset: int = 0
    at: datetime | None = None
    """The time of the next message; None if there is none."""
    chaptered: int = 0
    summarised: int = 0


@dataclass(frozen=True, slots=True)
class Forked:
    branch: Conversation
    stretches: tuple[Stretch, ...]
    said_offset: int = 0


@dataclass(frozen=True, slots=True)
class NewBranch:
    id: str
    uid: UUID
    title: str | None
    now: datetime
    shares: Literal["none", "read", "write"] | None = None
    """The access of the branch's sub-agent to the parent's memories; None if the branch has no sub-agent."""
    asked_from: int | None = None
    """The seq at which the proxy question begins that the branch answers again; None if it answers none."""


def fork(known: Conversation, place: ForkPlace, new: NewBranch) -> Forked:
    at = place.at or new.now
    line = known.line
    keeper = line.keeper(place.seq)
    stretches = [one for one in line.through(place.seq) if one.id != keeper]
    shared = Stretch(keeper, known.uid, place.seq, place.page, at)
    for one in line.stretches:
        if one.id == keeper:
            shared = shared._replace(uid=one.uid, at=min(one.at, at))
    stretches.append(shared)
    end = ConversationEnd(
        place.seq, place.page, place.user_seq, min(known.end.prompt_through, place.seq), place.group, place.open_calls
    )
    branch = replace(
        known,
        id=Line(new.id, stretches),
        uid=new.uid,
        reads=() if new.shares == "none" else tuple(known.searched),
        parent=known.parent if new.shares is None else str(known.id),
        is_apart=known.is_apart if new.shares is None else new.shares != "write",
        title=new.title if new.title is not None else known.title,
        created_at=new.now,
        updated_at=new.now,
        version=0,
        end=end,
        totals=replace(
            known.totals, last_seq=place.seq, last_page=place.page, full=place.full, short=place.short,
            history=place.history,
        ),
        language=known.language if place.user_seq else None,
        file_weights=tuple(weight for weight in known.file_weights if weight.seq <= place.seq),
        indexed_through=min(known.indexed_through, max(0, place.page - 1)),
        chaptered_through=place.chaptered,
        summary_through=place.summarised,
        epoch=0,
        chain=place.chain,
        asked=None if new.asked_from is None else place.chain,
        answered=place.answered,
        asked_from=new.asked_from,
        refused=False,
        said_at=place.said_at,
        parent_id=keeper,
        shown=None,
    )  # fmt: skip
    return Forked(branch, tuple(stretches), place.said_offset)


def at_end(known: Conversation, place: ForkPlace) -> ForkPlace:
    """Return the place after a conversation's last message, from the conversation's row, which is more exact."""
    totals: Totals = known.totals
    return replace(
        place, seq=totals.last_seq, page=totals.last_page, user_seq=known.end.user_seq, group=known.end.group,
        open_calls=tuple(replace(call, is_far=call.is_left) for call in known.end.open_calls), full=totals.full,
        short=totals.short, history=totals.history, chain=known.chain, answered=known.answered, said_at=known.said_at,
        at=None, chaptered=known.chaptered_through, summarised=known.summary_through,
    )  # fmt: skip


def without_index(forked: Forked, pages: Sequence[int]) -> Forked:
    """Return a branch without an index of some shared pages, so that it makes its own."""
    through = min([forked.branch.indexed_through, *(page - 1 for page in pages)])
    return replace(forked, branch=replace(forked.branch, indexed_through=through))
