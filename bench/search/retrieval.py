"""Whether search finds messages that left the window: `python -m bench retrieval`.

Each conversation is appended under a user of its own, its memories are given vectors by the service's own worker, and
every question is asked of the service's own search and window. Recall@k is the share of a question's evidence (the
turns that hold its answer) among the first k turns found, averaged over the questions. Beside it, in the same run and
over the same rows: BM25 alone, the vectors alone, and both fused by reciprocal rank.

It is some 20,000 searches and windows, one after another: 40 minutes where the cores have other work. Standard error
tells how far it is.
"""

from __future__ import annotations

import asyncio
import json
from collections import defaultdict
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from math import ceil, log, sqrt
from statistics import fmean, median
from typing import Any

import click

from app.assembly import defaults
from app.core.messages import Limits, read
from app.core.scope import Scope
from app.errors import BudgetTooSmall
from app.postgres.database import Database
from app.postgres.tenants import DEFAULT_TENANT
from app.providers import local_embeddings
from app.runtime import Runtime
from app.services.conversations.append import append
from app.services.conversations.call import ContextRequest
from app.services.conversations.context import context
from app.services.conversations.requests import PostedMessages
from app.services.memory import querying, searching
from app.services.memory.searching import SearchRequest
from app.settings import Settings
from app.text import bm25, tokens
from bench import harness
from bench.harness import Harness
from bench.search import talks
from bench.search.talks import Question, Talk, TalkSet
from bench.tables import Table
from bench.window import replay

KS = (5, 10, 20)
STRICT_K = 10
DEPTH = 60
BUDGETS = (1_000, 2_000, 4_000, 8_000, 16_000, 32_000, 128_000)
UNASKED_BUDGET = 8_000
QUICK_STEP = 5
APPENDED_AT_ONCE = 200
RRF = 60
NEIGHBOURS_PART = 0.35
LOST_BUDGET, LOST_DEPTH = 4_000, 100
EMBEDDING_SECONDS_MAX = 1_800
GOALS = (
    "Goals: LoCoMo without the adversarial questions R@10 74, adversarial 84; MADial Chinese 70; hybrid in no category "
    "more than a point below the better of its legs."
)
WINDOW_GOALS = "Goals for LoCoMo, all questions, from 2,000 tokens on: 82 / 89 / 94 / 97 / 99."


def run(_: Harness, *, quick: bool) -> list[Table]:
    """For `python -m bench`. Runs in a harness of its own with the local model in its worker."""
    with harness.opened({"MEMORY_EMBEDDING_MODEL": ""}) as opened:
        return asyncio.run(_run(opened, quick=quick))


async def _run(opened: Harness, *, quick: bool) -> list[Table]:
    database = await Database.connect(opened.postgres.app_dsn, pool_size=4)
    try:
        settings = Settings(quire_data_dir=opened.folder)
        counter = tokens.load(opened.folder / "vocabularies")
        embedder = local_embeddings.load(threads=2)
        runtime = Runtime(defaults(settings), database, counter, embedder=embedder)
        found: list[Table] = []
        quiet: list[Quiet] = []
        lost: list[tuple[str, ...]] = []
        ours = (talks.shipped("en"), talks.shipped("zh"), talks.long("a"), talks.long("b"))
        for some in (*ours, *talks.public(replay.DATA)):
            asked = some.questions[:: QUICK_STEP if quick else 1]
            click.echo(f"{some.name}: {len(some.talks)} conversations, {len(asked)} questions", err=True)
            for talk in some.talks:
                await _load(runtime, talk)
            await embedded(runtime)
            found += [*await _recalls(runtime, some, asked), await _windows(runtime, some, asked)]
            lost.append((some.name, *await _lost(runtime, some, asked)))
            quiet += await _unasked(runtime, some)
        return [*found, _losses(lost), _quiet(quiet)]
    finally:
        await database.close()


async def _load(runtime: Runtime, talk: Talk) -> None:
    for at in range(0, len(talk.messages), APPENDED_AT_ONCE):
        drafts = read(list(talk.messages[at : at + APPENDED_AT_ONCE]), Limits())
        await append(runtime, DEFAULT_TENANT, talk.id, PostedMessages(drafts, user_id=talk.id), None)


async def embedded(runtime: Runtime) -> None:
    """Wait until the service's worker has given every memory its vector."""
    if runtime.embedder is None:
        return
    async with asyncio.timeout(EMBEDDING_SECONDS_MAX):
        while True:
            async with runtime.database.snapshot(DEFAULT_TENANT) as tx:
                if not await tx.fetchval("SELECT count(*) FROM unembedded WHERE tenant_id = $1"):
                    return
            await asyncio.sleep(1)


