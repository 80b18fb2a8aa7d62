"""Quote stored text for a model, with its provenance and in a frame that the text cannot close."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from app.core import wording
from app.core.canonical import dumps
from app.core.messages import ROLES, THINKING_PARTS, refusals
from app.core.model import Language
from app.core.neutral import PLACEHOLDERS, block, neutral, titled

_CALL = re.compile(r"\[calls [^\s(]*\(.*\)\]", re.DOTALL)
NOT_QUOTED = THINKING_PARTS | {"refusal"}
"""Parts that are not quoted (thinking), or are quoted separately (refusals)."""


@dataclass(frozen=True, slots=True)
class Said:
    """One message of a page."""

    seq: int
    role: str
    text: str
    name: str | None = None
    """The speaker's name."""

    @property
    def line(self) -> str:
        """Return the message's number, its speaker and the quoted text."""
        return f"[{self.seq}] {who(self.role, self.name)}: {block(self.text)}"


def who(role: str, name: str | None) -> str:
    return titled(f"{role} ({name})" if name else role)


def page_text(page: int, messages: Sequence[Said], since: datetime, language: Language) -> str:
    time = since.strftime("%Y-%m-%d %H:%M %Z")
    title = wording.PAGE_TITLE.say(language, page=page, time=time)
    lines = "\n".join(said.line for said in messages)
    return f"<quire-page {title}>\n{lines}\n</quire-page>"


def run_text(first: int, last: int, lines: Sequence[str], language: Language) -> str:
    """Quote the lines of a run of pages. ``lines`` begin with Quire's own remarks about them."""
    body = neutral("\n".join(lines))
    return f"<quire-pages {wording.RUN_TITLE.say(language, first=first, last=last)}>\n{body}\n</quire-pages>"


def archive_text(uuid: str, tool: str, text: str, part: str, language: Language) -> str:
    title = wording.ARCHIVE_TITLE.say(language, uuid=uuid, tool=tool, part=part)
    return f"<quire-archive {titled(title)}>\n{neutral(text)}\n</quire-archive>"


def passage_text(
    page: int, role: str, text: str, since: datetime, elsewhere: str | None, language: Language, name: str | None = None
) -> str:
    """Quote a passage of an earlier message that a search found. ``name`` is the speaker's."""
    time = since.strftime("%Y-%m-%d")
    where = wording.ON_PAGE.say(language, page=page) if page else wording.IN_ARCHIVE.say(language)
    if elsewhere is not None:
        where = wording.ELSEWHERE.say(language, name=titled(elsewhere))
    at = wording.PASSAGE_AT.say(language, where=where, time=time)
    return f"{at} {who(role, name)}: {_said(role, text)}"


def day_heading(day: str, elsewhere: str | None, language: Language, *, is_newest: bool) -> str:
    """Return the heading above a day's passages, each of which then needs only its page and speaker.

    ``is_newest``: no other day is later, so its passages take precedence over contradicting ones.
    """
    day = wording.NEWEST_DAY.say(language, day=day) if is_newest else day
    if elsewhere is None:
        return wording.BY_PAGE.say(language, day=day)
    return wording.BY_DAY_ELSEWHERE.say(language, day=day, name=titled(elsewhere))


def passage_line(page: int, role: str, text: str, name: str | None = None) -> str:
    """Quote a passage below its day's heading. ``name`` is the speaker's."""
    quoted = f"{who(role, name)}: {_said(role, text)}"
    return f"[{page}] {quoted}" if page else quoted


def _said(role: str, text: str) -> str:
    """Make a text neutral. A message's text was made so on arrival, and a placeholder in it is Quire's own."""
    return block(text if role in ROLES else neutral(text))


def memories_text(title: str, lines: Sequence[str]) -> str:
    """Quote search results. ``lines`` has an item for each memory, already formatted as a block."""
    quoted = "\n".join(lines)
    return f"<quire-memories {titled(title)}>\n{quoted}\n</quire-memories>"


def result_text(text: str) -> str:
    """Quote the result of a model's code."""
    return f"<quire-result>\n{neutral(text)}\n</quire-result>"


def plain_text(messages: Sequence[dict[str, Any]]) -> str:
    """Return the words, calls and results of chat messages, without thinking."""
    return "\n".join(text for message in messages for text in _texts(message))


def searchable_text(messages: Sequence[dict[str, Any]], recall_tools: Collection[str]) -> str:
    """Return the text that search indexes. Calls of recall tools are blanked, because they hold queries, not facts.

    Its offsets are the same as in the plain text.
    """
    return "\n".join(text for message in messages for text in _texts(message, recall_tools))


def spoken_text(messages: Sequence[dict[str, Any]]) -> str:
    """Return the plain text with calls and placeholders blanked. Its offsets are the same as in the plain text."""
    return "\n".join(
        " " * len(text) if text.startswith(PLACEHOLDERS) or _CALL.fullmatch(text) else text
        for message in messages
        for text in _texts(message)
    )


def speaker_of(messages: Sequence[dict[str, Any]]) -> str | None:
    """Return the speaker's name in chat messages, if there is one. The name of a tool does not count."""
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
            call_text = f"[calls {function['name']}({function['arguments']})]"
            texts.append(" " * len(call_text) if function["name"] in blanked else call_text)
    return texts


def _part(part: dict[str, Any]) -> str:
    if isinstance(part.get("text"), str):
        return str(part["text"])
    if part.get("type") == "tool_result":
        content = part.get("content")
        return content if isinstance(content, str) else dumps(content)
    return f"[{part.get('type')}]"
