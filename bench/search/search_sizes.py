"""What a search takes by the number of memories that a user has: `python -m bench search-sizes`. Of large users with
and without their index.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from random import Random
from statistics import median
from time import perf_counter
from uuid import UUID

import asyncpg
import psutil

from app.core.scope import Scope
from app.core.search.large import LARGE
from app.ids import uuid7
from app.jobs.search_index import BATCH, centroids_of
from app.postgres.database import Database
from app.postgres.tenants import DEFAULT_TENANT
from app.postgres.transactions import ReadTx
from app.store.memory import embeddings, memories, search_index
from app.store.memory.memories import Meaning, Scoring
from app.text import bm25
from bench import words
from bench.harness import Harness
from bench.plots import Lines
from bench.tables import Table

SIZES = (10, 100, 1_000, 10_000, 100_000, 200_000)
MODES = ("keyword", "semantic", "hybrid")
ROUNDS, LOOKED_AT, ROUNDS_MAX = 8, 400_000, 300
"""The least and most searches of a user. Between them, searches go on until this many memories were read."""


def run(opened: Harness, *, quick: bool) -> list[Table]:
    return [asyncio.run(_run(opened, SIZES[:4] if quick else SIZES)), asyncio.run(_in_scopes(opened))]


async def _run(opened: Harness, sizes: Sequence[int]) -> Table:
    database = await Database.connect(opened.postgres.app_dsn, pool_size=1)
    try:
        return await _latency(database, opened, sizes)
    finally:
        await database.close()


async def _latency(database: Database, opened: Harness, sizes: Sequence[int]) -> Table:
    superuser = await asyncpg.connect(opened.postgres.superuser_dsn)
    rows = []
    lines: dict[str, list[tuple[float, float]]] = {mode: [] for mode in MODES}
    try:
        name, dimensions = "multilingual-e5-small", 384
        model = embeddings.model_id(name, dimensions)
        for size in sizes:
            owner = Scope("user", f"of-{size}").owner
            await fill(superuser, owner, model, dimensions, size)
            rng = Random(size)
            if size >= LARGE:
                await index(database, superuser, owner, model)
            terms = bm25.query(" ".join(f"word{rng.randint(3, 3000)}" for _ in range(6)))
            meaning = Meaning(model, random_vector(rng, dimensions), 0.79, 0.02)
            for mode in MODES:
                scoring = Scoring(terms, None if mode == "keyword" else meaning, only_meaning=mode == "semantic")
                search = partial(memories.search, owners=[owner], scoring=scoring)
                wall, server = await _timed(database, opened, size, search)
                rows.append((f"{size:,}, {mode}", f"{1000 * wall:.1f}", f"{1000 * server:.1f}"))
                lines[mode].append((size, 1000 * server))
                if size >= LARGE:
                    exact = partial(_exact, owner=owner, scoring=scoring)
                    wall, server = await _timed(database, opened, size, exact)
                    rows.append((f"{size:,}, {mode}, without its index", f"{1000 * wall:.1f}", f"{1000 * server:.1f}"))
    finally:
        await superuser.close()
    notes = (
        "Made-up memories of 30 words and 384 dimensions, of one user; median of the wall times of the statement.",
    )
    title = "Search by the number of memories"
    plot = Lines("search-sizes", title, "memories of the user", "ms CPU of PostgreSQL", lines, log_y=True)
    return Table(title, ("memories of the user", "ms", "ms CPU of PostgreSQL"), rows, notes, [plot])


async def _exact(tx: ReadTx, owner: UUID, scoring: Scoring) -> object:
    statement, arguments = memories.search_statement([owner], scoring, limit=10)
    return await tx.fetch(statement, **arguments)


SHARED, SCOPES, TURNS = 10_000, 5, 60


async def index(database: Database, superuser: asyncpg.Connection, owner: UUID, model: UUID) -> None:
    """Build the index of a large user, as the job does."""
    async with database.snapshot(DEFAULT_TENANT) as tx:
        found = await search_index.find(tx, owner, model)
    centroids = await centroids_of(database, DEFAULT_TENANT, owner, model, found.count)
    async with database.begin(DEFAULT_TENANT) as tx:
        await search_index.begin(tx, owner, model, centroids)
    is_done = False
    while not is_done:
        async with database.begin(DEFAULT_TENANT) as tx:
            through = (await search_index.find(tx, owner, model)).through
            is_done = through is None or await search_index.index_next(tx, owner, through, BATCH)
    for table in ("memories", "postings", "listed"):
        await superuser.execute(f"VACUUM ANALYZE {table}")


async def _in_scopes(opened: Harness) -> Table:
    """Compare a search in one scope with one in several scopes that have the same rows, in turns."""
    database = await Database.connect(opened.postgres.app_dsn, pool_size=1)
    superuser = await asyncpg.connect(opened.postgres.superuser_dsn)
    model, dimensions = embeddings.model_id("multilingual-e5-small", 384), 384
    one, several = [Scope("user", "one").owner], [Scope("space", f"{number}").owner for number in range(SCOPES)]
    rows = []
    try:
        for owner in (*one, *several):
            await fill(superuser, owner, model, dimensions, SHARED if [owner] == one else SHARED // SCOPES)
        await superuser.execute("VACUUM ANALYZE memories, embeddings")
        for mode in MODES:
            spent: dict[int, list[float]] = {1: [], SCOPES: []}
            rng = Random(SHARED)
            async with database.snapshot(DEFAULT_TENANT) as tx:
                for turn in range(TURNS + 2):
                    terms = bm25.query(" ".join(f"word{rng.randint(3, 3000)}" for _ in range(6)))
                    meaning = Meaning(model, random_vector(rng, dimensions), 0.79, 0.02)
                    scoring = Scoring(terms, None if mode == "keyword" else meaning, only_meaning=mode == "semantic")
                    for owners in (one, several)[:: 1 if turn % 2 else -1]:
                        begun = perf_counter()
                        await memories.search(tx, owners, scoring)
                        if turn > 1:  # the first two are for planning and warming up
                            spent[len(owners)].append(1000 * (perf_counter() - begun))
            alone, shared = median(spent[1]), median(spent[SCOPES])
            rows.append((mode, f"{alone:.1f}", f"{shared:.1f}", f"{shared / alone:.2f}"))
    finally:
        await superuser.close()
        await database.close()
    head = (f"{SHARED:,} memories", "in one scope, ms", f"in {SCOPES} scopes, ms", "of one")
    return Table("Search in several scopes", head, rows, ("Medians of paired searches of the same rows.",))


async def _timed(
    database: Database, opened: Harness, size: int, search: Callable[[ReadTx], Awaitable[object]]
) -> tuple[float, float]:
    walls: list[float] = []
    rounds = min(max(ROUNDS, LOOKED_AT // size), ROUNDS_MAX)
    postmaster: psutil.Process = opened.quire.postmaster
    async with database.snapshot(DEFAULT_TENANT) as tx:
        backend = next(p for p in postmaster.children(recursive=True) if p.pid == tx.connection.get_server_pid())
        before = backend.cpu_times()
        for round_ in range(rounds + 2):
            if round_ == 2:  # the first two are for planning and warming up
                before = backend.cpu_times()
            begun = perf_counter()
            await search(tx)
            walls.append(perf_counter() - begun)
        after = backend.cpu_times()
    used = after.user + after.system - before.user - before.system
    return median(walls[2:]), used / rounds


def random_vector(rng: Random, dimensions: int) -> str:
    """Return a random vector in pgvector's text form."""
    values = [rng.gauss(0, 1) for _ in range(dimensions)]
    length = sum(value * value for value in values) ** 0.5
    return embeddings.literal([value / length for value in values])


KINDS = 1_000
"""The number of different texts and vectors, which rows repeat."""


async def fill(superuser: asyncpg.Connection, owner: UUID, model: UUID, dimensions: int, size: int) -> None:
    """Insert memories of a user with their vectors."""
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
        [(i, bm25.document(text), random_vector(rng, dimensions)) for i, text in enumerate(texts)],
    )
    ids = [uuid7() for _ in range(size)]
    await superuser.execute(
        "INSERT INTO memories (tenant_id, id, owner, type, conversation_id, conversation_uid, seq, page, start, length, terms)"
        " SELECT $1, x.id, $2, 'episode', ($2::uuid)::text, $2, x.n, (x.n + 1) / 2, 0, 100, k.terms"
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
