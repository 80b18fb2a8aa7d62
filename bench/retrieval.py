"""Whether what left the window is found again: `python -m bench retrieval`.

Each conversation is appended under a user of its own, its memories are given vectors by the service's own worker, and every question is asked of the service's own search and window. Recall@k is the share of a question's
evidence (the turns that hold its answer) among the first k turns found, averaged over the questions. Beside it, in
the same run and over the same rows: BM25 alone, the vectors alone, and both fused by reciprocal rank.
"""

from __future__ import annotations

import asyncio
import json
from collections import defaultdict
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from math import log
from random import Random
from statistics import fmean, median
from time import perf_counter
from typing import Any
from uuid import UUID

import asyncpg
import psutil

from app import bm25, migrate, tokens
from app.core.messages import Limits, read
from app.db import Database
from app.errors import BudgetTooSmall
from app.flows import searching
from app.flows.append import AppendRequest, append
from app.flows.context import ContextRequest, context
from app.flows.searching import SearchRequest
from app.ids import uuid7
from app.main import defaults
from app.providers import local_embeddings
from app.services import Services
from app.settings import Settings
from app.store import embeddings, memories
from app.store.memories import Meaning, owner_of
from app.tenancy import DEFAULT_TENANT
from bench import house, replay, tables, talks, words
from bench.house import House
from bench.tables import Table
from bench.talks import Question, Talk, TalkSet

DOCUMENT = tables.DOCUMENT.with_name("retrieval.md")
KS = (5, 10, 20)
DEPTH = 60
BUDGETS = (1_000, 2_000, 4_000, 8_000)
SIZES = (1_000, 10_000, 100_000)
QUICK_STEP = 5
APPENDED_AT_ONCE = 200
RRF = 60
ROUNDS = 15
EMBEDDING_SECONDS_MAX = 1_800
GOALS = (
    "Goals: LoCoMo without the adversarial questions R@10 74, adversarial 84; MADial Chinese 70; hybrid in no category "
    "more than a point below the better of its legs."
)
WINDOW_GOALS = "Goals for LoCoMo, all questions: 76 / 82 / 88 / 92."


def run(_: House, *, quick: bool) -> list[Table]:
    """For `python -m bench`. In a house of its own, whose worker has the local model."""
    with house.opened({"MEMORY_EMBEDDING_MODEL": ""}) as opened:
        return asyncio.run(_run(opened, quick=quick))


async def _run(opened: House, *, quick: bool) -> list[Table]:
    database = await Database.connect(opened.postgres.app_dsn, pool_size=4)
    try:
        settings = Settings(quire_data_dir=opened.folder)
        counter = tokens.load(opened.folder / "vocabularies")
        embedder = local_embeddings.load(threads=2)
        services = Services(settings, defaults(settings), database, counter, migrate.head(), embedder=embedder)
        found: list[Table] = []
        for some in (talks.shipped("en"), talks.shipped("zh"), *talks.public(replay.DATA)):
            asked = some.questions[:: QUICK_STEP if quick else 1]
            for talk in some.talks:
                await _load(services, talk)
            await _embedded(services)
            found += [await _recalls(services, some, asked), await _windows(services, some, asked)]
        found.append(await _latency(services, opened, SIZES[:-1] if quick else SIZES))
        return found
    finally:
        await database.close()


async def _load(services: Services, talk: Talk) -> None:
    for at in range(0, len(talk.messages), APPENDED_AT_ONCE):
        drafts = read(list(talk.messages[at : at + APPENDED_AT_ONCE]), Limits())
        await append(services, DEFAULT_TENANT, talk.id, AppendRequest(drafts, user_id=talk.id), None)


async def _embedded(services: Services) -> None:
    """Until the service's worker has given every memory its vector."""
    if services.embedder is None:
        return
    async with asyncio.timeout(EMBEDDING_SECONDS_MAX):
        while True:
            async with services.database.snapshot(DEFAULT_TENANT) as connection:
                if not await connection.fetchval(
                    "SELECT count(*) FROM unembedded WHERE tenant_id = $1", DEFAULT_TENANT
                ):
                    return
            await asyncio.sleep(1)


