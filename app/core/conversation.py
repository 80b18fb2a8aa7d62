"""A conversation's row, as a value."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from uuid import UUID

from app.core.line import Line
from app.core.model import Anchored, FileWeight, Language, Totals
from app.core.scope import Scope, scope_of, scopes_in_view


@dataclass(frozen=True, slots=True)
class OpenCall:
    id: str
    name: str
    arguments: str
    group: int = field(default=0, compare=False)
    """The call group that its result joins."""
    is_left: bool = field(default=False, compare=False)
    """The conversation went on without its result."""
    is_far: bool = field(default=False, compare=False)
    """It went on for so long that the result stands where it comes."""


@dataclass(frozen=True, slots=True)
class ConversationEnd:
    """The end of a conversation: everything that the next message's place depends on."""

    last_seq: int = 0
    last_page: int = 0
    user_seq: int = 0
    """``seq`` of the last page's user message; 0 while it has none."""
    prompt_through: int = 0
    """``seq`` of the last message of the leading prompt."""
    group: int = 0
    """The call group that more calls join: that of the newest message, if it calls tools; else 0."""
    open_calls: tuple[OpenCall, ...] = ()


@dataclass(frozen=True, slots=True)
class Conversation:
    id: str
    """A ``Line`` where it is stored."""
    uid: UUID
    created_at: datetime
    updated_at: datetime
    user_id: str | None = None
    space_id: str | None = None
    """The space that it belongs to; then no user."""
    parent: str | None = None
    """The conversation whose sub-agent speaks in it: nothing of it becomes a person's memory."""
    is_apart: bool = False
    """A sub-agent's: its messages are found in it alone."""
    reads: tuple[UUID, ...] = ()
    """Owners of further scopes that it reads: those of the spaces that it names, or all of its parent's."""
    title: str | None = None
    system: str | None = None
    model: str | None = None
    budget: int | None = None
    learned_percent: int = 0
    """What its model's API counted, in percent of the family's formula; 0: nothing yet."""
    file_percents: tuple[tuple[str, int], ...] = ()
    """What its model's API makes of files, in percent of the usual, by kind: as far as was learned."""
    file_weights: tuple[FileWeight, ...] = ()
    """Its newest files."""
    policy: str = "{}"
    """Overrides of the paging settings, a JSON object."""
    metadata: str = "{}"
    """The caller's own, a JSON object."""
    version: int = 0
    end: ConversationEnd = field(default_factory=ConversationEnd)
    totals: Totals = field(default_factory=Totals)
    prompt_tokens: int = 0
    """Tokens of its leading system messages."""
    system_tokens: int = 0
    language: Language | None = None
    indexed_through: int = 0
    """Up to this page all have an index."""
    chaptered_through: int = 0
    """Up to this page all are in chapters."""
    summary_through: int = 0
    """The last seq that the newest summary covers."""
    epoch: int = 0
    """The number of its newest cut."""
    chain: bytes = b""
    """Covers all its messages but the prompt."""
    asked: bytes | None = None
    """The chain where the newest request through the proxy ended; None if there was none."""
    answered: bytes | None = None
    """The chain after the first answer that the proxy gave in it."""
    asked_from: int | None = None
    """The seq where the question to the proxy begins that has no answer yet; None if there is none."""
    refused: bool = False
    """The model's API refused that question for good: see ``core.history.refused``."""
    said_at: datetime | None = None
    """The newest `said_at` of its messages; None if none has any."""
    withdrawn: int = 0
    """How often what its scopes keep in mind was taken back: the part of the generation that is not its own."""
    erasures: int = 0
    """How often something of it was erased."""
    has_earlier: bool = False
    """Its user had other conversations when it began. Never changes, so windows can say it."""
    anchored: Anchored | None = None
    """What was last recalled by itself; None: nothing was looked for yet."""
    parent_id: str | None = None
    """Of a branch: the conversation that holds the last message they share."""
    shown: str | None = None
    """The branch that its id shows; None: itself."""

    @property
    def line(self) -> Line:
        return self.id if isinstance(self.id, Line) else Line(self.id)

    @property
    def own_generation(self) -> int:
        return self.totals.generation - self.withdrawn

    @property
    def scopes(self) -> list[UUID]:
        """Return the owners of the memories that the conversation keeps in mind, widest scope first."""
        lines = (one.id for one in self.line.stretches)
        return scopes_in_view(self.scope, self.id, *lines, wider=self.reads)

    @property
    def searched(self) -> list[UUID]:
        """Return the owners that its searches read. Its own scope is among them only if it has no wider one."""
        names = (*(one.id for one in self.line.stretches), self.id)
        alone = {Scope("conversation", name).owner for name in names} - {self.scope.owner}
        return [owner for owner in self.scopes if owner not in alone]

    @property
    def held_in(self) -> tuple[Scope, ...]:
        """Return the scopes of its line's messages; a sub-agent's branch shares messages of a wider scope."""
        if self.is_apart and self.line.stretches:
            return self.scope, scope_of(self.user_id, self.line.root, self.space_id)
        return (self.scope,)

    @property
    def finds_its_line_alone(self) -> bool:
        """Return whether its searches find only its line, as in a branch that shares no more with its parent."""
        return not {scope.owner for scope in self.held_in} <= {*self.scopes}

    @property
    def scope(self) -> Scope:
        """Return the scope of its messages, archives and memories."""
        if self.is_apart:
            return Scope("conversation", self.line.root)
        return scope_of(self.user_id, self.line.root, self.space_id)
