"""Word lists: text files beside the code, edited without Python. A line that begins with # is a comment."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

_HEADING = re.compile(r"^\[([a-z_: ]+)\]$", re.MULTILINE)


def words_of(name: str) -> frozenset[str]:
    lines = Path(__file__).with_name(name).read_text("utf-8").splitlines()
    return frozenset(word for line in lines if not line.startswith("#") for word in line.split())


def sections_of(file: Path) -> dict[str, str]:
    """Return a file's text by the ``[name]`` that stands above it. What comes before the first is a comment."""
    _, *told = _HEADING.split(file.read_text("utf-8"))
    return dict(zip(told[::2], told[1::2], strict=True))


def word_sets(file: Path) -> dict[str, frozenset[str]]:
    return {name: frozenset(text.split()) for name, text in sections_of(file).items()}


def patterns_of(file: Path, parts: Sequence[str] = (), more: Mapping[str, str] | None = None) -> dict[str, str]:
    """Return a file's patterns by section. ``parts``: the sections that are parts; ``more``: parts from elsewhere.

    An alternative stands on each line, comments after ``# ``, a part in angle brackets. Parts are sections that stand
    for nothing but themselves in other sections.
    """
    sections = {
        section: "|".join(line for line in text.splitlines() if line and not line.startswith("# "))
        for section, text in sections_of(file).items()
    }
    if not parts:
        return sections
    known = {**(more or {}), **{part: sections[part] for part in parts}}
    found = re.compile(f"<({'|'.join(known)})>")
    return {section: found.sub(lambda part: known[part[1]], text) for section, text in sections.items()}
