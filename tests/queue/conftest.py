"""Fixtures: conversations with work, and the rows of the work table."""

from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from app.postgres.database import Database
from tests.queue.kit import ANN, rows

Rows = Callable[[], Awaitable[list[dict[str, Any]]]]


@pytest.fixture
def jobs(database: Database) -> Rows:
    """Return Ann's work with all columns."""
    return lambda: rows(database, ANN)
