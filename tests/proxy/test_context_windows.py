"""The window of a model that no table names is as large as the API's list says."""

from collections.abc import Iterator

import httpx
import pytest

from app.main import build_app
from app.postgres.embedded import EmbeddedPostgres
from app.settings import Settings
from tests.api.kit import append, turn, user
from tests.conftest import serving
from tests.providers.fake_openai import Behaviour, FakeOpenAI, status
from tests.proxy.kit import Script, openai_of


@pytest.fixture
def fresh_url(postgres: EmbeddedPostgres, proxy_settings: Settings, clean: None) -> Iterator[str]:
    yield from serving(build_app(proxy_settings, postgres.app_dsn))


def asked(url: str, script: Script, text: str, model: str) -> int:
    openai_of(url, "c", headers={"X-Quire-User": "u"}).chat.completions.create(
        model=model, messages=[{"role": "user", "content": text}]
    )
    return len(str(script.asked[-1]["messages"]))


LISTED_WINDOW = 8_000


@pytest.mark.parametrize("name", ["max_model_len", "context_length"])
def test_a_listed_window_is_the_budget(
    fresh_url: str, client: httpx.Client, script: Script, api: FakeOpenAI, name: str
) -> None:
    api.models.default = Behaviour(edit=lambda _: {"data": [{"id": "listed", name: LISTED_WINDOW}]})
    for number in range(30):
        append(client, "c", turn(number, words=300))
    small = asked(fresh_url, script, "How are you?", "listed")
    assert small < 8 * LISTED_WINDOW
    assert asked(fresh_url, script, "And you?", "unheard-of") > 2 * small


def test_an_api_without_a_list_is_asked_all_the_same(
    fresh_url: str, client: httpx.Client, script: Script, api: FakeOpenAI
) -> None:
    append(client, "c", [user("hello")])
    api.models.default = status(404)
    assert asked(fresh_url, script, "How are you?", "listed")
