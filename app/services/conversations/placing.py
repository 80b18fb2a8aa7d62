"""Place a new conversation: give it a user or space, and the other scopes that it reads."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal
from uuid import UUID

from app import errors
from app.core.messages import ID_MAX
from app.ids import uuid7
from app.postgres.transactions import Tx
from app.runtime import Runtime
from app.services import spaces
from app.store import conversations
from app.store import spaces as stored
from app.store.conversations import NewConversation

SPACES_READ_MAX = 16
Shares = Literal["none", "read", "write"]


@dataclass(frozen=True, slots=True)
class Place:
    """The requested place of a conversation."""

    space_id: str | None = None
    spaces: tuple[str, ...] = ()
    """The spaces that a user's conversation reads."""
    parent: str | None = None
    """The conversation whose sub-agent speaks in it."""
    shares: Shares = "read"
    """What it shares with its parent: nothing, the memories that the parent reads, or also its own messages."""


async def placed(tx: Tx, new: NewConversation, place: Place, bound_to: str | None) -> NewConversation:
    """Return a new conversation with its owner and scopes. Raises Invalid, NotFound or Forbidden."""
    if place.space_id is not None:
        await stored.hold(tx, place.space_id, bound_to)
    if place.parent is not None:
        return await _child(tx, new, place, bound_to)
    if place.space_id is not None and place.spaces:
        raise errors.Invalid.at(["body", "spaces"], "must be left out: it belongs to a space")
    reads = await spaces.owners(tx, place.spaces, new.user_id, ["body", "spaces"])
    return replace(new, space_id=place.space_id, reads=reads)


async def _child(tx: Tx, new: NewConversation, place: Place, bound_to: str | None) -> NewConversation:
    """Return a sub-agent's conversation, which has its parent's user or space."""
    parent = errors.existing(await conversations.hold(tx, place.parent or "", bound_to=bound_to), "conversation")
    given = {"space_id": (place.space_id, parent.space_id), "user_id": (new.user_id, parent.user_id)}
    problems: list[errors.FieldError] = [
        {"loc": ["body", name], "msg": "must be the parent's, or left out"}
        for name, (wanted, own) in given.items()
        if wanted not in (None, own) and not (name == "user_id" and wanted == bound_to and parent.space_id)
    ]
    if place.spaces:
        problems.append({"loc": ["body", "spaces"], "msg": "must be left out: it reads what its parent shares"})
    if problems:
        raise errors.Invalid(errors=problems)
    is_apart = place.shares != "write"
    return replace(
        new, user_id=parent.user_id, space_id=parent.space_id, is_apart=is_apart, parent=parent.id,
        reads=() if place.shares == "none" else tuple(parent.scopes),
    )  # fmt: skip


async def of_agent(runtime: Runtime, tenant: UUID, parent: str, agent: str, bound_to: str | None) -> str:
    """Return the conversation of a sub-agent whose client knows only the parent's id. It is created apart from the
    parent, if that exists, and neither appears in the other's windows. Raises NotFound for another user's parent.
    """
    name = f"{parent}:{agent}"[-ID_MAX:]
    async with runtime.database.begin(tenant) as tx:
        if await conversations.hold(tx, parent, bound_to=bound_to) is None:
            if await conversations.find(tx, parent) is not None:
                raise errors.missing("conversation")
        else:
            new = NewConversation(name, uuid7())
            await conversations.create(tx, await placed(tx, new, Place(parent=parent, shares="none"), bound_to))
    return name
