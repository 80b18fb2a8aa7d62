"""A played model behind an API of any dialect: what it is to say, and what it was shown, in one form."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from tests.api.kit import Json
from tests.providers import fake_openai as fake
from tests.providers.fake_openai import FakeOpenAI
from tests.proxy.fakes import FakeApi
from tests.proxy.kit import Script

Said = tuple[str, str]
"""A kind (a role, ``call`` or ``result``), and a text or a tool's name."""


@dataclass(frozen=True)
class Shown:
    """A request that the model got."""

    body: Json

    @property
    def messages(self) -> list[Any]:
        found: list[Any] = self.body.get("messages") or self.body["input"]
        return found

    @property
    def system(self) -> str:
        if "messages" not in self.body:
            return text_of(self.body["instructions"]) if "instructions" in self.body else text_of(self.messages[0])
        return text_of(self.body["system"] if "system" in self.body else self.messages[0]["content"])

    @property
    def said(self) -> list[Said]:
        return [said for said in flat(self.messages) if said[0] not in ("system", "developer")]

    @property
    def tools(self) -> list[str]:
        return [(tool.get("function") or tool)["name"] for tool in self.body.get("tools", [])]

    @property
    def forbids_calls(self) -> bool:
        return self.body.get("tool_choice") in ("none", {"type": "none"})


def text_of(content: Any) -> str:
    if isinstance(content, str) or content is None:
        return content or ""
    return "\n".join(part["text"] for part in content if "text" in part)


def flat(messages: Sequence[Json]) -> list[Said]:
    """What messages or items of any dialect say, in order."""
    return [said for message in messages for said in _flat(message)]


def _flat(message: Json) -> list[Said]:
    content = message.get("content")
    match message.get("type", "message"), message.get("role"):
        case ("function_call", _):
            return [("call", message["name"])]
        case ("function_call_output", _):
            return [("result", text_of(message["output"]))]
        case (_, "tool"):
            return [("result", text_of(content))]
    role, found = message["role"], list[Said]()
    parts: list[Json] = content if isinstance(content, list) else [{"type": "text", "text": content}]
    for part in parts:
        match part["type"]:
            case "tool_result":
                found.append(("result", text_of(part["content"])))
            case "tool_use":
                found.append(("call", part["name"]))
            case _ if part.get("text"):
                found.append((role, part["text"]))
    return [*found, *(("call", call["function"]["name"]) for call in message.get("tool_calls") or [])]


@dataclass(frozen=True)
class Model:
    """A model whose API speaks a dialect. Without a script it says how often it was asked."""

    dialect: str
    url: str
    """Of the service before it."""
    chat: FakeOpenAI
    script: Script
    other: FakeApi

    def says(self, *replies: str | Json | int) -> None:
        """A text, a message with calls, the status of an error, or "cut", where the stream breaks off."""
        for reply in replies:
            if self.dialect != "chat":
                self.other.says(_native(self.dialect, reply) if isinstance(reply, dict) else reply)
            elif isinstance(reply, int):
                self.chat.chat.queue.append(fake.status(reply))
            else:
                self.chat.chat.queue.append(fake.cut() if reply == "cut" else fake.ok())
                self.script.says(reply)

    def refuses(self, text: str, refusal: Any) -> None:
        """Refuse every request that has a text: ``refusal`` is the fake's own."""
        if self.dialect == "chat":
            self.chat.chat.picks = lambda request: refusal if text in str(request["messages"]) else fake.ok()
        self.other.refuses = lambda body: refusal if text in str(body) else None

    @property
    def asked(self) -> list[Shown]:
        return [Shown(body) for body in (self.script.asked if self.dialect == "chat" else self.other.asked)]


def _native(dialect: str, reply: Json) -> list[Json]:
    """A reply of ``calling`` as content blocks, or as output items."""
    text, calls = reply["content"], reply["tool_calls"]
    if dialect == "messages":
        used = [
            {"type": "tool_use", "id": c["id"], "name": c["function"]["name"],
             "input": json.loads(c["function"]["arguments"])} for c in calls
        ]  # fmt: skip
        return [*([{"type": "text", "text": text}] if text else []), *used]
    part = {"type": "output_text", "text": text, "annotations": []}
    said = {"type": "message", "id": "msg_1", "role": "assistant", "status": "completed", "content": [part]}
    called = [{"type": "function_call", "id": f"fc_{c['id']}", "call_id": c["id"], **c["function"]} for c in calls]
    return [*([said] if text else []), *called]