# --- Recall ------------------------------------------------------------------------------------------

Ranked = Sequence[int]
"""Sequence numbers of turns, best first."""
Way = Callable[[Question], Awaitable[Ranked]]


async def _recalls(runtime: Runtime, some: TalkSet, asked: Sequence[Question]) -> list[Table]:
    baselines = _Baselines(runtime, {talk.id: talk for talk in some.talks})
    ways: dict[str, Way] = {"BM25 alone": baselines.bm25, "BM25 and both neighbours": baselines.with_neighbours}
    if runtime.embedder is not None:
        ways |= {"vectors alone": baselines.vectors, "RRF of both": baselines.rrf}
    asked_at = {talk.id: talk.asked_at for talk in some.talks}
    ways["Quire, keyword"] = lambda question: _found(runtime, question, "keyword", asked_at)
    if runtime.embedder is not None:
        ways["Quire, semantic"] = lambda question: _found(runtime, question, "semantic", asked_at)
        ways["Quire, hybrid"] = lambda question: _found(runtime, question, "hybrid", asked_at)
    categories = _categories(some, asked)
    rows, strictly = [], []
    for name, way in ways.items():
        scores: dict[str, list[list[float]]] = defaultdict(list)
        shares: dict[str, list[float]] = defaultdict(list)
        for question in asked:
            ranked = await way(question)
            share = len(question.evidence & set(ranked[:STRICT_K])) / len(question.evidence)
            for category in _in(some, question):
                shares[category].append(share)
            recall = [len(question.evidence & set(ranked[:k])) / len(question.evidence) for k in KS]
            for category in _in(some, question):
                scores[category].append(recall)
        rows.append((name, *(_percent(scores[category]) for category in categories)))
        strictly.append((name, *(strict_and_lax(shares[category]) for category in categories)))
    counts = "; ".join(f"{c} {sum(c in _in(some, q) for q in asked)}" for c in categories)
    notes = [f"Recall at {', '.join(map(str, KS))} in percent. Questions: {counts}."]
    if runtime.embedder is None:
        notes.append("The local embedding model is not installed: keyword search only.")
    intervals = (
        f"All of a question's evidence / any of it among the first {STRICT_K}, in percent, each with half of its 95 % "
        "interval (Wilson's)."
    )
    return [
        Table(f"Evidence found: {some.name}", ("", *categories), rows, [*notes, GOALS]),
        Table(f"All or any evidence found: {some.name}", ("", *categories), strictly, [intervals]),
    ]


def strict_and_lax(shares: Sequence[float]) -> str:
    """Return how often all evidence, and any, is found, each with half of its interval."""
    return " / ".join(interval([share >= least for share in shares]) for least in (1.0, 1e-9))


def interval(flags: Sequence[bool]) -> str:
    count, z = len(flags), 1.96
    part = sum(flags) / count
    half = z * sqrt(part * (1 - part) / count + z * z / (4 * count * count)) / (1 + z * z / count)
    return f"{100 * part:.1f} ± {100 * half:.1f}"


def _percent(recalls: Sequence[Sequence[float]]) -> str:
    return " / ".join(f"{100 * fmean(column):.1f}" for column in zip(*recalls, strict=True))


def _in(some: TalkSet, question: Question) -> list[str]:
    """Return the columns in which a question counts: its category, the total, and its conversation's half."""
    if some.name != "LoCoMo":
        return [question.category, "all"]
    if question.category == "adversarial":
        return [question.category]
    half = [talk.id for talk in some.talks].index(question.talk) * 2 // len(some.talks)
    return [question.category, "not adversarial", f"their half {half + 1}"]


def _categories(some: TalkSet, asked: Sequence[Question]) -> list[str]:
    found = {category: None for question in asked for category in _in(some, question)}
    return sorted(found, key=lambda c: (c in ("all", "not adversarial", "their half 1", "their half 2"), c))


async def _found(
    runtime: Runtime, question: Question, mode: querying.Mode, asked_at: Mapping[str, datetime | None]
) -> Ranked:
    request = SearchRequest(
        question.text[:10_000], user_id=question.talk, mode=mode, limit=DEPTH, asked_at=asked_at[question.talk]
    )
    found = await searching.search(runtime, DEFAULT_TENANT, request)
    return [hit.hit.seq or 0 for hit in found.hits]


