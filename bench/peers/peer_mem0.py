"""mem0 with pgvector: see `bench.peers.peer`.

`infer=False`: each message is stored as a memory, as it is, with its vector and an entry in mem0's own history in
SQLite; no model is asked. mem0's defaults otherwise: an HNSW index and one for words, shared by all users. Without
its spaCy extra, which lemmatises and finds entities, and would take more. The embedding API is asked by mem0's own
client, once for each message and each search. The variant `exact` has no HNSW index, and tells the embedding API passages
from queries by the name of the model.
"""

import os
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from hashlib import md5
from pathlib import Path
from typing import Any
from uuid import uuid4

from mem0 import Memory

from bench.peers.peer import Operation

PACKAGES = ("mem0ai", "psycopg", "openai")
DIMENSIONS = 384
FOUND_MAX = 10
BATCH = 100

Json = dict[str, Any]


@asynccontextmanager
async def opened(variant: str, dsn: str, url: str) -> AsyncIterator[Mapping[str, Operation]]:
    exact = variant == "exact"
    turns, memories = (connected(name, dsn, url, exact=exact) for name in ("turns", "memories"))
    asked = connected("turns", dsn, url, exact=exact, model="query") if exact else turns

    async def append(target: str, turn: list[Json]) -> int:
        return len(turns.add(turn, user_id=target, infer=False)["results"])

    async def build(target: str, body: Json) -> int:
        return fill(turns, target, body["messages"])

    async def keep(target: str, messages: list[Json]) -> int:
        return fill(memories, target, messages)

    async def search(target: str, query: str) -> int:
        return len(memories.search(query, top_k=FOUND_MAX, filters={"user_id": target})["results"])

    async def window(target: str, body: Json) -> list[Json]:
        found = asked.search(body["query"], top_k=body["limit"], filters={"user_id": target})["results"]
        return [{"role": "system", "content": one["memory"]} for one in found]

    yield {"build": build, "append": append, "keep": keep, "search": search, "window": window}
    for memory in {id(one): one for one in (turns, memories, asked)}.values():
        memory.vector_store.connection_pool.close()
        memory.close()


def connected(collection: str, dsn: str, url: str, *, exact: bool, model: str = "passage") -> Any:
    played = {"openai_base_url": url, "api_key": "none"}
    store: Json = {"connection_string": dsn, "collection_name": collection, "embedding_model_dims": DIMENSIONS}
    store |= {"hnsw": False} if exact else {}
    return Memory.from_config(
        {
            "vector_store": {"provider": "pgvector", "config": store},
            "embedder": {"provider": "openai", "config": {**played, "model": model}},
            "llm": {"provider": "openai", "config": played},
            "history_db_path": str(Path(os.environ["MEM0_DIR"]) / f"{collection}.db"),
        }
    )


def fill(memory: Any, user: str, messages: list[Json]) -> int:
    """Store the same as `add` does, many messages at a time and without the history."""
    now = datetime.now(UTC).isoformat()
    for at in range(0, len(messages), BATCH):
        some = messages[at : at + BATCH]
        memory.vector_store.insert(
            vectors=memory.embedding_model.embed_batch([one["content"] for one in some]),
            ids=[str(uuid4()) for _ in some],
            payloads=[payload(user, one["role"], one["content"], now) for one in some],
        )
    return len(messages)


def payload(user: str, role: str, text: str, now: str) -> Json:
    digest = md5(text.encode(), usedforsecurity=False).hexdigest()
    return {
        "user_id": user, "role": role, "data": text, "hash": digest, "created_at": now, "updated_at": now,
        "text_lemmatized": text,
    }  # fmt: skip
