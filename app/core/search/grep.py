r"""Patterns that `grep` looks for: literal text, or a regular expression that cannot explode.

Letter case and composed characters never matter. In literal text, full-width forms, ligatures and number separators do
not matter either. A regular expression is run by PostgreSQL, line by line and within a time limit. It has groups,
alternatives, classes, repetitions, ``^``, ``$`` and ``\b``; back-references and look-around, whose cost has no bound,
are refused, and so are repetitions that multiply beyond ``REPEATS_MAX``.

Messages are stored as JSON. To read few of them, they are first filtered by ``needles``: each match contains at least
one, and JSON leaves them unchanged.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from unicodedata import normalize

from app.core.line import Line
from app.core.search.forms import comparable, expression_of, pieces_of
from app.core.wording import Wording

PATTERN_MAX = 500
REPEATS_MAX = 10_000
"""The product of the upper bounds of all counted repetitions."""
REPEAT_MAX = 255
"""PostgreSQL's regular expressions take no more."""
SHOWN_CHARACTERS = 200
"""Of a line, around its match."""

_COUNT = re.compile(r"\{(\d{1,9})(?:(,)(\d{0,9}))?\}")
_CLASSES = frozenset("dDwWsS")
_BOUNDARIES = {"b": r"\y", "B": r"\Y", "A": "^", "Z": "$", "z": "$"}
_ESCAPED_IN_JSON = re.compile(r'["\\\x00-\x1f]+')

REFUSED = Wording("`pattern` {rule}.", "`pattern` {rule}。")
RULE = Wording("cannot have {what}", "不支持{what}")
REFERENCE = Wording("back-references or this escape: \\{escape}", "反向引用或转义 \\{escape}")
LOOK_AROUND = Wording("look-around, named groups or flags: (?…", "环视、命名组或标志：(?…")
UNBALANCED = Wording("a bracket without its partner", "不成对的括号")
NOTHING_REPEATED = Wording("a repetition of nothing", "没有对象的重复")
TOO_MANY = Wording(
    f"more than {REPEAT_MAX} repetitions, or {REPEATS_MAX} multiplied",
    f"超过 {REPEAT_MAX} 次（相乘超过 {REPEATS_MAX} 次）的重复",
)
LINE_END = Wording("a line end, because it is matched within a line", "换行符，因为匹配只在一行之内进行")
MATCHES_EVERYTHING = Wording(
    "only parts that can be empty, because every line would match", "全部可以为空的内容，否则每一行都会匹配"
)


class RefusedPattern(ValueError):  # noqa: N818 - the pattern is refused
    """The pattern is refused; the text says why in both languages."""

    def __init__(self, what: Wording) -> None:
        super().__init__(what.en)
        self.what = what

    @property
    def rule(self) -> str:
        return RULE.en.format(what=self.what.en)

    def wording(self) -> Wording:
        rules = (text.format(what=what) for text, what in zip(RULE, self.what, strict=True))
        return Wording(*(text.format(rule=rule) for text, rule in zip(REFUSED, rules, strict=True)))


@dataclass(frozen=True, slots=True)
class Pattern:
    text: str
    expression: str | None
    """In PostgreSQL's syntax; None for literal text."""
    needles: tuple[str, ...]
    """LIKE patterns in lower case; none if every message must be read."""


@dataclass(frozen=True, slots=True)
class SearchedLine:
    """A line that matches, and where in its text: ``number`` from 1 on, ``offset`` of the match in characters."""

    number: int
    offset: int
    shown: str


@dataclass(frozen=True, slots=True)
class MessageSpan:
    """A stretch of a conversation's messages to read, both ends included."""

    conversation_id: str
    first: int
    last: int


def spans_of(line: Line, last: int) -> list[MessageSpan]:
    """Return the stretches of a line up to its last message, newest first."""
    ends = [*(one.seq for one in line.stretches), last]
    names = [*(one.id for one in line.stretches), line.own]
    starts = [1, *(end + 1 for end in ends)]
    return [MessageSpan(*one) for one in zip(names, starts, ends, strict=False)][::-1]


