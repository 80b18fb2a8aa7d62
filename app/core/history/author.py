"""Decide once, when a message arrives, whose words it holds.

A role does not tell who spoke, because machines speak in the user's role too. Their texts are known by their form: a
head that names a result, a summary, a hand-off, a hook or a file of instructions, or one element of markup around the
whole text. An agent's own flags (`isMeta` and others) and `author` can make the author less of a person, never more.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import reduce
from importlib.resources import files
from typing import Any

from app.core.messages import Draft
from app.core.model import AUTHORS, PEOPLE, Author

HEAD_CHARACTERS = 400
"""Only the first characters are matched, because a person can paste a machine's text further down."""
_ROWS = [
    row for row in files("app.core.history").joinpath("author.txt").read_text("utf-8").splitlines() if row[:1] != "#"
]
_PARTS = dict(row.split(" = ", 1) for row in _ROWS if row.startswith("{"))
_FORMS = (reduce(lambda row, part: row.replace(*part), _PARTS.items(), row) for row in _ROWS if row[:1] != "{")
MACHINES = re.compile("|".join(f"(?:{form})" for form in _FORMS), re.IGNORECASE)
"""Matches the heads of texts that machines write."""
WRAPPED = re.compile(r"\s*<([A-Za-z][\w:-]{0,60})(?:\s[^<>]{0,300})?>[\s\S]*</\1\s*>\s*\Z")
"""Matches a text that consists of one element of markup."""
PERSONS_TAGS = frozenset({"user_query", "user_message", "task", "user", "query", "question", "prompt", "message"})
"""Elements into which clients put what a person typed."""
CALLED = re.compile(
    r"<([a-z]+(?:_[a-z]+)+)>[\s\S]*</\1>\s*\Z|^\W*Action(?: Input)?:[^\n]*(?:\n[^\n]*){0,3}\s*\Z", re.MULTILINE
)
"""Matches an assistant's text that ends with a tool call in words: an element named like a tool, or ReAct's lines."""


def author_of(draft: Draft, before: Draft | None = None, user_id: str | None = None) -> Author:
    """Return whose words a message holds. ``before`` is the message that it follows, if known."""
    own = _by_form(draft, before, user_id)
    return max(own, *_flags(draft.original), draft.author or own, key=AUTHORS.index)


def _by_form(draft: Draft, before: Draft | None, user_id: str | None) -> Author:
    match draft.role:
        case "assistant":
            return "assistant"
        case "tool":
            return "tool"
        case "user":
            if draft.results and not draft.text.strip():
                return "tool"
            called = before is not None and before.role == "assistant" and CALLED.search(before.text[-2_000:])
            if called or is_machines(draft.text):
                return "machine"
            return "person" if draft.name in (None, user_id) else "participant"
    return "machine"


def is_machines(text: str) -> bool:
    """Return whether a text in the user's role has the form of a machine's text."""
    head = text[:HEAD_CHARACTERS].lstrip("\ufeff \t\r\n")
    if MACHINES.match(head) is not None:
        return True
    wrapped = WRAPPED.match(text) if text.lstrip().startswith("<") else None
    return wrapped is not None and wrapped[1].lower() not in PERSONS_TAGS


def _flags(original: Mapping[str, Any]) -> list[Author]:
    """Return the authors that an agent's flags on its message name, as in Claude Code's transcripts."""
    found: list[Author] = ["sub-agent"] if original.get("isSidechain") is True else []
    origin = original.get("origin")
    is_made = isinstance(origin, dict) and origin.get("kind") not in (None, "human")
    if is_made or any(original.get(name) is True for name in ("isMeta", "isCompactSummary")):
        found.append("machine")
    return found


def is_persons(author: Author) -> bool:
    return author in PEOPLE
