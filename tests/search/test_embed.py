"""The job that gives memories their vectors: each that is worth one gets it, once, whatever happens meanwhile."""

from dataclasses import replace

import pytest
from asyncpg import Record

from app.core.edge.deployment import embedding_slots
from app.core.search.vector_text import Utterance, turn_text
from app.jobs.embed import embed
from app.postgres.tenants import DEFAULT_TENANT
from app.providers import TemporaryError
from app.queue import table
from app.queue.table import LeaseLost
from app.runtime import Runtime
from app.services.lifecycle.erasing import ErasingTx, erase_memory
from app.services.memory import querying
from app.services.memory.remembering import MemoryRequest, remember
from app.store.memory import embeddings
from tests.api.kit import assistant, call, result, turn, user
from tests.search.kit import Meanings, change_model, drain, find, say, texts

pytestmark = pytest.mark.anyio


async def rows(made: Runtime, sql: str) -> list[Record]:
    async with made.database.snapshot(DEFAULT_TENANT) as tx:
        return await tx.connection.fetch(sql)


async def missing(made: Runtime) -> list[Record]:
    return await rows(
        made, "SELECT m.id FROM memories m LEFT JOIN embeddings e ON e.memory_id = m.id WHERE e.memory_id IS NULL"
    )


async def test_messages_archives_and_memories_get_vectors(made: Runtime, meanings: Meanings) -> None:
    archived = [user("Look."), call("a"), result("a", "pallet " * 3_000), assistant("Done.")]
    await say(made, "c", [*archived, *(message for number in range(30) for message in turn(number, 3))])
    async with made.database.begin(DEFAULT_TENANT) as tx:
        await remember(made, tx, MemoryRequest("likes figs " * 200, "preference", user_id="u"))
    await drain(made)
    assert len(await missing(made)) == len(["the call", "the placeholder"])
    assert await rows(made, "SELECT FROM unembedded") == []
    assert await rows(made, "SELECT FROM work WHERE kind = 'embed'") == []
    assert len(meanings.asked) == len(set(meanings.asked)) or len(meanings.asked) > 60


async def test_calls_placeholders_and_the_rest_of_a_result_are_left_to_words(made: Runtime, meanings: Meanings) -> None:
    listed = "\n".join(f"row {number}: pallet" for number in range(200))
    first = [{**call("a"), "content": "I look."}, result("a", listed)]
    await say(made, "c", [user("Look."), *first, call("b"), result("b", "crate " * 3_000)])
    await drain(made)
    said = meanings.asked
    begun = listed[: listed.index("row 80")]
    assert sorted(text for text in said if "crate" not in text) == [
        f"assistant: I look. [calls look({{}})]\ntool: {begun}".rstrip(),
        "user: Look.",
        "user: Look.\nassistant: I look.",
    ]
    assert [text for text in said if "crate" in text and not text.startswith("look: crate")] == []
    assert texts(await find(made, "row 199"))
    await change_model(made)
    assert len(meanings.asked) == len(said)


async def test_a_turn_is_embedded_with_what_it_answers(made: Runtime, meanings: Meanings) -> None:
    await say(made, "c", [user("Where is the key?"), assistant("Under the pot.", name="Ada")])
    await drain(made)
    assert meanings.asked == ["user: Where is the key?\nAda: Under the pot.", "user: Where is the key?"]


def test_the_line_before_is_shortened_to_its_ends_and_left_out_in_a_monologue() -> None:
    long = Utterance("assistant", "a" * 300 + " " + "b" * 300)
    text = turn_text(Utterance("user", "yes"), long)
    assert text == f"assistant: {'a' * 120} … {'b' * 120}\nuser: yes"
    assert turn_text(Utterance("user", "yes"), Utterance("user", "no")) == "user: yes"
    assert turn_text(Utterance("user", " \n"), long) == ""


async def embed_next(made: Runtime) -> None:
    """What a worker with one slot does next."""
    [claimed] = await table.claim(made.database, DEFAULT_TENANT, "embedding", ["embed"], 1)
    await embed(made, claimed)


async def test_owners_take_turns_whatever_one_of_them_has_waiting(made: Runtime, meanings: Meanings) -> None:
    await say(made, "long", [user(f"text {number}") for number in range(100)], user="ann")
    await embed_next(made)
    await say(made, "short", [user(f"word {number}") for number in range(2 * meanings.batch)], user="bob")
    for _ in range(4):
        await embed_next(made)
    assert sum("word" in text for text in meanings.asked) == 2 * meanings.batch
    await drain(made)
    assert await missing(made) == []


async def test_the_newest_memories_are_embedded_first(made: Runtime, meanings: Meanings) -> None:
    await say(made, "c", [user(f"text {number}") for number in range(3 * meanings.batch)])
    await embed_next(made)
    await say(made, "c", [user("what was said last")])
    await embed_next(made)
    assert ["said last" in text for text in meanings.asked].index(True) == meanings.batch
    await drain(made)
    assert await missing(made) == []


def test_every_other_core_embeds_and_never_more_than_four() -> None:
    assert [embedding_slots(cores) for cores in (1, 2, 4, 8, 64)] == [1, 1, 2, 4, 4]


