"""Ways out of the sandbox. What the process can do by itself, what the language knows, and what is too much."""

import asyncio
import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import psutil
import pytest

from app.recall import sandbox
from app.recall.sandbox import INTERPRETER, Outcome, Reply, SandboxLimits
from tests.by_turns import few

SMALL = SandboxLimits(seconds=20, cpu_seconds=1, steps=1_000_000, memory_bytes=192 * 1024 * 1024, result_bytes=10_000)
pytestmark = pytest.mark.anyio


async def echo(name: str, positional: list[Any], named: dict[str, Any]) -> Reply:
    if positional == ["fail"]:
        return {"error": "no such page; pages 1–3 exist"}
    return {"value": {"name": name, "positional": positional, "named": named}}


async def run(code: str, limits: SandboxLimits = SMALL) -> Outcome:
    return await sandbox.run(code, ["look"], echo, limits)


@pytest.fixture(autouse=True)
def no_process_is_left() -> Iterator[None]:
    yield
    assert interpreters() == []


def interpreters() -> list[psutil.Process]:
    """The processes that run code now."""
    alive = (child for child in psutil.Process().children() if child.status() != psutil.STATUS_ZOMBIE)
    return [child for child in alive if str(INTERPRETER) in child.cmdline()]


@pytest.mark.parametrize(
    ("code", "result"),
    [
        ("__result__ = 1 + 1", 2),
        ("x = 1", None),
        ("", None),
        ("__result__ = [n * n for n in range(4) if n % 2]", [1, 9]),
        ("def f(n):\n  return n if n < 2 else f(n - 1) + f(n - 2)\n__result__ = f(10)", 55),
        ("__result__ = {'龙井': ('茶', None, True, 1.5)}", {"龙井": ["茶", None, True, 1.5]}),
        ("__result__ = look(1, '二', a=[None])", {"name": "look", "positional": [1, "二"], "named": {"a": [None]}}),
        ("found = look({'a': 1})\n__result__ = found['positional'][0]['a']", 1),
        ("for n in range(3):\n  __result__ = n", 2),
        ("__result__ = json.decode('{\"a\":[1]}')['a']", [1]),
        ("__result__ = sorted(['b', 'a'], reverse=True)", ["b", "a"]),
        ("__result__ = 'a\\x00\"\\n'", 'a\x00"\n'),
        ("a = 'x'\n__result__ = f'{a}'.upper()", "X"),
        ("__result__ = float('inf')", None),
    ],
)
async def test_code_computes_and_calls(code: str, result: Any) -> None:
    assert await run(code) == Outcome(result)


OUT = [
    "import os", "from os import system", "load('os', 'system')", "load('//etc:passwd', 'x')",
    "open('/etc/passwd')", "__import__('os')", "eval('1')", "exec('1')", "compile('1', '', 'exec')",
    "globals()", "locals()", "vars()", "input()", "breakpoint()", "print('x')", "print.__self__", "help()",
    "().__class__", "().__class__.__bases__[0].__subclasses__()", "look.__globals__", "look.__class__",
    "look.__code__", "look.__closure__", "getattr(look, '__globals__')", "getattr((), '__class__')",
    "'{0.__class__}'.format(look)", "'{0[__class__]}'.format({})", "type(look)('x')", "setattr(look, 'x', 1)",
    "look.x = 1", "del look", "__builtins__", "__builtins__['open']", "__loader__", "__spec__", "__file__", "sys",
    "os.system('id')", "json.__class__", "json.loads('1')", "ToolError('x')", "lambda: (yield)", "while True: pass",
    "class A: pass", "try:\n  x\nexcept:\n  pass", "raise 1", "with look: pass", "async def f(): pass", "nonlocal x",
    "global look", "assert False", "rust", "debug(look)", "pprint(1)", "call_stack()", "internal", "set_env('A', 'b')",
    "getenv('PATH')", "exit()", "quit()", "read_file('/etc/passwd')", "native.glob(['*'])", "time.now()", "random()",
]  # fmt: skip


