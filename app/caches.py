"""What a process keeps in memory of what is stored, all of it in one place.

Nothing here can be stale: a conversation's state is checked by its version in the statement that uses it, an epoch by
the totals it holds for, a window by both. Keys begin with the tenant. What was erased is taken out at once.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from dataclasses import dataclass, field
from uuid import UUID

from cachetools import LRUCache, TTLCache

from app.core.conversation import Conversation
from app.core.model import Context, Epoch
from app.store.windows import WindowParts

CONVERSATIONS_CACHED = 20_000
EPOCHS_CACHED = 4_000
COUNTS_CACHED = 2_000
WINDOWS_KEPT_BYTES = 32_000_000
"""Of the texts of windows that are kept: about a thousand windows of 8,000 tokens."""
WINDOWS_KEPT_SECONDS = 60.0
"""After its last change, so that what another process erased is soon in nobody's memory."""
QUERY_VECTORS_CACHED = 1_000
"""Some 4 kB each, as text."""
EXPANSIONS_CACHED = 1_000
EXPANSION_SECONDS = 300.0
MODELS_SECONDS = 60.0


@dataclass(frozen=True, slots=True)
class FoundEpoch:
    """An epoch that was derived for a budget other than the conversation's own."""

    uid: UUID
    available: int
    epoch: Epoch


@dataclass(frozen=True, slots=True)
class KeptWindow:
    """A window that was made, to be continued with what is appended next."""

    parts: WindowParts
    """Without the conversation's own epoch."""
    epoch: Epoch
    available: int
    context: Context | None
    """What was answered, if it had no tail."""
    size: int
    """Of all its texts in bytes, about."""


@dataclass(frozen=True)
class Caches:
    """The caches of a process."""

    epochs: LRUCache[tuple[object, ...], FoundEpoch] = field(default_factory=lambda: LRUCache(EPOCHS_CACHED))
    """By tenant, conversation and what was asked for."""
    windows: TTLCache[tuple[object, ...], KeptWindow] = field(
        default_factory=lambda: TTLCache(WINDOWS_KEPT_BYTES, WINDOWS_KEPT_SECONDS, getsizeof=lambda kept: kept.size)
    )
    """By tenant, conversation and what was asked for."""
    query_vectors: LRUCache[tuple[UUID, str, str], str] = field(default_factory=lambda: LRUCache(QUERY_VECTORS_CACHED))
    """By tenant, model and query."""
    expansions: TTLCache[tuple[UUID, str, str], str] = field(
        default_factory=lambda: TTLCache(EXPANSIONS_CACHED, EXPANSION_SECONDS)
    )
    """By tenant, scope and query."""
    models: TTLCache[str, str] = field(default_factory=lambda: TTLCache(1, MODELS_SECONDS))
    """The list of the models behind the proxy."""
    counts: LRUCache[str, int] = field(default_factory=lambda: LRUCache(COUNTS_CACHED))
    """Tokens of texts that come with many requests."""
    _conversations: LRUCache[tuple[UUID, str], Conversation] = field(
        default_factory=lambda: LRUCache(CONVERSATIONS_CACHED)
    )

    def conversation(self, tenant: UUID, conversation_id: str) -> Conversation | None:
        """Return a conversation as it was when it was last written."""
        return self._conversations.get((tenant, conversation_id))

    def keep_conversation(self, tenant: UUID, conversation: Conversation) -> None:
        self._conversations[tenant, conversation.id] = conversation

    def forget_conversation(self, tenant: UUID, conversation_id: str) -> None:
        """Read a conversation anew the next time, because it has changed."""
        self._conversations.pop((tenant, conversation_id), None)

    def forget_erased(self, tenant: UUID, conversation_ids: Iterable[str]) -> None:
        """Forget all that is known of conversations of which something was erased, and every text that may be of it."""
        gone = set(conversation_ids)
        for conversation_id in gone:
            self.forget_conversation(tenant, conversation_id)
        for cache in (self.epochs, self.windows):
            for key in [k for k in cache if k[0] == tenant and k[1] in gone]:
                cache.pop(key, None)
        for texts in (self.counts, self.query_vectors, self.expansions):
            texts.clear()

    def keep_window(self, key: tuple[object, ...], kept: KeptWindow) -> None:
        """Keep a window for the next call, if there is room at all."""
        if kept.size <= self.windows.maxsize:
            self.windows[key] = kept

    async def expire_windows(self) -> None:
        """Let go of windows when they are due, not when they are in the way, until it is cancelled."""
        while True:
            await asyncio.sleep(WINDOWS_KEPT_SECONDS / 2)
            self.windows.expire()
