"""Run the doctor: probes, then checks, in order. Composition root of `quire doctor`."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import asyncpg

from app import errors
from app.assembly import access, identity_provider, providers, reranker_of
from app.doctor import checks, damage, probes, walk
from app.doctor.checks import Check, DoctorQuestion
from app.postgres import embedded, migrate, refusals
from app.postgres.damage import described
from app.postgres.database import Database
from app.postgres.programs import EmbeddedPostgresError, hint
from app.postgres.tenants import is_keyed
from app.providers import local_embeddings
from app.settings import Settings, misspelt
from app.signals import Stopping
from app.text import tokens

MODEL_SETTINGS = "Check the settings MEMORY_LLM_…, MEMORY_EMBEDDING_… and MEMORY_RERANK_…."
LOG = "Check the database's log."
DEEPER = "Run `quire doctor --deep`: it names what is damaged, and how to mend it."
FIRST_START = "No database yet: the first `quire serve` creates an embedded PostgreSQL."


def examine(
    settings: Settings, stopping: Stopping, *, is_loopback: bool, asks_models: bool, is_deep: bool = False
) -> list[Check]:
    """Return every check that could be made, in order of dependency.

    An existing embedded database is started for this and left as it was; a missing one is not created.
    ``is_deep`` reads the whole store, too.
    """
    here = _machine(settings)
    with _database(settings) as target:
        if isinstance(target, Check):
            current, there = None, [target]
        else:
            asking = _ask_database(settings, target, is_loopback=is_loopback, is_deep=is_deep)
            current, there = stopping.run(asking)
    if settings.database_url is None and (line := embedded.last_early_end(settings.quire_data_dir)):
        there.append(checks.early_end(line))
    models = stopping.run(_ask_models(settings, current)) if asks_models else []
    return [*here, *there, *models]


def _machine(settings: Settings) -> list[Check]:
    is_embedded = settings.database_url is None
    folder = probes.folder(settings.quire_data_dir)
    state = tokens.state(settings.quire_data_dir / "vocabularies")
    host, number = settings.quire_host, settings.quire_port
    found = probes.port(host, number)
    running = [checks.running(warned)] if found == "quire" and (warned := probes.warnings(host, number)) else []
    return [
        checks.settings(misspelt(os.environ)),
        checks.data_dir(folder, embedded=is_embedded, is_root=os.geteuid() == 0),
        checks.vocabulary(state, writable=folder.is_writable),
        checks.port(found, host, number),
        *running,
    ]


# --- The database -----------------------------------------------------------------------------------


@contextmanager
def _database(settings: Settings) -> Iterator[str | Check]:
    if settings.database_url is not None:
        yield settings.database_url
        return
    if not embedded.exists(settings.quire_data_dir):
        yield Check("database", "ok", FIRST_START)
        return
    try:
        postgres = embedded.start(settings.quire_data_dir)
    except (EmbeddedPostgresError, OSError) as error:
        fix = hint(error, f"See {settings.quire_data_dir / 'postgres' / 'log'}.")
        yield Check("database", "fail", f"The embedded PostgreSQL did not start: {error}", fix)
        return
    try:
        yield postgres.app_dsn
    finally:
        postgres.stop()


async def _ask_database(
    settings: Settings, dsn: str, *, is_loopback: bool, is_deep: bool
) -> tuple[tuple[str, int] | None, list[Check]]:
    try:
        connection = await probes.connect(dsn)
    except refusals.KINDS as error:
        fix = "Check DATABASE_URL, that the server is running, and that it admits this machine."
        return None, [Check("database", "fail", refusals.why_not(error, dsn), fix)]
    try:
        checked, is_current = await _ask_server(settings, connection)
    except (OSError, TimeoutError, asyncpg.PostgresError) as error:
        detail = f"The database stopped answering ({type(error).__name__})."
        return None, [Check("database", "fail", detail, LOG)]
    finally:
        connection.terminate()
    if not is_current:
        return None, checked
    try:
        database = await Database.connect(dsn, pool_size=1, statement_cache=settings.quire_statement_cache)
    except errors.StorageUnavailable as error:
        return None, [*checked, Check("connections", "fail", error.detail, LOG)]
    try:
        return await _ask_schema(settings, database, checked, is_loopback=is_loopback, is_deep=is_deep)
    finally:
        await database.close()


async def _ask_server(settings: Settings, connection: asyncpg.Connection) -> tuple[list[Check], bool]:
    """Return the checks, and whether the schema has the version that the other checks query."""
    server = await probes.server(connection)
    revision = await probes.revision(connection)
    is_embedded = settings.database_url is None
    migrations = checks.migrations(revision, migrate.HEAD, migrate.known(), embedded=is_embedded)
    checked = [
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
        misplaced = await probes.misplaced(connection, tables)
        checked += [] if misplaced is None else [checks.placement(misplaced)]
        checked += [checks.protection(tables), checks.grants(tables, server.role)]
    is_usable = all(check.state == "ok" for check in checked if check.name in ("migrations", "distribution", "grants"))
    return checked, is_usable


async def _ask_schema(
    settings: Settings, database: Database, before: list[Check], *, is_loopback: bool, is_deep: bool
) -> tuple[tuple[str, int] | None, list[Check]]:
    """Check what needs the schema; return the model of the stored vectors, too.

    What one check cannot read is a finding, and the others go on.
    """

    def door(is_keyed: bool) -> list[Check]:
        found = checks.door(
            settings.quire_host,
            is_loopback=is_loopback,
            is_keyed=is_keyed or identity_provider(settings).issuer is not None,
            requires_keys=access(settings).requires_keys,
            is_allowed=access(settings).allows_unauthenticated,
        )
        return [found]

    asks: dict[str, tuple[Callable[[Database], Awaitable[Any]], Callable[[Any], list[Check]]]] = {
        "door": (is_keyed, door),
        "workers": (probes.work, lambda work: [checks.jobs(*work)]),
        "vectors": (probes.current_embeddings, lambda _: []),
    }
    if is_deep:
        asks["enforcement"] = (walk.visible, lambda shown: [damage.enforcement(*shown)])
        asks["store"] = (walk.walk, lambda walked: damage.store(*walked))
        asks["checksums"] = (walk.checksums, lambda read: [damage.checksums(*read)])  # of what the others have read
    found, facts = list(before), dict[str, Any]()
    for name, (probe, judge) in asks.items():
        try:
            facts[name] = await probe(database)
            found += judge(facts[name])
        except errors.StorageDamaged as error:
            said = await described(database, error.words)
            found.append(Check(name, "fail", said, damage.FIX if is_deep else DEEPER))
        except errors.StorageUnavailable as error:
            found.append(Check(name, "fail", error.detail, LOG))
    return facts.get("vectors"), found


# --- Models -----------------------------------------------------------------------------------------


async def _ask_models(settings: Settings, current: tuple[str, int] | None) -> list[Check]:
    checked = [] if settings.memory_embedding_model else [checks.weights(local_embeddings.why_not())]
    vocabularies = settings.quire_data_dir / "vocabularies"
    with tempfile.TemporaryDirectory(prefix="quire-doctor-") as elsewhere:
        is_there = tokens.state(vocabularies) == "whole"
        try:
            counter = tokens.load(vocabularies if is_there else Path(elsewhere))
            reranker = reranker_of(settings)
            chat, embedder = await providers(settings, counter)
        except (ValueError, tokens.VocabularyError) as error:
            return [*checked, Check("models", "fail", f"{error}.", MODEL_SETTINGS)]
    try:
        answers: tuple[DoctorQuestion | None, DoctorQuestion | None] = (
            await probes.ask_chat(chat) if chat else None,
            await probes.ask_embedder(embedder) if embedder else None,
        )
        ranked = [checks.reranker(await probes.ask_reranker(reranker))] if reranker else []
    finally:
        for model in (chat, embedder, reranker):
            if model is not None:
                await model.close()
    return [*checked, checks.chat(answers[0]), checks.embeddings(answers[1], current), *ranked]
