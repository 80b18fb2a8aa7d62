"""Base64 files inside texts: found by their form and shown as a mark of one line.

Such a stretch says nothing to a model and costs a token for every two or three characters. It is one long run of the
alphabet, or lines of one length, whose characters are mixed as those of encoded bytes are. Hex dumps, paths, minified
code and words are not. What was sent is stored unchanged.
"""

from __future__ import annotations

import re
from base64 import urlsafe_b64decode
from collections.abc import Callable, Iterator
from typing import NamedTuple

CHARACTERS_MIN = 200
"""Shorter ones are hashes, keys and ids, which are read as text."""
LINE_MIN = 60
"""Characters of the lines of a wrapped one."""
SAMPLE = 4_096
"""Characters that tell what a stretch is: a multiple of four."""
_ALPHABET = "A-Za-z0-9+/_-"
_LINE = re.compile(rf"(?:(?<![\\{_ALPHABET}])|(?<=\\[nrt]))[{_ALPHABET}]{{{LINE_MIN},}}")
_RUN = b"x" * LINE_MIN
_IS_ALPHABET = bytes.maketrans(
    bytes(range(256)),
    bytes(ord("x") if chr(byte).isascii() and re.match(r"[\w+/-]", chr(byte)) else 0 for byte in range(256)),
)
"""Tells tenfold as fast as the expression whether there is any line."""
_NEXT = re.compile(rf"(?:\r?\n|(?:\\+r)?\\+n)[ \t]*([{_ALPHABET}]++)(={{0,2}}+)(?![ \t.,:;!?])")
_DATA_URL = re.compile(r"data:([\w.+-]+/[\w.+-]+)?(?:;[\w.=+-]+)*;base64,\Z", re.ASCII)
_URL_MAX = 200
_MARK = re.compile(r"\[base64: [^\]\n]*\]")
_WORD = re.compile("[A-Z]?[a-z]+|[A-Z]+")
_PADDING = re.compile("={0,2}")
_KEY = re.compile(rb"\x00\x00\x00.(?:ssh|ecdsa|sk)-", re.DOTALL)
"""A public key of SSH is copied as text."""
_TYPES = tuple(
    (re.compile(begins, re.DOTALL), kind)
    for begins, kind in (
        (rb"\x89PNG", "image/png"),
        (rb"\xff\xd8\xff", "image/jpeg"),
        (rb"GIF8", "image/gif"),
        (rb"BM.{4}\0{4}", "image/bmp"),
        (rb"RIFF....WEBP", "image/webp"),
        (rb"RIFF....WAVE", "audio/wav"),
        (rb"%PDF", "application/pdf"),
        (rb"PK\x03\x04", "application/zip"),
        (rb"\x1f\x8b\x08", "application/gzip"),
        (rb"ID3|\xff[\xfb\xf3]", "audio/mpeg"),
        (rb"OggS", "audio/ogg"),
        (rb"fLaC", "audio/flac"),
        (rb"....ftyp", "video/mp4"),
        (rb"\x1aE\xdf\xa3", "video/webm"),
        (rb"\x7fELF", "application/x-elf"),
        (rb"SQLite format 3", "application/vnd.sqlite3"),
    )
)


class EncodedFile(NamedTuple):
    start: int
    end: int
    kind: str
    """Its media type; "" if unknown."""
    size: int
    """In bytes."""

    @property
    def mark(self) -> str:
        return f"[base64: {self.kind + ', ' if self.kind else ''}{self.size:,} bytes]"


def marked(text: str) -> str:
    """Return a text with a mark in the place of each file."""
    return _replace_files(text, lambda found: found.mark)


def is_mark(text: str) -> bool:
    """Return whether a text consists of a single mark."""
    return _MARK.fullmatch(text.strip()) is not None


def blanked(text: str) -> str:
    """Return a text with each file blanked, so that offsets and lines stay."""
    return _replace_files(text, lambda found: re.sub(r"[^\n]", " ", text[found.start : found.end]))


def files_of(text: str) -> Iterator[EncodedFile]:
    """Yield the files in a text, in order."""
    if len(text) < LINE_MIN or _RUN not in text.encode(errors="replace").translate(_IS_ALPHABET):
        return
    at = 0
    while (line := _LINE.search(text, at)) is not None:
        at, joined = _lines(text, line)
        url = _DATA_URL.search(text, max(0, line.start() - _URL_MAX), line.start())
        kind = url[1] or "text/plain" if url else _kind(joined)
        if kind is not None:
            yield EncodedFile(url.start() if url else line.start(), at, kind, len(joined) * 3 // 4)


def _replace_files(text: str, put: Callable[[EncodedFile], str]) -> str:
    pieces, at = list[str](), 0
    for found in files_of(text):
        pieces += [text[at : found.start], put(found)]
        at = found.end
    return "".join([*pieces, text[at:]]) if pieces else text


def _lines(text: str, first: re.Match[str]) -> tuple[int, str]:
    """Return the end of the lines that begin with ``first``, and their characters."""
    found, end, length = [first[0]], first.end(), len(first[0])
    while (line := _NEXT.match(text, end)) is not None and _goes_on(line, length):
        found.append(line[1])
        end = line.end()
        if len(line[1]) < length or line[2]:
            return end, "".join(found)
    padding = _PADDING.match(text, end)
    return padding.end() if padding else end, "".join(found)


def _goes_on(line: re.Match[str], length: int) -> bool:
    """Return whether a line continues a file: it has the same length, or is the shorter last one and not a word."""
    if len(line[1]) >= length or line[2] or not _WORD.fullmatch(line[1]):
        return len(line[1]) <= length
    return len(line[1]) % 4 == 0 and not line.string.startswith("\n", line.end())


def _kind(joined: str) -> str | None:
    """Return the media type of the encoded bytes, "" if unknown; None if the characters encode nothing."""
    if len(joined) < CHARACTERS_MIN:
        return None
    sample = joined[:SAMPLE]
    content = urlsafe_b64decode(sample[: len(sample) // 4 * 4].replace("+", "-").replace("/", "_"))
    for begins, kind in _TYPES:
        if begins.match(content):
            return kind
    upper, lower, digits = (sum(map(is_so, sample)) / len(sample) for is_so in (str.isupper, str.islower, str.isdigit))
    if not (upper and lower and digits) or _KEY.match(content):
        return None
    if _is_text(content):
        return "text/plain"
    several, changes = len(set(sample)), sum(map(_differ, sample, sample[1:])) / len(sample)
    is_dense = min(upper, lower) >= 0.2 and digits >= 0.03 and several >= 44 and changes >= 0.53
    is_hollow = upper >= 0.5 and lower >= 0.05 and several >= 30 and sample.count("A") / len(sample) >= 0.15
    return "" if is_dense or is_hollow else None


def _is_text(content: bytes) -> bool:
    text = content.decode(errors="ignore")
    return len(text.encode()) >= len(content) - 3 and all(c.isprintable() or c in "\t\n\r" for c in text)


def _differ(one: str, other: str) -> bool:
    return one.isupper() != other.isupper() or one.isdigit() != other.isdigit()
