"""The sides of `bench.peers.beside`: how each gets a conversation, and which context it gives a model.

A peer is sent messages with the speaker's name before the text and with their tokens, which it counts by.
"""

import json
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from typing import Any, Protocol
from urllib.parse import quote

from app.settings import Settings
from bench.harness import Harness, Server, serving
from bench.load.sizes import until_idle
from bench.peers.peers import Peer, database_of, peer_of
from bench.window.money import SUMMARY_TOKENS, Prompt
from bench.window.replay import Counter, Window

EMBEDDINGS = ("-m", "tests.providers.fake_openai", "--embed", "bench.peers.beside_models:vectors")
SUMMARIES = ("-m", "tests.providers.fake_openai", "--reply", "bench.peers.peers:summary")
MEMORY_TOKENS = 20
"""A search asks for as many memories as fit a budget if each has only this many tokens."""
PROXY_RECALL: int = Settings.model_fields["memory_recall_max_tokens"].default
MEM0_DEFAULT, STORE_DEFAULT = 20, 10
"""The number of memories that each returns by default."""

Message = Mapping[str, Any]


@dataclass(frozen=True)
class Context:
    """A context for a model: its parts in order with their tokens, and their texts."""

    parts: Prompt
    text: str
    seconds: float = 0.0

    @property
    def tokens(self) -> int:
        return sum(tokens for _, tokens in self.parts)


class Side(Protocol):
    @property
    def asks(self) -> bool:
        """Return whether the context depends on the query."""

    def context(self, talk: str, query: str, budget: int) -> Context: ...

    def cpu(self) -> float | None:
        """Return the CPU seconds used so far by its processes, PostgreSQL and the embedding model; None if unknown."""


Append = Callable[[str, Sequence[Message]], None]


@dataclass
class Sides:
    """The sides by their names and in the order of the table, and how to append turns to them."""

    analyze: Callable[[], None]
    """Analyzes both databases, as autovacuum would within a minute."""
    named: dict[str, Side] = field(default_factory=dict)
    missing: dict[str, str] = field(default_factory=dict)
    """The packages that are not installed, by the side's name."""
    versions: dict[str, str] = field(default_factory=dict)
    by_turns: list[Append] = field(default_factory=list)
    """Append a turn to the sides that need turn after turn."""
    anyhow: list[tuple[Append, Append]] = field(default_factory=list)
    """Append a turn, and a whole conversation at once, to the sides for which both lead to the same contexts."""

    def append(self, talk: str, turn: Sequence[Message]) -> None:
        for one in (*self.by_turns, *(append for append, _ in self.anyhow)):
            one(talk, turn)

    def fill(self, talk: str, turns: Sequence[Sequence[Message]]) -> None:
        """Append a whole conversation."""
        for turn in turns:
            for append in self.by_turns:
                append(talk, turn)
        for _, fill in self.anyhow:
            fill(talk, [message for turn in turns for message in turn])


