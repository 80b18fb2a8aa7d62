"""Bring the schema to the newest migration.

Alembic is imported only to run or list migrations: a process whose schema is up to date does without it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Coroutine
from pathlib import Path
from typing import Any

import asyncpg

from app import errors
from app.postgres.distribution import IS_CITUS
from app.postgres.refusals import CONNECT_SECONDS, KINDS, why_not

Run = Callable[[Coroutine[Any, Any, Any]], Any]
HEAD = "0001"
"""The newest migration; a test compares it with the scripts."""
SCRIPTS = Path(__file__).parent / "migrations"
MIGRATE = "Run `quire migrate` as the role that owns the tables (MIGRATION_DATABASE_URL)."
NEWER = "Run the newer version, or restore a backup from before the upgrade."
NO_VECTOR = """\
pgvector 0.7 or newer is not installed in this database. As superuser, in this database: CREATE EXTENSION vector;"""


def fault(found: str, wanted: str, known: Collection[str]) -> tuple[str, str] | None:
    """Return what is wrong with a schema's version and how to fix it; None if this release can serve it.

    A migration keeps what the previous release uses, so that both work while processes are replaced one by one.
    """
    if found in (wanted, f"{int(wanted) + 1:04}"):
        return None
    if found and found not in known:
        return f"The schema is at {found}, which is newer than this version of Quire.", NEWER
    return f"The schema is at {found or 'no version'}; this version needs {wanted}.", MIGRATE


def require(revision: str) -> None:
    """Raise StorageUnavailable unless this release can serve a schema."""
    if revision != HEAD and (wrong := fault(revision, HEAD, known())):
        raise errors.StorageUnavailable(" ".join(wrong))


def upgrade(owner_dsn: str, run: Run = asyncio.run) -> None:
    """Run the missing migrations, as the role that owns the tables. ``run`` brings an event loop; call it from none.

    Two processes can call it at once: the second waits and finds nothing to do. Raises StorageUnavailable if the
    database refuses.
    """
    if run(_is_settled(owner_dsn)):
        return
    from alembic import command
    from alembic.config import Config

    config = Config()
    config.set_main_option("script_location", str(SCRIPTS).replace("%", "%%"))
    config.attributes.update(dsn=owner_dsn, run=run)
    command.upgrade(config, "head")


async def _is_settled(dsn: str) -> bool:
    """Return whether there is nothing to do; on Citus a table can wait to be distributed.

    Raises StorageUnavailable where no migration can help.
    """
    try:
        connection = await asyncpg.connect(dsn, timeout=CONNECT_SECONDS)
    except KINDS as error:
        raise errors.StorageUnavailable(why_not(error, dsn)) from error
    try:
        if not await connection.fetchval("SELECT to_regtype('halfvec') IS NOT NULL"):
            raise errors.StorageUnavailable(NO_VECTOR)
        revision = await connection.fetchval("SELECT version_num FROM alembic_version")
        if revision != HEAD and (wrong := fault(revision, HEAD, known())):
            if wrong[1] == NEWER:
                raise errors.StorageUnavailable(" ".join(wrong))
            return False
        return not await connection.fetchval(IS_CITUS)
    except asyncpg.UndefinedTableError:
        return False
    except asyncpg.InsufficientPrivilegeError as error:
        raise errors.StorageUnavailable(f"This role may not migrate: {error}. {MIGRATE}") from error
    finally:
        await connection.close()


def known() -> frozenset[str]:
    return frozenset(file.name[:4] for file in SCRIPTS.glob("versions/[0-9]*.py"))
