"""A model's index of a page, judged: every part bounded in number and length, and about messages that are there.

Refused as a whole (and asked for once more) is a reply without a title or without a single line. Of everything else
what cannot be used is dropped: a memory of an unknown type, a line for a message that was not shown, "None". A
standing note must come from a user's message, whatever the model says, so that no tool result can make one; and it
replaces only notes that are older and that no person wrote.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, get_args

from app.core.neutral import neutral
from app.core.topics import says_no_more
from app.providers import UnusableReply
from app.text.language import clip, scalar, squeeze

MemoryType = Literal["preference", "fact", "general", "command_output"]

TITLE_CHARACTERS = 100
LINE_CHARACTERS = 160
TOPIC_CHARACTERS = 40
MEMORY_CHARACTERS = 300
NOTE_CHARACTERS = 200
TOPICS_MAX = 5
MEMORIES_MAX = 8
NOTES_MAX = 3
LOOKED_AT_MAX = 100
"""Items of a list that are looked at."""

_AROUND_NAMES = " .,;!?\"'。、"
_NOTHING = frozenset({"", "none", "null", "n/a", "na", "nil", "undefined", "...", "…", "无", "没有", "未知", "-"})


@dataclass(frozen=True, slots=True)
class CurrentNote:
    """A standing note that holds, as the model was shown it."""

    id: Any
    text: str
    seq: int
    source: str


@dataclass(frozen=True, slots=True)
class MemoryFound:
    type: MemoryType
    text: str
    seq: int


@dataclass(frozen=True, slots=True)
class NoteFound:
    text: str
    seq: int
    replaces: tuple[Any, ...] = ()
    """Ids of current notes."""


@dataclass(frozen=True, slots=True)
class PageReply:
    title: str
    lines: Mapping[int, str]
    topics: tuple[str, ...] = ()
    memories: tuple[MemoryFound, ...] = ()
    notes: tuple[NoteFound, ...] = field(default=())


def judge(value: Mapping[str, Any], roles: Mapping[int, str], notes: Sequence[CurrentNote]) -> PageReply:
    """The usable parts of a reply. Raises UnusableReply with words for the model.

    ``roles`` are those of the messages that it was shown, by ``seq``.
    """
    title = _text(value.get("title"), TITLE_CHARACTERS)
    if not title:
        raise UnusableReply('"title" must be a text that says what the page is about')
    lines = {seq: line for seq, line in _lines(value.get("lines")) if seq in roles}
    if not lines:
        raise UnusableReply('"lines" must be an object with a line for each message, by its number')
    return PageReply(
        title=title,
        lines=dict(sorted(lines.items())),
        topics=tuple(_topics(value.get("topics"))),
        memories=tuple(_memories(value.get("memories"), roles)),
        notes=tuple(_notes(value.get("notes"), roles, notes)),
    )


def _lines(value: Any) -> Iterable[tuple[int, str]]:
    """Of an object by number, or of a list of objects with a ``seq``."""
    pairs: list[tuple[Any, Any]] = []
    if isinstance(value, Mapping):
        pairs = list(value.items())
    elif isinstance(value, list):
        pairs = [(i.get("seq"), i.get("line") or i.get("text")) for i in value if isinstance(i, Mapping)]
    for key, said in pairs[:LOOKED_AT_MAX]:
        seq, line = _seq(key), _text(said, LINE_CHARACTERS)
        if seq is not None and line:
            yield seq, line


def _topics(value: Any) -> list[str]:
    names = (_text(item, TOPIC_CHARACTERS).strip(_AROUND_NAMES) for item in _items(value))
    return list(dict.fromkeys(name for name in names if name and name.casefold() not in _NOTHING))[:TOPICS_MAX]


def _memories(value: Any, roles: Mapping[int, str]) -> list[MemoryFound]:
    found: dict[str, MemoryFound] = {}
    for item in _items(value):
        if not isinstance(item, Mapping) or item.get("type") not in get_args(MemoryType):
            continue
        text, seq = _text(item.get("text") or item.get("content"), MEMORY_CHARACTERS), _seq(item.get("seq"))
        if text and seq is not None and seq in roles:
            found.setdefault(text.casefold(), MemoryFound(item["type"], text, seq))
    return list(found.values())[:MEMORIES_MAX]


def _notes(value: Any, roles: Mapping[int, str], current: Sequence[CurrentNote]) -> list[NoteFound]:
    found: list[NoteFound] = []
    for item in _items(value):
        if not isinstance(item, Mapping):
            continue
        text, seq = _text(item.get("text"), NOTE_CHARACTERS), _seq(item.get("seq"))
        if not text or seq is None or roles.get(seq) != "user":
            continue
        replaced = _replaced(item.get("replaces"), seq, current)
        standing = [note.text for note in current if note not in replaced] + [note.text for note in found]
        if any(says_no_more(text, than) for than in standing) or any(_same(text, note.text) for note in replaced):
            continue
        found.append(NoteFound(text, seq, tuple(note.id for note in replaced)))
    return found[:NOTES_MAX]


def _replaced(value: Any, seq: int, current: Sequence[CurrentNote]) -> list[CurrentNote]:
    numbers = {n for n in _items(value if isinstance(value, list) else [value]) if type(n) is int}
    numbered = [note for number, note in enumerate(current, 1) if number in numbers]
    return [note for note in numbered if note.source != "person" and note.seq <= seq]


def _same(one: str, other: str) -> bool:
    return says_no_more(one, other) and says_no_more(other, one)


def _items(value: Any) -> list[Any]:
    return value[:LOOKED_AT_MAX] if isinstance(value, list) else []


def _seq(value: Any) -> int | None:
    if type(value) is int:
        return value
    text = value.strip().strip("[]") if isinstance(value, str) else ""
    return int(text) if text.isascii() and text.isdecimal() and len(text) < 10 else None


def _text(value: Any, characters: int) -> str:
    """On one line, unable to close a frame; empty if it says nothing."""
    if not isinstance(value, str):
        return ""
    text = neutral(clip(squeeze(scalar(value[: characters * 8]).replace("\x00", "")), characters))
    return "" if text.casefold().strip(" .") in _NOTHING else text