@contextmanager
def opened(harness: Harness, counter: Counter, budgets: Sequence[int]) -> Iterator[Sides]:
    with ExitStack() as stack:
        database = stack.enter_context(database_of(harness))
        served = [
            stack.enter_context(serving(arguments, {}, harness.folder, harness.quire.postmaster))
            for arguments in (EMBEDDINGS, SUMMARIES)
        ]
        models, chat = (f"http://127.0.0.1:{server.port}/v1" for server in served)

        def peer(module: str, variant: str, url: str = models) -> Peer:
            return stack.enter_context(peer_of(harness, module, variant, url))

        trim, store, mem0 = peer("langgraph", "async"), peer("langgraph_store", "exact"), peer("mem0", "exact")
        hindsight = peer("hindsight", "chunks")
        summaries = {
            budget: peer("langgraph_summary", f"summary:{budget - SUMMARY_TOKENS}", chat) for budget in budgets
        }
        ours, whole = Ours(harness), Whole(counter)
        sides = Sides(database.analyze, by_turns=[ours.append, whole.append])
        newest = Kept(counter, dict.fromkeys(budgets, trim))
        found = Found(counter, store, served[0])
        for name, side, peers in (
            ("the whole history", whole, ()),
            ("Quire, with the query", Quire(harness, counter, asks=True), ()),
            ("Quire, as its proxy asks", Quire(harness, counter, asks=True, recall_max_tokens=PROXY_RECALL), ()),
            ("Quire, without a query", Quire(harness, counter, asks=False), ()),
            ("LangGraph, trim_messages", newest, (trim,)),
            ("LangGraph, summaries", Kept(counter, summaries), tuple(summaries.values())),
            ("LangGraph, store", found, (store,)),
            (f"LangGraph, store, best {STORE_DEFAULT}", Found(counter, store, served[0], STORE_DEFAULT), (store,)),
            ("LangGraph, trim_messages and store, half each", Halves(newest, found), (trim, store)),
            ("mem0, infer off", Found(counter, mem0, served[0]), (mem0,)),
            (f"mem0, infer off, best {MEM0_DEFAULT}", Found(counter, mem0, served[0], MEM0_DEFAULT), (mem0,)),
            ("Hindsight, no LLM", Found(counter, hindsight, served[0], has_own_database=True), (hindsight,)),
        ):
            if lacking := [one.missing for one in peers if one.missing]:
                sides.missing[name] = lacking[0]
            else:
                sides.named[name] = side
        for one in (trim, store, mem0, hindsight, *summaries.values()):
            sides.versions |= one.versions
        sides.by_turns += [telling(one, counter) for one in summaries.values() if not one.missing]
        sides.anyhow += [
            (telling(one, counter), filling(one, counter)) for one in (trim, store, mem0, hindsight) if not one.missing
        ]
        yield sides


# --- Quire -------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Ours:
    harness: Harness

    def append(self, talk: str, turn: Sequence[Message]) -> None:
        self.harness.api.call("POST", f"/conversations/{talk}/messages", {"messages": list(turn), "user_id": talk})

    def until_idle(self) -> None:
        """Wait until its jobs are done, which would take CPU time from the next measurement."""
        until_idle(self.harness.api)


@dataclass(frozen=True)
class Quire:
    harness: Harness
    counter: Counter
    asks: bool
    recall_max_tokens: int | None = None

    def context(self, talk: str, query: str, budget: int) -> Context:
        asked = f"&query={quote(query)}" if self.asks else ""
        asked += f"&recall_max_tokens={self.recall_max_tokens}" if self.recall_max_tokens else ""
        begun = time.perf_counter()
        answer = self.harness.api.call("GET", f"/conversations/{talk}/context?budget={budget}{asked}")
        seconds = time.perf_counter() - begun
        window = Window.read(answer, self.counter)
        said = [json.loads(message) for message in window.messages]
        parts = [("tools", self.counter.text(window.tools)), *(part(one, self.counter) for one in said)]
        return Context(parts, "\n".join(str(one.get("content")) for one in said), seconds)

    def cpu(self) -> float:
        return self.harness.quire.cpu().total


# --- Others ------------------------------------------------------------------------------------------


class Whole:
    """All messages, whatever the budget."""

    asks = False

    def __init__(self, counter: Counter) -> None:
        self._counter = counter
        self._said: dict[str, list[dict[str, str]]] = {}

    def append(self, talk: str, turn: Sequence[Message]) -> None:
        self._said.setdefault(talk, []).extend(map(spoken, turn))

    def context(self, talk: str, query: str, budget: int) -> Context:  # noqa: ARG002 - it has none
        return context(self._said[talk], self._counter, 0.0)

    def cpu(self) -> None:
        return None