@dataclass
class _Baselines:
    """Simple baselines over the same turns: without neighbours and weights, with unchanged vectors."""

    runtime: Runtime
    talks: Mapping[str, Talk]

    def __post_init__(self) -> None:
        self._documents: dict[str, list[dict[int, float]]] = {}

    async def bm25(self, question: Question) -> Ranked:
        return _ranked(self._scores(question))

    async def with_neighbours(self, question: Question) -> Ranked:
        """Rank turns with a part of the scores of the turns before and after added to each."""
        scores = self._scores(question)
        around = zip([0.0, *scores], scores, [*scores[1:], 0.0], strict=False)
        return _ranked([own + NEIGHBOURS_PART * (before + after) for before, own, after in around])

    def _scores(self, question: Question) -> list[float]:
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
        return scores

    def _messages(self, question: Question) -> Sequence[Mapping[str, Any]]:
        return self.talks[question.talk].messages

    async def vectors(self, question: Question) -> Ranked:
        query = await querying.prepare(self.runtime, DEFAULT_TENANT, question.text)
        assert query.meaning is not None
        async with self.runtime.database.snapshot(DEFAULT_TENANT) as tx:
            rows = await tx.fetch(
                "SELECT m.seq FROM embeddings e JOIN memories m ON m.tenant_id = $1 AND m.id = e.memory_id"
                " WHERE e.tenant_id = $1 AND e.owner = $2 ORDER BY e.embedding <#> $3::text::halfvec LIMIT $4", Scope("user", question.talk).owner, query.meaning.vector, DEPTH,
            )  # fmt: skip
        return [row["seq"] for row in rows]

    async def rrf(self, question: Question) -> Ranked:
        scores: dict[int, float] = defaultdict(float)
        for ranked in (await self.bm25(question), await self.vectors(question)):
            for rank, seq in enumerate(ranked, 1):
                scores[seq] += 1 / (RRF + rank)
        return sorted(scores, key=lambda seq: -scores[seq])


def _ranked(scores: Sequence[float]) -> Ranked:
    order = sorted(range(len(scores)), key=lambda i: -scores[i])
    return [i + 1 for i in order[:DEPTH] if scores[i] > 0]


def _vector(literal: str) -> dict[int, float]:
    inside = literal.split("}", maxsplit=1)[0].strip("{")
    return {int(index): float(value) for index, _, value in (part.partition(":") for part in inside.split(",") if part)}


# --- The window --------------------------------------------------------------------------------------


async def _windows(runtime: Runtime, some: TalkSet, asked: Sequence[Question]) -> Table:
    messages = {talk.id: [m["content"] for m in talk.messages] for talk in some.talks}
    shown: dict[str, list[list[bool]]] = {"last messages that fit": [], "Quire without a query": [], "Quire": []}
    plain: dict[tuple[str, int], str | None] = {}
    for question in asked:
        wanted = [squeezed(messages[question.talk][seq - 1]) for seq in question.evidence]
        for budget in BUDGETS:
            if (question.talk, budget) not in plain:
                plain[question.talk, budget] = await _window(runtime, question.talk, budget, None)
        windows: dict[str, Callable[[int], Awaitable[str | None]]] = {
            "last messages that fit": lambda budget, q=question: _last(runtime, messages[q.talk], budget),  # type: ignore[misc]
            "Quire without a query": lambda budget, q=question: _given(plain[q.talk, budget]),  # type: ignore[misc]
            "Quire": lambda budget, q=question: _window(runtime, q.talk, budget, q.text),  # type: ignore[misc]
        }
        for name, window in windows.items():
            texts = [await window(budget) for budget in BUDGETS]
            shown[name].append([text is not None and all(w in squeezed(text) for w in wanted) for text in texts])
    rows = [
        (name, *(f"{100 * fmean(column):.1f}" for column in zip(*hits, strict=True))) for name, hits in shown.items()
    ]
    notes = ["Share of the questions with all of their evidence in the window; the question is the `query`."]
    return Table(
        f"All evidence in the window: {some.name}",
        ("", *(f"{budget:,} tokens" for budget in BUDGETS)),
        rows,
        [*notes, *([WINDOW_GOALS] if some.name == "LoCoMo" else [])],
    )


