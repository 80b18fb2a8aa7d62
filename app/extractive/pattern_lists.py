"""Patterns as text files beside the code: an alternative a line, comments after ``# ``, a part in angle brackets.

Parts are sections that stand for nothing but themselves in other sections.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from app.text.word_lists import sections_of


def patterns_of(name: str, parts: Sequence[str] = (), more: Mapping[str, str] | None = None) -> dict[str, str]:
    """Return a file's patterns by section. ``parts``: the sections that are parts; ``more``: parts from elsewhere."""
    sections = {
        section: "|".join(line for line in text.splitlines() if line and not line.startswith("# "))
        for section, text in sections_of(Path(__file__).with_name(name)).items()
    }
    if not parts:
        return sections
    known = {**(more or {}), **{part: sections[part] for part in parts}}
    found = re.compile(f"<({'|'.join(known)})>")
    return {section: found.sub(lambda part: known[part[1]], text) for section, text in sections.items()}
