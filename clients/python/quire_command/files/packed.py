"""MessagePack as LangGraph writes it, the rows of a PostgreSQL dump, and ZIP archives."""

from __future__ import annotations

import re
import shutil
import struct
import subprocess
import zlib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit
from zipfile import BadZipFile, ZipFile

_FIXED: Mapping[int, str] = {
    0xCA: ">f", 0xCB: ">d", 0xCC: ">B", 0xCD: ">H", 0xCE: ">I", 0xCF: ">Q", 0xD0: ">b", 0xD1: ">h", 0xD2: ">i",
    0xD3: ">q",
}  # fmt: skip
_SIZED: Mapping[int, tuple[str, str]] = {
    0xC4: (">B", "bin"), 0xC5: (">H", "bin"), 0xC6: (">I", "bin"), 0xD9: (">B", "str"), 0xDA: (">H", "str"),
    0xDB: (">I", "str"), 0xDC: (">H", "list"), 0xDD: (">I", "list"), 0xDE: (">H", "map"), 0xDF: (">I", "map"),
    0xC7: (">B", "ext"), 0xC8: (">H", "ext"), 0xC9: (">I", "ext"),
}  # fmt: skip
_CONSTANT = {0xC0: None, 0xC2: False, 0xC3: True}
DEPTH_MAX = 100


def unpacked(data: bytes) -> Any:
    """Return a MessagePack value; an object of a class as its members. Raises ValueError."""
    try:
        return _Unpacking(data).value(0)
    except (IndexError, struct.error, UnicodeDecodeError) as error:
        raise ValueError("it is not MessagePack") from error


class _Unpacking:
    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0

    def value(self, depth: int) -> Any:
        if depth > DEPTH_MAX:
            raise ValueError("it is nested too deeply")
        first = self._take(1)[0]
        if first < 0x80 or first >= 0xE0:
            return first if first < 0x80 else first - 0x100
        if first in _CONSTANT:
            return _CONSTANT[first]
        if first in _FIXED:
            return self._number(_FIXED[first])
        kind, size = self._kind(first)
        return self._made(kind, size, depth)

    def _kind(self, first: int) -> tuple[str, int]:
        """Return what begins with a byte, and its size."""
        if first in _SIZED:
            form, kind = _SIZED[first]
            return kind, self._number(form)
        for until, kind, mask in ((0x90, "map", 0x0F), (0xA0, "list", 0x0F), (0xC0, "str", 0x1F)):
            if first < until:
                return kind, first & mask
        if 0xD4 <= first <= 0xD8:
            return "ext", 1 << (first - 0xD4)
        raise ValueError("it is not MessagePack")

    def _take(self, size: int) -> bytes:
        end = self._at + size
        if end > len(self._data):
            raise IndexError
        found, self._at = self._data[self._at : end], end
        return found

    def _number(self, form: str) -> Any:
        return struct.unpack(form, self._take(struct.calcsize(form)))[0]

    def _made(self, kind: str, size: int, depth: int) -> Any:
        makers: Mapping[str, Callable[[], Any]] = {
            "map": lambda: {str(self.value(depth + 1)): self.value(depth + 1) for _ in range(size)},
            "list": lambda: [self.value(depth + 1) for _ in range(size)],
            "str": lambda: self._take(size).decode(),
            "bin": lambda: self._take(size),
            "ext": lambda: self._extension(size, depth),
        }
        return makers[kind]()

    def _extension(self, size: int, depth: int) -> Any:
        """Return an object's members: its class and arguments are a list, packed once more."""
        self._take(1)
        content = self._take(size)
        try:
            inner = _Unpacking(content).value(depth + 1)
        except (ValueError, IndexError, struct.error, UnicodeDecodeError):
            return None
        if not isinstance(inner, list) or len(inner) < 3:
            return inner
        _module, name, arguments, *_ = inner
        return {**arguments, "class": name} if isinstance(arguments, dict) else arguments


def dump(url: str, folder: Path) -> Path:
    """Return a dump of a PostgreSQL database in a folder. Raises ValueError, without the password of the URL."""
    name = (urlsplit(url).path.strip("/") or "database")[:100]
    file = folder / f"{name}.sql"
    program = shutil.which("pg_dump")
    if program is None:
        raise ValueError("To read a database `pg_dump` is needed: install PostgreSQL's client programs")
    asked = [program, "--data-only", "--no-owner", "--dbname", url, "--file", str(file)]
    done = subprocess.run(asked, capture_output=True, text=True, check=False)  # noqa: S603 - no shell reads the URL
    if done.returncode:
        said = done.stderr.strip().replace(url, name).splitlines()
        raise ValueError(f"pg_dump failed: {said[0] if said else done.returncode}")
    return file


def unzipped(path: Path, folder: Path) -> Path:
    """Unpack an archive's JSON, without the pictures beside it, into a folder, and return that. Raises ValueError."""
    try:
        with ZipFile(path) as archive:
            wanted = [one for one in archive.infolist() if one.filename.endswith((".json", ".jsonl"))]
            if not wanted:
                raise ValueError("is a ZIP archive without JSON")
            if sum(one.file_size for one in wanted) > shutil.disk_usage(folder).free:
                raise ValueError("is a ZIP archive that is larger than the disk has room for")
            archive.extractall(folder, wanted)
    except (
        BadZipFile,
        NotImplementedError,
        OSError,
        RuntimeError,
        zlib.error,
    ) as error:  # RuntimeError: it has a password
        raise ValueError(f"is a ZIP archive that cannot be read: {error}") from None
    return folder


_COPY = re.compile(r'^COPY (?:[\w"]+\.)?"?(\w+)"? \(([^)]*)\) FROM stdin;$')
_ESCAPED = re.compile(r"\\(.)", re.DOTALL)
_MEANT = {"t": "\t", "n": "\n", "r": "\r", "b": "\b", "f": "\f", "v": "\v"}


def dumped(text: str) -> dict[str, list[dict[str, Any]]]:
    """Return the rows of each table of a dump that `pg_dump` wrote in its plain form."""
    tables: dict[str, list[dict[str, Any]]] = {}
    columns: list[str] = []
    rows: list[dict[str, Any]] | None = None
    for line in text.splitlines():
        if rows is None:
            if begun := _COPY.match(line):
                columns = [name.strip().strip('"') for name in begun[2].split(",")]
                rows = tables.setdefault(begun[1], [])
        elif line == "\\.":
            rows = None
        else:
            rows.append(dict(zip(columns, map(_field, line.split("\t")), strict=False)))
    return tables


def _field(text: str) -> Any:
    if text == "\\N":
        return None
    plain = _ESCAPED.sub(lambda found: _MEANT.get(found[1], found[1]), text)
    try:
        return bytes.fromhex(plain[2:]) if plain.startswith("\\x") else plain
    except ValueError:
        return plain
