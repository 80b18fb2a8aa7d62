"""A service with a model behind its proxy; the model is played."""

from collections.abc import Iterator

import openai
import pytest
from pydantic import SecretStr

from app.main import build_app
from app.postgres.embedded import EmbeddedPostgres
from app.settings import Settings
from tests.conftest import serving
from tests.guards.conftest import superuser
from tests.providers import fake_openai as fake
from tests.providers.fake_openai import FakeOpenAI
from tests.proxy.kit import SECRET, Script, openai_of

__all__ = ["superuser"]

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
def nameless(base_url: str, clean: None) -> openai.OpenAI:
    """One that does not."""
    return openai_of(base_url)
