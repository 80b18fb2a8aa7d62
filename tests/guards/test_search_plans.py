"""Search looks at one owner's rows, in covering indexes alone, whatever the planner thinks that it knows."""

import json
import time
from collections.abc import AsyncIterator, Sequence
from random import Random
from uuid import UUID, uuid4

import asyncpg
import pytest

from app.ids import uuid7
from app.postgres.database import Database
from app.postgres.embedded import EmbeddedPostgres
from app.postgres.statements import Statement
from app.postgres.transactions import ReadTx, Tx
from app.store.memory import embeddings, memories
from app.store.memory.memories import Meaning, PassageFilter, Scoring, Within
from app.store.memory.search_statement import (
    BY_WORDS,
    IN_CONVERSATION,
    LOOKED_AT,
    RECENT,
    SEARCH,
    SILENT_MAX,
    candidates,
    with_vectors,
)
from app.text import bm25
from tests.guards.tenants import ANN, BOB
from tests.guards.test_query_plans import literal, steps

pytestmark = [pytest.mark.slow, pytest.mark.anyio]

HUGE, SMALL, DIMENSIONS = 5_000, 12, 32
HUGE_OWNER, SMALL_OWNER = UUID(int=1), UUID(int=2)
SHORT = Within(UUID(int=7), ["short"])
"""A conversation of the huge one."""
MODEL = embeddings.model_id("any", DIMENSIONS)
NOTHING_SPECIAL: dict[str, object] = {
    **dict.fromkeys(
        ("conversation_uid", "types", "among", "keywords", "asking_uid", "asking_seq")
    ),
    "limit": 10, "score_min": "-Infinity", "weight": 1.0, "only_meaning": False, "found_min": 1.5, "sensitive": False,
    "is_said": False, "since": memories.FIRST, "until": memories.LAST,
    "every_passage": False, "speakers": bm25.any_of(bm25.speakers("Ann")),
    "times_since": [UUID(int=0)], "times_until": [UUID(int=2**127)], "times_weight": [3],
}  # fmt: skip


def execution(name: str, searching: Statement, owner: UUID, terms: Sequence[int]) -> str:
    """A search of an owner's memories by terms and, if it looks at vectors, by one."""
    meaning = {"model": MODEL, "vector": vector("query"), "usual_mean": 0.3, "usual_deviation": 0.1}
    named = {**NOTHING_SPECIAL, "owners": [owner], "terms": terms, **(meaning if searching is SEARCH else {})}
    return f"EXECUTE {name}({', '.join(map(literal, (ANN, *searching.arguments(named))))})"


@pytest.fixture
async def tx(database: Database, superuser: asyncpg.Connection, fresh: None) -> AsyncIterator[ReadTx]:
    """A huge owner, a small one and others in one tenant; a huge one of the same name in another."""
    await superuser.execute("SET session_replication_role = replica")  # no conversation is needed
    for tenant, owner, size in (
        (ANN, HUGE_OWNER, HUGE - 40),
        (ANN, SMALL_OWNER, SMALL),
        (BOB, HUGE_OWNER, HUGE),
        *((ANN, uuid4(), 2_000) for _ in range(8)),
    ):
        await remember(superuser, tenant, owner, size)
    await remember(superuser, ANN, HUGE_OWNER, 40, SHORT)
    for table in ("memories", "embeddings"):
        await vacuum(superuser, table)
    async with database.snapshot(ANN) as opened:
        yield opened


async def vacuum(superuser: asyncpg.Connection, table: str) -> None:
    """Until its pages are known to hold nothing that anybody cannot see. While an autovacuum analyzes another table,
    they are not.
    """
    deadline = time.monotonic() + 60
    everything = f"SELECT relallvisible = relpages FROM pg_class WHERE relname = '{table}'"
    while time.monotonic() < deadline:
        await superuser.execute(f"VACUUM ANALYZE {table}")
        if await superuser.fetchval(everything):
            return
    raise AssertionError(f"something keeps the pages of {table} from being visible to all")


async def remember(
    superuser: asyncpg.Connection, tenant: UUID, owner: UUID, size: int, said_in: Within | None = None
) -> None:
    ids = [uuid7() for _ in range(size)]
    some = [vector(str(number)) for number in range(SMALL)]
    await superuser.execute(
        "INSERT INTO memories"
        " (tenant_id, id, owner, type, conversation_id, conversation_uid, seq, page, start, length, terms)"
        " SELECT $1, id, $2, 'episode', $5, $6, n, (n + 1) / 2, 0, 9, $4::text::sparsevec"
        " FROM unnest($3::uuid[]) WITH ORDINALITY x (id, n)",
        tenant, owner, ids, bm25.document("green tea from Hangzhou"),
        said_in.ids[0] if said_in else f"of {owner}", said_in.uid if said_in else owner,
    )  # fmt: skip
    await superuser.execute(
        "INSERT INTO embeddings (tenant_id, memory_id, owner, model, embedding)"
        " SELECT $1, id, $2, $4, v::halfvec FROM unnest($3::uuid[], $5::text[]) x (id, v)",
        tenant, owner, ids, MODEL, [some[number % SMALL] for number in range(size)],
    )  # fmt: skip


