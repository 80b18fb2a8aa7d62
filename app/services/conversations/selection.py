"""Select the new messages of a request.

A caller's list is compared with the stored messages by position. The chain after the last message identifies a list
that only grew; further chains locate where another list differs, and the digests of the newest messages show whether it
continues there. No text is read, and only new messages are counted.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import assert_never
from uuid import UUID

from app import errors
from app.core.calibration import Lesson, ReportedUsage
from app.core.conversation import Conversation
from app.core.dialects.proxy import edited, is_reworded, leaves_out, meet, stored_ids
from app.core.history.author import author_of
from app.core.history.preparation import Arrival
from app.core.history.sync import LOOK_BACK, Match, begins_with, chains, digest, is_edited, match, pieces
from app.core.model import PEOPLE
from app.postgres.transactions import ReadTx
from app.runtime import Runtime
from app.services.conversations.lists import CallersList
from app.services.conversations.reading import READER
from app.services.conversations.requests import (
    AppendRequest,
    ImportedMessages,
    PostedMessages,
    ProxyAnswer,
    ProxyQuestion,
    SyncedList,
    can_use,
    new_conversation_user,
)
from app.services.memory.recalling import said_text
from app.store import branches, conversations, messages
from app.store.messages import ToldMessage

PAGES_EDITED = 2
"""Pages of the edited first message and the one that it replaces. In a longer conversation both must be similar."""
PROBES = 32
"""Chains that are read at once: three rounds locate a difference among 20,000 messages."""


@dataclass(frozen=True, slots=True)
class AskedBefore:
    """The place of a question that is stored already."""

    through: int
    """The seq of its last message."""
    answers: tuple[int, ...] = ()
    """The seqs of the answers to it."""


@dataclass(frozen=True, slots=True)
class Arrivals:
    """The messages to append, possibly none."""

    arrivals: Sequence[Arrival]
    system: str | None = None
    """The conversation's new system prompt; None to leave it unchanged."""
    reported_usage: ReportedUsage | None = None
    learned: Lesson | None = None
    """The lesson from the reported usage."""
    list_match: Match | None = None
    """The match of the list; None if the request is no list."""
    asked_before: AskedBefore | None = None
    has_earlier: bool = False
    """Whether the conversation is new and its user has others."""
    anew: bytes | None = None
    """The chain of a proxy's list if the list shares nothing with the stored messages, else None."""

    @property
    def first(self) -> int:
        """Return the index of the first arrival in the request's list."""
        return self.list_match.matched if self.list_match is not None else 0


class BranchingError(Exception):
    """The list continues after an earlier message, so it needs a branch."""

    def __init__(self, known: Conversation, after: int, chains: Sequence[bytes], alike: int) -> None:
        super().__init__(after)
        self.known = known
        self.after = after
        """The seq of the earlier message."""
        self.chains = chains
        """The chains before the list's first message and after each."""
        self.alike = alike
        """How many of the list's messages lead to the earlier message."""


async def select_new_messages(
    runtime: Runtime, tx: ReadTx, known: Conversation | None, request: AppendRequest
) -> Arrivals:
    """Return the messages to append. Raises Fork, BranchingError, or Invalid if there are too many."""
    if known is None:
        has_earlier = await conversations.has_any(tx, new_conversation_user(request))
        new = _from(request.messages, 0) if isinstance(request, SyncedList | ProxyQuestion) else select_all(request)
        return replace(new, has_earlier=has_earlier)
    match request:
        case PostedMessages() | ImportedMessages():
            return select_all(request)
        case ProxyAnswer():
            return await _of_answer(tx, known, request)
        case SyncedList() | ProxyQuestion():
            system = await _system(tx, known, request)
            if isinstance(request, SyncedList):
                selection = await _of_list(tx, known, request)
            else:
                selection = _at_open_calls(known, request.messages, await _of_question(runtime, tx, known, request))
            return replace(selection, system=system)
        case _:
            assert_never(request)


