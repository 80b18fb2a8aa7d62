"""Models' APIs on loopback that speak Messages and Responses; their replies follow a script."""

from __future__ import annotations

import gzip
import json
from collections import deque
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from typing import Any
from uuid import uuid4

from fastapi import FastAPI, Request
from starlette.responses import JSONResponse, Response, StreamingResponse

from tests.api.kit import Json


@dataclass(frozen=True)
class Refusal:
    body: Json
    status: int = 200
    """200: the body is an event, after the first one of a stream that had begun."""


@dataclass
class FakeApi:
    """What was asked of it, and what it is to answer: content blocks, or output items."""

    replies: deque[Any] = field(default_factory=deque)
    """Lists of blocks or items; an int is the status of an error; "cut" breaks the stream off half-way, "cut 3" after
    three events.
    """
    refuses: Callable[[Json], Refusal | None] = lambda _: None
    """The refusal of a request, before any reply."""
    asked: list[Json] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)
    bodies: list[bytes] = field(default_factory=list)

    def clear(self) -> None:
        for kept in (self.replies, self.asked, self.headers, self.bodies):
            kept.clear()
        self.refuses = lambda _: None

    def says(self, *replies: Any) -> None:
        self.replies.extend(replies)

    def app(self) -> FastAPI:
        app = FastAPI(openapi_url=None)
        for path, answer in (("/v1/messages", messages), ("/v1/responses", responses)):
            app.add_api_route(path, self._answering(answer), methods=["POST"])
        app.add_api_route("/v1/messages/count_tokens", self._counting, methods=["POST"])
        return app

    async def _take(self, request: Request) -> Json:
        self.bodies.append(await request.body())
        self.headers.append(dict(request.headers))
        is_packed = request.headers.get("content-encoding") == "gzip"
        body: Json = json.loads(gzip.decompress(self.bodies[-1]) if is_packed else self.bodies[-1])
        self.asked.append(body)
        return body

    def _answering(self, answer: Any) -> Any:
        async def handle(request: Request) -> Response:
            body = await self._take(request)
            refusal = self.refuses(body)
            if refusal is not None and refusal.status != 200:
                return JSONResponse(refusal.body, refusal.status)
            reply = self.replies.popleft() if self.replies else f"Answer {len(self.asked)}."
            if isinstance(reply, int):
                error = {"type": "error", "error": {"type": "x", "message": f"error {reply}"}}
                return JSONResponse(error, reply)
            whole, events = answer(body, reply)
            if refusal is not None:
                events = [events[0], refusal.body]
            if not body.get("stream"):
                return JSONResponse(whole, headers={"request-id": "req_upstream"})
            if isinstance(reply, str) and reply.startswith("cut"):
                events = events[: int(reply[4:] or len(events) // 2)]
            return StreamingResponse(_sent(events), media_type="text/event-stream")

        return handle

    async def _counting(self, request: Request) -> Response:
        await self._take(request)
        return JSONResponse({"input_tokens": 42})


async def _sent(events: list[Json]) -> AsyncIterator[bytes]:
    for event in events:
        yield f"event: {event['type']}\ndata: {json.dumps(event)}\n\n".encode()


def messages(body: Json, reply: Any) -> tuple[Json, list[Json]]:
    blocks: list[Json] = [{"type": "text", "text": reply}] if isinstance(reply, str) else reply
    calls = any(block["type"] == "tool_use" for block in blocks)
    usage = {"input_tokens": 100, "output_tokens": 1, "cache_read_input_tokens": 30, "cache_creation_input_tokens": 20}
    whole = {
        "id": f"msg_upstream_{uuid4().hex}", "type": "message", "role": "assistant", "model": body["model"],
        "content": blocks,
        "stop_reason": "tool_use" if calls else "end_turn", "stop_sequence": None,
        "usage": {**usage, "output_tokens": 7},
    }  # fmt: skip
    start = {**whole, "content": [], "stop_reason": None, "usage": usage}
    events: list[Json] = [{"type": "message_start", "message": start}, {"type": "ping"}]
    for index, block in enumerate(blocks):
        opened, deltas = _deltas(block)
        events.append({"type": "content_block_start", "index": index, "content_block": opened})
        events += [{"type": "content_block_delta", "index": index, "delta": delta} for delta in deltas]
        events.append({"type": "content_block_stop", "index": index})
    delta = {"stop_reason": whole["stop_reason"], "stop_sequence": None}
    events.append({"type": "message_delta", "delta": delta, "usage": {"output_tokens": 7}})
    return whole, [*events, {"type": "message_stop"}]


def _deltas(block: Json) -> tuple[Json, list[Json]]:
    match block["type"]:
        case "text":
            words = block["text"].split(" ")
            pieces = [f"{word} " for word in words[:-1]] + words[-1:]
            return {**block, "text": ""}, [{"type": "text_delta", "text": piece} for piece in pieces]
        case "thinking":
            deltas = [
                {"type": "thinking_delta", "thinking": block["thinking"]},
                {"type": "signature_delta", "signature": block["signature"]},
            ]
            return {**block, "thinking": "", "signature": ""}, deltas
        case "tool_use" | "server_tool_use":
            text = json.dumps(block["input"])
            half = len(text) // 2
            parts = [{"type": "input_json_delta", "partial_json": piece} for piece in (text[:half], text[half:])]
            return {**block, "input": {}}, parts
    return block, []


def responses(body: Json, reply: Any) -> tuple[Json, list[Json]]:
    text = {"type": "output_text", "text": reply, "annotations": []}
    said = {"type": "message", "id": "msg_1", "role": "assistant", "status": "completed", "content": [text]}
    items: list[Json] = [said] if isinstance(reply, str) else reply
    usage = {
        "input_tokens": 150, "input_tokens_details": {"cached_tokens": 30}, "output_tokens": 7,
        "output_tokens_details": {"reasoning_tokens": 3}, "total_tokens": 157,
    }  # fmt: skip
    head = {
        "id": f"resp_upstream_{uuid4().hex}", "object": "response", "created_at": 1, "model": body["model"],
        "tools": [],
        "tool_choice": "auto", "parallel_tool_calls": True,
    }  # fmt: skip
    events: list[Json] = [{"type": "response.created", "response": {**head, "status": "in_progress", "output": []}}]
    for index, item in enumerate(items):
        events.append({"type": "response.output_item.added", "output_index": index, "item": _begun(item)})
        events += [{"output_index": index, "item_id": item.get("id"), **event} for event in _inner(item)]
        events.append({"type": "response.output_item.done", "output_index": index, "item": item})
    whole = {**head, "status": "completed", "output": items, "usage": usage}
    events.append({"type": "response.completed", "response": whole})
    return whole, [{**event, "sequence_number": number} for number, event in enumerate(events)]


def _begun(item: Json) -> Json:
    empty: dict[str, Json] = {
        "message": {"content": []},
        "function_call": {"arguments": ""},
        "custom_tool_call": {"input": ""},
    }
    return {**item, **empty.get(item["type"], {}), "status": "in_progress"}


def _inner(item: Json) -> list[Json]:
    match item["type"]:
        case "message":
            text = item["content"][0]["text"]
            half = len(text) // 2
            deltas = [
                {"type": "response.output_text.delta", "content_index": 0, "delta": piece, "logprobs": []}
                for piece in (text[:half], text[half:])
            ]
            part = {"type": "output_text", "text": "", "annotations": []}
            begun = {"type": "response.content_part.added", "content_index": 0, "part": part}
            return [
                begun,
                *deltas,
                {"type": "response.output_text.done", "content_index": 0, "text": text, "logprobs": []},
            ]
        case "function_call":
            name, text = "response.function_call_arguments", item["arguments"]
            return [{"type": f"{name}.delta", "delta": text}, {"type": f"{name}.done", "arguments": text}]
        case "custom_tool_call":
            name, text = "response.custom_tool_call_input", item["input"]
            return [{"type": f"{name}.delta", "delta": text}, {"type": f"{name}.done", "input": text}]
    return []
