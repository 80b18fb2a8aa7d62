"""What does not pass by itself: one input that is refused, a job that fails for good, a caller that is not taken."""

import json
from collections.abc import Callable

import pytest

from app.queue import table
from tests.api.kit import Json, append, assistant, ok, user
from tests.conftest import wait_for
from tests.faults.kit import Provider, Talk
from tests.jobs.kit import kind_of
from tests.providers import fake_openai as fake
from tests.providers.fake_openai import Behaviour

REFUSALS = {
    "400": fake.status(400),
    "413": fake.status(413),
    "422": fake.status(422),
    "content policy": fake.status(400, code="content_policy_violation"),
    "content filter": fake.finished("content_filter"),
}
NOT_TAKEN = {
    "401": fake.status(401, code="invalid_api_key"),
    "403": fake.status(403),
    "no such model": fake.status(404, code="model_not_found"),
    "no quota": fake.rate_limited(code="insufficient_quota"),
}
LANES = ("llm", "embedding")


def where(says: str, fault: Behaviour) -> Callable[[Json], Behaviour | None]:
    return lambda request: fault if says in json.dumps(request) else None


@pytest.mark.parametrize("fault", REFUSALS.values(), ids=REFUSALS)
def test_a_page_that_the_provider_refuses_is_extractive_at_once_and_alone(
    talk: Talk, provider: Provider, fault: Behaviour
) -> None:
    provider.api.chat.picks = where("nettle", fault)
    talk.says(1)
    refused = talk.closed + 2
    messages = [user("where does the nettle grow"), assistant("behind the house")]
    append(talk.client, talk.name, messages)
    talk.sent += messages
    talk.says(2)
    asked = len(provider.api.chat.requests)
    talk.settles(dead=1)
    assert talk.sources() == {n: "extractive" if n == refused else "llm" for n in range(1, talk.closed + 1)}
    [row] = talk.sql(f"SELECT error FROM page_index WHERE page = {refused}")
    assert row["error"]
    tries = [r for r in provider.api.chat.requests[asked - 4 :] if "nettle" in json.dumps(r.body)]
    assert len([r for r in tries if kind_of(r.body) == "page"]) <= 1
    [job] = talk.jobs()["items"]
    assert (job["kind"], job["state"], job["attempts"]) == ("page", "dead", 1)
    assert job["error"].startswith("RefusedInput")

    provider.heal()
    assert ok(talk.client.post(f"/jobs/{job['id']}/retry"))["state"] == "pending"
    talk.settles()
    assert set(talk.sources().values()) == {"llm"}


POISON = {
    "400": REFUSALS["400"],
    "content policy": REFUSALS["content policy"],
    "NaN": fake.nan_vectors(),
    "zero": fake.zero_vectors(),
}


@pytest.mark.parametrize("fault", POISON.values(), ids=POISON)
def test_a_memory_that_the_provider_cannot_embed_costs_its_neighbours_nothing(
    talk: Talk, provider: Provider, fault: Behaviour
) -> None:
    provider.api.embeddings.picks = where("nettle", fault)
    append(talk.client, talk.name, [user("where does the nettle grow"), assistant("behind the house"), *[user("x")]])
    talk.settles()
    left = talk.sql("SELECT seq FROM memories m WHERE NOT EXISTS (SELECT FROM embeddings e WHERE e.memory_id = m.id)")
    first = len(talk.sent) + 1
    assert {row["seq"] for row in left} == {first, first + 1}, "the question, and the answer that is embedded with it"
    assert talk.get("status")["unindexed"] == 0


def test_a_job_that_fails_for_good_is_shown_and_comes_back_when_it_is_asked_for(talk: Talk, provider: Provider) -> None:
    """The summary of one conversation; another's is written."""
    other = Talk(talk.client, talk.sql, talk.counter, "other")
    before = talk.get("summary")
    provider.model.page = lambda _: "no JSON"
    provider.api.chat.picks = lambda r: fake.null_content() if kind_of(r) == "summary" and is_long(r) else None
    talk.says(6)
    other.says(6)
    talk.settles(dead=1)
    assert other.get("summary")["source"] == "llm"
    [job] = talk.jobs()["items"]
    assert (job["kind"], job["conversation_id"], job["state"]) == ("summary", "c", "dead")
    assert job["attempts"] == table.ATTEMPTS_MAX
    assert job["error"] == "UnusableReply: the answer is empty"
    assert talk.get("status")["dead"] == 1
    assert {**talk.get("summary"), "lag": 0} == {**before, "lag": 0}

    provider.heal()
    assert ok(talk.client.post(f"/jobs/{job['id']}/retry"))["state"] == "pending"
    talk.settles()
    assert talk.get("summary")["version"] > before["version"]


def is_long(request: Json) -> bool:
    """Of the conversation that has an older summary."""
    return str(request["messages"][1]["content"]).startswith("<quire-summary>")


@pytest.mark.parametrize("lane", LANES)
@pytest.mark.parametrize("fault", NOT_TAKEN.values(), ids=NOT_TAKEN)
def test_a_provider_that_does_not_take_us_stops_its_lane_and_no_attempt_is_burned(
    talk: Talk, provider: Provider, fault: Behaviour, lane: str
) -> None:
    provider.fails(lane, fault)
    talk.goes_on(3)
    wait_for(lambda: talk.jobs()["lanes"].get(lane, {}).get("stopped") is not None)
    asked = len(provider.api.chat.requests) + len(provider.api.embeddings.requests)
    wait_for(lambda: len(provider.api.chat.requests) + len(provider.api.embeddings.requests) > asked + 3)  # probes

    assert talk.jobs()["lanes"][lane]["stopped"].startswith("RefusedCaller: the provider answered 4")
    assert lane in [w["detail"].split(" lane ")[1].split(" ")[0] for w in ok(talk.client.get("/readyz"))["warnings"]]
    rows = talk.sql(f"SELECT attempts, token IS NULL AS waits, failed_at FROM work WHERE lane = '{lane}'")
    assert {row["attempts"] for row in rows if row["waits"]} <= {0}
    assert not any(row["failed_at"] for row in rows)
    others = [name for name in LANES if name != lane]
    assert not any("stopped" in other and other["stopped"] for other in map(talk.jobs()["lanes"].get, others) if other)

    provider.heal()
    talk.settles()
    talk.assert_complete()
    assert ok(talk.client.get("/readyz"))["warnings"] == []
