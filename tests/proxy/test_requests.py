"""What is recorded of each request through the proxy: on every way, whole or not, and for nobody else."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from typing import Any

import httpx
import openai
import pytest

from app.core.times import first_id
from app.main import build_app
from app.postgres.database import Database
from app.postgres.embedded import EmbeddedPostgres
from app.postgres.tenants import DEFAULT_TENANT
from app.settings import Settings
from app.store.proxy import proxied_requests
from app.store.proxy.proxied_requests import ProxiedRequest
from tests import unhurried
from tests.api.kit import Json, ok, path
from tests.conftest import serving, wait_for
from tests.providers.fake_openai import FakeOpenAI, reset_within, status
from tests.proxy.kit import Script, calling

PRICES = '{"fake": {"input": 2, "cached_input": 0.5, "output": 10}}'
BODIES: dict[str, Json] = {
    "chat/completions": {"messages": [{"role": "user", "content": "hi"}]},
    "responses": {"input": "hi"},
    "messages": {"messages": [{"role": "user", "content": "hi"}], "max_tokens": 9},
}
DIALECTS = {"chat/completions": "chat", "responses": "responses", "messages": "messages"}


@pytest.fixture(scope="module")
def priced(postgres: EmbeddedPostgres, proxy_settings: Settings) -> Iterator[str]:
    """A service that knows what its model costs."""
    update = {"quire_proxy_prices": PRICES}
    yield from serving(build_app(proxy_settings.model_copy(update=update), postgres.app_dsn))


@pytest.fixture
def asking(priced: str, clean: None, script: Script) -> Iterator[httpx.Client]:
    headers = {"X-Quire-Conversation": "c", "X-Quire-Recall": "off"}
    with httpx.Client(base_url=f"{priced}/v1/", headers=headers, timeout=30) as opened:
        yield opened


@pytest.fixture
def reader(priced: str) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=priced, timeout=30) as opened:
        yield opened


def requests(client: httpx.Client, conversation: str = "c", **query: Any) -> list[Json]:
    found: list[Json] = ok(client.get(path(conversation, "requests"), params=query))["items"]
    return found


def recorded(client: httpx.Client, count: int, conversation: str = "c") -> list[Json]:
    """The requests, newest first, once there are so many: they are recorded after their answers were sent."""

    def are_there() -> bool:
        answer = client.get(path(conversation, "requests"))
        return answer.status_code == 200 and len(answer.json()["items"]) >= count

    wait_for(are_there)
    found = requests(client, conversation)
    assert len(found) == count
    return found


WAYS = [*((way, "window") for way in BODIES), ("chat/completions", "pass-through")]
"""The model's API speaks Chat Completions, so nothing else is passed through."""


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])
@pytest.mark.parametrize(("way", "mode"), WAYS)
def test_each_way_is_recorded(asking: httpx.Client, reader: httpx.Client, way: str, mode: str, stream: bool) -> None:
    options = {"stream_options": {"include_usage": True}} if stream and way == "chat/completions" else {}
    body = {"model": "fake", **BODIES[way], "stream": stream, **options}
    assert asking.post(way, json=body, headers={"X-Quire-Mode": mode}).status_code == 200
    [one] = recorded(reader, 1)
    assert (one["dialect"], one["mode"], one["model"], one["error"]) == (DIALECTS[way], mode, "fake", None)
    assert (one["first_seq"], one["last_seq"], one["calls"]) == (1, 2, 1)
    assert 0 <= one["first_ms"] <= one["total_ms"]
    assert one["window_tokens"] is None if mode == "pass-through" else one["window_tokens"] > 0
    assert one["prompt_tokens"] > 0
    assert one["cost"] == pytest.approx((one["prompt_tokens"] * 2 + one["completion_tokens"] * 10) / 1_000_000)


def test_a_request_that_recalled_is_one_with_several_calls(
    asking: httpx.Client, reader: httpx.Client, script: Script
) -> None:
    script.says(calling(("search_memories", {"query": "tea"})), "Green.")
    asking.post("chat/completions", json={"model": "fake", **BODIES["chat/completions"]}).raise_for_status()
    [one] = recorded(reader, 1)
    assert (one["calls"], one["first_seq"], one["last_seq"]) == (2, 1, 4)
    assert ok(reader.get(path("c", "status")))["spent"]["proxy"]["prompt_tokens"] == one["prompt_tokens"]


@pytest.mark.parametrize("mode", ["window", "pass-through"])
def test_what_the_models_api_refused_is_recorded_without_its_words(
    asking: httpx.Client, reader: httpx.Client, api: FakeOpenAI, mode: str
) -> None:
    api.chat.queue.append(status(400, message="you said: hi", code="bad"))
    answer = asking.post(
        "chat/completions", json={"model": "fake", **BODIES["chat/completions"]}, headers={"X-Quire-Mode": mode}
    )
    assert answer.status_code == 400
    [one] = recorded(reader, 1)
    assert one["error"] == "the provider answered 400"
    assert (one["prompt_tokens"], one["cost"]) == (None, None)
    assert (one["first_seq"], one["last_seq"]) == (1, 1)


def test_a_model_that_cannot_be_reached_is_recorded(
    reader: httpx.Client, postgres: EmbeddedPostgres, proxy_settings: Settings, clean: None
) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # and never listens
        update = {"quire_proxy_base_url": f"http://127.0.0.1:{taken.getsockname()[1]}/v1"}
        for url in serving(build_app(proxy_settings.model_copy(update=update), postgres.app_dsn)):
            for place, mode in enumerate(("window", "pass-through")):
                headers = {"X-Quire-Conversation": f"c{place}", "X-Quire-Mode": mode}
                body = {"model": "fake", **BODIES["chat/completions"]}
                answer = unhurried.post(f"{url}/v1/chat/completions", json=body, headers=headers)
                assert answer.status_code == 503
                [one] = recorded(reader, 1, f"c{place}")
                assert one["error"]
                assert one["first_ms"] is None