def select_at_once(runtime: Runtime, tenant: UUID, known: Conversation, request: AppendRequest) -> Arrivals | None:
    """Select messages without reading, provided that ``known`` is current; None if that is impossible."""
    if not isinstance(request, PostedMessages | ProxyAnswer | ProxyQuestion) or not can_use(known, request):
        return None
    if isinstance(request, ProxyAnswer) and _is_perhaps_there(known, request):
        return None
    if not isinstance(request, ProxyQuestion):
        return select_all(request)
    listed, new_from = request.messages, _place_of_end(known, request.messages)
    if new_from is None or request.follows is not None or _awaited(runtime, tenant, known, request) is not None:
        return None
    if not 0 < len(listed.digests) - new_from <= listed.new_max:
        return None
    selection = _from(listed, new_from)
    usage = _reported(runtime, tenant, known)
    return replace(selection, system=_system_of_question(known, listed), reported_usage=usage)


def select_all(request: PostedMessages | ProxyAnswer | ImportedMessages) -> Arrivals:
    """Return all messages of a request that contains only new ones."""
    if isinstance(request, PostedMessages):
        return Arrivals([Arrival(draft) for draft in request.drafts], request.system, request.reported_usage)
    return Arrivals(request.arrivals)


def _from(listed: CallersList, new_from: int, ahead: int = 0, passed_over: Sequence[int] = ()) -> Arrivals:
    """Return a list's messages from ``new_from`` on, not counting its prompt. Raises Invalid for too many."""
    first = listed.lead + new_from
    count = len(listed.sent) - first
    if count > listed.new_max:
        raise errors.Invalid(
            f"{count} messages of the list are new; at most {listed.new_max} can be stored at once."
            " Sync the beginning of the list first.",
            errors=[{"loc": ["body", "messages"], "msg": f"must have at most {listed.new_max} new messages"}],
            extra={"matched": first, "messages_max": listed.new_max},
        )
    arrivals = [Arrival(draft) for draft in listed.drafts(first)]
    return Arrivals(arrivals, listed.system, list_match=Match(first, ahead, tuple(passed_over)))


async def _system(tx: ReadTx, known: Conversation, request: SyncedList | ProxyQuestion) -> str | None:
    """Return the conversation's new system prompt; None to keep the present one. Raises Fork."""
    listed, through = request.messages, known.end.prompt_through
    if isinstance(request, ProxyQuestion) or not through or not listed.lead:
        return _system_of_question(known, listed)
    if listed.lead_digests == await messages.prompt_digests(tx, known.id, through):
        return None
    if request.on_fork == "append":
        return None
    raise errors.Fork(
        "The conversation began with different system messages, which are stored as messages.",
        errors=[{"loc": ["body", "messages", 0], "msg": "differs from what is stored as message 1"}],
        extra={"index": 0, "seq": 1},
    )


def _system_of_question(known: Conversation, listed: CallersList) -> str | None:
    """Return the list's system prompt; None if the conversation stores its prompt as messages."""
    return None if known.end.prompt_through and listed.lead else listed.system


async def _of_list(tx: ReadTx, known: Conversation, request: SyncedList) -> Arrivals:
    """Return the new messages of a synced list. Raises Fork."""
    listed = request.messages
    same, through = await _common_beginning(tx, known, listed)
    digests, owners = pieces(listed.digests[same:])
    stored = known.end.last_seq - through
    newest: list[bytes] = []
    if digests and stored:
        newest = [told.digest for told in await messages.newest_told(tx, known.id, through, LOOK_BACK)]
    tail, told_by = pieces(newest)
    found = match(digests, tail, stored=stored, joins_forks=request.on_fork == "append")
    index, seq = listed.lead + same, through + 1
    if found is None and same and request.on_fork == "branch" and is_edited(digests, tail, stored=stored):
        raise BranchingError(known, through, listed.chains, same)
    if found is None:
        raise errors.Fork(
            f"The list contradicts what is stored from its message {index} on. Nothing was stored.",
            errors=[{"loc": ["body", "messages", index], "msg": f"differs from what is stored as message {seq}"}],
            extra={"index": index, "seq": seq},
        )
    passed_over = list(dict.fromkeys(index + owners[i] for i in found.passed_over))
    ahead = len(set(told_by[len(tail) - found.ahead :])) if digests and found.ahead else found.ahead
    new_from = same + _owner(owners, found.matched)
    return replace(_from(listed, new_from, ahead, passed_over), reported_usage=request.reported_usage)


