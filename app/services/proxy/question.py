"""Handle a proxy client's list: which conversation it belongs to, what is new, and what is already answered.

Gather: the list's chains, and the conversations that end like one of its prefixes. Decide: app.core.dialects.proxy.
Apply: append what is new before any model is asked, so that the question is stored whatever becomes of the answer.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from uuid import UUID

from app.caches import KnownMessages
from app.concurrency import LONG_CHARACTERS, run_in_thread_if_large
from app.core.canonical import dumps
from app.core.conversation import Conversation
from app.core.dialects.proxy import answered_prefixes, continued
from app.core.dialects.question import Question
from app.core.edge.caller import Caller
from app.core.messages import Limits
from app.core.model import Recall
from app.ids import uuid7
from app.runtime import Runtime
from app.services.conversations.append import append
from app.services.conversations.lists import CallersList, read_list
from app.services.conversations.requests import Follows, ProxyQuestion
from app.services.conversations.selection import same_question
from app.services.idempotency import IdempotencyKey
from app.store.proxy import proxied

READ_IN_PLACE_MAX = 200
"""Messages of a list that is read on the event loop: up to 5 ms. A thread would cost more than it saves others."""


@dataclass(frozen=True, slots=True)
class ProxyRequest:
    caller: Caller
    question: Question
    user_id: str | None = None
    """The user that the request names, or its key's."""
    new_user_id: str | None = None
    """The user of a conversation that the request begins."""
    conversation_id: str | None = None
    """The id that the client names; None: the conversation is found by its list."""
    budget: int | None = None
    recall: Recall | None = None
    """Whether the newest user message brings in memories that answer it; None: the conversation's policy says."""
    retried: bool = False
    """The client marked the request as a retry."""
    arrived: float = 0.0
    """On the event loop's clock."""
    is_large: bool = False
    """It came in a long body."""
    follows: Follows | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    """What goes on to the model's API of the client's headers."""


@dataclass(frozen=True, slots=True)
class ProxyTurn:
    """A request whose messages are stored."""

    request: ProxyRequest
    conversation: Conversation
    """The conversation as the question left it."""
    through: int
    """The seq of the question's last message; later messages answer it."""
    answers: tuple[int, ...]
    """The seqs of the answers that are stored already."""
    digest: bytes
    """Equal for equal requests."""
    first: int | None = None
    """The seq of the first message that was stored for it; None: it was asked before."""

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


async def ask(runtime: Runtime, request: ProxyRequest) -> ProxyTurn:
    """Store what is new of the list. Raises Invalid, PayloadTooLarge, NotFound, Conflict."""
    tenant = request.caller.tenant
    is_long = request.is_large or len(request.question.messages) > READ_IN_PLACE_MAX
    size = LONG_CHARACTERS + 1 if is_long else 0
    listed, digest = await run_in_thread_if_large(
        size, _read, request, runtime.defaults.limits, runtime.caches.messages
    )
    name = request.conversation_id or await _find(runtime, request, listed) or str(uuid7())
    question = ProxyQuestion(
        listed, digest, request.arrived, request.user_id, request.new_user_id,
        retried=request.retried, bound_to=request.caller.user_id, is_large=request.is_large, follows=request.follows,
    )  # fmt: skip
    done = await append(runtime, tenant, name, question, None)
    assert done.conversation is not None, "a question has no key, so it is never replayed"
    if done.asked_before is not None:
        return ProxyTurn(request, done.conversation, done.asked_before.through, done.asked_before.answers, digest)
    return ProxyTurn(request, done.conversation, done.conversation.end.last_seq, (), digest, done.first_seq)


def _read(request: ProxyRequest, limits: Limits, known: KnownMessages) -> tuple[CallersList, bytes]:
    """Return the list as read, and the request's digest. Raises Invalid or PayloadTooLarge."""
    listed = read_list(list(request.question.messages), None, limits, known)
    said = dumps([request.question.dialect, request.question.body, request.caller.user_id, request.caller.sensitive])
    return listed, hashlib.sha256(said.encode()).digest()


async def _find(runtime: Runtime, request: ProxyRequest, listed: CallersList) -> str | None:
    """Return the conversation that the list continues, if it proves that it does."""
    ends = answered_prefixes(listed.roles, listed.chains)
    if not ends and not request.retried:
        return None
    async with runtime.database.snapshot(request.caller.tenant) as tx:
        known = await proxied.candidates(tx, request.new_user_id, ends, listed.chains[-1])
    return continued(known, listed.chains, system=listed.system, retried=request.retried)
