"""Clients that do everything at once to a few conversations, and write down what they asked and what they were told."""

from __future__ import annotations

import asyncio
import itertools
import re
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Any

import httpx

from tests.api.kit import Json, path
from tests.histories.linearizable import NEVER, Call
from tests.histories.model import (
    ERASED,
    Answer,
    Append,
    Branch,
    Done,
    EraseAll,
    EraseMessage,
    Fork,
    Glimpse,
    History,
    Missing,
    Placed,
    Read,
    Result,
    Search,
    Shown,
    Sync,
    Unknown,
    Window,
    Write,
)

CONVERSATIONS = 5
"""At a time."""
CALLS_MAX = 100
"""Of a conversation, then another takes its place: a history is searched as a whole."""
MARK = re.compile(r"zq[b-z]{5}[ua]")
LETTERS = "bcdfghjklmnpqrstvwxyz"
GIVE_UP_SECONDS = 20.0
"""Until a request that is sent again and again is given up, once the trial is over."""
USER = "u"


@dataclass
class Record:
    """What all clients saw, by conversation; each place is reserved when a request begins."""

    urls: list[str]
    """Of the processes that can be asked; they change as processes are started again."""
    calls: dict[str, list[Call]] = field(default_factory=dict)
    operations: Counter[str] = field(default_factory=Counter)
    resent: int = 0
    """Requests that were sent again under their key."""
    unknown: int = 0
    """Writes of which nobody learned whether they were done."""
    refused: int = 0
    """Writes that were answered by an error which promises that nothing was stored."""
    problems: list[str] = field(default_factory=list)
    stop: asyncio.Event = field(default_factory=asyncio.Event)
    names: list[str] = field(default_factory=list)
    _made: itertools.count[int] = field(default_factory=itertools.count)
    _marks: itertools.count[int] = field(default_factory=itertools.count)

    def mark(self, role: str) -> str:
        return self.numbered_mark(role)[0]

    def numbered_mark(self, role: str) -> tuple[str, int]:
        number = next(self._marks)
        return mark_at(number, role), number

    def name(self, rng: Random) -> str:
        """Pick a conversation, and replace the ones that have seen enough."""
        self.names = [name for name in self.names if len(self.calls[name]) < CALLS_MAX]
        while len(self.names) < CONVERSATIONS:
            made = f"c{next(self._made)}"
            self.names.append(made)
            self.calls[made] = []
        return rng.choice(self.names)

    def put(self, name: str, call: Call) -> int:
        """Write a call down, and return its place."""
        self.calls[name].append(call)
        self.operations[type(call.what).__name__] += 1
        return len(self.calls[name]) - 1


class Unanswered(Exception):  # noqa: N818 - it is the news, not a failure
    """The request has no answer; it can have been done, now or later."""


class Refused(Exception):  # noqa: N818
    """The answer promises that nothing was stored."""


