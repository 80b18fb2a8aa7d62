"""The proxy's overhead on a streamed answer, in each dialect: first byte and CPU, in window mode and in pass-through.

A conversation goes on turn by turn; the client sends its whole list each time, as agents do, with the answers it got.
The same list is sent to the played API directly, to Quire as it is, and to Quire for a window, in turns. The API speaks
the client's dialect and answers at once, so all of the difference is Quire's. In a loop the model calls a tool each
time, and the client sends the result: what was recalled for the user's message is there already. Goals: at most 8 ms
CPU a request for a window and 5 ms in pass-through, and the first byte at most 10 ms after the API's own; in a loop at
most 20 ms.
"""

from __future__ import annotations

import http.client
import json
import re
import sys
import time
from contextlib import ExitStack
from dataclasses import dataclass, field
from random import Random
from statistics import median, quantiles
from typing import Any

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import StreamingResponse
from starlette.routing import Route

from bench.harness import QUIRE, Cpu, Harness, Server, environment_of, serving
from bench.tables import Table
from bench.words import pair
from tests.proxy.fakes import messages, responses

Json = dict[str, Any]
TURNS_BEFORE, TURNS = 10, 10
"""The number of a conversation's unmeasured turns at the beginning, and of measured ones."""
ANSWER = "a word " * 40
PATHS = {"chat": "/v1/chat/completions", "messages": "/v1/messages", "responses": "/v1/responses"}
HEADERS: dict[str, dict[str, str]] = {
    "direct": {},
    "pass-through": {"X-Quire-Mode": "pass-through"},
    "window": {"X-Quire-Mode": "window"},
    "window without recall": {"X-Quire-Mode": "window", "X-Quire-Recall": "off"},
    "window, in a loop": {"X-Quire-Mode": "window"},
}
"""By the way in which a request is sent."""
LOOP = "window, in a loop"
CPU_GOALS_MS = {"pass-through": 5.0, "window": 8.0, "window without recall": 8.0, LOOP: 8.0}
FIRST_BYTE_GOALS_MS = {"pass-through": 10.0, "window": 10.0, "window without recall": 10.0, LOOP: 20.0}
CALL = re.compile(r"\bcall_(\d+)\b")
TOOL: Json = {"name": "look", "description": "Look something up.", "parameters": {"type": "object"}}


@dataclass
class Side:
    """A dialect in one way."""

    first: list[float] = field(default_factory=list)
    """Seconds until the first byte of the body."""
    cpu: Cpu = field(default_factory=lambda: Cpu(0, 0))

    def first_ms(self) -> float:
        return median(self.first) * 1000

    def cpu_ms(self) -> float:
        return self.cpu.total / len(self.first) * 1000


def run(harness: Harness, *, quick: bool) -> list[Table]:
    rounds = 3 if quick else 10
    found = {(dialect, way): Side() for dialect in PATHS for way in HEADERS}
    with ExitStack() as stack:
        api = stack.enter_context(played_api(harness))
        quires = {
            dialect: stack.enter_context(_served(harness, QUIRE, settings(harness, api, dialect))) for dialect in PATHS
        }
        for turn in range(-1, rounds):  # the first warms everything up
            for (dialect, way), side in found.items():
                server = api if way == "direct" else quires[dialect]
                converse(server, dialect, way, f"{dialect}-{way}-{turn}", side if turn >= 0 else Side())
    return [_table(found)]


def settings(harness: Harness, api: Server, dialect: str) -> dict[str, str]:
    return environment_of(harness.postgres, harness.folder) | {
        "QUIRE_PROXY_BASE_URL": f"http://127.0.0.1:{api.port}/v1",
        "QUIRE_PROXY_API_KEY": "none",
        "QUIRE_PROXY_UPSTREAM_DIALECT": dialect,
        "QUIRE_PROXY_BUDGET": "8000",
        "QUIRE_DEFAULT_USER": "dialects",
        "QUIRE_WORKER": "false",
    }


def played_api(harness: Harness) -> Any:
    """Start the API that answers at once, in every dialect."""
    return _served(harness, ("-m", "bench.load.dialects"), {})


def _served(harness: Harness, arguments: tuple[str, ...], environment: dict[str, str]) -> Any:
    return serving(arguments, environment, harness.folder, harness.quire.postmaster)


def converse(server: Server, dialect: str, way: str, name: str, side: Side) -> None:
    """Hold a conversation. All turns are measured except the first, which brings the earlier messages."""
    rng = Random(name)
    said = [message for _ in range(TURNS_BEFORE) for message in pair(rng)]
    headers = {"Content-Type": "application/json", "X-Quire-Conversation": name, **HEADERS[way]}
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=60)
    for turn in range(TURNS + 1):
        if not turn or way != LOOP:
            said.append(pair(rng)[0])
        body = json.dumps(_body(dialect, said, calls=way == LOOP))
        before, began = server.cpu(), time.perf_counter()
        connection.request("POST", PATHS[dialect], body, headers)
        answer = connection.getresponse()
        first = answer.read(1)
        seconds = time.perf_counter() - began
        rest = answer.read()
        if answer.status != 200:
            raise RuntimeError(f"{way} {dialect} was answered {answer.status}: {(first + rest)[:500]!r}")
        said += _looked(dialect, turn + 1, pair(rng)[1]["content"]) if way == LOOP else [_answered()]
        if turn:
            side.first.append(seconds)
            side.cpu += server.cpu() - before
    connection.close()


