"""The order of the list of conversations: in its URL, in its cursor, and in the headings that change it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Final
from uuid import UUID

from app.api.http import cursors
from app.store import conversation_list
from app.store.conversation_list import ListedConversation

FIRST_ASCENDING: Final = frozenset({"title", "user"})
"""Names begin with A; numbers and times with the largest."""


@dataclass(frozen=True, slots=True)
class Order:
    key: str = "activity"
    ascending: bool = False

    @staticmethod
    def read(text: str | None) -> Order:
        """Return the order that a URL names, as ``name``, or ``-name`` for the other direction than usual."""
        key = (text or "").removeprefix("-")
        if key not in conversation_list.ORDERS:
            return Order()
        return Order(key, (key in FIRST_ASCENDING) != (text or "").startswith("-"))

    def text(self) -> str | None:
        """Return what ``read`` takes; None for the usual order."""
        if self == Order():
            return None
        return self.key if self.ascending == (self.key in FIRST_ASCENDING) else f"-{self.key}"

    def by(self, key: str) -> str | None:
        """Return the text of the order by a column: the other direction if it is this one."""
        usual = Order(key, key in FIRST_ASCENDING)
        return (Order(key, not self.ascending) if self.key == key else usual).text()

    def direction(self, key: str) -> str | None:
        """Return a column's aria-sort."""
        if key != self.key:
            return None
        return "ascending" if self.ascending else "descending"

    def encode(self, row: ListedConversation) -> str:
        value = conversation_list.value_of(row, self.key)
        return cursors.encode(value.isoformat() if isinstance(value, datetime) else value, row.uid)

    def decode(self, cursor: str | None) -> tuple[datetime | str | int, UUID] | None:
        """Decode a cursor. Raises Invalid for one of another order."""
        if self.key == "activity":
            return cursors.decode_time_and_id(cursor)
        found = cursors.decode_text_and_id(cursor)
        if found is None:
            return None
        text, uid = found
        if self.key in FIRST_ASCENDING:
            return text, uid
        return cursors.number(text), uid
