"""The database commits, and its answer is lost: nobody is told that nothing was stored."""

import tempfile
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from app.main import build_app
from app.postgres.embedded import EmbeddedPostgres
from app.settings import Settings
from tests.api.kit import Json, append, history, ok, path, problem, turn, user
from tests.conftest import serving
from tests.faults.lossy import READS, Lossy, lossy

WRITES: dict[str, tuple[str, str, Json | None]] = {
    "create": ("POST", "/conversations", {"id": "new"}),
    "change": ("PATCH", path("c"), {"title": "t"}),
    "append": ("POST", path("c", "messages"), {"messages": [user("once")]}),
    "append to a new one": ("POST", path("new", "messages"), {"messages": [user("once")], "user_id": "u"}),
    "append what opens an epoch": (
        "POST", path("c", "messages"), {"messages": [m for n in range(40) for m in turn(n, words=90)]},
    ),
    "sync": ("POST", path("c", "sync"), {"messages": [*turn(1), user("once")]}),
    "remember": ("POST", "/memories", {"user_id": "u", "content": "tea"}),
    "archive": ("POST", "/archive", {"user_id": "u", "tool_name": "t", "result": "x" * 30_000}),
    "note": ("POST", path("c", "notes"), {"text": "tea"}),
    "recall": ("POST", path("c", "tools", "recall_page"), {"arguments": {"page": 1}}),
    "erase a message": ("DELETE", path("c", "messages", "1"), None),
    "erase": ("DELETE", path("c"), None),
}  # fmt: skip


@pytest.fixture(scope="module")
def between(postgres: EmbeddedPostgres) -> Iterator[tuple[Lossy, str]]:
    with tempfile.TemporaryDirectory(prefix="quire-lossy-") as folder, lossy(postgres.app_dsn, Path(folder)) as made:
        yield made


@pytest.fixture(scope="module")
def url(between: tuple[Lossy, str], settings: Settings) -> Iterator[str]:
    yield from serving(build_app(settings, between[1]))


@pytest.fixture
def client(url: str, clean: None) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=url, timeout=30) as opened:
        append(opened, "c", turn(1))
        yield opened


def send(client: httpx.Client, name: str, key: str | None = None) -> httpx.Response:
    verb, where, body = WRITES[name]
    headers = {"Idempotency-Key": key} if key else {}
    return client.request(verb, where, headers=headers, json=body)


@pytest.mark.parametrize("name", WRITES)
def test_a_lost_commit_reply_is_reported_as_outcome_unknown(
    client: httpx.Client, between: tuple[Lossy, str], name: str
) -> None:
    between[0].lose_next_commit()
    answer = send(client, name)
    assert between[0].lost.is_set()
    found = problem(answer, 503, "may have been done")
    assert found["type"] == "urn:quire:problem:outcome-unknown"
    assert answer.headers["retry-after"]


def test_an_append_with_a_lost_reply_is_stored_and_replayed_by_key(
    client: httpx.Client, between: tuple[Lossy, str]
) -> None:
    """A first attempt is not said to be a repetition, though its answer is read back; a second one is."""
    between[0].lose_next_commit()
    first = send(client, "append", "k")
    assert between[0].lost.is_set()
    assert ok(first, 201)["messages"][0]["seq"] == 3
    assert "idempotency-replayed" not in first.headers
    again = send(client, "append", "k")
    assert (again.content, again.headers["idempotency-replayed"]) == (first.content, "true")
    assert [m["content"] for m in history(client, "c")][2:] == ["once"]


@pytest.mark.parametrize("name", [name for name in WRITES if not name.startswith("append")])
def test_a_retry_under_the_same_key_is_executed_once(
    client: httpx.Client, between: tuple[Lossy, str], name: str
) -> None:
    between[0].lose_next_commit()
    first = send(client, name, "k")
    again = send(client, name, "k")
    assert again.is_success
    assert first.is_success == (name == "sync")
    assert send(client, name, "k").content == again.content


def test_an_interrupted_read_is_storage_unavailable(client: httpx.Client, between: tuple[Lossy, str]) -> None:
    between[0].lose_next_commit(READS)
    answer = client.get(path("c"))
    assert between[0].lost.is_set()
    assert problem(answer, 503)["type"] == "urn:quire:problem:storage-unavailable"