def pattern_of(text: str, *, is_regex: bool) -> Pattern:
    """Read a pattern. Raises RefusedPattern for an unsafe regular expression."""
    if not is_regex:
        literal = comparable(text).text
        return Pattern(literal, None, _likes(list(dict.fromkeys((text, literal))), pieces_of))
    reader = _Reader(normalize("NFC", text).removeprefix("(?i)"))
    return Pattern(text, reader.expression(), _likes(reader.literals))


def _likes(literals: Sequence[str], pieces: Callable[[str], Sequence[str]] = lambda text: [text]) -> tuple[str, ...]:
    """Return a LIKE pattern for each literal; none at all if one of them cannot filter."""
    needles = [max(_ESCAPED_IN_JSON.split(literal), key=len) for literal in literals]
    liked = (["".join(map(_like, piece)) for piece in pieces(needle)] for needle in needles)
    likes = tuple(dict.fromkeys(f"%{'%'.join(filter(None, parts))}%" for parts in liked))
    return likes if all(like.strip("%_") for like in likes) else ()


def _like(character: str) -> str:
    """Return a character for LIKE; ``_`` if PostgreSQL's "C" collation does not know its case."""
    if character in "%_\\":
        return f"\\{character}"
    if character.isascii():
        return character.lower()
    return character if character.lower() == character.upper() else "_"


@dataclass(slots=True)
class _Reader:
    """Reads a regular expression once, from left to right."""

    text: str
    place: int = 0
    depth: int = 0
    repeats: int = 1
    written: list[str] = field(default_factory=list)
    repeatable: bool = False
    """Whether something stands before that can be repeated."""
    literals: list[str] = field(default_factory=list)
    """The longest literal of each alternative that was read."""
    runs: list[str] = field(default_factory=lambda: [""])
    """The literals of the alternative that is being read, the one that can grow last."""

    def expression(self) -> str:
        while self.place < len(self.text):
            self._step(self.text[self.place])
        if self.depth:
            raise RefusedPattern(UNBALANCED)
        self._end_alternative()
        return "".join(self.written)

    def _step(self, character: str) -> None:
        match character:
            case "\\":
                self._escape(self.text[self.place + 1 : self.place + 2])
            case "[":
                self._write(self._class(), repeatable=True)
            case "(" | ")":
                self._group(character)
            case "|":
                if self.depth == 0:
                    self._end_alternative()
                self._write("|", repeatable=False)
            case "*" | "+" | "?":
                self._repeat(character, is_optional=character != "+")
            case "{" if count := _COUNT.match(self.text, self.place):
                self._count(count)
            case "^" | "$" | ".":
                self._write(character, repeatable=character == ".")
            case _:
                self._literal(character, 1)

    def _write(self, written: str, *, repeatable: bool, taken: int | None = None) -> None:
        """Write a part that is not literal."""
        self.written.append(written)
        self.place += len(written) if taken is None else taken
        self.repeatable = repeatable
        self.runs.append("")

    def _literal(self, character: str, taken: int) -> None:
        if character in "\r\n":
            raise RefusedPattern(LINE_END)
        self.written.append(f"\\{character}" if character.isascii() and not character.isalnum() else character)
        self.place += taken
        self.repeatable = True
        if self.depth == 0:
            self.runs[-1] += character

    def _escape(self, escaped: str) -> None:
        if escaped in _CLASSES and escaped:
            self._write(f"\\{escaped}", repeatable=True)
        elif escaped in _BOUNDARIES:
            self._write(_BOUNDARIES[escaped], repeatable=False, taken=2)
        elif escaped == "t":
            self._literal("\t", 2)
        elif escaped in ("n", "r"):
            raise RefusedPattern(LINE_END)
        elif escaped and not escaped.isalnum():
            self._literal(escaped, 2)
        else:
            raise RefusedPattern(Wording(*(text.format(escape=escaped) for text in REFERENCE)))

    def _class(self) -> str:
        """Return a class such as [^a-z]; a named one ([[:alpha:]]) too."""
        end = self.place + 1
        end += self.text[end : end + 1] == "^"
        end += self.text[end : end + 1] == "]"
        while end < len(self.text) and self.text[end] != "]":
            named = self.text.find(":]", end) if self.text.startswith("[:", end) else -1
            if self.text[end] == "\\":
                self._check_in_class(self.text[end + 1 : end + 2])
            end = named + 2 if named > 0 else end + (2 if self.text[end] == "\\" else 1)
        if end >= len(self.text):
            raise RefusedPattern(UNBALANCED)
        return self.text[self.place : end + 1]

    def _check_in_class(self, escaped: str) -> None:
        if escaped not in _CLASSES | {"t"} and (not escaped or escaped.isalnum()):
            raise RefusedPattern(Wording(*(text.format(escape=escaped) for text in REFERENCE)))

    def _group(self, bracket: str) -> None:
        if bracket == ")":
            if self.depth == 0:
                raise RefusedPattern(UNBALANCED)
            self.depth -= 1
            self._write(")", repeatable=True)
            return
        is_plain = self.text.startswith("(?:", self.place)
        if not is_plain and self.text.startswith("(?", self.place):
            raise RefusedPattern(LOOK_AROUND)
        self.depth += 1
        self._write("(?:", repeatable=False, taken=3 if is_plain else 1)

    def _repeat(self, repetition: str, *, is_optional: bool) -> None:
        is_lazy = self.text.startswith("?", self.place + len(repetition))
        if not self.repeatable:
            raise RefusedPattern(NOTHING_REPEATED)
        if is_optional and self.depth == 0:
            self.runs[-1] = self.runs[-1][:-1]
        self._write(repetition + ("?" if is_lazy else ""), repeatable=False)

    def _count(self, count: re.Match[str]) -> None:
        least, most = int(count[1]), int(count[3] or 0) if count[2] else int(count[1])
        self.repeats *= max(least, most, 1)
        if max(least, most) > REPEAT_MAX or self.repeats > REPEATS_MAX:
            raise RefusedPattern(TOO_MANY)
        self._repeat(count[0], is_optional=least == 0)

    def _end_alternative(self) -> None:
        self.literals.append(max(self.runs, key=len))
        self.runs = [""]


