"""Probe a deployment: return facts for `checks`, and decide nothing."""

from __future__ import annotations

import asyncio
import errno
import json
import os
import shutil
import socket
import stat
import time
import urllib.error
import urllib.request
from collections.abc import Awaitable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final
from uuid import UUID

import asyncpg

from app import healthcheck
from app.doctor.checks import DoctorQuestion, Folder, Port, ServerFacts, Table
from app.postgres import distribution
from app.postgres.database import Database
from app.postgres.refusals import CONNECT_SECONDS
from app.postgres.statements import SqlFile
from app.postgres.tenants import DEFAULT_TENANT
from app.providers import Chat, Embedder, ProviderError, RefusedCaller, RefusedInput, Reranker
from app.queue import depths, table
from app.queue.depths import Depth
from app.store.memory import embeddings

PROVIDER_SECONDS: Final = 20.0
"""An answer that takes longer is none."""
ANSWER_SECONDS: Final = 3.0
READINESS_BYTES_MAX: Final = 100_000

# --- The database -----------------------------------------------------------------------------------

_SQL = SqlFile(__file__)
SERVER = _SQL.statement("server")
REVISION = "SELECT version_num FROM alembic_version"
# Tables that have a tenant; that of the tenants themselves shows its list to everybody.
TABLES = """
SELECT c.relname AS name, c.relrowsecurity AND c.relforcerowsecurity AS is_protected,
       has_table_privilege(c.oid, 'SELECT') AND has_table_privilege(c.oid, 'INSERT')
       AND has_table_privilege(c.oid, 'UPDATE') AND has_table_privilege(c.oid, 'DELETE') AS is_granted
  FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid AND a.attname = 'tenant_id' AND NOT a.attisdropped
 WHERE c.relkind = 'r' AND c.relnamespace = 'public'::regnamespace
"""


async def connect(dsn: str) -> asyncpg.Connection:
    """Open a single connection; a pool's errors would say less."""
    return await asyncpg.connect(dsn, timeout=CONNECT_SECONDS, command_timeout=CONNECT_SECONDS, statement_cache_size=0)


async def server(connection: asyncpg.Connection) -> ServerFacts:
    sent_at = time.time()
    row = await connection.fetchrow(SERVER.text)
    answered = time.time()
    assert row is not None
    values = dict(row)
    now: float = values.pop("now")
    return ServerFacts(**values, skew_seconds=now - (sent_at + answered) / 2)


async def revision(connection: asyncpg.Connection) -> str | None:
    """Return the schema's version; "" if there is no schema, None if the role cannot read it."""
    try:
        return await connection.fetchval(REVISION) or ""
    except asyncpg.UndefinedTableError:
        return ""
    except asyncpg.InsufficientPrivilegeError:
        return None


async def protected_tables(connection: asyncpg.Connection) -> list[Table]:
    return [Table(**row) for row in await connection.fetch(TABLES)]


async def misplaced(connection: asyncpg.Connection, tables: Sequence[Table]) -> list[str] | None:
    """Return the tables that Citus does not hold where they should be; None without Citus."""
    if not await connection.fetchval(distribution.IS_CITUS):
        return None
    found = {row["name"]: row["is_by_tenant"] for row in await connection.fetch(distribution.FOUND)}
    return distribution.misplaced([table.name for table in tables], found)


# --- Work -------------------------------------------------------------------------------------------


async def work(database: Database) -> tuple[dict[str, Depth], int]:
    """Return the work of all tenants by lane, and the number of jobs left by workers that died."""
    return await depths.by_lane(database, await table.busy(database)), await depths.abandoned(database)


async def current_embeddings(database: Database, tenant: UUID = DEFAULT_TENANT) -> tuple[str, int] | None:
    async with database.snapshot(tenant) as tx:
        return await embeddings.current_name(tx)


# --- Models -----------------------------------------------------------------------------------------


async def ask_chat(model: Chat) -> DoctorQuestion:
    """Send a short prompt to the chat model; costs a few dozen tokens."""
    return await _ask(model.model, model.complete([{"role": "user", "content": "Say ok."}], max_tokens=16))


async def ask_embedder(model: Embedder) -> DoctorQuestion:
    asked = await _ask(model.model, model.embed_query("Is anybody there?"))
    return replace(asked, dimensions=model.dimensions)  # known at the latest from its first answer


async def ask_reranker(model: Reranker) -> DoctorQuestion:
    return await _ask(model.model, model.rank("Is anybody there?", ["Yes.", "No."]))


async def _ask(name: str, asking: Awaitable[object]) -> DoctorQuestion:
    begun = time.monotonic()
    try:
        async with asyncio.timeout(PROVIDER_SECONDS):
            await asking
    except TimeoutError:
        return DoctorQuestion(name, error=f"no answer within {PROVIDER_SECONDS:.0f} s")
    except ProviderError as error:
        said = f'{error}; it says: "{error.sentence}"' if error.sentence else str(error)
        return DoctorQuestion(name, error=said, is_refusal=isinstance(error, RefusedCaller | RefusedInput))
    return DoctorQuestion(name, time.monotonic() - begun)


# --- This machine -----------------------------------------------------------------------------------


def folder(path: Path) -> Folder:
    """Describe a folder. If it does not exist, its nearest existing parent tells whether it can be created."""
    path = path.expanduser()
    exists = path.is_dir()
    there = next(parent for parent in (path, *path.absolute().parents) if parent.exists())
    mode = there.stat().st_mode
    return Folder(
        path=str(path),
        exists=exists,
        is_writable=there.is_dir() and os.access(there, os.W_OK | os.X_OK),
        is_open_to_all=exists and bool(mode & stat.S_IWOTH) and not mode & stat.S_ISVTX,
        free_bytes=shutil.disk_usage(there).free,
    )


def port(host: str, number: int) -> Port:
    if number == 0:
        return "any"
    try:
        family, _, _, _, address = socket.getaddrinfo(host, number, type=socket.SOCK_STREAM)[0]
        with socket.socket(family) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind(address)
            probe.listen(1)
    except socket.gaierror:
        return "nowhere"
    except OSError as error:
        if error.errno == errno.EADDRINUSE:
            return "quire" if _is_quire(host, number) else "other"
        return "forbidden" if error.errno == errno.EACCES else "nowhere"
    return "free"


def _is_quire(host: str, number: int) -> bool:
    """Return whether Quire answers there, ready or not: its problem documents have a type of their own."""
    body = _readiness(host, number)
    return b'"warnings"' in body or b"urn:quire:problem:" in body


def warnings(host: str, number: int) -> list[str]:
    try:
        return [str(warning["detail"]) for warning in json.loads(_readiness(host, number))["warnings"]]
    except (ValueError, LookupError, TypeError):
        return []


def _readiness(host: str, number: int) -> bytes:
    url = healthcheck.url(host, str(number), "/readyz")
    try:
        with urllib.request.urlopen(url, timeout=ANSWER_SECONDS) as answer:  # noqa: S310 - our own address
            body: bytes = answer.read(READINESS_BYTES_MAX)
    except urllib.error.HTTPError as error:
        body = error.read(READINESS_BYTES_MAX)
    except (OSError, ValueError):
        return b""
    return body
