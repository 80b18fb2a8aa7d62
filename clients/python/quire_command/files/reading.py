"""Documents: what a path holds, before anybody asks whose it is."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

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

    @property
    def stem(self) -> str:
        return Path(self.name).stem


def documents(path: Path) -> Iterator[Document]:
    """Yield the documents of a file or a folder, in the order of their names. Raises ValueError for another file.

    A file in a folder that cannot be read is a document with nothing but what is skipped.
    """
    if not path.is_dir():
        yield document(path.name, path.read_bytes(), path)
        return
    for file in sorted(one for one in path.rglob("*") if one.is_file() and not one.name.startswith(".")):
        name = str(file.relative_to(path))
        try:
            yield document(name, file.read_bytes(), file)
        except ValueError as error:
            yield Document(name, skipped=(Skipped(name, str(error)),))


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
        whole, skipped = _lines(name, text)
        if whole:
            return Document(name, whole, skipped=tuple(skipped))
        raise ValueError(_why_not(text, error)) from None


def _lines(name: str, text: str) -> tuple[list[Any], list[Skipped]]:
    """Return the JSON of each line that has some, and the lines that are left out."""
    whole: list[Any] = []
    skipped: list[Skipped] = []
    for number, line in enumerate(text.split("\n"), 1):
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
