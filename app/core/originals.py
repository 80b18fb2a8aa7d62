"""Restore what was sent: a stored message keeps a reference where a long tool result was archived."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from uuid import UUID

from app.core.model import Language
from app.core.placeholder import erased


def as_sent(body: Mapping[str, Any], texts: Mapping[UUID, str], language: Language) -> dict[str, Any]:
    """Return a stored message with its archived texts in place; an erased one is named as such.

    ``texts`` are the archives' full texts by their UUID.
    """
    content = body.get("content")
    if isinstance(content, dict):
        return {**body, "content": _text(content, texts, language)}
    if isinstance(content, list):
        return {**body, "content": [_part(part, texts, language) for part in content]}
    return dict(body)


def _part(part: Any, texts: Mapping[UUID, str], language: Language) -> Any:
    if isinstance(part, dict) and part.get("type") == "tool_result" and isinstance(part.get("content"), dict):
        return {**part, "content": _text(part["content"], texts, language)}
    return part


def _text(reference: Mapping[str, str], texts: Mapping[UUID, str], language: Language) -> str:
    uuid = UUID(reference["archive"])
    return texts.get(uuid) or erased(uuid, language)
