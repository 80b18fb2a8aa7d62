"""Spaces: memory that a team, a project, an agent or a group shares. Members can read, or read and write.

A space with members always keeps one who writes. One without can be changed only by callers that see all users.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any
from uuid import UUID

from app import errors
from app.core.canonical import dumps
from app.core.scope import Scope
from app.core.times import time_text
from app.postgres.transactions import ReadTx, Tx
from app.store import spaces
from app.store.spaces import NewSpace, Right, StoredMember, StoredSpace

MEMBERS_MAX = 1_000
SPACES_OF_USER_MAX = 100
"""A search of a user looks into all of them."""
PARTICIPANTS_MAX = 1_000


def view(space: StoredSpace) -> dict[str, Any]:
    return {
        "id": space.id, "name": space.name, "participants": json.loads(space.participants),
        "metadata": json.loads(space.metadata), "created_at": time_text(space.created_at),
    }  # fmt: skip


def member_view(member: StoredMember) -> dict[str, Any]:
    return {"user_id": member.user_id, "right": member.rights, "created_at": time_text(member.created_at)}


async def create(tx: Tx, new: NewSpace, members: Mapping[str, Right]) -> StoredSpace:
    """Create a space with its first members. Raises Invalid, and Conflict if its id is taken."""
    if not await spaces.create(tx, new):
        raise errors.Conflict.at(["body", "id"], "is taken", "The space id is taken.")
    if members and "write" not in members.values():
        raise errors.Invalid.at(["body", "members"], "must have one that writes")
    for user_id in sorted(members):
        await _require_room(tx, user_id)
        await spaces.put(tx, new.id, user_id, members[user_id])
    await _check_participants(tx, new)
    return await spaces.get(tx, new.id)


async def change(tx: Tx, space_id: str, changes: Mapping[str, Any], bound_to: str | None) -> StoredSpace:
    """Change the name, participants or metadata of a space. Raises NotFound, Forbidden or Invalid."""
    old = await spaces.lock(tx, space_id, bound_to)
    new = replace(NewSpace(space_id, old.name, old.participants, old.metadata), **changes)
    if "participants" in changes:
        await _check_participants(tx, new)
    await spaces.change(tx, new)
    return await spaces.get(tx, space_id)


async def _check_participants(tx: ReadTx, new: NewSpace) -> None:
    given: dict[str, str] = json.loads(new.participants)
    members = await spaces.members_among(tx, new.id, set(given.values()))
    problems: list[errors.FieldError] = [
        {"loc": ["body", "participants", name], "msg": "must be a member of the space"}
        for name, user_id in given.items()
        if user_id not in members
    ]
    if problems:
        raise errors.Invalid(errors=problems)


async def put_member(tx: Tx, space_id: str, user_id: str, right: Right, bound_to: str | None) -> StoredMember:
    """Let a user read, or read and write. Raises NotFound, Forbidden, Conflict or Invalid."""
    await spaces.lock(tx, space_id, bound_to)
    before = await spaces.find_member(tx, space_id, user_id)
    members, _ = await spaces.count(tx, space_id)
    if before is None:
        if members >= MEMBERS_MAX:
            raise errors.Conflict(f"A space has at most {MEMBERS_MAX:,} members.")
        if not members and right != "write":
            raise errors.Conflict("The first member of a space must write.")
        await _require_room(tx, user_id)
    elif before.rights == "write" and right == "read":
        await _require_other_writer(tx, space_id)
    return await spaces.put(tx, space_id, user_id, right)


async def remove_member(tx: Tx, space_id: str, user_id: str, bound_to: str | None) -> int:
    """Remove a member, who no longer sees anything of the space. Return how many of the user's conversations read it.

    A member can remove themselves. Raises NotFound, Forbidden, and Conflict for the last one who writes.
    """
    await spaces.lock(tx, space_id, None if bound_to == user_id else bound_to)
    member = await spaces.find_member(tx, space_id, user_id)
    if member is None:
        if bound_to == user_id:
            raise errors.missing("space")
        raise errors.NotFound("The space has no such member.")
    if member.rights == "write":
        await _require_other_writer(tx, space_id)
    return await spaces.remove(tx, space_id, user_id)


async def _require_other_writer(tx: ReadTx, space_id: str) -> None:
    _, writers = await spaces.count(tx, space_id)
    if writers < 2:
        raise errors.Conflict("The space would have no member left who writes. Let another one write first.")


async def _require_room(tx: ReadTx, user_id: str) -> None:
    if await spaces.count_of(tx, user_id) >= SPACES_OF_USER_MAX:
        raise errors.Conflict(f"A user is a member of at most {SPACES_OF_USER_MAX} spaces.")


async def owners(tx: ReadTx, named: Iterable[str], user_id: str | None, loc: list[str | int]) -> tuple[UUID, ...]:
    """Return the owners of the spaces that a user's conversation reads, protected from erasure in this transaction.

    Raises Invalid without a user, and NotFound unless the user is a member of each space.
    """
    names = list(dict.fromkeys(named))
    if names and user_id is None:
        raise errors.Invalid.at(loc, "need the conversation's user, who must be a member of them")
    for name in names:
        await spaces.hold(tx, name, user_id, right="read")
    return tuple(Scope("space", name).owner for name in names)


async def participant(tx: ReadTx, space_id: str, name: str) -> str | None:
    """Return the member that a participant's name stands for; None if it stands for no current member."""
    named: dict[str, str] = json.loads((await spaces.get(tx, space_id)).participants)
    user_id = next((one for given, one in named.items() if given.casefold() == name.casefold()), None)
    return user_id if user_id is not None and await spaces.members_among(tx, space_id, [user_id]) else None


def participants_text(given: Mapping[str, str]) -> str:
    """Return participants as stored text. Raises Invalid if a name stands for two users."""
    by_name: dict[str, str] = {}
    for name, user_id in given.items():
        if by_name.setdefault(name.casefold(), user_id) != user_id:
            raise errors.Invalid.at(["body", "participants", name], "stands for two users")
    return dumps(dict(given))
