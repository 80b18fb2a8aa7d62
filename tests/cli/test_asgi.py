"""Quire under ASGI servers that are not its own."""

import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import psutil
import pytest
from starlette.types import Message

from app.asgi import FromEnvironment
from app.main import build_app, create_app
from app.postgres.embedded import EmbeddedPostgres
from app.settings import Settings
from tests import unhurried
from tests.cli.kit import read_until
from tests.conftest import wait_for

ROOT = Path(__file__).parents[2]


@contextmanager
def uvicorn(*arguments: str, **settings: str) -> Iterator["subprocess.Popen[str]"]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("QUIRE_", "DATABASE_"))}
    command = [sys.executable, "-m", "uvicorn", *arguments, "--port", "0"]
    with subprocess.Popen(command, cwd=ROOT, env={**kept, **settings}, stderr=subprocess.PIPE, text=True) as process:
        try:
            yield process
        finally:
            for child in psutil.Process(process.pid).children(recursive=True) if process.poll() is None else ():
                child.kill()
            process.kill()


@pytest.mark.slow
def test_uvicorn_starts_and_stops_the_embedded_database(data_dir: Path) -> None:
    folder = data_dir / "asgi"
    with uvicorn(
        "--factory", "app.main:create_app", QUIRE_DATA_DIR=str(folder), MEMORY_EMBEDDING_MODEL="none"
    ) as process:
        is_stored(url_in(read_until(process.stderr, "Uvicorn running on")))
        assert servers(folder)
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=60)
    wait_for(lambda: not servers(folder))


@pytest.mark.slow
def test_workers_of_uvicorn_share_the_embedded_database_and_a_killed_one_is_replaced(data_dir: Path) -> None:
    folder = data_dir / "asgi-workers"
    settings = {"QUIRE_DATA_DIR": str(folder), "MEMORY_EMBEDDING_MODEL": "none"}
    with uvicorn("app.main:app", "--workers", "2", **settings) as process:
        url = url_in(read_until(process.stderr, "Uvicorn running on"))  # their parent listens before they start
        said = "".join(read_until(process.stderr, "Started server process") for _ in range(2))
        worker = psutil.Process(int(re.findall(r"Started server process \[(\d+)\]", said)[0]))
        for _ in range(2):
            read_until(process.stderr, "Application startup complete")
        is_stored(url)
        worker.kill()
        read_until(process.stderr, "Application startup complete")
        for _ in range(4):
            assert unhurried.get(f"{url}/readyz").status_code == 200
        assert servers(folder)
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=60)
    wait_for(lambda: not servers(folder))


def url_in(said: str) -> str:
    return said.split("Uvicorn running on ")[1].split(maxsplit=1)[0]


def is_stored(url: str) -> None:
    """Store a message, and find it whichever worker answers."""
    message = {"user_id": "u", "messages": [{"role": "user", "content": "Hello"}]}
    assert unhurried.post(f"{url}/conversations/c/messages", json=message).status_code == 201
    for _ in range(8):
        assert unhurried.get(f"{url}/conversations/c").json()["messages"] == 1


def servers(folder: Path) -> list[psutil.Process]:
    """The embedded servers of a folder."""
    return [
        process
        for process in psutil.process_iter(["cmdline"])
        if str(folder / "postgres" / "cluster") in " ".join(process.info["cmdline"] or ())
    ]


@pytest.mark.slow
def test_a_failed_start_is_explained_in_one_sentence(data_dir: Path) -> None:
    away = "postgresql://quire_app:s3cret@127.0.0.1:1/quire"
    with uvicorn("app.main:app", QUIRE_DATA_DIR=str(data_dir / "never"), DATABASE_URL=away) as process:
        _, said = process.communicate(timeout=60)
    assert process.returncode == 3
    assert "Nothing listens at 127.0.0.1:1." in said
    assert "Traceback" not in said
    assert "s3cret" not in said


@pytest.mark.anyio
async def test_without_a_lifespan_it_says_what_is_missing() -> None:
    async with httpx.AsyncClient(transport=httpx.ASGITransport(create_app()), base_url="http://test") as client:
        with pytest.raises(RuntimeError, match="lifespan"):
            await client.get("/healthz")


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("DATABASE_URL", "superuser", "BYPASSRLS"),
        ("QUIRE_POOL_SIZE", "0", "QUIRE_POOL_SIZE: Input should be greater than or equal to 1"),
    ],
)
async def test_an_unsafe_database_or_a_bad_setting_keeps_it_from_starting(
    postgres: EmbeddedPostgres, settings: Settings, monkeypatch: pytest.MonkeyPatch, name: str, value: str, words: str
) -> None:
    monkeypatch.setenv(name, postgres.superuser_dsn if value == "superuser" else value)
    sent: list[Message] = []

    async def receive() -> Message:
        return {"type": "lifespan.startup"}

    async def send(message: Message) -> None:
        sent.append(message)

    await FromEnvironment(lambda _, dsn: build_app(settings, dsn))({"type": "lifespan"}, receive, send)
    [message] = sent
    assert message["type"] == "lifespan.startup.failed"
    assert words in message["message"]
    assert "Traceback" not in message["message"]


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("address", "allowed", "status"),
    [("127.0.0.1", False, 200), ("[::1]", False, 200), ("203.0.113.9", False, 403), ("203.0.113.9", True, 200)],
)
async def test_without_keys_only_loopback_addresses_are_served(
    postgres: EmbeddedPostgres, settings: Settings, clean: None, address: str, allowed: bool, status: int
) -> None:
    """Whatever address the server was told to listen on; `quire serve` refuses to listen there at all."""
    own = settings.model_copy(update={"quire_allow_unauthenticated": allowed})
    app = build_app(own, postgres.app_dsn)
    transport = httpx.ASGITransport(app)
    async with (
        app.router.lifespan_context(app),
        httpx.AsyncClient(transport=transport, base_url=f"http://{address}:8000") as client,
    ):
        answer = await client.get("/conversations?user_id=u")
    assert answer.status_code == status
    if status == 403:
        assert "quire keys create" in answer.json()["detail"]
