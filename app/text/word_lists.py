"""Word lists: text files beside this one, edited without Python. A line that begins with # is a comment."""

from __future__ import annotations

from pathlib import Path


def words_of(name: str) -> frozenset[str]:
    lines = Path(__file__).with_name(name).read_text("utf-8").splitlines()
    return frozenset(word for line in lines if not line.startswith("#") for word in line.split())
