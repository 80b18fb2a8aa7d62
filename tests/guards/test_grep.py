"""A grep ends in time, and tells when it did not read everything."""

from dataclasses import replace

import asyncpg
import pytest

from app.postgres.database import Database
from app.services.memory import grepping
from app.services.memory.grepping import GrepRequest
from app.settings import Settings
from app.store.memory import grep
from app.store.memory.grep import GrepTooSlow
from app.text.tokens import TokenCounter
from tests.guards.tenants import ANN, BOB, fill, runtime

pytestmark = pytest.mark.anyio


async def test_a_pattern_that_takes_too_long_is_stopped_in_the_database(database: Database) -> None:
    pattern = grepping.pattern_of("(a{0,255}b?){0,39}c", is_regex=True)
    with pytest.raises(GrepTooSlow):
        async with database.snapshot(ANN) as tx:
            await grep.limit(tx, 0.001)
            await grep.matches(tx, ["ab" * 50_000] * 20, pattern)
    async with database.snapshot(ANN) as tx:  # the connection can be used again, without the limit
        assert await tx.connection.fetchval("SHOW statement_timeout") == "5s"


async def test_a_pattern_without_literal_parts_reads_the_newest_messages_only(
    database: Database, superuser: asyncpg.Connection, settings: Settings, counter: TokenCounter
) -> None:
    await fill(superuser, ANN, "c", 3 * grepping.ROWS_MAX // 2, others=10)
    made = runtime(settings, database, counter)
    request = GrepRequest(grepping.pattern_of(r"\d{4}", is_regex=True), conversation_id="c", limit=1)
    found = await grepping.find(made, ANN, request)
    assert (found.total, found.is_complete) == (grepping.ROWS_MAX, False)
    assert grepping.answer(found)["warnings"][0]["code"] == "not_everything_was_read"
    literal = replace(request, pattern=grepping.pattern_of("message 7 ", is_regex=False))
    found = await grepping.find(made, ANN, literal)
    assert (found.total, found.is_complete, found.hits[0].seq) == (1, True, 7)
    everywhere = replace(literal, conversation_id=None, user_id="u")
    assert (await grepping.find(made, ANN, everywhere)).total == 1
    assert (await grepping.find(made, BOB, everywhere)).total == 0