@dataclass
class Client:
    record: Record
    number: int
    seed: int
    http: httpx.AsyncClient
    known: dict[str, list[str | None]] = field(default_factory=dict)
    """The marks of each conversation as this client last read them; None where it never knew an erased one."""
    keys: int = 0

    def __post_init__(self) -> None:
        self.rng = Random(f"{self.seed} {self.number}")

    async def run(self) -> None:
        steps: dict[Callable[[str], Any], int] = {
            self.append: 30, self.sync: 12, self.ask: 8, self.erase_message: 7, self.erase_all: 2,
            self.read: 16, self.window: 14, self.glimpse: 4, self.search: 10, self.fork: 4,
        }  # fmt: skip
        while not self.record.stop.is_set():
            [step] = self.rng.choices(list(steps), list(steps.values()))
            await step(self.record.name(self.rng))

    # Writes

    async def append(self, name: str) -> None:
        marks = tuple(self.record.mark("ua"[at % 2]) for at in range(self.rng.choice((1, 2, 2, 4))))
        what = Append(marks, creates=self.rng.random() < 0.9)
        body = {"messages": said(marks), **({"user_id": USER} if what.creates else {})}
        await self._write(name, what, "POST", path(name, "messages"), body, keyed=self.rng.random() < 0.6)

    async def sync(self, name: str) -> None:
        """The list as it was read a while ago, and a turn more; now and then a list that ends earlier."""
        known = self.known.get(name, [])
        if None in known:
            await self.read(name)
            return
        listed = [mark for mark in known if mark is not None]
        if self.rng.random() < 0.15 and len(listed) > 2:
            listed = listed[: self.rng.randrange(1, len(listed))]
        else:
            listed += [self.record.mark("u"), self.record.mark("a")]
        body = {"messages": said(listed), "user_id": USER, "on_fork": "error"}
        await self._write(name, Sync(tuple(listed)), "POST", path(name, "sync"), body, keyed=self.rng.random() < 0.8)

    async def erase_message(self, name: str) -> None:
        seq = self.rng.randrange(1, len(self.known.get(name, ())) + 3)
        keyed = self.rng.random() < 0.5
        await self._write(name, EraseMessage(seq), "DELETE", path(name, "messages", str(seq)), None, keyed=keyed)

    async def erase_all(self, name: str) -> None:
        """Always under a key: one of unknown outcome could come at any later time, and explain too much."""
        where = f"{path(name)}?branches=erase"
        await self._write(name, EraseAll(), "DELETE", where, None, keyed=True)

    async def ask(self, name: str) -> None:
        """A question through the proxy, sent once: the same one again could count as a new one."""
        question = self.record.mark("u")
        mark, number = self.record.numbered_mark("a")
        body = {"model": "fake", "messages": said([question]), "seed": number}  # passed on: see `reply`
        headers = {"X-Quire-Conversation": name, "X-Quire-User": USER}
        began = time.monotonic()
        result: Result = Unknown()
        try:
            answer = await self._send("POST", "/v1/chat/completions", body, headers)
            result = Done() if answer.status_code == 200 else Unknown()
            if answer.status_code == 200 and mark not in answer.text:
                self.record.problems.append(f"{question} was answered by {answer.text[:300]}")
        except Unanswered:
            pass
        at = self._put(name, Append((question,)), result, began)
        self._put(name, Answer(question, mark), result, began, follows=at)

    async def _write(self, name: str, what: Write, verb: str, where: str, body: Json | None, *, keyed: bool) -> None:
        began = time.monotonic()
        self.keys += 1
        headers = {"Idempotency-Key": f"{self.number}-{self.keys}"} if keyed else {}
        try:
            answer = await (self._insist if keyed else self._once)(verb, where, body, headers)
        except Refused:
            self.record.refused += 1
            return
        except Unanswered:
            self._put(name, what, Unknown(), began)
            return
        self._put(name, what, self._result(what, answer), began)

    def _result(self, what: Write, answer: httpx.Response) -> Result:
        kind = answer.json()["type"].split(":")[-1] if answer.status_code >= 400 else ""
        match kind:
            case "":
                found = answer.json()
                stored = found.get("appended", found.get("messages")) if isinstance(what, Append | Sync) else None
                return Done() if stored is None else placed(stored)
            case "not-found":
                return Missing()
            case "fork":
                return Fork()
            case "erased-since":  # it was done, and undone by another
                return Done()
            case _:
                self.record.problems.append(f"{what}: {answer.status_code} {answer.text[:300]}")
                return Unknown()

    # Reads

    async def read(self, name: str) -> None:
        found = await self._read(name, History(), "GET", path(name, "messages"), {"params": {"limit": 1000}})
        if found is None:
            return
        before = self.known.get(name, [])
        marks = [mark_of(item) for item in found.json()["items"]] if found.is_success else []
        self.known[name] = [
            (before[at] if at < len(before) else None) if mark == ERASED else mark for at, mark in enumerate(marks)
        ]

    async def window(self, name: str) -> None:
        await self._read(name, Window(), "GET", path(name, "context"), {"params": {"budget": 60_000}})

    async def glimpse(self, name: str) -> None:
        await self._read(name, Glimpse(), "GET", path(name, "context"), {"params": {"budget": 1000}})

    async def search(self, name: str) -> None:
        known = [mark for mark in self.known.get(name, ()) if mark is not None]
        if not known:
            await self.read(name)
            return
        mark = self.rng.choice(known)
        body = {"user_id": USER, "conversation_id": name, "query": mark, "search_mode": "keyword", "limit": 20}
        await self._read(name, Search(mark), "POST", "/memories/search", {"json": body})

    async def fork(self, name: str) -> None:
        """A branch of what is there, which goes on and is read; nothing if it was erased with its trunk meanwhile.

        What is said on it is in no state of its trunk, so no read of that can show it.
        """
        own = self.record.mark("u")
        began = time.monotonic()
        try:
            made = await self.http.post(self._url() + path(name, "fork"), json={})
            if made.status_code != 201:
                return
            where = path(made.json()["id"], "messages")
            await self.http.post(self._url() + where, json={"messages": said([own])})
            found = await self.http.get(self._url() + where, params={"limit": 1000})
        except (httpx.TransportError, httpx.InvalidURL):
            return
        if found.is_success:
            marks = shown(History(), found.json()).marks
            if own in marks[:-1]:
                self.record.problems.append(f"a branch of {name} goes on with {marks}, not with {own}")
            self._put(name, Branch(), Shown(marks[:-1] if own in marks else marks), began)

    async def _read(self, name: str, what: Read, verb: str, where: str, sent: Json) -> httpx.Response | None:
        began = time.monotonic()
        try:
            answer = await self.http.request(verb, self._url() + where, **sent)
        except (httpx.TransportError, httpx.InvalidURL):
            return None
        if answer.status_code == 503:
            return None
        if answer.status_code not in (200, 404):
            self.record.problems.append(f"{what} of {name}: {answer.status_code} {answer.text[:300]}")
            return None
        self._put(name, what, shown(what, answer.json()) if answer.is_success else Missing(), began)
        return answer

    # Requests

    def _url(self) -> str:
        return self.rng.choice(self.record.urls)

    def _put(self, name: str, what: Write | Read, result: Result, began: float, follows: int | None = None) -> int:
        is_open = result == Unknown()
        self.record.unknown += is_open
        ended = NEVER if is_open else time.monotonic()
        return self.record.put(name, Call(what, result, began, ended, follows, f"client {self.number}"))

    async def _send(self, verb: str, where: str, body: Json | None, headers: dict[str, str]) -> httpx.Response:
        try:
            return await self.http.request(verb, self._url() + where, json=body, headers=headers)
        except (httpx.TransportError, httpx.InvalidURL) as error:
            raise Unanswered from error

    async def _once(self, verb: str, where: str, body: Json | None, headers: dict[str, str]) -> httpx.Response:
        answer = await self._send(verb, where, body, headers)
        if answer.status_code == 503:
            raise Refused if answer.json()["type"].endswith("storage-unavailable") else Unanswered
        return answer

    async def _insist(self, verb: str, where: str, body: Json | None, headers: dict[str, str]) -> httpx.Response:
        """Send it until it is answered, each time to any process."""
        given_up = NEVER
        while True:
            try:
                answer = await self._send(verb, where, body, headers)
                if answer.status_code != 503:
                    return answer
            except Unanswered:
                pass
            if self.record.stop.is_set():
                given_up = min(given_up, time.monotonic() + GIVE_UP_SECONDS)
            if time.monotonic() > given_up:
                raise Unanswered
            self.record.resent += 1
            await asyncio.sleep(0.05)


def said(marks: Sequence[str]) -> list[Json]:
    roles = {"u": "user", "a": "assistant"}
    return [{"role": roles[mark[-1]], "content": f"{mark} is said"} for mark in marks]


def mark_of(item: Json) -> str:
    found = MARK.search(str(item["content"]))
    return found[0] if found else ERASED


def placed(stored: Sequence[Json]) -> Result:
    seqs = [message["seq"] for message in stored]
    first = seqs[0] if seqs else 0
    return Placed(first if seqs == list(range(first, first + len(seqs))) else -1, len(seqs))


def shown(what: Read, found: Json) -> Shown:
    if isinstance(what, History):
        return Shown(tuple(mark_of(item) for item in found["items"]))
    listed = found["messages"] if "messages" in found else found["results"]
    return Shown(tuple(MARK.findall(" ".join(str(one.get("content") or one.get("summary")) for one in listed))))


def mark_at(number: int, role: str) -> str:
    letters = ""
    for _ in range(5):
        number, at = divmod(number, len(LETTERS))
        letters += LETTERS[at]
    return f"zq{letters}{role}"


def reply(request: Json) -> str:
    """Answer as the model behind the proxy, with a mark of this request's own."""
    return f"{mark_at(request['seed'], 'a')} is said"
