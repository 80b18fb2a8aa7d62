"""What does not pass by itself: one input that is refused, a job that fails for good, a caller that is not taken."""

import json
from collections.abc import Callable

import pytest

from app.jobs.policy import HARMLESS
from app.queue import table
from tests.api.kit import Json, append, assistant, ok, user
from tests.conftest import wait_for
from tests.faults.kit import Conversation, Provider
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
    "400 to everything": fake.status(400),
    "422 to everything": fake.status(422),
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
    conversation: Conversation, provider: Provider, fault: Behaviour
) -> None:
    provider.api.chat.picks = where("nettle", fault)
    conversation.says(1)
    refused = conversation.closed + 2
    messages = [user("where does the nettle grow"), assistant("behind the house")]
    append(conversation.client, conversation.name, messages)
    conversation.sent += messages
    conversation.says(2)
    asked = len(provider.api.chat.requests)
    conversation.settles(dead=1)
    assert conversation.sources() == {
        n: "extractive" if n == refused else "llm" for n in range(1, conversation.closed + 1)
    }
    [row] = conversation.sql(f"SELECT error FROM page_index WHERE page = {refused}")
    assert row["error"]
    tries = [r for r in provider.api.chat.requests[asked - 4 :] if "nettle" in json.dumps(r.body)]
    assert len([r for r in tries if kind_of(r.body) == "page"]) <= 1
    [job] = conversation.jobs()["items"]
    assert (job["kind"], job["state"], job["attempts"]) == ("page", "dead", 1)
    assert job["error"].startswith("RefusedInput")

    provider.heal()
    assert ok(conversation.client.post(f"/jobs/{job['id']}/retry"))["state"] == "pending"
    conversation.settles()
    assert set(conversation.sources().values()) == {"llm"}


POISON = {
    "400": REFUSALS["400"],
    "content policy": REFUSALS["content policy"],
    "NaN": fake.nan_vectors(),
    "zero": fake.zero_vectors(),
}


@pytest.mark.parametrize("fault", POISON.values(), ids=POISON)
def test_a_memory_that_the_provider_cannot_embed_costs_its_neighbours_nothing(
    conversation: Conversation, provider: Provider, fault: Behaviour
) -> None:
    provider.api.embeddings.picks = where("nettle", fault)
    append(
        conversation.client,
        conversation.name,
        [user("where does the nettle grow"), assistant("behind the house"), *[user("x")]],
    )
    conversation.settles()
    left = conversation.sql(
        "SELECT seq FROM memories m WHERE NOT EXISTS (SELECT FROM embeddings e WHERE e.memory_id = m.id)"
    )
    first = len(conversation.sent) + 1
    assert {row["seq"] for row in left} == {first, first + 1}, "the question, and the answer that is embedded with it"
    assert conversation.get("status")["unindexed"] == 0


def test_a_provider_that_refused_everything_until_a_moment_ago_costs_no_vector(
    conversation: Conversation, provider: Provider
) -> None:
    """It heals between the refusal of the texts and the harmless one that tells whose fault that was."""
    healed: list[bool] = []

    def picks(request: Json) -> Behaviour | None:
        if HARMLESS in json.dumps(request):
            healed.append(True)
        return None if healed else POISON["400"]

    provider.api.embeddings.picks = picks
    append(conversation.client, conversation.name, [user("where does the nettle grow")])
    conversation.settles()
    assert healed
    left = "SELECT FROM memories m WHERE NOT EXISTS (SELECT FROM embeddings e WHERE e.memory_id = m.id)"
    assert conversation.sql(left) == []


def test_a_provider_that_refuses_most_texts_loses_no_vector(conversation: Conversation, provider: Provider) -> None:
    """It takes a harmless one, and a short one."""
    provider.api.embeddings.picks = where("nettle", POISON["400"])
    append(conversation.client, conversation.name, [user(f"nettle {number}") for number in range(10)])
    wait_for(lambda: conversation.jobs()["lanes"].get("embedding", {}).get("stopped") is not None)
    assert conversation.jobs()["unindexed"] >= 10
    wait_for(lambda: "nearly everything" in (conversation.error_of("embedding") or ""))
    assert conversation.jobs()["dead"] == 0

    provider.heal()
    conversation.settles()
    assert (
        conversation.sql("SELECT FROM memories m WHERE NOT EXISTS (SELECT FROM embeddings e WHERE e.memory_id = m.id)")
        == []
    )


def test_a_dead_job_is_listed_and_can_be_retried(conversation: Conversation, provider: Provider) -> None:
    """The summary of one conversation; another's is written."""
    other = Conversation(conversation.client, conversation.sql, conversation.counter, "other")
    before = conversation.get("summary")
    provider.model.page = lambda _: "no JSON"
    provider.api.chat.picks = lambda r: fake.null_content() if kind_of(r) == "summary" and is_long(r) else None
    conversation.says(6)
    other.says(6)
    conversation.settles(dead=1)
    assert other.get("summary")["source"] == "llm"
    [job] = conversation.jobs()["items"]
    assert (job["kind"], job["conversation_id"], job["state"]) == ("summary", "c", "dead")
    assert job["attempts"] == table.ATTEMPTS_MAX
    assert job["error"] == "UnusableReply: the answer is empty"
    assert conversation.get("status")["dead"] == 1
    assert {**conversation.get("summary"), "lag": 0} == {**before, "lag": 0}

    provider.heal()
    assert ok(conversation.client.post(f"/jobs/{job['id']}/retry"))["state"] == "pending"
    conversation.settles()
    assert conversation.get("summary")["version"] > before["version"]


def is_long(request: Json) -> bool:
    """Of the conversation that has an older summary."""
    return str(request["messages"][1]["content"]).startswith("<quire-summary>")


@pytest.mark.parametrize("lane", LANES)
@pytest.mark.parametrize("fault", NOT_TAKEN.values(), ids=NOT_TAKEN)
def test_a_provider_that_does_not_take_us_stops_its_lane_and_no_attempt_is_burned(
    conversation: Conversation, provider: Provider, fault: Behaviour, lane: str
) -> None:
    provider.fails(lane, fault)
    conversation.goes_on(3)
    wait_for(lambda: conversation.jobs()["lanes"].get(lane, {}).get("stopped") is not None)
    asked = len(provider.api.chat.requests) + len(provider.api.embeddings.requests)
    wait_for(lambda: len(provider.api.chat.requests) + len(provider.api.embeddings.requests) > asked + 3)  # probes

    assert conversation.jobs()["lanes"][lane]["stopped"].startswith("RefusedCaller: the provider answered 4")
    said = [w["detail"] for w in ok(conversation.client.get("/readyz"))["warnings"] if " lane " in w["detail"]]
    assert lane in [detail.split(" lane ")[1].split(" ")[0] for detail in said]
    rows = conversation.sql(f"SELECT attempts, token IS NULL AS waits, failed_at FROM work WHERE lane = '{lane}'")
    assert {row["attempts"] for row in rows if row["waits"]} <= {0}
    assert not any(row["failed_at"] for row in rows)
    others = [name for name in LANES if name != lane]
    assert not any(
        "stopped" in other and other["stopped"] for other in map(conversation.jobs()["lanes"].get, others) if other
    )

    provider.heal()
    conversation.settles()
    conversation.assert_complete()
    assert ok(conversation.client.get("/readyz"))["warnings"] == []
