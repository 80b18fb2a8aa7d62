"""Documents: what a path holds, before anybody asks whose it is."""

from __future__ import annotations

import codecs
import json
import re
import sqlite3
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

from quire_command.files.packed import dumped
from quire_command.files.values import Json, Skipped

Tables = Mapping[str, list[Json]]
_REFUSED = {
    b"PK\x03\x04": "is a ZIP archive: unpack it first",
    b"\x1f\x8b": "is compressed: unpack it first",
    b"<": "is XML or HTML",
    b"%PDF": "is a PDF",
}
SQLITE = b"SQLite format 3\x00"
LARGE_BYTES = 32_000_000
"""A larger file, or folder, is read twice, piece by piece: to know what it holds, and to store it."""
PIECE_BYTES = 4_000_000
ELEMENT_MAX = 256_000_000
"""Characters of one conversation."""
_BETWEEN = re.compile(r"[\s,]*")
NAMED_MAX = 6
"""Members that are named of a JSON object."""


@dataclass(frozen=True, slots=True)
class Document:
    """One file, or a folder that belongs together. One of its values is set."""

    name: str
    value: Any = None
    """JSON; of JSON lines their list."""
    tables: Tables = field(default_factory=dict)
    """Rows by table, of a database, a dump or a folder with a file for each table."""
    files: Mapping[str, Any] = field(default_factory=dict)
    """JSON by path, of a folder."""
    skipped: tuple[Skipped, ...] = ()
    number: int = 1
    """Of a large list that is read element by element: the place of this one."""

    @property
    def stem(self) -> str:
        return Path(self.name).stem


def names_in(path: Path) -> list[str]:
    """Return the files of a folder by their paths within it, in order."""
    files = (one for one in path.rglob("*") if one.is_file() and not one.name.startswith("."))
    return sorted(str(one.relative_to(path)) for one in files)


def size_of(path: Path) -> int:
    return sum((path / name).stat().st_size for name in names_in(path)) if path.is_dir() else path.stat().st_size


def in_folder(path: Path, name: str) -> Document:
    """Return the document of a file in a folder; of one that cannot be read nothing but what is skipped."""
    try:
        return document(name, (path / name).read_bytes(), path / name)
    except ValueError as error:
        return Document(name, skipped=(Skipped(name, str(error)),))


def elements(file: IO[bytes]) -> Iterator[Any]:
    """Yield the elements of a JSON array, of which few are held at once. Raises ValueError, as ``document`` does."""
    decode, decoder = codecs.getincrementaldecoder("utf-8-sig")("replace").decode, json.JSONDecoder()
    text, at = decode(file.read(PIECE_BYTES)).lstrip(), 1
    if not text.startswith("["):
        raise ValueError("is no list")
    while True:
        found = _BETWEEN.match(text, at)
        at = found.end() if found else at
        if text[at : at + 1] == "]":
            return
        try:
            value, at = decoder.raw_decode(text, at)
            yield value
        except RecursionError:
            raise ValueError("is nested too deeply") from None
        except ValueError:
            piece = file.read(max(PIECE_BYTES, len(text) - at))  # twice as much each time, so that it ends soon
            if not piece or len(text) - at > ELEMENT_MAX:
                raise ValueError("is JSON that ends too early, or with a mistake in it") from None
            text, at = text[at:] + decode(piece), 0


def document(name: str, content: bytes, path: Path | None = None) -> Document:
    """Return a file's document. Raises ValueError, whose text follows the file's name."""
    if content.startswith(SQLITE):
        if path is None:
            raise ValueError("is a database: name it as a file")
        return Document(name, tables=_database(path))
    begun = content.lstrip(b"\xef\xbb\xbf \t\r\n")
    for first, what in _REFUSED.items():
        if begun.startswith(first):
            raise ValueError(what)
    if not begun:
        raise ValueError("is empty")
    text = begun.decode("utf-8", "replace")
    if text.startswith("--\n-- PostgreSQL database dump"):
        return Document(name, tables=dumped(text))
    return _json(name, text)


def _json(name: str, text: str) -> Document:
    try:
        return Document(name, json.loads(text))
    except RecursionError:
        raise ValueError("is nested too deeply") from None
    except ValueError as error:
        whole, skipped = _lines(name, text.split("\n"))
        if whole:
            return Document(name, whole, skipped=tuple(skipped))
        raise ValueError(_why_not(text, error)) from None


def large_lines(path: Path) -> Document | None:
    """Return the document of a large file of JSON lines, of which only the values are held; None for another file."""
    with path.open(encoding="utf-8-sig", errors="replace", newline="\n") as file:
        first, _ = _lines(path.name, [file.readline()])
        if not first:
            return None
        file.seek(0)
        whole, skipped = _lines(path.name, file)
    return Document(path.name, whole, skipped=tuple(skipped))


def _lines(name: str, lines: Iterable[str]) -> tuple[list[Any], list[Skipped]]:
    """Return the JSON of each line that has some, and the lines that are left out."""
    whole: list[Any] = []
    skipped: list[Skipped] = []
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            value = json.loads(line)
        except (ValueError, RecursionError):
            skipped.append(Skipped(f"{name}, line {number}", "it is not whole JSON"))
            continue
        if isinstance(value, dict):
            whole.append(value)
        else:
            skipped.append(Skipped(f"{name}, line {number}", "it is no JSON object"))
    return whole, skipped


def _why_not(text: str, error: ValueError) -> str:
    if text[:1] not in "{[":
        return "is text, not JSON"
    line = getattr(error, "lineno", 1)
    return f"is JSON with a mistake in line {line}: {getattr(error, 'msg', error)}"


def _database(path: Path) -> Tables:
    """Return the rows of a SQLite file, which is only read. Raises ValueError."""
    try:
        with closing(sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro", uri=True)) as connection:
            connection.row_factory = sqlite3.Row
            names = [row[0] for row in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
            quoted = {name: name.replace('"', '""') for name in names}
            return {n: [dict(row) for row in connection.execute(f'SELECT * FROM "{q}"')] for n, q in quoted.items()}  # noqa: S608 - names of its own tables, quoted
    except sqlite3.Error as error:
        raise ValueError(f"is a database that cannot be read: {error}") from None


def looks_like(value: Any) -> str:
    """Return what a document looks like, to follow its name."""
    match value:
        case dict():
            return f"is a JSON object with {', '.join(list(value)[:NAMED_MAX]) or 'no members'}"
        case [dict(first), *_]:
            return f"is a list of {len(value)}, the first with {', '.join(list(first)[:NAMED_MAX])}"
        case list():
            return f"is a list of {len(value)}"
    return "is a single JSON value"