@pytest.mark.parametrize("code", few(OUT, 12))
async def test_the_language_has_no_way_out(code: str) -> None:
    outcome = await run(f"__result__ = {code}" if "\n" not in code and " " not in code else code)
    assert outcome.failure == "failed", outcome
    assert outcome.detail
    assert str(Path.cwd()) not in outcome.detail
    assert "root:" not in outcome.detail


@pytest.mark.parametrize("text", ["look", "str(look) + type(look)", "dir(look)", "'%s' % look", "repr(look)"])
async def test_a_tool_shows_nothing_of_what_is_behind_it(text: str) -> None:
    outcome = await run(f"__result__ = {text}")
    assert "0x" not in str(outcome)
    assert "/" not in str(outcome.result)


TOO_MUCH = {
    "for i in range(1000000000):\n  pass": {"steps"},
    "[[0 for _ in range(10000)] for _ in range(10000)]": {"steps", "memory"},
    "def f():\n  for i in range(1000000000):\n    pass\nf()": {"steps"},
    "sorted(range(2000000000))": {"memory", "cpu"},
    "sorted(range(10000000), key=lambda n: sorted(range(1000)))": {"steps", "cpu", "memory"},
    "x = 'a'\nfor i in range(60):\n  x = x + x": {"memory"},
    "x = [1]\nfor i in range(60):\n  x = x + x": {"memory"},
    "x = 'a' * 2000000000": {"memory"},
    "x = [0] * 2000000000": {"memory"},
    "x = ('a' * 1000000).replace('a', 'b' * 10000)": {"memory"},
    "x = 'a' * 10000000\ny = x.replace('a', x)": {"memory", "failed"},
    "x = ','.join(['a' * 1000000] * 1000000)": {"memory"},
    "x = '%s' % list(range(100000000))": {"memory"},
    "x = {n: 'a' * 1000 for n in range(10000000)}": {"memory", "steps"},
    "x = 1\nfor i in range(64):\n  x = x * x + 3": {"memory", "cpu", "failed"},
    "x = 7 << 2000000000": {"memory", "failed"},
    "def f(n):\n  return f(n + 1)\nf(0)": {"failed"},
    "f = lambda g: g(g)\nf(f)": {"failed"},
    "x = []\nfor i in range(100000):\n  x = [x]\n__result__ = str(x)": {"memory"},
    "x = []\nfor i in range(100000):\n  x = [x]\n__result__ = x": {"memory", "not_json"},
    "x = {}\nfor i in range(100000):\n  x = {'a': x}\nlook(x)": {"memory", "failed"},
    "x = []\nx.append(x)\n__result__ = x": {"failed", "not_json"},
    "x = []\nx.append(x)\nlook(x)": {"failed"},
    "x = json.decode('[' * 100000)": {"failed", "not_json", "memory"},
    "x = json.decode('{\"a\": 1e999}')": {"failed", "not_json"},
    "x = [1]\nfor i in x:\n  x.append(i)": {"failed"},
    "(" * 20_000: {"failed", "memory"},
    "[" * 10_000 + "]" * 10_000: {"memory", "failed"},
    "x = " + "-" * 20_000 + "1": {"memory", "failed"},
    "x = " + "1+" * 9_000 + "1\n__result__ = look": {"memory", "failed", "not_json"},
    "__result__ = 'x' * 20000": {"too_large"},
    "__result__ = '茶' * 4000": {"too_large"},
    "__result__ = ['x'] * 5000": {"too_large"},
    "look('x' * 1000000)": {"too_large"},
    "look(**{'x' * 1000000: 1})": {"too_large"},
    "__result__ = 1 << 200000": {"failed"},
    "__result__ = 1 << 50000": {"not_json", "failed"},
    "__result__ = {(1, 2): 3}": {"not_json"},
    "__result__ = lambda: 1": {"failed", "not_json"},
    "__result__ = look": {"failed", "not_json"},
    "look(look)": {"failed"},
    "fail('Evaluation cancelled')": {"failed"},
}


@pytest.mark.parametrize("code", few(TOO_MUCH, 12), ids=range(len(TOO_MUCH)))
async def test_exceeding_a_limit_ends_the_run_with_its_name(code: str) -> None:
    outcome = await run(code)
    assert outcome.failure in TOO_MUCH[code], outcome
    assert len(outcome.detail) < 3_000


