"""Every in-memory cache of a process.

No entry can be stale: the statement that uses a cached conversation checks its version, and a window is checked by its
conversation and its cut. Keys begin with the tenant. Erased content is removed at once.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from hashlib import sha256
from itertools import takewhile
from secrets import token_bytes
from typing import Any, NamedTuple
from uuid import UUID

from cachetools import LRUCache, TTLCache

from app.core.conversation import Conversation
from app.core.history.preparation import OpenPage
from app.core.line import Line
from app.core.model import Context, Cut, Role, Window
from app.core.window.cut import is_in_force
from app.core.window.profile import Profile
from app.core.window.render import Printed
from app.core.window.served import KeptText, Part, Parts, Sealed, SealedMessages, Served, ServedFrame
from app.store.served import Row, sealed
from app.store.windows import WindowParts
from quire_verify.issuer import Tree

CONVERSATIONS_CACHED = 20_000
OPEN_PAGES_CACHED = 2_000
COUNTS_CACHED = 2_000
MESSAGES_CACHED = 40_000
"""About 250 bytes each."""
KEPT_FORMS = 4
"""A kept window has most texts as they are shown, condensed, printed, and in the response."""
WINDOWS_KEPT_BYTES = 32_000_000
"""Total size of cached window texts: about a thousand windows of 8,000 tokens."""
WINDOWS_KEPT_SECONDS = 60.0
"""Counted from a window's last change, so that content erased by another process soon leaves memory."""
QUERY_VECTORS_CACHED = 1_000
"""Each takes about 4 kB, as text."""
EXPANSIONS_CACHED = 1_000
EXPANSION_SECONDS = 300.0
MODELS_SECONDS = 60.0
RUNS_CACHED = 4_000
TREES_CACHED = 500
"""About 100 bytes for each part of a window."""
TREES_DEEP = 32
"""Windows that build on one another: so many records are read for the parts of one."""
SEALED_MOST = 200
"""Texts of a conversation whose salts a process remembers."""
WRITTEN_AT_ONCE = 64
"""Windows of a conversation that are written in one step, so that no row grows long."""


class Beside(NamedTuple):
    """The texts of a window that no message row has."""

    made_of: tuple[object, ...]
    """Windows that are made of the same have the same."""
    texts: dict[Part, str]
    sealed: dict[Part, Sealed]
    digests: dict[Part, str]


class KeptWindow(NamedTuple):
    """A finished window without a tail, to be extended with the messages appended next, and what it was made of."""

    key: tuple[object, ...]
    parts: WindowParts
    target: Profile
    cut: Cut
    window: Window
    printed: Sequence[Printed] = ()
    """The messages of the last response, and its first ones …"""
    context: Context | None = None
    """… and the response, once it was asked for."""
    beside: Beside | None = None

    @property
    def conversation(self) -> Conversation:
        return self.parts.conversation

    @property
    def is_in_force(self) -> bool:
        return is_in_force(self.cut, self.window, self.conversation.totals)

    @property
    def offers_tools(self) -> bool:
        return self.target.offers_tools

    @property
    def size(self) -> int:
        length = len(self.context.body) if self.context else sum(len(placed.text) for placed in self.window.body)
        return KEPT_FORMS * length


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


@dataclass
class Recorded:
    """A window that was served and is to be recorded."""

    frame: ServedFrame
    served: Served
    asked: tuple[object, ...]
    """The response and what it was requested by: equal for the same window of the same call."""
    tree: Tree
    messages: SealedMessages
    base: Recorded | None = None
    """The window that its parts are written by, until it is written …"""
    gone: tuple[int, ...] = ()
    came: Parts = ()
    deep: int = 0
    """… and how many are by one another, before it."""
    number: int | None = None
    """None: it is not written yet."""