# --- Recall ------------------------------------------------------------------------------------------

Ranked = Sequence[int]
"""Sequence numbers of turns, the best first."""
Way = Callable[[Question], Awaitable[Ranked]]


async def _recalls(services: Services, some: TalkSet, asked: Sequence[Question]) -> Table:
    baselines = _Baselines(services, {talk.id: talk for talk in some.talks})
    ways: dict[str, Way] = {"BM25 alone": baselines.bm25}
    if services.embedder is not None:
        ways |= {"vectors alone": baselines.vectors, "RRF of both": baselines.rrf}
    ways["Quire, keyword"] = lambda question: _found(services, question, "keyword")
    if services.embedder is not None:
        ways["Quire, semantic"] = lambda question: _found(services, question, "semantic")
        ways["Quire, hybrid"] = lambda question: _found(services, question, "hybrid")
    categories = _categories(some, asked)
    rows = []
    for name, way in ways.items():
        scores: dict[str, list[list[float]]] = defaultdict(list)
        for question in asked:
            ranked = await way(question)
            recall = [len(question.evidence & set(ranked[:k])) / len(question.evidence) for k in KS]
            for category in _in(some, question):
                scores[category].append(recall)
        rows.append((name, *(_percent(scores[category]) for category in categories)))
    counts = "; ".join(f"{c} {sum(c in _in(some, q) for q in asked)}" for c in categories)
    notes = [f"Recall at {', '.join(map(str, KS))} in percent. Questions: {counts}."]
    if services.embedder is None:
        notes.append("The local embedding model is not installed: keyword search only.")
    return Table(f"Evidence found: {some.name}", ("", *categories), rows, [*notes, GOALS])


def _percent(recalls: Sequence[Sequence[float]]) -> str:
    return " / ".join(f"{100 * fmean(column):.1f}" for column in zip(*recalls, strict=True))


def _in(some: TalkSet, question: Question) -> list[str]:
    """The columns that a question counts in: its category, the whole, and the half of its conversation."""
    if some.name != "LoCoMo":
        return [question.category, "all"]
    if question.category == "adversarial":
        return [question.category]
    half = [talk.id for talk in some.talks].index(question.talk) * 2 // len(some.talks)
    return [question.category, "not adversarial", f"their half {half + 1}"]


def _categories(some: TalkSet, asked: Sequence[Question]) -> list[str]:
    found = {category: None for question in asked for category in _in(some, question)}
    return sorted(found, key=lambda c: (c in ("all", "not adversarial", "their half 1", "their half 2"), c))


async def _found(services: Services, question: Question, mode: searching.Mode) -> Ranked:
    request = SearchRequest(question.text[:10_000], user_id=question.talk, mode=mode, limit=DEPTH)
    found = await searching.search(services, DEFAULT_TENANT, request)
    return [moment.hit.seq or 0 for moment in found.moments]


@dataclass
class _Baselines:
    """The simple ways, over the same turns: no neighbours, no weights, the vectors as they are."""

    services: Services
    talks: Mapping[str, Talk]

    def __post_init__(self) -> None:
        self._documents: dict[str, list[dict[int, float]]] = {}

    async def bm25(self, question: Question) -> Ranked:
        if question.talk not in self._documents:
            said = [f"{m['name']}: {m['content']}" if "name" in m else m["content"] for m in self._messages(question)]
            self._documents[question.talk] = [_vector(bm25.document(text)) for text in said]
        documents = self._documents[question.talk]
        scores = [0.0] * len(documents)
        for term in bm25.query(question.text):
            df = sum(term in document for document in documents)
            idf = log(1 + (len(documents) - df + 0.5) / (df + 0.5))
            for index, document in enumerate(documents):
                scores[index] += idf * document.get(term, 0.0)
        order = sorted(range(len(scores)), key=lambda i: -scores[i])
        return [i + 1 for i in order[:DEPTH] if scores[i] > 0]

    def _messages(self, question: Question) -> Sequence[Mapping[str, Any]]:
        return self.talks[question.talk].messages

    async def vectors(self, question: Question) -> Ranked:
        query = await searching.ready(self.services, DEFAULT_TENANT, question.text)
        assert query.meaning is not None
        async with self.services.database.snapshot(DEFAULT_TENANT) as connection:
            rows = await connection.fetch(
                "SELECT m.seq FROM embeddings e JOIN memories m ON m.tenant_id = $1 AND m.id = e.memory_id"
                " WHERE e.tenant_id = $1 AND e.owner = $2 ORDER BY e.embedding <#> $3::text::halfvec LIMIT $4",
                DEFAULT_TENANT, owner_of(f"u:{question.talk}"), query.meaning.vector, DEPTH,
            )  # fmt: skip
        return [row["seq"] for row in rows]

    async def rrf(self, question: Question) -> Ranked:
        scores: dict[int, float] = defaultdict(float)
        for ranked in (await self.bm25(question), await self.vectors(question)):
            for rank, seq in enumerate(ranked, 1):
                scores[seq] += 1 / (RRF + rank)
        return sorted(scores, key=lambda seq: -scores[seq])


