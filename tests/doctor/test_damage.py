"""`quire doctor --deep`: each kind of damage to the store is named."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path

import asyncpg
import httpx
import pytest

from app.doctor import damage, walk
from app.doctor.checks import Check
from app.doctor.examine import examine
from app.postgres.database import Database
from app.postgres.embedded import EmbeddedPostgres
from app.postgres.tenants import DEFAULT_TENANT
from app.settings import Settings
from app.signals import Stopping
from tests.api.kit import Json, append, assistant, ok, user
from tests.by_turns import few

Sql = Callable[[str], list[asyncpg.Record]]
EVERYTHING_SOUND = {"checksums": "ok", "enforcement": "ok", "store": "ok"}


def calling(number: int) -> Json:
    call = {"id": f"i{number}", "type": "function", "function": {"name": "look", "arguments": "{}"}}
    return {"role": "assistant", "content": None, "tool_calls": [call]}


def deep(postgres: EmbeddedPostgres, data_dir: Path) -> dict[str, Check]:
    settings = Settings(database_url=postgres.app_dsn, quire_data_dir=data_dir, quire_port=0)
    checks = examine(settings, Stopping(), is_loopback=True, asks_models=False, is_deep=True)
    known = {*EVERYTHING_SOUND, *damage.FAULTS}
    return {check.name: check for check in checks if check.name in known}


def states(checks: dict[str, Check]) -> dict[str, str]:
    return {name: check.state for name, check in checks.items()}


@pytest.fixture
def stored(client: httpx.Client) -> None:
    """Two conversations: a prompt, calls, an archive; an erased message and one of many words."""
    log = {"role": "tool", "tool_call_id": "i1", "content": "The kettle log says 96 degrees. " * 600}
    append(client, "c", [{"role": "system", "content": "Be brief."}, user("Look."), calling(1), log])
    for number in range(20):
        append(client, "c", [assistant(f"It is hot, {number}."), user("Is it really? " * (1 + number * 9))])
    append(client, "d", [user("secret " * 90), assistant("ok"), user("y"), assistant("Fine."), user("Go on.")])
    for seq in (1, 3):
        ok(client.delete(f"/conversations/d/messages/{seq}"))


DAMAGE = {
    "gap": "DELETE FROM messages WHERE conversation_id = 'c' AND seq = 9",
    "sums": "UPDATE messages SET full_before = full_before + 7 WHERE conversation_id = 'c' AND seq = 9",
    "chain": "UPDATE messages SET digest = '\\x00' WHERE conversation_id = 'c' AND seq = 9",
    "placeholder": "DELETE FROM archives",
    "totals": "UPDATE conversations SET short_total = short_total + 1 WHERE id = 'd'",
    "content": "DELETE FROM archive_contents",
    "source": "UPDATE memories SET seq = 999 WHERE conversation_id = 'd' AND seq = 2",
    "vector": "INSERT INTO embeddings SELECT tenant_id, uuidv7(), owner, uuidv7(), '[1]' FROM memories",
    "unembedded": "INSERT INTO unembedded SELECT tenant_id, owner, uuidv7() FROM memories",
    "posting": "INSERT INTO postings SELECT tenant_id, owner, 7, uuidv7() FROM memories",
    "listed": "INSERT INTO listed SELECT tenant_id, uuidv7(), owner, uuidv7(), 1, '[1]' FROM memories",
}
ALSO = {"gap": {"source": "fail"}, "placeholder": {"source": "fail"}}
"""What is missing then for others, too."""


def test_each_fault_has_a_test() -> None:
    on_disk = {"damaged", "index"}  # tests/faults/test_damaged_page.py
    assert DAMAGE.keys() == damage.FAULTS.keys() - on_disk


@pytest.mark.usefixtures("stored")
@pytest.mark.parametrize("name", few(DAMAGE, 4))
def test_damage_is_named(postgres: EmbeddedPostgres, data_dir: Path, run_as_superuser: Sql, name: str) -> None:
    assert states(deep(postgres, data_dir)) == EVERYTHING_SOUND
    run_as_superuser(DAMAGE[name])
    found = deep(postgres, data_dir)
    also = ALSO.get(name, {})
    assert states(found) == {"checksums": "ok", "enforcement": "ok", name: "fail", **also}
    assert str(DEFAULT_TENANT) in found[name].detail
    assert found[name].fix


@pytest.mark.usefixtures("stored")
def test_rows_that_other_tenants_see_are_named(
    postgres: EmbeddedPostgres, data_dir: Path, run_as_superuser: Sql
) -> None:
    run_as_superuser("CREATE POLICY leak ON messages USING (true)")
    try:
        found = deep(postgres, data_dir)
    finally:
        run_as_superuser("DROP POLICY leak ON messages")
    assert states(found) == {**EVERYTHING_SOUND, "enforcement": "fail"}
    assert found["enforcement"].detail.endswith("visible in: messages.")


@pytest.mark.parametrize("batch", few([2, 7, 1000]))
def test_the_size_of_the_batches_changes_nothing(
    postgres: EmbeddedPostgres, stored: None, run_as_superuser: Sql, batch: int
) -> None:
    async def walked() -> tuple[dict[str, int], int]:
        database = await Database.connect(postgres.app_dsn, pool_size=1)
        try:
            faults, rows, _ = await walk.walk(database, batch)
        finally:
            await database.close()
        return {fault.name: fault.count for fault in faults}, rows

    rows = sum(
        run_as_superuser(f"SELECT count(*) FROM {table}")[0][0]
        for table in (
            "messages",
            "conversations",
            "archives",
            "memories",
            "embeddings",
            "unembedded",
            "postings",
            "listed",
        )
    )
    assert asyncio.run(walked()) == ({}, rows)
    run_as_superuser(DAMAGE["sums"])
    assert asyncio.run(walked()) == ({"sums": 2}, rows)


def test_checksums_that_are_off_or_failed_are_reported() -> None:
    assert damage.checksums(True, 0).state == "ok"
    assert damage.checksums(False, 0).state == "warn"
    assert damage.checksums(True, 3).state == "fail"
