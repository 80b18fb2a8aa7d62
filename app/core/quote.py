"""Stored text as a model is shown it again: quoted, with its provenance, and unable to leave its frame."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from app.core.canonical import dumps
from app.core.messages import ROLES, THINKING_PARTS, refusals
from app.core.model import Language
from app.core.neutral import block, neutral, titled

NOT_QUOTED = THINKING_PARTS | {"refusal"}
"""Parts that say nothing, or are told apart."""


@dataclass(frozen=True, slots=True)
class Said:
    """One message of a page."""

    seq: int
    role: str
    text: str


def page_text(page: int, said: Sequence[Said], since: datetime, language: Language) -> str:
    """A page in full."""
    time = since.strftime("%Y-%m-%d %H:%M UTC")
    title = f"第{page}页,{time}" if language == "zh" else f"page {page}, {time}"
    lines = "\n".join(f"[{s.seq}] {s.role}: {block(s.text)}" for s in said)
    return f"<quire-page {title}>\n{lines}\n</quire-page>"


def archive_text(uuid: str, tool: str, text: str, part: str, language: Language) -> str:
    """An archived result, or a part of it."""
    title = f"工具结果 {uuid},{tool},{part}" if language == "zh" else f"tool result {uuid}, {tool}, {part}"
    return f"<quire-archive {titled(title)}>\n{neutral(text)}\n</quire-archive>"


def moment_text(page: int, role: str, text: str, since: datetime, elsewhere: str | None, language: Language) -> str:
    """A passage of an earlier message: what a search brought back."""
    time = since.strftime("%Y-%m-%d")
    where = f"第{page}页" if language == "zh" else f"page {page}"
    if not page:
        where = "归档" if language == "zh" else "archive"
    if elsewhere is not None:
        where = f"另一对话 {titled(elsewhere)}" if language == "zh" else f"another conversation, {titled(elsewhere)}"
    return f"[{where}, {time}] {titled(role)}: {_said(role, text)}"


def moments_heading(day: str, elsewhere: str | None, language: Language, *, is_newest: bool) -> str:
    """What stands once above the moments of a day, so that each needs no more than its page and who said it.

    ``is_newest``: no other day is later, and so what it says holds where days contradict each other.
    """
    if language == "zh":
        time = f"{day}(最新)" if is_newest else day
        return f"{time},按页:" if elsewhere is None else f"{time},另一对话 {titled(elsewhere)}:"
    time = f"{day} (newest)" if is_newest else day
    return f"{time}, by page:" if elsewhere is None else f"{time}, another conversation, {titled(elsewhere)}:"


def moment_line(page: int, role: str, text: str) -> str:
    """A moment below its heading."""
    said = f"{titled(role)}: {_said(role, text)}"
    return f"[{page}] {said}" if page else said


def _said(role: str, text: str) -> str:
    """A message's text was disarmed when it came, and a placeholder in it is Quire's; no other text was."""
    return block(text if role in ROLES else neutral(text))


def memories_text(title: str, lines: Sequence[str]) -> str:
    """What a search brought back, an item for each memory; they are blocks already."""
    quoted = "\n".join(lines)
    return f"<quire-memories {titled(title)}>\n{quoted}\n</quire-memories>"


def result_text(text: str) -> str:
    """What a model's code made of what it recalled."""
    return f"<quire-result>\n{neutral(text)}\n</quire-result>"


def plain_text(messages: Sequence[dict[str, Any]]) -> str:
    """The words, calls and results of chat messages, without thinking."""
    return "\n".join(text for message in messages for text in _texts(message))


def searchable_text(messages: Sequence[dict[str, Any]], recall_tools: Collection[str]) -> str:
    """The plain text as search is to find it: blanks stand for calls of the recall tools, which say what was looked
    for, not what is so. Every place in it is the same place in the plain text.
    """
    return "\n".join(text for message in messages for text in _texts(message, recall_tools))


def speaker_of(messages: Sequence[dict[str, Any]]) -> str | None:
    """Return the name that comes with chat messages; a tool's is not a speaker's."""
    names = (message.get("name") for message in messages if message.get("role") != "tool")
    return next((name for name in names if isinstance(name, str) and name.strip()), None)


def _texts(message: dict[str, Any], blanked: Collection[str] = ()) -> list[str]:
    content = message.get("content")
    texts = [content] if isinstance(content, str) and content else []
    if isinstance(content, list):
        texts += [_part(part) for part in content if part.get("type") not in NOT_QUOTED]
    texts += refusals(message)
    for call in message.get("tool_calls") or []:
        if (function := call.get("function")) is not None:
            said = f"[calls {function['name']}({function['arguments']})]"
            texts.append(" " * len(said) if function["name"] in blanked else said)
    return texts


def _part(part: dict[str, Any]) -> str:
    if isinstance(part.get("text"), str):
        return str(part["text"])
    if part.get("type") == "tool_result":
        content = part.get("content")
        return content if isinstance(content, str) else dumps(content)
    return f"[{part.get('type')}]"
