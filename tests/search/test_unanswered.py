"""A search shows what is closest to its query, and marks it where that hardly answers."""

import httpx
import pytest

from app.core.search import relevance
from app.runtime import Runtime
from app.services.memory import querying
from app.services.memory.searching import SearchOutcome
from bench.search import talks
from tests.api.kit import append, assistant, ok, path, user
from tests.search.kit import Meanings, drain, find, say, texts

pytestmark = pytest.mark.anyio

FACT = user("My car broke down near Lyon yesterday.")
FACTS = {"en": FACT, "zh": user("我的汽车昨天在里昂附近坏了。")}
UNKNOWN = "How many moons does Neptune have?"


@pytest.fixture
def meanings() -> Meanings:
    """So many dimensions that hardly any two words share one."""
    return Meanings(dimensions=1000)


async def talked(made: Runtime, language: str) -> None:
    """A fact, and a long conversation about other things."""
    [talk] = talks.shipped(language).talks
    await say(made, "c", [FACTS[language], *talk.messages])
    await drain(made)


def doubts(found: SearchOutcome) -> set[bool]:
    return {hit.is_doubtful for hit in found.hits}


@pytest.mark.parametrize("mode", ["hybrid", "semantic"])
async def test_what_was_never_spoken_of_finds_only_doubtful_results(made: Runtime, mode: querying.Mode) -> None:
    """In Chinese, whose words this model confuses, test_shipped has the real model do it."""
    await talked(made, "en")
    found = await find(made, UNKNOWN, mode)
    assert doubts(found) == {True}
    assert found.warnings == []


@pytest.mark.parametrize("query", [UNKNOWN, "Where did the automobile break?", "Is my car near Lyon? And the oven?"])
async def test_no_score_depends_on_the_limit_or_on_the_least(made: Runtime, query: str) -> None:
    await talked(made, "en")
    widest = await find(made, query, limit=100)
    scores = {hit.key: (hit.score, hit.is_doubtful) for hit in widest.hits}
    for limit in (1, 3, 10, 40):
        for least in (None, 0.0, 0.01, 0.2):
            found = await find(made, query, limit=limit, relevance_min=least)
            assert {hit.key: (hit.score, hit.is_doubtful) for hit in found.hits}.items() <= scores.items()
            wanted = [hit.key for hit in widest.hits if relevance.relevance(hit.score) >= (least or 0.0)]
            assert [hit.key for hit in found.hits] == wanted[:limit]


@pytest.mark.parametrize(("language", "query"), [("en", "automobile"), ("zh", "汽车坏了")])
async def test_what_is_answered_is_found(made: Runtime, language: str, query: str) -> None:
    await talked(made, language)
    found = await find(made, query)
    assert texts(found)[0] == FACTS[language]["content"]
    assert not found.hits[0].is_doubtful


@pytest.mark.parametrize("query", ["thanks", "hello", "谢谢", "好的,请继续"])
async def test_what_small_talk_finds_is_doubtful(made: Runtime, query: str) -> None:
    await say(made, "c", [user(query), assistant(query), FACT])
    await drain(made)
    found = await find(made, query)
    assert query in texts(found)
    assert doubts(found) == {True}
    assert query in texts(await find(made, query, "keyword"))


async def test_a_query_in_another_language_finds_what_is_close_in_meaning(made: Runtime) -> None:
    await talked(made, "en")
    assert FACT["content"] in texts(await find(made, "汽车"))


async def test_who_asks_within_bounds_sees_all_that_is_in_them(made: Runtime) -> None:
    await talked(made, "en")
    assert texts(await find(made, UNKNOWN, types=("episode",)))
    assert texts(await find(made, UNKNOWN, keywords=("lyon",)))


async def test_who_asks_for_days_sees_what_was_said_in_them(made: Runtime) -> None:
    await talked(made, "en")
    assert texts(await find(made, "Which moons did Neptune have today?"))


async def test_of_several_queries_only_the_unanswered_are_named(made: Runtime) -> None:
    await talked(made, "en")
    found = await find(made, "automobile", queries=(UNKNOWN,))
    assert texts(found)[0] == FACT["content"]
    assert found.unanswered == [UNKNOWN]
    assert found.warnings == []


async def test_what_waits_for_its_vector_is_found_by_its_words(made: Runtime) -> None:
    await talked(made, "en")
    query = "Which astronomer discovered comets beyond the orbit of Neptune?"
    await say(made, "c", [user("An orbit.")])
    found = await find(made, query)
    assert texts(found)
    assert [w["detail"][:11] for w in found.warnings if w["code"] == "vectors_lag"] == ["1 memories "]
    await drain(made)
    found = await find(made, query)
    assert doubts(found) == {True}
    assert "vectors_lag" not in str(found.warnings)


async def test_without_vectors_whatever_shares_a_word_is_found(made: Runtime, meanings: Meanings) -> None:
    await talked(made, "en")
    meanings.is_down = True
    found = await find(made, "Did a comet break near Neptune?")
    assert found.mode == "keyword"
    assert texts(found)


def test_the_api_and_the_tool_say_so_and_take_a_minimum(client: httpx.Client) -> None:
    said = [FACT, user("Many thanks"), *(user(f"Chapter {number} of the report is late") for number in range(9))]
    append(client, "c", said, user_id="u")
    asked = {"user_id": "u", "query": "thanks"}
    for answer in (client.post("/memories/search", json=asked), client.get("/memories/search", params=asked)):
        body = ok(answer)
        assert {one["doubtful"] for one in body["results"]} == {True}
        assert "nothing_answers" not in str(body["warnings"])
    for least in (0, None):
        body = ok(client.post("/memories/search", json=asked | {"query": "Lyon", "min_relevance_score": least}))
        assert body["results"][0]["content_preview"].startswith("My car broke down")
    tool = path("c", "tools", "search_memories")
    assert "doubtful" in ok(client.post(tool, json={"arguments": {"query": "thanks"}}))["content"]
