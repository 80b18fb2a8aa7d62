"""Read word lists: text files beside the code, which can be edited without Python. Lines with # are comments."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

_HEADING = re.compile(r"^\[([a-z_: ]+)\]$", re.MULTILINE)


def words_of(name: str) -> frozenset[str]:
    lines = Path(__file__).with_name(name).read_text("utf-8").splitlines()
    return frozenset(word for line in lines if not line.startswith("#") for word in line.split())


def sections_of(file: Path) -> dict[str, str]:
    """Return a file's sections by the ``[name]`` above each. Text before the first one is a comment."""
    _, *parts = _HEADING.split(file.read_text("utf-8"))
    return dict(zip(parts[::2], parts[1::2], strict=True))


def word_sets(file: Path) -> dict[str, frozenset[str]]:
    return {name: frozenset(text.split()) for name, text in sections_of(file).items()}


def patterns_of(file: Path, parts: Sequence[str] = (), more: Mapping[str, str] | None = None) -> dict[str, str]:
    """Return a file's patterns by section. Each line is an alternative, and lines that begin with ``# `` are comments.

    ``parts`` names the sections that replace their names in angle brackets in other sections, ``more`` adds such parts
    from elsewhere.
    """
    sections = {
        section: "|".join(line for line in text.splitlines() if line and not line.startswith("# "))
        for section, text in sections_of(file).items()
    }
    if not parts:
        return sections
    known = {**(more or {}), **{part: sections[part] for part in parts}}
    name = re.compile(f"<({'|'.join(known)})>")
    return {section: name.sub(lambda part: known[part[1]], text) for section, text in sections.items()}
