"""Read a caller's whole list, most of which this process has usually read before.

A list grows by a few messages from one request to the next. For known messages only role, client id and digest matter.
A process caches these by the hash of a message's text, so that it parses only new messages.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import takewhile
from typing import Any

from app import errors
from app.caches import Known, KnownMessages
from app.core.canonical import dumps
from app.core.history.sync import chains, digest
from app.core.messages import Draft, Limits, read
from app.core.model import Role

UNLIMITED = Limits(messages=2**31, message_chars=2**40, result_chars=2**40)
"""The limits for messages that were checked when they were read first."""


@dataclass(frozen=True, slots=True)
class CallersList:
    """A caller's whole list. The first ``lead`` messages are its prompt; the others have roles, digests and chains."""

    sent: Sequence[Any]
    new: Sequence[Draft]
    """The messages from the first unknown one on."""
    lead: int
    lead_digests: Sequence[bytes]
    roles: Sequence[Role]
    digests: Sequence[bytes]
    chains: Sequence[bytes]
    system: str | None
    new_max: int
    """The largest number of its messages that can be stored at once."""

    def drafts(self, first: int) -> list[Draft]:
        unread = len(self.sent) - len(self.new)
        return [*_read_again(self.sent[first:unread]), *self.new[max(0, first - unread) :]]


def read_list(messages: Any, system: str | None, limits: Limits, known: KnownMessages) -> CallersList:
    """Read a list as sent; use a thread, since many new messages take long. Raises Invalid or PayloadTooLarge."""
    is_list = isinstance(messages, list) and len(messages) <= limits.listed
    hashes = [hashlib.sha256(dumps(one).encode(errors="surrogatepass")).digest() for one in messages] if is_list else []
    told = _up_to_a_repeated_id(known.leading(hashes))
    new: list[Draft] = []
    if not told or len(told) < len(messages):
        ids = [one.client_id for one in told]
        new = read(messages[len(told) :] if told else messages, replace(limits, messages=limits.listed), ids_before=ids)
    told += [Known(draft.role, draft.client_id, digest(draft)) for draft in new]
    lead = len(list(takewhile(lambda one: one.role in ("system", "developer"), told)))
    if lead == len(told):
        where: list[str | int] = ["body", "messages"]
        raise errors.Invalid.at(where, "must contain a message after the leading system messages")
    texts = [system or "", *(draft.text for draft in _read_again(messages[:lead]))]
    system = "\n\n".join(text for text in texts if text) or system
    if system is not None and "\x00" in system:
        raise errors.Invalid.at(["body", "system"], "must not contain U+0000")
    known.keep(hashes, told)
    digests = [one.digest for one in told]
    return CallersList(
        messages, new, lead, digests[:lead], [one.role for one in told[lead:]], digests[lead:],
        chains(digests[lead:]), system, new_max=limits.messages,
    )  # fmt: skip


def _up_to_a_repeated_id(told: list[Known]) -> list[Known]:
    """Return the messages before the first repeated client id, which makes the list invalid."""
    ids: set[str] = set()
    for at, one in enumerate(told):
        if one.client_id in ids:
            return told[:at]
        if one.client_id is not None:
            ids.add(one.client_id)
    return told


def _read_again(messages: Sequence[Any]) -> list[Draft]:
    return read(list(messages), UNLIMITED) if messages else []
