"""A provider that answers after a minute: meanwhile the worker has a job, and nothing of the database."""

from functools import partial

import asyncpg
import pytest

from tests.conftest import wait_for
from tests.faults.kit import Conversation, Provider
from tests.providers import fake_openai as fake

# Of Quire's connections: transactions that are open, and locks that are held.
HELD = """
SELECT (SELECT count(*) FROM pg_stat_activity
         WHERE application_name = 'quire' AND (xact_start IS NOT NULL OR state LIKE 'idle in transaction%')) AS open,
       (SELECT count(*) FROM pg_locks l JOIN pg_stat_activity a USING (pid) WHERE a.application_name = 'quire') AS locks
"""
RUNNING = "SELECT kind FROM work WHERE token IS NOT NULL AND lane = '{}'"


@pytest.mark.parametrize("lane", ["llm", "embedding"])
def test_no_transaction_is_open_during_a_provider_call(
    conversation: Conversation, provider: Provider, lane: str
) -> None:
    endpoint = provider.api.chat if lane == "llm" else provider.api.embeddings
    provider.api.hold()
    provider.fails(lane, fake.held())
    conversation.says(2)
    provider.api.wait_until(lambda: endpoint.running > 0)

    def holds_nothing() -> bool:
        """At one moment at least: what looks for work takes a moment too, but a job would hold it for all the time."""
        [row] = conversation.sql(HELD)
        return (row["open"], row["locks"]) == (0, 0) and endpoint.running > 0

    wait_for(holds_nothing)
    conversation.goes_on(2)
    assert conversation.sql(RUNNING.format(lane))
    assert conversation.get("status")["running"] + conversation.jobs()["running"] > 0
    for rows in (f"work WHERE token IS NOT NULL AND lane = '{lane}'", "conversations", "memories"):
        wait_for(partial(can_be_locked, conversation, rows))
    assert endpoint.running > 0

    provider.api.release()
    provider.heal()
    conversation.settles()
    conversation.assert_complete()


def can_be_locked(conversation: Conversation, rows: str) -> bool:
    conversation.sql("BEGIN")
    try:
        conversation.sql(f"SELECT FROM {rows} FOR UPDATE NOWAIT")
    except asyncpg.LockNotAvailableError:
        return False
    finally:
        conversation.sql("ROLLBACK")
    return True