def vector(seed: str) -> str:
    rng = Random(seed)
    values = [rng.gauss(0, 1) for _ in range(DIMENSIONS)]
    length = sum(value * value for value in values) ** 0.5
    return embeddings.literal([value / length for value in values])


@pytest.mark.parametrize("plan", ["custom", "generic"])
@pytest.mark.parametrize("owner", [HUGE_OWNER, SMALL_OWNER])
@pytest.mark.parametrize("name", ["BY_WORDS", "SEARCH"])
async def test_a_search_reads_covering_indexes_once(tx: Tx, name: str, owner: UUID, plan: str) -> None:
    searching = SEARCH if name == "SEARCH" else BY_WORDS
    execute = execution(name, searching, owner, bm25.query("green tea from Hangzhou and cake, jam, scones, cream"))
    # Where one owner has most of a table, reading all of it is as good; that is not what is asked.
    await tx.connection.execute(f"SET LOCAL plan_cache_mode = force_{plan}_plan; SET LOCAL enable_seqscan = off")
    await tx.connection.execute(f"PREPARE {name} AS {searching}")
    [row] = await tx.connection.fetch(f"EXPLAIN (ANALYZE, FORMAT JSON) {execute}")
    await tx.connection.execute(f"DEALLOCATE {name}")
    plan_made = list(steps(json.loads(row[0])[0]["Plan"]))
    for step in plan_made:  # "scored" has a row for each memory
        assert step.get("CTE Name") != "scored" or step["Actual Loops"] == 1, "all are read for each that is returned"
    scans = [step for step in plan_made if "Relation Name" in step]
    assert scans
    for step in scans:
        assert "Index" in step["Node Type"], json.dumps(step)
        if step["Index Name"] == "memories_conversation_idx":  # the turns around the best
            assert step["Actual Loops"] <= SILENT_MAX
            assert step["Actual Rows"] <= 3
            assert "conversation_id = " in step["Index Cond"], step
            continue
        if step["Actual Loops"] > 1 or step["Index Name"] == "memories_pkey":
            # What may be lifted by its neighbours, and what is returned: each is looked up by its id.
            assert step["Actual Loops"] * step["Actual Rows"] <= LOOKED_AT
            assert "id = " in step["Index Cond"], step
            continue
        assert step["Node Type"] == "Index Only Scan", json.dumps(step)
        assert step["Index Name"] in ("memories_search_idx", "embeddings_search_idx"), step
        assert step["Heap Fetches"] == 0, step
        assert step["Actual Rows"] <= (HUGE if owner == HUGE_OWNER else SMALL), step
        assert step["Plan Rows"] <= HUGE / 10, "with many a plan reads all memories for those that are returned"


INDEXED_ROWS_MAX = 3_000


