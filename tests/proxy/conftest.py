"""A service with a model behind its proxy; the model is played."""

from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

import anthropic
import openai
import pytest
from pydantic import SecretStr

from app.main import build_app
from app.postgres.embedded import EmbeddedPostgres
from app.settings import Settings
from tests.conftest import serve, serving
from tests.guards.conftest import superuser
from tests.providers import fake_openai as fake
from tests.providers.fake_openai import FakeOpenAI
from tests.proxy.agents import DIALECTS, clients
from tests.proxy.fakes import FakeApi
from tests.proxy.kit import KEY, SECRET, AnthropicOf, Script, openai_of
from tests.proxy.models import Model

__all__ = ["clients", "superuser"]

SECONDS = 5.0
"""What an answer may take: a model that hangs costs a test so much."""


@pytest.fixture(scope="session")
def always() -> Iterator[FakeOpenAI]:
    with FakeOpenAI() as api:
        yield api


@pytest.fixture(scope="session")
def proxy_settings(settings: Settings, always: FakeOpenAI) -> Settings:
    return settings.model_copy(
        update={
            "quire_proxy_base_url": always.url,
            "quire_proxy_api_key": SecretStr(SECRET),
            "quire_proxy_rounds": 2,
            "quire_proxy_seconds": SECONDS,
        }
    )


@pytest.fixture(scope="session")
def base_url(postgres: EmbeddedPostgres, proxy_settings: Settings) -> Iterator[str]:
    yield from serving(build_app(proxy_settings, postgres.app_dsn))


@pytest.fixture(scope="session")
def spoken() -> Iterator[tuple[FakeApi, str]]:
    """An API of other dialects, and its address."""
    api = FakeApi()
    with serve(api.app()) as served:
        yield api, f"{served.url}/v1"


@pytest.fixture
def messages_api(spoken: tuple[FakeApi, str]) -> FakeApi:
    """Messages, with nothing asked of it yet."""
    spoken[0].clear()
    return spoken[0]


def _speaking(dialect: str) -> Any:
    """A service whose model's API speaks another dialect."""

    @pytest.fixture(scope="session")
    def served(postgres: EmbeddedPostgres, proxy_settings: Settings, spoken: tuple[FakeApi, str]) -> Iterator[str]:
        update = {"quire_proxy_base_url": spoken[1], "quire_proxy_upstream_dialect": dialect}
        yield from serving(build_app(proxy_settings.model_copy(update=update), postgres.app_dsn))

    return served


speaking_messages, speaking_responses = _speaking("messages"), _speaking("responses")


@pytest.fixture
def api(always: FakeOpenAI) -> Iterator[FakeOpenAI]:
    """In good health before and after."""
    for _ in _healed(always):
        yield always


def _healed(api: FakeOpenAI) -> Iterator[None]:
    for _ in range(2):
        for endpoint in (api.chat, api.models):
            endpoint.default, endpoint.picks = fake.ok(), None
            endpoint.queue.clear()
            endpoint.requests.clear()
        api.reply = fake.echo
        api.release()
        if _ == 0:
            api.hold()
            yield


@pytest.fixture
def script(api: FakeOpenAI) -> Script:
    found = Script()
    api.reply = found
    return found


@pytest.fixture
def chat(base_url: str, clean: None) -> openai.OpenAI:
    """A client that names its conversation."""
    return openai_of(base_url, "c")


@pytest.fixture
def anthropic_of(clean: None) -> Iterator[AnthropicOf]:
    """Make a client for a service and, perhaps, one conversation. Theirs do not close themselves."""
    with ExitStack() as opened:

        def make(base_url: str, conversation: str | None = None, **more: Any) -> anthropic.Anthropic:
            headers = {"X-Quire-Conversation": conversation} if conversation else {}
            keys: dict[str, Any] = {} if "auth_token" in more else {"api_key": KEY}
            client = anthropic.Anthropic(
                base_url=base_url, default_headers=headers, max_retries=0, timeout=30, **keys, **more
            )
            return opened.enter_context(client)

        yield make


@pytest.fixture
def nameless(base_url: str, clean: None) -> openai.OpenAI:
    """One that does not."""
    return openai_of(base_url)


@pytest.fixture(params=DIALECTS, ids=[f"before {dialect}" for dialect in DIALECTS])
def model(request: pytest.FixtureRequest, clean: None, api: FakeOpenAI, script: Script, messages_api: FakeApi) -> Model:
    """A model before whose API, of each dialect, there is a service."""
    url = request.getfixturevalue({"chat": "base_url"}.get(request.param, f"speaking_{request.param}"))
    return Model(request.param, url, api, script, messages_api)