@dataclass
class ServedRun:
    """The newest windows of a conversation, as this process served them."""

    tenant: UUID
    conversation_id: str
    uid: UUID
    owner: UUID
    row: Row | None = None
    """As this process wrote it last."""
    last: Recorded | None = None
    is_again: bool = False
    """The last one was served again since it was written."""
    pending: list[Recorded] = field(default_factory=list)
    texts: dict[str, KeptText] = field(default_factory=dict)
    """Texts to be kept, by digest."""
    kept: set[str] = field(default_factory=set)
    """Digests of those that are."""
    changes: tuple[int, int] = (0, 0)
    """How often something was erased, and taken back, when the texts were served."""
    chosen: tuple[str, Sequence[UUID]] = ("", ())
    """The digest of the newest recalled text, and the memories that it quotes."""
    sealed: dict[tuple[Part, bytes], Sealed] = field(default_factory=dict)
    """Texts as receipts name them, by their hashes."""

    def lacks(self, digest: str) -> bool:
        return bool(digest) and digest not in self.kept and digest not in self.texts

    def seal(self, part: Part, text: str) -> Sealed:
        """Return a text as receipts name it: with the salt that it had before, as far as that is remembered."""
        key = part, sha256(text.encode()).digest()
        if (known := self.sealed.get(key)) is None:
            if len(self.sealed) >= SEALED_MOST:
                self.sealed.clear()
            known = self.sealed[key] = sealed(part, token_bytes(16), text)
        return known


@dataclass(frozen=True)
class Writing:
    """The part of a run that is being written: more can come meanwhile."""

    run: ServedRun
    pending: Sequence[Recorded]
    texts: Mapping[str, KeptText]
    changes: tuple[int, int]
    counted: int
    """How often the last window had been served."""

    @staticmethod
    def of(run: ServedRun) -> Writing:
        counted = run.last.served.times if run.last else 0
        return Writing(run, run.pending[:WRITTEN_AT_ONCE], dict(run.texts), run.changes, counted)


class ServedWindows:
    """Windows that were served and are to be recorded, by the numbers of tenant and conversation."""

    def __init__(self) -> None:
        self._runs: LRUCache[tuple[int, int], ServedRun] = LRUCache(RUNS_CACHED)
        self.newest: LRUCache[tuple[object, ...], Recorded] = LRUCache(TREES_CACHED)
        """By tenant, conversation, budget and format."""
        self.dirty: dict[tuple[int, int], ServedRun] = {}
        self.unwritten = 0
        self.came = asyncio.Event()
        """Set while there is something to write."""
        self.writing = asyncio.Lock()

    def run(self, tenant: UUID, conversation: Conversation) -> ServedRun:
        key = (tenant.int, conversation.uid.int)
        if (run := self._runs.get(key)) is None:
            run = self.dirty.get(key)
            run = run or ServedRun(tenant, conversation.id, conversation.uid, conversation.scope.owner)
            self._runs[key] = run
        changes = (conversation.erasures, conversation.withdrawn)
        if changes != run.changes:  # what was kept may have been erased
            run.kept, run.texts, run.sealed, run.changes = set(), {}, {}, changes
        return run

    def last(self, tenant: UUID, uid: UUID) -> Recorded | None:
        """Return the newest window of a conversation that this process served."""
        run = self._runs.get((tenant.int, uid.int))
        return run.last if run is not None else None

    def add(self, run: ServedRun, recorded: Recorded, texts: Mapping[str, KeptText]) -> None:
        run.texts.update(texts)
        run.last, run.is_again = recorded, False
        run.pending.append(recorded)
        self.unwritten += 1
        self.touch(run)

    def forget_kept(self, tenant: UUID) -> None:
        """Take no text of a tenant's for kept: some were erased."""
        for run in self._runs.values():
            if run.tenant == tenant:
                run.kept.clear()
                run.sealed.clear()

    def touch(self, run: ServedRun) -> None:
        self.dirty[run.tenant.int, run.uid.int] = run
        self.came.set()

    def wrote(self, writing: Writing, row: Row) -> None:
        """Note what is written; ``row`` is the row that it ends in."""
        run = writing.run
        for at, recorded in enumerate(reversed(writing.pending), 1):
            recorded.number, recorded.base = row.next - at, None
        run.row = row
        if run.changes == writing.changes:
            run.kept |= writing.texts.keys()
        self.drop(writing)

    def drop(self, writing: Writing) -> None:
        run = writing.run
        del run.pending[: len(writing.pending)]
        self.unwritten -= len(writing.pending)
        for digest in writing.texts:
            run.texts.pop(digest, None)
        run.is_again = run.last is not None and run.last.number is not None and run.last.served.times > writing.counted
        if not run.pending and not run.is_again:
            self.dirty.pop((run.tenant.int, run.uid.int), None)
        if not self.dirty:
            self.came.clear()


