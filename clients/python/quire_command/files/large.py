"""Large files, of which little is held: containers that are views of a file, and messages that wait in another.

Of a list or an object that is larger than a piece only the places of its elements are known; an element is read when it
is looked at. Everything smaller is an ordinary value.
"""

from __future__ import annotations

import json
import re
from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO, Any, Final, SupportsIndex, overload

PIECE_BYTES: Final = 4_000_000
"""What is read at once. A container that fits is held whole, which takes some three times as much."""
VALUE_MAX: Final = 256_000_000
"""Bytes of one text or number; a message can have no more than a million characters."""
SAMPLE: Final = 100
"""Elements of a large list that tell which tool wrote it."""
_BLANKS: Final = re.compile(r"[ \t\r\n]*")
_BEGINS: Final = frozenset('{["-0123456789tfnNI')
_OTHER_END: Final = {"[": "]", "{": "}"}


class _Bytes:
    """A file's bytes by their places. The file is closed when nobody knows it any more."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file

    def read(self, at: int, size: int) -> bytes:
        self._file.seek(at)
        return self._file.read(size)

    def lines(self) -> Iterator[bytes]:
        self._file.seek(0)
        return iter(partial(self._file.readline, VALUE_MAX), b"")

    def __del__(self) -> None:
        self._file.close()


class LargeList(list[Any]):
    """A list in a file. It compares, adds and copies as a list does, and cannot be changed."""

    def __init__(
        self, file: _Bytes, starts: array[int], ends: array[int], large: Mapping[int, Any], *, has_objects: bool
    ) -> None:
        super().__init__()
        self._file, self._starts, self._ends, self._large = file, starts, ends, large
        self.has_objects = has_objects
        """All of its elements are objects, which tells without reading them again."""

    def __len__(self) -> int:
        return len(self._starts)

    def __iter__(self) -> Iterator[Any]:
        return (self._at(place) for place in range(len(self)))

    def __reversed__(self) -> Iterator[Any]:
        return (self._at(place) for place in range(len(self) - 1, -1, -1))

    @overload
    def __getitem__(self, key: SupportsIndex) -> Any: ...
    @overload
    def __getitem__(self, key: slice) -> list[Any]: ...
    def __getitem__(self, key: SupportsIndex | slice) -> Any:
        if isinstance(key, slice):
            return LargeList(self._file, self._starts[key], self._ends[key], self._large, has_objects=self.has_objects)
        return self._at(range(len(self))[key])

    def __add__(self, other: list[Any]) -> list[Any]:
        return [*self, *other]

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, list)
            and len(self) == len(other)
            and all(a == b for a, b in zip(self, other, strict=True))
        )

    __hash__ = None

    def __contains__(self, value: object) -> bool:
        return any(one == value for one in self)

    def only(self, places: Iterable[int]) -> LargeList:
        """Return the elements at places."""
        kept = array("Q", places)
        starts, ends = (array("Q", (of[place] for place in kept)) for of in (self._starts, self._ends))
        return LargeList(self._file, starts, ends, self._large, has_objects=self.has_objects)

    def sample(self) -> list[Any]:
        return list(self[:SAMPLE])

    def whole(self) -> list[Any]:
        return [_whole(one) for one in self]

    def _at(self, place: int) -> Any:
        return _value(self._file, self._large, self._starts[place], self._ends[place])


class LargeObject(dict[str, Any]):
    """An object in a file, which cannot be changed."""

    def __init__(self, file: _Bytes, places: Mapping[str, tuple[int, int]], large: Mapping[int, Any]) -> None:
        super().__init__()
        self._file, self._places, self._large = file, places, large

    def __len__(self) -> int:
        return len(self._places)

    def __iter__(self) -> Iterator[str]:
        return iter(self._places)

    def __contains__(self, key: object) -> bool:
        return key in self._places

    def __getitem__(self, key: str) -> Any:
        return _value(self._file, self._large, *self._places[key])

    def get(self, key: str, default: Any = None) -> Any:
        return self[key] if key in self._places else default

    def keys(self) -> Any:
        return self._places.keys()

    def values(self) -> Any:
        return (self[key] for key in self._places)

    def items(self) -> Any:
        return ((key, self[key]) for key in self._places)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, dict) and dict(self.items()) == other

    __hash__ = None

    def sample(self) -> dict[str, Any]:
        """Return the object with few elements of its large lists."""
        names = list(self._places)[:SAMPLE]
        found = {name: self[name] for name in names}
        return {name: one.sample() if isinstance(one, Large) else one for name, one in found.items()}

    def whole(self) -> dict[str, Any]:
        return {key: _whole(value) for key, value in self.items()}


Large = LargeList | LargeObject


def has_objects(value: Any) -> bool:
    """Return whether a value is a list of objects, and not empty."""
    if isinstance(value, LargeList):
        return bool(value) and value.has_objects
    return isinstance(value, list) and bool(value) and all(isinstance(one, dict) for one in value)


def only(rows: Sequence[Any], places: Sequence[int]) -> list[Any]:
    """Return the rows at places."""
    return rows.only(places) if isinstance(rows, LargeList) else [rows[place] for place in places]


def _whole(value: Any) -> Any:
    return value.whole() if isinstance(value, Large) else value


def plain(value: Any) -> Any:
    """Return a value in which nothing is large: `json` writes an empty object for one that is in a file."""
    match value:
        case LargeList() | LargeObject():
            return value.whole()
        case dict():
            return {name: plain(one) for name, one in value.items()}
        case list():
            return [plain(one) for one in value]
    return value


def _value(file: _Bytes, large: Mapping[int, Any], start: int, end: int) -> Any:
    if start in large:
        return large[start]
    return json.loads(file.read(start, end - start).decode("utf-8-sig", "replace"))


def large_json(path: Path) -> Any:
    """Return the JSON of a file. Raises ValueError for one that is not a single list or object from end to end."""
    reader = _Reader(_Bytes(path.open("rb")))
    first, at = reader.mark(0)
    if first not in ("[", "{"):
        raise _mistake(at)
    found, end = reader.container(at)
    if reader.mark(end)[0]:
        raise _mistake(end)
    return found


def _mistake(at: int) -> ValueError:
    return ValueError(f"is JSON that ends too early, or with a mistake, at byte {at + 1:,}")


class _Reader:
    """Finds where a file's values begin and end.

    Its bytes are read as one character each, so that places count bytes: JSON's own marks are ASCII.
    """

    def __init__(self, file: _Bytes) -> None:
        self._file = file
        self._text, self._start = "", 0
        self._decode = json.JSONDecoder().raw_decode

    def _fill(self, at: int, size: int) -> None:
        self._text, self._start = self._file.read(at, size).decode("latin-1"), at
        if at == 0 and self._text.startswith("\xef\xbb\xbf"):
            self._text = "   " + self._text[3:]

    def mark(self, at: int) -> tuple[str, int]:
        """Return the next character that is no blank, and its place; "" at the end of the file."""
        while True:
            if not self._start <= at < self._start + len(self._text):
                self._fill(at, PIECE_BYTES)
                if not self._text:
                    return "", at
            found = _BLANKS.match(self._text, at - self._start)
            assert found is not None
            at = self._start + found.end()
            if found.end() < len(self._text):
                return self._text[found.end()], at

    def value(self, at: int) -> tuple[Any, int]:
        """Return a large container, or None for any other value, that begins at a place; and where it ends."""
        size = PIECE_BYTES
        while True:
            if (end := self._decoded(at)) is not None:
                return None, end
            if self._start != at or len(self._text) < size:
                self._fill(at, size)
                if self._decoded(at) is None and len(self._text) < size:
                    raise _mistake(at)
            elif self._text[0] in _OTHER_END:
                return self.container(at)
            else:
                size *= 2
                if size > VALUE_MAX:
                    raise _mistake(at)

    def _decoded(self, at: int) -> int | None:
        """Return where a value ends that stands in what was read; None if it may go on."""
        try:
            _, end = self._decode(self._text, at - self._start)
        except ValueError:
            return None
        is_whole = end < len(self._text) or self._text[end - 1] in '"]}'
        return self._start + end if is_whole or not self._file.read(self._start + end, 1) else None

    def container(self, at: int) -> tuple[Any, int]:
        """Return a list or object that begins at a place, and where it ends."""
        try:
            return self._container(at)
        except RecursionError:
            raise ValueError("is nested too deeply") from None

    def _container(self, at: int) -> tuple[Any, int]:
        first, at = self.mark(at)
        starts, ends, large = array("Q"), array("Q"), dict[int, Any]()
        names: list[str] = []
        has_objects = True
        mark, at = self.mark(at + 1)
        while mark != _OTHER_END[first] or starts:
            if first == "{":
                name, at = self._name(mark, at)
                names.append(name)
            mark, at = self.mark(at)
            if mark not in _BEGINS:
                raise _mistake(at)
            has_objects = has_objects and mark == "{"
            found, end = self.value(at)
            if found is not None:
                large[at] = found
            starts.append(at)
            ends.append(end)
            mark, at = self.mark(end)
            if mark == _OTHER_END[first]:
                break
            if mark != ",":
                raise _mistake(at)
            mark, at = self.mark(at + 1)
        if first == "{":
            return LargeObject(self._file, dict(zip(names, zip(starts, ends, strict=True), strict=True)), large), at + 1
        return LargeList(self._file, starts, ends, large, has_objects=has_objects), at + 1

    def _name(self, mark: str, at: int) -> tuple[str, int]:
        if mark != '"':
            raise _mistake(at)
        _, end = self.value(at)
        name = _value(self._file, {}, at, end)
        mark, at = self.mark(end)
        if mark != ":":
            raise _mistake(at)
        return name, at + 1


def large_rows(path: Path, is_row: Callable[[int, bytes], bool]) -> LargeList:
    """Return the JSON of the lines that ``is_row(number, line)`` takes."""
    file = _Bytes(path.open("rb"))
    starts, ends = array("Q"), array("Q")
    at = 0
    for number, line in enumerate(file.lines(), 1):
        if is_row(number, line):
            starts.append(at)
            ends.append(at + len(line))
        at += len(line)
    return LargeList(file, starts, ends, {}, has_objects=True)


class Kept(Sequence[tuple[Any, str | None]]):
    """Messages with their times, in a file that is gone with them."""

    def __init__(self, file: _Bytes, starts: array[int], sizes: array[int]) -> None:
        self._file, self._starts, self._sizes = file, starts, sizes

    def __len__(self) -> int:
        return len(self._starts)

    @overload
    def __getitem__(self, key: int) -> tuple[Any, str | None]: ...
    @overload
    def __getitem__(self, key: slice) -> Kept: ...
    def __getitem__(self, key: int | slice) -> Any:
        if isinstance(key, slice):
            return Kept(self._file, self._starts[key], self._sizes[key])
        written = self._file.read(self._starts[key], self._sizes[key])
        message, time = json.loads(written.decode("utf-8", "surrogatepass"))
        return message, time


KEPT_CHARACTERS: Final = 32_000_000
"""Of a conversation that is held; a longer one waits in a file."""


def kept(messages: Iterable[tuple[Any, str | None]]) -> Sequence[tuple[Any, str | None]]:
    """Return messages as a list, or as a file if they are many."""
    held: list[tuple[Any, str | None]] = []
    size = 0
    waiting = iter(messages)
    for one in waiting:
        held.append(one)
        size += _size(one[0])
        if size > KEPT_CHARACTERS:
            return _in_file(held, waiting)
    return held


def _size(message: Mapping[str, Any]) -> int:
    content = message.get("content")
    return len(content) if isinstance(content, str) and "tool_calls" not in message else len(repr(message))


def _in_file(held: list[tuple[Any, str | None]], more: Iterator[tuple[Any, str | None]]) -> Kept:
    file: IO[bytes] = TemporaryFile()  # noqa: SIM115 - see _Bytes
    starts, sizes = array("Q"), array("Q")
    at = 0
    for messages in (held, more):
        for message, time in messages:
            written = json.dumps([plain(message), time], ensure_ascii=False, separators=(",", ":")).encode(
                "utf-8", "surrogatepass"
            )
            file.write(written)
            starts.append(at)
            sizes.append(len(written))
            at += len(written)
        held.clear()
    return Kept(_Bytes(file), starts, sizes)
