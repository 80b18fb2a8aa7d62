"""What the tests of the proxy share: a model that follows a script, and clients of the real packages."""

from __future__ import annotations

import http.client
import json
import socket
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Self

import anthropic
import httpx
import openai

from tests.api.kit import Json, history

SECRET = "sk-proj-0123456789abcdef"
"""The provider's key, which nobody is to be told."""
AnthropicOf = Callable[..., anthropic.Anthropic]
KEY = "any key"
"""What clients send where no keys are: their packages want one."""


@dataclass
class Script:
    """The model's replies in order; after the last one it says how many messages it was shown."""

    replies: deque[str | Json] = field(default_factory=deque)
    asked: list[Json] = field(default_factory=list)

    def __call__(self, request: Json) -> str | Json:
        self.asked.append(request)
        return self.replies.popleft() if self.replies else f"Answer {len(self.asked)} to {said_last(request)}."

    def says(self, *replies: str | Json) -> None:
        self.replies.extend(replies)


def said_last(request: Json) -> str:
    return str(next(m["content"] for m in reversed(request["messages"]) if m["role"] in ("user", "tool")))[:40]


def calling(*calls: tuple[str, Json], text: str | None = None) -> Json:
    """A reply that calls tools."""
    return {
        "content": text,
        "tool_calls": [
            {"id": f"call_{name}_{i}", "type": "function", "function": {"name": name, "arguments": json.dumps(given)}}
            for i, (name, given) in enumerate(calls)
        ],
    }


def tool(name: str) -> Any:
    return {"type": "function", "function": {"name": name, "description": name, "parameters": {"type": "object"}}}


def openai_of(base_url: str, conversation: str | None = None, **more: Any) -> openai.OpenAI:
    headers = {"X-Quire-Conversation": conversation} if conversation else {}
    return openai.OpenAI(
        base_url=f"{base_url}/v1", api_key=KEY, default_headers={**headers, **more.pop("headers", {})},
        **{"max_retries": 0, "timeout": 30, **more},
    )  # fmt: skip


@contextmanager
def arriving(client: httpx.Client, body: bytes, headers: Mapping[str, str]) -> Iterator[socket.socket]:
    """A chat request whose head has arrived; its body is still to be sent."""
    head = {
        "Host": "localhost", "Content-Type": "application/json", "Content-Length": len(body), **headers,
        "Expect": "100-continue",
    }  # fmt: skip
    with socket.create_connection((client.base_url.host, client.base_url.port or 0), timeout=30) as connection:
        lines = ["POST /v1/chat/completions HTTP/1.1", *(f"{name}: {value}" for name, value in head.items()), "", ""]
        connection.sendall("\r\n".join(lines).encode())
        assert b"100 Continue" in connection.recv(4096)
        yield connection


def said_by(message: Any) -> str:
    """The text of a message of Anthropic's."""
    return "".join(block.text for block in message.content if block.type == "text")


def ask(client: openai.OpenAI, messages: Sequence[Any], *, stream: bool = False, **body: Any) -> Any:
    """The answer's message, put together from its parts where it is streamed."""
    if not stream:
        return client.chat.completions.create(model="fake", messages=list(messages), **body).choices[0].message
    with client.chat.completions.stream(model="fake", messages=list(messages), **body) as events:
        return events.get_final_completion().choices[0].message


def sent(message: Any) -> Json:
    """An answer as a client sends it back."""
    found: Json = message.model_dump(exclude_none=True, exclude_unset=True)
    return {name: found[name] for name in ("role", "content", "tool_calls") if name in found}


def stored(client: httpx.Client, conversation: str) -> list[tuple[str, Any]]:
    """What the history says: role, and text or the names of what is called."""
    return [
        (m["role"], m["content"] or [c["function"]["name"] for c in m["tool_calls"] or []])
        for m in history(client, conversation)
    ]


def conversations(client: httpx.Client) -> list[str]:
    return [c["id"] for c in client.get("/conversations", params={"limit": 200}).json()["items"]]


class Begun:
    """A request that has reached the service, its body still to come."""

    def __init__(self, base_url: str, conversation: str, messages: Sequence[Any]) -> None:
        self._body = json.dumps({"model": "fake", "messages": list(messages)}).encode()
        self._connection = http.client.HTTPConnection(httpx.URL(base_url).netloc.decode(), timeout=30)
        self._connection.putrequest("POST", "/v1/chat/completions")
        for name, text in (
            ("X-Quire-Conversation", conversation), ("Content-Type", "application/json"),
            ("Content-Length", str(len(self._body))), ("Expect", "100-continue"),
        ):  # fmt: skip
            self._connection.putheader(name, text)

    def __enter__(self) -> Self:
        self._connection.endheaders()
        with self._connection.sock.makefile("rb", 0) as said:
            assert said.readline() == b"HTTP/1.1 100 Continue\r\n"
            assert said.readline() == b"\r\n"
        return self

    def __exit__(self, *_: object) -> None:
        self._connection.close()

    def answer(self) -> str:
        """Send the body, and wait for the answer's text."""
        self._connection.send(self._body)
        answer = self._connection.getresponse()
        assert answer.status == 200, answer.read()
        text = json.loads(answer.read())["choices"][0]["message"]["content"]
        assert isinstance(text, str)
        return text
