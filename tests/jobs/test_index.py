"""The statement that keeps a page's index, while the conversation is being written by others."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from uuid import UUID

import pytest

from app.postgres.database import Database
from app.postgres.transactions import Tx
from app.store import page_index
from app.store.page_index import NewPageIndex
from tests.conftest import WAITING

pytestmark = pytest.mark.anyio

ANN = UUID("aaaaaaaa-0000-7000-8000-000000000001")
UID = UUID(int=5)
PAGES = "INSERT INTO pages (tenant_id, conversation_id, page, first_seq, title, title_tokens)"


@pytest.fixture
async def conversation(database: Database) -> AsyncIterator[Tx]:
    """Two pages, the second of them open; the connection is another one's."""
    async with database.begin(ANN) as tx:
        await tx.execute("INSERT INTO conversations (tenant_id, id, uid) VALUES ($1, 'c', $2)", UID)
        await add_page(tx, 1)
        await add_page(tx, 2)
    async with database.begin(ANN) as tx:
        yield tx


async def index(database: Database, page: int, topics: Sequence[str] = (), source: str = "extractive") -> object:
    async with database.begin(ANN) as tx:
        return await page_index.index(tx, "c", UID, 0, NewPageIndex(page, source, topics=topics))


async def through(database: Database) -> int:
    async with database.snapshot(ANN) as tx:
        found: int = await tx.fetchval("SELECT indexed_through FROM conversations WHERE tenant_id = $1")
        return found


async def meanwhile(database: Database, other: Tx, page: int) -> object:
    """What indexing a page comes to that waited for the other's commit."""
    waiting = asyncio.create_task(index(database, page))
    while not await other.connection.fetchval(WAITING):  # noqa: ASYNC110 - it tells nobody
        await asyncio.sleep(0)
    await other.connection.execute("COMMIT; BEGIN")
    return await waiting


async def add_page(tx: Tx, number: int) -> None:
    """As an append does, in its statement."""
    await tx.execute("UPDATE conversations SET last_page = $2, last_seq = $2 WHERE tenant_id = $1", number)
    await tx.execute(f"{PAGES} VALUES ($1, 'c', $2, $2, 't', 1)", number)


async def test_an_index_is_kept_once_and_a_models_takes_the_place_of_an_extractive_one(
    database: Database, conversation: Tx
) -> None:
    assert await index(database, 1, ["a"]) is True
    assert await index(database, 1, ["a"]) is False
    assert await index(database, 1, ["a", "b"], "llm") is True
    assert await index(database, 1, ["a"], "llm") is False
    assert await index(database, 7, ["a"]) is False
    async with database.snapshot(ANN) as tx:
        topics = await page_index.topics(tx, "c")
    assert {topic.name: topic.mentions for topic in topics} == {"a": 1, "b": 1}


async def test_an_append_that_it_waits_for_closes_pages_that_have_no_index(
    database: Database, conversation: Tx
) -> None:
    await add_page(conversation, 3)
    assert await meanwhile(database, conversation, 1) is True
    assert await through(database) == 1
    assert await index(database, 2) is True
    assert await through(database) == 2


async def test_an_outdated_job_skips_even_the_last_page_it_saw(database: Database, conversation: Tx) -> None:
    await index(database, 1)
    await add_page(conversation, 3)
    assert await meanwhile(database, conversation, 2) is True
    assert await through(database) == 2


async def test_indexed_through_never_goes_back(database: Database, conversation: Tx) -> None:
    await add_page(conversation, 3)
    await page_index.index(conversation, "c", UID, 0, NewPageIndex(1, "llm"))
    await page_index.index(conversation, "c", UID, 0, NewPageIndex(2, "llm"))
    assert await meanwhile(database, conversation, 1) is False
    assert await through(database) == 2


async def test_a_result_is_dropped_after_the_past_changed(database: Database, conversation: Tx) -> None:
    await conversation.execute("UPDATE conversations SET generation = generation + 1 WHERE tenant_id = $1")
    assert await meanwhile(database, conversation, 1) is None
    assert await through(database) == 0
