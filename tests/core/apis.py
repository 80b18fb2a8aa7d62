"""The rules of the two APIs for a message list, written independently of the code that renders it.

Each broken rule is a sentence in the answer; an empty answer means that the API would accept the list.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from typing import Any

Message = dict[str, Any]
Count = Callable[[str], int]


def openai_problems(messages: Sequence[Message]) -> list[str]:
    return list(_openai(messages))


def _openai(messages: Sequence[Message]) -> Iterator[str]:
    awaited: set[str] = set()
    for i, message in enumerate(messages):
        role = message["role"]
        if role == "tool":
            if message["tool_call_id"] not in awaited:
                yield f"{i}: a tool message that answers no call right before it"
            awaited -= {message["tool_call_id"]}
        elif awaited:
            yield f"{i}: a {role} message while results of {sorted(awaited)} are missing"
            awaited = set()
        if role == "assistant":
            calls = message.get("tool_calls")
            if calls is not None and not calls:
                yield f"{i}: an empty list of tool calls"
            awaited = {call["id"] for call in calls or []}
            if len(awaited) < len(calls or []):
                yield f"{i}: two calls with one id"
        if message.get("content") in ([], None) and not (role == "assistant" and message.get("tool_calls")):
            yield f"{i}: no content"
    if awaited:
        yield f"the list ends while results of {sorted(awaited)} are missing"


def anthropic_problems(messages: Sequence[Message]) -> list[str]:
    return list(_anthropic(messages))


def _anthropic(messages: Sequence[Message]) -> Iterator[str]:
    if messages and messages[0]["role"] != "user":
        yield "0: the first message is not the user's"
    awaited: set[str] = set()
    for i, message in enumerate(messages):
        role, blocks = message["role"], message["content"]
        if role not in ("user", "assistant"):
            yield f"{i}: the role {role}"
        if not isinstance(blocks, list) or not blocks:
            yield f"{i}: no content"
            continue
        yield from (f"{i}: {problem}" for block in blocks for problem in _block(block, role))
        results = [block["tool_use_id"] for block in blocks if block["type"] == "tool_result"]
        if [block["type"] for block in blocks[: len(results)]] != ["tool_result"] * len(results):
            yield f"{i}: something stands before the tool results"
        if sorted(results) != sorted(awaited):
            yield f"{i}: results of {results} where those of {sorted(awaited)} are due"
        uses = [block["id"] for block in blocks if block["type"] == "tool_use"]
        if len(set(uses)) < len(uses):
            yield f"{i}: two calls with one id"
        awaited = set(uses)
        if role == "assistant" and blocks[-1]["type"] in ("thinking", "redacted_thinking"):
            yield f"{i}: an assistant message that ends with thinking"
    if awaited:
        yield f"the list ends while results of {sorted(awaited)} are missing"


def _block(block: Message, role: str) -> Iterator[str]:
    kind = block["type"]
    if kind == "text" and not block["text"].strip():
        yield "an empty text block"
    if kind == "tool_use" and (role != "assistant" or not isinstance(block["input"], dict)):
        yield "a tool_use block that is not one"
    if kind == "tool_result" and role != "user":
        yield "a tool result that is not the user's"
    if kind in ("thinking", "redacted_thinking") and (role != "assistant" or "cache_control" in block):
        yield "a thinking block where none may stand, or with a cache mark"
    if kind == "tool_result" and isinstance(block["content"], list):
        yield from (problem for inner in block["content"] for problem in _block(inner, role))


def cache_marks(value: Any) -> int:
    """Return how often ``cache_control`` occurs in a value."""
    if isinstance(value, list):
        return sum(cache_marks(item) for item in value)
    if isinstance(value, dict):
        return ("cache_control" in value) + sum(cache_marks(item) for item in value.values())
    return 0


# --- The tokens of a request -------------------------------------------------------------------------

IMAGE = 1_600


def openai_tokens(messages: Sequence[Message], count: Count) -> int:
    return sum(_openai_tokens(message, count) for message in messages)


def _openai_tokens(message: Message, count: Count) -> int:
    tokens = 4 + _content_tokens(message.get("content"), count)
    for call in message.get("tool_calls") or []:
        tokens += 12 + count(call["id"]) + count(call["function"]["name"]) + count(call["function"]["arguments"])
    others = [v for k, v in message.items() if k not in ("role", "content", "tool_calls") and v is not None]
    return tokens + sum(count(v if isinstance(v, str) else _json(v)) for v in others)


def _content_tokens(content: Any, count: Count) -> int:
    if isinstance(content, str):
        return count(content)
    return sum(_part_tokens(part, count) for part in content or [])


def _part_tokens(part: Message, count: Count) -> int:
    if part["type"] == "text":
        return count(part["text"])
    if part["type"] in ("image", "image_url"):
        return IMAGE
    return count(_json({k: v for k, v in part.items() if k != "cache_control"}))


def anthropic_tokens(messages: Sequence[Message], count: Count) -> int:
    return sum(4 + _block_tokens(block, count) for message in messages for block in message["content"][:1]) + sum(
        2 + _block_tokens(block, count) for message in messages for block in message["content"][1:]
    )


def _block_tokens(block: Message, count: Count) -> int:
    if block["type"] == "tool_use":
        return 10 + count(block["id"]) + count(block["name"]) + count(_json(block["input"]))
    if block["type"] == "tool_result":
        return count(block["tool_use_id"]) + _content_tokens(block["content"], count)
    return _part_tokens(block, count)


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
