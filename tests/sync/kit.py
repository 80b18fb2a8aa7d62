"""What the tests of syncing share."""

from collections.abc import Sequence
from typing import Any

import httpx

from tests.api.kit import Json, assistant, call, history, ok, path, problem, result, user


def dialogue(*turns: int) -> list[Json]:
    """A question, a call, its result and an answer for each."""
    return [
        message
        for n in turns
        for message in (user(f"question {n}"), call(f"c{n}"), result(f"c{n}", f"found {n}"), assistant(f"answer {n}"))
    ]


def sync(client: httpx.Client, conversation: str, messages: Sequence[Json], **body: Any) -> Json:
    return ok(client.post(path(conversation, "sync"), json={"messages": messages, "user_id": "u", **body}))


def fork(client: httpx.Client, conversation: str, messages: Sequence[Json]) -> tuple[int, int]:
    """The list is refused as a fork: its first message that differs, and the stored one that it differs from."""
    found = problem(
        client.post(path(conversation, "sync"), json={"messages": messages, "on_fork": "error"}),
        409,
        "stored as message",
    )
    assert found["type"] == "urn:quire:problem:fork"
    assert found["errors"][0]["loc"] == ["body", "messages", found["index"]]
    return found["index"], found["seq"]


def stored(client: httpx.Client, conversation: str) -> list[Any]:
    """What the history says, in short."""
    return [m["content"] or [c["id"] for c in m["tool_calls"]] for m in history(client, conversation)]


def said(messages: Sequence[Json]) -> list[Any]:
    return [m["content"] or [c["id"] for c in m["tool_calls"]] for m in messages]
