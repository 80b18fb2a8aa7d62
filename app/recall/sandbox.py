"""Run a model's code in a process that can only compute and call tools.

The walls, from the inside out: Starlark has no files, network, clock, imports or Python attributes; the interpreter
counts its steps; its process has dropped files, sockets and children, and has limits on memory and CPU time
(``app.recall.interpreter``); its environment is empty; and it is killed when its time is over. Its output is read as
data, in lines of bounded length. The tools themselves run in this process, in the caller's scope.
"""

from __future__ import annotations

import asyncio
import json
import logging
import signal
import sys
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, get_args

INTERPRETER = Path(__file__).with_name("interpreter.py")

Failure = Literal["failed", "steps", "memory", "time", "cpu", "too_large", "not_json", "unconfined"]

_logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class SandboxLimits:
    seconds: float = 10.0
    """Time from start to end, including the tools' work."""
    cpu_seconds: int = 2
    steps: int = 10_000_000
    memory_bytes: int = 256 * 1024 * 1024
    calls: int = 20
    call_bytes: int = 256 * 1024
    """Size of one call's arguments."""
    result_bytes: int = 100_000


@dataclass(frozen=True, slots=True)
class Outcome:
    """The value assigned to ``__result__``, or why the code did not finish."""

    result: Any = None
    failure: Failure | None = None
    detail: str = ""


Reply = dict[str, Any]
"""``{"value": …}``, or ``{"error": …}`` with a text, which ends the run."""
Call = Callable[[str, list[Any], dict[str, Any]], Awaitable[Reply]]


async def run(code: str, names: Sequence[str], call: Call, limits: SandboxLimits) -> Outcome:
    """Run code that can call functions with these names. ``call`` does the work of each."""
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-I", str(INTERPRETER),
        stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.DEVNULL,
        env={}, cwd="/", start_new_session=True, limit=max(limits.call_bytes, 2 * limits.result_bytes),
    )  # fmt: skip
    try:
        async with asyncio.timeout(limits.seconds):
            job = {
                "code": code, "names": list(names), "steps": limits.steps, "memory_bytes": limits.memory_bytes,
                "cpu_seconds": limits.cpu_seconds, "result_bytes": limits.result_bytes,
            }  # fmt: skip
            return await _talk(process, job, call)
    except TimeoutError:
        return Outcome(failure="time")
    finally:
        if process.returncode is None:
            process.kill()
        await asyncio.shield(process.wait())


async def _talk(process: asyncio.subprocess.Process, job: dict[str, Any], call: Call) -> Outcome:
    assert process.stdin is not None
    assert process.stdout is not None
    message: dict[str, Any] = job
    while True:
        try:
            process.stdin.write(json.dumps(message).encode() + b"\n")
            await process.stdin.drain()
        except (BrokenPipeError, ConnectionResetError):
            return _died(await process.wait())
        try:
            line = await process.stdout.readline()
        except ValueError:  # longer than a line is allowed to be
            return Outcome(failure="too_large")
        if not line.endswith(b"\n"):
            return _died(await process.wait())
        heard = _heard(line)
        match heard:
            case {"call": str(name), "positional": list(positional), "named": dict(named)} if name in job["names"]:
                message = await call(name, positional, named)
            case {"result": result}:
                return Outcome(result)
            case {"error": failure, **more} if failure in get_args(Failure):
                return Outcome(failure=failure, detail=str(more.get("detail", "")))
            case _:
                return Outcome(failure="failed")


def _heard(line: bytes) -> Any:
    """Parse a line; None if it cannot be from the interpreter."""
    try:
        return json.loads(line, parse_constant=_refuse)
    except (ValueError, RecursionError):
        return None


def _refuse(name: str) -> float:
    raise ValueError(name)


def _died(code: int) -> Outcome:
    """Classify a process that died silently: over its CPU time, or out of memory or stack."""
    if code > 0:
        _logger.warning("the interpreter ended with %d; it may not have been able to begin", code)
    return Outcome(failure="cpu" if code in (-signal.SIGXCPU, -signal.SIGKILL) else "memory")
