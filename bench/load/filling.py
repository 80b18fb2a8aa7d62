"""Copy conversations: any number of them, in a fraction of the time that the API would take to append them.

A few templates are appended, and worked on by the jobs; their rows are then copied under other names. What a service
would have written is in all tables and indexes, then, and in the order in which conversations go on beside each other:
turn by turn, not one after the other. The texts repeat.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from dataclasses import dataclass
from random import Random
from uuid import UUID

import asyncpg

from app.core.scope import Scope
from app.postgres.tenants import DEFAULT_TENANT
from bench.harness import QUIRE, Api, Harness, environment_of, serving
from bench.load.blocks import BUDGET
from bench.load.sizes import until_idle
from bench.search.search_sizes import random_vector
from bench.words import history

AT_ONCE = 250
"""The number of conversations that grow in parallel."""
SHORT, KINDS = 10, 1_000
"""Messages of a conversation, and the number of different conversations, from which a user's memories are made."""
VECTORS = 1_000
"""The number of different vectors."""


@dataclass(frozen=True)
class Copies:
    """Conversations ``name``-0, ``name``-1 and so on, copied from the ``templates`` in turn."""

    name: str
    templates: Sequence[str]
    count: int
    each_user: int = 1
    """The number of conversations of each user."""

    def conversation(self, number: int) -> str:
        return f"{self.name}-{number}"

    def user(self, number: int) -> str:
        """Return the user of a conversation."""
        return f"{self.name}-user-{number // self.each_user}"


def templates(harness: Harness, name: str, count: int, messages: int) -> list[str]:
    """Append different conversations of a number of messages through the API."""
    names = [f"{name}-template-{number}" for number in range(count)]
    for seed, conversation in enumerate(names):
        harness.api.create(conversation, BUDGET)
        harness.api.append(conversation, history(messages, seed))
    return names


def memories(harness: Harness, name: str, count: int) -> Copies:
    """Return the copies that give a user ``count`` memories: at most a thousand texts, ten a conversation."""
    conversations = count // SHORT
    return Copies(name, templates(harness, name, min(conversations, KINDS), SHORT), conversations, conversations)


def embed(harness: Harness, owner: UUID, model: UUID, dimensions: int) -> None:
    """Give all memories of an owner made-up vectors of a model, at most a thousand different ones."""
    rng = Random(1)
    vectors = [random_vector(rng, dimensions) for _ in range(VECTORS)]
    asyncio.run(_embed(harness.postgres.superuser_dsn, owner, model, vectors))


def settle(harness: Harness) -> None:
    """Run the enqueued jobs with a separate service, because the harness's may have no worker."""
    environment = environment_of(harness.postgres, harness.folder)
    with serving(QUIRE, environment, harness.folder, harness.quire.postmaster) as server:
        api = Api(server.port)
        until_idle(api)
        api.close()


def fill(harness: Harness, *wanted: Copies) -> None:
    """Copy templates. Raises RuntimeError unless a copy's window equals its template's."""
    asyncio.run(_fill(harness.postgres.superuser_dsn, wanted))
    for copies in wanted:
        if _said(harness.api, copies.conversation(0)) != _said(harness.api, copies.templates[0]):
            raise RuntimeError("a copied conversation has another window than its template")


def _said(api: Api, conversation: str) -> object:
    return json.loads(api.window(conversation, BUDGET))["messages"]


@dataclass(frozen=True)
class _Copied:
    """A table whose rows of the templates are copied, with their order."""

    name: str
    order: str

    @property
    def key(self) -> str:
        return "id" if self.name == "conversations" else "conversation_id"


COPIED = (
    _Copied("conversations", "c.n"),
    _Copied("messages", "t.seq, c.n"),
    _Copied("memories", "t.seq, c.n"),
    _Copied("pages", "t.page, c.n"),
    _Copied("page_index", "t.page, c.n"),
    _Copied("chapters", "t.first_page, c.n"),
    _Copied("cuts", "t.number, c.n"),
    _Copied("summaries", "t.version, c.n"),
)
COLUMNS = "SELECT column_name FROM information_schema.columns WHERE table_schema = 'public' AND table_name = $1"


