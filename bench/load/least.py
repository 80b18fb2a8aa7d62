"""The least cost of a turn that keeps Quire's promises: `python -m bench.load.least DSN FOLDER`.

An append is one durable statement under row-level security: the conversation's row with its version checked and its
hash chain continued, the messages with exact tokens, and what search needs of them, by Quire's own terms. A window is
one statement that reads what came since the last, put behind the bytes that are kept; where it outgrows the budget it
drops to half. There are no archives, pages, chapters, records or keys, and nothing of a framework.
"""

from __future__ import annotations

import hashlib
import json
import socket
import sys
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from uuid import uuid4

import asyncpg
import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from app.core.canonical import dumps
from app.postgres.tenants import DEFAULT_TENANT
from app.text import bm25, tokens

BUDGET = 8_000
FRAME = 4
"""Tokens of the frame of a message."""
OWN = "tenant = current_setting('app.tenant')::uuid"
TABLES = f"""
CREATE SCHEMA least;
CREATE TABLE least.talks (tenant uuid, id text, version int NOT NULL, last_seq int NOT NULL, chain bytea NOT NULL,
  PRIMARY KEY (tenant, id)) WITH (fillfactor = 50);
CREATE TABLE least.messages (tenant uuid, talk text, seq int, id uuid NOT NULL, body text NOT NULL, tokens int NOT NULL,
  digest bytea NOT NULL, at timestamptz NOT NULL, PRIMARY KEY (tenant, talk, seq));
CREATE TABLE least.memories (tenant uuid, talk text, id uuid, seq int NOT NULL, start int NOT NULL, length int NOT NULL,
  terms sparsevec({bm25.DIMENSIONS}) NOT NULL, PRIMARY KEY (tenant, talk, id));
ALTER TABLE least.talks ENABLE ROW LEVEL SECURITY;
ALTER TABLE least.messages ENABLE ROW LEVEL SECURITY;
ALTER TABLE least.memories ENABLE ROW LEVEL SECURITY;
CREATE POLICY own ON least.talks USING ({OWN});
CREATE POLICY own ON least.messages USING ({OWN});
CREATE POLICY own ON least.memories USING ({OWN});
GRANT USAGE ON SCHEMA least TO quire_app;
GRANT ALL ON ALL TABLES IN SCHEMA least TO quire_app;
"""
APPEND = """
WITH c AS (
  INSERT INTO least.talks AS t VALUES ($1::uuid, $2, 1, $4, $5)
  ON CONFLICT (tenant, id) DO UPDATE SET version = t.version + 1, last_seq = $4, chain = $5 WHERE t.version = $3
  RETURNING 1
), m AS (
  INSERT INTO least.messages SELECT $1::uuid, $2, r.*, now() FROM c,
    unnest($6::int[], $7::uuid[], $8::text[], $9::int[], $10::bytea[]) r
), s AS (
  INSERT INTO least.memories SELECT $1::uuid, $2, r.id, r.seq, r.start, r.length, r.terms::sparsevec FROM c,
    unnest($11::uuid[], $12::int[], $13::int[], $14::int[], $15::text[]) AS r (id, seq, start, length, terms)
) SELECT 1 FROM c LIMIT length(set_config('app.tenant', $1::text, true)) / 36
"""
NEWER = """
SELECT m.seq, m.body, m.tokens FROM least.talks t LEFT JOIN least.messages m
    ON m.tenant = $1::uuid AND m.talk = $2 AND m.seq > $3 AND m.seq <= 2147483647
 WHERE t.tenant = $1::uuid AND t.id = $2 ORDER BY m.seq LIMIT length(set_config('app.tenant', $1::text, true)) * 10000000
"""


@dataclass
class Talk:
    """A conversation in this process's memory, with the bytes of its window."""

    version: int = 0
    last_seq: int = 0
    chain: bytes = b""
    shown: list[tuple[bytes, int]] = field(default_factory=list)
    through: int = 0


