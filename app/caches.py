"""Every in-memory cache of a process.

No entry can be stale: the statement that uses a cached conversation checks its version; an epoch is checked by the
totals it was derived for, a window by both. Keys begin with the tenant. Erased content is removed at once.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import takewhile
from typing import Any, NamedTuple
from uuid import UUID

from cachetools import LRUCache, TTLCache

from app.core.conversation import Conversation
from app.core.line import Line
from app.core.model import Context, Epoch, Role, Window
from app.core.window.profile import Profile
from app.store.windows import WindowParts

CONVERSATIONS_CACHED = 20_000
EPOCHS_CACHED = 4_000
COUNTS_CACHED = 2_000
MESSAGES_CACHED = 40_000
"""About 250 bytes each."""
KEPT_FORMS = 3
"""A kept window has most texts as they are shown, condensed, and rendered."""
WINDOWS_KEPT_BYTES = 32_000_000
"""Total size of cached window texts: about a thousand windows of 8,000 tokens."""
WINDOWS_KEPT_SECONDS = 60.0
"""Counted from a window's last change, so that content erased by another process soon leaves memory."""
QUERY_VECTORS_CACHED = 1_000
"""Each takes about 4 kB, as text."""
EXPANSIONS_CACHED = 1_000
EXPANSION_SECONDS = 300.0
MODELS_SECONDS = 60.0


@dataclass(frozen=True, slots=True)
class FoundEpoch:
    """An epoch derived for a budget other than the conversation's own."""

    uid: UUID
    made_for: int
    epoch: Epoch

    def holds(self, conversation: Conversation, made_for: int) -> bool:
        """Return whether it is the epoch of the conversation for a profile's key, as far as totals tell."""
        same = self.uid == conversation.uid and self.made_for == made_for
        return same and self.epoch.layout.holds(conversation.totals)


@dataclass(frozen=True, slots=True)
class KeptWindow:
    """A finished window without a tail, to be extended with the messages appended next, and what it was made of."""

    key: tuple[object, ...]
    parts: WindowParts
    """Without the conversation's own epoch."""
    target: Profile
    epoch: Epoch
    window: Window
    offers_tools: bool
    """Whether the recall tools are in it."""
    context: Context | None = None
    """The response, once it was asked for."""

    @property
    def conversation(self) -> Conversation:
        return self.parts.conversation

    @property
    def size(self) -> int:
        """Return the approximate size of all its texts in bytes."""
        return KEPT_FORMS * sum(len(placed.text) for placed in self.window.body)


class Known(NamedTuple):
    """A message of a caller's list as it is remembered: without its text."""

    role: Role
    client_id: str | None
    digest: bytes


class KnownMessages:
    """Messages of callers' lists that kept to the rules, by the hash of their text. For any thread."""

    def __init__(self) -> None:
        self._by_hash: LRUCache[bytes, Known] = LRUCache(MESSAGES_CACHED)
        self._lock = threading.Lock()

    def leading(self, hashes: Sequence[bytes]) -> list[Known]:
        """Return the first messages of a list, up to one that is not known."""
        with self._lock:
            return [self._by_hash[one] for one in takewhile(self._by_hash.__contains__, hashes)]

    def keep(self, hashes: Sequence[bytes], known: Sequence[Known]) -> None:
        with self._lock:
            self._by_hash.update(zip(hashes, known, strict=True))

    def clear(self) -> None:
        with self._lock:
            self._by_hash.clear()


@dataclass(frozen=True)
class Caches:
    """The caches of one process."""

    epochs: LRUCache[tuple[object, ...], FoundEpoch] = field(default_factory=lambda: LRUCache(EPOCHS_CACHED))
    """Keyed by tenant, conversation and request."""
    windows: TTLCache[tuple[object, ...], KeptWindow] = field(
        default_factory=lambda: TTLCache(WINDOWS_KEPT_BYTES, WINDOWS_KEPT_SECONDS, getsizeof=lambda kept: kept.size)
    )
    """Keyed by tenant, conversation and request."""
    query_vectors: LRUCache[tuple[UUID, str, str], str] = field(default_factory=lambda: LRUCache(QUERY_VECTORS_CACHED))
    """Keyed by tenant, model and query."""
    expansions: TTLCache[tuple[UUID, str, str], str] = field(
        default_factory=lambda: TTLCache(EXPANSIONS_CACHED, EXPANSION_SECONDS)
    )
    """Keyed by tenant, scope and query."""
    models: TTLCache[str, dict[str, Any]] = field(default_factory=lambda: TTLCache(1, MODELS_SECONDS))
    """The model list of the API behind the proxy."""
    counts: LRUCache[str, int] = field(default_factory=lambda: LRUCache(COUNTS_CACHED))
    """Token counts of texts that many requests repeat."""
    messages: KnownMessages = field(default_factory=KnownMessages)
    lines: LRUCache[tuple[UUID, str], Line] = field(default_factory=lambda: LRUCache(CONVERSATIONS_CACHED))
    """Of conversations in trees, by tenant and id; what is read along an outdated one is read again."""
    _conversations: LRUCache[tuple[UUID, str], Conversation] = field(
        default_factory=lambda: LRUCache(CONVERSATIONS_CACHED)
    )

    def conversation(self, tenant: UUID, conversation_id: str) -> Conversation | None:
        """Return the conversation as of its last write."""
        return self._conversations.get((tenant, conversation_id))

    def keep_conversation(self, tenant: UUID, conversation: Conversation) -> None:
        self._conversations[tenant, conversation.id] = conversation

    def forget_conversation(self, tenant: UUID, conversation_id: str) -> None:
        """Read a changed conversation anew next time."""
        self._conversations.pop((tenant, conversation_id), None)

    def forget_erased(self, tenant: UUID, conversation_ids: Iterable[str]) -> None:
        """Drop all that is cached of conversations with erased content, and every text that can quote them."""
        gone = set(conversation_ids)
        for conversation_id in gone:
            self.forget_conversation(tenant, conversation_id)
        for cache in (self.epochs, self.windows):
            for key in [k for k in cache if k[0] == tenant and k[1] in gone]:
                cache.pop(key, None)
        for texts in (self.counts, self.query_vectors, self.expansions, self.messages):
            texts.clear()

    def keep_window(self, window: KeptWindow) -> None:
        """Cache a window for the next call if it fits."""
        if window.size <= self.windows.maxsize:
            self.windows[window.key] = window

    async def expire_windows(self) -> None:
        """Drop windows as they expire, rather than when space runs out, until cancelled."""
        while True:
            await asyncio.sleep(WINDOWS_KEPT_SECONDS / 2)
            self.windows.expire()
