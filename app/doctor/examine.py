"""The doctor's round: probes, then checks, one after the other. Composition root of `quire doctor`."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import asyncpg

from app import errors
from app.doctor import checks, probes
from app.doctor.checks import Asked, Check
from app.main import providers
from app.postgres import embedded, migrate, refusals
from app.postgres.database import Database
from app.postgres.tenants import is_keyed
from app.settings import Settings
from app.signals import Stopping
from app.text import tokens

FIRST_START = "No database yet: the first `quire serve` creates an embedded PostgreSQL."


def examine(settings: Settings, stopping: Stopping, *, is_loopback: bool, asks_models: bool) -> list[Check]:
    """Every check that could be made, in the order in which things depend on each other.

    An embedded database that exists is started for it, and left as it was; one that does not is not made.
    """
    here = _machine(settings)
    with _database(settings) as found:
        if isinstance(found, Check):
            current, there = None, [found]
        else:
            current, there = stopping.run(_ask_database(settings, found, is_loopback=is_loopback))
    models = stopping.run(_ask_models(settings, current)) if asks_models else []
    return [*here, *there, *models]


def _machine(settings: Settings) -> list[Check]:
    is_embedded = settings.database_url is None
    folder = probes.folder(settings.quire_data_dir)
    state = tokens.state(settings.quire_data_dir / "vocabularies")
    host, number = settings.quire_host, settings.quire_port
    return [
        checks.data_dir(folder, embedded=is_embedded, is_root=os.geteuid() == 0),
        checks.vocabulary(state, writable=folder.is_writable),
        checks.port(probes.port(host, number), host, number),
    ]


# --- The database -----------------------------------------------------------------------------------


@contextmanager
def _database(settings: Settings) -> Iterator[str | Check]:
    """Where it is, or why there is none."""
    if settings.database_url is not None:
        yield settings.database_url
        return
    if not embedded.exists(settings.quire_data_dir):
        yield Check("database", "ok", FIRST_START)
        return
    try:
        postgres = embedded.start(settings.quire_data_dir)
    except (embedded.EmbeddedPostgresError, OSError) as error:
        fix = f"See {settings.quire_data_dir / 'postgres' / 'log'}."
        yield Check("database", "fail", f"The embedded PostgreSQL did not start: {error}", fix)
        return
    try:
        yield postgres.app_dsn
    finally:
        postgres.stop()


async def _ask_database(
    settings: Settings, dsn: str, *, is_loopback: bool
) -> tuple[tuple[str, int] | None, list[Check]]:
    """The embedding model that vectors are of, and the checks."""
    try:
        connection = await probes.connect(dsn)
    except refusals.KINDS as error:
        fix = "Check DATABASE_URL, that the server is running, and that it admits this machine."
        return None, [Check("database", "fail", refusals.why_not(error, dsn), fix)]
    try:
        found, is_current = await _ask_server(settings, connection)
    except (OSError, TimeoutError, asyncpg.PostgresError) as error:
        said = f"The database stopped answering ({type(error).__name__})."
        return None, [Check("database", "fail", said, "Check its log.")]
    finally:
        connection.terminate()
    if not is_current:
        return None, found
    try:
        current, more = await _ask_schema(settings, dsn, is_loopback=is_loopback)
    except errors.StorageUnavailable as error:
        return None, [*found, Check("workers", "fail", error.detail, "Check the database's log.")]
    return current, [*found, *more]


async def _ask_server(settings: Settings, connection: asyncpg.Connection) -> tuple[list[Check], bool]:
    """The checks, and whether the schema is the one that the others ask about."""
    server = await probes.server(connection)
    revision = await probes.revision(connection)
    is_embedded = settings.database_url is None
    migrations = checks.migrations(revision, migrate.HEAD, migrate.known(), embedded=is_embedded)
    found = [
        checks.version(server),
        checks.role(server),
        checks.durability(server),
        checks.connections(server, settings.quire_pool_size),
        checks.clock(server),
        checks.vector(server),
        migrations,
    ]
    if migrations.state == "ok":
        tables = await probes.protected_tables(connection)
        found += [checks.protection(tables), checks.grants(tables, server.role)]
    is_usable = migrations.state == "ok" and found[-1].state == "ok"
    return found, is_usable


async def _ask_schema(settings: Settings, dsn: str, *, is_loopback: bool) -> tuple[tuple[str, int] | None, list[Check]]:
    """Raises StorageUnavailable."""
    database = await Database.connect(dsn, pool_size=1, statement_cache=settings.quire_statement_cache)
    try:
        door = checks.door_of(
            is_loopback=is_loopback,
            is_keyed=await is_keyed(database),
            requires_keys=settings.quire_require_keys,
            is_allowed=settings.quire_allow_unauthenticated,
        )
        lanes, abandoned = await probes.work(database)
        current = await probes.current_embeddings(database)
    finally:
        await database.close()
    return current, [checks.door(door, settings.quire_host), checks.jobs(lanes, abandoned)]


# --- Models -----------------------------------------------------------------------------------------


async def _ask_models(settings: Settings, current: tuple[str, int] | None) -> list[Check]:
    """Each is asked something small."""
    found = [] if settings.memory_embedding_model else [checks.weights(probes.local_weights())]
    vocabularies = settings.quire_data_dir / "vocabularies"
    with tempfile.TemporaryDirectory(prefix="quire-doctor-") as elsewhere:
        is_there = tokens.state(vocabularies) == "whole"
        try:
            counter = tokens.load(vocabularies if is_there else Path(elsewhere))
            chat, embedder = await providers(settings, counter)
        except (ValueError, tokens.VocabularyError) as error:
            return [
                *found,
                Check("models", "fail", f"{error}.", "Check the MEMORY_LLM_… and MEMORY_EMBEDDING_… settings."),
            ]
    try:
        asked: tuple[Asked | None, Asked | None] = (
            await probes.ask_chat(chat) if chat else None,
            await probes.ask_embedder(embedder) if embedder else None,
        )
    finally:
        for model in (chat, embedder):
            if model is not None:
                await model.close()
    return [*found, checks.chat(asked[0]), checks.embeddings(asked[1], current)]
