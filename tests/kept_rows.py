"""Rows that were made once, for tests that change them: to put them back takes a fiftieth of making them again."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import asyncpg

from tests.tables import TABLES

Sql = Callable[[str], Sequence[asyncpg.Record]]


class KeptRows:
    """All rows, as they were made; beside the tables, in a schema of their own."""

    def __init__(self, run: Sql, delete_every_row: Callable[[], None]) -> None:
        self._run, self._delete_every_row = run, delete_every_row
        self._is_kept = False
        self._are_there = False

    def put_back(self, make: Callable[[], None], *, are_changed: bool = True) -> None:
        """Leave the rows that `make` makes, and no others; it is called the first time only.

        A process that remembers what was stored since has to forget it. Unless they are changed until the next time,
        they stay.
        """
        if self._are_there and not are_changed and self._run("SELECT FROM conversations LIMIT 1"):
            return
        self._are_there = not are_changed
        self._delete_every_row()
        if self._is_kept:
            self._each("INSERT INTO public.{0} TABLE kept.{0};")
            return
        make()
        self._run("CREATE SCHEMA kept")
        self._each("CREATE TABLE kept.{0} AS TABLE public.{0};")
        self._is_kept = True

    def drop(self) -> None:
        self._run("DROP SCHEMA IF EXISTS kept CASCADE")

    def _each(self, statement: str) -> None:
        self._run(f"DO $$BEGIN {''.join(map(statement.format, TABLES))} END$$")