@dataclass(frozen=True)
class Kept:
    """LangGraph's state. ``peers`` holds one peer for each budget."""

    counter: Counter
    peers: Mapping[int, Peer]
    asks = False

    def context(self, talk: str, query: str, budget: int) -> Context:  # noqa: ARG002 - it has none
        return self.within(talk, budget, self.peers[budget])

    def within(self, talk: str, tokens: int, peer: Peer) -> Context:
        [seconds] = peer.do("window", [talk], [{"budget": tokens}])
        return context(peer.said, self.counter, seconds)

    def cpu(self) -> float:
        used = [peer.cpu() for peer in set(self.peers.values())]
        return used[0].postgres + sum(one.server for one in used)


@dataclass(frozen=True)
class Found:
    """Memories that a search finds, best first, in one system message: as many as fit, or ``limit`` of them."""

    counter: Counter
    peer: Peer
    models: Server
    limit: int | None = None
    has_own_database: bool = False
    asks = True

    def context(self, talk: str, query: str, budget: int) -> Context:
        return self.beyond("", talk, query, budget)

    def beyond(self, shown: str, talk: str, query: str, budget: int) -> Context:
        """Return the memories found, except those that are ``shown`` already."""
        most = budget + self.counter.text(shown)
        body = {"query": query, "budget": most, "limit": self.limit or most // MEMORY_TOKENS}
        [seconds] = self.peer.do("window", [talk], [body])
        found = [str(one["content"]) for one in self.peer.said]
        texts = fitting([text for text in found if text not in shown], budget, self.counter.text)
        return context([{"role": "system", "content": "\n".join(texts)}], self.counter, seconds)

    def cpu(self) -> float | None:
        return None if self.has_own_database else self.peer.cpu().total + self.models.cpu().server


@dataclass(frozen=True)
class Halves:
    """The newest messages in half of a budget, and in the other half further memories that a search finds."""

    newest: Kept
    found: Found
    asks = True

    def context(self, talk: str, query: str, budget: int) -> Context:
        last = self.newest.within(talk, budget // 2, self.newest.peers[budget])
        memories = self.found.beyond(last.text, talk, query, budget // 2)
        parts = [*last.parts, *memories.parts]
        return Context(parts, f"{last.text}\n{memories.text}", last.seconds + memories.seconds)

    def cpu(self) -> float:
        return self.newest.cpu() + self.found.peer.cpu().server + self.found.models.cpu().server


def telling(peer: Peer, counter: Counter) -> Append:
    def append(talk: str, turn: Sequence[Message]) -> None:
        peer.do("append", [talk], [_weighed(turn, counter)])

    return append


def filling(peer: Peer, counter: Counter) -> Append:
    def fill(talk: str, said: Sequence[Message]) -> None:
        peer.build(talk, _weighed(said, counter), 0)

    return fill


def _weighed(said: Sequence[Message], counter: Counter) -> list[dict[str, Any]]:
    return [{**spoken(one), "tokens": part(spoken(one), counter)[1], "said_at": one["said_at"]} for one in said]


def spoken(message: Message) -> dict[str, str]:
    """Return a message for an API without speakers' names."""
    name = f"{message['name']}: " if "name" in message else ""
    return {"role": message["role"], "content": name + message["content"]}


def fitting(texts: Sequence[str], budget: int, weigh: Callable[[str], int]) -> list[str]:
    """Return the first texts that fit a budget, for a message with each on its own lines."""
    kept, free = [], budget - weigh("\n") * 4
    for text in texts:
        free -= weigh(text) + 1
        if free < 0:
            break
        kept.append(text)
    return kept


def context(said: Sequence[Message], counter: Counter, seconds: float) -> Context:
    return Context([part(one, counter) for one in said], "\n".join(str(one.get("content")) for one in said), seconds)


def part(message: Message, counter: Counter) -> tuple[str, int]:
    """Return a message's text in one notation, and its tokens."""
    text = json.dumps(message, ensure_ascii=False, sort_keys=True)
    return text, counter.message(text)
