"""Memories to keep in mind, which are in view from a conversation's first window on.

Only a person's words become such a memory. A ``Wish`` is a sentence that the rules of a language find in them, and
``keep`` decides whose memory it becomes. Of all memories with the same scope and key, the one with the latest
``valid_from`` that was known at a given time is valid then. The database marks one of them as the current value.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Literal
from uuid import UUID

from app.core.conversation import Conversation
from app.core.model import Policy
from app.core.neutral import with_nul
from app.core.parts import said_by
from app.core.scope import Scope, scope_of

Reach = Literal["user", "proposed", "conversation"]
"""Where a wish holds: for its user everywhere, the same once a person accepts it, or only in its conversation."""
Status = Literal["held", "proposed", "refused", "withdrawn", "retracted"]
"""If the quoted message was edited away, a held memory is withdrawn and a proposed one retracted. Going back to the
branch with that message restores its former status.
"""

CLOSED_KEYS = frozenset({"name", "address", "pronouns", "answer_language", "time_zone", "units", "diet"})
"""The keys that the rules know. Each has one value, in all languages."""
KEEP_SHARE, KEEP_TOKENS_MAX = 0.08, 600
"""Bounds of the memories in a head that were found in messages: a share of the available tokens, and a number."""
PINNED_MAX = 2_000
"""The most characters of a pinned memory."""
KEPT_READ_MAX = 200
"""The most memories that are read to make a head."""


@dataclass(frozen=True, slots=True)
class StoredMemory:
    """A memory with a scope, as it is stored."""

    id: UUID
    owner: UUID
    """The owner id of the scope whose searches find it."""
    holder: UUID
    """The owner id of the scope in which it applies."""
    type: str
    scope: Scope
    key: str | None
    pinned: bool
    status: Status
    content: str
    nul_offsets: Sequence[int]
    tokens: int
    source: str
    sensitive: bool
    conversation_id: str | None
    seq: int | None
    page: int | None
    quote: str | None
    keywords: Sequence[str]
    metadata: str
    valid_from: datetime
    valid_to: datetime | None
    learnt_at: datetime
    created_at: datetime
    expires_at: datetime | None
    length: int
    """Characters of its first passage; 0 if search finds its message instead."""
    user_id: str | None = None
    """The user of its conversation; this and ``space_id`` are None if they were not read."""
    space_id: str | None = None

    @property
    def text(self) -> str:
        """Return the content with the NULs that PostgreSQL cannot store."""
        return with_nul(self.content, self.nul_offsets)


@dataclass(frozen=True, slots=True)
class Wish:
    """A sentence in which a person states something lasting."""

    text: str
    """The person's own words."""
    reach: Reach = "conversation"
    key: str | None = None
    ends: bool = False
    """Whether it ends the current value of its key without a new one."""
    sensitive: bool = False

    def of(self, name: str | None) -> Wish:
        """Return the wish of a named participant, with the name in its text and its key. None: the user's own wish."""
        if name is None:
            return self
        key = f"{self.key}/{unicodedata.normalize('NFC', name.casefold()).replace('/', '_').strip()}"
        is_theirs = self.key is not None and key_problem(key) is None
        return replace(self, text=said_by(name, self.text), key=key if is_theirs else self.key)


@dataclass(frozen=True, slots=True)
class Kept:
    """A memory to keep, with its scope and status."""

    scope: Scope
    status: Status
    wish: Wish

    @property
    def is_alone(self) -> bool:
        """Return whether it applies in its conversation only."""
        return self.scope.is_alone


def keep(
    wish: Wish, conversation: Conversation, policy: Policy, *, is_own: bool, is_certain: bool = True
) -> Iterator[Kept]:
    """Yield the memories that a wish becomes.

    ``is_own``: the conversation's user said it to their own agent. ``is_certain``: the words themselves show that it is
    lasting; otherwise only a model's verdict does, and a person has to accept it. A group's lasting wish is proposed to
    its space. A wish said to a sub-agent never leaves its conversation.
    """
    user = conversation.user_id
    space = conversation.space_id
    has_holder = (
        policy.remember and conversation.parent is None and (space is not None or (user is not None and is_own))
    )
    carry = policy.carry if has_holder else "off"
    wider = scope_of(user, None, space)
    if wish.reach == "user" and carry == "explicit" and not wish.sensitive and space is None:
        yield Kept(wider, "held", wish)
        return
    is_proposed = (wish.reach == "proposed" if space else wish.reach != "conversation") and carry != "off"
    if is_certain and not wish.ends:
        yield Kept(Scope("conversation", conversation.id), "held", wish)
    elif not is_certain and not is_proposed:
        yield Kept(Scope("conversation", conversation.id), "proposed", wish)
    if is_proposed:
        yield Kept(wider, "proposed", wish)


@dataclass(frozen=True, slots=True)
class SaidByTool:
    """A statement about a person that a model made with a tool."""

    words: str
    """The person's own words that say it; blank if nobody said it in these words."""
    key: str | None = None
    is_lasting: bool = False
    """Whether the words themselves show that this is the lasting value of its closed key."""
    is_sensitive: bool = False
    is_set: bool = False
    """Whether a person set the value of its key or pinned it."""


def lets_tools_keep(conversation: Conversation, policy: Policy) -> bool:
    """Return whether tools can store memories of a conversation."""
    return policy.remember and conversation.parent is None


def told(saying: SaidByTool, conversation: Conversation, policy: Policy) -> Status:
    """Return the status of a model's statement: held only if a person's own words say it, and never if it is sensitive.

    A closed key puts it in view, so the words must show that it is lasting, and in a group it is only proposed. For
    other keys it is only proposed if it would replace a value that a person set.
    """
    if not saying.words or saying.is_sensitive:
        return "proposed"
    if saying.key in CLOSED_KEYS:
        is_held = saying.is_lasting and policy.carry == "explicit" and conversation.space_id is None
    else:
        is_held = not saying.is_set
    return "held" if is_held else "proposed"


@dataclass(frozen=True, slots=True)
class KeptLine:
    """A memory as a head shows it."""

    id: UUID
    text: str
    tokens: int
    since: datetime
    is_written: bool = False
    """Whether a person wrote it as a memory; otherwise it was found in their messages."""


@dataclass(frozen=True, slots=True)
class Then:
    """Ask for memories valid at ``as_of``, as far as they were known at ``known_at``. None means now."""

    as_of: datetime | None = None
    known_at: datetime | None = None


KEY_MAX, SEGMENTS_MAX = 256, 8
_NOT_IN_KEYS = frozenset({"Cc", "Cf", "Co", "Cs", "Zl", "Zp"})


def key_problem(key: str) -> str | None:
    """Return what is wrong with a memory's key, or None. Slashes separate its segments, as in a path."""
    segments = key.split("/")
    if not 1 <= len(key) <= KEY_MAX:
        return f"must have 1 to {KEY_MAX} characters"
    if any(unicodedata.category(character) in _NOT_IN_KEYS for character in key):
        return "must not contain control, format or bidirectional characters"
    if unicodedata.normalize("NFC", key) != key:
        return "must be in Unicode normal form C"
    if any(segment != segment.strip() or segment in ("", ".", "..") for segment in segments):
        return "must not have segments that are empty, `.`, `..`, or begin or end with a blank"
    return f"must have at most {SEGMENTS_MAX} segments" if len(segments) > SEGMENTS_MAX else None


def tokens_max(available: int) -> int:
    """Return how many of a window's available tokens memories found in messages can take."""
    return min(KEEP_TOKENS_MAX, int(available * KEEP_SHARE))