def _body(dialect: str, said: list[Json], *, calls: bool) -> Json:
    listed = {"input": said} if dialect == "responses" else {"messages": said}
    limit = {"max_tokens": 1000} if dialect == "messages" else {}
    tools = {"tools": [_tool(dialect)]} if calls else {}
    return {"model": "gpt-4o", "stream": True, **listed, **limit, **tools}


def _tool(dialect: str) -> Json:
    match dialect:
        case "messages":
            return {"name": TOOL["name"], "description": TOOL["description"], "input_schema": TOOL["parameters"]}
        case "responses":
            return {"type": "function", **TOOL}
    return {"type": "function", "function": TOOL}


def _answered() -> Json:
    return {"role": "assistant", "content": ANSWER.strip()}


def _called(dialect: str, number: int) -> Json:
    """Return the message, block or item in which the model calls the tool."""
    name, id_, arguments = TOOL["name"], f"call_{number}", json.dumps({"at": number})
    match dialect:
        case "messages":
            return {"type": "tool_use", "id": id_, "name": name, "input": {"at": number}}
        case "responses":
            return {
                "type": "function_call", "id": f"fc_{number}", "call_id": id_, "name": name, "arguments": arguments,
                "status": "completed",
            }  # fmt: skip
    function = {"name": name, "arguments": arguments}
    return {"role": "assistant", "content": None, "tool_calls": [{"id": id_, "type": "function", "function": function}]}


def _looked(dialect: str, number: int, found: str) -> list[Json]:
    """Return the model's call, and the result that the client sends after it."""
    call, id_ = _called(dialect, number), f"call_{number}"
    match dialect:
        case "messages":
            result = {"type": "tool_result", "tool_use_id": id_, "content": found}
            return [{"role": "assistant", "content": [call]}, {"role": "user", "content": [result]}]
        case "responses":
            return [call, {"type": "function_call_output", "call_id": id_, "output": found}]
    return [call, {"role": "tool", "tool_call_id": id_, "content": found}]


def _table(found: dict[tuple[str, str], Side]) -> Table:
    rows = []
    misses = []
    for (dialect, way), side in found.items():
        late = side.first_ms() - found[dialect, "direct"].first_ms()
        p95 = quantiles(side.first, n=20)[-1] * 1000
        cpu = "" if way == "direct" else f"{side.cpu_ms():.2f}"
        rows.append(
            [dialect, way, f"{side.first_ms():.2f}", f"{p95:.2f}", "" if way == "direct" else f"{late:.2f}", cpu]
        )
        if way != "direct" and (side.cpu_ms() > CPU_GOALS_MS[way] or late > FIRST_BYTE_GOALS_MS[way]):
            misses.append(f"{dialect} {way}")
    count, most = len(next(iter(found.values())).first), 2 * (TURNS_BEFORE + TURNS) + 1
    what = f"{count} requests each, one at a time, with lists of {2 * TURNS_BEFORE + 3} to {most} messages."
    goals = "Goals: at most 5 ms CPU in pass-through and 8 ms for a window, first byte at most 10 ms later, in a loop 20 ms: "
    verdict = f"missed by {', '.join(misses)}." if misses else "met."
    notes = [f"{what} CPU is that of Quire and PostgreSQL.", goals + verdict]
    columns = ["dialect", "way", "first byte ms", "p95", "later by", "CPU ms"]
    return Table("What the proxy adds, by dialect", columns, rows, notes)


# --- The played API -------------------------------------------------------------------------------------


def _chat(model: str, call: Json | None) -> list[Json]:
    words = [f" {word}" if at else word for at, word in enumerate(ANSWER.split())]
    said: list[Json] = [{"content": word} for word in words]
    if call is not None:
        said = [{"tool_calls": [{"index": 0, **call["tool_calls"][0]}]}]
    reason = "stop" if call is None else "tool_calls"
    return [
        {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": model, "choices": [
            {"index": 0, "delta": delta, "finish_reason": None if delta else reason}
        ]} for delta in ({"role": "assistant"}, *said, {})
    ]  # fmt: skip


def _next_call(body: Json) -> int:
    return 1 + max(map(int, CALL.findall(json.dumps(body))), default=0)


async def _answer(request: Request) -> StreamingResponse:
    body = await request.json()
    dialect = next(name for name, path in PATHS.items() if path == request.url.path)
    names = [tool.get("name", tool.get("function", {}).get("name")) for tool in body.get("tools", ())]
    call = _called(dialect, _next_call(body)) if TOOL["name"] in names else None
    reply = ANSWER.strip() if call is None else [call]
    match dialect:
        case "messages":
            events = [f"event: {e['type']}\ndata: {json.dumps(e)}\n\n" for e in messages(body, reply)[1]]
        case "responses":
            events = [f"event: {e['type']}\ndata: {json.dumps(e)}\n\n" for e in responses(body, reply)[1]]
        case _:
            events = [*(f"data: {json.dumps(e)}\n\n" for e in _chat(body["model"], call)), "data: [DONE]\n\n"]

    async def sent() -> Any:
        for event in events:
            yield event.encode()

    return StreamingResponse(sent(), media_type="text/event-stream")


def _serve() -> None:
    app = Starlette(routes=[Route(path, _answer, methods=["POST"]) for path in PATHS.values()])
    config = uvicorn.Config(app, port=0, log_level="warning")
    server = uvicorn.Server(config)
    sockets = [config.bind_socket()]
    sys.stdout.write(f"http://127.0.0.1:{sockets[0].getsockname()[1]}\n")
    sys.stdout.flush()
    server.run(sockets)


if __name__ == "__main__":
    _serve()
