"""Servers that ask for keys: none of them is the one that other tests use, since a door that was locked stays so."""

from collections.abc import Callable, Iterator
from pathlib import Path
from uuid import uuid4

import asyncpg
import httpx
import pytest
from fastapi import FastAPI

from app.main import build_app
from app.postgres.embedded import EmbeddedPostgres
from app.settings import Settings
from tests.conftest import patient, serving
from tests.keys.kit import Mint, minting
from tests.keys.tokens import Signer, issued_by
from tests.providers.fake_openai import FakeOpenAI

Serve = Callable[..., httpx.Client]


@pytest.fixture(scope="session")
def signer() -> Signer:
    return Signer("first")


@pytest.fixture(scope="session")
def locked_app(postgres: EmbeddedPostgres, settings: Settings, signer: Signer, data_dir: Path) -> Iterator[FastAPI]:
    jwks = data_dir / f"jwks-{uuid4().hex}.json"  # tests elsewhere that import this fixture have a server of their own
    jwks.write_text(signer.jwks())
    with FakeOpenAI() as api:
        changes = {"quire_proxy_base_url": api.url, "quire_refusals_per_minute": 0, **issued_by(str(jwks))}
        yield build_app(settings.model_copy(update=changes), postgres.app_dsn)


@pytest.fixture(scope="session")
def locked_url(locked_app: FastAPI) -> Iterator[str]:
    """A server for all tests that never go in without a key or a token."""
    yield from serving(locked_app)


@pytest.fixture
def locked(locked_url: str, clean: None) -> Iterator[httpx.Client]:
    with patient(locked_url) as opened:
        yield opened


@pytest.fixture
def mint(run_as_superuser: Callable[[str], list[asyncpg.Record]], clean: None) -> Mint:
    return minting(run_as_superuser)


@pytest.fixture
def serve(postgres: EmbeddedPostgres, settings: Settings, clean: None) -> Iterator[Serve]:
    """Further servers with settings of their own, which know nothing of keys yet."""
    running: list[Iterator[str]] = []
    clients: list[httpx.Client] = []

    def start(**changes: object) -> httpx.Client:
        running.append(serving(build_app(settings.model_copy(update=changes), postgres.app_dsn)))
        clients.append(patient(next(running[-1])))
        return clients[-1]

    yield start
    for client in clients:
        client.close()
    for server in running:
        next(server, None)
