"""Stored text as a model is shown it again: quoted, with its provenance, and unable to leave its frame."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from app.core.head import neutral
from app.core.model import Language


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
    lines = "\n".join(f"[{s.seq}] {s.role}: {neutral(s.text)}" for s in said)
    return f"<quire-page {title}>\n{lines}\n</quire-page>"


def archive_text(uuid: str, tool: str, text: str, part: str, language: Language) -> str:
    """An archived result, or a part of it."""
    title = f"工具结果 {uuid},{tool},{part}" if language == "zh" else f"tool result {uuid}, {tool}, {part}"
    return f"<quire-archive {neutral(title)}>\n{neutral(text)}\n</quire-archive>"
