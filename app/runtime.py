"""Everything the composition roots build, for services and routers."""

from __future__ import annotations

import asyncio
import json
import math
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING
from uuid import UUID
from weakref import WeakValueDictionary

from cachetools import LRUCache, TTLCache

from app.caches import Caches
from app.core.conversation import Conversation
from app.core.edge.audit import Auditing
from app.core.edge.caller import Caller
from app.core.edge.deployment import Access, Proxying, Retention, Working
from app.core.edge.identity import IdentityProvider
from app.core.edge.limits import Quota
from app.core.edge.rate import Bucket, Share
from app.core.model import Policy
from app.core.window.profile import Defaults, policy_of
from app.inflight import Turns
from app.postgres.database import Database
from app.postgres.transactions import Changes
from app.providers import Chat, Embedder, Reranker
from app.providers.successes import Successes
from app.providers.upstream import Upstreams
from app.store.keys import KnownKey
from app.store.operators.limits import OpenDoor
from app.telemetry.metrics import Metrics
from app.telemetry.tracing import Tracing
from app.text.masks import Masks
from app.text.tokens import TokenCounter
from quire_verify.issuer import Signer

if TYPE_CHECKING:
    from app.providers.issuer import Issuer  # imports httpx and jwt
    from app.providers.webhooks import WebhookSender  # imports httpcore

KEYS_CACHED = 20_000
ADDRESSES_CACHED = 20_000
ADMITTED_SECONDS = 600.0
QUOTA_SECONDS = 1.0
USE_SECONDS = 60.0
"""Between two records of a key's use."""
SANDBOXES_MAX = 4
"""Processes with a model's code in them, at once, for each process of the API."""
COUNTED_CHARACTERS_MAX = 20_000
"""Longer texts are counted each time, in a thread, so that the cache of counts stays small."""


@dataclass
class Door:
    """A process's cache of keys. Nothing in it grants access by itself: see app.services.keys."""

    locked: bool = False
    """Callers need a key; this never ends."""
    open_at: float = -math.inf
    """When it was last seen, on the monotonic clock, that they need none."""
    uses: LRUCache[UUID, float] = field(default_factory=lambda: LRUCache(KEYS_CACHED))
    """When the last use of a key was written, by its id."""
    open: OpenDoor | None = None
    """What it was seen to be open by, if callers without a key have no limits."""
    remembered: TTLCache[tuple[UUID, UUID], KnownKey] = field(
        default_factory=lambda: TTLCache(KEYS_CACHED, USE_SECONDS)
    )
    """Keys without limits, for requests whose statement says that nothing changed; their use is noted in time."""
    known: LRUCache[UUID, None] = field(default_factory=lambda: LRUCache(KEYS_CACHED))
    """Keys that this process let in once: they are looked up even where others are refused too often."""
    refusals: LRUCache[str, Bucket] = field(default_factory=lambda: LRUCache(ADDRESSES_CACHED))
    """Failed attempts by client address."""
    admitted: TTLCache[bytes, Caller] = field(default_factory=lambda: TTLCache(KEYS_CACHED, ADMITTED_SECONDS))
    """Whoever was let in lately for a passed-through request, by a digest of the key: see ``keys.identify_lately``."""
    tenants: set[UUID] = field(default_factory=set)
    """Tenants that were seen to exist, for callers with a token."""
    tasks: set[asyncio.Task[None]] = field(default_factory=set)
    """Writing what is not part of a request; waited for at the end."""


@dataclass
class StorageLedger:
    """The bytes that a process stored of late for a tenant whose storage is limited."""

    total: int = 0
    """Bytes of the tenant, as last read."""
    users: dict[str, int] = field(default_factory=dict)
    added: Counter[str] = field(default_factory=Counter)
    """Bytes stored since then, by user."""
    at: float = -math.inf

    def note(self, changes: Changes) -> None:
        """Count texts that were stored."""
        for user, texts in changes.stored:
            self.added[user or ""] += sum(len(text.encode(errors="surrogatepass")) for text in texts)