@dataclass(frozen=True)
class Caches:
    windows: TTLCache[tuple[object, ...], KeptWindow] = field(
        default_factory=lambda: TTLCache(WINDOWS_KEPT_BYTES, WINDOWS_KEPT_SECONDS, getsizeof=lambda kept: kept.size)
    )
    """Keyed by tenant, conversation and request."""
    query_vectors: LRUCache[tuple[UUID, str, str], asyncio.Task[str | None]] = field(
        default_factory=lambda: LRUCache(QUERY_VECTORS_CACHED)
    )
    """Keyed by tenant, model and query; as they are computed. None: the model did not answer."""
    expansions: TTLCache[tuple[UUID, str, str], str] = field(
        default_factory=lambda: TTLCache(EXPANSIONS_CACHED, EXPANSION_SECONDS)
    )
    """Keyed by tenant, scope and query."""
    models: TTLCache[str, dict[str, Any]] = field(default_factory=lambda: TTLCache(2, MODELS_SECONDS))
    """The model list of the API behind the proxy, and whether it could be had."""
    counts: LRUCache[str, int] = field(default_factory=lambda: LRUCache(COUNTS_CACHED))
    """Token counts of texts that many requests repeat."""
    messages: KnownMessages = field(default_factory=KnownMessages)
    lines: LRUCache[tuple[UUID, str], Line] = field(default_factory=lambda: LRUCache(CONVERSATIONS_CACHED))
    """Of conversations in trees, by tenant and id; what is read along an outdated one is read again."""
    served: ServedWindows = field(default_factory=ServedWindows)
    _conversations: LRUCache[tuple[UUID, str], Conversation] = field(
        default_factory=lambda: LRUCache(CONVERSATIONS_CACHED)
    )
    _open_pages: TTLCache[tuple[UUID, str], tuple[UUID, int, OpenPage]] = field(
        default_factory=lambda: TTLCache(OPEN_PAGES_CACHED, WINDOWS_KEPT_SECONDS)
    )
    """With the uid and the version of the conversation whose last page it is."""

    def conversation(self, tenant: UUID, conversation_id: str) -> Conversation | None:
        return self._conversations.get((tenant, conversation_id))

    def keep_conversation(self, tenant: UUID, conversation: Conversation) -> None:
        self._conversations[tenant, conversation.id] = conversation

    def open_page(self, tenant: UUID, conversation: Conversation) -> OpenPage | None:
        """Return the last page of a conversation as it is in this version, if this process wrote it of late."""
        uid, version, page = self._open_pages.get((tenant, conversation.id), (None, 0, None))
        return page if (uid, version) == (conversation.uid, conversation.version) else None

    def keep_open_page(self, tenant: UUID, conversation: Conversation, page: OpenPage) -> None:
        self._open_pages[tenant, conversation.id] = conversation.uid, conversation.version, page

    def forget_conversation(self, tenant: UUID, conversation_id: str) -> None:
        """Read a changed conversation anew next time."""
        self._conversations.pop((tenant, conversation_id), None)
        self._open_pages.pop((tenant, conversation_id), None)

    def forget_erased(self, tenant: UUID, conversation_ids: Iterable[str]) -> None:
        """Drop all that is cached of conversations with erased content, and every text that can quote them."""
        gone = set(conversation_ids)
        for key in [k for k in self.windows if k[0] == tenant.int and k[1] in gone]:
            self.windows.pop(key, None)
        self.served.forget_kept(tenant)
        for texts in (self.counts, self.query_vectors, self.expansions, self.messages):
            texts.clear()

    def keep_window(self, window: KeptWindow) -> None:
        """Cache a window for the next call if it fits."""
        with suppress(ValueError):  # it is larger than all that is cached
            self.windows[window.key] = window

    async def expire_windows(self) -> None:
        """Drop windows as they expire, rather than when space runs out, until cancelled."""
        while True:
            await asyncio.sleep(WINDOWS_KEPT_SECONDS / 2)
            self.windows.expire()
            self._open_pages.expire()
