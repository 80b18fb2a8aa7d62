"""The search index of an owner with very many memories: it finds what an exact search finds, and is never in the way.

What is many is a parameter: here hundreds.
"""

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from random import Random
from statistics import fmean
from uuid import UUID

import asyncpg
import pytest
from asyncpg import Record

from app.core.scope import Scope
from app.core.search.large import LARGE, is_counted, lists, share
from app.core.times import dated, first_id
from app.ids import uuid7
from app.jobs.embed import embed, reembed
from app.jobs.search_index import index_search
from app.postgres.tenants import DEFAULT_TENANT
from app.queue import enqueue, table
from app.runtime import Runtime
from app.services.lifecycle import erasing_whole
from app.store.memory import embeddings, memories, remembered, search_index
from app.store.memory.memories import Hits, Meaning, OnLine, PassageFilter, Scoring, Within
from app.store.memory.remembered import Remembered
from app.store.memory.search_statement import IN_CONVERSATION, candidates, with_vectors, without_vectors
from app.text import bm25
from tests.api.kit import user
from tests.by_turns import examples, few
from tests.search.kit import Meanings, drain, say

pytestmark = pytest.mark.anyio

OWNER, OTHER = Scope("user", "u").owner, Scope("user", "other").owner
SIZE, MANY, BATCH = 2_000, 400, 300
SOME = 600
KINDS, DIMENSIONS = 50, 256
SOUNDS = ("mar", "ten", "lop", "sud", "gri", "cal")
ENGLISH = [f"{one}{two}{three}" for one in SOUNDS for two in SOUNDS for three in SOUNDS]
CHINESE = [chr(0x4E00 + 7 * number) + chr(0x6E01 + 7 * number) for number in range(len(ENGLISH))]
RECALL_MIN = 0.95


def words(rng: Random, kind: int, count: int) -> list[str]:
    """Words of a kind of text, English or Chinese, and common ones."""
    own = Random(kind).sample(ENGLISH if kind % 2 else CHINESE, 5)
    rare = f"r{kind}x{rng.randrange(12)}" if kind % 2 else f"号{chr(0x8000 + kind)}{chr(0x8100 + rng.randrange(12))}"
    return [rare, *rng.choices(own, k=count)]


def vector(rng: Random, kind: int) -> list[float]:
    """A vector near those of its kind; that of a query too."""
    own = Random(f"kind {kind}")
    values = [own.gauss(0, 1) + rng.gauss(0, 0.8) for _ in range(DIMENSIONS)]
    length = sum(value * value for value in values) ** 0.5
    return [value / length for value in values]


@pytest.fixture
async def model(made: Runtime) -> UUID:
    async with made.database.begin(DEFAULT_TENANT) as tx:
        return await embeddings.adopt(tx, "meanings", DIMENSIONS)


async def fill(superuser: asyncpg.Connection, model: UUID, owner: UUID, size: int = SOME) -> list[UUID]:
    rng = Random(size)
    ids, kinds = [uuid7() for _ in range(size)], [rng.randrange(KINDS) for _ in range(size)]
    terms = [bm25.document(" ".join(words(rng, kind, 9))) for kind in kinds]
    await superuser.execute(
        "INSERT INTO memories (tenant_id, id, owner, type, conversation_uid, seq, page, start, length, terms)"
        " SELECT $1, id, $2, 'episode', $2, n, n, 0, 9, t::sparsevec"  # unrelated texts, a page each: no dialogue
        " FROM unnest($3::uuid[], $4::text[]) WITH ORDINALITY x (id, t, n)",
        DEFAULT_TENANT, owner, ids, terms,
    )  # fmt: skip
    await superuser.execute(
        "INSERT INTO embeddings (tenant_id, memory_id, owner, model, embedding)"
        " SELECT $1, id, $2, $3, v::halfvec FROM unnest($4::uuid[], $5::text[]) x (id, v)",
        DEFAULT_TENANT, owner, model, ids, [embeddings.literal(vector(rng, kind)) for kind in kinds],
    )  # fmt: skip
    return ids


