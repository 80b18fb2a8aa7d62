"""A search leaves out early what cannot be among its best, and nothing else."""

from collections.abc import Sequence
from random import Random
from uuid import UUID

import asyncpg
import pytest

from app.ids import uuid7
from app.postgres.database import Database
from app.store.memory import embeddings, memories
from app.store.memory.memories import Hits, Meaning, Named, PassageFilter, QueryPart, Scoring, Within
from app.store.memory.search_statement import LOOKED_AT, RECENT
from app.text import bm25
from tests.guards.tenants import ANN

pytestmark = [pytest.mark.slow, pytest.mark.anyio]

OWNER, SIZE, DIMENSIONS = UUID(int=1), 3_000, 32
MODEL = embeddings.model_id("any", DIMENSIONS)
FEW, MANY = 10, 600
TEXTS = ("green tea from Hangzhou", "black coffee", "tea without sugar", "a walk along the lake", "nothing new")


def vector(rng: Random, near: Sequence[float] | None = None) -> list[float]:
    values = [rng.gauss(0, 1) for _ in range(DIMENSIONS)]
    values = [value / 4 + aim * 6 for value, aim in zip(values, near, strict=True)] if near else values
    length = sum(value * value for value in values) ** 0.5
    return [value / length for value in values]


QUERY = vector(Random("query"))
MEANING = Meaning(MODEL, embeddings.literal(QUERY), 0.0, 0.2)
TEA = bm25.query("green tea")
SCORINGS = {
    "words and meaning": Scoring(TEA, MEANING),
    "meaning": Scoring(TEA, MEANING, only_meaning=True),
    "a vector alone": Scoring((), MEANING),
    "parts": Scoring(TEA, MEANING, parts=[QueryPart(bm25.query("lake"), embeddings.literal(vector(Random("part"))))]),
    "a speaker": Scoring(TEA, MEANING, named=Named(bm25.speakers("Ann"))),
    "words": Scoring(TEA),
}


async def remember(superuser: asyncpg.Connection, hidden: int) -> None:
    """Memories that are neighbours of none; the newest are sensitive, and the closest of all."""
    rng = Random(hidden)
    ids = [uuid7() for _ in range(SIZE)]
    is_hidden = [number >= SIZE - hidden for number in range(SIZE)]
    vectors = [embeddings.literal(vector(rng, QUERY if one else None)) for one in is_hidden]
    terms = [bm25.document(TEXTS[rng.randrange(len(TEXTS))]) for _ in ids]
    await superuser.execute("SET session_replication_role = replica")  # no conversation is needed
    await superuser.execute(
        "INSERT INTO memories"
        " (tenant_id, id, owner, type, conversation_uid, seq, page, start, length, terms, sensitive)"
        " SELECT $1, id, $2, 'episode', id, 1, 1, 0, 9, t::sparsevec, s"
        " FROM unnest($3::uuid[], $4::text[], $5::boolean[]) x (id, t, s)",
        ANN, OWNER, ids, terms, is_hidden,
    )  # fmt: skip
    await superuser.execute(
        "INSERT INTO embeddings (tenant_id, memory_id, owner, model, embedding)"
        " SELECT $1, id, $2, $3, v::halfvec FROM unnest($4::uuid[], $5::text[]) x (id, v)",
        ANN, OWNER, MODEL, ids[7:], vectors[7:],
    )  # fmt: skip


async def found(database: Database, scoring: Scoring, where: PassageFilter, limit: int) -> Hits:
    async with database.snapshot(ANN) as tx:
        return await memories.search(tx, [OWNER], scoring, where, limit=limit)


@pytest.mark.parametrize("hidden", [0, 300, 800])
async def test_the_best_are_the_same_with_and_without_the_cut(
    database: Database, superuser: asyncpg.Connection, fresh: None, hidden: int
) -> None:
    assert 2 * FEW < LOOKED_AT < RECENT < 2 * MANY, "only the first is cut"
    await remember(superuser, hidden)
    for name, scoring in SCORINGS.items():
        for where in (
            PassageFilter(),
            PassageFilter(sensitive=True),
            PassageFilter(keywords=bm25.query("tea")),
            PassageFilter(types=["fact"]),
        ):
            whole = await found(database, scoring, where, MANY)
            cut = await found(database, scoring, where, FEW)
            assert len(whole.hits) == (0 if where.types else MANY), (name, where)
            assert cut.hits == whole.hits[:FEW], (name, where)
            assert max(cut.total, len(whole.hits)) == whole.total, (name, where)


async def test_memories_of_no_conversation_are_not_found_in_one(
    database: Database, superuser: asyncpg.Connection, fresh: None
) -> None:
    await remember(superuser, 0)
    await superuser.execute("UPDATE memories SET conversation_uid = NULL, type = 'fact' WHERE owner = $1", OWNER)
    whole = await found(database, SCORINGS["words and meaning"], PassageFilter(), FEW)
    where = PassageFilter(conversation=Within(OWNER, ["c"]))
    one = await found(database, SCORINGS["words and meaning"], where, FEW)
    assert len(whole.hits) == FEW
    assert one.hits == []