async def test_a_tool_that_fails_ends_the_run_with_its_words() -> None:
    outcome = await run("look(1)\nlook('fail')\nlook(2)")
    assert outcome.failure == "failed"
    assert "no such page; pages 1–3 exist" in outcome.detail
    assert "look('fail')" in outcome.detail


@pytest.mark.slow
async def test_a_tool_that_never_answers_is_not_waited_for() -> None:
    async def never(*_: Any) -> Reply:
        return await asyncio.Event().wait()  # type: ignore[return-value]

    outcome = await sandbox.run("look()", ["look"], never, replace(SMALL, seconds=2))
    assert outcome == Outcome(failure="time")


async def test_a_run_that_is_cut_off_leaves_no_process() -> None:
    started = asyncio.Event()

    async def never(*_: Any) -> Reply:
        started.set()
        return await asyncio.Event().wait()  # type: ignore[return-value]

    task = asyncio.create_task(sandbox.run("look()", ["look"], never, SMALL))
    await started.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


async def test_a_tool_whose_error_is_ours_is_not_hidden() -> None:
    async def broken(*_: Any) -> Reply:
        raise LookupError("ours")

    with pytest.raises(LookupError, match="ours"):
        await sandbox.run("look()", ["look"], broken, SMALL)


async def test_code_is_not_run_where_it_cannot_be_confined() -> None:
    outcome = await run("__result__ = 1", replace(SMALL, memory_bytes=2**70))
    assert outcome.failure == "unconfined"


CONFINED = """
import importlib.util, os, socket, sys
spec = importlib.util.spec_from_file_location("interpreter", sys.argv[1])
interpreter = importlib.util.module_from_spec(spec)
spec.loader.exec_module(interpreter)
interpreter.confine(512 * 1024 * 1024, 2)
attempt = sys.argv[2]
try:
    exec(attempt)
except (OSError, MemoryError, ImportError) as error:
    print("refused", type(error).__name__)
else:
    print("DONE")
"""


@pytest.mark.parametrize(
    "attempt",
    [
        "open('/etc/passwd')", "open('elsewhere', 'w')", "os.open('/', 0)", "os.listdir('/')", "socket.socket()",
        "socket.socketpair()", "os.pipe()", "os.dup(1)", "import subprocess; subprocess.run(['id'])", "os.popen('id')",
        "import sqlite3; sqlite3.connect('elsewhere').execute('create table t (a)')", "x = bytearray(10**9)",
        "import resource; resource.setrlimit(resource.RLIMIT_AS, (2**40, 2**40)); os.pipe()",
    ],
)  # fmt: skip
def test_the_process_itself_has_no_way_out_either(attempt: str) -> None:
    """Should the interpreter ever be broken out of: even Python in that process reaches nothing."""
    command = [sys.executable, "-c", CONFINED, str(INTERPRETER), attempt]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    assert "DONE" not in done.stdout, done.stdout
    assert "refused" in done.stdout or "not allowed" in done.stderr or "unable to open" in done.stderr, done.stderr


async def test_the_process_gets_no_environment_and_no_open_files(tmp_path: Path) -> None:
    """Read from the outside, while code runs in it."""
    seen: dict[str, Any] = {}
    with (tmp_path / "secret").open("w"):

        async def look(*_: Any) -> Reply:
            (child,) = interpreters()
            seen["environ"] = child.environ()
            seen["files"] = child.open_files()
            seen["connections"] = child.net_connections()
            seen["session"] = os.getsid(child.pid)
            return {"value": 1}

        os.environ["QUIRE_TEST_SECRET"] = "s3cret"
        try:
            assert await sandbox.run("__result__ = look()", ["look"], look, SMALL) == Outcome(1)
        finally:
            del os.environ["QUIRE_TEST_SECRET"]
    assert "s3cret" not in str(seen["environ"])
    assert seen["files"] == []
    assert seen["connections"] == []
    assert seen["session"] != os.getsid(0)
