"""Views: which scopes a caller's search reads, found in the transaction that searches."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from app import errors
from app.core.conversation import Conversation
from app.core.scope import SPACE, Scope, scope_of
from app.core.times import first_id
from app.postgres.transactions import ReadTx
from app.store import branches, conversations, spaces
from app.store.memory.memories import OnLine, Within


@dataclass(frozen=True, slots=True)
class View:
    """Scopes that are searched together, by their owners."""

    scopes: Mapping[UUID, Scope | None]
    conversation: Within | None = None
    """The one conversation that is searched; None: all of the scopes'."""

    @property
    def owners(self) -> Sequence[UUID]:
        return list(self.scopes)


def _by_owner(*scopes: Scope) -> dict[UUID, Scope]:
    return {scope.owner: scope for scope in scopes}


def alone(conversation: Conversation) -> View:
    """Return the view of a conversation's own line."""
    ids = [conversation.id, *(one.id for one in conversation.line.stretches)]
    return View(_by_owner(*conversation.held_in), Within(conversation.uid, ids))


async def of_user(tx: ReadTx, user_id: str) -> dict[UUID, Scope]:
    """Return the scopes that a user can view, by owner: their own and their spaces'."""
    return _by_owner(scope_of(user_id, None), *(Scope("space", one) for one in await spaces.of_user(tx, user_id)))


async def of_caller(tx: ReadTx, bound_to: str | None) -> dict[UUID, Scope] | None:
    """Return the scopes that a caller, possibly bound to a user, can view; None: all of the tenant's."""
    return None if bound_to is None else await of_user(tx, bound_to)


async def hold(tx: ReadTx, conversation_id: str, user_id: str | None, bound_to: str | None) -> Conversation:
    """Return a conversation protected from erasure. Raises NotFound, and Conflict if it is not the named user's."""
    conversation = errors.existing(await conversations.hold(tx, conversation_id, bound_to=bound_to), "conversation")
    if user_id is not None and conversation.user_id not in (None, user_id):
        raise conversations.anothers()
    return conversation


async def require_write(tx: ReadTx, owner: UUID, bound_to: str | None) -> None:
    """Raise NotFound if a caller bound to a user cannot see an owner, Forbidden if it can only read there."""
    if bound_to is None:
        return
    scope = errors.existing((await of_user(tx, bound_to)).get(owner), "memory")
    if (space := scope.space_id) is not None:
        await spaces.get(tx, space, bound_to, right="write")


async def named(tx: ReadTx, names: Sequence[str], user_id: str | None, conversation: Conversation | None) -> list[View]:
    """Return the views that a search names. Raises NotFound for a space that its user cannot see or its conversation
    does not read, and Invalid for a user or conversation that the search does not have.
    """
    wide: list[Scope] = []
    views: list[View] = []
    for name in names:
        if name == "conversation" and conversation is not None:
            views.append(alone(conversation))
        elif name == "user" and user_id is not None:
            wide.append(scope_of(user_id, None))
        elif name.startswith(SPACE):
            space = name.removeprefix(SPACE)
            await spaces.get(tx, space, user_id)
            wide.append(Scope("space", space))
        else:
            raise errors.Invalid.at(["body", "scopes"], f"has `{name}`, and the search has none")
    if conversation is not None and not {scope.owner for scope in wide} <= set(conversation.searched):
        raise errors.missing("space")
    return [*([View(_by_owner(*wide))] if wide else []), *views]


# --- The part of a tree of branches that a conversation sees ---------------------------------------------------


async def on_line(tx: ReadTx, conversation: Conversation) -> OnLine | None:
    """Return a conversation's line for a search; None if it is in no tree."""
    line = conversation.line
    if not line.is_in_tree:
        return None
    tree = await branches.family(tx, line.root)
    return OnLine(
        conversation.uid, [one.uid for one in line.stretches], [one.seq for one in line.stretches],
        [first_id(one.at) for one in line.stretches], list(tree.values()),
    )  # fmt: skip


async def is_hidden(
    tx: ReadTx, conversation: Conversation | None, of: str | None, seq: int | None, made_at: datetime
) -> bool:
    """Return whether a row of the conversation ``of`` is on another line of the asking conversation's tree."""
    if conversation is None or of is None or not conversation.line.is_in_tree:
        return False
    if conversation.line.holds(of, seq, made_at):
        return False
    return of in await branches.family(tx, conversation.line.root)
