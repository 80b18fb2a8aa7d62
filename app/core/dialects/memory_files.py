"""Memories as files: the paths, directories and edits of an agent's memory tool.

A path is a key: `/memories/notes/tea.md` of the tool and `/notes/tea.md` of a store are the key `notes/tea.md`.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Iterator, Mapping

ROOT = "/memories"
CONTENT_BYTES_MAX, MEMORIES_MAX = 102_400, 2_000
PATH_BYTES_MAX, SEGMENTS_MAX = 1_024, 20
"""The bounds of Anthropic's memory stores."""
NUMBER_WIDTH = 6
"""Of a line's number, as `cat -n` prints it."""
LEVELS = 2
"""Of directories in a listing, as Anthropic's memory tool has it."""
AROUND = 2
"""Lines shown before and after a change."""
_NOT_IN_PATHS = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})


class FileMistake(Exception):  # noqa: N818 - a model's mistake is an answer, not an error
    """A command of a model cannot be carried out. The text is the answer."""


def path_problem(path: str) -> str | None:
    """Return what is wrong with the path of a memory, which begins with a slash; or None."""
    segments = path.removeprefix("/").split("/")
    if not path.startswith("/") or len(path.encode(errors="replace")) > PATH_BYTES_MAX:
        return f"must begin with / and have at most {PATH_BYTES_MAX:,} bytes"
    if any(segment in ("", ".", "..") for segment in segments) or len(segments) > SEGMENTS_MAX:
        return f"must have 1 to {SEGMENTS_MAX} segments, none of them empty, . or .."
    if any(unicodedata.category(character) in _NOT_IN_PATHS for character in path):
        return "must not contain control or format characters"
    return "must be in Unicode normal form C" if unicodedata.normalize("NFC", path) != path else None


def content_problem(content: str) -> str | None:
    """Return what is wrong with the content of a memory, or None."""
    if "\x00" in content or any("\ud800" <= character <= "\udfff" for character in content):
        return "must not contain U+0000 or surrogates"
    too_long = len(content.encode()) > CONTENT_BYTES_MAX
    return f"must have at most {CONTENT_BYTES_MAX:,} bytes" if too_long else None


def key_of(path: str) -> str:
    """Return the key of a path under /memories; "" for /memories itself. Raises FileMistake."""
    if path != ROOT and not path.startswith(f"{ROOT}/"):
        raise FileMistake(f"Path must start with {ROOT}, got: {path}")
    key = path.removeprefix(ROOT).strip("/")
    if key and (problem := path_problem(f"/{key}")) is not None:
        raise FileMistake(f"The path {path} {problem}.")
    return key


def below(directory: str, keys: Iterable[str]) -> list[str]:
    prefix = f"{directory}/" if directory else ""
    return [key for key in keys if key.startswith(prefix)]


def grouped(prefix: str, paths: Iterable[str], depth: int) -> Iterator[str]:
    """Yield the paths below a prefix in order, down to a depth (0: any); deeper ones once, as their directory."""
    seen = ""
    for path in sorted(paths):
        segments = path.removeprefix(prefix).split("/")
        shown = path if not depth or len(segments) <= depth else f"{prefix}{'/'.join(segments[:depth])}/"
        if shown != seen:
            yield shown
        seen = shown


def directory(path: str, key: str, sizes: Mapping[str, int]) -> str:
    """Return the listing of a directory. ``sizes``: bytes of its files by key."""
    own = key and f"{key}/"
    visible = [name for name in sizes if not any(part.startswith(".") for part in name.removeprefix(own).split("/"))]
    entries: dict[str, int] = {}
    for name in sorted(visible):
        segments = name.removeprefix(own).split("/")
        for level in range(1, min(len(segments), LEVELS) + 1):
            shown = "/".join(segments[:level]) + ("/" if level < len(segments) else "")
            entries[shown] = entries.get(shown, 0) + sizes[name]
    lines = [f"{_size(sum(sizes.values()))}\t{path}", *(f"{_size(n)}\t{path}/{name}" for name, n in entries.items())]
    title = f"Here're the files and directories up to {LEVELS} levels deep in {path}, excluding hidden items:"
    return "\n".join([title, *lines])


def _size(count: int) -> str:
    units, value = ["B", "K", "M", "G"], float(count)
    while value >= 1024 and len(units) > 1:
        value, units = value / 1024, units[1:]
    return f"{int(value)}{units[0]}" if value == int(value) else f"{value:.1f}{units[0]}"


def numbered(lines: Iterable[str], first: int = 1) -> str:
    return "\n".join(f"{number:>{NUMBER_WIDTH}}\t{line}" for number, line in enumerate(lines, first))


def file(path: str, content: str, view_range: list[int] | None) -> str:
    """Return the numbered lines of a file. ``view_range``: the first and the last line, -1 for the end."""
    lines, first = content.split("\n"), 1
    if view_range is not None and len(view_range) == 2:
        first = max(1, view_range[0])
        lines = lines[first - 1 : len(lines) if view_range[1] == -1 else view_range[1]]
    return f"Here's the content of {path} with line numbers:\n{numbered(lines, first)}"


def replaced(path: str, content: str, old: str, new: str) -> tuple[str, str]:
    """Return the content with one text replaced by another, and the answer for the model. Raises FileMistake."""
    count = content.count(old) if old else 0
    if not count:
        raise FileMistake(f"No replacement was performed, old_str `{old}` did not appear verbatim in {path}.")
    if count > 1:
        places = [at for at in range(len(content)) if content.startswith(old, at)]
        numbers = ", ".join(str(content[:at].count("\n") + 1) for at in places)
        raise FileMistake(
            f"No replacement was performed. Multiple occurrences of old_str `{old}` in lines: {numbers}."
            " Please ensure it is unique"
        )
    changed = content.replace(old, new)
    at, lines = content[: content.index(old)].count("\n"), changed.split("\n")
    first = max(0, at - AROUND)
    snippet = numbered(lines[first : at + AROUND + 1], first + 1)
    told = "The memory file has been edited. Here is the snippet showing the change (with line numbers):"
    return changed, f"{told}\n{snippet}"


def inserted(content: str, at: int, text: str) -> str:
    """Return the content with a text inserted after a line. Raises FileMistake."""
    lines = content.split("\n")
    if lines[-1] == "":
        lines.pop()
    if not 0 <= at <= len(lines):
        raise FileMistake(f"Invalid `insert_line` parameter: {at}. It should be within the range [0, {len(lines)}].")
    return "\n".join([*lines[:at], text.rstrip("\n"), *lines[at:]]) + "\n"
