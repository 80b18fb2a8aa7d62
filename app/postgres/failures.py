"""Translate PostgreSQL's failures into our errors."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterator
from contextlib import contextmanager

import asyncpg

from app import errors
from app.postgres.transactions import Connection

_UNAVAILABLE = (
    OSError,
    TimeoutError,
    asyncpg.PostgresConnectionError,
    asyncpg.CannotConnectNowError,
    asyncpg.AdminShutdownError,
    asyncpg.CrashShutdownError,
    asyncpg.InsufficientResourcesError,
    asyncpg.QueryCanceledError,
    asyncpg.LockNotAvailableError,
    asyncpg.IdleInTransactionSessionTimeoutError,
    asyncpg.ReadOnlySQLTransactionError,
    asyncpg.DeadlockDetectedError,
    asyncpg.SerializationError,
)
_DAMAGED = (
    asyncpg.DataCorruptedError,
    asyncpg.IndexCorruptedError,
    asyncpg.PostgresIOError,
    asyncpg.UndefinedFileError,
)
_DAMAGE_WORDS = ("could not read block", "invalid page", "unexpected data beyond EOF", "missing chunk number")
# After one of these errors a statement that commits itself may have succeeded.
_LOST = (
    OSError,
    TimeoutError,
    asyncpg.PostgresConnectionError,
    asyncpg.AdminShutdownError,
    asyncpg.CrashShutdownError,
    asyncpg.InternalClientError,
)
# These errors end a COMMIT with nothing stored. After any other the outcome is unknown: a node of a distributed
# database may have died when some of the others had committed.
_ROLLED_BACK = (
    asyncpg.TransactionRollbackError,
    asyncpg.IntegrityConstraintViolationError,
    asyncpg.QueryCanceledError,
    asyncpg.DiskFullError,
)
CUT_SHORT = (asyncio.CancelledError, TimeoutError, OSError, asyncpg.InternalClientError)

_logger = logging.getLogger(__name__)


@contextmanager
def committing(connection: Connection) -> Iterator[None]:
    """Turn every error of a COMMIT, except a rollback, into OutcomeUnknown."""
    try:
        with may_be_done(connection):
            yield
    except (asyncpg.PostgresError, asyncpg.InterfaceError) as error:
        if isinstance(error, _ROLLED_BACK):
            raise
        raise _unknown(error) from error


@contextmanager
def may_be_done(connection: Connection) -> Iterator[None]:
    """Turn a lost reply to a commit into OutcomeUnknown, and close the connection at once (see `Database._lent`)."""
    try:
        yield
    except _LOST as error:
        if isinstance(error, CUT_SHORT):
            connection.terminate()
        raise _unknown(error) from error


def _unknown(error: Exception) -> errors.OutcomeUnknown:
    _logger.warning("the answer to a commit was lost: %s: %s", type(error).__name__, error)
    return errors.OutcomeUnknown(
        "The database's answer was lost while it stored this. It may have been done: send it again with the same"
        " Idempotency-Key, or look."
    )


class translated:  # noqa: N801 (used as a function)
    """Turn connection failures and exceeded limits into StorageUnavailable, and remember failures of the storage."""

    def __init__(self, faults: dict[str, str]) -> None:
        self.faults = faults

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: object, error: BaseException | None, traceback: object) -> None:
        if isinstance(error, asyncpg.DiskFullError):
            _logger.error("no space left on the database's disk: %s", error)
            self.faults["storage_full"] = str(error)
            raise errors.StorageFull from error
        if isinstance(error, _DAMAGED) or (
            isinstance(error, asyncpg.InternalServerError) and any(words in str(error) for words in _DAMAGE_WORDS)
        ):
            _logger.error("stored data is damaged: %s", error)
            self.faults["storage_damaged"] = str(error)
            raise errors.StorageDamaged(str(error)) from error
        if isinstance(error, _UNAVAILABLE):
            _logger.warning("storage unavailable: %s: %s", type(error).__name__, error)
            raise errors.StorageUnavailable("The database did not answer in time. Try again.") from error
        if isinstance(error, asyncpg.InternalClientError) or (
            isinstance(error, asyncpg.InterfaceError) and "clos" in str(error)
        ):
            raise errors.StorageUnavailable("The connection to the database was lost. Try again.") from error
