"""The yardstick: the least cost of requests with Starlette and asyncpg. `python -m bench.load.bare DSN FILE LOOP`.

It knows nothing but rows, and from FILE what is around them in Quire's own answers. A window is the texts of the same
rows by one statement, put into their place in that answer, and a range of an archive likewise. An append is BEGIN, a
row locked and updated, the messages inserted, COMMIT; a turn is an append and then a window of the same rows as ever,
in one request. A search is Quire's own statement with arguments that are ready, and its rows as JSON: no texts are
read, cut and marked for them, and of a hybrid one the query's vector is ready too. Nothing is validated, counted, placed or paged, and no policy is in force: it connects
as the superuser, whom row-level security does not bind.
"""

from __future__ import annotations

import json
import socket
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from uuid import UUID, uuid4

import asyncpg
import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from app.core.canonical import dumps
from app.core.scope import Scope
from app.core.search import relevance
from app.postgres.tenants import DEFAULT_TENANT
from app.postgres.transactions import Connection
from app.services.memory.querying import names_in
from app.store.memory.memories import Meaning, PassageFilter, Scoring, search_statement
from app.text import bm25

POOL = 8
FOUND = 10
"""The number of results of a search."""

TEXTS = """
SELECT string_agg(CASE WHEN seq < $4 THEN coalesce(short, view, body) ELSE coalesce(view, body) END, ',' ORDER BY seq)
  FROM messages WHERE tenant_id = $1 AND conversation_id = $2 AND seq >= $3
"""
PLACE = """
UPDATE conversations SET last_seq = last_seq + $3, version = version + 1, updated_at = now()
 WHERE tenant_id = $1 AND id = $2 RETURNING last_seq
"""
INSERT = """
INSERT INTO messages (tenant_id, conversation_id, seq, id, role, body, page, user_seq, call_group, kind, parts, calls,
                      results, full_tokens, short_tokens, loaded_tokens, full_before, short_before, line, line_tokens)
SELECT $1, $2, seq, id, role, body, 1, 1, 1, 'message', 1, 0, 0, 60, 60, 0, 0, 0, '', 0
  FROM unnest($3::int[], $4::uuid[], $5::text[], $6::text[]) AS m (seq, id, role, body)
"""
RANGE = """
SELECT substr(t.content, $3 + 1, $4) FROM archives a
  JOIN archive_contents t ON t.tenant_id = a.tenant_id AND t.scope = a.scope AND t.digest = a.digest
 WHERE a.tenant_id = $1 AND a.id = $2
"""


@dataclass(frozen=True)
class Known:
    """Facts that the yardstick gets, so that it need not find them out."""

    windows: dict[str, tuple[str, str, int, int]]
    """By conversation: Quire's answer before and after the rows' texts, and where its zones begin."""
    archives: dict[str, str]
    """By uuid: Quire's answer before the content."""
    user: str
    """The user whose memories are searched."""
    queries: list[str]
    """The queries of keyword searches."""
    vectors: dict[str, str]
    """The vectors of hybrid searches by query, in pgvector's text form; all of one model."""
    model: tuple[str, float, float] = ("", 0.0, 0.0)
    """The model's id, and its usual mean and deviation."""

    def meaning(self, query: str) -> Meaning:
        model, mean, deviation = self.model
        return Meaning(UUID(model), self.vectors[query], mean, deviation)


def read(file: str) -> Known:
    return Known(**json.loads(Path(file).read_text("utf-8")))


def search_of(user: str, query: str, meaning: Meaning | None = None) -> list[object]:
    """Return the statement and the arguments of Quire's keyword or hybrid search with no filters."""
    scoring = Scoring(bm25.query(query), meaning, named=names_in(query, datetime.now(UTC).date()))
    where = PassageFilter(score_min=relevance.score_of(0.0))
    sql, arguments = search_statement([Scope("user", user).owner], scoring, where, limit=FOUND)
    return [sql.text, DEFAULT_TENANT, *sql.arguments(arguments)]


