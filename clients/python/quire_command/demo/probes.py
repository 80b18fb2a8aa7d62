"""Probes for text that is needed again, made from a transcript and looked for in windows.

A probe is something particular that one earlier message says, and that a message three or more later uses again: a
file, a number, a name. Or it is a wish of a person, which holds for the rest of the conversation.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

Kind = Literal["file", "number", "name", "wish"]
Place = Literal["in view", "on the map", "one recall away", "lost"]
KINDS: tuple[Kind, ...] = get_args(Kind)
PLACES: tuple[Place, ...] = get_args(Place)
LATER = 3
QUERY_CHARACTERS = 2_000
_RUN = re.compile(r"[A-Za-z0-9][\w./:@%+-]{4,118}[A-Za-z0-9]")
_SPECIAL = re.compile(r"\d|[/_@]|\w\.\w")
_NUMBER = re.compile(r"[\d.,:/%+-]+")
_NAME = re.compile(r"(?<=[a-z,;] )[A-Z][a-z]{3,}(?: [A-Z][a-z]+)*")
"""A capitalised word within a sentence."""


@dataclass(frozen=True, slots=True)
class NeededAgain:
    """A probe. ``source`` and ``use`` are indexes of messages."""

    kind: Kind
    source: int
    use: int
    literal: str
    query: str
    """What is known before the use: the newest words of the user."""


def said(message: Mapping[str, Any]) -> str:
    """Return a message's text, and its calls with their arguments."""
    content = message.get("content") or ""
    text = content if isinstance(content, str) else "\n".join(str(part.get("text", "")) for part in content)
    calls = [call["function"] for call in message.get("tool_calls") or ()]
    return "\n".join([text, *(f"{call['name']} {call['arguments']}" for call in calls)]).strip()


def literals(text: str) -> Iterator[str]:
    """Yield the identifiers, numbers, addresses and paths of a text; never a plain word."""
    return (m[0] for m in _RUN.finditer(text) if len(m[0]) >= 6 and _SPECIAL.search(m[0]))


def needed_again(messages: Sequence[Mapping[str, Any]]) -> list[NeededAgain]:
    texts = [said(message) for message in messages]
    first: dict[str, int] = {}
    holders: dict[str, int] = {}
    found: list[NeededAgain] = []
    for at, text in enumerate(texts):
        for kind, literal in _particulars(text):
            source = first.setdefault(literal, at)
            if at - source >= LATER and holders.get(literal) == 1:
                found.append(NeededAgain(kind, source, at, literal, _query(messages, texts, at)))
            holders[literal] = holders.get(literal, 0) + 1
    return sorted(found, key=lambda probe: probe.use)


def wish(messages: Sequence[Mapping[str, Any]], source: int, text: str) -> NeededAgain:
    """Return the probe of a person's wish, which holds for the rest of the conversation."""
    texts = [said(message) for message in messages]
    return NeededAgain("wish", source, len(messages), text, _query(messages, texts, len(messages)))


def _particulars(text: str) -> Iterator[tuple[Kind, str]]:
    for literal in dict.fromkeys(literals(text)):
        is_path = "/" in literal or re.fullmatch(r"[\w-]+\.[a-z]{1,4}", literal)
        yield ("number" if _NUMBER.fullmatch(literal) else "file" if is_path else "name"), literal
    for name in dict.fromkeys(_NAME.findall(text)):
        yield "name", name


def _query(messages: Sequence[Mapping[str, Any]], texts: Sequence[str], use: int) -> str:
    newest = (texts[at] for at in range(use - 1, -1, -1) if messages[at]["role"] == "user" and texts[at])
    return next(newest, "")[-QUERY_CHARACTERS:]


def is_in_view(window: Mapping[str, Any], literal: str) -> bool:
    return any(_quoted(literal) in json.dumps(message, ensure_ascii=False) for message in window["messages"])


def _quoted(literal: str) -> str:
    return json.dumps(literal, ensure_ascii=False)[1:-1]


def place(probe: NeededAgain, window: Mapping[str, Any], page: int, recalled: Mapping[str, Any] | None) -> Place:
    """Return where a probe's literal is: in the window; in a page that its map names; in what one recall for the
    newest question brings; or nowhere.
    """
    if is_in_view(window, probe.literal):
        return "in view"
    pages = window["pages"]
    if page in (*pages["verbatim"], *pages["condensed"], *pages["listed"]):
        return "on the map"
    return "one recall away" if recalled is not None and is_in_view(recalled, probe.literal) else "lost"
