"""The inspector's texts, in English and Chinese: words.en.json and words.zh.json.

The key of a text is its English; a key that begins with a kind and a name ("zone verbatim") has an English text of its
own.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Final

from app.core.model import Language


def _read(language: Language) -> dict[str, str]:
    texts: dict[str, str] = json.loads(Path(__file__).with_name(f"words.{language}.json").read_text("utf-8"))
    return texts


ENGLISH: Final = _read("en")
CHINESE: Final = _read("zh")
KINDS: Final = frozenset(key.partition(" ")[0] for key in ENGLISH)


def translate(text: str, language: Language) -> str:
    """Translate a text; an unknown one is returned as it is, without its kind."""
    if language == "zh" and text in CHINESE:
        return CHINESE[text]
    if text in ENGLISH:
        return ENGLISH[text]
    kind, _, name = text.partition(" ")
    return name.replace("_", " ") if kind in KINDS and name else text
