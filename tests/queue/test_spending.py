"""Spending is counted once, by day and by conversation, whatever happens to the conversation."""

import asyncio

import pytest

from app.postgres.database import Database
from app.store import spending
from app.store.spending import Spent
from tests.queue.kit import ANN, BOB, conversation

pytestmark = pytest.mark.anyio


async def test_concurrent_calls_are_all_counted(database: Database) -> None:
    await conversation(database, ANN, "c")
    calls = (spending.record(database, ANN, "c", "page", "m", Spent(1, 100, 10, 60, 5)) for _ in range(8))
    await asyncio.gather(*calls, spending.record(database, ANN, None, "embed", "e", Spent(3, 7, 0)))
    async with database.snapshot(ANN) as tx:
        assert await spending.totals(tx) == {"page": Spent(8, 800, 80, 480, 40), "embed": Spent(3, 7, 0)}
        assert await spending.totals_of(tx, "c") == {"page": Spent(8, 800, 80, 480, 40)}
    async with database.snapshot(BOB) as tx:
        assert await spending.totals(tx) == {}


async def test_a_conversation_that_was_erased_meanwhile_was_paid_for_too(database: Database) -> None:
    await spending.record(database, ANN, "gone", "page", "m", Spent(1, 5, 5))
    async with database.snapshot(ANN) as tx:
        assert await spending.totals(tx) == {"page": Spent(1, 5, 5)}
        assert await spending.totals_of(tx, "gone") == {}
