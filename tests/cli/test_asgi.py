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
@pytest.mark.parametrize(
    "arguments", [("app.main:app",), ("--factory", "app.main:create_app"), ("app.main:app", "--workers", "2")]
)
def test_uvicorn_starts_and_stops_the_embedded_database(data_dir: Path, arguments: tuple[str, ...]) -> None:
    folder = data_dir / f"asgi-{len(arguments)}"
    with uvicorn(*arguments, QUIRE_DATA_DIR=str(folder), MEMORY_EMBEDDING_MODEL="none") as process:
        said = read_until(process.stderr, "Uvicorn running on")
        if "--workers" in arguments:  # their parent listens before they start
            for _ in range(2):
                read_until(process.stderr, "Application startup complete")
        url = said.split("Uvicorn running on ")[1].split()[0]
        message = {"user_id": "u", "messages": [{"role": "user", "content": "Hello"}]}
        assert unhurried.post(f"{url}/conversations/c/messages", json=message).status_code == 201
        for _ in range(8):  # whichever worker answers
            assert unhurried.get(f"{url}/conversations/c").json()["messages"] == 1
        assert servers(folder)
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=60)
    wait_for(lambda: not servers(folder))


@pytest.mark.slow
def test_uvicorn_replaces_a_worker_that_was_killed(data_dir: Path) -> None:
    settings = {"QUIRE_DATA_DIR": str(data_dir / "asgi-killed"), "MEMORY_EMBEDDING_MODEL": "none"}
    with uvicorn("app.main:app", "--workers", "2", **settings) as process:
        url = read_until(process.stderr, "Uvicorn running on").split("Uvicorn running on ")[1].split()[0]
        said = "".join(read_until(process.stderr, "Started server process") for _ in range(2))
        worker = psutil.Process(int(re.findall(r"Started server process \[(\d+)\]", said)[0]))
        for _ in range(2):
            read_until(process.stderr, "Application startup complete")
        worker.kill()
        read_until(process.stderr, "Application startup complete")
        for _ in range(4):
            assert unhurried.get(f"{url}/readyz").status_code == 200
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=60)


def servers(folder: Path) -> list[psutil.Process]:
    """The embedded servers of a folder."""
    return [
        process
        for process in psutil.process_iter(["cmdline"])
        if str(folder / "postgres" / "cluster") in " ".join(process.info["cmdline"] or ())
    ]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"QUIRE_POOL_SIZE": "0"}, "QUIRE_POOL_SIZE: Input should be greater than or equal to 1"),
        ({"DATABASE_URL": "postgresql://quire_app:s3cret@127.0.0.1:1/quire"}, "Nothing listens at 127.0.0.1:1."),
    ],
)
def test_a_failed_start_is_explained_in_one_sentence(data_dir: Path, settings: dict[str, str], words: str) -> None:
    with uvicorn("app.main:app", QUIRE_DATA_DIR=str(data_dir / "never"), **settings) as process:
        _, said = process.communicate(timeout=60)
    assert process.returncode == 3
    assert words in said
    assert "Traceback" not in said
    assert "s3cret" not in said


@pytest.mark.anyio
async def test_without_a_lifespan_it_says_what_is_missing() -> None:
    async with httpx.AsyncClient(transport=httpx.ASGITransport(create_app()), base_url="http://test") as client:
        with pytest.raises(RuntimeError, match="lifespan"):
            await client.get("/healthz")


@pytest.mark.anyio
async def test_an_unsafe_database_keeps_it_from_starting(
    postgres: EmbeddedPostgres, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DATABASE_URL", postgres.superuser_dsn)
    sent: list[Message] = []

    async def receive() -> Message:
        return {"type": "lifespan.startup"}

    async def send(message: Message) -> None:
        sent.append(message)

    await FromEnvironment(lambda _, dsn: build_app(settings, dsn))({"type": "lifespan"}, receive, send)
    [message] = sent
    assert message["type"] == "lifespan.startup.failed"
    assert "BYPASSRLS" in message["message"]


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
