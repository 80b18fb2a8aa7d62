"""Imports run one way, as pyproject.toml says; and the core needs nothing but the standard library."""

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]
OUR_OWN = ("app.core", "app.errors")
IMPURE = {"asyncio", "io", "logging", "os", "pathlib", "random", "secrets", "socket", "subprocess", "threading", "time"}


def imported(file: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "imports are absolute"
            yield node.module or ""


def test_the_contracts_are_kept() -> None:
    command = [str(Path(sys.executable).with_name("lint-imports")), "--no-cache"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


def test_the_core_imports_the_pure_part_of_the_standard_library_and_errors_only() -> None:
    for file in (ROOT / "app/core").glob("*.py"):
        for name in imported(file):
            standard = name.split(".")[0] in sys.stdlib_module_names - IMPURE
            assert standard or name.startswith(OUR_OWN), f"{file.name} imports {name}"