@pytest.mark.parametrize("plan", ["custom", "generic"])
async def test_a_search_by_an_index_reads_candidates_alone(tx: Tx, superuser: asyncpg.Connection, plan: str) -> None:
    """Of words that everybody has nobody is a candidate, so the vectors of the lists are read."""
    centroids = [vector(str(number)) for number in range(SMALL)]
    async with superuser.transaction():
        await superuser.execute(
            "INSERT INTO search_indexes VALUES ($1, $2, $3, $4::text[]::halfvec[])", ANN, HUGE_OWNER, MODEL, centroids
        )
        await superuser.execute(
            "INSERT INTO listed SELECT tenant_id, memory_id, owner, model, (SELECT n FROM unnest($3::text[])"
            " WITH ORDINALITY c (v, n) ORDER BY v::halfvec <#> e.embedding LIMIT 1), embedding"
            " FROM embeddings e WHERE tenant_id = $1 AND owner = $2",
            ANN, HUGE_OWNER, centroids,
        )  # fmt: skip
        await superuser.execute(
            "INSERT INTO postings SELECT tenant_id, owner, n, id FROM memories, generate_series(1, 20) n"
            " WHERE tenant_id = $1 AND owner = $2",
            ANN, HUGE_OWNER,
        )  # fmt: skip
    for table in ("listed", "postings"):
        await vacuum(superuser, table)
    searching = with_vectors(IN_CONVERSATION, candidates(lists=2))
    meaning = {"model": MODEL, "vector": vector("query"), "usual_mean": 0.3, "usual_deviation": 0.1}
    where = {"owners": [HUGE_OWNER], "indexed": [HUGE_OWNER], "scanned": [], "literals": []}
    named = {**NOTHING_SPECIAL, **where, **meaning, "terms": bm25.query("green tea from Hangzhou")}
    await tx.connection.execute(f"SET LOCAL plan_cache_mode = force_{plan}_plan; SET LOCAL enable_seqscan = off")
    await tx.connection.execute(f"PREPARE by_index AS {searching}")
    execute = f"EXECUTE by_index({', '.join(map(literal, (ANN, *searching.arguments(named))))})"
    [row] = await tx.connection.fetch(f"EXPLAIN (ANALYZE, FORMAT JSON) {execute}")
    await tx.connection.execute("DEALLOCATE by_index")
    read: dict[str, float] = {}
    for step in steps(json.loads(row[0])[0]["Plan"]):
        if "Relation Name" in step:
            assert "Index" in step["Node Type"], json.dumps(step)
            rows = step["Actual Rows"] + step.get("Rows Removed by Filter", 0)
            read[step["Index Name"]] = read.get(step["Index Name"], 0) + step["Actual Loops"] * rows
    assert read["listed_search_idx"] > 0
    assert read["memories_search_idx"] > 0
    assert max(read.values()) <= INDEXED_ROWS_MAX < HUGE, read


@pytest.mark.parametrize("plan", ["custom", "generic"])
@pytest.mark.parametrize("by", ["conversation", "time", "among", "types"])
async def test_a_narrow_search_reads_what_it_is_narrowed_to(
    tx: Tx, superuser: asyncpg.Connection, by: str, plan: str
) -> None:
    of_it = "SELECT id FROM memories WHERE conversation_uid = $1 ORDER BY id"
    ids = [row["id"] for row in await superuser.fetch(of_it, SHORT.uid)]
    assert len(ids) == 40
    if by == "types":
        await superuser.execute("UPDATE memories SET type = 'fact' WHERE conversation_uid = $1", SHORT.uid)
    where = {
        "conversation": PassageFilter(conversation=SHORT),
        "time": PassageFilter(since=ids[0], until=ids[-1]),
        "among": PassageFilter(among=ids),
        "types": PassageFilter(types=["fact", "preference"]),
    }[by]
    scoring = Scoring(bm25.query("green tea"), Meaning(MODEL, vector("query"), 0.3, 0.1))
    indexed: list[UUID] | None = [] if by == "time" else None
    searching, named = memories.search_statement([HUGE_OWNER], scoring, where, indexed, limit=10)
    await tx.connection.execute(f"SET LOCAL plan_cache_mode = force_{plan}_plan; SET LOCAL enable_seqscan = off")
    await tx.connection.execute(f"PREPARE narrow AS {searching}")
    execute = f"EXECUTE narrow({', '.join(map(literal, (ANN, *searching.arguments(named))))})"
    [row] = await tx.connection.fetch(f"EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) {execute}")
    await tx.connection.execute("DEALLOCATE narrow")
    newest = []
    for step in steps(json.loads(row[0])[0]["Plan"]):
        if "Relation Name" in step:
            rows = step["Actual Loops"] * (step["Actual Rows"] + step.get("Rows Removed by Filter", 0))
            if rows > len(ids):
                newest.append((step["Scan Direction"], rows))
                continue
            assert step["Shared Hit Blocks"] + step["Shared Read Blocks"] <= 10 * len(ids), step
    assert all(direction == "Backward" and rows <= RECENT for direction, rows in newest), newest


async def test_a_small_owner_is_searched_in_full_despite_a_huge_one(tx: ReadTx) -> None:
    meaning = Meaning(MODEL, vector("query"), 0.3, 0.1)
    own = {row["id"] for row in await tx.connection.fetch("SELECT id FROM memories WHERE owner = $1", SMALL_OWNER)}
    terms = bm25.query("green tea")
    for asked, more, alone in (([], meaning, True), (terms, meaning, False), (terms, None, False)):
        hits, total, *_ = await memories.search(
            tx, [SMALL_OWNER], Scoring(asked, more, only_meaning=alone), PassageFilter(score_min=-1e9), limit=100
        )
        assert total == len(hits) == SMALL
        assert {hit.id for hit in hits} == own


