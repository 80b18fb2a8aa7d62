"""Entries of the audit log: reads of people's data, and erasures; ids only."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal
from uuid import UUID

from app.core.setting import Variable, setting

Action = Literal["read", "erase"]
IDS = frozenset({"user_id", "conversation_id", "space_id", "scope", "load", "pages", "key", "id"})
"""Members of queries and bodies that name whose data is read, or which."""
ERASE = "erase"
"""In place of the scope that a request needed: a form of the inspector's that erased."""
ID_CHARACTERS_MAX = 500
NOBODYS = frozenset(
    {"/metrics", "/tools", "/memories/keywords", "/v1/models", "/v1/models/{model}", "/v1/embeddings"}
    | {"/v1/messages/count_tokens"}
)
"""Routes that show nobody's data."""


@dataclass(frozen=True, slots=True)
class Auditing:
    is_on: bool = setting(
        Variable("quire_audit", False),
        "Log in the database who read or erased what, when and from where (`GET /audit`): ids, no content.",
    )
    days: int = setting(
        Variable("quire_audit_days", 365, ge=0, le=36_500), "Days that the audit log is kept. 0: for ever."
    )


@dataclass(frozen=True, slots=True)
class AuditEntry:
    action: Action
    route: str
    """The method and the path's template."""
    ids: Mapping[str, Any]
    key: UUID | None
    user_id: str | None
    """The user whom the caller is bound to, or names."""
    address: str
    status: int
    request_id: str


def action_of(method: str, route: str, needed: str, status: int) -> Action | None:
    """Return the action of a request, from its method, path template and required scope; None if it is not logged.

    Refused requests are not logged, because they showed and erased nothing.
    """
    if not 200 <= status < 400 or route in NOBODYS:
        return None
    if method == "DELETE" or needed == ERASE:
        return "erase"
    return "read" if needed == "read" else None


def ids_of(*named: Mapping[str, Any]) -> dict[str, str]:
    """Return the ids that a request names. For each, its path comes before its query, and that before its body."""
    found: dict[str, str] = {}
    for members in named:
        for name, value in members.items():
            if isinstance(value, (str, int)) and not isinstance(value, bool):
                found.setdefault(name, str(value).replace("\x00", "")[:ID_CHARACTERS_MAX])
    return found
