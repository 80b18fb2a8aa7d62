"""Judge a model's index of a page: bound the number and length of every part, and match messages that exist.

A reply without a title or without a single line is rejected as a whole (and requested once more). Of everything else,
only the unusable parts are dropped: a line for a message that was not shown, "None", a text that loops or is in another
language than the page (``core.window.replies``). Every memory must quote a user's message (``extractive.own_words``),
so that no tool result can create one. The quotation is what is kept in mind: held if its words show a lasting wish,
proposed otherwise. A model's reply never ends a memory.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time
from typing import Any

from app.core.neutral import neutral
from app.core.window import replies
from app.core.window.excerpts import Excerpt
from app.core.window.kept import CLOSED_KEYS, Wish
from app.core.window.replies import Covered
from app.core.window.topics import says_no_more
from app.extractive.own_words import own_words, says_nothing_else
from app.extractive.wishes import speaks_for_itself, wish_of
from app.jobs.asking import covered_by
from app.providers import UnusableReply
from app.text.language import clip, scalar, script_counts, squeeze

TITLE_CHARACTERS = 100
LINE_CHARACTERS = 160
TOPIC_CHARACTERS = 40
MEMORY_CHARACTERS = 300
QUOTE_CHARACTERS = 200
TOPICS_MAX = 5
MEMORIES_MAX = 8
WISHES_MAX = 3
LOOKED_AT_MAX = 100
"""Items of a list that are read."""

_AROUND_NAMES = " .,;!?\"'。、"
_NOTHING = frozenset({"", "none", "null", "n/a", "na", "nil", "undefined", "...", "…", "无", "没有", "未知", "-"})


@dataclass(frozen=True, slots=True)
class MemoryFound:
    """A fact or wish of a person, with their own words."""

    text: str
    quote: str
    seq: int


@dataclass(frozen=True, slots=True)
class WishFound:
    """A lasting wish of a person, in their own words."""

    wish: Wish
    seq: int
    is_certain: bool
    """The words show it; else only the model says so."""
    until: datetime | None = None


@dataclass(frozen=True, slots=True)
class PageReply:
    title: str
    lines: Mapping[int, str]
    topics: tuple[str, ...] = ()
    memories: tuple[MemoryFound, ...] = ()
    wishes: tuple[WishFound, ...] = ()


def judge(value: Mapping[str, Any], shown: Sequence[Excerpt], kept: Sequence[str]) -> PageReply:
    """Return the usable parts of a reply about the shown messages. Raises UnusableReply with a text for the model."""
    roles = {message.seq: message.role for message in shown}
    covered = covered_by(shown)
    title = one_line_text(value.get("title"), TITLE_CHARACTERS, covered)
    if not title:
        raise UnusableReply('"title" must be a text that says what the page is about')
    lines = {seq: line for seq, line in _lines(value.get("lines"), covered) if seq in roles}
    if not lines:
        raise UnusableReply('"lines" must be an object with a line for each message, by its number')
    if replies.are_alike(lines.values(), [m.text[:LINE_CHARACTERS] for m in shown if m.seq in lines]):
        raise UnusableReply('"lines" must differ: each says what its own message says')
    if is_in_another_language("\n".join([title, *lines.values()]), covered):
        raise UnusableReply("the answer must be in the language of the messages")
    memories, wishes = _memories(value.get("memories"), {m.seq: m for m in shown if m.role == "user"}, covered, kept)
    return PageReply(
        title=title,
        lines=dict(sorted(lines.items())),
        topics=tuple(_topics(value.get("topics"), covered)),
        memories=tuple(memories),
        wishes=tuple(wishes),
    )


def _lines(value: Any, covered: Covered) -> Iterable[tuple[int, str]]:
    pairs: list[tuple[Any, Any]] = []
    if isinstance(value, Mapping):
        pairs = list(value.items())
    elif isinstance(value, list):
        pairs = [(i.get("seq"), i.get("line") or i.get("text")) for i in value if isinstance(i, Mapping)]
    for key, text in pairs[:LOOKED_AT_MAX]:
        seq, line = _seq(key), one_line_text(text, LINE_CHARACTERS, covered)
        if seq is not None and line:
            yield seq, line


def _topics(value: Any, covered: Covered) -> list[str]:
    names = (one_line_text(item, TOPIC_CHARACTERS, covered).strip(_AROUND_NAMES) for item in _items(value))
    return list(dict.fromkeys(name for name in names if name and name.casefold() not in _NOTHING))[:TOPICS_MAX]


def _memories(
    value: Any, said: Mapping[int, Excerpt], covered: Covered, kept: Sequence[str]
) -> tuple[list[MemoryFound], list[WishFound]]:
    """Return the memories and wishes in the user's own words. ``kept``: what is in mind already."""
    memories: dict[str, MemoryFound] = {}
    wishes: list[WishFound] = []
    for item in _items(value):
        if not isinstance(item, Mapping) or (message := said.get(_seq(item.get("seq")) or 0)) is None:
            continue
        quote = item.get("quote")
        words = own_words(quote[: QUOTE_CHARACTERS * 2], message.text) if isinstance(quote, str) else ""
        if not (words := neutral(clip(words, QUOTE_CHARACTERS))):
            continue
        if item.get("pinned") is True or item.get("ends") is True:
            wish = _wish(item, words, message)
            if not any(says_no_more(words, than) for than in (*kept, *(one.wish.text for one in wishes))):
                wishes.append(wish)
            continue
        text = one_line_text(item.get("text"), MEMORY_CHARACTERS, covered)
        is_plain = text and not is_in_another_language(text, covered) and says_nothing_else(text, message.text)
        found = MemoryFound(text if is_plain else words, words, message.seq)
        memories.setdefault(found.text.casefold(), found)
    return list(memories.values())[:MEMORIES_MAX], wishes[:WISHES_MAX]


