"""Compaction items, which represent a compacted conversation.

Quire forgets nothing and builds a head for each budget, so a compaction item only names the message up to which Quire's
head stands for the conversation. It contains no text, so nothing in it needs to be erased. It is signed with the
conversation's internal id, which is never disclosed, so a changed or invented item is recognised.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import re
from dataclasses import dataclass
from uuid import UUID

from app.core.messages import NOT_IN_IDS

_SEALED = re.compile(r"([0-9a-f]{64})\n([0-9]{1,18})\n(.+)")


@dataclass(frozen=True, slots=True)
class Compaction:
    conversation_id: str
    through: int
    """The seq of the last message that it stands for."""
    signature: str

    def is_of(self, conversation_uid: UUID) -> bool:
        expected = _signature(f"{self.through}\n{self.conversation_id}", conversation_uid)
        return hmac.compare_digest(self.signature, expected)


def sealed(conversation_id: str, through: int, conversation_uid: UUID) -> str:
    place = f"{through}\n{conversation_id}"
    return base64.urlsafe_b64encode(f"{_signature(place, conversation_uid)}\n{place}".encode()).decode()


def opened(content: object) -> Compaction | None:
    """Decode a compaction item; None if it is not one of Quire's."""
    try:
        said = base64.b64decode(content, altchars=b"-_", validate=True).decode() if isinstance(content, str) else ""
    except ValueError:
        return None
    found = _SEALED.fullmatch(said)
    return None if found is None or NOT_IN_IDS.search(found[3]) else Compaction(found[3], int(found[2]), found[1])


def _signature(place: str, uid: UUID) -> str:
    return hmac.new(uid.bytes, place.encode(), hashlib.sha256).hexdigest()