def _vector(literal: str) -> dict[int, float]:
    inside = literal.split("}", maxsplit=1)[0].strip("{")
    return {int(index): float(value) for index, _, value in (part.partition(":") for part in inside.split(",") if part)}


# --- The window --------------------------------------------------------------------------------------


async def _windows(services: Services, some: TalkSet, asked: Sequence[Question]) -> Table:
    messages = {talk.id: [m["content"] for m in talk.messages] for talk in some.talks}
    shown: dict[str, list[list[bool]]] = {"last messages that fit": [], "Quire without a query": [], "Quire": []}
    plain: dict[tuple[str, int], str | None] = {}
    for question in asked:
        wanted = [messages[question.talk][seq - 1] for seq in question.evidence]
        for budget in BUDGETS:
            if (question.talk, budget) not in plain:
                plain[question.talk, budget] = await _window(services, question.talk, budget, None)
        windows: dict[str, Callable[[int], Awaitable[str | None]]] = {
            "last messages that fit": lambda budget, q=question: _last(services, messages[q.talk], budget),  # type: ignore[misc]
            "Quire without a query": lambda budget, q=question: _given(plain[q.talk, budget]),  # type: ignore[misc]
            "Quire": lambda budget, q=question: _window(services, q.talk, budget, q.text),  # type: ignore[misc]
        }
        for name, window in windows.items():
            texts = [await window(budget) for budget in BUDGETS]
            shown[name].append([text is not None and all(w in text for w in wanted) for text in texts])
    rows = [
        (name, *(f"{100 * fmean(column):.1f}" for column in zip(*hits, strict=True))) for name, hits in shown.items()
    ]
    notes = ["Share of the questions all of whose evidence is in the window, the question being its `query`."]
    return Table(
        f"All evidence in the window: {some.name}",
        ("", *(f"{budget:,} tokens" for budget in BUDGETS)),
        rows,
        [*notes, *([WINDOW_GOALS] if some.name == "LoCoMo" else [])],
    )


async def _window(services: Services, talk: str, budget: int, query: str | None) -> str | None:
    """All that a window says; None where the budget is too small for it."""
    try:
        found = await context(services, DEFAULT_TENANT, talk, ContextRequest(budget=budget, query=query))
    except BudgetTooSmall:
        return None
    return "\n".join(str(message.get("content")) for message in json.loads(found.body)["messages"])


async def _given(text: str | None) -> str | None:
    return text


async def _last(services: Services, texts: Sequence[str], budget: int) -> str:
    kept: list[str] = []
    free = budget * 9 // 10
    for text in reversed(texts):
        free -= services.count_short(text) + 4
        if free < 0:
            break
        kept.append(text)
    return "\n".join(kept)


# --- Latency -----------------------------------------------------------------------------------------