async def begin(made: Runtime) -> None:
    async with made.database.begin(DEFAULT_TENANT) as tx:
        await enqueue.enqueue(tx, [enqueue.search_index(OWNER)])


async def step(made: Runtime) -> bool:
    """Do what a worker does next, and return whether there was something."""
    some = await table.claim(made.database, DEFAULT_TENANT, "local", ["search_index"], 1)
    for claimed in some:
        await index_search(made, claimed, large=MANY, batch=BATCH)
    return bool(some)


async def build(made: Runtime) -> None:
    await begin(made)
    while await step(made):
        pass


@pytest.fixture
async def indexed(made: Runtime, superuser: asyncpg.Connection, model: UUID) -> Runtime:
    await fill(superuser, model, OWNER)
    await build(made)
    return made


ADD = """
WITH m AS (INSERT INTO memories (tenant_id, id, owner, type, start, length, terms)
           VALUES ($1, $2, $3, 'fact', 0, 9, '{}/1000000000') RETURNING id)
INSERT INTO embeddings (tenant_id, memory_id, owner, model, embedding) SELECT $1, id, $3, $4, $5::text::halfvec FROM m
"""


def scorings(model: UUID, seed: str = "q", count: int = 60) -> list[Scoring]:
    """Queries of all kinds, with words of theirs, English and Chinese."""
    rng = Random(seed)
    found = []
    for number in range(count):
        kind = number % KINDS
        meaning = Meaning(model, embeddings.literal(vector(rng, kind)), 0.0, 0.1)
        found.append(Scoring(bm25.query(" ".join(words(rng, kind, 3))), meaning))
    return found


async def search(
    made: Runtime, scoring: Scoring, where: PassageFilter = memories.ALL, owners: Sequence[UUID] = (OWNER,)
) -> Hits:
    async with made.database.snapshot(DEFAULT_TENANT) as tx:
        return await memories.search(tx, owners, scoring, where)


async def exact(
    made: Runtime, scoring: Scoring, where: PassageFilter = memories.ALL, owners: Sequence[UUID] = (OWNER,)
) -> list[Record]:
    statement, arguments = memories.search_statement(owners, scoring, where, limit=10)
    async with made.database.snapshot(DEFAULT_TENANT) as tx:
        return await tx.fetch(statement, **arguments)


async def count(made: Runtime, sql: str, *arguments: object) -> int:
    async with made.database.snapshot(DEFAULT_TENANT) as tx:
        return int(await tx.connection.fetchval(f"SELECT count(*) FROM {sql}", *arguments))


async def ready(made: Runtime, model: UUID | None) -> list[UUID]:
    async with made.database.snapshot(DEFAULT_TENANT) as tx:
        return await search_index.ready(tx, [OWNER, OTHER], model, memories.FIRST, memories.LAST, 0)


@pytest.mark.parametrize("language", few(["en", "zh"]))
async def test_an_index_finds_what_an_exact_search_finds(
    made: Runtime, superuser: asyncpg.Connection, model: UUID, language: str
) -> None:
    await fill(superuser, model, OWNER, SIZE)
    await build(made)
    assert await ready(made, model) == [OWNER]
    parts = []
    for scoring in scorings(model)[language == "en" :: 2]:
        for asked in (scoring, replace(scoring, only_meaning=True), replace(scoring, meaning=None)):
            whole = {row["id"] for row in await exact(made, asked)}
            assert len(whole) == 10
            found = {hit.id for hit in (await search(made, asked)).hits}
            parts.append(len(found & whole) / len(whole))
    assert len(parts) == 90
    assert fmean(parts) >= RECALL_MIN