def create_app(dsn: str, known: Known) -> Starlette:

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        async with asyncpg.create_pool(dsn, min_size=1, max_size=POOL, reset=_keep_session) as app.state.pool:
            yield

    async def window_of(connection: Connection, conversation: str) -> str:
        before, after, condensed, verbatim = known.windows[conversation]
        texts = await connection.fetchval(TEXTS, DEFAULT_TENANT, conversation, condensed, verbatim)
        return before + str(texts) + after

    async def window(request: Request) -> Response:
        async with request.app.state.pool.acquire() as connection:
            found = await window_of(connection, request.path_params["conversation"])
        return Response(found, media_type="application/json")

    async def append(request: Request) -> Response:
        conversation = request.path_params["conversation"]
        messages = json.loads(await request.body())["messages"]
        async with request.app.state.pool.acquire() as connection:
            stored = await _store(connection, conversation, messages)
            answer = json.dumps({"messages": stored})
            if "include" in request.query_params:
                whole = await window_of(connection, conversation.removesuffix("-bare"))
                answer = f'{answer[:-1]},"context":{whole}}}'
        return Response(answer, 201, media_type="application/json")

    searches: dict[tuple[str, str], list[object]] = {
        ("keyword", query): search_of(known.user, query) for query in known.queries
    }
    for query in known.vectors:
        searches["hybrid", query] = search_of(known.user, query, known.meaning(query))

    async def search(request: Request) -> Response:
        statement = searches[request.query_params["search_mode"], request.query_params["query"]]
        async with request.app.state.pool.acquire() as connection:
            rows = await connection.fetch(*statement)
        return Response(json.dumps([dict(row) for row in rows], default=str), media_type="application/json")

    async def load(request: Request) -> Response:
        uuid, at = request.path_params["uuid"], int(request.query_params["offset"])
        async with request.app.state.pool.acquire() as connection:
            text = await connection.fetchval(RANGE, DEFAULT_TENANT, uuid, at, int(request.query_params["length"]))
        whole = f'{known.archives[uuid]}{dumps(text)},"offset":{at},"length":{len(text)},"is_cut":false}}'
        return Response(whole, media_type="application/json")

    return Starlette(
        routes=[
            Route("/conversations/{conversation}/context", window),
            Route("/conversations/{conversation}/messages", append, methods=["POST"]),
            Route("/memories/search", search),
            Route("/archive/{uuid}", load),
        ],
        lifespan=lifespan,
    )


async def _store(connection: Connection, conversation: str, messages: list[dict[str, str]]) -> list[dict[str, object]]:
    ids = [uuid4() for _ in messages]
    async with connection.transaction():
        last = await connection.fetchval(PLACE, DEFAULT_TENANT, conversation, len(messages))
        seqs = list(range(last - len(messages) + 1, last + 1))
        await connection.execute(INSERT, DEFAULT_TENANT, conversation, *_columns(seqs, ids, messages))
    return [{"id": str(one), "seq": seq} for one, seq in zip(ids, seqs, strict=True)]


def _columns(seqs: list[int], ids: list[UUID], messages: list[dict[str, str]]) -> tuple[list[object], ...]:
    bodies = [json.dumps(message, ensure_ascii=False, separators=(",", ":")) for message in messages]
    return [*seqs], [*ids], [message["role"] for message in messages], [*bodies]


async def _keep_session(connection: object) -> None:
    """Reset no connection, as Quire does, to save a round trip."""


def main() -> None:
    dsn, file, loop = sys.argv[1:]
    app = create_app(dsn, read(file))
    # Named TCP, since asyncio sends at once (TCP_NODELAY) only on sockets that say so; uvloop does on all.
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP) as listening:
        listening.bind(("127.0.0.1", 0))
        listening.listen()
        print(f"http://127.0.0.1:{listening.getsockname()[1]}", flush=True)  # noqa: T201 - read by who started it
        config = uvicorn.Config(app, loop=loop, http="httptools", ws="none", log_config=None, access_log=False)
        uvicorn.Server(config).run([listening])


if __name__ == "__main__":
    main()
