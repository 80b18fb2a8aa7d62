"""Keyword, semantic and hybrid search over the same memories, on one scale."""

from datetime import UTC, datetime, timedelta

import pytest

from app.core.search.relevance import relevance, score_of
from app.postgres.tenants import DEFAULT_TENANT
from app.runtime import Runtime
from app.services.memory import querying
from app.services.memory.remembering import MemoryRequest, remember
from tests.api.kit import assistant, call, result, turn, user
from tests.search.kit import Meanings, drain, find, say, texts

pytestmark = pytest.mark.anyio

CAR = user("My car broke down near Lyon yesterday.")
TEA = user("I prefer green tea from Hangzhou in the morning.")
CHINESE = user("上个月我在杭州买了一辆新汽车,很满意。")


async def talked(made: Runtime) -> None:
    """The three facts, each among turns that have nothing to do with it."""
    for fact in (CAR, TEA, CHINESE):
        for number in range(6):
            await say(made, "c", turn(number, 3))
        await say(made, "c", [fact])
    await drain(made)


async def test_a_synonym_is_found_by_meaning_and_not_by_keyword(made: Runtime) -> None:
    await talked(made)
    assert texts(await find(made, "automobile", "keyword")) == []
    for mode in ("semantic", "hybrid"):
        found = await find(made, "automobile", mode, limit=2)
        assert found.mode == mode
        assert {CAR["content"], CHINESE["content"]} == set(texts(found)), mode


async def test_a_rare_word_is_found_first_in_every_mode_with_a_high_relevance(made: Runtime) -> None:
    await talked(made)
    for mode in ("keyword", "semantic", "hybrid"):
        found = await find(made, "green tea from Hangzhou", mode)
        assert texts(found)[0] == TEA["content"], mode
        scores = [relevance(hit.score) for hit in found.hits]
        assert scores == sorted(scores, reverse=True)
        assert scores[0] > 0.5
        assert all(0 <= score <= 1 for score in scores)


async def test_a_minimum_relevance_means_the_same_in_every_mode(made: Runtime) -> None:
    await talked(made)
    for mode in ("keyword", "semantic", "hybrid"):
        found = await find(made, "green tea from Hangzhou", mode, relevance_min=0.5)
        assert texts(found)[0] == TEA["content"]
        assert all(relevance(hit.score) >= 0.5 for hit in found.hits)
        assert found.total == len(found.hits) < 5, mode


async def test_few_memories_are_ranked_with_distinct_scores(made: Runtime) -> None:
    said = [user("We named the cat Mochi."), CAR, TEA, user("The dentist is on Friday.")]
    for number, message in enumerate(said):
        await say(made, f"c{number}", [message])
    await drain(made)
    for query, wanted in (("What is the cat called?", said[0]), ("automobile trouble near Lyon", CAR)):
        found = await find(made, query)
        assert texts(found)[0] == wanted["content"]
        scores = [relevance(hit.score) for hit in found.hits]
        assert scores[0] > 2 * scores[1]
        assert scores[-1] < 0.1


async def test_memories_without_vectors_are_ranked_by_words(made: Runtime) -> None:
    await talked(made)
    await say(made, "c", [user("The spare key is under the blue flowerpot.")])
    for mode in ("hybrid", "semantic"):
        assert texts(await find(made, "spare key blue flowerpot", mode))[0].startswith("The spare key")


async def test_filters_apply_in_every_mode(made: Runtime) -> None:
    await talked(made)
    async with made.database.begin(DEFAULT_TENANT) as tx:
        later = datetime.now(UTC) + timedelta(days=1)
        note = MemoryRequest("Tea is drunk without sugar", "preference", user_id="u", expires_at=later)
        await remember(made, tx, note)
    await say(made, "other", [user("Tea in another conversation.")])
    await drain(made)
    now = datetime.now(UTC)
    for mode in ("keyword", "semantic", "hybrid"):
        assert set(texts(await find(made, "tea", mode, types=("preference",)))) == {"Tea is drunk without sugar"}
        here = await find(made, "tea", mode, conversation_id="other")
        assert texts(here) == ["Tea in another conversation."]
        assert all("sugar" in text for text in texts(await find(made, "tea", mode, keywords=("sugar",))))
        assert texts(await find(made, "tea", mode, since=now + timedelta(hours=1))) == []
        assert texts(await find(made, "tea", mode, until=now - timedelta(hours=1))) == []
        assert TEA["content"] in texts(await find(made, "tea", mode, since=now - timedelta(hours=1)))


