"""Statements live in `.sql` files, each with its promise, where the other guards see them."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from app.postgres.along import TABLES

APP = Path(__file__).parents[2] / "app"
FILES = sorted(APP.rglob("*.sql"))
WIDTH_MAX = 120
HEAD = re.compile(r"^-- (name|piece): (\w+)\n(-- [^\n]+)?", re.MULTILINE)


def read_names(module: Path) -> Iterator[str]:
    """Yield the names of the statements that a module takes from its file."""
    for call in ast.walk(ast.parse(module.read_text("utf-8"))):
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) and call.func.attr == "statement":
            yield ast.literal_eval(call.args[0])


@pytest.mark.parametrize("file", FILES, ids=lambda file: str(file.relative_to(APP)))
def test_a_file_says_what_each_statement_promises_and_its_module_names_them_all(file: Path) -> None:
    text = file.read_text("utf-8")
    heads = HEAD.findall(text)
    assert len({name for _, name, _ in heads}) == len(heads)
    assert [name for _, name, promise in heads if not promise] == []
    assert [line for line in text.splitlines() if len(line) > WIDTH_MAX] == []
    assert set(read_names(file.with_suffix(".py"))) == {name for kind, name, _ in heads if kind == "name"}


@pytest.mark.parametrize("file", FILES, ids=lambda file: str(file.relative_to(APP)))
def test_a_table_of_a_history_stands_first_where_a_line_of_branches_is_read_along(file: Path) -> None:
    """`postgres.along` finds it after FROM or JOIN only, and would not show what a branch shares."""
    second = rf"\bFROM\s+(?:\w+(?: \w+)?,\s*|\{{\w+\}})(?:{'|'.join(TABLES)})\b"
    assert re.findall(second, file.read_text("utf-8")) == []


LINES_MAX, PARAMETERS_MAX = 10, 9
BEGINS = re.compile(r"\s*(?:WITH|SELECT|INSERT INTO|UPDATE|DELETE FROM)\s")
COMPOSED = {
    "postgres/embedded.py": "a script for psql",
}
"""Modules in which a longer statement can stay, and why. (An append's is put together of short ones.)"""


def strings(module: Path) -> Iterator[str]:
    """Yield every string of a module; of one that is put together, what it says itself."""
    for node in ast.walk(ast.parse(module.read_text("utf-8"))):
        parts = node.values if isinstance(node, ast.JoinedStr) else [node]
        yield "".join(str(part.value) for part in parts if isinstance(part, ast.Constant))


@pytest.mark.parametrize("module", sorted(APP.rglob("*.py")), ids=lambda module: str(module.relative_to(APP)))
def test_a_statement_in_python_is_short(module: Path) -> None:
    if str(module.relative_to(APP)) in COMPOSED or "migrations" in module.parts:
        return
    for text in strings(module):
        assert not BEGINS.match(text) or text.strip().count("\n") < LINES_MAX, text
        assert max(map(int, re.findall(r"\$(\d+)", text)), default=0) <= PARAMETERS_MAX, text
