"""What the tests of the API share: messages to send, the calls that are made all the time, what a problem is."""

import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote

import httpx

from quire_command.demo.transcript import Transcript, load

Json = dict[str, Any]

SHIPPED = Path(__file__).parents[2] / "clients/python/quire_command/demo/conversation.jsonl"


def user(text: Any = "hi", **more: Any) -> Json:
    return {"role": "user", "content": text, **more}


def assistant(text: str = "ok", **more: Any) -> Json:
    return {"role": "assistant", "content": text, **more}


def system(text: str) -> Json:
    return {"role": "system", "content": text}


def call(*ids: str, name: str = "look", arguments: str = "{}") -> Json:
    calls = [{"id": i, "type": "function", "function": {"name": name, "arguments": arguments}} for i in ids]
    return {"role": "assistant", "content": None, "tool_calls": calls}


def result(call_id: str, text: Any = "seen") -> Json:
    return {"role": "tool", "tool_call_id": call_id, "content": text}


def turn(number: int, words: int = 30) -> list[Json]:
    """A turn that says which it is."""
    return [user(f"question {number} " + "why " * words), assistant(f"answer {number} " + "because " * words)]


def path(conversation: str, *rest: str) -> str:
    return "/".join(("/conversations", quote(conversation, safe=""), *rest))


def created(client: httpx.Client, **body: Any) -> Json:
    return ok(client.post("/conversations", json=body), 201)


def append(client: httpx.Client, conversation: str, messages: Sequence[Json], **body: Any) -> Json:
    """Append, creating the conversation where it is new."""
    sent = {"messages": messages, "user_id": "u", **body}
    return ok(client.post(path(conversation, "messages"), json=sent), 201)


def window(client: httpx.Client, conversation: str, **query: Any) -> Json:
    return ok(client.get(path(conversation, "context"), params=query))


def contents(client: httpx.Client, conversation: str) -> Json:
    return ok(client.get(path(conversation, "contents")))


def recall(client: httpx.Client, conversation: str, page: Any) -> Json:
    return ok(client.post(path(conversation, "tools", "recall_page"), json={"arguments": {"page": page}}))


def history(client: httpx.Client, conversation: str, **query: Any) -> list[Json]:
    """All of it, by following the cursor."""
    found: list[Json] = []
    cursor: Json = {}
    while True:
        answer = ok(client.get(path(conversation, "messages"), params={**query, **cursor}))
        found += answer["items"]
        if answer["next_cursor"] is None:
            return found
        cursor = {"cursor": answer["next_cursor"]}


def ok(answer: httpx.Response, status: int = 200) -> Json:
    assert answer.status_code == status, answer.text[:2000]
    found: Json = answer.json()
    return found


def problem(answer: httpx.Response, status: int, *names: str) -> Json:
    """The answer is a problem of this status, and says each of ``names`` in its detail or errors."""
    assert answer.status_code == status, f"{answer.status_code}, not {status}: {answer.text[:500]}"
    assert answer.headers["content-type"] == "application/problem+json"
    found: Json = answer.json()
    assert found["status"] == status
    assert found["type"].startswith("urn:quire:problem:")
    assert found["title"]
    assert found["detail"]
    assert found["request_id"] == answer.headers["x-request-id"]
    said = json.dumps([found["detail"], found.get("errors")], ensure_ascii=False)
    for name in names:
        assert name in said, f"{name!r} is not said in {said}"
    return found


def canonical(value: Any) -> str:
    """The bytes that two equal values have in common: member order and the kind of number count."""
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)


def text_of(message: Json) -> str:
    """All that a rendered message says, in either format."""
    return canonical([message.get("content"), message.get("tool_calls")])


def recorded(name: str) -> list[Transcript]:
    """Real transcripts, which are not part of the project; none where they are not at hand."""
    root = Path(os.environ.get("QUIRE_TEST_DATA", Path(__file__).parents[3] / "shared/data"))
    file = root / name / "conversations.jsonl"
    return load(file) if file.exists() else []