async def test_expired_memories_are_not_found(made: Runtime) -> None:
    async with made.database.begin(DEFAULT_TENANT) as tx:
        wanted = MemoryRequest("The code word is heron", "fact", user_id="u")
        found, _ = await remember(made, tx, wanted)
    await drain(made)
    assert texts(await find(made, "code word heron"))
    async with made.database.begin(DEFAULT_TENANT) as tx:
        await tx.execute(
            "UPDATE memories SET expires_at = now() - interval '1 minute' WHERE tenant_id = $1 AND id = $2", found.key,
        )  # fmt: skip
    for mode in ("keyword", "semantic", "hybrid"):
        assert texts(await find(made, "code word heron", mode)) == []


async def test_a_neighbour_lifts_a_turn_of_a_dialogue_but_not_an_entry_of_a_list(made: Runtime) -> None:
    dialogue = [user("Where did you put the passport?"), assistant("In the drawer.")]
    await say(made, "dialogue", [*turn(1, 3), *turn(2, 3), *dialogue, *turn(3, 3)], user="a")
    await say(
        made, "list", [user(text) for text in ("One.", "Two.", "Where is the passport?", "In a drawer.")], user="b"
    )
    seeded = await find(made, "passport drawer", "keyword", user_id="a")
    entries = await find(made, "passport drawer", "keyword", user_id="b")
    alone = {hit.text: hit.score for hit in entries.hits}
    lifted = {hit.text: hit.score for hit in seeded.hits}
    assert lifted["In the drawer."] > alone["In a drawer."]


async def test_a_name_finds_what_its_bearer_said(made: Runtime) -> None:
    await say(made, "c", [user("I sold the boat.", name="Marta"), user("I sold the house.", name="Jonas")])
    assert texts(await find(made, "What did Marta sell?", "keyword"))[0] == "I sold the boat."


async def test_a_provider_that_is_down_leaves_the_keyword_search_with_a_warning(
    made: Runtime, meanings: Meanings
) -> None:
    await talked(made)
    meanings.is_down = True
    found = await find(made, "Hangzhou tea")
    assert texts(found)[0] == TEA["content"]
    assert found.mode == "keyword"
    assert found.warnings == [querying.SEMANTIC_UNAVAILABLE]
    meanings.is_down = False
    again = await find(made, "Hangzhou tea")
    assert (again.mode, again.warnings) == ("hybrid", [])


async def test_a_query_is_embedded_once(made: Runtime, meanings: Meanings) -> None:
    for _ in range(3):
        await find(made, "the same words")
    await find(made, "the same words", "semantic", user_id="another")
    assert meanings.queries == 1


async def test_another_users_and_an_unknown_users_memories_are_not_found(made: Runtime) -> None:
    await talked(made)
    for mode in ("keyword", "semantic", "hybrid"):
        assert texts(await find(made, "green tea", mode, user_id="somebody")) == []


@pytest.mark.parametrize("relevant", [0.01, 0.3, 0.5, 0.99])
def test_a_relevance_is_the_score_it_came_from(relevant: float) -> None:
    assert relevance(score_of(relevant)) == pytest.approx(relevant)


def test_the_ends_of_the_scale() -> None:
    assert score_of(0) == float("-inf")
    assert score_of(1) == float("inf")
    assert relevance(-1e9) == pytest.approx(0)
    assert relevance(1e9) == 1


async def test_calls_and_placeholders_are_found_by_their_words_alone(made: Runtime) -> None:
    log = "The physician left. " + "Nothing else is noted in this log of the ward. " * 400
    sent = call("a", arguments='{"path": "physician.txt"}')
    await say(made, "c", [user("Read the file."), sent, result("a", log), assistant("It is a log of the ward.")])
    await say(made, "c", [user("And?"), call("b", arguments='{"path": "cat.txt"}') | {"content": "The feline file."}])
    await drain(made)
    for query in ("doctor", "physician"):
        found = await find(made, query, "semantic", relevance_min=0.0)
        assert "physician.txt" not in str(texts(found))
        assert "Archived tool result" not in str(texts(found))
        assert "The feline file." in str(texts(found)), "what an agent says beside a call"
        assert found.total >= len(found.hits)
    assert "physician.txt" not in str(texts(await find(made, "doctor", relevance_min=0.0)))
    for mode in ("hybrid", "keyword"):
        assert "physician.txt" in str(texts(await find(made, "physician", mode, relevance_min=0.0)))
