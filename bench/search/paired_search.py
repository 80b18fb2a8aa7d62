"""The effect of a change on the search statement: this tree's and another's, in turns, on the same memories.

`python -m bench.search.paired_search TREE` prints PostgreSQL's CPU of both by the number of memories, for queries of rare words
and of common ones, the median ratio with its quartiles, and whether both found the same. It reads the kernel's count of
a process's nanoseconds (Linux), so that other load on the machine matters little.
"""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from statistics import median, quantiles
from typing import Any, cast
from uuid import UUID

import asyncpg
import click
from rich.console import Console

from app.core.scope import Scope
from app.postgres.database import Database
from app.postgres.tenants import DEFAULT_TENANT
from app.postgres.transactions import Connection, ReadTx
from app.store.memory import embeddings, memories
from app.store.memory.memories import Meaning, Scoring
from app.store.memory.search_statement import BY_WORDS, SEARCH
from app.text import bm25
from bench import harness, tables
from bench.search.search_sizes import fill, random_vector
from bench.tables import Table
from bench.words import WORDS

SIZES = (100, 1_000, 10_000, 60_000, 200_000)
LOOKED_AT, PAIRS_MIN, PAIRS_MAX = 400_000, 8, 60
NAME, DIMENSIONS = "multilingual-e5-small", 384
PRINT = "import json; from app.store.memory.search_statement import BY_WORDS, SEARCH; print(json.dumps([*map(str, (BY_WORDS, SEARCH))]))"
WIDTH = 140


@dataclass
class Statements:
    """A connection that runs another tree's statement instead of this tree's."""

    connection: Connection
    sql: dict[str, str]
    spent_ms: list[float] = field(default_factory=list)

    async def fetch(self, sql: str, *arguments: object) -> Any:
        if sql not in self.sql:  # the query of owners with an index
            return await self.connection.fetch(sql, *arguments)
        before = self._used()
        rows = await self.connection.fetch(self.sql[sql], *arguments)
        self.spent_ms.append((self._used() - before) / 1e6)
        return rows

    def _used(self) -> int:
        return int(Path(f"/proc/{self.connection.get_server_pid()}/schedstat").read_text().split()[0])


@click.command()
@click.argument("tree", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.option("--size", "sizes", multiple=True, type=int, default=SIZES)
def main(tree: Path, sizes: tuple[int, ...]) -> None:
    """Compare this tree's statement with that of TREE, a checkout with the same tables and parameters."""
    with harness.opened({"QUIRE_WORKER": "false"}) as opened:
        rows = asyncio.run(_compared(opened.postgres.app_dsn, opened.postgres.superuser_dsn, statements(tree), sizes))
    columns = ["memories", "before ms", "after ms", "ratio", "quartiles", "found"]
    notes = ["PostgreSQL's CPU of the statement, medians; ratio: of pairs in turns."]
    tables.show(Console(width=WIDTH), Table("The search statement, before and after", columns, rows, notes))


def statements(tree: Path) -> dict[str, str]:
    """Return the other tree's statements, by this tree's."""
    command = [sys.executable, "-c", PRINT]
    done = subprocess.run(command, cwd=tree, capture_output=True, text=True, check=True)  # noqa: S603 - our own
    return dict(zip((BY_WORDS.text, SEARCH.text), json.loads(done.stdout), strict=True))


async def _compared(dsn: str, superuser_dsn: str, other: dict[str, str], sizes: Sequence[int]) -> list[list[str]]:
    database = await Database.connect(dsn, pool_size=2)
    superuser = await asyncpg.connect(superuser_dsn)
    model, rows = embeddings.model_id(NAME, DIMENSIONS), []
    try:
        for size in sizes:
            owner = Scope("user", f"of-{size}").owner
            await fill(superuser, owner, model, DIMENSIONS, size)
            for words in ("rare", "common"):
                for mode in ("keyword", "hybrid"):
                    pair = await _pair(database, other, owner, words, mode, model, size)
                    rows.append([f"{size:,}, {words} words, {mode}", *pair])
    finally:
        await superuser.close()
        await database.close()
    return rows


async def _pair(
    database: Database, other: dict[str, str], owner: UUID, words: str, mode: str, model: UUID, size: int
) -> list[str]:
    rng, same = Random(size), True
    async with database.snapshot(DEFAULT_TENANT) as one, database.snapshot(DEFAULT_TENANT) as two:
        both = Statements(one.connection, {sql: sql for sql in other}), Statements(two.connection, other)
        for turn in range(min(max(PAIRS_MIN, LOOKED_AT // size), PAIRS_MAX) + 1):
            scoring = _scoring(rng, words, mode, model)
            found = {}
            for side in both[:: 1 if turn % 2 else -1]:
                found[side is both[0]] = await memories.search(
                    ReadTx(cast("Connection", side), DEFAULT_TENANT), [owner], scoring
                )
            same = same and found[True] == found[False]
    after, before = (side.spent_ms[1:] for side in both)
    low, middle, high = quantiles([new / old for new, old in zip(after, before, strict=True)], n=4)
    figures = [f"{median(before):.2f}", f"{median(after):.2f}", f"{middle:.2f}", f"{low:.2f}–{high:.2f}"]
    return [*figures, "the same" if same else "DIFFERENT"]


def _scoring(rng: Random, words: str, mode: str, model: UUID) -> Scoring:
    vocabulary = [f"word{number}" for number in range(3, 3_000)] if words == "rare" else list(WORDS)
    terms = bm25.query(" ".join(rng.choice(vocabulary) for _ in range(6)))
    meaning = Meaning(model, random_vector(rng, DIMENSIONS), 0.79, 0.02)
    return Scoring(terms, meaning if mode == "hybrid" else None)


if __name__ == "__main__":
    sys.exit(main())
