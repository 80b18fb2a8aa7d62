"""Hindsight's engine in a PostgreSQL of its own: see `bench.peers.peer`.

Without an LLM (provider `none`) it extracts no facts: each message is kept as a document of one chunk, as it is, with
its day and vector, and found by meaning, words and days, fused by rank. Its reranker is a model to be downloaded, so
it has none here; without one its graph would put first what resembles many messages, so that is off. Its prefixes tell the embedding API passages from queries. Hindsight itself holds an
answer to a budget. Its packages may exclude those of other peers, and then need an environment of their own.
"""

import os
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from datetime import datetime
from typing import Any
from uuid import uuid4

import hindsight_api

from bench.peers.peer import Operation

PACKAGES = ("hindsight-api-slim",)
SETTINGS = {
    "LLM_PROVIDER": "none",
    "SKIP_LLM_VERIFICATION": "true",
    "RERANKER_PROVIDER": "rrf",
    "ENABLE_GRAPH_RETRIEVAL": "false",
    "EMBEDDINGS_PROVIDER": "openai",
    "EMBEDDINGS_OPENAI_API_KEY": "none",
    "EMBEDDINGS_OPENAI_MODEL": "prefixed",
    "EMBEDDINGS_QUERY_PREFIX": "query: ",
    "EMBEDDINGS_PASSAGE_PREFIX": "passage: ",
}
BATCH = 50
DSN_VARIABLE = "BENCH_HINDSIGHT_DSN"
"""A PostgreSQL database with pgvector and pg_trgm, which Quire's own lacks. Unless set, Hindsight embeds one."""

Json = dict[str, Any]


@asynccontextmanager
async def opened(variant: str, dsn: str, url: str) -> AsyncIterator[Mapping[str, Operation]]:
    settings = SETTINGS | {"EMBEDDINGS_OPENAI_BASE_URL": url}
    os.environ |= {f"HINDSIGHT_API_{name}": value for name, value in settings.items()}
    engine = hindsight_api.MemoryEngine(
        db_url=os.environ.get(DSN_VARIABLE, "pg0")
    )  # before the import of its modules, which read the environment
    await engine.initialize()
    run = uuid4().hex  # distinguishes this run's banks, which survive it
    caller = hindsight_api.RequestContext(internal=True)

    async def append(target: str, messages: list[Json]) -> int:
        for at in range(0, len(messages), BATCH):
            some = [document(one) for one in messages[at : at + BATCH]]
            await engine.retain_batch_async(f"{run}-{target}", some, request_context=caller)
        return len(messages)

    async def build(target: str, body: Json) -> int:
        return await append(target, body["messages"])

    async def window(target: str, body: Json) -> list[Json]:
        found = await engine.recall_async(
            f"{run}-{target}", body["query"], max_tokens=body["budget"], request_context=caller
        )
        return [{"role": "system", "content": fact.text} for fact in found.results]

    def document(message: Json) -> Any:
        said_at = {"event_date": datetime.fromisoformat(message["said_at"])} if "said_at" in message else {}
        return {"content": message["content"], "document_id": str(uuid4()), **said_at}

    yield {"append": append, "build": build, "window": window}
    await engine.close()