def _owner(owners: Sequence[int], piece: int) -> int:
    """Return the index of a piece's message; the number of messages if the piece is the end."""
    return owners[piece] if piece < len(owners) else (owners[-1] + 1 if owners else 0)


async def _of_question(runtime: Runtime, tx: ReadTx, known: Conversation, request: ProxyQuestion) -> Arrivals:
    """Return the new messages of a proxy's list, or if there are none, the place of its question."""
    listed, end = request.messages, len(request.messages.digests)
    if (awaited := _awaited(runtime, tx.tenant, known, request)) is not None:
        return replace(_from(listed, end), asked_before=AskedBefore(awaited))
    if request.follows is None:
        alike, through = await _common_beginning(tx, known, listed)
    else:
        alike, through = 0, request.follows.seq
    newest: list[ToldMessage] = []
    if known.end.last_seq > through:
        newest = await messages.newest_told(tx, known.id, through, LOOK_BACK)
    digests, owners = pieces(listed.digests)
    told_digests, told_by = pieces([told.digest for told in newest])
    sent = [(listed.roles[place], digest) for place, digest in zip(owners, digests, strict=True)]
    stored = [(newest[place].role, digest) for place, digest in zip(told_by, told_digests, strict=True)]
    begun = sum(place < alike for place in owners)
    since = [place for place in told_by if newest[place].created_at > request.arrived_at]
    overtaken_by = len(since) if request.was_passed else 0
    met = meet(
        sent, begun, stored, is_whole=len(newest) < LOOK_BACK, retried=request.retried, overtaken_by=overtaken_by
    )
    passed_over = dict.fromkeys(listed.lead + owners[i] for i in met.passed_over)
    selection = _from(listed, _owner(owners, met.new_from), passed_over=list(passed_over))
    if selection.arrivals:
        if request.follows is not None and request.follows.is_last and leaves_out(sent, stored):
            before = (await messages.chains(tx, known.id, [through]))[through] or b""
            raise BranchingError(known, through, chains(listed.digests, before), 0)
        branching = await edited_turn(tx, known, listed) if request.follows is None else None
        if branching is None and not alike and request.follows is None:
            branching = await _edited_opening(tx, known, listed)
        if branching is not None and not _came_later(newest, branching.after, request.arrived_at):
            raise branching
        anew = listed.chains[-1] if newest and not alike and selection.first == listed.lead else None
        return replace(selection, anew=anew, reported_usage=_reported(runtime, tx.tenant, known))
    if met.asked:
        asked_through = newest[told_by[met.asked - 1]].seq
    else:
        asked_through = await messages.last_told(tx, known.id, through)
    return replace(
        selection, asked_before=AskedBefore(asked_through, tuple(newest[told_by[i]].seq for i in met.answers))
    )


def _at_open_calls(known: Conversation, listed: CallersList, selection: Arrivals) -> Arrivals:
    """Return the arrivals with results at the stored calls, because ChatMistralAI renames most call ids in its list."""
    stored = [call for call in known.end.open_calls if not call.is_left]
    results = {result.call_id for arrival in selection.arrivals for result in arrival.draft.results}
    roles = listed.roles[: selection.first - listed.lead]
    if not stored or "assistant" not in roles or results <= {call.id for call in stored}:
        return selection
    back = roles[::-1].index("assistant") + 1
    ids = stored_ids(listed.drafts(selection.first - back)[:back], stored)
    return replace(selection, arrivals=[replace(a, draft=a.draft.at_calls(ids)) for a in selection.arrivals])


def _is_perhaps_there(known: Conversation, request: ProxyAnswer) -> bool:
    return request.is_whole and known.end.last_seq > request.after


async def _of_answer(tx: ReadTx, known: Conversation, request: ProxyAnswer) -> Arrivals:
    """Return an answer's messages; none if the client's next list brought them first."""
    if not _is_perhaps_there(known, request):
        return select_all(request)
    newest = await messages.newest_told(tx, known.id, request.after, LOOK_BACK)
    said = [digest(arrival.draft) for arrival in request.arrivals if not arrival.is_inner]
    is_there = len(newest) < LOOK_BACK and begins_with([told.digest for told in newest], said)
    return Arrivals(()) if is_there else select_all(request)


