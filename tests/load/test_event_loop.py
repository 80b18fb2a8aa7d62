"""No request causes a long step of the event loop, during which the service could serve nobody else."""

from __future__ import annotations

import asyncio
import base64
import json
import os
import subprocess
import sys
import time
from collections import deque
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from random import Random
from typing import Any

import httpx

from app.postgres.embedded import EmbeddedPostgres
from tests.api.kit import Json, assistant, call, canonical, path, result, turn, user
from tests.jobs.kit import Model
from tests.probes import LONG_SECONDS, LongStep, WatchedLoop, slowness
from tests.providers import fake_openai as fake
from tests.providers.fake_openai import FakeOpenAI

LONG = bool(os.environ.get("QUIRE_LONG"))
"""Whether to try every kind of text in every place, which takes minutes of CPU time."""
CLIENTS = 24
ATTEMPTS = 3
JSON = {"content-type": "application/json"}
MEGABYTE = 1_000_000
WORDS = "tea river launch budget harbour copper window letter engine garden 龙井 上海 计划".split()  # noqa: SIM905


def prose(seed: int, characters: int) -> str:
    """Return sentences of random words, different for each seed."""
    rng = Random(seed)
    sentences = [" ".join(rng.choices(WORDS, k=12)).capitalize() + f" {rng.random()}. " for _ in range(200)]
    return "".join(rng.choices(sentences, k=characters // 70 + 1))[:characters]


TEXTS: dict[str, Callable[[int], str]] = {
    "one word": lambda size: "x" * size,
    "Chinese": lambda size: "我们在杭州讨论了上线计划和预算,然后喝了龙井茶。" * (size // 24),
    "lines": lambda size: "\n" * size,
    "headings and a list": lambda size: "".join(f"# Heading {n}\n\n- item {n}\n" for n in range(size // 32)),
    "base64": lambda size: base64.b64encode(Random(1).randbytes(size * 3 // 4)).decode(),
    "distinct words": lambda size: " ".join(f"w{n:x}" for n in range(size // 7)),
    "JSON": lambda size: json.dumps([{"id": n, "name": f"row {n}", "tags": ["a", "b"]} for n in range(size // 60)]),
    "quotes and brackets": lambda size: '\\"[({<' * (size // 6),
    "NUL": lambda size: "a\0" * (size // 2),
    "emoji": lambda size: "👩‍👩‍👧‍👦" * (size // 7),
}
"""Texts of about a size that are hard on the functions that read them."""


Work = Callable[["Caller"], Awaitable[None]]


class Caller:
    """A client that fails with the text of an error answer."""

    def __init__(self, http: httpx.AsyncClient) -> None:
        self.http = http

    async def ask(self, method: str, url: str, **more: Any) -> httpx.Response:
        answer = None
        while answer is None or answer.status_code == 503:  # every connection to the database is taken
            try:
                answer = await self.http.request(method, url, **more)
            except (httpx.ReadError, httpx.RemoteProtocolError):  # a connection that rested was closed
                continue
        assert answer.is_success, f"{method} {url}: {answer.status_code} {answer.text[:500]}"
        return answer

    async def get(self, url: str, **query: Any) -> httpx.Response:
        return await self.ask("GET", url, params=query)

    async def post(self, url: str, body: Json, headers: Mapping[str, str] | None = None, **more: Any) -> httpx.Response:
        content = json.dumps(body, ensure_ascii=False).encode()
        return await self.ask("POST", url, content=content, headers={**JSON, **(headers or {})}, **more)

    async def append(
        self, conversation: str, messages: Sequence[Json], query: Json | None = None, key: str | None = None
    ) -> Json:
        sent = {"user_id": "u", "messages": list(messages)}
        headers = {"Idempotency-Key": key} if key else None
        found: Json = (await self.post(path(conversation, "messages"), sent, params=query, headers=headers)).json()
        return found


def dialogue(first: int, turns: int) -> list[Json]:
    return [message for n in range(first, first + turns) for message in turn(n, words=20)]


# --- The data before the requests -----------------------------------------------------------------------


async def long_conversation(caller: Caller) -> None:
    for first in range(0, 1500, 500):
        await caller.append("long", dialogue(first, 500))


async def many_memories(caller: Caller) -> None:
    for first in range(0, 1000, 500):
        turns = [m for n in range(first, first + 500) for m in (user(prose(n, 300)), assistant(prose(-n, 300)))]
        await caller.append("told", turns)


# --- The requests ---------------------------------------------------------------------------------------


async def steps(caller: Caller) -> None:
    """Send the requests of an agent's turn."""
    for n in range(10):
        where = f"steps {id(caller)} {n % 2}"
        await caller.append(where, turn(n), {"include": "context", "budget": 8000})
        await caller.get(path(where, "context"), budget=8000, query="why")


async def windows(caller: Caller) -> None:
    for budget in (4_000, 32_000, 200_000, 2_000_000):
        for form in ("openai", "anthropic"):
            await caller.get(path("long", "context"), budget=budget, format=form)
            await caller.get(path("long", "context"), budget=budget, format=form, query="question 17 tea", pages="3,5")
            await caller.append("long", turn(9), {"include": "context", "budget": budget, "format": form})


async def searches(caller: Caller) -> None:
    for mode in ("hybrid", "semantic", "keyword"):
        for query in ("tea in the garden", "上海 龙井 计划", "launch " * 1000):
            body = {"user_id": "u", "query": query, "search_mode": mode, "limit": 100}
            await caller.post("/memories/search", body)


async def archives(caller: Caller) -> None:
    text = prose(3, 8 * MEGABYTE)
    found = await caller.append("archives", [user("q"), call("a"), result("a", text)])
    uuid = found["messages"][2]["archive_id"]
    await caller.get(f"/archive/{uuid}")
    await caller.get(f"/archive/{uuid}", offset=5 * MEGABYTE, length=MEGABYTE)
    await caller.get(f"/archive/{uuid}", query="copper harbour 龙井")
    await caller.get(f"/archive/{uuid}", max_tokens=200_000)
    await caller.get(path("archives", "context"), budget=1_000_000, load=uuid)
    await caller.get(path("archives", "messages"))
    await caller.get(path("archives", "pages", "1"))
    await caller.get(f"/ui/archives/{uuid}")
    await caller.get("/archive", user_id="u")
    for arguments in ({"uuid": uuid}, {"uuid": uuid, "query": "tea"}, {"uuid": uuid, "range": "0-900000"}):
        await caller.post(path("archives", "tools", "load_tool_history"), {"arguments": arguments})
    await caller.get(path("archives", "export"))
    await caller.ask("DELETE", f"/archive/{uuid}")


async def largest(caller: Caller) -> None:
    """Send as many messages as allowed, and a very long one.

    It has less than the allowed 20,000,000 characters: a statement is encoded in one step, at some three
    milliseconds a megabyte, and a thread would hold the interpreter for the same time.
    """
    await caller.append("largest", [m for n in range(500) for m in (user(prose(n, 6_000)), assistant(f"yes {n}"))])
    await caller.append("largest", [user("q"), call("a"), result("a", prose(9, 8 * MEGABYTE))], key="largest")
    await caller.get(path("largest", "context"), budget=200_000)
    await caller.get(path("largest", "messages"), limit=1000)
    await caller.get(path("largest", "export"))
    await caller.get("/ui/conversations/largest")


def odd_message(name: str) -> Work:
    async def work(caller: Caller) -> None:
        text = TEXTS[name](MEGABYTE)
        where = f"odd {name}"
        await caller.append(where, [user(text), assistant("ok")])
        await caller.append(where, turn(1), {"include": "context", "budget": 8_000_000})
        await caller.get(path(where, "context"), budget=8_000_000, format="anthropic", pages="1", query="tea 杭州 w17")
        await caller.post(path(where, "tools", "recall_page"), {"arguments": {"page": 1}})
        await caller.get(path(where, "contents"))
        await caller.get(path(where, "messages"))

    return work


def odd_result(name: str) -> Work:
    async def work(caller: Caller) -> None:
        text = TEXTS[name](2 * MEGABYTE)
        where = f"odd result {name}"
        found = await caller.append(where, [user("q"), call("a"), result("a", text)], {"include": "context"})
        uuid = found["messages"][2]["archive_id"]
        await caller.get(f"/archive/{uuid}", query="tea heading 杭州 w17", max_tokens=4000)
        await caller.get(f"/archive/{uuid}", max_tokens=50_000)

    return work


def odd_memory(name: str) -> Work:
    async def work(caller: Caller) -> None:
        content = f"m {TEXTS[name](MEGABYTE)}"[:MEGABYTE]
        found = (await caller.post("/memories", {"user_id": "m", "content": content})).json()
        await caller.get(f"/memories/{found['memory_key']}")
        query = content[:5000].replace("\0", " ")
        await caller.post("/memories/search", {"user_id": "m", "query": query})
        await caller.post("/memories/keywords", {"text": content[:100_000]})

    return work


def odd_query(name: str) -> Work:
    async def work(caller: Caller) -> None:
        query = f"m {TEXTS[name](9000)}"[:9000].replace("\0", " ")
        await caller.post(path("told", "context"), {"query": query, "budget": 32_000})
        await caller.post("/memories/search", {"user_id": "u", "query": query})
        await caller.post(path("told", "tools", "search_memories"), {"arguments": {"query": query}})

    return work


async def many_parts(caller: Caller) -> None:
    parts = [{"type": "text", "text": f"part {n}"} for n in range(20_000)]
    await caller.append("parts", [user(parts), assistant("ok")])
    calls = [f"c{n}" for n in range(999)]
    await caller.append("parts", [user("q"), call(*calls[:500]), *(result(c, "seen " * 300) for c in calls[:498])])
    blocks = [{"type": "tool_result", "tool_use_id": f"d{n}", "content": "x " * 9000} for n in range(300)]
    uses = [{"type": "tool_use", "id": f"d{n}", "name": "look", "input": {"n": n}} for n in range(300)]
    await caller.append("blocks", [user("q"), {"role": "assistant", "content": uses}, user(blocks)])
    await caller.get(path("blocks", "context"), budget=200_000, format="anthropic")
    await caller.get(path("parts", "context"), budget=200_000)


async def deep(caller: Caller) -> None:
    arguments = json.dumps({"rows": [{"n": n, "text": "why"} for n in range(30_000)]})
    await caller.append("deep", [user("q"), call("a", arguments=arguments), result("a", "seen")])
    extra = {"n": [[[n], {"m": n}] for n in range(100_000)]}
    await caller.append("deep", [user("q", extra=extra)])
    await caller.get(path("deep", "context"), budget=2_000_000, format="anthropic")
    await caller.get(path("deep", "messages"))


async def synced(caller: Caller) -> None:
    listed = dialogue(0, 400)
    for _ in range(3):
        await caller.post(path("synced", "sync"), {"messages": listed, "user_id": "s"})
        listed = [*listed, *dialogue(len(listed), 400)]
    long = dialogue(0, 1500)
    await caller.post(path("long", "sync"), {"messages": long, "user_id": "u", "on_fork": "append"})
    await caller.post(
        path("synced", "sync"),
        {"messages": [*listed[:100], user(prose(1, 900_000))], "user_id": "s", "on_fork": "append"},
    )


async def proxied(caller: Caller) -> None:
    listed = dialogue(0, 400)
    for streams in (False, True):
        for more in ([], dialogue(9000, 20), [user(prose(2, 500_000))]):
            listed = [*listed, *more, user(f"and {len(listed)}?")]
            body = {"model": "fake", "messages": listed, "stream": streams, "user": "p"}
            answer = await caller.ask(
                "POST", "/v1/chat/completions", content=json.dumps(body), headers={"content-type": "application/json"}
            )
            answer.read()
    await caller.get("/v1/models")


async def tools(caller: Caller) -> None:
    use = path("told", "tools")
    for name, arguments in (
        ("recall_page", {"page": 3}),
        ("recall_memory", {"query": "garden"}),
        ("search_memories", {"query": "launch", "limit": 50}),
        ("grep_memories", {"pattern": "garden"}),
        ("grep_memories", {"pattern": "(a|b)+c!", "regex": True}),
        ("extract_search_keywords", {"query": prose(1, 90_000)}),
    ):
        await caller.post(f"{use}/{name}", {"arguments": arguments})
    await caller.post("/memories/recall", {"user_id": "u", "conversation_id": "told", "max_iterations": 3})
    for form in ("openai", "anthropic", "mcp", "attp"):
        await caller.get("/tools", format=form)
    document = '[tool_call]\ncode = """search_memories(query="tea")"""\n'
    await caller.post(path("told", "attp"), {"document": document})
    await caller.post(path("told", "attp"), {"document": f"text = '{'x' * MEGABYTE}'\n{document}"})


async def grepped(caller: Caller) -> None:
    """Search texts of very many lines and of one line. Each is compared line by line, and most lines match."""
    blank, whole = "\n" * 900_000, "Ｔｅａ " * 200_000
    await caller.append("grepped", [user(blank), assistant(f"é{blank}"), user(whole), assistant("yes")])
    for pattern in ("[a-s]", "[t].a", "no such words"):
        await caller.post("/memories/grep", {"user_id": "u", "pattern": pattern, "regex": pattern.startswith("[")})


async def archived_alone(caller: Caller) -> None:
    await caller.post(
        "/archive", {"user_id": "a", "tool_name": "t", "tool_input": "", "result": prose(7, 8 * MEGABYTE)}
    )


async def mcp(caller: Caller) -> None:
    accepted = {"accept": "application/json, text/event-stream", "content-type": "application/json"}
    for method, params in (
        ("tools/list", {}),
        ("tools/call", {"name": "search_memories", "arguments": {"query": "launch"}}),
        ("tools/call", {"name": "recall_page", "arguments": {"page": 7}}),
        ("tools/call", {"name": "extract_search_keywords", "arguments": {"query": prose(1, 90_000)}}),
        ("tools/call", {"name": "search_memories", "arguments": {"query": prose(1, 900_000)}}),
    ):
        body = canonical({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).encode()
        await caller.ask("POST", "/mcp?conversation_id=told", content=body, headers=accepted)


async def moved(caller: Caller) -> None:
    """Export, import and erase a user."""
    lines = (await caller.get(path("told", "export"))).content.replace(b'"told"', b'"moved"').replace(b'"u"', b'"w"')
    sent = {"content-type": "application/x-ndjson"}
    fresh = b"\n".join(_without_ids(line) for line in lines.splitlines())
    for _ in range(2):  # the second time everything is there
        await caller.ask("POST", "/import", content=fresh, headers=sent)
    await caller.get("/users/w/export")
    await caller.ask("DELETE", path("moved", "messages", "17"))
    await caller.ask("DELETE", path("moved", "pages", "9"))
    await caller.ask("DELETE", path("moved"))
    big = [
        canonical({"type": "header", "format": "quire", "version": 1}),
        canonical({"type": "conversation", "id": "big", "user_id": "w"}),
        canonical({"type": "message", "conversation_id": "big", "seq": 1, "message": user(prose(4, 900_000))}),
        canonical({"type": "message", "conversation_id": "big", "seq": 2, "message": call("a")}),
        canonical({"type": "message", "conversation_id": "big", "seq": 3, "message": result("a", prose(5, 9_000_000))}),
    ]
    await caller.ask("POST", "/import", content="\n".join(big).encode(), headers=sent)
    await caller.ask("DELETE", "/users/w")


def _without_ids(line: bytes) -> bytes:
    found = json.loads(line)
    if found["type"] in ("message", "note", "memory"):
        found.pop("id", None)
    return canonical(found).encode()


async def looks(caller: Caller) -> None:
    for url in ("/openapi.json", "/docs", "/metrics", "/readyz", "/healthz", "/jobs", "/conversations"):
        await caller.get(url)
    for where in ("long", "told"):
        for part in ("", "contents", "pages", "pages/3", "summary", "topics", "notes", "status", "messages", "export"):
            await caller.get(path(where, part) if part else path(where))
        await caller.get(path(where, "messages"), limit=1000, order="desc")
        await caller.get(path(where, "pages"), limit=200)
        for part in ("", "?show=pages", "/pages/3", "?show=archives"):
            await caller.get(f"/ui/conversations/{where}{part}")
    for url in ("/ui", "/ui/jobs", "/ui/search?user_id=u&q=tea", "/users/u/export"):
        await caller.get(url)


WORKS: list[Work] = [
    looks,
    windows,
    searches,
    archives,
    largest,
    synced,
    proxied,
    tools,
    grepped,
    archived_alone,
    mcp,
    moved,
    many_parts,
    deep,
    *map(odd_message, TEXTS if LONG else ("Chinese", "headings and a list", "NUL")),
    *map(odd_result, TEXTS if LONG else ("JSON",)),
    *map(odd_memory, TEXTS if LONG else ("distinct words",)),
    *map(odd_query, TEXTS if LONG else ("Chinese", "one word")),
    *[steps] * 4,
]


async def load(url: str, works: Sequence[Work]) -> None:
    """Do all works, several at a time."""
    left = deque(works)
    async with httpx.AsyncClient(base_url=url, timeout=300, limits=httpx.Limits(max_connections=CLIENTS)) as http:

        async def client() -> None:
            while left:
                await left.popleft()(Caller(http))

        async with asyncio.TaskGroup() as group:
            for _ in range(CLIENTS):
                group.create_task(client())


@contextmanager
def watched(environment: dict[str, str], folder: Path) -> Iterator[tuple[str, Callable[[], list[LongStep]]]]:
    """Yield the URL of a service in a separate process, and a function that ends it and returns its long steps."""
    with (folder / "log").open("w+") as log:
        process = subprocess.Popen(
            [sys.executable, "-m", "tests.load.watched"],
            env={**os.environ, **environment},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=log,
            text=True,
        )
        assert process.stdin is not None
        assert process.stdout is not None

        def end() -> list[LongStep]:
            found, _ = process.communicate(timeout=60)
            assert process.returncode == 0, (folder / "log").read_text()[-3000:]
            return [LongStep(**json.loads(line)) for line in found.splitlines()]

        try:
            yield process.stdout.readline().strip(), end
        finally:
            process.kill()
            process.wait()
            process.stdin.close()
            process.stdout.close()


def reply(request: Json) -> str | Json:
    """Reply as the worker's model, and as the one behind the proxy."""
    try:
        return Model()(request)
    except ValueError:
        return fake.echo(request)


def long_steps(environment: dict[str, str], folder: Path) -> list[LongStep]:
    """Return the steps that were too long while a separate service handled all requests."""
    with watched(environment, folder) as (url, end):
        asyncio.run(load(url, [long_conversation, many_memories]))
        asyncio.run(load(url, WORKS))
        return end()


def test_no_step_of_the_event_loop_takes_longer_than_50_ms_of_cpu(
    postgres: EmbeddedPostgres, data_dir: Path, delete_every_row: Callable[[], None], tmp_path: Path
) -> None:
    """A host that takes the CPU away makes any step long, so only steps that are long every time count."""
    always: list[LongStep] | None = None
    with FakeOpenAI(reply=reply) as api:
        environment = {
            "DATABASE_URL": postgres.app_dsn,
            "QUIRE_DATA_DIR": str(data_dir),
            "QUIRE_PROXY_BASE_URL": api.url,
            "QUIRE_REQUEST_SECONDS": "300",
            "MEMORY_LLM_MODEL": "fake",
            "MEMORY_LLM_BASE_URL": api.url,
            "MEMORY_EMBEDDING_MODEL": "fake",
        }
        for _ in range(ATTEMPTS):
            delete_every_row()
            found = long_steps(environment, tmp_path)
            before = {step.what for step in (found if always is None else always)}
            always = [step for step in found if step.what in before]
            if not always:
                break
    assert not always, "\n".join(map(str, sorted(always, key=lambda step: -step.seconds)))


async def burn(seconds: float, *, seen: bool = False) -> None:
    """Burn CPU time, and with ``seen`` go on until the step was observed."""
    loop = asyncio.get_running_loop()
    assert isinstance(loop, WatchedLoop)
    begun = time.thread_time()
    while time.thread_time() - begun < seconds or (seen and not loop.places):
        pass


async def wait(seconds: float) -> None:
    time.sleep(seconds)  # noqa: ASYNC251 - the step is late, but its thread rests


def test_a_step_that_burns_more_is_found_and_named_and_one_that_waits_is_not() -> None:
    with asyncio.Runner(loop_factory=WatchedLoop) as runner:
        loop = runner.get_loop()
        assert isinstance(loop, WatchedLoop)
        for short in (burn(0.02), wait(0.1)):
            runner.run(short)
        assert loop.found == []
        runner.run(burn(0.06 * 2 * slowness(), seen=True))
        [step] = loop.found
    assert "burn" in step.what
    assert step.seconds >= LONG_SECONDS
    assert "burn" in step.places[0][0]
