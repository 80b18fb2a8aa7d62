"""Documents: what a path holds, before anybody asks whose it is."""

from __future__ import annotations

import json
import sqlite3
from codecs import BOM_UTF16_BE, BOM_UTF16_LE
from collections.abc import Iterable, Mapping
from contextlib import closing
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from quire_command.files.large import Large, large_json, large_rows
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
DUMP = b"--\n-- PostgreSQL database dump"
BLANK = b"\xef\xbb\xbf \t\r\n"
LOOKED_AT = 4096
"""Bytes that tell the form of a file."""
LARGE_BYTES = 32_000_000
"""A larger file, or folder, is read twice, piece by piece: to know what it holds, and to store it."""
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
    path: Path | None = field(default=None, compare=False)
    """Where the file is, for what belongs to it and lies beside it."""

    @property
    def lines(self) -> int:
        """Count its lines, its elements, or the rows of its tables."""
        rows = sum(map(len, self.tables.values())) + len(self.files)
        return (len(self.value) if isinstance(self.value, list) else rows or 1) + len(self.skipped)

    @property
    def is_large(self) -> bool:
        return isinstance(self.value, Large)

    @property
    def sample(self) -> Document:
        """Return the document with the beginning of what is large, which tells the tool that wrote it."""
        return replace(self, value=self.value.sample()) if isinstance(self.value, Large) else self

    @property
    def stem(self) -> str:
        return Path(self.name).stem


def beside(document: Document, *places: str) -> str | None:
    """Return the text of the first of these files, by their places from the document's folder; None if there is none.

    What lies further away than in the folder above is not read: names come from a file that others wrote.
    """
    if document.path is None:
        return None
    folder = document.path.parent.resolve()
    for place in places:
        file = (folder / place).resolve()
        if file.is_relative_to(folder.parent) and file.is_file() and file.stat().st_size <= LARGE_BYTES:
            return file.read_text("utf-8", "replace")
    return None


def names_in(path: Path) -> list[str]:
    """Return the files of a folder by their paths within it, in order."""
    files = (one for one in path.rglob("*") if one.is_file() and not one.name.startswith("."))
    return sorted(str(one.relative_to(path)) for one in files)


def size_of(path: Path) -> int:
    return sum((path / name).stat().st_size for name in names_in(path)) if path.is_dir() else path.stat().st_size


def in_folder(path: Path, name: str) -> Document:
    """Return the document of a file in a folder; of one that cannot be read nothing but what is skipped."""
    try:
        return opened(name, path / name)
    except ValueError as error:
        return Document(name, skipped=(Skipped(name, str(error)),))


def document(name: str, content: bytes, path: Path | None = None) -> Document:
    """Return a file's document. Raises ValueError, whose text follows the file's name."""
    if content.startswith(SQLITE):
        if path is None:
            raise ValueError("is a database: name it as a file")
        return Document(name, tables=_database(path))
    if content.startswith((BOM_UTF16_LE, BOM_UTF16_BE)):  # as PowerShell redirects
        content = content.decode("utf-16", "replace").encode()
    begun = content.lstrip(BLANK)
    for first, what in _REFUSED.items():
        if begun.startswith(first):
            raise ValueError(what)
    if not begun:
        raise ValueError("is empty")
    text = begun.decode("utf-8", "replace")
    if content.startswith(DUMP):
        return Document(name, tables=dumped(text))
    return _json(name, text)


def _json(name: str, text: str) -> Document:
    try:
        value = json.loads(text)
        return _json(name, value) if isinstance(value, str) and value[:1] in ("{", "[") else Document(name, value)
    except RecursionError:
        raise ValueError("is nested too deeply") from None
    except ValueError as error:
        whole, skipped = _lines(name, text.split("\n"))
        if whole:
            return Document(name, whole, skipped=tuple(skipped))
        raise ValueError(_why_not(text, error)) from None


def opened(name: str, path: Path) -> Document:
    """Return the document of a file, of which little is held if it is large. Raises ValueError as ``document`` does."""
    with path.open("rb") as file:
        begun = file.read(LOOKED_AT)
    if path.stat().st_size <= LARGE_BYTES or begun.startswith((SQLITE, DUMP)):
        return replace(document(name, path.read_bytes(), path), path=path)
    if begun.lstrip(BLANK)[:1] not in (b"[", b"{"):
        return document(name, begun)
    try:
        return Document(name, large_json(path), path=path)
    except ValueError:
        left = _Left(name)
        if rows := large_rows(path, left.is_row):
            return Document(name, rows, skipped=tuple(left.found), path=path)
        raise


def _lines(name: str, lines: Iterable[str]) -> tuple[list[Any], list[Skipped]]:
    """Return the JSON of each line that has some, and the lines that are left out."""
    left = _Left(name)
    found = (left.row(number, line) for number, line in enumerate(lines, 1))
    return [row for row in found if row is not None], left.found


class _Left:
    """The lines of a file that are no JSON objects."""

    def __init__(self, name: str) -> None:
        self.found: list[Skipped] = []
        self._name = name

    def row(self, number: int, line: str) -> Json | None:
        if not line.strip():
            return None
        try:
            value = json.loads(line)
        except (ValueError, RecursionError):
            self._skip(number, "it is not whole JSON")
            return None
        if not isinstance(value, dict):
            self._skip(number, "it is no JSON object")
            return None
        return value

    def is_row(self, number: int, line: bytes) -> bool:
        return self.row(number, line.decode("utf-8-sig", "replace")) is not None

    def _skip(self, number: int, reason: str) -> None:
        self.found.append(Skipped(f"{self._name}, line {number}", reason))


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


def looks_like(found: Document) -> str:
    """Return what a document looks like, to follow its name."""
    if found.tables:
        return f"is a database with the tables {', '.join(sorted(found.tables)[:NAMED_MAX])}"
    value = found.value
    match value:
        case dict():
            return f"is a JSON object with {', '.join(list(value)[:NAMED_MAX]) or 'no members'}"
        case [dict(first), *_]:
            return f"is a list of {len(value)}, the first with {', '.join(list(first)[:NAMED_MAX])}"
        case list():
            return f"is a list of {len(value)}"
    return "is a single JSON value"
