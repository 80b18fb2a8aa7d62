"""The expected state of the API after any sequence of requests: the model that `test_stateful` compares it with.

Every message contains a mark of its own, so that each response reveals whose text it shows and whether it may.
"""

import re
from dataclasses import dataclass, field
from typing import Any

import httpx

from tests.api.kit import Json
from tests.api.promises import Watch

MARK = re.compile(r"zq[a-z]\d{10}k")


@dataclass
class Said:
    """A message as it was acknowledged."""

    message: Json
    id: str
    seq: int
    page: int
    archive: str | None
    changed: bool = False
    """Erased, or it quoted what was: its text is another one now."""

    @property
    def marks(self) -> set[str]:
        return set(MARK.findall(str(self.message)))

    @property
    def is_recalled(self) -> bool:
        return str(self.message.get("tool_call_id")).startswith("recall")


@dataclass
class Conversation:
    """A conversation."""

    tenant: str
    user: str
    id: str
    said: list[Said] = field(default_factory=list)
    page: int = 1
    open_calls: list[str] = field(default_factory=list)
    watches: dict[Any, Watch] = field(default_factory=dict)

    @property
    def is_whole(self) -> bool:
        """Nothing was erased, so every message must be found again as it was sent."""
        return not any(one.changed for one in self.said)

    def place(self, message: Json) -> int:
        """The page on which the next message stands."""
        if message["role"] == "user":
            self.page += any(one.message["role"] == "user" for one in self.said)
        return self.page

    def learn(self, messages: list[Json], stored: list[Json]) -> None:
        """What was acknowledged is what was sent, in its place."""
        assert len(messages) == len(stored)
        for message, found in zip(messages, stored, strict=True):
            page = self.place(message)
            assert (found["seq"], found["page"], found["role"]) == (len(self.said) + 1, page, message["role"])
            self.said.append(Said(message, found["id"], found["seq"], page, found["archive_id"]))


@dataclass
class Person:
    """Somebody with a key: of a whole tenant, or bound to one user."""

    client: httpx.Client
    tenant: str
    user: str | None = None


@dataclass
class Model:
    """All that is there, by whose it is; and what must never be seen again."""

    conversations: dict[tuple[str, str], Conversation] = field(default_factory=dict)
    memories: dict[str, tuple[str, str, str]] = field(default_factory=dict)
    """Tenant, user and mark by key."""
    owners: dict[str, tuple[str, str]] = field(default_factory=dict)
    """Tenant and user by mark."""
    erased: set[str] = field(default_factory=set)

    def mark(self, tenant: str, user: str) -> str:
        made = f"zq{tenant}{len(self.owners):010}k"
        self.owners[made] = (tenant, user)
        return made

    def archives(self, conversation: Conversation) -> list[Said]:
        return [one for one in conversation.said if one.archive is not None and not one.changed]

    def erase(self, tenant: str, marks: set[str]) -> None:
        """Of these nothing is left. What recall tools brought may be gone with them, even if it was another's."""
        self.erased |= marks
        for conversation in self.conversations.values():
            for one in conversation.said:
                if conversation.tenant == tenant and one.is_recalled:
                    one.changed = True

    def forget(self, conversation: Conversation) -> None:
        own = set().union(*(one.marks for one in conversation.said if not one.is_recalled))
        del self.conversations[conversation.tenant, conversation.id]
        self.erase(conversation.tenant, own)

    def check(self, person: Person, text: str, *, also: str = "") -> None:
        """An answer tells nothing erased, nothing of another tenant, and nothing of another user to a bound key."""
        for found in set(MARK.findall(text)):
            tenant, user = self.owners[found]
            assert found not in self.erased, f"{found} was erased: {text[:3000]}"
            assert tenant in (person.tenant, also), f"{found} is of tenant {tenant}"
            assert person.user in (None, user), f"{found} is of user {user}"
