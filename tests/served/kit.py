"""Helpers of the tests of served windows: windows as they were served, and as they are given back."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

import httpx

from quire_command.demo.transcript import Message, Transcript, load, steps
from tests.api.kit import SHIPPED, Json, ok, path, recorded

BUDGETS = (3_000, 6_000, 12_000, 40_000)
FORMATS = ("openai", "anthropic")
RECORDED = ("taubench", "sweagent", "deerflow", "livemcpbench", "memorybank", "locomo-noncommercial", "madial")


def transcripts(each: int, name: str) -> list[Transcript]:
    """Return the shipped conversation, or some of a recorded set if it is available."""
    return load(SHIPPED) if name == "shipped" else recorded(name)[:each]


def calls(messages: Sequence[Message]) -> Iterator[list[Json]]:
    """Yield the messages before each model call: user messages, results and others."""
    waiting: list[Json] = []
    for step in steps(messages, every_message=True):
        waiting += step.messages
        if step.messages[-1]["role"] in ("user", "tool"):
            yield waiting
            waiting = []
    if waiting:
        yield waiting


@dataclass
class Sent:
    """A window as a client received it."""

    body: bytes
    etag: str

    root: str = ""
    """The root of its record."""


def served(client: httpx.Client, conversation: str, **query: Any) -> Sent:
    answer = client.get(path(conversation, "context"), params=query)
    assert answer.status_code == 200, answer.text[:500]
    return Sent(answer.content, answer.headers["etag"].strip('"'), answer.headers["x-quire-receipt"])


def records(client: httpx.Client, conversation: str) -> list[Json]:
    """Return all records, newest first, by following the cursor."""
    found: list[Json] = []
    cursor: Json = {}
    while True:
        page = ok(client.get(path(conversation, "windows"), params={"limit": 100, **cursor}))
        found += page["items"]
        if page["next_cursor"] is None:
            return found
        cursor = {"cursor": page["next_cursor"]}


def given_back(client: httpx.Client, conversation: str, number: int) -> tuple[Json, bytes]:
    """Return a served window, and its bytes."""
    answer = client.get(path(conversation, "windows", str(number)))
    assert answer.status_code == 200, answer.text[:500]
    return answer.json(), answer.content


def is_given_back(client: httpx.Client, conversation: str, record: Json, sent: Sent) -> bool:
    found, body = given_back(client, conversation, record["id"])
    return bool(found["verified"]) and body.startswith(sent.body[:-1] + b",")


def first(messages: Iterator[list[Json]], most: int) -> Iterator[list[Json]]:
    return islice(messages, most)
