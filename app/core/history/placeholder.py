"""Placeholders: the texts that represent archived tool results in windows.

A placeholder is written when the result is archived and never changes, so it never breaks a cached prefix. Its first
line contains the uuid, so that it resolves even if it is cut to the length of a condensed result.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from app.core import wording
from app.core.model import Language
from app.core.neutral import flat


@dataclass(frozen=True, slots=True)
class ArchiveCard:
    uuid: UUID
    tool_name: str
    query_summary: str
    created_at: datetime
    length: int
    """Characters of the result."""
    result_summary: str
    key_terms: tuple[str, ...]
    sources: tuple[str, ...]


def placeholder(card: ArchiveCard, language: Language) -> str:
    time = card.created_at.strftime("%Y-%m-%dT%H:%M:%SZ")
    tool = flat(card.tool_name)
    if language == "zh":
        lines = [
            f"[已归档的工具结果 {card.uuid}] 用 load_tool_history(uuid, query) 读取",
            f"工具：{tool} 时间：{time} 原文：{card.length} 字符",
            f"查询：{flat(card.query_summary)}" if card.query_summary else "",
            f"内容：{flat(card.result_summary)}" if card.result_summary else "",
            f"关键词：{flat('、'.join(card.key_terms))}" if card.key_terms else "",
            f"来源：{flat('；'.join(card.sources))}" if card.sources else "",
        ]
    else:
        lines = [
            f"[Archived tool result {card.uuid}] read it with load_tool_history(uuid, query)",
            f"Tool: {tool}. Time: {time}. Original: {card.length} characters.",
            f"Asked: {flat(card.query_summary)}" if card.query_summary else "",
            f"Holds: {flat(card.result_summary)}" if card.result_summary else "",
            f"Key terms: {flat(', '.join(card.key_terms))}" if card.key_terms else "",
            f"Sources: {flat('; '.join(card.sources))}" if card.sources else "",
        ]
    return "\n".join(line for line in lines if line)


def erased(uuid: UUID, language: Language) -> str:
    """Return the text that represents an archive that was erased or has expired."""
    return wording.ARCHIVE_ERASED.say(language, uuid=uuid)


ERASED_TOKENS_MAX = 64
"""The largest size of either text: a uuid is up to 36 tokens."""


# --- The message as sent: the stored body has a reference in place of each archived text -----------------


def as_sent(body: Mapping[str, Any], texts: Mapping[UUID, str], language: Language) -> dict[str, Any]:
    """Return a stored message as it was sent, with a mark in place of each erased archive.

    ``texts`` holds the archives' full texts by UUID.
    """
    content = body.get("content")
    if isinstance(content, dict):
        return {**body, "content": _original(content, texts, language)}
    if isinstance(content, list):
        return {**body, "content": [_original_part(part, texts, language) for part in content]}
    return dict(body)


def _original_part(part: Any, texts: Mapping[UUID, str], language: Language) -> Any:
    if isinstance(part, dict) and part.get("type") == "tool_result" and isinstance(part.get("content"), dict):
        return {**part, "content": _original(part["content"], texts, language)}
    return part


def _original(reference: Mapping[str, str], texts: Mapping[UUID, str], language: Language) -> str:
    uuid = UUID(reference["archive"])
    return texts.get(uuid) or erased(uuid, language)
