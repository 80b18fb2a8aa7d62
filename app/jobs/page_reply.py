"""Judge a model's index of a page: bound the number and length of every part, and match messages that exist.

A reply without a title or without a single line is rejected as a whole (and requested once more). Of everything else,
only the unusable parts are dropped: a memory of an unknown type, a line for a message that was not shown, "None", a
text that loops or is in another language than the page (``core.replies``). A standing note must come from a user's
message, whatever the model claims, so that no tool result can create one; and it replaces only older notes that no
person wrote.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, get_args

from app.core.neutral import neutral
from app.core.window import replies
from app.core.window.excerpts import Excerpt
from app.core.window.replies import Covered
from app.core.window.topics import says_no_more
from app.jobs.asking import covered_by
from app.providers import UnusableReply
from app.text.language import clip, scalar, script_counts, squeeze

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
"""Items of a list that are read."""

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


def judge(value: Mapping[str, Any], shown: Sequence[Excerpt], notes: Sequence[CurrentNote]) -> PageReply:
    """Return the usable parts of a reply about the shown messages. Raises UnusableReply with a text for the model."""
    roles = {message.seq: message.role for message in shown}
    covered = covered_by(shown)
    title = _text(value.get("title"), TITLE_CHARACTERS, covered)
    if not title:
        raise UnusableReply('"title" must be a text that says what the page is about')
    lines = {seq: line for seq, line in _lines(value.get("lines"), covered) if seq in roles}
    if not lines:
        raise UnusableReply('"lines" must be an object with a line for each message, by its number')
    if replies.are_alike(lines.values(), [m.text[:LINE_CHARACTERS] for m in shown if m.seq in lines]):
        raise UnusableReply('"lines" must differ: each says what its own message says')
    if _is_strange("\n".join([title, *lines.values()]), covered):
        raise UnusableReply("the answer must be in the language of the messages")
    return PageReply(
        title=title,
        lines=dict(sorted(lines.items())),
        topics=tuple(_topics(value.get("topics"), covered)),
        memories=tuple(_memories(value.get("memories"), roles, covered)),
        notes=tuple(_notes(value.get("notes"), roles, notes, covered)),
    )


def _lines(value: Any, covered: Covered) -> Iterable[tuple[int, str]]:
    """Yield (seq, line) from an object keyed by number, or from a list of objects with a ``seq``."""
    pairs: list[tuple[Any, Any]] = []
    if isinstance(value, Mapping):
        pairs = list(value.items())
    elif isinstance(value, list):
        pairs = [(i.get("seq"), i.get("line") or i.get("text")) for i in value if isinstance(i, Mapping)]
    for key, text in pairs[:LOOKED_AT_MAX]:
        seq, line = _seq(key), _text(text, LINE_CHARACTERS, covered)
        if seq is not None and line:
            yield seq, line


def _topics(value: Any, covered: Covered) -> list[str]:
    names = (_text(item, TOPIC_CHARACTERS, covered).strip(_AROUND_NAMES) for item in _items(value))
    return list(dict.fromkeys(name for name in names if name and name.casefold() not in _NOTHING))[:TOPICS_MAX]


def _memories(value: Any, roles: Mapping[int, str], covered: Covered) -> list[MemoryFound]:
    memories: dict[str, MemoryFound] = {}
    for item in _items(value):
        if not isinstance(item, Mapping) or item.get("type") not in get_args(MemoryType):
            continue
        seq = _seq(item.get("seq"))
        text = _text(item.get("text") or item.get("content"), MEMORY_CHARACTERS, covered)
        if text and seq is not None and seq in roles and not _is_strange(text, covered):
            memories.setdefault(text.casefold(), MemoryFound(item["type"], text, seq))
    return list(memories.values())[:MEMORIES_MAX]


def _notes(value: Any, roles: Mapping[int, str], current: Sequence[CurrentNote], covered: Covered) -> list[NoteFound]:
    notes: list[NoteFound] = []
    for item in _items(value):
        if not isinstance(item, Mapping):
            continue
        text, seq = _text(item.get("text"), NOTE_CHARACTERS, covered), _seq(item.get("seq"))
        if not text or seq is None or roles.get(seq) != "user" or _is_strange(text, covered):
            continue
        replaced = _replaced(item.get("replaces"), seq, current)
        standing = [note.text for note in current if note not in replaced] + [note.text for note in notes]
        if any(says_no_more(text, than) for than in standing) or any(_same(text, note.text) for note in replaced):
            continue
        notes.append(NoteFound(text, seq, tuple(note.id for note in replaced)))
    return notes[:NOTES_MAX]


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


def _is_strange(text: str, covered: Covered) -> bool:
    return replies.is_strange(replies.wording_of(text), script_counts(text), covered)


def _text(value: Any, characters: int, covered: Covered) -> str:
    """Return a text on one line that cannot close a frame; "" if it has no content or loops."""
    if not isinstance(value, str):
        return ""
    value = value[: characters * 8]
    if replies.loops(replies.wording_of(value), covered.wording):
        return ""
    text = neutral(clip(squeeze(scalar(value).replace("\x00", "")), characters))
    return "" if text.casefold().strip(" .") in _NOTHING else text
