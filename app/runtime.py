"""What the composition roots build, as the flows and routers get at it."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import TypeVar
from uuid import UUID
from weakref import WeakValueDictionary

from asyncpg import Record
from cachetools import LRUCache, TTLCache

from app.core.conversation import Conversation
from app.core.model import Context, Epoch
from app.core.profile import Defaults
from app.core.rate import Bucket
from app.inflight import Turns
from app.postgres.database import Database
from app.postgres.replica import Replica
from app.providers import Chat, Embedder
from app.providers.upstream import Upstream
from app.settings import Settings
from app.store.windows import WindowParts
from app.telemetry.metrics import Metrics
from app.telemetry.tracing import Tracing
from app.text.tokens import TokenCounter

T = TypeVar("T")

CONVERSATIONS_CACHED = 20_000
EPOCHS_CACHED = 4_000
COUNTS_CACHED = 2_000
KEYS_CACHED = 20_000
ADDRESSES_CACHED = 20_000
SANDBOXES_MAX = 4
"""Processes with a model's code in them, at once, for each process of the API."""
WINDOWS_KEPT_BYTES = 32_000_000
"""Of the texts of windows that are kept: about a thousand windows of 8,000 tokens."""
WINDOWS_KEPT_SECONDS = 60.0
"""After its last change, so that what another process erased is soon in nobody's memory."""
QUERY_VECTORS_CACHED = 1_000
"""Some 4 kB each, as text."""
EXPANSIONS_CACHED = 1_000
EXPANSION_SECONDS = 300.0
MODELS_SECONDS = 60.0
COUNTED_CHARACTERS_MAX = 20_000
"""Longer texts are counted anew, in a thread, so that the cache of counts stays small."""


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


@dataclass
class Look:
    """A look-up of a key that is under way, and the one after it that others wait for together."""

    over: asyncio.Event = field(default_factory=asyncio.Event)
    next: asyncio.Task[Record | None] | None = None


@dataclass
class Door:
    """What a process remembers about keys. Nothing of it lets anybody in: see app.services.keys."""

    locked: bool = False
    """Callers need a key; this never ends."""
    open_at: float = -math.inf
    """When it was last seen, on the monotonic clock, that they need none."""
    uses: LRUCache[UUID, float] = field(default_factory=lambda: LRUCache(KEYS_CACHED))
    """When the last use of a key was written, by its id."""
    buckets: LRUCache[UUID | None, Bucket] = field(default_factory=lambda: LRUCache(KEYS_CACHED))
    known: LRUCache[UUID, None] = field(default_factory=lambda: LRUCache(KEYS_CACHED))
    """Keys that this process let in once: they are looked up even where others are refused too often."""
    refusals: LRUCache[str, Bucket] = field(default_factory=lambda: LRUCache(ADDRESSES_CACHED))
    """By client address."""
    looks: dict[tuple[UUID, UUID], Look] = field(default_factory=dict)
    tasks: set[asyncio.Task[None]] = field(default_factory=set)
    """Writing what is not part of a request; waited for at the end."""


@dataclass(frozen=True)
class Runtime:
    """Built once at start; lives as long as the process.

    The caches hold nothing that cannot be stale: a conversation's state is checked by its version in the
    statement that uses it, an epoch by the totals it holds for, a window by both. Their keys begin with the tenant.
    """

    settings: Settings
    defaults: Defaults
    database: Database
    tokens: TokenCounter
    schema_head: str
    chat: Chat | None = None
    """None: no LLM is configured, and everything is extractive."""
    embedder: Embedder | None = None
    """None: search goes by keywords alone."""
    replica: Replica | None = None
    """None: the primary answers every read."""
    work_came: asyncio.Event = field(default_factory=asyncio.Event)
    """Set after a commit that enqueued work, so that a worker in the same process need not wait for its next look."""
    door: Door = field(default_factory=Door)
    metrics: Metrics = field(default_factory=Metrics)
    tracing: Tracing = field(default_factory=Tracing)
    lanes_stopped: dict[str, str] = field(default_factory=dict)
    """Lanes of work that rest in this process because their provider does not take us, and what it said."""
    conversations: LRUCache[tuple[UUID, str], Conversation] = field(
        default_factory=lambda: LRUCache(CONVERSATIONS_CACHED)
    )
    epochs: LRUCache[tuple[object, ...], FoundEpoch] = field(default_factory=lambda: LRUCache(EPOCHS_CACHED))
    windows: TTLCache[tuple[object, ...], KeptWindow] = field(
        default_factory=lambda: TTLCache(WINDOWS_KEPT_BYTES, WINDOWS_KEPT_SECONDS, getsizeof=lambda kept: kept.size)
    )
    sandboxes: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(SANDBOXES_MAX))
    """Held while code that a model wrote is run."""
    query_vectors: LRUCache[tuple[UUID, str, str], str] = field(default_factory=lambda: LRUCache(QUERY_VECTORS_CACHED))
    """By tenant, model and query."""
    expansions: TTLCache[tuple[UUID, str, str], str] = field(
        default_factory=lambda: TTLCache(EXPANSIONS_CACHED, EXPANSION_SECONDS)
    )
    """By tenant, scope and query."""
    upstream: Upstream | None = None
    """The chat API behind the proxy. None: none is configured."""
    turns: Turns = field(default_factory=Turns)
    models: TTLCache[str, str] = field(default_factory=lambda: TTLCache(1, MODELS_SECONDS))
    """The list of the models behind the proxy."""
    counts: LRUCache[str, int] = field(default_factory=lambda: LRUCache(COUNTS_CACHED))
    queues: WeakValueDictionary[tuple[UUID, str], asyncio.Lock] = field(default_factory=WeakValueDictionary)
    """Of the conversations that are being appended to."""

    def queue(self, tenant: UUID, conversation_id: str) -> asyncio.Lock:
        """Held while a conversation is appended to. It saves work and keeps nothing apart, for other processes append
        too: of appends that were decided on the same end of a conversation all but one have to be decided again.
        """
        found = self.queues.get((tenant, conversation_id))
        if found is None:
            found = self.queues[tenant, conversation_id] = asyncio.Lock()
        return found

    async def read(self, work: Callable[[Database], Awaitable[T]], *, wait_seconds: float = 0.0) -> T:
        """Do what only reads, perhaps twice: on a replica that has all that was acknowledged, or on the primary."""
        if self.replica is None:
            return await work(self.database)
        return await self.replica.read(work, wait_seconds=wait_seconds)

    def archive_expiry(self, now: datetime) -> datetime | None:
        """When what is archived now is to be erased; None for never."""
        days = self.settings.memory_archive_ttl_days
        return now + timedelta(days=days) if days else None

    def keep_window(self, key: tuple[object, ...], kept: KeptWindow) -> None:
        """For the next call, if there is room at all."""
        if kept.size <= self.windows.maxsize:
            self.windows[key] = kept

    async def forget_windows(self) -> None:
        """Again and again, until it is cancelled: what is not used is let go of when it is due, not when it is in the
        way.
        """
        while True:
            await asyncio.sleep(WINDOWS_KEPT_SECONDS / 2)
            self.windows.expire()

    async def count(self, text: str) -> int:
        """Tokens of a text that comes with many requests: a system prompt, a tool's schema."""
        if len(text) > COUNTED_CHARACTERS_MAX:
            return (await self.tokens.count_many([text]))[0]
        return self.count_short(text)

    def count_short(self, text: str) -> int:
        """The same for a text of Quire's own; not for one that may be long."""
        found = self.counts.get(text)
        if found is None:
            found = self.counts[text] = self.tokens.count(text)
        return found
