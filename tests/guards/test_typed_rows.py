"""What the store returns are values with names and types: rows of the database stay within it."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

APP = Path(__file__).parents[2] / "app"
STORE = APP / "store"
ROW = re.compile(r"^from asyncpg import .*\bRecord\b", re.MULTILINE)
WITHOUT_ROWS = ("api", "cli", "core", "jobs", "services", "ui")


def returning_rows() -> Iterator[str]:
    for file in sorted(STORE.rglob("*.py")):
        for node in ast.walk(ast.parse(file.read_text("utf-8"))):
            returns = node.returns if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) else None
            if returns is not None and re.search(r"\bRecord\b", ast.unparse(returns)):
                yield f"{file.relative_to(STORE)}: {ast.unparse(node).splitlines()[0]}"


def test_no_function_of_the_store_returns_a_row_of_the_database() -> None:
    assert list(returning_rows()) == []


def test_nobody_but_the_store_reads_a_row() -> None:
    rooms = (file for room in WITHOUT_ROWS for file in (APP / room).rglob("*.py"))
    assert [str(file.relative_to(APP)) for file in rooms if ROW.search(file.read_text("utf-8"))] == []
