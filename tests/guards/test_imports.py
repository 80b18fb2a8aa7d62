"""Imports run one way, as pyproject.toml says; and the core needs nothing but the standard library."""

import ast
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
APP = ROOT / "app"
OUR_OWN = ("app.core", "app.errors")
OURS = {"app", "quire_client", "quire_command", "quire_verify"}
IMPURE = {"asyncio", "io", "logging", "os", "pathlib", "random", "secrets", "socket", "subprocess", "threading", "time"}


HIDDEN = {
    "api/mcp/router.py": {"app.api.mcp.server"},  # the MCP SDK
    "cli/worker.py": {"app.cli.worker_port"},  # fastapi
    "postgres/migrate.py": {"alembic", "alembic.config"},
    "providers/build.py": {
        "app.providers.issuer",  # httpx; jwt
        "app.providers.openai_chat",
        "app.providers.openai_embeddings",
        "app.providers.reranker",  # openai; numpy
        "app.providers.webhooks",  # httpcore
    },
    "providers/local_embeddings.py": {"app.providers.e5"},  # onnxruntime
    "providers/upstream.py": {"app.providers.wire"},  # openai
    "text/language.py": {"rjieba"},  # its dictionary
}
"""Imports within functions, each for the heavy package that it brings. All others stand at the top of their modules."""

BY_NAME = {"telemetry/tracing.py"}
"""Modules that import what they name in strings: OpenTelemetry, which is an extra."""

HEAVY = {"alembic", "httpx", "mcp", "mcp_types", "numpy", "onnxruntime", "openai", "rich", "rjieba", "sqlalchemy"}
"""Packages that the API does without until they are needed."""


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
    for file in (APP / "core").rglob("*.py"):
        for name in imported(file):
            standard = name.split(".")[0] in sys.stdlib_module_names - IMPURE
            assert standard or name.startswith(OUR_OWN), f"{file.name} imports {name}"


def hidden(tree: ast.AST) -> Iterator[str]:
    """What functions import."""
    for function in ast.walk(tree):
        if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef):
            for node in ast.walk(function):
                if isinstance(node, ast.Import):
                    yield from (alias.name for alias in node.names)
                elif isinstance(node, ast.ImportFrom):
                    yield node.module or ""


def test_imports_are_hidden_in_the_listed_places_only() -> None:
    found, by_name = {}, set()
    for file in (ROOT / "app").rglob("*.py"):
        name, text = str(file.relative_to(ROOT / "app")), file.read_text()
        if names := set(hidden(ast.parse(text))):
            found[name] = names
        if "import_module(" in text or "__import__(" in text:
            by_name.add(name)
    assert found == HIDDEN
    assert by_name == BY_NAME


IMPORTING = """
import json, sys
done = []
sys.addaudithook(lambda event, _: done.append(event) if event in ("socket.connect", "subprocess.Popen") else None)
import app.main
app.main.create_app()
print(json.dumps([sorted({name.split(".")[0] for name in sys.modules}), done]))
"""


@pytest.mark.slow
def test_importing_the_api_starts_nothing_reads_no_setting_and_brings_no_heavy_package() -> None:
    environment = {**os.environ, "QUIRE_POOL_SIZE": "no number"}
    done = subprocess.check_output([sys.executable, "-c", IMPORTING], cwd=ROOT, env=environment, text=True)
    packages, events = json.loads(done)
    assert HEAVY & set(packages) == set()
    assert events == []


IMPORTED = "import sys; [__import__(name) for name in sys.argv[1:]]; print(*sys.modules)"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("commands", "unneeded"),
    [
        ("app.cli.worker app.cli.doctor app.cli.retention", {"fastapi", "jinja2", "uvicorn"}),
        ("app.cli.memories", {"asyncpg", "fastapi", "pydantic", "sqlalchemy", "uvicorn"}),
        ("quire_command.connect quire_command.eval quire_command.mcp quire_command.replay", {"app", "quire_client"}),
    ],
)
def test_commands_without_a_port_or_a_database_import_nothing_for_one(commands: str, unneeded: set[str]) -> None:
    done = subprocess.check_output([sys.executable, "-c", IMPORTED, *commands.split()], cwd=ROOT, text=True)
    assert not unneeded & set(done.split())


def test_the_list_of_commands_imports_none_of_them() -> None:
    listing = "import sys; from app.cli import main; main(['--help'], standalone_mode=False); print(*sys.modules)"
    done = subprocess.check_output([sys.executable, "-c", listing], cwd=ROOT, text=True)
    ours = {name for name in done.splitlines()[-1].split() if name.split(".")[0] in OURS}
    assert ours == {"app", "app.cli", "quire_command"}
    assert not {"asyncio", "fastapi", "pydantic", "uvicorn"} & set(done.splitlines()[-1].split())


def test_no_collection_searches_what_a_command_imported() -> None:
    running = "import gc; from app.cli import main; main(['connect', '--help'], standalone_mode=False);"
    running += "print(gc.isenabled(), gc.get_freeze_count() > 10_000)"
    assert subprocess.check_output([sys.executable, "-c", running], cwd=ROOT, text=True).endswith("True True\n")


def test_docstrings_name_modules_where_they_are() -> None:
    named = re.compile(
        r"``(?:app\.)?((?:core|services|store|postgres|queue|jobs|recall|api|text|extractive)(?:\.\w+)+)``"
    )
    wrong = {
        f"{file.relative_to(APP)}: {name}"
        for file in APP.rglob("*.py")
        for name in named.findall(file.read_text("utf-8"))
        if not _is_there(name.split("."))
    }
    assert wrong == set()


def _is_there(parts: list[str]) -> bool:
    """Return whether a dotted name begins with a module, or names nothing but folders."""
    folders = [part for i, part in enumerate(parts) if APP.joinpath(*parts[: i + 1]).is_dir()]
    rest = parts[len(folders) :]
    return not rest or APP.joinpath(*folders, f"{rest[0]}.py").exists()
