"""Agents that speak each dialect over plain HTTP, and send back what they were told as such clients do."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

import httpx

from tests.api.kit import Json

SCHEMA: Json = {"type": "object", "properties": {"city": {"type": "string"}}}
PATHS = {"chat": "/v1/chat/completions", "messages": "/v1/messages", "responses": "/v1/responses"}


@dataclass
class Agent:
    """A client with one tool, ``weather``, which keeps the list that it sends."""

    dialect: str
    url: str
    model: str
    conversation: str
    streams: bool
    budget: int | None = None
    said: list[Json] = field(default_factory=list)

    def asks(self, text: str) -> str:
        """Say something, answer every call, and return the last answer's text."""
        self.said.append({"role": "user", "content": text})
        for _ in range(6):
            answer, calls = self._send()
            if not calls:
                return answer
            self._answer(calls)
        raise AssertionError("the model calls tools without end")

    def _send(self) -> tuple[str, list[str]]:
        body = {"model": self.model, "stream": self.streams, **self._tools(), **self._list()}
        budget = {"X-Quire-Budget": str(self.budget)} if self.budget else {}
        headers = {"X-Quire-Conversation": self.conversation, **budget}
        answer = httpx.post(self.url + PATHS[self.dialect], json=body, headers=headers, timeout=30)
        assert answer.status_code == 200, answer.text
        if self.streams:
            events = [json.loads(line[6:]) for line in answer.text.splitlines() if line.startswith("data: {")]
            assert not [event for event in events if event.get("error")], answer.text
            return getattr(self, f"_streamed_{self.dialect}")(events)  # type: ignore[no-any-return]
        return getattr(self, f"_whole_{self.dialect}")(answer.json())  # type: ignore[no-any-return]

    def _list(self) -> Json:
        if self.dialect == "responses":
            return {"input": self.said}
        return {"messages": self.said, **({"max_tokens": 2000} if self.dialect == "messages" else {})}

    def _tools(self) -> Json:
        match self.dialect:
            case "chat":
                return {"tools": [{"type": "function", "function": {"name": "weather", "parameters": SCHEMA}}]}
            case "messages":
                return {"tools": [{"name": "weather", "input_schema": SCHEMA}]}
        return {"tools": [{"type": "function", "name": "weather", "parameters": SCHEMA}]}

    def _answer(self, ids: list[str]) -> None:
        if self.dialect == "messages":
            blocks = [{"type": "tool_result", "tool_use_id": id_, "content": "18C"} for id_ in ids]
            self.said.append({"role": "user", "content": blocks})
            return
        for id_ in ids:
            chat = {"role": "tool", "tool_call_id": id_, "content": "18C"}
            responses = {"type": "function_call_output", "call_id": id_, "output": "18C"}
            self.said.append(chat if self.dialect == "chat" else responses)

    def _whole_chat(self, answer: Json) -> tuple[str, list[str]]:
        message = answer["choices"][0]["message"]
        sent = {name: message[name] for name in ("role", "content", "tool_calls") if message.get(name) is not None}
        self.said.append({"content": None, **sent})
        return message.get("content") or "", [call["id"] for call in message.get("tool_calls") or []]

    def _whole_messages(self, answer: Json) -> tuple[str, list[str]]:
        content = [block for block in answer["content"] if block["type"] in ("text", "tool_use")]
        self.said.append({"role": "assistant", "content": content})
        text = "".join(block["text"] for block in content if block["type"] == "text")
        return text, [block["id"] for block in content if block["type"] == "tool_use"]

    def _whole_responses(self, answer: Json) -> tuple[str, list[str]]:
        items = [item for item in answer["output"] if item["type"] in ("message", "function_call")]
        self.said += items
        text = "".join(p["text"] for item in items if item["type"] == "message" for p in item["content"])
        return text, [item["call_id"] for item in items if item["type"] == "function_call"]

    def _streamed_chat(self, events: list[Json]) -> tuple[str, list[str]]:
        text = ""
        calls: dict[int, Any] = {}
        for delta in [choice["delta"] for event in events for choice in event.get("choices") or []]:
            text += delta.get("content") or ""
            for part in delta.get("tool_calls") or []:
                call = calls.setdefault(part["index"], {**part, "function": {**part["function"], "arguments": ""}})
                call["function"]["arguments"] += part["function"].get("arguments") or ""
        found = [{name: value for name, value in call.items() if name != "index"} for call in calls.values()]
        message = {"role": "assistant", "content": text or None, **({"tool_calls": found} if found else {})}
        return self._whole_chat({"choices": [{"message": message}]})

    def _streamed_messages(self, events: list[Json]) -> tuple[str, list[str]]:
        blocks: dict[int, Json] = {}
        for event in events:
            if event["type"] == "content_block_start":
                blocks[event["index"]] = {**event["content_block"], "json": ""}
            elif event["type"] == "content_block_delta":
                block, delta = blocks[event["index"]], event["delta"]
                block["json"] += delta.get("partial_json") or ""
                if "text" in delta:
                    block["text"] += delta["text"]
        content = []
        for block in blocks.values():
            whole = {name: value for name, value in block.items() if name != "json"}
            if block["type"] == "tool_use":
                whole["input"] = json.loads(block["json"] or "{}")
            content.append(whole)
        return self._whole_messages({"content": content})

    def _streamed_responses(self, events: list[Json]) -> tuple[str, list[str]]:
        return self._whole_responses(next(e["response"] for e in events if e["type"] == "response.completed"))
