"""What a client of the proxy asks: which conversation it is of, what of its list is new, and what of it is answered.

Gather: the list's chains, and the conversations that end like a beginning of it. Decide: app.core.proxy. Apply: an
append of what is new, before any model is asked, so that what was asked is kept whatever becomes of the answer.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, replace
from typing import Any
from uuid import UUID

import anyio.to_thread

from app.core.caller import Caller
from app.core.canonical import dumps
from app.core.messages import Limits
from app.core.proxy import Met, answered_prefixes, continued, meet
from app.core.sync import LOOK_BACK
from app.ids import uuid7
from app.inflight import Turns
from app.postgres.database import Connection
from app.runtime import Runtime
from app.services.conversations.append import AppendRequest
from app.services.conversations.sync import CallersList, SyncRequest, common, read_list, rest, sync_list
from app.services.idempotency import Once
from app.store import conversations, messages, proxied
from app.store.conversations import Conversation
from app.store.messages import Told


@dataclass(frozen=True, slots=True)
class ProxyRequest:
    caller: Caller
    body: dict[str, Any]
    """As sent, with the model that is asked."""
    user_id: str | None = None
    conversation_id: str | None = None
    """As the client names it; None: it is found by the list."""
    budget: int | None = None
    retried: bool = False
    """The client says that it sent the request before."""
    arrived: float = 0.0
    """On the event loop's clock."""
    is_large: bool = False
    """It came in a long body."""

    @property
    def streams(self) -> bool:
        return bool(self.body.get("stream"))

    @property
    def tools(self) -> tuple[dict[str, Any], ...]:
        return tuple(self.body.get("tools") or ())


@dataclass(frozen=True, slots=True)
class Asked:
    """A request whose messages are stored."""

    request: ProxyRequest
    conversation: Conversation
    """As it is now."""
    through: int
    """The seq of the last message that was asked; what came after it answers it."""
    answers: tuple[int, ...]
    """The seqs of the answers that are stored already."""
    digest: bytes
    """What the same request means."""

    @property
    def tenant(self) -> UUID:
        return self.request.caller.tenant

    @property
    def same(self) -> tuple[object, ...]:
        return same(self.tenant, self.conversation, self.digest)

    def once(self, after: int) -> Once:
        """Under which an answer is stored, so that of several to one request only one is; ``after`` is the seq of the
        last message that was there when it was begun.
        """
        text = f"{self.conversation.uid} {self.through} {after} {self.digest.hex()}"
        digest = hashlib.sha256(text.encode())
        return Once(f"proxy:{digest.hexdigest()}", digest.digest())


def same(tenant: UUID, conversation: Conversation, digest: bytes) -> tuple[object, ...]:
    """Equal requests. Where the past was changed, by an erasure perhaps, no earlier one is."""
    return (tenant, conversation.uid, conversation.totals.generation, digest)


async def ask(runtime: Runtime, request: ProxyRequest) -> Asked:
    """Store what is new of the list. Raises Invalid, PayloadTooLarge, NotFound, Conflict."""
    tenant = request.caller.tenant
    wanted = SyncRequest(request.body.get("messages"), request.user_id, joins_forks=True)
    found = await anyio.to_thread.run_sync(read_list, wanted, runtime.defaults.limits)
    name = request.conversation_id or await _find(runtime, request, found) or str(uuid7())
    digest = await anyio.to_thread.run_sync(_digest, request)
    narrowed = _Narrowed(runtime.turns, request, digest)
    whole = AppendRequest(
        found.drafts, request.user_id, found.system, bound_to=request.caller.user_id, member="appended", creates=True,
        asks=True, is_large=request.is_large,
    )  # fmt: skip
    done = await sync_list(runtime, tenant, name, found, whole, None, narrowed.new)
    appended = json.loads(done.response)["appended"]
    async with runtime.database.snapshot(tenant) as connection:
        conversation = await conversations.get(connection, tenant, name, bound_to=request.caller.user_id)
    through = appended[-1]["seq"] if appended else narrowed.through
    answers = () if appended else narrowed.answers
    return Asked(request, conversation, through, answers, digest)


def _digest(request: ProxyRequest) -> bytes:
    said = dumps([request.body, request.caller.user_id, request.caller.sensitive])
    return hashlib.sha256(said.encode()).digest()


async def _find(runtime: Runtime, request: ProxyRequest, found: CallersList) -> str | None:
    """The conversation that the list goes on with, if it shows that it does."""
    roles = [draft.role for draft in found.drafts[found.lead :]]
    ends = answered_prefixes(roles, found.chains)
    if not ends and not request.retried:
        return None
    async with runtime.database.snapshot(request.caller.tenant) as connection:
        known = await proxied.candidates(connection, request.caller.tenant, request.user_id, ends, found.chains[-1])
    return continued(known, found.chains, system=found.system, retried=request.retried)


class _Narrowed:
    """What of a list is left to append, and where the request ends if that is nothing. The last decision counts: it
    is that on which the append was made.
    """

    def __init__(self, turns: Turns, request: ProxyRequest, digest: bytes) -> None:
        self._turns = turns
        self._request = request
        self._digest = digest
        self.through = 0
        self.answers: tuple[int, ...] = ()

    async def new(
        self,
        connection: Connection,
        tenant: UUID,
        known: Conversation,
        whole: AppendRequest,
        found: CallersList,
        limits: Limits,
    ) -> AppendRequest:
        asked = same(tenant, known, self._digest)
        if (awaited := self._turns.awaited(asked, self._request.arrived)) is not None:
            self.through, self.answers = awaited, ()
            return rest(whole, found, len(found.drafts) - found.lead, limits)
        alike, through = await common(connection, tenant, known, found)
        tail: list[Told] = []
        if known.tail.last_seq > through:
            tail = await messages.newest_told(connection, tenant, known.id, through, LOOK_BACK)
        said = [(d.role, digest) for d, digest in zip(found.drafts[found.lead :], found.digests, strict=True)]
        stored = [(told.role, told.digest) for told in tail]
        met: Met = meet(said, alike, stored, is_whole=len(tail) < LOOK_BACK, retried=self._request.retried)
        self.answers = tuple(tail[i].seq for i in met.answers)
        if met.asked:
            self.through = tail[met.asked - 1].seq
        else:
            self.through = await messages.last_told(connection, tenant, known.id, through)
        left = rest(whole, found, met.new_from, limits, passed_over=[found.lead + i for i in met.passed_over])
        return replace(left, reported_usage=self._turns.reported.get((tenant, known.uid)) if left.drafts else None)
