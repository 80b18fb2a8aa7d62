"""The embedding provider fails, in each way: search goes by words meanwhile, and says so; then the vectors come."""

import httpx
import pytest

from app.postgres.embedded import EmbeddedPostgres
from app.settings import Settings
from tests.api.kit import Json, ok, window
from tests.conftest import serving, wait_for
from tests.faults.kit import Conversation, Provider, service
from tests.providers import fake_openai as fake
from tests.providers.fake_openai import Behaviour

TURNS = 2

FAULTS = {
    "429": fake.rate_limited("0"),
    "500": fake.status(500),
    "hangs": fake.hang(),
    "a byte a second": fake.drip(),
    "reset": fake.reset(),
    "cut in mid-reply": fake.cut(),
    "empty": fake.empty_body(),
    "half of the JSON": fake.truncated(),
    "a web page": fake.html(),
    "an error in a 200": fake.error_in_200("overloaded"),
    "40 MB": fake.huge(40_000_000),
    "another dimension": fake.wrong_dimension(),
    "one of another dimension": fake.odd_dimension(),
    "NaN": fake.nan_vectors(),
    "infinity": fake.infinite_vectors(),
    "zero": fake.zero_vectors(),
    "too few": fake.too_few(),
}


@pytest.mark.parametrize("fault", FAULTS.values(), ids=FAULTS)
def test_search_falls_back_to_keywords_until_vectors_arrive(
    conversation: Conversation, provider: Provider, fault: Behaviour
) -> None:
    provider.fails("embedding", fault)
    conversation.goes_on(TURNS)
    wait_for(lambda: conversation.error_of("embedding") is not None)

    number = conversation.closed
    found = search(conversation.client, f"question {number}")
    assert (found["mode"], codes(found)) == ("keyword", ["semantic_unavailable"])
    assert f"question {number}" in found["results"][0]["content_preview"].replace("**", "")
    assert "semantic_unavailable" in codes(
        window(conversation.client, conversation.name, query=f"question {number} why")
    )
    assert conversation.get("status")["unindexed"] >= 2 * TURNS
    assert conversation.jobs()["lanes"].get("llm", {}).get("error") is None, "the other lane is well"

    provider.heal()
    conversation.settles()
    conversation.assert_complete()
    again = search(conversation.client, f"question {number} please")
    assert (again["mode"], codes(again)) == ("hybrid", [])


def test_a_reply_of_1_mb_is_taken(conversation: Conversation, provider: Provider) -> None:
    provider.fails("embedding", fake.huge())
    conversation.goes_on(TURNS)
    conversation.settles()
    conversation.assert_complete()


def test_a_restart_embeds_what_has_no_vector_and_nothing_else(
    conversation: Conversation, provider: Provider, settings: Settings, postgres: EmbeddedPostgres
) -> None:
    """How wide the vectors are is not configured: it is asked first, so that those that are there are known."""
    [row] = conversation.sql("SELECT max(memory_id::text) AS id FROM embeddings")
    conversation.sql(f"DELETE FROM embeddings WHERE memory_id = '{row['id']}'")
    provider.api.embeddings.requests.clear()
    serves = serving(service(settings, postgres.app_dsn, provider.api.url))
    next(serves)
    wait_for(lambda: conversation.sql(f"SELECT FROM embeddings WHERE memory_id = '{row['id']}'") != [])
    next(serves, None)
    conversation.settles()
    conversation.assert_complete()
    sent = [text for request in provider.api.embeddings.requests for text in request.body["input"]]
    assert sent[0] == "dimensions"
    assert len(set(sent)) == 2


def search(client: httpx.Client, query: str) -> Json:
    return ok(client.get("/memories/search", params={"user_id": "u", "query": query}))


def codes(answer: Json) -> list[str]:
    return [warning["code"] for warning in answer["warnings"]]
