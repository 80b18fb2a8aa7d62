"""Statements live in `.sql` files, each with its promise, where the other guards see them."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

APP = Path(__file__).parents[2] / "app"
FILES = sorted(APP.rglob("*.sql"))
WIDTH_MAX = 120
HEAD = re.compile(r"^-- (name|piece): (\w+)\n(-- [^\n]+)?", re.MULTILINE)


def read_statements(module: Path) -> Iterator[tuple[str, str]]:
    """Yield each constant of a module that holds a statement of its file, and the statement's name."""
    for node in ast.parse(module.read_text("utf-8")).body:
        for call in ast.walk(node) if isinstance(node, ast.Assign) else ():
            if isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) and call.func.attr == "statement":
                assert isinstance(node, ast.Assign)
                yield ast.unparse(node.targets[0]), ast.literal_eval(call.args[0])


@pytest.mark.parametrize("file", FILES, ids=lambda file: str(file.relative_to(APP)))
def test_a_file_says_what_each_statement_promises_and_its_module_names_them_all(file: Path) -> None:
    text = file.read_text("utf-8")
    heads = HEAD.findall(text)
    assert len({name for _, name, _ in heads}) == len(heads)
    assert [name for _, name, promise in heads if not promise] == []
    assert [line for line in text.splitlines() if len(line) > WIDTH_MAX] == []
    found = list(read_statements(file.with_suffix(".py")))
    assert {name for _, name in found} == {name for kind, name, _ in heads if kind == "name"}
    assert [constant for constant, _ in found if not re.fullmatch(r"[A-Z][A-Z_]+", constant)] == []
