"""Tool turns as text, for an API that refuses calls without their signed reasoning when that is gone."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any

from app.core.canonical import dumps

Json = dict[str, Any]
Content = str | list[Json] | None


def told_messages(messages: Iterable[Mapping[str, Any]], kept: Collection[int]) -> Iterator[Json]:
    """Yield messages in OpenAI form with calls and results as text, except those of the messages at ``kept``."""
    names: dict[str, str] = {}
    for at, message in enumerate(messages):
        calls: Sequence[Json] = message.get("tool_calls") or ()
        if message["role"] == "tool" and message["tool_call_id"] in names:
            said = _result_head(names[message["tool_call_id"]])
            yield {"role": "user", "content": _join(said, message.get("content"))}
        elif calls and at not in kept:
            named = [(call, call.get("function") or call.get("custom") or {}) for call in calls]
            names |= {call["id"]: str(function.get("name")) for call, function in named}
            said = "\n".join(_call_text(f.get("name"), f.get("arguments", f.get("input"))) for _, f in named)
            rest = {name: value for name, value in message.items() if name != "tool_calls"}
            yield {**rest, "content": _join(message.get("content"), said)}
        else:
            for call in calls:
                names.pop(call["id"], None)
            yield dict(message)


def told_blocks(content: Iterable[Json], names: dict[str, str], *, is_kept: bool) -> Iterator[Json]:
    """Yield a message's blocks with calls and results as text. ``names``: the tools of calls that became text.

    ``is_kept``: its own calls stay calls.
    """
    for block in content:
        match block["type"]:
            case "tool_use" if not is_kept:
                names[block["id"]] = block["name"]
                yield _text(_call_text(block["name"], dumps(block["input"])))
            case "tool_result" if block["tool_use_id"] in names:
                yield _text(_result_head(names[block["tool_use_id"]]))
                inner = block.get("content")
                yield from [_text(inner)] if isinstance(inner, str) and inner.strip() else inner or ()
            case kind:
                if kind == "tool_use":
                    names.pop(block["id"], None)
                yield block


def _call_text(name: Any, arguments: Any) -> str:
    return f"[calls {name}({arguments})]"


def _result_head(name: str) -> str:
    return f"[{name} returned]"


def _text(text: str) -> Json:
    return {"type": "text", "text": text}


def _join(one: Content, other: Content) -> Content:
    if isinstance(one, list) or isinstance(other, list):
        return [part for said in (one, other) for part in ([_text(said)] if isinstance(said, str) else said or ())]
    return "\n".join(said for said in (one, other) if said)
