"""The benchmarks against the bare handler: what is asked, and rows of what is not installed."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from datetime import date
from typing import Any, cast
from uuid import uuid4

import pytest

from app.caches import QUERY_VECTORS_CACHED
from app.core.scope import Scope
from app.core.search.relevance import score_of
from app.postgres.tenants import DEFAULT_TENANT
from app.postgres.transactions import Connection, ReadTx
from app.services.memory.querying import names_in
from app.store.memory import memories
from app.store.memory.memories import Meaning, PassageFilter, Scoring
from app.store.memory.search_statement import BY_WORDS, SEARCH
from app.text import bm25
from bench.clients import Outcome
from bench.harness import Cpu
from bench.load.bare import Known, search_of
from bench.load.overhead import (
    CLIENTS,
    HYBRID,
    LOCAL,
    NEW,
    OPERATIONS,
    QUICK,
    WAYS,
    Cell,
    Side,
    job,
    loops_table,
    table,
)
from bench.words import QUERIES

KNOWN = Known({"window-0": ("", "", 1, 1), "window-1": ("", "", 1, 1)}, {"uuid": ""}, "somebody", [*QUERIES], {})
MEANING = Meaning(uuid4(), "[1,0]", 0.79, 0.02)


class Seen:
    """What is passed to a connection."""

    passed: Sequence[object] = ()

    async def fetch(self, *passed: object) -> list[Any]:
        self.passed = passed
        return []


def side(cpu_each: float) -> Side:
    return Side([Outcome([0.001] * 10, 1.0)], Cpu(10 * cpu_each, 0.0))


@pytest.mark.parametrize("meaning", [None, MEANING])
def test_the_bare_handler_searches_by_quires_own_statement_and_arguments(meaning: Meaning | None) -> None:
    seen = Seen()
    scoring = Scoring(bm25.query("cold store"), meaning, named=names_in("cold store", date(2026, 1, 1)))
    where = PassageFilter(score_min=score_of(0.0))
    search = memories.search(
        ReadTx(cast("Connection", seen), DEFAULT_TENANT), [Scope("user", "somebody").owner], scoring, where
    )
    asyncio.run(search)
    assert list(seen.passed) == search_of("somebody", "cold store", meaning)
    assert seen.passed[0] == (BY_WORDS if meaning is None else SEARCH).text


def test_embedded_queries_leave_the_cache_before_they_repeat() -> None:
    for queries in NEW.values():
        assert len(set(queries)) == len(queries) > QUERY_VECTORS_CACHED
        assert all(len(bm25.query(query)) == 2 for query in queries)
    assert not set(NEW[HYBRID]) & set(NEW[LOCAL])


def test_hybrid_searches_continue_the_sequence_of_queries() -> None:
    count = len(NEW[HYBRID])
    cell = Cell(HYBRID, 8, is_bare=False)
    first, second, again = (job(1, cell, KNOWN, 1.0, asked).targets for asked in (0, 7, 7 + count))
    assert second == again == [*first[7:], *first[:7]]
    assert len(set(first)) == count
    assert all("search_mode=hybrid" in target for target in first)


def test_rows_tell_if_the_local_model_is_missing() -> None:
    found = {
        Cell(what, clients, is_bare=is_bare): side(0.001 if is_bare else 0.004)
        for what in OPERATIONS
        for clients in CLIENTS
        for is_bare in (True, False)
        if what != LOCAL
    }
    made = table(found, 27_000, QUICK, None)
    assert {len(row) for row in made.rows} == {len(made.columns)}
    assert {row[0] for row in made.rows} == set(OPERATIONS)
    assert {row[0] for row in made.rows if "not installed" in row} == {LOCAL}
    assert {row[-1] for row in made.rows if row[0] == HYBRID} == {"0.25"}


def test_rows_tell_if_a_server_is_missing() -> None:
    there = [way for way in WAYS if "Granian" not in way]
    made = loops_table({way: side(0.001) for way in there})
    assert {len(row) for row in made.rows} == {len(made.columns)}
    assert [tuple(row[:4]) for row in made.rows] == [*WAYS]
    assert [tuple(row[:4]) for row in made.rows if "not installed" not in row] == there
    assert "pip install granian" in made.notes[0]


def test_a_server_is_compared_under_what_it_serves() -> None:
    made = loops_table({way: side(0.002 if "Granian" in way else 0.001) for way in WAYS})
    assert {row[-1] for row in made.rows if "Granian" in row} == {"0.50"}
    assert {row[-1] for row in made.rows if "Granian" not in row} == {"1.00"}