async def test_what_is_close_counts_however_close_others_are(
    made: Runtime, superuser: asyncpg.Connection, model: UUID
) -> None:
    """Where rare words tell much, what may say the same in others counts though it is less close than the newest."""
    for along in (*[0.8] * 500, *[1.0, -1.0] * 500):
        id_, its = uuid7(), [0.2 * along, (1 - 0.04 * along**2) ** 0.5, *[0.0] * (DIMENSIONS - 2)]
        await superuser.execute(ADD, DEFAULT_TENANT, id_, OWNER, model, embeddings.literal(its))
    query = Meaning(model, embeddings.literal([1.0] + [0.0] * (DIMENSIONS - 1)), 0.0, 0.1)
    rare = Scoring(bm25.query("the tamarind zanzibar quokka obelisk marimba juniper walrus kelp"), query)
    assert (await search(made, replace(rare, terms=[]))).total < 1_000
    assert (await search(made, rare)).total == 1_000


BRANCH = OnLine(UUID(int=5), [UUID(int=6)], [7], [UUID(int=8)], [UUID(int=5), UUID(int=6)])


@pytest.mark.parametrize("where", few([PassageFilter(line=BRANCH), PassageFilter(types=["episode", "fact"])]), ids=str)
async def test_an_index_serves_branches_and_episodes_too(indexed: Runtime, model: UUID, where: PassageFilter) -> None:
    assert where.is_wide
    parts = []
    for scoring in scorings(model, count=20):
        for asked in (scoring, replace(scoring, meaning=None)):
            whole = {row["id"] for row in await exact(indexed, asked, where)}
            parts.append(len({hit.id for hit in (await search(indexed, asked, where)).hits} & whole) / len(whole))
    assert fmean(parts) >= RECALL_MIN


