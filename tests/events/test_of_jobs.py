"""Events of what workers do: summaries, proposals and dead jobs, told to a receiver on loopback."""

from __future__ import annotations

from collections.abc import Iterator

import httpx
import pytest
from pydantic import SecretStr

from tests.api.kit import append, assistant, ok, path, user
from tests.conftest import wait_for
from tests.events.test_delivery import Receiver, Serve, hook, receiver, serving
from tests.jobs.kit import Model
from tests.providers import fake_openai as fake
from tests.providers.fake_openai import FakeOpenAI

__all__ = ["receiver", "serving"]

HARBOUR = "The harbour office closes at noon on Fridays."


@pytest.fixture
def api() -> Iterator[FakeOpenAI]:
    with FakeOpenAI(reply=Model()) as server:
        yield server


@pytest.fixture
def client(serving: Serve, api: FakeOpenAI) -> httpx.Client:
    return serving(
        quire_webhook_private_addresses=True, memory_llm_model="fake", memory_llm_base_url=api.url,
        memory_llm_api_key=SecretStr("none"),
    )  # fmt: skip


def test_a_written_summary_is_told(client: httpx.Client, receiver: Receiver) -> None:
    hook(client, receiver, "summary.written")
    append(client, "c", [one(f"Word {n}.") for n in range(6) for one in (user, assistant)])
    wait_for(lambda: bool(receiver.got))
    through = ok(client.get(path("c", "summary")))["through_seq"]
    assert [body["data"] for body in receiver.bodies()] == [{"conversation_id": "c", "through_seq": through}]
    assert "Word" not in str(receiver.got)


@pytest.mark.slow
def test_a_job_that_dies_is_told_with_its_letter(client: httpx.Client, receiver: Receiver, api: FakeOpenAI) -> None:
    hook(client, receiver, "job.dead")
    append(client, "other", [user("One."), assistant("Two."), user("Three.")])
    api.chat.picks = lambda request: fake.status(400) if "unspeakable" in str(request) else fake.ok()
    append(client, "c", [user("An unspeakable thing."), assistant("Two."), user("Three.")])
    wait_for(lambda: bool(receiver.got))
    [letter] = ok(client.get("/jobs"))["items"]
    told = {"job_id": letter["id"], "kind": letter["kind"], "conversation_id": "c"}
    assert [body["data"] for body in receiver.bodies()] == [told]


def test_every_kind_of_proposal_is_told_once(client: httpx.Client, receiver: Receiver) -> None:
    """Of a rule, of the tool, and of a person; what was known already is none."""
    hook(client, receiver, "memory.proposed")
    for _ in range(2):
        append(client, "c", [user("I prefer short answers."), assistant("ok")])
        ok(client.post(path("c", "tools", "remember"), json={"arguments": {"content": "Likes the harbour."}}))
    append(client, "c", [user(HARBOUR)])
    ok(client.post(path("c", "tools", "remember"), json={"arguments": {"content": HARBOUR}}))
    proposed = ok(client.get("/memories", params={"user_id": "u", "status": "proposed"}))["items"]
    wait_for(lambda: len(receiver.got) == len(proposed))
    told = {body["data"]["memory_key"]: body["data"]["conversation_id"] for body in receiver.bodies()}
    assert told == {one["memory_key"]: "c" for one in proposed}
    assert sorted(one["source"] for one in proposed) == ["rule", "tool"]
    assert "harbour" not in str(receiver.got)
