"""Calls of the API by any number of clients, and rows of the table."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from math import sqrt
from typing import Any, TypeVar
from urllib.parse import quote, urlencode

from bench.harness import Api

T = TypeVar("T")
R = TypeVar("R")
Json = dict[str, Any]
TRIES = 5
CLIENTS = 8
Z = 1.96
"""The normal quantile of a 95 % interval."""


@dataclass(frozen=True)
class Row:
    """A promise, the measurement, and the goal."""

    promise: str
    measured: str
    goal: str
    is_met: bool

    @property
    def cells(self) -> tuple[str, str, str, str]:
        return self.promise, self.measured, self.goal, "yes" if self.is_met else "no"


def each(port: int, work: Callable[[Api, T], R], wanted: Sequence[T]) -> list[R]:
    """Return the results of some pieces of work, which several clients do at once."""

    def some(of: Sequence[T]) -> list[R]:
        api = Api(port)
        try:
            return [work(api, one) for one in of]
        finally:
            api.close()

    parts = [wanted[at::CLIENTS] for at in range(CLIENTS)]
    with ThreadPoolExecutor(CLIENTS) as pool:
        done = [iter(results) for results in pool.map(some, parts)]
    return [next(done[at % CLIENTS]) for at in range(len(wanted))]


def ask(api: Api, path: str, **query: Any) -> Json:
    found: Json = json.loads(api.call("GET", f"{path}?{urlencode(query)}"))
    return found


def send(api: Api, method: str, path: str, **body: Any) -> Json:
    found: Json = json.loads(api.call(method, path, body))
    return found


def say(api: Api, conversation: str, messages: Sequence[Json], **more: Any) -> None:
    """Append messages. Retry, as clients do, if the database of a busy machine gave up."""
    for tries_left in reversed(range(TRIES)):
        try:
            send(
                api, "POST", f"/conversations/{quote(conversation, safe='')}/messages", messages=list(messages), **more
            )
        except RuntimeError as error:
            if " 503: " not in str(error) or not tries_left:
                raise
        else:
            return


def listed(api: Api, user: str, **query: Any) -> list[Json]:
    """Return all of a user's memories that a query lists."""
    found: list[Json] = []
    cursor: Json = {}
    while True:
        answer = ask(api, "/memories", user_id=user, limit=200, **query, **cursor)
        found += answer["items"]
        if answer["next_cursor"] is None:
            return found
        cursor = {"cursor": answer["next_cursor"]}


def view(api: Api, conversation: str, **query: Any) -> tuple[str, Json]:
    """Return the text of a window's head, and the whole response."""
    window = ask(api, f"/conversations/{quote(conversation, safe='')}/context", **query)
    heads = (str(message["content"]) for message in window["messages"])
    return "".join(text for text in heads if text.startswith("<quire-memory>")), window


def least(good: int, of: int) -> float:
    """Return the lower end of the 95 % interval (Wilson's) of a share."""
    if not of:
        return 0.0
    share, z = good / of, Z * Z / of
    return (share + z / 2 - Z * sqrt(share * (1 - share) / of + z / (4 * of))) / (1 + z)


def share(good: int, of: int) -> str:
    return f"{good / of:.3f} ({good:,} of {of:,})" if of else "–"