def found_in(text: str, literal: str) -> Iterator[SearchedLine]:
    """Yield the lines in which a literal begins, each once with the first place.

    Forms of characters and separators of numbers do not matter.
    """
    last = 0
    number, counted = 1, 0
    compared = comparable(text)
    for match in re.finditer(expression_of(comparable(literal).text), compared.text, re.IGNORECASE):
        begins, ends = compared.span(*match.span())
        number += text.count("\n", counted, begins)
        counted = begins
        if number > last:
            start = text.rfind("\n", 0, begins) + 1
            end = text.find("\n", begins)
            line = text[start : end if end >= 0 else None].removesuffix("\r")
            yield SearchedLine(number, begins, shown(line, begins - start, ends - begins))
            last = number


def shown(line: str, start: int, length: int) -> str:
    """Return a line, or a part of it around the match, with the match marked ``**so**``."""
    length = min(length, SHOWN_CHARACTERS, max(0, len(line) - start))
    room = SHOWN_CHARACTERS - length
    first = max(0, min(start - room // 2, len(line) - SHOWN_CHARACTERS))
    last = first + SHOWN_CHARACTERS
    before, match, after = (
        line[first:start],
        line[start : start + length],
        line[start + length : max(last, start + length)],
    )
    return f"{'…' if first else ''}{before}**{match}**{after}{'…' if last < len(line) else ''}"


def take(spans: Sequence[MessageSpan], messages: int) -> tuple[list[MessageSpan], list[MessageSpan]]:
    """Return the spans of the newest ``messages`` messages, and the rest."""
    taken: list[MessageSpan] = []
    rest = list(spans)
    while rest and messages > 0:
        span = rest.pop(0)
        first = max(span.first, span.last - messages + 1)
        taken.append(MessageSpan(span.conversation_id, first, span.last))
        messages -= span.last - first + 1
        if first > span.first:
            rest.insert(0, MessageSpan(span.conversation_id, span.first, first - 1))
    return taken, rest


def below(spans: Sequence[MessageSpan], conversation_id: str, seq: int) -> list[MessageSpan]:
    """Return the rest of spans that were read down to a message."""
    place = next(i for i, span in enumerate(spans) if span.conversation_id == conversation_id)
    cut = MessageSpan(conversation_id, spans[place].first, seq - 1)
    return [*([cut] if cut.last >= cut.first else []), *spans[place + 1 :]]
