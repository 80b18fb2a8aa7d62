"""Values that narrow searches and lists, besides time and conversation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

ROLES = ("user", "assistant", "tool", "system")
OWN_TYPES = ("preference", "fact", "general", "command_output")
"""Types of memories with content of their own."""
TOPICS_MAX = 20


@dataclass(frozen=True, slots=True)
class Narrowing:
    """Empty members narrow nothing."""

    roles: tuple[str, ...] = ()
    """Who said it; an archived result is a tool's, as is what a machine says in the user's role."""
    topics: tuple[str, ...] = ()
    """One of them is a topic of the page it stands on, or a keyword of the memory."""
    metadata: str = "{}"
    """JSON that the metadata of the memory or of its conversation contains."""
    types: tuple[str, ...] = ()

    def with_(self, roles: Sequence[str], topics: Sequence[str]) -> Narrowing:
        """Return the same with other roles and topics where some are given."""
        return replace(self, roles=tuple(roles) or self.roles, topics=tuple(topics) or self.topics)

    def types_of(self, asked: Sequence[str]) -> Sequence[str] | None:
        """Return the types that are asked for as well; None: all."""
        return [one for one in asked if one in self.types] if self.types and asked else self.types or asked or None

    def __bool__(self) -> bool:
        """Return whether it narrows more than types."""
        return bool(self.roles or self.topics) or self.metadata != "{}"


EVERYTHING = Narrowing()
