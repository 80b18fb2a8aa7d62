"""Erasing what is large: stretch by stretch in one transaction; and what comparing texts finds."""

import asyncio
from collections.abc import Callable

import asyncpg
import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.core.history.erasure import REPEAT_CHARACTERS, Repeats
from app.postgres.embedded import EmbeddedPostgres
from app.postgres.tenants import DEFAULT_TENANT
from app.store import conversations
from tests.api.kit import append, ok, path, problem, user
from tests.archive.conftest import Grep
from tests.guards.tenants import fill

Sql = Callable[[str], list[asyncpg.Record]]
few = st.text(alphabet="ab C-1\n", max_size=60)


def shared(one: str, other: str) -> bool:
    plain, whole = ("".join(c for c in text.casefold() if c.isalnum()) for text in (one, other))
    return any(plain[at : at + REPEAT_CHARACTERS] in whole for at in range(len(plain) - REPEAT_CHARACTERS + 1))


@given(st.lists(few, max_size=3), few)
def test_a_text_is_repeated_by_those_that_share_twelve_letters_in_a_row(texts: list[str], text: str) -> None:
    found = Repeats(dict(enumerate(texts))).of(text)
    if sum(c.isalnum() for c in text) >= REPEAT_CHARACTERS:
        assert found == {name for name, other in enumerate(texts) if shared(text, other)}


@pytest.mark.slow
def test_a_long_conversation_is_erased_whole_and_nothing_else(
    client: httpx.Client, postgres: EmbeddedPostgres, run_as_superuser: Sql
) -> None:  # fmt: skip
    length = 3 * conversations.AT_ONCE + 1
    asyncio.run(_fill(postgres.superuser_dsn, length))
    append(client, "next", [user("the zebras of the next conversation")])
    run_as_superuser(
        "INSERT INTO memories (tenant_id, id, owner, type, conversation_id, conversation_uid, seq, page, start, length,"
        " terms) SELECT m.tenant_id, gen_random_uuid(), m.tenant_id, 'episode', 'zebra', c.uid, m.seq, m.page, 0, 9,"
        " '{}/1000000000' FROM messages m, conversations c, generate_series(1, 2) n"
        " WHERE m.conversation_id = 'zebra' AND c.tenant_id = m.tenant_id AND c.id = 'zebra'"
    )
    gone = ok(client.delete(path("zebra")))["erased"]
    rows = {"messages": length, "memories": 2 * length, "pages": length // 2 + 1, "recalls": length // 2 + 1}
    assert {name: gone[name] for name in rows} == rows
    assert gone["conversations"] == 1
    problem(client.get(path("zebra")), 404)
    left = run_as_superuser("SELECT conversation_id, count(*) FROM messages GROUP BY 1 ORDER BY 1")
    assert [tuple(row) for row in left] == [("next", 1), ("zebra1", 2), ("zebra2", 2), ("zebra3", 2)]


async def _fill(dsn: str, length: int) -> None:
    superuser = await asyncpg.connect(dsn)
    await fill(superuser, DEFAULT_TENANT, "zebra", length, others=3)
    await superuser.close()


@pytest.mark.parametrize("count", [999, 1000, 2001])
def test_all_stored_responses_are_checked(
    client: httpx.Client, run_as_superuser: Sql, tables_with: Grep, count: int
) -> None:
    run_as_superuser(
        "INSERT INTO idempotency (tenant_id, key, digest, response) SELECT"
        f" '{DEFAULT_TENANT}', 'k' || n, 'd', '{{\"id\":\"other\"}}' FROM generate_series(1, {count}) n"
    )
    sent = {"messages": [user("a Xylocarpus is a tree")], "user_id": "u"}
    ok(client.post(path("c", "messages"), json=sent, headers={"Idempotency-Key": "z"}), 201)
    ok(client.post(path("d", "messages"), json=sent, headers={"Idempotency-Key": "zz"}), 201)
    assert ok(client.delete(path("c", "messages", "1")))["erased"]["idempotency"] == 1
    assert ok(client.delete(path("d")))["erased"]["idempotency"] == 1
    assert tables_with("Xylocarpus") == []
