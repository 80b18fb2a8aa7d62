"""Keep in mind: memories that stand in view from a conversation's first window on.

A person's words make one, or nothing does. ``Wish`` is such a sentence, as the rules of a language find it; ``keep``
decides whose memory it becomes. Of all memories with one scope and key, the one that holds is the one with the latest
``valid_from`` that was known at the time. The database holds one as the value of now; the others are former ones.
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
"""How far a wish goes: with its user at once, with them once a person accepts it, or nowhere."""
Status = Literal["held", "proposed", "refused", "withdrawn", "retracted"]
"""A withdrawn one quotes a message that was edited away, and was held; a retracted one was proposed. It is what it was
again with the branch of that message.
"""

CLOSED_KEYS = frozenset({"name", "address", "pronouns", "answer_language", "time_zone", "units", "diet"})
"""Keys that the rules know. Each has one value, the same in every language."""
KEEP_SHARE, KEEP_TOKENS_MAX = 0.08, 600
"""The most that what was found in messages can take: of the available tokens, and in tokens."""
PINNED_MAX = 2_000
"""Characters of a pinned memory."""
KEPT_READ_MAX = 200
"""Memories that a head is made from."""


@dataclass(frozen=True, slots=True)
class StoredMemory:
    """A memory with a scope, as it is stored."""

    id: UUID
    owner: UUID
    """Of the scope that finds it."""
    holder: UUID
    """Of the scope where it holds."""
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
    """Of the passage that search finds first; 0: its message is found."""
    user_id: str | None = None
    """Of its conversation, as is the space; None where they were not read."""
    space_id: str | None = None

    @property
    def text(self) -> str:
        """Return the content with the NULs that PostgreSQL cannot store."""
        return with_nul(self.content, self.nul_offsets)


@dataclass(frozen=True, slots=True)
class Wish:
    """A sentence of a person that holds for good."""

    text: str
    """The person's own words."""
    reach: Reach = "conversation"
    key: str | None = None
    ends: bool = False
    """It takes back what its key says, and puts nothing in its place."""
    sensitive: bool = False

    def of(self, name: str | None) -> Wish:
        """Return the wish as that of a participant: it names them, and its key is theirs alone. None: the user's."""
        if name is None:
            return self
        key = f"{self.key}/{unicodedata.normalize('NFC', name.casefold()).replace('/', '_').strip()}"
        is_theirs = self.key is not None and key_problem(key) is None
        return replace(self, text=said_by(name, self.text), key=key if is_theirs else self.key)


@dataclass(frozen=True, slots=True)
class Kept:
    """A memory to keep, and where."""

    scope: Scope
    status: Status
    wish: Wish

    @property
    def is_alone(self) -> bool:
        """Return whether it holds in its conversation and nowhere else."""
        return self.scope.is_alone


def keep(
    wish: Wish, conversation: Conversation, policy: Policy, *, is_own: bool, is_certain: bool = True
) -> Iterator[Kept]:
    """Yield the memories that a wish becomes.

    ``is_own``: the conversation's user said it, to an agent of theirs. ``is_certain``: the words themselves show that
    it holds for good; else only a model says so, and a person has to accept it. What a group wants for good is proposed
    to its space, and nothing that is said to a sub-agent goes further than its conversation.
    """
    user = conversation.user_id
    space = conversation.space_id
    is_anybodys = (
        policy.remember and conversation.parent is None and (space is not None or (user is not None and is_own))
    )
    carry = policy.carry if is_anybodys else "off"
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
    """A statement of a model's tool about a person."""

    words: str
    """The person's own words that say it; blank: nobody said it in these words."""
    key: str | None = None
    is_lasting: bool = False
    """The words themselves show that this is the value of their closed key for good."""
    is_sensitive: bool = False
    is_set: bool = False
    """A person set the value of its key, or wants the key in view."""


def lets_tools_keep(conversation: Conversation, policy: Policy) -> bool:
    """Return whether tools can keep anything of what is said in a conversation."""
    return policy.remember and conversation.parent is None


def told(saying: SaidByTool, conversation: Conversation, policy: Policy) -> Status:
    """Return what becomes of something that a model says: it holds where a person's own words say it.

    What that would put in view, or in the place of what a person set, has to be shown by the words; a group's is
    proposed. So is what is sensitive.
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
    """A person wrote it to be kept in view; else it was found in what they said."""


@dataclass(frozen=True, slots=True)
class Then:
    """A time at which memories held, as far as they were known at another; None: now."""

    as_of: datetime | None = None
    known_at: datetime | None = None


KEY_MAX, SEGMENTS_MAX = 256, 8
_NOT_IN_KEYS = frozenset({"Cc", "Cf", "Co", "Cs", "Zl", "Zp"})


def key_problem(key: str) -> str | None:
    """Return what is wrong with a memory's key, or None. Segments stand between slashes, as in a path."""
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
    """Return what memories found in messages can take of a window's available tokens."""
    return min(KEEP_TOKENS_MAX, int(available * KEEP_SHARE))
