"""The sides of `bench.peers.beside`: what each is told of a conversation, and what it gives a model of it.

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
"""As many memories are searched for as fit a budget if they are as short as this."""
PROXY_RECALL: int = Settings.model_fields["memory_recall_max_tokens"].default
MEM0_DEFAULT, STORE_DEFAULT = 20, 10
"""How many memories each gives when no number is named."""

Message = Mapping[str, Any]


@dataclass(frozen=True)
class Context:
    """What a model is given: its parts in order with their tokens, and all that they say."""

    parts: Prompt
    text: str
    seconds: float = 0.0

    @property
    def tokens(self) -> int:
        return sum(tokens for _, tokens in self.parts)


class Side(Protocol):
    @property
    def asks(self) -> bool:
        """Whether its context depends on the query."""

    def context(self, talk: str, query: str, budget: int) -> Context: ...

    def cpu(self) -> float | None:
        """CPU seconds used so far by its processes, PostgreSQL and the embedding model; None if not all are known."""


Append = Callable[[str, Sequence[Message]], None]


@dataclass
class Sides:
    """By their names in the table, in its order; and all that is to be told each turn."""

    analyze: Callable[[], None]
    """Both databases, as autovacuum would within a minute."""
    named: dict[str, Side] = field(default_factory=dict)
    missing: dict[str, str] = field(default_factory=dict)
    """By name, which package is not installed."""
    versions: dict[str, str] = field(default_factory=dict)
    by_turns: list[Append] = field(default_factory=list)
    """For those that must be told turn by turn."""
    anyhow: list[tuple[Append, Append]] = field(default_factory=list)
    """For those that show the same if they are told a whole conversation at once: how to tell a turn, and how that."""

    def append(self, talk: str, turn: Sequence[Message]) -> None:
        for one in (*self.by_turns, *(append for append, _ in self.anyhow)):
            one(talk, turn)

    def fill(self, talk: str, turns: Sequence[Sequence[Message]]) -> None:
        """Tell a whole conversation."""
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
        """Until its jobs are done: they would take CPU time from what is measured next."""
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
    """Every message, whatever the budget."""

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
    """LangGraph's state. ``peers``: by the budget."""

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
    """Memories that a search finds, the best first, in one system message: as many as fit, or ``limit`` of them."""

    counter: Counter
    peer: Peer
    models: Server
    limit: int | None = None
    has_own_database: bool = False
    asks = True

    def context(self, talk: str, query: str, budget: int) -> Context:
        return self.beyond("", talk, query, budget)

    def beyond(self, shown: str, talk: str, query: str, budget: int) -> Context:
        """What is found that is not shown already."""
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
    """The newest messages in half of a budget, then what a search finds beyond them in the other half."""

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
    """As APIs without names take it."""
    name = f"{message['name']}: " if "name" in message else ""
    return {"role": message["role"], "content": name + message["content"]}


def fitting(texts: Sequence[str], budget: int, weigh: Callable[[str], int]) -> list[str]:
    """The first texts that fit a budget, each on lines of its own, in a message of their own."""
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
    """A message in one way of writing, and its tokens."""
    text = json.dumps(message, ensure_ascii=False, sort_keys=True)
    return text, counter.message(text)
