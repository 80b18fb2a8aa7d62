"""Embeddings, single models, and what is said of other paths and of an API that is away."""

from __future__ import annotations

import gzip
from codecs import BOM_UTF8
from collections.abc import Iterator
from typing import Any

import httpx
import openai
import pytest

from app.main import build_app
from app.postgres.embedded import EmbeddedPostgres
from app.settings import Settings
from tests import unhurried
from tests.conftest import serving, wait_for
from tests.providers.fake_openai import Behaviour, FakeOpenAI, embedding
from tests.proxy.kit import AnthropicOf, Script, openai_of


def test_embeddings_are_passed_on(base_url: str, clean: None, api: FakeOpenAI) -> None:
    with openai_of(base_url) as client:
        found = client.embeddings.create(model="any", input=["longjing", "kettle"], encoding_format="float")
    assert [vector.embedding for vector in found.data] == [embedding("longjing"), embedding("kettle")]


@pytest.mark.parametrize("path", ["//v1/chat/completions", "/v1/chat/completions/", "/v1//chat/completions"])
def test_a_slash_too_many_is_none(client: httpx.Client, base_url: str, script: Script, path: str) -> None:
    body = {"model": "fake", "messages": [{"role": "user", "content": "Hello."}]}
    assert unhurried.post(f"{base_url}{path}", json=body).status_code == 200
    assert unhurried.post(f"{base_url}/p/a%2Fb{path}", json=body).status_code == 200
    wait_for(lambda: client.get("/conversations/a%2Fb").status_code == 200)


@pytest.mark.parametrize("stream", [False, True])
def test_answers_are_read_whatever_stands_around_them(
    clean: None, base_url: str, api: FakeOpenAI, stream: bool
) -> None:
    packed = {"Content-Encoding": "gzip"}
    odd = [
        Behaviour(reply="Longjing.", headers=packed, body=gzip.compress),
        Behaviour(reply="Longjing.", body=lambda body: BOM_UTF8 + body),
    ]
    with openai_of(base_url) as client:
        for behaviour in odd:
            api.chat.queue.append(behaviour)
            answer: Any = client.chat.completions.create(
                model="fake", messages=[{"role": "user", "content": f"Which {len(api.chat.requests)}?"}], stream=stream
            )
            parts = [part.choices[0].delta.content or "" for part in answer] if stream else []
            assert ("".join(parts) if stream else answer.choices[0].message.content) == "Longjing."


@pytest.fixture(scope="module")
def embedding_itself(postgres: EmbeddedPostgres, proxy_settings: Settings, always: FakeOpenAI) -> Iterator[str]:
    """A service with an embedding model of its own."""
    update = {"memory_embedding_model": "own", "memory_embedding_base_url": always.url}
    yield from serving(build_app(proxy_settings.model_copy(update=update), postgres.app_dsn))


@pytest.mark.parametrize("encoding", ["float", "base64"])
def test_embeddings_of_quires_own_model(embedding_itself: str, clean: None, api: FakeOpenAI, encoding: str) -> None:
    texts = ["longjing", "kettle"]
    with openai_of(embedding_itself) as client:
        found = client.embeddings.create(model="own", input=texts, encoding_format=encoding)  # type: ignore[arg-type]
        with pytest.raises(openai.BadRequestError, match="input"):
            client.embeddings.create(model="own", input=[" "])
    assert found.usage.prompt_tokens > 0
    answer = unhurried.post(f"{embedding_itself}/v1/embeddings", json={"model": "own", "input": texts}).json()
    assert [len(vector["embedding"]) for vector in answer["data"]] == [256, 256]
    if encoding == "float":
        assert found.data[0].embedding == pytest.approx(answer["data"][0]["embedding"])


def test_a_model_is_found_by_its_name(base_url: str, clean: None, api: FakeOpenAI) -> None:
    with openai_of(base_url) as client:
        assert client.models.retrieve("fake").id == "fake"
        with pytest.raises(openai.NotFoundError, match="not an available model"):
            client.models.retrieve("org/other")


def test_other_paths_say_what_is_served(base_url: str, clean: None) -> None:
    for path in ("completions", "audio/speech", "messages/batches"):
        answer = unhurried.post(f"{base_url}/v1/{path}", json={})
        assert answer.status_code == 404
        assert "chat/completions, messages," in answer.json()["error"]["message"]


@pytest.fixture(scope="module")
def lonely(postgres: EmbeddedPostgres, proxy_settings: Settings) -> Iterator[str]:
    """A service whose model's API does not run."""
    update = {"quire_proxy_base_url": "http://127.0.0.1:9/v1", "quire_proxy_upstream_dialect": "messages"}
    yield from serving(build_app(proxy_settings.model_copy(update=update), postgres.app_dsn))


def test_an_api_that_is_away_is_503_and_the_setting_is_named(lonely: str, anthropic_of: AnthropicOf) -> None:
    claude = anthropic_of(lonely)
    for mode in ("window", "pass-through"):
        with pytest.raises(Exception, match="QUIRE_PROXY_BASE_URL") as refused:
            claude.messages.create(
                model="fake", max_tokens=9, messages=[{"role": "user", "content": "hi"}],
                extra_headers={"X-Quire-Mode": mode},
            )  # fmt: skip
        assert getattr(refused.value, "status_code", None) == 503