@dataclass
class Least:
    pool: Any
    counter: tokens.TokenCounter
    talks: dict[str, Talk] = field(default_factory=dict)

    async def append(self, request: Request) -> Response:
        name = request.path_params["talk"]
        talk = self.talks.setdefault(name, Talk())
        sent: Sequence[Mapping[str, Any]] = json.loads(await request.body())["messages"]
        bodies = [dumps(message) for message in sent]
        seqs, ids = range(talk.last_seq + 1, talk.last_seq + 1 + len(sent)), [uuid4() for _ in sent]
        counts = [FRAME + self.counter.count(body) for body in bodies]
        digests = [hashlib.sha256(body.encode()).digest() for body in bodies]
        chain = talk.chain
        for digest in digests:
            chain = hashlib.sha256(chain + digest).digest()
        found = [
            (uuid4(), seq, start, length, bm25.document(text[start : start + length]))
            for seq, text in zip(seqs, [message.get("content") or "" for message in sent], strict=True)
            for start, length in bm25.passages(text)
        ]
        rows = [[*seqs], ids, bodies, counts, digests, *([one[i] for one in found] for i in range(5))]
        async with self.pool.acquire() as connection:
            arguments = (str(DEFAULT_TENANT), name, talk.version, seqs[-1], chain, *rows)
            assert await connection.fetchval(APPEND, *arguments), "another process appended"
        talk.version, talk.last_seq, talk.chain = talk.version + 1, seqs[-1], chain
        told = [{"id": str(id_), "seq": seq, "tokens": n} for id_, seq, n in zip(ids, seqs, counts, strict=True)]
        return Response(json.dumps({"messages": told}), 201, media_type="application/json")

    async def window(self, request: Request) -> Response:
        name = request.path_params["talk"]
        talk = self.talks[name]
        async with self.pool.acquire() as connection:
            rows = await connection.fetch(NEWER, str(DEFAULT_TENANT), name, talk.through)
        talk.shown += [(row["body"].encode(), row["tokens"]) for row in rows if row["seq"] is not None]
        talk.through = rows[-1]["seq"] or talk.through
        used = sum(count for _, count in talk.shown)
        if used > BUDGET:
            while used > BUDGET // 2:
                used -= talk.shown.pop(0)[1]
        shown = b'{"messages":[' + b",".join(body for body, _ in talk.shown) + b'],"total":%d' % used
        etag = hashlib.sha256(shown).hexdigest()[:32]
        return Response(shown + f',"etag":"{etag}"}}'.encode(), headers={"ETag": etag}, media_type="application/json")


async def create_tables(superuser_dsn: str) -> None:
    connection = await asyncpg.connect(superuser_dsn)
    await connection.execute(TABLES)
    await connection.close()


def create_app(dsn: str, folder: Path) -> Starlette:
    least = Least(None, tokens.load(folder))

    @asynccontextmanager
    async def lifespan(_app: Starlette) -> AsyncIterator[None]:
        async with asyncpg.create_pool(dsn, min_size=1, max_size=8, reset=_keep_session) as least.pool:
            yield

    return Starlette(
        routes=[
            Route("/conversations/{talk}/messages", least.append, methods=["POST"]),
            Route("/conversations/{talk}/context", least.window),
        ],
        lifespan=lifespan,
    )


async def _keep_session(connection: object) -> None:
    """Reset no connection, as Quire does, to save a round trip."""


def main() -> None:
    dsn, folder = sys.argv[1:]
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP) as listening:
        listening.bind(("127.0.0.1", 0))
        listening.listen()
        print(f"http://127.0.0.1:{listening.getsockname()[1]}", flush=True)  # noqa: T201 - read by who started it
        config = uvicorn.Config(
            create_app(dsn, Path(folder)), loop="uvloop", http="httptools", ws="none", log_config=None, access_log=False
        )
        uvicorn.Server(config).run([listening])


if __name__ == "__main__":
    main()