async def _latency(services: Services, opened: House, sizes: Sequence[int]) -> Table:
    superuser = await asyncpg.connect(opened.postgres.superuser_dsn)
    rows = []
    try:
        name, dimensions = "multilingual-e5-small", 384
        model = embeddings.model_id(name, dimensions)
        for size in sizes:
            owner = owner_of(f"u:of-{size}")
            await _fill(superuser, owner, model, dimensions, size)
            rng = Random(size)
            terms = bm25.query(" ".join(f"word{rng.randint(3, 3000)}" for _ in range(6)))
            meaning = Meaning(model, _random(rng, dimensions), 0.79, 0.02)
            for mode, vector in (("keyword", None), ("hybrid", meaning)):
                wall, server = await _timed(services, opened, owner, terms, vector)
                rows.append((f"{size:,}, {mode}", f"{1000 * wall:.1f}", f"{1000 * server:.1f}"))
    finally:
        await superuser.close()
    notes = (
        "Made-up memories of 30 words and 384 dimensions, of one user; median of the wall times of the statement.",
    )
    return Table("Search by the number of memories", ("memories", "ms", "ms CPU of PostgreSQL"), rows, notes)


async def _timed(
    services: Services, opened: House, owner: UUID, terms: Sequence[int], meaning: Meaning | None
) -> tuple[float, float]:
    walls: list[float] = []
    postmaster: psutil.Process = opened.quire.postmaster
    async with services.database.snapshot(DEFAULT_TENANT) as connection:
        backend = next(p for p in postmaster.children(recursive=True) if p.pid == connection.get_server_pid())
        before = backend.cpu_times()
        for round_ in range(ROUNDS + 2):
            if round_ == 2:  # the first two plan and warm up
                before = backend.cpu_times()
            begun = perf_counter()
            await memories.search(connection, DEFAULT_TENANT, owner, terms, meaning=meaning)
            walls.append(perf_counter() - begun)
        after = backend.cpu_times()
    used = after.user + after.system - before.user - before.system
    return median(walls[2:]), used / ROUNDS


def _random(rng: Random, dimensions: int) -> str:
    values = [rng.gauss(0, 1) for _ in range(dimensions)]
    length = sum(value * value for value in values) ** 0.5
    return embeddings.literal([value / length for value in values])


KINDS = 1_000
"""Different texts and vectors; rows repeat them."""


async def _fill(superuser: asyncpg.Connection, owner: UUID, model: UUID, dimensions: int, size: int) -> None:
    rng = Random(1)
    vocabulary = [*words.WORDS, *(f"word{i}" for i in range(3_000))]
    texts = [
        " ".join(vocabulary[min(len(vocabulary) - 1, int(rng.paretovariate(0.7)))] for _ in range(30))
        for _ in range(KINDS)
    ]
    await superuser.execute("SET session_replication_role = replica")  # no conversation is needed
    await superuser.execute("DROP TABLE IF EXISTS pg_temp.kinds")
    await superuser.execute("CREATE TEMP TABLE kinds (i int PRIMARY KEY, terms sparsevec, embedding halfvec)")
    await superuser.executemany(
        "INSERT INTO kinds VALUES ($1, $2::text::sparsevec, $3::text::halfvec)",
        [(i, bm25.document(text), _random(rng, dimensions)) for i, text in enumerate(texts)],
    )
    ids = [uuid7() for _ in range(size)]
    await superuser.execute(
        "INSERT INTO memories (tenant_id, id, owner, type, conversation_uid, seq, page, start, length, terms)"
        " SELECT $1, x.id, $2, 'episode', $2, x.n, (x.n + 1) / 2, 0, 100, k.terms"
        " FROM unnest($3::uuid[]) WITH ORDINALITY x (id, n) JOIN kinds k ON k.i = (x.n * 7919) % $4::int",
        DEFAULT_TENANT, owner, ids, KINDS,
    )  # fmt: skip
    await superuser.execute(
        "INSERT INTO embeddings (tenant_id, memory_id, owner, model, embedding)"
        " SELECT $1, x.id, $2, $5, k.embedding"
        " FROM unnest($3::uuid[]) WITH ORDINALITY x (id, n) JOIN kinds k ON k.i = (x.n * 7919) % $4::int",
        DEFAULT_TENANT, owner, ids, KINDS, model,
    )  # fmt: skip
    for name in ("memories", "embeddings"):
        await superuser.execute(f"VACUUM ANALYZE {name}")
