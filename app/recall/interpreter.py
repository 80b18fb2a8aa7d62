"""The inside of the sandbox: a Starlark interpreter in its own process, started by ``app.recall.sandbox``.

It is run by its path, in isolated mode, and imports nothing of ours. Before it reads any code it drops every harmful
ability: no new file or socket (not even a descriptor for one), no file growth, no core dumps, limited memory and CPU
time. It communicates over standard input and output in lines of JSON: the code comes in, tool calls go out and their
answers come in, the result goes out.
"""

from __future__ import annotations

import json
import os
import resource
import sys
from collections.abc import Callable
from typing import Any

import starlark

STEPS_PER_CHECK = 1_000
"""Instructions of the interpreter between two looks at whether it is to stop."""
DEPTH_MAX = 64
NICE = 5
DETAIL_MAX = 2_000


class ToolError(Exception):
    """A tool failed; ends the run."""


class Steps:
    """Count the interpreter's checks whether to stop, and stop it after too many."""

    def __init__(self, checks: int) -> None:
        self.left = checks

    def are_over(self) -> bool:
        self.left -= 1
        return self.left < 0


def main() -> None:
    job = json.loads(sys.stdin.buffer.readline())
    try:
        confine(job["memory_bytes"], job["cpu_seconds"])
    except (OSError, ValueError, OverflowError) as error:
        say(json.dumps({"error": "unconfined", "detail": str(error)}))
        return
    steps = Steps(job["steps"] // STEPS_PER_CHECK)
    try:
        result = {"result": run(job["code"], job["names"], steps)}
        # Checked here, where it is made: invalid JSON, or too much of it, must not reach the other side.
        reply = json.dumps(result, ensure_ascii=False, allow_nan=False)
        if len(reply.encode()) > job["result_bytes"]:
            reply = json.dumps({"error": "too_large"})
    except BaseException as error:  # noqa: BLE001 - a panic of the interpreter is no Exception
        reply = json.dumps({"error": kind_of(error, steps), "detail": shortened(str(error))})
    say(reply)


def kind_of(error: BaseException, steps: Steps) -> str:
    if isinstance(error, MemoryError) or str(error) == "out of memory":
        return "memory"
    if steps.left < 0:
        return "steps"
    return "failed" if isinstance(error, starlark.StarlarkError) else "not_json"


def shortened(text: str) -> str:
    """Cut the middle out of a long traceback."""
    return text if len(text) <= DETAIL_MAX else f"{text[: DETAIL_MAX // 4]}\n…\n{text[-DETAIL_MAX * 3 // 4 :]}"


def confine(memory_bytes: int, cpu_seconds: int) -> None:
    """Drop every harmful ability for good, and lower the priority."""
    os.nice(NICE)
    resource.setrlimit(resource.RLIMIT_AS, (memory_bytes, memory_bytes))
    resource.setrlimit(resource.RLIMIT_CPU, (cpu_seconds, cpu_seconds))
    for kind in (resource.RLIMIT_NOFILE, resource.RLIMIT_FSIZE, resource.RLIMIT_CORE, resource.RLIMIT_NPROC):
        resource.setrlimit(kind, (0, 0))


def run(code: str, names: list[str], steps: Steps) -> Any:
    """Return the value assigned to ``__result__``, as a Python object."""
    dialect = starlark.Dialect.standard()
    dialect.enable_top_level_stmt = True
    dialect.enable_f_strings = True
    dialect.enable_load = False
    library = [starlark.LibraryExtension.Json, starlark.LibraryExtension.Map, starlark.LibraryExtension.Filter]
    library_globals = starlark.Globals.extended_by(library)
    module = starlark.Module()
    for name in names:
        module.add_callable(name, tool(name))
    options = starlark.EvalOptions(check_cancelled=steps.are_over, max_callstack_size=DEPTH_MAX)
    result: Any = None
    for name, text in (("start", "__result__ = None"), ("code", code), ("result", "__result__")):
        result = starlark.eval_with(options, module, starlark.parse(name, text, dialect), library_globals).value
    return result


def tool(name: str) -> Callable[..., Any]:
    """Return a function whose work the parent process does."""

    def call(*positional: Any, **named: Any) -> Any:
        request = {"call": name, "positional": list(positional), "named": named}
        say(json.dumps(request, ensure_ascii=False, allow_nan=False))
        answer = json.loads(sys.stdin.buffer.readline())
        if "error" in answer:
            raise ToolError(answer["error"])
        return answer["value"]

    return call


def say(line: str) -> None:
    sys.stdout.buffer.write(line.encode() + b"\n")
    sys.stdout.buffer.flush()


if __name__ == "__main__":
    main()
