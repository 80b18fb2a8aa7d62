"""The messages of a rendered window for people: author, origin, and parts in order."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from app.core.window.render import Origin
from app.ui.shown import Clipped, clip, first_line

CHARACTERS_MAX = 20_000
"""Characters shown of a message's part in a window's list; its own page shows more."""
WHOLE_MAX = 400_000


@dataclass(frozen=True, slots=True)
class ShownPart:
    """One piece of a message. ``kind`` is text, thinking, call, result, media or other."""

    kind: str
    label: str
    body: Clipped


@dataclass(frozen=True, slots=True)
class ShownParts:
    """A message as the model gets it."""

    role: str
    zone: str
    """system, head, opening, date, condensed, verbatim or tail."""
    parts: list[ShownPart]
    line: str
    hidden: tuple[str, ...]
    tokens: int | None = None
    seqs: tuple[int, ...] = ()
    pages: tuple[int, ...] = ()
    is_stable: bool = True
    """Unchanged until the epoch ends."""
    is_cache_mark: bool = False
    is_passing: bool = False
    """In full for this page only."""
    archive_ids: tuple[str, ...] = ()


def window_messages(answer: Mapping[str, Any], origins: Sequence[Origin], system: str) -> list[ShownParts]:
    """Return the messages of a window; a separate system prompt comes first."""
    sections = answer["usage"]["sections"]
    weights = {
        "system": sections["system"],
        "head": sections["notes"] + sections["summary"] + sections["contents"],
        "tail": sections["tail"],
    }
    shown_messages = []
    if answer["system"]:
        shown_messages.append(_shown_parts({"role": "system", "content": system}, "system", tokens=weights["system"]))
    for index, (message, origin) in enumerate(zip(answer["messages"], origins, strict=True)):
        stable = index < answer["stable_messages"]
        if origin.part != "body":
            tokens = weights.get(origin.part, sum(p.tokens for p in origin.placed))
            shown_messages.append(_shown_parts(message, origin.part, tokens=tokens, is_stable=stable))
            continue
        placed = origin.placed
        shown_messages.append(
            _shown_parts(
                message,
                placed[0].zone,
                tokens=sum(p.tokens for p in placed),
                seqs=tuple(p.seq for p in placed),
                pages=tuple(dict.fromkeys(p.page for p in placed)),
                is_stable=stable,
                is_cache_mark=any(p.cache_mark for p in placed),
                is_passing=any(p.passing for p in placed),
                archive_ids=tuple(uuid for p in placed for uuid in p.archive_ids),
            )
        )
    return shown_messages


def _shown_parts(message: Mapping[str, Any], zone: str, longest: int = CHARACTERS_MAX, **more: Any) -> ShownParts:
    parts = message_parts(message, longest)
    hidden = tuple(dict.fromkeys(name for part in parts for name in part.body.hidden))
    return ShownParts(message["role"], zone, parts, _line(parts), hidden, **more)


def stored_message(view: Mapping[str, Any]) -> ShownParts:
    return _shown_parts(
        view, "stored", WHOLE_MAX,
        tokens=view["tokens"], seqs=(view["seq"],), pages=(view["page"],),
        archive_ids=(view["archive_id"],) if view["archive_id"] else (),
    )  # fmt: skip


def _line(parts: Sequence[ShownPart]) -> str:
    text_part = next((part for part in parts if part.kind == "text" and part.body.text.strip()), None)
    part = text_part or (parts[0] if parts else None)
    if part is None:
        return ""
    text = first_line(part.body.text)
    return f"{part.label.partition(' · ')[0]} {text}" if part.kind == "call" else text


def message_parts(message: Mapping[str, Any], longest: int = CHARACTERS_MAX) -> list[ShownPart]:
    """Return the parts of a message in OpenAI or Anthropic form, in order."""
    return list(_parts(message, longest))


def _parts(message: Mapping[str, Any], longest: int) -> Iterator[ShownPart]:
    for field in ("reasoning_content", "reasoning", "thinking"):
        if message.get(field):
            yield ShownPart("thinking", "", clip(_text(message[field]), longest))
    content = message.get("content")
    if isinstance(content, str):
        if content:
            kind, of = ("result", "tool_call_id") if message["role"] == "tool" else ("text", "")
            yield ShownPart(kind, str(message.get(of) or ""), clip(content, longest))
    elif isinstance(content, list):
        for block in content:
            yield _block(block, longest)
    if message.get("refusal"):
        yield ShownPart("other", "refusal", clip(_text(message["refusal"]), longest))
    for call in message.get("tool_calls") or ():
        function = call.get("function") or {}
        label = f"{function.get('name', '')} · {call.get('id', '')}"
        yield ShownPart("call", label, clip(_text(function.get("arguments", "")), longest))


def _block(block: Any, longest: int) -> ShownPart:
    kind, label, text = _read_block(block) if isinstance(block, dict) else ("other", "", _text(block))
    return ShownPart(kind, label, clip(text, longest))


def _read_block(block: Mapping[str, Any]) -> tuple[str, str, str]:
    """Return kind, label and text of a content block."""
    match kind := str(block.get("type", "")):
        case "text":
            return "text", "", _text(block.get("text", ""))
        case "thinking" | "redacted_thinking" | "reasoning":
            return "thinking", "", _text(block.get("thinking") or block.get("text") or block)
        case "tool_use":
            return "call", f"{block.get('name', '')} · {block.get('id', '')}", _text(block.get("input", {}))
        case "tool_result":
            return "result", str(block.get("tool_use_id", "")), _result(block.get("content", ""))
        case "image" | "image_url" | "input_audio" | "document" | "file":
            return "media", kind, _described(block)
        case _:
            return "other", kind, _text(block)


def _result(content: Any) -> str:
    if isinstance(content, list) and all(isinstance(b, dict) and b.get("type") == "text" for b in content):
        return "\n".join(str(b.get("text", "")) for b in content)
    return _text(content)


def _described(block: Mapping[str, Any]) -> str:
    """Describe media without loading them: viewing a conversation must not request the URLs in it."""
    text = _text({name: value for name, value in block.items() if name not in ("type", "cache_control")})
    return text if len(text) <= 200 else f"{text[:160]}… ({len(text):,})"


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, indent=1)