@dataclass
class Meters:
    """A process's part of limits that processes share: see app.services.limits."""

    quotas: TTLCache[UUID, Quota] = field(default_factory=lambda: TTLCache(KEYS_CACHED, QUOTA_SECONDS))
    shares: LRUCache[tuple[UUID, UUID], Share] = field(default_factory=lambda: LRUCache(KEYS_CACHED))
    """By tenant and key, or the tenant again."""
    ledgers: dict[UUID, StorageLedger] = field(default_factory=dict)
    telling: set[UUID] = field(default_factory=set)
    """Tenants that have events on, as far as this process knows."""
    streams: int = 0
    """Event streams that are open."""
    sender: WebhookSender | None = None
    """None: no webhook was sent yet."""
    locks: WeakValueDictionary[tuple[UUID, UUID], asyncio.Lock] = field(default_factory=WeakValueDictionary)

    def lock(self, name: tuple[UUID, UUID]) -> asyncio.Lock:
        """Return the lock behind which a share is taken once."""
        return self.locks.setdefault(name, asyncio.Lock())


@dataclass(frozen=True)
class Runtime:
    """Built once at start; lives as long as the process."""

    defaults: Defaults
    database: Database
    tokens: TokenCounter
    access: Access = field(default_factory=Access)
    retention: Retention = field(default_factory=Retention)
    proxying: Proxying = field(default_factory=Proxying)
    working: Working = field(default_factory=Working)
    chat: Chat | None = None
    """None: no LLM is configured, and everything is extractive."""
    embedder: Embedder | None = None
    """None: search uses keywords only."""
    reranker: Reranker | None = None
    """None: results stay in the order of the search."""
    identity: IdentityProvider = field(default_factory=IdentityProvider)
    quota: Quota = field(default_factory=Quota)
    """Limits of tenants without limits of their own."""
    auditing: Auditing = field(default_factory=Auditing)
    masks: Masks = field(default_factory=Masks)
    """What no text that is stored may hold."""
    signer: Signer | None = None
    """What signs receipts. None: they are off."""
    meters: Meters = field(default_factory=Meters)
    door: Door = field(default_factory=Door)
    metrics: Metrics = field(default_factory=Metrics)
    tracing: Tracing = field(default_factory=Tracing)
    lanes_stopped: dict[str, str] = field(default_factory=dict)
    """Lanes paused in this process because their provider rejects our credentials, each with the provider's reason."""
    successes: Successes = field(default_factory=Successes)
    caches: Caches = field(default_factory=Caches)
    sandboxes: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(SANDBOXES_MAX))
    """Held while code that a model wrote is run."""
    issuer: Issuer | None = None
    """None: callers have API keys only."""
    upstreams: Upstreams = field(default_factory=Upstreams)
    """The chat API behind the proxy. None: none is configured."""
    turns: Turns = field(default_factory=Turns)
    queues: WeakValueDictionary[tuple[UUID, str], asyncio.Lock] = field(default_factory=WeakValueDictionary)
    """Locks of the conversations that are being appended to."""

    def policy(self, conversation: Conversation | None) -> Policy:
        """Return the deployment's policy with a conversation's values."""
        own = json.loads(conversation.policy) if conversation is not None and conversation.policy != "{}" else {}
        return policy_of(self.defaults, own)

    def queue(self, tenant: UUID, conversation_id: str) -> asyncio.Lock:
        """Return the lock that serialises appends to a conversation in this process.

        It only saves work: of several appends decided on the same end of a conversation, all but one must be decided
        again. Correctness never depends on it, because other processes append too.
        """
        return self.queues.setdefault((tenant, conversation_id), asyncio.Lock())

    def __post_init__(self) -> None:
        self.database.follow = self._follow

    def _follow(self, tenant: UUID, changes: Changes) -> None:
        """Forget what was changed, and count what was stored. (Other processes check their caches before use.)"""
        if changes.stored and (ledger := self.meters.ledgers.get(tenant)) is not None:
            ledger.note(changes)
        for name in changes.conversations:
            self.caches.forget_conversation(tenant, name)
        if changes.are_erased:
            self.caches.forget_erased(tenant, changes.conversations)
            self.turns.given.clear()

    async def count(self, text: str) -> int:
        """Count the tokens of a text that many requests share: a system prompt, a tool's schema."""
        if len(text) > COUNTED_CHARACTERS_MAX:
            return (await self.tokens.count_many([text]))[0]
        return self.count_short(text)

    def count_short(self, text: str) -> int:
        """Count the tokens of a short text of Quire's own."""
        count = self.caches.counts.get(text)
        if count is None:
            count = self.caches.counts[text] = self.tokens.count(text)
        return count
