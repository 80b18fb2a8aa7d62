"""Handle a proxy client's list: which conversation it belongs to, what is new, and what is already answered.

Gather: the list's chains, and the conversations that end like one of its prefixes. Decide: ``core.dialects.proxy``.
Apply: append what is new before a model is asked, so that the question is stored even if the answer fails.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from uuid import UUID

from app.caches import KnownMessages
from app.concurrency import LONG_CHARACTERS, run_in_thread_if_large
from app.core.canonical import dumps
from app.core.conversation import Conversation
from app.core.dialects.proxy import answered_prefixes, continued
from app.core.dialects.question import Question
from app.core.edge.caller import Caller
from app.core.history.fork import NewBranch
from app.core.line import CallersId, Line
from app.core.messages import Limits
from app.core.model import Recall
from app.ids import uuid7
from app.postgres.transactions import ReadTx
from app.runtime import Runtime
from app.services.conversations import forking
from app.services.conversations.append import append
from app.services.conversations.lists import CallersList, read_list
from app.services.conversations.requests import Follows, ProxyQuestion
from app.services.conversations.selection import BranchingError, edited_turn, same_question
from app.services.idempotency import IdempotencyKey
from app.store import conversations
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

    @property
    def asker(self) -> tuple[UUID, str | None, str | None]:
        """Return the tenant, user and conversation whose unfinished turns the request waits for."""
        return self.caller.tenant, self.new_user_id, self.conversation_id


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
        """Return the key under which an answer is stored, so that only one answer to a request is. ``after`` is the seq
        of the last message when the answer began.
        """
        text = f"{self.conversation.uid} {self.through} {after} {self.digest.hex()}"
        digest = hashlib.sha256(text.encode())
        return IdempotencyKey(f"proxy:{digest.hexdigest()}", digest.digest())


async def ask(runtime: Runtime, request: ProxyRequest, *, was_passed: bool = False) -> ProxyTurn:
    """Store the new messages of the list. ``was_passed`` says that the model is already being asked.

    Raises Invalid, PayloadTooLarge, NotFound, Conflict.
    """
    tenant = request.caller.tenant
    is_long = request.is_large or len(request.question.messages) > READ_IN_PLACE_MAX
    size = LONG_CHARACTERS + 1 if is_long else 0
    listed, digest = await run_in_thread_if_large(
        size, _read, request, runtime.defaults.limits, runtime.caches.messages
    )
    name = request.conversation_id or await _find(runtime, request, listed) or str(uuid7())
    if isinstance(name, Line):
        if name.is_in_tree:
            await forking.show_again(runtime, tenant, name)
    elif request.conversation_id is not None:
        name = CallersId(name)
    ago = timedelta(seconds=asyncio.get_running_loop().time() - request.arrived)
    question = ProxyQuestion(
        listed, digest, request.arrived, datetime.now(UTC) - ago, request.user_id, request.new_user_id,
        retried=request.retried, bound_to=request.caller.user_id, is_large=request.is_large, follows=request.follows,
        was_passed=was_passed,
    )  # fmt: skip
    done = await append(runtime, tenant, name, question, None)
    assert done.conversation is not None, "a question has no key, so it is never replayed"
    if done.asked_before is not None:
        return ProxyTurn(request, done.conversation, done.asked_before.through, done.asked_before.answers, digest)
    return ProxyTurn(request, done.conversation, done.conversation.end.last_seq, (), digest, done.first_seq)


def _read(request: ProxyRequest, limits: Limits, known: KnownMessages) -> tuple[CallersList, bytes]:
    listed = read_list(list(request.question.messages), None, limits, known)
    said = dumps([request.question.dialect, request.question.body, request.caller.user_id, request.caller.sensitive])
    return listed, hashlib.sha256(said.encode()).digest()


async def _find(runtime: Runtime, request: ProxyRequest, listed: CallersList) -> str | None:
    ends = answered_prefixes(listed.roles, listed.chains)
    if not ends and not request.retried:
        return None
    async with runtime.database.snapshot(request.caller.tenant) as tx:
        known = await proxied.candidates(tx, request.new_user_id, ends, listed.chains[-1])
        found = continued(known, listed.chains, system=listed.system, retried=request.retried)
        branching = await _edited(tx, request, listed, ends) if found is None else None
    if branching is None:
        return found
    async with runtime.database.begin(request.caller.tenant) as writing:
        return await forking.branch(writing, branching.known.id, branching)


async def _edited(
    tx: ReadTx, request: ProxyRequest, listed: CallersList, prefixes: Sequence[bytes]
) -> BranchingError | None:
    found = []
    for name in await proxied.begun(tx, request.new_user_id, prefixes):
        known = await conversations.find(tx, name, bound_to=request.caller.user_id)
        if known is not None and known.chain is not None:
            found.append(await edited_turn(tx, known, listed))
    return max((one for one in found if one is not None), key=lambda one: one.alike, default=None)


async def branched(runtime: Runtime, asked: ProxyTurn) -> ProxyTurn:
    """Return the turn for a question that is to be answered once more: on a new branch, which has no answer yet."""
    if not asked.answers:
        return asked
    tenant, name = asked.tenant, str(uuid7())
    named = asked.request.conversation_id or asked.conversation.id
    shown_by = named if isinstance(named, Line) else CallersId(named)
    async with runtime.database.begin(tenant) as tx:
        known = await forking.locked(tx, shown_by, asked.conversation)
        if known is None:
            return asked
        question = await proxied.question_before(tx, known.id, asked.through + 1)
        first = min((one.seq for one, _ in question), default=asked.through)
        new = NewBranch(name, uuid7(), None, datetime.now(UTC), asked_from=first)
        made = await forking.at(tx, known, asked.through, new)
        await forking.show(tx, shown_by, known, name)
    assert made is not None, "its id is new"
    return replace(asked, conversation=made, answers=(), first=None)
