"""LangGraph's PostgreSQL store, in which agents keep what they remember beyond a thread: see `bench.peer`.

A memory is an item with a text and its vector, searched by meaning alone: the store has no search by words. Its
defaults otherwise, with the embedding function that its documentation shows: an HNSW index, shared by all namespaces.
The connection is the store's own, as in `bench.peer_langgraph`.
"""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any
from uuid import uuid4

from langgraph.store.base import PutOp
from langgraph.store.postgres.aio import AsyncPostgresStore
from langgraph.store.postgres.base import PostgresIndexConfig
from openai import AsyncOpenAI

from bench.peer import Operation

PACKAGES = ("langgraph-checkpoint-postgres", "psycopg", "openai")
DIMENSIONS = 384
FOUND_MAX = 10
BATCH = 100

Json = dict[str, Any]


@asynccontextmanager
async def opened(variant: str, dsn: str, url: str) -> AsyncIterator[Mapping[str, Operation]]:
    async def embed(texts: list[str]) -> list[list[float]]:
        answer = await client.embeddings.create(model="played", input=texts)
        return [one.embedding for one in answer.data]

    async def keep(target: str, messages: list[Json]) -> int:
        for at in range(0, len(messages), BATCH):
            some = messages[at : at + BATCH]
            await store.abatch([PutOp((target,), str(uuid4()), {"text": one["content"]}) for one in some])
        return len(messages)

    async def search(target: str, query: str) -> int:
        return len(await store.asearch((target,), query=query, limit=FOUND_MAX))

    index = PostgresIndexConfig(dims=DIMENSIONS, embed=embed, fields=["text"])
    async with (
        AsyncOpenAI(base_url=url, api_key="none") as client,
        AsyncPostgresStore.from_conn_string(dsn, index=index) as store,
    ):
        await store.setup()
        yield {"keep": keep, "search": search}