async def _fill(dsn: str, wanted: Sequence[Copies]) -> None:
    connection = await asyncpg.connect(dsn)
    await connection.execute("SET session_replication_role = replica")  # skips checks that the templates passed
    await connection.execute("SET synchronous_commit = off")
    for copies in wanted:
        await _copy(connection, copies)
    for copied in COPIED:
        await connection.execute(f"VACUUM ANALYZE {copied.name}")
    await connection.execute("CHECKPOINT")
    await connection.close()


EMBED = """
INSERT INTO embeddings (tenant_id, memory_id, owner, model, embedding)
SELECT m.tenant_id, m.id, m.owner, $3, v.embedding::halfvec
  FROM (SELECT tenant_id, id, owner, row_number() OVER (ORDER BY id) AS n FROM memories
         WHERE tenant_id = $1 AND owner = $2) m
  JOIN unnest($4::text[]) WITH ORDINALITY AS v (embedding, n) ON v.n = m.n % cardinality($4::text[]) + 1
 ORDER BY m.id
"""


async def _embed(dsn: str, owner: UUID, model: UUID, vectors: Sequence[str]) -> None:
    connection = await asyncpg.connect(dsn)
    await connection.execute(EMBED, DEFAULT_TENANT, owner, model, vectors)
    await connection.execute("VACUUM ANALYZE embeddings")
    await connection.close()


async def _copy(connection: asyncpg.Connection, copies: Copies) -> None:
    await connection.execute("CREATE TEMP TABLE templates (name text, number int)")
    await connection.executemany("INSERT INTO templates VALUES ($2, $1)", list(enumerate(copies.templates)))
    statements = [await _copying(connection, copied, copies) for copied in COPIED]
    for at in range(0, copies.count, AT_ONCE):
        numbers = list(range(at, min(at + AT_ONCE, copies.count)))
        owners = [Scope("user", copies.user(number)).owner for number in numbers]
        for statement in statements:
            await connection.execute(statement, numbers, owners)
    for name in ("templates", *(f"of_{copied.name}" for copied in COPIED)):
        await connection.execute(f"DROP TABLE pg_temp.{name}")


async def _copying(connection: asyncpg.Connection, copied: _Copied, copies: Copies) -> str:
    """Return the statement that copies a table's rows, which are collected first so that it need not find them again."""
    await connection.execute(
        f"CREATE TEMP TABLE of_{copied.name} AS SELECT s.number AS template, t.*"  # noqa: S608 - names of ours
        f" FROM {copied.name} t JOIN templates s ON s.name = t.{copied.key}"
    )
    columns = [row[0] for row in await connection.fetch(COLUMNS, copied.name)]
    values = _values(copies) | ({"id": _values(copies)["conversation_id"]} if copied.key == "id" else {})
    return (
        f"INSERT INTO {copied.name} ({', '.join(columns)})"  # noqa: S608 - names of ours
        f" SELECT {', '.join(values.get(column, f't.{column}') for column in columns)}"
        f" FROM of_{copied.name} t JOIN unnest($1::int[], $2::uuid[]) AS c (n, owner)"
        f" ON t.template = c.n % {len(copies.templates)} ORDER BY {copied.order}"
    )


def _values(copies: Copies) -> dict[str, str]:
    """Return by column the values that differ in each copy."""
    uid = f"md5('{copies.name}-' || c.n)::uuid"
    return {
        "conversation_id": f"'{copies.name}-' || c.n",
        "uid": uid,
        "conversation_uid": uid,
        "user_id": f"'{copies.name}-user-' || c.n / {copies.each_user}",
        "owner": "c.owner",
        "id": "uuidv7()",
    }