def _came_later(newest: Sequence[ToldMessage], after: int, arrived_at: datetime) -> bool:
    """Return whether the messages that a list leaves out came after it, so that its sender could not know them."""
    left_out = next((told for told in newest if told.seq > after), None)
    return left_out is not None and left_out.created_at > arrived_at


async def _edited_opening(tx: ReadTx, known: Conversation, listed: CallersList) -> BranchingError | None:
    """Return the branch of a list whose first message was edited: the edit came as a list of its own, and this list
    continues behind its answer. A client that lost its list also begins anew, but with another opening.
    """
    if not known.asked or known.asked not in listed.chains[1:-1] or listed.roles[-2:] != ["assistant", "user"]:
        return None
    edited, *_, before, newest = listed.drafts(listed.lead)
    if author_of(newest, before, known.user_id) not in PEOPLE:
        return None
    start = known.end.prompt_through
    if known.totals.last_page > PAGES_EDITED:
        opening = await messages.history(tx, known.id, start, 1, newest_first=False)
        if READER.greets(edited.text) or not all(is_reworded(said_text(row), edited.text) for row in opening):
            return None
    return BranchingError(known, start, listed.chains, 0)


async def edited_turn(tx: ReadTx, known: Conversation, listed: CallersList) -> BranchingError | None:
    """Return the branch of a list that replaces answered turns of a conversation, or that continues another branch of
    its tree word for word.
    """
    alike, through = await _common_beginning(tx, known, listed)
    if known.line.is_in_tree and known.chain not in listed.chains:
        other = await branches.continued(tx, known.line.root, listed.chains, alike)
        if other not in (None, known.id):
            return BranchingError(known, through, listed.chains, alike)
    newest = await messages.newest_told(tx, known.id, through, LOOK_BACK) if known.end.last_seq > through else []
    digests, owners = pieces(listed.digests)
    told, told_by = pieces([message.digest for message in newest])
    sent = [(listed.roles[place], digest) for place, digest in zip(owners, digests, strict=True)]
    stored = [(newest[place].role, digest) for place, digest in zip(told_by, told, strict=True)]
    begun = sum(place < alike for place in owners)
    both = edited(sent, begun, stored, is_whole=len(newest) < LOOK_BACK)
    if not both:
        return None
    place = told_by[both - begun]
    after = newest[place - 1].seq if place else through
    return BranchingError(known, after, listed.chains, _owner(owners, both))


def _awaited(runtime: Runtime, tenant: UUID, known: Conversation, request: ProxyQuestion) -> int | None:
    """Return the end of an equal question whose answer was pending when this one arrived."""
    return runtime.turns.awaited(same_question(tenant, known, request.digest), request.arrived)


def _reported(runtime: Runtime, tenant: UUID, known: Conversation) -> ReportedUsage | None:
    return runtime.turns.reported.get((tenant, known.uid))


def same_question(tenant: UUID, conversation: Conversation, digest: bytes) -> tuple[object, ...]:
    """Return a key that equal requests share. A changed past, after an erasure for example, makes requests unequal."""
    return (tenant, conversation.uid, conversation.totals.generation, digest)


async def _common_beginning(tx: ReadTx, known: Conversation, listed: CallersList) -> tuple[int, int]:
    """Return how many messages the list and the conversation have in common at the beginning, and the last seq of them.

    Chains are found by value, because a message that is in no caller's list has the chain of the one before it.
    """
    prompt, last = known.end.prompt_through, known.end.last_seq
    if (end := _place_of_end(known, listed)) is not None:
        return end, last
    place = {chain: index for index, chain in enumerate(listed.chains)}
    same, low, high = 0, prompt, last  # up to low they are the same; at high they are not
    while high - low > 1:
        step = max(1, (high - low - 1) // PROBES)
        probes = [*range(low + 1, high - 1, step), high - 1]
        there = await messages.chains(tx, known.id, probes)
        agree = [probe for probe in probes if there.get(probe) in place]
        if agree:
            low = max(agree)
            same = place[there[low] or b""]
        high = min((probe for probe in probes if probe > low), default=high)
    return same, low


def _place_of_end(known: Conversation, listed: CallersList) -> int | None:
    """Return how many messages of the list lead to the conversation's end; None if the list does not contain it."""
    return listed.chains.index(known.chain) if known.chain in listed.chains else None