async def test_blank_texts_are_never_sent_and_unmarked(made: Runtime, meanings: Meanings) -> None:
    await say(made, "c", [user("   "), user("\n\t")])
    await drain(made)
    assert meanings.asked == []
    assert await rows(made, "SELECT FROM unembedded") == []


async def test_one_refused_text_costs_no_other_its_vector(made: Runtime, meanings: Meanings) -> None:
    meanings.refuses = "forbidden"
    said = [user(f"text {number}") for number in range(11)]
    await say(made, "c", [*said[:5], user("forbidden words"), *said[5:]])
    await drain(made)
    assert len(await missing(made)) == 1
    assert await rows(made, "SELECT FROM unembedded") == []
    found = await find(made, "forbidden words")
    assert texts(found)[0] == "forbidden words"
    [lag] = [warning["detail"] for warning in found.warnings if warning["code"] == "vectors_lag"]
    assert lag.startswith("1 memories have no vector (1 refused by the embedding provider)")
    meanings.refuses = None
    await change_model(made)
    assert "vectors_lag" not in str((await find(made, "forbidden words")).warnings)


async def test_a_provider_that_is_down_keeps_the_work_and_what_was_done(made: Runtime, meanings: Meanings) -> None:
    await say(made, "c", [user(f"text {number}") for number in range(3)])
    meanings.is_down = True
    [claimed] = await table.claim(made.database, DEFAULT_TENANT, "embedding", ["embed"], 1)
    with pytest.raises(TemporaryError):
        await embed(made, claimed)
    assert len(await missing(made)) == 3
    meanings.is_down = False
    await embed(made, claimed)
    assert await missing(made) == []


async def test_memories_arriving_during_the_job_are_embedded(made: Runtime) -> None:
    await say(made, "c", [user("before")])
    [claimed] = await table.claim(made.database, DEFAULT_TENANT, "embedding", ["embed"], 1)
    await say(made, "c", [user("meanwhile")])
    await embed(made, claimed)
    await drain(made)
    assert await missing(made) == []
    assert await rows(made, "SELECT FROM work WHERE kind = 'embed'") == []


async def test_two_workers_on_one_owner_do_no_harm(made: Runtime) -> None:
    await say(made, "c", [user("once")])
    [claimed] = await table.claim(made.database, DEFAULT_TENANT, "embedding", ["embed"], 1)
    await embed(made, claimed)
    with pytest.raises(LeaseLost):
        await embed(made, claimed)
    assert len(await rows(made, "SELECT FROM embeddings")) == 1


async def test_memories_erased_meanwhile_get_no_vector(made: Runtime) -> None:
    async with made.database.begin(DEFAULT_TENANT) as tx:
        found, _ = await remember(made, tx, MemoryRequest("gone", "fact", user_id="u"))
    owner = (await rows(made, "SELECT owner FROM memories"))[0]["owner"]
    async with made.database.begin(DEFAULT_TENANT) as tx:
        await erase_memory(ErasingTx(made, tx), found.key, sensitive=True)
    async with made.database.begin(DEFAULT_TENANT) as tx:
        model = embeddings.model_id("meanings", 2)
        await embeddings.write(tx, owner, model, [(found.key, [0.6, 0.8])], [found.key])
    assert await rows(made, "SELECT FROM embeddings") == []


async def test_search_continues_while_a_new_model_replaces_vectors(made: Runtime, meanings: Meanings) -> None:
    await say(made, "c", [user("My car broke down."), *(m for n in range(12) for m in turn(n, 3))])
    await drain(made)
    old = len(await rows(made, "SELECT FROM embeddings"))
    other = replace(made, embedder=Meanings(model="other", dimensions=32))
    between = await find(other, "car broke")
    assert texts(between)[0] == "My car broke down."
    await change_model(other)
    assert len(await rows(made, "SELECT FROM embeddings")) == old
    [model] = await rows(made, "SELECT DISTINCT model FROM embeddings")
    assert model["model"] == embeddings.model_id("other", 32)
    [current] = await rows(made, "SELECT name, dimensions FROM embedding_models WHERE is_current")
    assert (current["name"], current["dimensions"]) == ("other", 32)
    assert texts(await find(other, "automobile", "semantic"))[0] == "My car broke down."
    asked = len(meanings.asked)
    await change_model(replace(made, embedder=other.embedder))
    assert len(meanings.asked) == asked


async def test_embeddings_enabled_later_cover_earlier_messages(made: Runtime) -> None:
    await say(replace(made, embedder=None), "c", [user(f"text {n}") for n in range(5)])
    before = await find(replace(made, embedder=None), "text")
    assert (before.mode, before.warnings) == ("keyword", [querying.NO_EMBEDDINGS])
    assert len(await missing(made)) == 5
    await change_model(made)
    assert await missing(made) == []


async def test_unknown_dimensions_are_discovered_before_marking(made: Runtime) -> None:
    class Shy(Meanings):
        async def embed_query(self, text: str) -> list[float]:
            self.dimensions = 256
            return list(await super().embed_query(text))

    shy = Shy(dimensions=0)
    await say(made, "c", [user("text")])
    await change_model(replace(made, embedder=shy))
    [current] = await rows(made, "SELECT dimensions FROM embedding_models WHERE is_current")
    assert current["dimensions"] == 256
