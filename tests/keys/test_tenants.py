"""What goes through all tenants, and what does not follow an id to whoever has it next."""

import asyncpg
import pytest

from app import worker
from app.core.messages import Limits, read
from app.postgres.database import Database
from app.postgres.tenants import DEFAULT_TENANT, is_keyed, tenants
from app.services.conversations.append import append
from app.services.conversations.requests import PostedMessages
from app.services.tools import tool_calls
from app.settings import Settings
from app.store import conversations
from app.text.tokens import TokenCounter
from tests.guards.conftest import superuser  # noqa: F401 - a fixture
from tests.guards.tenants import ANN, BOB, runtime, say
from tests.keys.kit import ELSEWHERE, HERE

pytestmark = pytest.mark.anyio


async def test_the_list_of_tenants_holds_the_default_one_and_all_others(
    database: Database,
    superuser: asyncpg.Connection,  # noqa: F811
) -> None:
    assert await tenants(database) == [DEFAULT_TENANT]
    await superuser.execute(f"INSERT INTO tenants (tenant_id, name) VALUES ('{HERE}', 'a'), ('{ELSEWHERE}', 'b')")
    assert await tenants(database) == sorted([DEFAULT_TENANT, HERE, ELSEWHERE])
    assert not await is_keyed(database)
    await superuser.execute("UPDATE tenants SET keyed_at = now() WHERE name = 'b'")
    assert await is_keyed(database)


async def test_housekeeping_goes_through_every_tenant(
    database: Database,
    settings: Settings,
    counter: TokenCounter,
    superuser: asyncpg.Connection,  # noqa: F811
) -> None:
    await superuser.execute(f"INSERT INTO tenants (tenant_id, name) VALUES ('{HERE}', 'a'), ('{ELSEWHERE}', 'b')")
    for tenant in (DEFAULT_TENANT, HERE, ELSEWHERE):
        await superuser.execute(
            "INSERT INTO idempotency (tenant_id, key, digest, response, created_at)"
            f" VALUES ('{tenant}', 'k', 'd', 'r', now() - interval '2 days')"
        )
    await worker.keep_house(runtime(settings, database, counter))
    assert await superuser.fetch("SELECT FROM idempotency") == []


async def test_a_tool_call_does_not_read_a_later_conversation_with_the_same_id(
    database: Database, settings: Settings, counter: TokenCounter
) -> None:
    made = runtime(settings, database, counter)
    for tenant in (ANN, BOB):
        await say(made, tenant, "c", [{"role": "user", "content": "hello"}])
    asking = await tool_calls.asker(made, ANN, "u", "c")
    async with database.begin(ANN) as tx:
        known = await conversations.lock(tx, "c")
        assert known is not None
        await conversations.erase(tx, known)
    drafts = read([{"role": "user", "content": "my zebrafish"}], Limits())
    await append(made, ANN, "c", PostedMessages(drafts, user_id="another"), None)
    call = tool_calls.checked("recall_page", {"page": 1})
    answer = await tool_calls.run(asking, call)
    assert answer.is_error
    assert "zebrafish" not in answer.content
