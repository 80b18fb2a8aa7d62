"""One service before several APIs: each model goes to its own, and a table that leads back here is noticed."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, cast

import anthropic
import httpx
import openai
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import SecretStr, ValidationError

from app.core.edge.upstreams import SERVICES_MAX, VIA, pattern_of, read_upstreams, way_of
from app.main import build_app
from app.postgres.embedded import EmbeddedPostgres
from app.settings import Settings
from tests.api.kit import history
from tests.conftest import serving
from tests.providers.fake_openai import FakeOpenAI
from tests.proxy.fakes import FakeApi
from tests.proxy.kit import KEY, ask, openai_of, said_by

OTHERS = "sk-of-the-other-api"


@pytest.fixture(scope="session")
def before_both(postgres: EmbeddedPostgres, proxy_settings: Settings, spoken: tuple[FakeApi, str]) -> Iterator[str]:
    table = {"claude-*": {"base_url": spoken[1], "api_key": OTHERS, "dialect": "messages"}}
    update = {"quire_proxy_upstreams": SecretStr(json.dumps(table))}
    yield from serving(build_app(proxy_settings.model_copy(update=update), postgres.app_dsn))


def test_each_model_is_asked_of_its_api_and_all_have_one_conversation(
    client: httpx.Client, before_both: str, api: FakeOpenAI, messages_api: FakeApi
) -> None:
    chat = openai_of(before_both, "c")
    ask(chat, [{"role": "user", "content": "I like longjing."}])
    messages_api.says([{"type": "text", "text": "Longjing."}])
    claude = anthropic.Anthropic(
        base_url=before_both, api_key=KEY, default_headers={"X-Quire-Conversation": "c"}, max_retries=0
    )
    answer = claude.messages.create(
        model="claude-sonnet-5", max_tokens=50, messages=[{"role": "user", "content": "Which tea?"}]
    )
    assert said_by(answer) == "Longjing."
    assert messages_api.headers[-1]["x-api-key"] == OTHERS
    assert "I like longjing." in json.dumps(messages_api.asked[-1]["messages"])
    assert [message["role"] for message in history(client, "c")] == ["user", "assistant"] * 2
    passed = claude.with_options(default_headers={"X-Quire-Conversation": "c", "X-Quire-Mode": "pass-through"})
    messages_api.says([{"type": "text", "text": "Again."}])
    assert passed.messages.create(
        model="claude-sonnet-5", max_tokens=50, messages=[{"role": "user", "content": "Once more?"}]
    ).content
    assert messages_api.headers[-1]["x-api-key"] == OTHERS
    assert len(api.chat.requests) == 1
    assert [model.id for model in chat.models.list()], "an API without a list is left out"
    assert all("quire-" in asked.headers["via"] for asked in api.models.requests), "it can be a service too"


def test_a_request_that_comes_back_is_refused_and_stored_once(
    client: httpx.Client, before_both: str, api: FakeOpenAI
) -> None:
    ask(openai_of(before_both, "c"), [{"role": "user", "content": "Hello."}])
    way = api.chat.requests[-1].headers["via"]
    for mode in ("window", "pass-through"):
        looped = openai_of(before_both, "looped", headers={VIA: f"1.1 nginx, {way}", "X-Quire-Mode": mode})
        with pytest.raises(openai.NotFoundError, match="has come back"):
            ask(looped, [{"role": "user", "content": "Hello."}])
    assert client.get("/conversations/looped").status_code == 404
    assert httpx.get(f"{before_both}/v1/models", headers={VIA: way}).status_code == 404
    assert len(api.chat.requests) == 1


NAMES = st.text("abc-", min_size=1, max_size=6)


@given(st.lists(NAMES, max_size=6))
def test_a_way_never_has_a_service_twice_and_ends(names: list[str]) -> None:
    way, passed = "1.1 nginx", list[str]()
    for name in names:
        further = way_of({VIA: way}, name)
        assert (further is None) == (name in passed or len(passed) >= SERVICES_MAX)
        if further is not None:
            way, passed = further, [*passed, name]
    assert len(way.split(",")) <= SERVICES_MAX


@given(st.sets(NAMES | NAMES.map("{}*".format)), NAMES)
def test_the_longest_pattern_that_fits_wins(patterns: set[str], model: str) -> None:
    fitting = [one for one in patterns if one == model or (one.endswith("*") and model.startswith(one[:-1]))]
    found = pattern_of(patterns, model)
    assert (found is None) == (not fitting)
    assert found is None or len(found) == max(map(len, fitting))


@pytest.mark.parametrize(
    "text",
    ["[]", "{", '{"a": 1}', '{"a": {}}', '{"a": {"base_url": "http://x", "other": "y"}}',
     '{"a": {"base_url": "http://x", "dialect": "klingon"}}', '{"a": {"base_url": "http://x", "api_key": 1}}'],
)  # fmt: skip
def test_a_malformed_table_is_explained_without_its_keys(text: str) -> None:
    with pytest.raises(ValueError, match="must"):
        read_upstreams(text)
    with pytest.raises(ValidationError) as refused:
        Settings(quire_proxy_upstreams=SecretStr(text))
    assert "http://x" not in str(refused.value)


def test_tokens_of_an_input_are_counted(base_url: str, client: httpx.Client) -> None:
    counted = openai_of(base_url).responses.input_tokens.count(model="fake", input="Which tea did I like?")
    assert counted.object == "response.input_tokens"
    assert 6 <= counted.input_tokens <= 15
    with pytest.raises(openai.BadRequestError):
        openai_of(base_url).responses.input_tokens.count(model="fake", input=cast(Any, [{"type": 1}]))
    assert client.get("/conversations").json()["items"] == []
