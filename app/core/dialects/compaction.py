"""Compaction items, which represent a compacted conversation.

Quire forgets nothing and builds a window's head for each budget, so a compaction item only names the place in the
conversation up to which Quire's head represents the messages. It contains no text, so erased text is gone from it too.
It is signed with the conversation's internal id, which is never disclosed, so a changed or invented item is recognised.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
from dataclasses import dataclass
from uuid import UUID

from app.core.canonical import dumps
from app.core.messages import NOT_IN_IDS

VERSION = 1


@dataclass(frozen=True, slots=True)
class Compaction:
    conversation_id: str
    through: int
    """The seq of the last message that it stands for."""
    signature: str

    def is_of(self, conversation_uid: UUID) -> bool:
        expected = _signature(self.conversation_id, self.through, conversation_uid)
        return hmac.compare_digest(self.signature, expected)


def sealed(conversation_id: str, through: int, conversation_uid: UUID) -> str:
    signature = _signature(conversation_id, through, conversation_uid)
    said = dumps({"v": VERSION, "conversation": conversation_id, "through": through, "signature": signature})
    return base64.urlsafe_b64encode(said.encode()).decode()


def opened(content: object) -> Compaction | None:
    """Decode a compaction item; None if it is not one of Quire's."""
    try:
        said = (
            json.loads(base64.b64decode(content, altchars=b"-_", validate=True)) if isinstance(content, str) else None
        )
    except (ValueError, RecursionError):
        return None
    if not isinstance(said, dict) or said.get("v") != VERSION:
        return None
    named, through, signature = (said.get(name) for name in ("conversation", "through", "signature"))
    if (
        not isinstance(named, str)
        or NOT_IN_IDS.search(named)
        or type(through) is not int
        or not isinstance(signature, str)
    ):
        return None
    return Compaction(named, through, signature)


def _signature(conversation_id: str, through: int, uid: UUID) -> str:
    text = f"{VERSION}\n{through}\n{conversation_id}"
    return hmac.new(uid.bytes, text.encode(), hashlib.sha256).hexdigest()