def _wish(item: Mapping[str, Any], words: str, message: Excerpt) -> WishFound:
    """Return a wish as its words show it, unless they play a role. Without such words it is a proposal."""
    seq, shown = message.seq, wish_of(words) if speaks_for_itself(words, message.text) else None
    if shown is not None and not item.get("ends"):
        return WishFound(shown, seq, is_certain=True, until=_until(item.get("until")))
    key = item.get("key") if item.get("key") in CLOSED_KEYS else None
    ends = item.get("ends") is True
    if ends and shown is not None and shown.ends:
        return WishFound(shown, seq, is_certain=True)
    return WishFound(Wish(words, "proposed", key, ends=ends), seq, is_certain=False, until=_until(item.get("until")))


def _until(value: Any) -> datetime | None:
    try:
        return datetime.combine(date.fromisoformat(value), time.max, UTC) if isinstance(value, str) else None
    except ValueError:
        return None


def _items(value: Any) -> list[Any]:
    return value[:LOOKED_AT_MAX] if isinstance(value, list) else []


def _seq(value: Any) -> int | None:
    if type(value) is int:
        return value
    text = value.strip().strip("[]") if isinstance(value, str) else ""
    return int(text) if text.isascii() and text.isdecimal() and len(text) < 10 else None


def is_in_another_language(text: str, covered: Covered) -> bool:
    return replies.is_strange(replies.wording_of(text), script_counts(text), covered)


def one_line_text(value: Any, characters: int, covered: Covered) -> str:
    """Return a text on one line that cannot close a frame; "" if it has no content or loops."""
    if not isinstance(value, str):
        return ""
    value = value[: characters * 8]
    if replies.loops(replies.wording_of(value), covered.wording):
        return ""
    text = neutral(clip(squeeze(scalar(value).replace("\x00", "")), characters))
    return "" if text.casefold().strip(" .") in _NOTHING else text
