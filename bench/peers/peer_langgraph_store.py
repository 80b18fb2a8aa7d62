"""LangGraph's PostgreSQL store, in which agents keep what they remember beyond a thread: see `bench.peers.peer`.

A memory is an item with a text and its vector, searched by meaning alone: the store has no search by words. Its
defaults otherwise: an HNSW index, shared by all namespaces; the variant `exact` has none. The name of the model tells the
embedding API passages from queries. The connection is the store's own, as in `bench.peers.peer_langgraph`.
"""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any
from uuid import uuid4

from langchain_core.embeddings import Embeddings
from langgraph.store.base import PutOp
from langgraph.store.postgres.aio import AsyncPostgresStore
from langgraph.store.postgres.base import PostgresIndexConfig
from openai import AsyncOpenAI
from psycopg import AsyncConnection

from bench.peers.peer import Operation

PACKAGES = ("langgraph-checkpoint-postgres", "psycopg", "openai")
DIMENSIONS = 384
FOUND_MAX = 10
BATCH = 100

Json = dict[str, Any]


@asynccontextmanager
async def opened(variant: str, dsn: str, url: str) -> AsyncIterator[Mapping[str, Operation]]:
    async def keep(target: str, messages: list[Json]) -> int:
        for at in range(0, len(messages), BATCH):
            some = messages[at : at + BATCH]
            await store.abatch([PutOp((target,), str(uuid4()), {"text": one["content"]}) for one in some])
        return len(messages)

    async def build(target: str, body: Json) -> int:
        return await keep(target, body["messages"])

    async def search(target: str, query: str) -> int:
        return len(await store.asearch((target,), query=query, limit=FOUND_MAX))

    async def window(target: str, body: Json) -> list[Json]:
        found = await store.asearch((target,), query=body["query"], limit=body["limit"])
        return [{"role": "system", "content": item.value["text"]} for item in found]

    async with AsyncOpenAI(base_url=url, api_key="none") as client:
        index = PostgresIndexConfig(dims=DIMENSIONS, embed=Played(client), fields=["text"])
        async with AsyncPostgresStore.from_conn_string(dsn, index=index) as store:
            await store.setup()
            if variant == "exact":  # its asynchronous setup refuses the kind of index that is none
                async with await AsyncConnection.connect(dsn, autocommit=True) as connection:
                    await connection.execute("DROP INDEX store_vectors_embedding_idx")
            yield {"keep": keep, "search": search, "append": keep, "build": build, "window": window}


class Played(Embeddings):
    """The embedding API, which is only called asynchronously."""

    def __init__(self, client: AsyncOpenAI) -> None:
        self._client = client

    async def aembed_documents(self, texts: list[str]) -> list[list[float]]:
        return await self._vectors("passage", texts)

    async def aembed_query(self, text: str) -> list[float]:
        [vector] = await self._vectors("query", [text])
        return vector

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        raise NotImplementedError

    def embed_query(self, text: str) -> list[float]:
        raise NotImplementedError

    async def _vectors(self, model: str, texts: list[str]) -> list[list[float]]:
        answer = await self._client.embeddings.create(model=model, input=texts)
        return [one.embedding for one in answer.data]