async def test_an_index_finds_the_best_of_a_time(indexed: Runtime, superuser: asyncpg.Connection, model: UUID) -> None:
    """They are the nearest of that time, not those of the nearest that are of it."""
    ids = [row["id"] for row in await superuser.fetch("SELECT id FROM memories ORDER BY id")]
    nearest = with_vectors(IN_CONVERSATION, candidates(part_max=-1, lists=1_000, near=12))
    for asked in scorings(model, count=6):
        by_meaning = replace(asked, only_meaning=True)
        where = PassageFilter(since=ids[SOME // 2], until=ids[SOME // 2 + 100])
        whole = await exact(indexed, by_meaning, where)
        _, named = memories.search_statement([OWNER], by_meaning, where, [OWNER], limit=10)
        async with indexed.database.snapshot(DEFAULT_TENANT) as tx:
            found = await tx.fetch(nearest, **named)
        assert [row["id"] for row in found] == [row["id"] for row in whole]
        assert len(whole) == 10


async def test_by_meaning_alone_words_score_nothing_that_has_a_vector(indexed: Runtime, model: UUID) -> None:
    """However many an index finds by words."""
    terms = [term for other in scorings(model, "others", 10) for term in other.terms]
    by_index = with_vectors(IN_CONVERSATION, candidates(part_max=1e9, lists=1_000, near=12))
    for asked in scorings(model, count=6):
        by_meaning = replace(asked, terms=terms, only_meaning=True)
        _, named = memories.search_statement([OWNER], by_meaning, memories.ALL, [OWNER], limit=10)
        async with indexed.database.snapshot(DEFAULT_TENANT) as tx:
            found = await tx.fetch(by_index, **named)
        assert [row["id"] for row in found] == [row["id"] for row in await exact(indexed, by_meaning)]


@pytest.mark.slow
@pytest.mark.parametrize("owners", [(OWNER,), (OTHER, OWNER)])
async def test_with_all_lists_and_all_words_the_results_are_the_same(
    indexed: Runtime, superuser: asyncpg.Connection, model: UUID, owners: Sequence[UUID]
) -> None:
    """An owner without an index, searched beside one that has it, is searched in full."""
    await fill(superuser, model, OTHER, 150)
    everything = candidates(part_max=1e9, lists=1_000, near=10**6)
    for scoring in scorings(model, "all", 12):
        for asked in (scoring, replace(scoring, only_meaning=True), replace(scoring, meaning=None)):
            for where in (PassageFilter(), PassageFilter(keywords=asked.terms[:1]), PassageFilter(score_min=4.0)):
                _, arguments = memories.search_statement(owners, asked, where, [OWNER], limit=10)
                made = (with_vectors if asked.meaning else without_vectors)(IN_CONVERSATION, everything)
                async with indexed.database.snapshot(DEFAULT_TENANT) as tx:
                    found = await tx.fetch(made, **arguments)
                assert found == await exact(indexed, asked, where, owners)


async def test_words_and_lists_each_find_what_the_other_does_not(
    indexed: Runtime, superuser: asyncpg.Connection, model: UUID
) -> None:
    near, named = uuid7(), uuid7()
    query = vector(Random("the query"), 3)
    for id_, text, its in ((near, "quite other", query), (named, "zanzibar", vector(Random("far"), 4))):
        await superuser.execute(
            "INSERT INTO memories (tenant_id, id, owner, type, start, length, terms)"
            " VALUES ($1, $2, $3, 'fact', 0, 9, $4::text::sparsevec)",
            DEFAULT_TENANT, id_, OWNER, bm25.document(text),
        )  # fmt: skip
        async with indexed.database.begin(DEFAULT_TENANT) as tx:
            await embeddings.write(tx, OWNER, model, [(id_, its)], [])
            await search_index.index_if_large(tx, OWNER, [id_])
    asked = Scoring(bm25.query("zanzibar"), Meaning(model, embeddings.literal(query), 0.0, 0.1))
    _, arguments = memories.search_statement([OWNER], asked, indexed=[OWNER], limit=60)

    async def found(**how: float) -> set[UUID]:
        async with indexed.database.snapshot(DEFAULT_TENANT) as tx:
            rows = await tx.fetch(with_vectors(IN_CONVERSATION, candidates(**how)), **arguments)  # type: ignore[arg-type]
        return {row["id"] for row in rows} & {near, named}

    assert await found(lists=1) == {near, named}
    assert await found(lists=1, part_max=-1) == {near}
    assert await found(lists=0) == {named}


NARROW = (
    PassageFilter(types=["fact"]),
    PassageFilter(conversation=Within(UUID(int=9), ["nine"])),
    PassageFilter(among=[UUID(int=9)]),
    PassageFilter(since=first_id(datetime(2020, 1, 1, tzinfo=UTC))),
    PassageFilter(until=first_id(datetime(2120, 1, 1, tzinfo=UTC))),
)


@pytest.mark.parametrize("where", few(NARROW, 2), ids=str)
async def test_few_that_pass_a_filter_are_all_found(
    indexed: Runtime, superuser: asyncpg.Connection, model: UUID, where: PassageFilter
) -> None:
    """They are the farthest of the query in meaning, so no list brings them."""
    asked = replace(scorings(model)[0], terms=[])
    async with indexed.database.snapshot(DEFAULT_TENANT) as tx:
        rows = await tx.connection.fetch(
            "SELECT memory_id FROM embeddings WHERE owner = $1 ORDER BY embedding <#> $2::text::halfvec DESC LIMIT 5",
            OWNER, asked.meaning and asked.meaning.vector,
        )  # fmt: skip
    few = [row["memory_id"] for row in rows]
    await superuser.execute("SET session_replication_role = replica")  # no conversation is needed
    named = "UPDATE memories SET type = 'fact', conversation_uid = $2, conversation_id = $3 WHERE id = ANY ($1::uuid[])"
    await superuser.execute(named, few, UUID(int=9), "nine")
    where = replace(where, among=few) if where.among else where
    hits = (await search(indexed, asked, replace(where, score_min=-1e9))).hits
    if (where.since, where.until) == (memories.FIRST, memories.LAST):
        assert {hit.id for hit in hits} == set(few)
    whole = await exact(indexed, asked, replace(where, score_min=-1e9))
    assert [hit.id for hit in hits] == [row["id"] for row in whole]


BEGUN, STEP = datetime(2026, 1, 1, tzinfo=UTC), timedelta(minutes=1)
LINE = OnLine(UUID(int=1), [UUID(int=2)], [SOME // 2], [UUID(int=0)], [UUID(int=1), UUID(int=2), UUID(int=3)])


def conversation_of(place: int) -> int:
    """Return the conversation of a memory: some have few, some many."""
    return min(place % 7, place % 11, 5)


def narrow(rng: Random, ids: Sequence[UUID]) -> tuple[PassageFilter, list[UUID]]:
    """Return a filter of a conversation, a line, a time or ids, and the ids that pass the last two."""
    since, until = rng.choice([0, rng.randrange(SOME)]), rng.choice([SOME, rng.randrange(SOME)])
    line = rng.choice([None, LINE])
    number = 1 if line else rng.randrange(6)
    own = Within(UUID(int=number), ["c1", "c2"] if line else [f"c{number}"])
    among = rng.choice([None, None, rng.sample(ids, rng.randrange(60))])
    where = PassageFilter(
        conversation=rng.choice([None, own, own]), line=line, among=among,
        since=first_id(BEGUN + since * STEP) if since else memories.FIRST,
        until=first_id(BEGUN + until * STEP) if until < SOME else memories.LAST,
        types=rng.choice([None, None, ["fact"]]), score_min=rng.choice([float("-inf"), 2.0]),
    )  # fmt: skip
    return where, [id_ for id_ in ids[since:until] if among is None or id_ in among]


async def test_a_narrow_search_is_an_exact_search_of_what_passes(
    indexed: Runtime, superuser: asyncpg.Connection, model: UUID
) -> None:
    ids = [row["id"] for row in await superuser.fetch("SELECT id FROM memories ORDER BY id")]
    rows = [
        (dated(id_, BEGUN + place * STEP), f"c{conversation_of(place)}", UUID(int=conversation_of(place)),
         "episode" if place % 5 else "fact", place + 1, id_)
        for place, id_ in enumerate(ids)
    ]  # fmt: skip
    await superuser.execute("SET session_replication_role = replica")  # no conversation is needed
    change = "id = $1, conversation_id = $2, conversation_uid = $3, type = $4, seq = $5, page = $5 / 2"
    await superuser.executemany(f"UPDATE memories SET {change} WHERE id = $6", rows)
    for copy in ("embeddings", "listed", "postings"):
        moved = f"UPDATE {copy} SET memory_id = $1 WHERE memory_id = $2"
        await superuser.executemany(moved, [(row[0], row[-1]) for row in rows])
    ids = [row[0] for row in rows]
    found = 0
    for number in range(examples(200)):
        where, passing = narrow(Random(number), ids)
        if not where.narrow([OWNER]) and len(passing) == SOME:
            continue  # all that an index finds the best of
        scoring = scorings(model, f"narrow {number}", 1)[0]
        for asked in (scoring, replace(scoring, only_meaning=True), replace(scoring, meaning=None)):
            whole = await exact(
                indexed, asked, replace(where, since=memories.FIRST, until=memories.LAST, among=passing)
            )
            hits, total = await search(indexed, asked, where)
            scored = [(row["id"], row["score"]) for row in whole]
            assert [(hit.id, hit.score) for hit in hits] == scored, (number, where)
            assert total == (whole[0]["total"] if whole else 0), (number, where)
            found += len(hits)
    assert found > 0


async def test_of_a_frequent_word_the_newest_are_read(indexed: Runtime, model: UUID) -> None:
    """Twice as many as by words and vectors, and all if it must occur."""
    term = scorings(model)[1].terms[-1]
    by_words = without_vectors(IN_CONVERSATION, candidates() | {"posted_max": 2})
    sizes = []
    for where in (memories.ALL, PassageFilter(keywords=[term])):
        _, named = memories.search_statement([OWNER], Scoring([term]), where, [OWNER], limit=SOME)
        async with indexed.database.snapshot(DEFAULT_TENANT) as tx:
            found = {row["id"] for row in await tx.fetch(by_words, **named)}
            newest = "SELECT memory_id FROM postings WHERE term = $1 ORDER BY memory_id DESC LIMIT $2"
            assert found == {row["memory_id"] for row in await tx.connection.fetch(newest, term, len(found))}
        sizes.append(len(found))
    assert sizes[0] == 4 < sizes[1] == await count(indexed, "postings WHERE term = $1", term)


async def test_every_memory_with_a_keyword_is_found(indexed: Runtime, model: UUID) -> None:
    asked = scorings(model)[1]
    assert asked.terms
    for keyword in asked.terms:
        where = PassageFilter(keywords=[keyword], score_min=-1e9)
        assert (await search(indexed, asked, where)).total == (await exact(indexed, asked, where))[0]["total"] > 0


async def test_a_new_memory_is_found_before_and_after_it_gets_its_vector(
    indexed: Runtime, model: UUID, meanings: Meanings
) -> None:
    await say(indexed, "c", [user("the tamarind pudding")])
    words_only = Scoring(bm25.query("tamarind"))
    assert [hit.seq for hit in (await search(indexed, words_only)).hits] == [1]
    assert await count(indexed, "unembedded") == 1
    await drain(indexed)
    assert await count(indexed, "unembedded") == 0
    assert [hit.seq for hit in (await search(indexed, words_only)).hits] == [1]
    meant = Meaning(model, embeddings.literal(await meanings.embed_query("user: the tamarind pudding")), 0.0, 0.1)
    found = (await search(indexed, Scoring([], meant))).hits
    assert found[0].seq == 1


async def test_a_job_that_is_killed_half_way_goes_on_and_meanwhile_all_is_found(
    made: Runtime, superuser: asyncpg.Connection, model: UUID
) -> None:
    ids = await fill(superuser, model, OWNER)
    await begin(made)
    assert await step(made)  # centroids
    assert await step(made)
    [claimed] = await table.claim(made.database, DEFAULT_TENANT, "local", ["search_index"], 1)
    with pytest.raises(asyncpg.ForeignKeyViolationError):  # something ends its transaction
        async with made.database.begin(DEFAULT_TENANT) as tx:
            assert not await search_index.index_next(tx, OWNER, ids[BATCH - 1], BATCH)
            await tx.execute("INSERT INTO postings VALUES ($1, $2, 1, $2)", OWNER)
    assert await ready(made, model) == []
    await say(made, "c", [user("said while it was built")])
    await drain(made)
    for asked in scorings(model, count=6):
        assert [hit.id for hit in (await search(made, asked)).hits] == [r["id"] for r in await exact(made, asked)]
    await table.fail(made.database, claimed, "worker died", 0)
    while await step(made):
        pass
    assert await ready(made, model) == [OWNER]
    posted = "EXISTS (SELECT FROM postings p WHERE p.memory_id = m.id)"
    assert await count(made, f"memories m WHERE m.terms::text NOT LIKE '{{}}%' AND NOT {posted}") == 0
    unlisted = "embeddings e WHERE NOT EXISTS (SELECT FROM listed l WHERE l.memory_id = e.memory_id)"
    assert await count(made, unlisted) == 0
    assert await count(made, "work WHERE kind = 'search_index'") == 0


async def test_erasing_leaves_nothing_in_the_index(indexed: Runtime, model: UUID) -> None:
    asked = scorings(model)[0]
    best = (await search(indexed, asked)).hits[0].id
    async with indexed.database.begin(DEFAULT_TENANT) as tx:
        assert await remembered.delete(tx, best, sensitive=True)
    for where in ("postings", "listed"):
        assert await count(indexed, f"{where} WHERE memory_id = $1", best) == 0
    assert best not in {hit.id for hit in (await search(indexed, asked)).hits}
    await begin(indexed)
    await erasing_whole.erase_user(indexed, DEFAULT_TENANT, "u")
    for what in ("postings", "listed", "search_indexes", "memories", "work WHERE kind = 'search_index'"):
        assert await count(indexed, what) == 0, what


async def test_a_value_that_is_replaced_leaves_the_index(indexed: Runtime) -> None:
    ids = []
    for text in ("vegetarian", "omnivore"):
        ids.append(uuid7())
        note = Remembered(
            ids[-1], Scope("user", "u"), "fact", text, "{}", (), "{}", "person", False, None, datetime.now(UTC),
            [(ids[-1], 0, len(text), bm25.document(text))], key="diet",
        )  # fmt: skip
        async with indexed.database.begin(DEFAULT_TENANT) as tx:
            await remembered.insert(tx, note, embeds=False)
            await search_index.index_if_large(tx, OWNER, [note.id])
    assert await count(indexed, "postings WHERE memory_id = $1", ids[1])
    assert await count(indexed, "postings WHERE memory_id = $1", ids[0]) == 0


async def test_an_index_of_another_model_is_not_read_and_is_built_anew(
    indexed: Runtime, superuser: asyncpg.Connection, model: UUID
) -> None:
    async with indexed.database.begin(DEFAULT_TENANT) as tx:
        other = await embeddings.adopt(tx, "meanings", 300)
    assert await ready(indexed, other) == []
    assert await ready(indexed, None) == [OWNER]
    await superuser.execute("UPDATE embeddings SET model = $1", other)
    await build(indexed)
    assert (await ready(indexed, other), await ready(indexed, model)) == ([OWNER], [])
    asked = replace(scorings(model)[0], meaning=replace(scorings(other)[0].meaning, model=other))  # type: ignore[type-var]
    assert (await search(indexed, asked)).hits


async def test_without_an_embedder_there_are_no_indexes(indexed: Runtime) -> None:
    """Nothing would add new memories to them."""
    await reembed(replace(indexed, embedder=None))
    assert await ready(indexed, None) == []


async def test_the_embedding_job_has_an_owner_indexed_who_became_large(
    made: Runtime, superuser: asyncpg.Connection, model: UUID
) -> None:
    """It counts the owner's memories where a new one's id ends in a zero byte."""
    await fill(superuser, model, OWNER, 30)
    for large, ending, jobs in ((40, 0, 0), (20, 1, 0), (20, 0, 1)):
        id_ = UUID(int=uuid7().int // 256 * 256 + ending)
        text = "a note"
        note = Remembered(
            id_, Scope("user", "u"), "fact", text, "{}", (), "{}", "person", False, None, datetime.now(UTC),
            [(id_, 0, len(text), bm25.document(text))],
        )  # fmt: skip
        async with made.database.begin(DEFAULT_TENANT) as tx:
            await remembered.insert(tx, note, embeds=True)
            await enqueue.enqueue(tx, [enqueue.embed(OWNER)])
        [claimed] = await table.claim(made.database, DEFAULT_TENANT, "embedding", ["embed"], 1)
        await embed(made, claimed, large=large)
        assert await count(made, "work WHERE kind = 'search_index'") == jobs, (large, ending)


async def test_a_small_owner_gets_no_index(made: Runtime, superuser: asyncpg.Connection, model: UUID) -> None:
    await fill(superuser, model, OWNER, MANY - 1)
    await build(made)
    assert await count(made, "search_indexes") == await count(made, "postings") == 0


def test_a_sample_is_a_part_of_many_and_all_of_few() -> None:
    assert (share(0), share(8_000), share(16_000), share(2**20)) == (256, 256, 128, 2)
    assert share(10**8) == 1
    assert (lists(5), lists(600), lists(LARGE)) == (1, 60, 400)
    assert is_counted([UUID(int=1), UUID(int=512)])
    assert not is_counted([UUID(int=1)])
