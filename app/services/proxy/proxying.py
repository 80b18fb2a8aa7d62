"""What a client of the proxy asks: which conversation it is of, what of its list is new, and what of it is answered.

Gather: the list's chains, and the conversations that end like a beginning of it. Decide: app.core.proxy. Apply: an
append of what is new, before any model is asked, so that what was asked is kept whatever becomes of the answer.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Any
from uuid import UUID

import anyio.to_thread

from app.core.caller import Caller
from app.core.canonical import dumps
from app.core.conversation import Conversation
from app.core.proxy import answered_prefixes, continued
from app.ids import uuid7
from app.runtime import Runtime
from app.services.conversations.append import append
from app.services.conversations.requests import CallersList, ProxyQuestion, read_list
from app.services.conversations.selection import same_question
from app.services.idempotency import IdempotencyKey
from app.store import conversations, proxied


@dataclass(frozen=True, slots=True)
class ProxyRequest:
    caller: Caller
    body: dict[str, Any]
    """As sent, with the model that is asked."""
    user_id: str | None = None
    conversation_id: str | None = None
    """As the client names it; None: it is found by the list."""
    budget: int | None = None
    recall_max_tokens: int | None = None
    """Tokens of memories that the newest user message may bring in; None: it brings in nothing."""
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
        return same_question(self.tenant, self.conversation, self.digest)

    def answer_key(self, after: int) -> IdempotencyKey:
        """Return the key under which an answer is stored, so that of several to one request only one is; ``after`` is
        the seq of the last message that was there when it was begun.
        """
        text = f"{self.conversation.uid} {self.through} {after} {self.digest.hex()}"
        digest = hashlib.sha256(text.encode())
        return IdempotencyKey(f"proxy:{digest.hexdigest()}", digest.digest())


async def ask(runtime: Runtime, request: ProxyRequest) -> Asked:
    """Store what is new of the list. Raises Invalid, PayloadTooLarge, NotFound, Conflict."""
    tenant = request.caller.tenant
    limits = runtime.defaults.limits
    listed = await anyio.to_thread.run_sync(read_list, request.body.get("messages"), None, limits)
    name = request.conversation_id or await _find(runtime, request, listed) or str(uuid7())
    digest = await anyio.to_thread.run_sync(_digest, request)
    question = ProxyQuestion(
        listed, digest, request.arrived, request.user_id, retried=request.retried, bound_to=request.caller.user_id,
        is_large=request.is_large,
    )  # fmt: skip
    done = await append(runtime, tenant, name, question, None)
    async with runtime.database.snapshot(tenant) as connection:
        conversation = await conversations.get(connection, tenant, name, bound_to=request.caller.user_id)
    if done.asked_before is not None:
        return Asked(request, conversation, done.asked_before.through, done.asked_before.answers, digest)
    assert done.last_seq is not None, "something was new"
    return Asked(request, conversation, done.last_seq, (), digest)


def _digest(request: ProxyRequest) -> bytes:
    said = dumps([request.body, request.caller.user_id, request.caller.sensitive])
    return hashlib.sha256(said.encode()).digest()


async def _find(runtime: Runtime, request: ProxyRequest, listed: CallersList) -> str | None:
    """The conversation that the list goes on with, if it shows that it does."""
    roles = [draft.role for draft in listed.drafts[listed.lead :]]
    ends = answered_prefixes(roles, listed.chains)
    if not ends and not request.retried:
        return None
    async with runtime.database.snapshot(request.caller.tenant) as connection:
        known = await proxied.candidates(connection, request.caller.tenant, request.user_id, ends, listed.chains[-1])
    return continued(known, listed.chains, system=listed.system, retried=request.retried)
