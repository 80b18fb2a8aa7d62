"""Word lists: text files beside the code, edited without Python. A line that begins with # is a comment."""

from __future__ import annotations

import re
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