@pytest.mark.parametrize("plan", ["custom", "generic"])
async def test_an_owner_whom_the_planner_does_not_know_is_searched_in_one_pass(
    tx: Tx, superuser: asyncpg.Connection, plan: str
) -> None:
    """A new user with an import's worth of memories, before the statistics are made anew: one row is expected."""
    new, size = UUID(int=3), 3_000
    await remember(superuser, ANN, new, size)
    execute = execution("search", SEARCH, new, [1])
    await tx.connection.execute(f"SET LOCAL plan_cache_mode = force_{plan}_plan")
    await tx.connection.execute(f"PREPARE search AS {SEARCH}")
    [row] = await tx.connection.fetch(f"EXPLAIN (ANALYZE, FORMAT JSON) {execute}")
    await tx.connection.execute("DEALLOCATE search")
    scans = [step for step in steps(json.loads(row[0])[0]["Plan"]) if "Relation Name" in step]
    read = {step["Relation Name"]: step for step in scans if step["Actual Rows"] == size}
    assert set(read) == {"memories", "embeddings"}
    assert all(step["Actual Loops"] == 1 for step in read.values()), scans


@pytest.mark.parametrize("before", [0, 10, 30, 60, 100, 200, 400, 1_000])
@pytest.mark.parametrize("vectors", [False, True])
async def test_a_plan_that_was_made_for_small_tables_serves_larger_ones(
    postgres: EmbeddedPostgres, superuser: asyncpg.Connection, fresh: None, vectors: bool, before: int
) -> None:
    """A connection plans a search once, maybe before anything was stored, and before any table was analyzed."""
    owner, size = UUID(int=4), 3_000
    searching = SEARCH if vectors else BY_WORDS
    execute = execution("search", searching, owner, bm25.query("green tea from Hangzhou"))
    await superuser.execute("SET session_replication_role = replica")
    await remember(superuser, ANN, owner, before)
    database = await Database.connect(postgres.app_dsn, pool_size=1)
    async with database.snapshot(ANN) as tx:
        await tx.connection.execute(f"PREPARE search AS {searching}")
        assert len(await tx.connection.fetch(execute)) == min(before, 10)
    await remember(superuser, ANN, owner, size - before)
    async with database.snapshot(ANN) as tx:
        [row] = await tx.connection.fetch(f"EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) {execute}")
    await database.close()
    plan = json.loads(row[0])[0]["Plan"]
    scans = [step for step in steps(plan) if "Relation Name" in step]
    read = {step["Relation Name"]: step for step in scans if step["Actual Rows"] == size}
    assert set(read) == ({"memories", "embeddings"} if vectors else {"memories"})
    assert all(step["Actual Loops"] == 1 and "Index" in step["Node Type"] for step in read.values()), scans
    looked_up = LOOKED_AT
    assert plan["Shared Hit Blocks"] + plan["Shared Read Blocks"] <= size + 5 * looked_up, json.dumps(scans)


async def test_a_search_reads_one_owner_where_the_index_is_larger_than_the_table(
    database: Database, superuser: asyncpg.Connection, fresh: None
) -> None:
    """When all vectors were replaced by another model's, the tenant's rows in the table look cheaper to read."""
    await superuser.execute("SET session_replication_role = replica")
    for owner, size in ((HUGE_OWNER, HUGE), (SMALL_OWNER, SMALL)):
        await remember(superuser, ANN, owner, size)
    for model in (UUID(int=5), UUID(int=6), MODEL):
        await superuser.execute("UPDATE embeddings SET model = $1", model)
        await vacuum(superuser, "embeddings")
    await vacuum(superuser, "memories")
    async with database.snapshot(ANN) as tx:
        await tx.connection.execute(f"PREPARE search AS {SEARCH}")
        execute = execution("search", SEARCH, SMALL_OWNER, bm25.query("green tea from Hangzhou"))
        [row] = await tx.connection.fetch(f"EXPLAIN (ANALYZE, FORMAT JSON) {execute}")
        await tx.connection.execute("DEALLOCATE search")
    scans = [step for step in steps(json.loads(row[0])[0]["Plan"]) if "Relation Name" in step]
    for step in scans:
        assert step["Actual Rows"] + step.get("Rows Removed by Filter", 0) <= SMALL, json.dumps(step)


async def test_an_owner_of_another_tenant_has_nothing_here(tx: ReadTx) -> None:
    meaning = Meaning(MODEL, vector("query"), 0.3, 0.1)
    terms = bm25.query("green tea")
    for more in (None, meaning):
        assert await memories.search(ReadTx(tx.connection, BOB), [HUGE_OWNER], Scoring(terms, more)) == ([], 0)