def test_a_client_that_leaves_a_passed_answer_is_recorded(
    asking: httpx.Client, reader: httpx.Client, api: FakeOpenAI, script: Script
) -> None:
    script.says(("word" * 2_500 + " ") * 1_500)  # 15 MB, more than what can be on the way
    body = {"model": "fake", **BODIES["chat/completions"], "stream": True}
    with asking.stream("POST", "chat/completions", json=body, headers={"X-Quire-Mode": "pass-through"}) as answer:
        next(answer.iter_bytes())
    [one] = recorded(reader, 1)
    assert one["error"] == "the client left"
    assert (one["first_seq"], one["last_seq"]) == (1, 1)


@pytest.mark.parametrize("mode", ["window", "pass-through"])
def test_an_answer_that_the_models_api_cut_off_is_recorded_as_such(
    asking: httpx.Client, reader: httpx.Client, api: FakeOpenAI, mode: str
) -> None:
    api.chat.queue.append(reset_within())
    body = {"model": "fake", **BODIES["chat/completions"], "stream": True}
    with (
        suppress(httpx.RemoteProtocolError),
        asking.stream("POST", "chat/completions", json=body, headers={"X-Quire-Mode": mode}) as answer,
    ):
        answer.read()
    [one] = recorded(reader, 1)
    assert one["error"] not in (None, "the client left")
    assert (one["first_seq"], one["last_seq"]) == (1, 1)


def test_of_equal_requests_at_once_each_that_reached_the_model_is_recorded(
    asking: httpx.Client, reader: httpx.Client, script: Script
) -> None:
    body = {"model": "fake", **BODIES["chat/completions"]}
    with ThreadPoolExecutor(20) as pool:
        answers = list(pool.map(lambda _: asking.post("chat/completions", json=body).status_code, range(20)))
    assert answers == [200] * 20
    assert 1 <= len(script.asked) < 20
    assert {one["error"] for one in recorded(reader, len(script.asked))} == {None}


def test_a_walk_by_cursor_meets_every_request_once(asking: httpx.Client, reader: httpx.Client) -> None:
    listed: list[Json] = []
    for number in range(5):
        listed.append({"role": "user", "content": f"question {number}"})
        answer = asking.post("chat/completions", json={"model": "fake", "messages": listed}).json()
        listed.append(answer["choices"][0]["message"])
        recorded(reader, number + 1)
    every = requests(reader)
    assert [one["last_seq"] for one in every] == [10, 8, 6, 4, 2]
    found: list[Json] = []
    query: Json = {"limit": 2}
    while True:
        answer = ok(reader.get(path("c", "requests"), params=query))
        found += answer["items"]
        if answer["next_cursor"] is None:
            break
        query["cursor"] = answer["next_cursor"]
    assert found == every


def test_they_go_with_their_conversation(asking: httpx.Client, reader: httpx.Client) -> None:
    asking.post("chat/completions", json={"model": "fake", **BODIES["chat/completions"]}).raise_for_status()
    recorded(reader, 1)
    assert ok(reader.delete(path("c")))["erased"]["proxied_requests"] == 1
    assert reader.get(path("c", "requests")).status_code == 404
    ok(reader.post("/conversations", json={"id": "c"}), 201)
    assert requests(reader) == []


@pytest.mark.anyio
async def test_they_are_forgotten_after_thirty_days(database: Database) -> None:
    now = datetime.now(UTC)
    sent = ProxiedRequest("chat", "window", "fake", calls=1, total_ms=1)
    async with database.begin(DEFAULT_TENANT) as tx:
        await tx.execute("INSERT INTO conversations (tenant_id, id, uid) VALUES ($1, 'c', gen_random_uuid())")
        await proxied_requests.record(tx, "c", sent)
        for later, left in ((timedelta(minutes=-1), 1), (timedelta(minutes=1), 0)):
            assert not await proxied_requests.prune(tx, first_id(now + later))
            assert len(await proxied_requests.browse(tx, "c", None, 10)) == left


def test_the_official_client_is_recorded_too(priced: str, reader: httpx.Client, clean: None, script: Script) -> None:
    headers = {"X-Quire-Conversation": "c"}
    with openai.OpenAI(base_url=f"{priced}/v1", api_key="any", default_headers=headers) as client:
        client.chat.completions.create(model="fake", messages=[{"role": "user", "content": "hi"}])
    assert recorded(reader, 1)[0]["model"] == "fake"


def test_a_model_whose_name_no_database_takes_is_recorded_without_its_nul(
    asking: httpx.Client, reader: httpx.Client
) -> None:
    asking.post("chat/completions", json={"model": "fa\x00ke", **BODIES["chat/completions"]}).raise_for_status()
    assert recorded(reader, 1)[0]["model"] == "fake"


@pytest.mark.parametrize("name", ["x" * 5000, "fake\ud800"], ids=["long", "surrogate"])
@pytest.mark.parametrize("mode", ["window", "pass-through"])
def test_a_request_with_a_bad_name_of_a_model_is_not_recorded(
    asking: httpx.Client, reader: httpx.Client, mode: str, name: str
) -> None:
    body = json.dumps({"model": name, **BODIES["chat/completions"]})
    headers = {"content-type": "application/json", "X-Quire-Mode": mode}
    answer = asking.post("chat/completions", content=body, headers=headers)
    assert mode == "pass-through" or answer.status_code == 400
    assert reader.get(path("c", "requests")).status_code == 404
