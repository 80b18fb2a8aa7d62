"""The size of the house: `house.json` holds its ceilings. Figures may fall; only an issue raises a ceiling.

`python -m tests.guards.test_house` writes the file anew.
"""

from __future__ import annotations

import ast
import json
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest
from starlette.routing import Route

from app.main import build_app
from app.settings import Settings
from tests.tables import COLUMNS, TABLES

ROOT = Path(__file__).parents[2]
FIGURES = Path(__file__).with_name("house.json")
MODULES_IN_A_FOLDER_MAX = 25
MIGRATIONS = "versions"
Trees = list[tuple[Path, ast.Module]]
"""Millions of objects: they are not kept."""


def modules() -> list[Path]:
    return sorted(file for file in (ROOT / "app").rglob("*.py") if MIGRATIONS not in file.parts)


def imported(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("app"):
            yield node.module
            yield from (f"{node.module}.{name.name}" for name in node.names)


def arrows(trees: Trees, folder: str) -> int:
    """Return the number of pairs of a folder's rooms (modules and folders) of which one imports the other."""
    within, depth = folder.replace("/", "."), folder.count("/") + 1
    found = set()
    for file, tree in trees:
        if file.parts[:depth] != tuple(folder.split("/")):
            continue
        room = file.with_suffix("").parts[depth]
        for name in imported(tree):
            parts = name.split(".")
            if name.startswith(f"{within}.") and parts[depth] != room and _is_room(folder, parts[depth]):
                found.add((room, parts[depth]))
    return len(found)


def _is_room(folder: str, name: str) -> bool:
    return (ROOT / folder / name).is_dir() or (ROOT / folder / f"{name}.py").exists()


def rooms(folder: str) -> int:
    places = (ROOT / folder).iterdir()
    return sum((p.suffix == ".py" and p.name != "__init__.py") or (p.is_dir() and any(p.glob("*.py"))) for p in places)


def routes() -> int:
    """Return the number of methods and paths that are served."""
    served = [route for route in build_app(Settings(), "").routes if isinstance(route, Route)]
    return sum(len((route.methods or set()) - {"HEAD"}) for route in served)


@cache
def measured() -> dict[str, int]:
    """Return the figures of the tree as it stands. It parses all of it: not to be called when tests are collected."""
    trees = [(file.relative_to(ROOT), ast.parse(file.read_text("utf-8"))) for file in modules()]
    classes: Counter[str] = Counter()
    hidden = 0
    for _, tree in trees:
        classes.update(node.name for node in ast.walk(tree) if isinstance(node, ast.ClassDef))
        functions = [n for n in ast.walk(tree) if isinstance(n, ast.FunctionDef | ast.AsyncFunctionDef)]
        hidden += len({n for f in functions for n in ast.walk(f) if isinstance(n, ast.Import | ast.ImportFrom)})
    english = [file for file in (ROOT / "docs").glob("*.md") if not file.name.endswith(".zh.md")]
    return {
        "lines of app": sum(file.read_text("utf-8").count("\n") for file in modules()),
        "words of docs": sum(len(file.read_text("utf-8").split()) for file in english),
        "tables": len(TABLES),
        "columns": COLUMNS,
        "routes": routes(),
        "class names defined twice": sum(count > 1 for count in classes.values()),
        "imports hidden in functions": hidden,
        "rooms of app/core": rooms("app/core"),
        "arrows of app/core": arrows(trees, "app/core"),
        "rooms of app/api": rooms("app/api"),
        "arrows of app/api": arrows(trees, "app/api"),
    }


ALLOWED = json.loads(FIGURES.read_text("utf-8"))


def test_every_figure_is_held() -> None:
    assert measured().keys() == ALLOWED.keys()


@pytest.mark.parametrize("figure", ALLOWED)
def test_the_house_has_not_grown(figure: str) -> None:
    found = measured()[figure]
    assert found <= ALLOWED[figure], f"{figure}: {found}, over {ALLOWED[figure]}. Give back as much as you add."


def test_no_folder_has_too_many_modules() -> None:
    each = Counter(file.parent for file in modules())
    assert {str(f.relative_to(ROOT)): n for f, n in each.items() if n > MODULES_IN_A_FOLDER_MAX} == {}


if __name__ == "__main__":
    FIGURES.write_text(json.dumps(measured(), indent=2) + "\n", "utf-8")
