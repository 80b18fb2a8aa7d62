"""Fork a conversation: a branch shares its messages up to a place and continues separately.

Nothing is copied, so a fork costs the same at any length: see ``core.line``.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Literal
from uuid import UUID

from app import errors
from app.core.conversation import Conversation
from app.core.history import fork as forks
from app.core.history.fork import ForkPlace, NewBranch
from app.core.history.refused import open_again
from app.core.line import CallersId, Line
from app.core.times import local, time_text
from app.errors import FieldError
from app.ids import uuid7
from app.postgres.transactions import ReadTx, Tx
from app.queue import enqueue
from app.runtime import Runtime
from app.services.conversations.placing import Shares
from app.services.conversations.selection import BranchingError
from app.store import branches, conversations, page_index
from app.store.branches import ListedBranch
from app.store.memory import kept

INDEXED_AGAIN_MAX = 50
"""The most pages that a branch indexes itself: the newest of those that had no index when the next message came."""


@dataclass(frozen=True, slots=True)
class ForkRequest:
    at: int | str | None = None
    """The ``seq`` or the id of a message; None: the newest."""
    position: Literal["before", "after"] = "after"
    id: str | None = None
    title: str | None = None
    shares: Shares | None = None


async def fork(tx: Tx, known: Conversation, request: ForkRequest) -> Conversation:
    """Make a branch of a locked conversation. Raises Invalid for an unknown place, Conflict for a taken id."""
    after = await _seq(tx, known, request)
    new = NewBranch(request.id or str(uuid7()), uuid7(), request.title, await page_index.now(tx), request.shares)
    made = await at(tx, known, after, new)
    if made is not None:
        return made
    there = await conversations.find(tx, str(request.id))
    if there is not None and _is_same(there, known, after, request):
        return there
    raise errors.Conflict("The conversation id is taken.", errors=[_body_error("id", "is taken")])


async def at(tx: Tx, known: Conversation, after: int, new: NewBranch) -> Conversation | None:
    """Make a branch of a locked conversation after a message; None if its id is taken."""
    place = await _place(tx, known, after)
    if known.title is not None and await branches.is_titled_later(tx, known.line, place.page, known.title):
        known = replace(known, title=None)
    decided = forks.fork(known, place, new)
    last = decided.branch.totals.last_page
    pages = await branches.unindexed(tx, decided.branch.line, last - INDEXED_AGAIN_MAX, last)
    decided = forks.without_index(decided, pages)
    if not await branches.insert(tx, known.line.own, decided):
        return None
    if pages:
        await enqueue.enqueue(tx, [enqueue.page(new.id, new.uid, page) for page in pages])
    return await conversations.get(tx, new.id)


def _body_error(name: str, message: str) -> FieldError:
    return {"loc": ["body", name], "msg": message}


def _is_same(there: Conversation, known: Conversation, after: int, request: ForkRequest) -> bool:
    """Return whether a conversation is the requested branch, made by an earlier request."""
    begun = [(one.id, one.seq) for one in there.line.stretches[-1:]]
    is_same = begun == [(known.line.keeper(after), after)] and there.user_id == known.user_id
    asked = forks.fork(known, ForkPlace(after), NewBranch("", there.uid, None, there.created_at, request.shares)).branch
    is_same &= (there.parent, there.is_apart) == (asked.parent, asked.is_apart)
    return is_same and request.title in (None, there.title)


async def _seq(tx: ReadTx, known: Conversation, request: ForkRequest) -> int:
    last = known.totals.last_seq
    seq = await seq_at(tx, known, request.at) if request.at is not None else max(last, request.position == "before")
    return min(last, max(known.end.prompt_through, seq - (request.position == "before")))


async def seq_at(tx: ReadTx, known: Conversation, place: int | str | None) -> int:
    """Return the seq of the message that a request names; None names the newest. Raises Invalid."""
    last = known.totals.last_seq
    if place is None:
        seq: int | None = last
    elif isinstance(place, int) or (place.isascii() and place.isdecimal()):
        seq = int(place) if len(str(place)) < 10 and 1 <= int(place) <= last else None
    else:
        seq = await branches.seq_of(tx, known.line, _uuid(place), place)
    if seq is None:
        exist = f"; messages 1–{last} exist" if last else "; it has no messages"
        raise errors.Invalid(errors=[_body_error("at", f"is no message of the conversation{exist}")])
    return seq


def _uuid(text: str) -> UUID | None:
    try:
        return UUID(text)
    except ValueError:
        return None


async def _place(tx: ReadTx, known: Conversation, seq: int) -> ForkPlace:
    line = known.line
    row = await branches.place(tx, line, seq) if seq else None
    if row is None:
        place = ForkPlace(0, at=known.created_at)
        return forks.at_end(known, place) if not known.totals.last_seq else place
    in_group = row.kind in ("call", "result")
    shown = await branches.group(tx, line, row.call_group, seq) if in_group else []
    answered = await branches.first_answer(tx, line, seq) if known.answered is not None else None
    place = ForkPlace(
        seq=seq, page=row.page, user_seq=row.user_seq, group=row.call_group if row.kind == "call" else 0,
        open_calls=open_again(shown, row.call_group), full=row.full_total, short=row.short_total,
        history=row.history_total or 0, chain=row.chain or b"",
        answered=known.answered if answered is not None else None,
        said_at=local(row.said_at, row.said_offset) if row.said_at is not None else None,
        said_offset=row.said_offset, at=row.created_at,
    )  # fmt: skip
    if seq == known.totals.last_seq:
        return forks.at_end(known, place)
    assert row.created_at is not None, "something follows it"
    return replace(
        place,
        chaptered=await branches.chaptered(tx, line, place.page),
        summarised=await branches.summarised(tx, line, seq, row.created_at),
    )


# --- The branch that a caller's list continues -----------------------------------------------------------


async def branch(tx: Tx, named: str, branching: BranchingError) -> str:
    """Return the old or new branch that a list continues. The caller's id shows it from now on."""
    held = await locked(tx, named, branching.known)
    if held is None:
        raise errors.StorageUnavailable("A concurrent request interfered. Try again.")
    name = await branches.continued(tx, held.line.root, branching.chains, branching.alike)
    if name is None:
        name = str(uuid7())
        await at(tx, held, branching.after, NewBranch(name, uuid7(), None, await page_index.now(tx)))
    await show(tx, named, held, name)
    return CallersId(named, name) if isinstance(named, CallersId) else name


