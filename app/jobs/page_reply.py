"""Judge a model's index of a page: bound the number and length of every part, and match messages that exist.

A reply without a title or without a single line is rejected as a whole (and requested once more). Of everything else,
only the unusable parts are dropped: a memory of an unknown type, a line for a message that was not shown, "None", a
text that loops or is in another language than the page (``core.replies``). Standing notes, and memories of what a
person is or likes, must quote a user's message (``extractive.own_words``), so that no tool result can create one. A
note is its quotation. It retires an older note only if it is plainly a later wish about the same, and no person wrote
the older one.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

from app.core.neutral import neutral
from app.core.window import replies
from app.core.window.excerpts import Excerpt
from app.core.window.replies import Covered
from app.core.window.topics import says_no_more
from app.extractive.notes import standing_notes
from app.extractive.own_words import own_words, says_nothing_else, share_a_subject
from app.jobs.asking import covered_by
from app.providers import UnusableReply
from app.text.language import clip, scalar, script_counts, squeeze

MemoryType = Literal["preference", "fact", "general", "command_output"]
OF_PERSONS: frozenset[MemoryType] = frozenset({"preference", "fact"})

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


@dataclass(frozen=True, slots=True)
class PageReply:
    title: str
    lines: Mapping[int, str]
    topics: tuple[str, ...] = ()
    memories: tuple[MemoryFound, ...] = ()
    notes: tuple[NoteFound, ...] = ()
    retired: tuple[Any, ...] = ()
    """Ids of current notes that a later wish replaces."""


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
    found, retired = _notes(value.get("notes"), {m.seq: m.text for m in shown if m.role == "user"}, notes)
    return PageReply(
        title=title,
        lines=dict(sorted(lines.items())),
        topics=tuple(_topics(value.get("topics"), covered)),
        memories=tuple(_memories(value.get("memories"), {m.seq: m for m in shown}, covered)),
        notes=tuple(found),
        retired=tuple(note.id for note in retired),
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


def _memories(value: Any, shown: Mapping[int, Excerpt], covered: Covered) -> list[MemoryFound]:
    memories: dict[str, MemoryFound] = {}
    for item in _items(value):
        if not isinstance(item, Mapping) or item.get("type") not in get_args(MemoryType):
            continue
        seq = _seq(item.get("seq"))
        text = _text(item.get("text") or item.get("content"), MEMORY_CHARACTERS, covered)
        if not text or seq is None or seq not in shown or _is_strange(text, covered):
            continue
        if item["type"] in OF_PERSONS:
            text = _of_person(text, item.get("quote"), shown[seq])
        if text:
            memories.setdefault(text.casefold(), MemoryFound(item["type"], text, seq))
    return list(memories.values())[:MEMORIES_MAX]


def _of_person(text: str, quote: Any, message: Excerpt) -> str:
    """Return what is kept about a person: the model's text if it says no more than the message that it quotes, else the
    quotation; "" without one.
    """
    if message.role != "user":
        return ""
    quoted = own_words(quote if isinstance(quote, str) else text, message.text)
    return text if quoted and says_nothing_else(text, message.text) else neutral(clip(quoted, MEMORY_CHARACTERS))


def _notes(
    value: Any, said: Mapping[int, str], current: Sequence[CurrentNote]
) -> tuple[list[NoteFound], list[CurrentNote]]:
    """Return new notes, and current ones that they retire. ``said``: the user's messages by seq."""
    found: list[NoteFound] = []
    retired: list[CurrentNote] = []
    for item in _items(value):
        if not isinstance(item, Mapping) or (seq := _seq(item.get("seq"))) is None or seq not in said:
            continue
        quote = item.get("quote") or item.get("text")
        text = own_words(quote[: NOTE_CHARACTERS * 2], said[seq]) if isinstance(quote, str) else ""
        if not (text := neutral(clip(text, NOTE_CHARACTERS))):
            continue
        replaced = [note for note in _replaced(item.get("replaces"), text, seq, current) if not _same(text, note.text)]
        retired += replaced
        standing = [note.text for note in current if note not in replaced] + [note.text for note in found]
        if not any(says_no_more(text, than) for than in standing):
            found.append(NoteFound(text, seq))
    return found[:NOTES_MAX], retired


def _replaced(value: Any, text: str, seq: int, current: Sequence[CurrentNote]) -> list[CurrentNote]:
    """Return the notes that a later wish of the user retires; what the model names is a proposal."""
    if not standing_notes(text):
        return []
    numbers = {n for n in _items(value if isinstance(value, list) else [value]) if type(n) is int}
    numbered = [note for number, note in enumerate(current, 1) if number in numbers]
    older = [note for note in numbered if note.source != "person" and note.seq <= seq]
    return [note for note in older if share_a_subject(note.text, text)]


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
