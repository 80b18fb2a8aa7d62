"""Conversations to work on, and the rows of work as they are."""

from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from app.postgres.database import Database
from tests.queue.kit import ANN, rows

Rows = Callable[[], Awaitable[list[dict[str, Any]]]]


@pytest.fixture
def jobs(database: Database) -> Rows:
    """Ann's work, every column."""
    return lambda: rows(database, ANN)
