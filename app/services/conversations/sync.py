"""Syncing a caller's own message list: find out what of it is stored, append the rest.

What is stored is asked for by position: the chain after the last message answers a list that only grew, some
chains more find where another list differs, and the digests of the newest messages say whether it goes on there.
No text is read, and none is counted but that of new messages.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from itertools import takewhile
from typing import Any
from uuid import UUID

import anyio.to_thread

from app import errors
from app.core.calibration import ReportedUsage
from app.core.messages import Draft, Limits, read
from app.core.originals import as_sent
from app.core.sync import LOOK_BACK, chains, digest, link, match
from app.postgres.database import Connection
from app.runtime import Runtime
from app.services.conversations.append import Appended, AppendRequest, append
from app.services.idempotency import Once
from app.store import conversations, messages
from app.store.conversations import Conversation

PROBES = 32
"""Chains that are asked for at once: three rounds find a difference among 20,000 messages."""
BATCH = 200
"""Messages that get their chains in one transaction."""
UNLIMITED = Limits(message_chars=2**40, result_chars=2**40)


@dataclass(frozen=True, slots=True)
class SyncRequest:
    messages: Any
    """As sent, not read yet."""
    user_id: str | None = None
    system: str | None = None
    joins_forks: bool = False
    bound_to: str | None = None
    """The one user whose conversations are there."""
    reported_usage: ReportedUsage | None = None
    is_large: bool = False
    """It came in a long body."""


@dataclass(frozen=True, slots=True)
class CallersList:
    """The list as read. ``lead`` messages are its prompt; digests and chains are of those after it."""

    drafts: Sequence[Draft]
    lead: int
    lead_digests: Sequence[bytes]
    digests: Sequence[bytes]
    chains: Sequence[bytes]
    system: str | None
    joins_forks: bool


New = Callable[[Connection, UUID, Conversation, AppendRequest, CallersList, Limits], Awaitable[AppendRequest]]
"""Decides what of a list is left to append to a conversation that there is."""


async def sync(
    runtime: Runtime, tenant: UUID, conversation_id: str, request: SyncRequest, once: Once | None
) -> Appended:
    """Append what is new in the list, all or nothing. Raises Fork, and what ``append`` raises."""
    found = await anyio.to_thread.run_sync(read_list, request, runtime.defaults.limits)
    whole = AppendRequest(
        found.drafts, request.user_id, found.system, bound_to=request.bound_to, member="appended",
        reported_usage=request.reported_usage, is_large=request.is_large,
    )  # fmt: skip
    return await sync_list(runtime, tenant, conversation_id, found, whole, once, _new)


async def sync_list(
    runtime: Runtime,
    tenant: UUID,
    conversation_id: str,
    found: CallersList,
    whole: AppendRequest,
    once: Once | None,
    new: New,
) -> Appended:
    """The same for a list that is read already; ``new`` decides."""
    limits = runtime.defaults.limits

    async def narrow(connection: Connection, known: Conversation | None, whole: AppendRequest) -> AppendRequest:
        if known is None:
            return rest(whole, found, 0, limits)
        if known.chain is None:
            raise _Unchained
        system = await _system(connection, tenant, known, found)
        return replace(await new(connection, tenant, known, whole, found, limits), system=system)

    try:
        return await append(runtime, tenant, conversation_id, whole, once, narrow)
    except _Unchained:
        await _complete(runtime, tenant, conversation_id)
    return await append(runtime, tenant, conversation_id, whole, once, narrow)


class _Unchained(Exception):  # noqa: N818 - no error: it is told to ourselves
    """The conversation is older than chains are."""


def read_list(request: SyncRequest, limits: Limits) -> CallersList:
    """Raises Invalid or PayloadTooLarge. Takes long for a long list."""
    drafts = read(request.messages, replace(limits, messages=limits.listed))
    lead = len(list(takewhile(lambda draft: draft.role in ("system", "developer"), drafts)))
    if lead == len(drafts):
        where: list[str | int] = ["body", "messages"]
        raise errors.Invalid(
            errors=[{"loc": where, "msg": "must contain a message after the leading system messages"}],
        )
    texts = [request.system or "", *(draft.text for draft in drafts[:lead])]
    system = "\n\n".join(text for text in texts if text) or request.system
    if system is not None and "\x00" in system:
        raise errors.Invalid(errors=[{"loc": ["body", "system"], "msg": "must not contain U+0000"}])
    digests = [digest(draft) for draft in drafts]
    return CallersList(
        drafts, lead, digests[:lead], digests[lead:], chains(digests[lead:]), system, request.joins_forks
    )


async def _system(connection: Connection, tenant: UUID, known: Conversation, found: CallersList) -> str | None:
    """The system prompt that the conversation gets; None to leave it as it is."""
    through = known.tail.prompt_through
    if not through or not found.lead:
        return found.system
    if found.lead_digests != await messages.prompt_digests(connection, tenant, known.id, through):
        if found.joins_forks:
            return None
        raise errors.Fork(
            "The conversation began with different system messages, which are stored as messages.",
            errors=[{"loc": ["body", "messages", 0], "msg": "differs from what is stored as message 1"}],
            extra={"index": 0, "seq": 1},
        )
    return None


async def _new(
    connection: Connection,
    tenant: UUID,
    known: Conversation,
    whole: AppendRequest,
    found: CallersList,
    limits: Limits,
) -> AppendRequest:
    """What is left to append. Raises Fork."""
    same, through = await common(connection, tenant, known, found)
    digests = found.digests[same:]
    stored = known.tail.last_seq - through
    tail: list[bytes] = []
    if digests and stored:
        tail = [told.digest for told in await messages.newest_told(connection, tenant, known.id, through, LOOK_BACK)]
    matched = match(digests, tail, stored=stored, joins_forks=found.joins_forks)
    index, seq = found.lead + same, through + 1
    if matched is None:
        raise errors.Fork(
            f"The list contradicts what is stored from its message {index} on. Nothing was stored.",
            errors=[{"loc": ["body", "messages", index], "msg": f"differs from what is stored as message {seq}"}],
            extra={"index": index, "seq": seq},
        )
    answer = {"ahead": matched.ahead, "passed_over": [index + i for i in matched.passed_over]}
    return rest(whole, found, same + matched.new_from, limits, **answer)


def rest(whole: AppendRequest, found: CallersList, new_from: int, limits: Limits, **answer: Any) -> AppendRequest:
    """What of the list is appended when it is new from there on. Raises Invalid if that is too much at once."""
    first = found.lead + new_from
    drafts = found.drafts[first:]
    if len(drafts) > limits.messages:
        raise errors.Invalid(
            f"{len(drafts)} messages of the list are new; at most {limits.messages} can be stored at once."
            " Sync the beginning of the list first.",
            errors=[{"loc": ["body", "messages"], "msg": f"must have at most {limits.messages} new messages"}],
            extra={"matched": first, "messages_max": limits.messages},
        )
    return replace(
        whole, drafts=drafts, first=first, answer={"matched": first, "ahead": 0, "passed_over": [], **answer}
    )


async def common(connection: Connection, tenant: UUID, known: Conversation, found: CallersList) -> tuple[int, int]:
    """With how many of its messages the list begins as the conversation does, and up to which seq that is so.

    Chains are found by what they are, since a message that is in no caller's list has that of the one before it.
    """
    place = {chain: index for index, chain in enumerate(found.chains)}
    prompt, last = known.tail.prompt_through, known.tail.last_seq
    if known.chain in place:
        return place[known.chain], last
    same, low, high = 0, prompt, last  # up to low they are the same; at high they are not
    while high - low > 1:
        step = max(1, (high - low - 1) // PROBES)
        probes = [*range(low + 1, high - 1, step), high - 1]
        there = await messages.chains(connection, tenant, known.id, probes)
        agree = [probe for probe in probes if there.get(probe) in place]
        if agree:
            low = max(agree)
            same = place[there[low] or b""]
        high = min((probe for probe in probes if probe > low), default=high)
    return same, low


# --- What was stored before there were chains -----------------------------------------------------------


async def _complete(runtime: Runtime, tenant: UUID, conversation_id: str) -> None:
    """Give the messages of an old conversation their digests and chains, in steps; others may append meanwhile."""
    uid, seq, chain, done = None, 0, b"", False
    while not done:
        async with runtime.database.begin(tenant) as connection:
            known = await conversations.lock(connection, tenant, conversation_id)
            if known is None or known.chain is not None or uid not in (None, known.uid):
                break
            uid = known.uid
            seq, chain = await _chain_some(connection, tenant, known, seq, chain)
            if done := seq >= known.tail.last_seq:
                await messages.set_chain(connection, tenant, conversation_id, chain)
    runtime.conversations.pop((tenant, conversation_id), None)


async def _chain_some(
    connection: Connection, tenant: UUID, known: Conversation, after: int, chain: bytes
) -> tuple[int, bytes]:
    """How far it came, and the chain there."""
    rows = await messages.history(connection, tenant, known.id, after, BATCH, newest_first=False)
    wanted = [uuid for row in rows for uuid in row["archive_ids"]]
    texts = await messages.archived_texts(connection, tenant, wanted) if wanted else {}
    found = []
    for row in rows:
        if row["seq"] != after + 1:
            chain = link(chain, b"")  # messages are gone: no list has this chain, but its end can still be found
        after = row["seq"]
        [draft] = read([as_sent(json.loads(row["body"]), texts, known.language or "en")], UNLIMITED)
        if row["kind"] != "prompt":
            chain = link(chain, digest(draft))
        found.append((after, digest(draft), chain))
    if found:
        await messages.set_chains(connection, tenant, known.id, found)
    return (after if rows else known.tail.last_seq), chain
