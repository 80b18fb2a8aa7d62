"""With masks on no secret is stored by any door, and what a client sends twice is still the same."""

import json
from collections.abc import Iterator

import httpx
import pytest
from pydantic import SecretStr

from app.main import build_app
from app.postgres.embedded import EmbeddedPostgres
from app.settings import Settings
from tests.api.kit import append, assistant, call, ok, path, result, user, window
from tests.archive.conftest import Grep
from tests.archive.made import all_text, made
from tests.conftest import serving
from tests.providers.fake_openai import FakeOpenAI
from tests.text.secrets import alike, planted

FEW = 60


@pytest.fixture(scope="module")
def masking_url(postgres: EmbeddedPostgres, settings: Settings) -> Iterator[str]:
    with FakeOpenAI(reply=lambda _: f"It is {ANSWERED}.") as api:
        changes = {"quire_masks": "all", "quire_proxy_base_url": api.url, "quire_proxy_api_key": SecretStr("k")}
        yield from serving(build_app(settings.model_copy(update=changes), postgres.app_dsn))


@pytest.fixture
def masking(masking_url: str, clean: None) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=masking_url, timeout=60) as opened:
        yield opened


SOME = list(planted(3, FEW))
ANSWERED = next(secret for _, secret in planted(11, 40) if secret.startswith("gh"))


def secrets(tables_with: Grep, some: list[str]) -> dict[str, list[str]]:
    found = {secret: tables_with(secret.replace("'", "''")) for secret in some}
    return {secret: tables for secret, tables in found.items() if tables}


@pytest.mark.slow
def test_no_door_lets_a_secret_in(masking: httpx.Client, tables_with: Grep) -> None:
    given = iter(SOME)
    kept: list[str] = []

    def text() -> str:
        said, secret = next(given)
        kept.append(secret)
        return said

    append(masking, "c", [user(text()), assistant(text()), user([{"type": "text", "text": text()}])])
    append(masking, "c", [call("x", arguments=json.dumps({"q": text()})), result("x", text())])
    append(masking, "c", [call("y"), result("y", f"{made('prose', size=20_000)}\n{text()}\n{made('log')}")])
    listed = [user(text()), assistant(text())]
    ok(masking.post(path("s", "sync"), json={"messages": listed, "user_id": "u"}))
    ok(masking.post(path("s", "sync"), json={"messages": [*listed, user(text())], "user_id": "u"}))
    ok(masking.post("/memories", json={"user_id": "u", "content": text(), "metadata": {"note": text()}}), 201)
    ok(masking.post("/memories", json={"user_id": "u", "content": text(), "key": "address"}), 201)
    ok(masking.post("/conversations", json={"id": "t", "user_id": "u", "system": text(), "title": text()}), 201)
    window(masking, "c", query=text())
    ok(masking.post(path("c", "context"), json={"system": text(), "query": text()}))
    begun = {"type": "conversation", "id": "i", "user_id": "u"}
    line = {"type": "message", "conversation_id": "i", "seq": 1, "message": user(text())}
    ok(
        masking.post(
            "/import",
            content=f"{json.dumps(begun)}\n{json.dumps(line)}".encode(),
            headers={"Content-Type": "application/x-ndjson"},
        )
    )
    asked = {"model": "fake", "messages": [user(text())]}
    ok(masking.post("/v1/chat/completions", json=asked, headers={"X-Quire-Conversation": "p"}))
    kept.append(ANSWERED)

    assert secrets(tables_with, kept) == {}
    assert all(secret not in all_text(window(masking, name)) for name in "cstp" for secret in kept)
    assert "[masked " in all_text(window(masking, "c"))


def test_a_list_that_is_sent_twice_is_stored_once(masking: httpx.Client) -> None:
    listed = [user(text) for text, _ in SOME[:5]]
    first = ok(masking.post(path("s", "sync"), json={"messages": listed, "user_id": "u"}))
    again = ok(masking.post(path("s", "sync"), json={"messages": listed, "user_id": "u"}))
    assert (len(first["appended"]), again["appended"]) == (5, [])


def test_what_only_looks_like_a_secret_is_stored_as_it_is(masking: httpx.Client) -> None:
    texts = [text for text in alike(5, 50) if "@" not in text]
    append(masking, "c", [user(text) for text in texts])
    items = ok(masking.get(path("c", "messages"), params={"limit": 100}))["items"]
    assert sorted(item["content"] for item in items) == sorted(texts)