async def _lost(runtime: Runtime, some: TalkSet, asked: Sequence[Question]) -> list[str]:
    """Return for how many questions a window lacks evidence, and for which share of all each step lost it."""
    talks_by_id = {talk.id: talk for talk in some.talks}
    lost = dict.fromkeys(("packing", "ranking", "finding"), 0)
    for question in asked:
        talk = talks_by_id[question.talk]
        texts = [message["content"] for message in talk.messages]
        window = await _window(runtime, talk.id, LOST_BUDGET, question.text) or ""
        if all(squeezed(texts[seq - 1]) in squeezed(window) for seq in question.evidence):
            continue
        request = SearchRequest(
            question.text[:10_000], user_id=talk.id, limit=LOST_DEPTH, asked_at=talk.asked_at, relevance_min=0.0
        )
        hits = (await searching.search(runtime, DEFAULT_TENANT, request)).hits
        ranked = [hit.hit.seq or 0 for hit in hits]
        if question.evidence <= _filled(runtime, texts, ranked):
            lost["packing"] += 1
        else:
            lost["ranking" if question.evidence <= set(ranked) else "finding"] += 1
    return [f"{100 * count / len(asked):.1f}" for count in (sum(lost.values()), *lost.values())]


def _filled(runtime: Runtime, texts: Sequence[str], ranked: Ranked) -> set[int]:
    """Return the turns that fit a budget in the order of a search, with nothing around them."""
    free, held = LOST_BUDGET * 9 // 10, set()
    for seq in ranked:
        tokens = runtime.count_short(texts[seq - 1])
        if tokens <= free:
            free -= tokens
            held.add(seq)
    return held


def _losses(rows: Sequence[tuple[str, ...]]) -> Table:
    about = (
        f"Questions in percent whose evidence is not all in a window of {LOST_BUDGET:,} tokens. Packing: the same "
        f"tokens, filled in the order of the search, would hold it. Ranking: it is among the first {LOST_DEPTH} found. "
        "Finding: it is not."
    )
    return Table("Where the rest is lost", ("", "all", "packing", "ranking", "finding"), list(rows), [about])


@dataclass(frozen=True)
class Quiet:
    """The tokens that an unanswerable query added to a window, and whether a search found anything."""

    name: str
    half: str
    kind: str
    tail: int
    """Tokens of the tail."""
    is_found: bool


async def _unasked(runtime: Runtime, some: TalkSet) -> list[Quiet]:
    found = []
    for query in talks.unasked():
        for talk in some.talks:
            request = ContextRequest(budget=UNASKED_BUDGET, query=query.text)
            window = await context(runtime, DEFAULT_TENANT, talk.id, request)
            answer = await searching.search(runtime, DEFAULT_TENANT, SearchRequest(query.text, user_id=talk.id))
            found.append(Quiet(some.name, query.half, query.kind, window.window.ledger.tail, bool(answer.hits)))
    return found


def _quiet(found: Sequence[Quiet]) -> Table:
    """Return the results by half, set and kind of query."""
    groups: dict[str, list[Quiet]] = defaultdict(list)
    for one in found:
        half = "chosen on" if one.half == "a" else "held out"
        for group in (f"{half}: all", f"{half}: {one.name}", f"{half}: {one.kind}"):
            groups[group].append(one)
    rows = []
    for group, members in sorted(groups.items()):
        tails = sorted(one.tail for one in members)
        brought = 100 * fmean(one.tail > 0 for one in members)
        searched = 100 * fmean(one.is_found for one in members)
        p95 = tails[max(0, ceil(0.95 * len(tails)) - 1)]
        rows.append(
            (group, f"{len(tails):,}", f"{median(tails):,.0f}", f"{p95:,}", f"{brought:.1f} %", f"{searched:.1f} %")
        )
    about = (
        f"{len(talks.unasked())} queries, each in every conversation of every set, at {UNASKED_BUDGET:,} tokens: "
        "bench/search/talks/unasked.txt. Goals: median 0, 95th percentile at most 300."
    )
    return Table(
        "What a query that nothing answers brings in",
        ("", "windows", "median tokens", "95th percentile", "windows with any", "searches that find any"),
        rows,
        [about],
    )


async def _window(runtime: Runtime, talk: str, budget: int, query: str | None) -> str | None:
    """Return all texts of a window; None if the budget is too small."""
    try:
        found = await context(runtime, DEFAULT_TENANT, talk, ContextRequest(budget=budget, query=query))
    except BudgetTooSmall:
        return None
    return "\n".join(str(message.get("content")) for message in json.loads(found.body)["messages"])


def squeezed(text: str) -> str:
    """Return a text with single spaces, because further lines of a quoted message are indented."""
    return " ".join(text.split())


async def _given(text: str | None) -> str | None:
    return text


async def _last(runtime: Runtime, texts: Sequence[str], budget: int) -> str:
    kept: list[str] = []
    free = budget * 9 // 10
    for text in reversed(texts):
        free -= runtime.count_short(text) + 4
        if free < 0:
            break
        kept.append(text)
    return "\n".join(kept)