async def show_again(runtime: Runtime, tenant: UUID, line: Line) -> None:
    """Let a trunk's id show the line that a list continues, if the id follows lists."""
    async with runtime.database.snapshot(tenant) as tx:
        trunk = await conversations.find(tx, line.root)
    if trunk is None or trunk.shown in (None, str(line)):
        return
    async with runtime.database.begin(tenant) as tx:
        if (held := await locked(tx, line.root, trunk)) is not None:
            await show(tx, line.root, held, str(line))


async def locked(tx: Tx, named: str, known: Conversation) -> Conversation | None:
    """Return a conversation, locked in the usual order (trunk, then id); None if another one has its id by now."""
    names = dict.fromkeys(map(str, (known.line.root, named, known.id)))
    held = {name: await conversations.lock(tx, name) for name in names}
    found = held[str(known.id)]
    return found if found is not None and found.uid == known.uid else None


async def show(tx: Tx, named: str, known: Conversation, name: str) -> None:
    """Let a caller's id show a branch, and the trunk's id too if it showed the same.

    A list names its whole tree, but an explicit fork of a trunk where no list ever branched keeps its own name.
    """
    root = known.line.root
    if not isinstance(named, CallersId):
        trunk = await conversations.get(tx, root)
        named = root if trunk.uid == known.uid or trunk.shown is not None else known.id
    await branches.show(tx, named, root, name)
    await kept.follow(tx, known.line, (await conversations.get(tx, name)).line)


# --- The tree ------------------------------------------------------------------------------------------


async def browse(
    tx: ReadTx, known: Conversation, after: tuple[object, UUID] | None, limit: int
) -> list[dict[str, Any]]:
    """Return the branches of a conversation's tree, most recently active first."""
    return [_item(one) for one in await branches.browse(tx, known.line.root, after, limit)]


def _item(of: ListedBranch) -> dict[str, Any]:
    return {
        "id": str(of.line), "parent_id": of.parent_id, "forked_after": of.line.stretches[-1].seq, "title": of.title,
        "messages": of.last_seq, "pages": of.last_page, "created_at": time_text(of.created_at),
        "updated_at": time_text(of.updated_at), "uid": of.uid,
    }  # fmt: skip
