"""Everything that the pages say is there in both languages."""

from __future__ import annotations

import re
from pathlib import Path
from string import Formatter

import app.ui
from app import errors
from app.ui.words import CHINESE, ENGLISH, translate

FOLDER = Path(app.ui.__file__).parent
TEXTS = re.compile(r"""\bt\((?:"([^"]+)"|'([^']+)')(?! ~| \+)""")


def said() -> set[str]:
    """Every text that a template asks for as it stands."""
    found: set[str] = set()
    for file in FOLDER.glob("templates/*.html"):
        found |= {a or b for a, b in TEXTS.findall(file.read_text("utf-8")) if not (a or b).endswith(" ")}
    return found


def placeholders(text: str) -> set[str]:
    return {name for _, name, _, _ in Formatter().parse(text) if name}


def test_every_text_of_a_template_has_a_translation() -> None:
    assert len(said()) > 150
    assert said() - CHINESE.keys() == set()


def test_kinds_are_named_in_both_languages() -> None:
    assert ENGLISH.keys() - CHINESE.keys() == set()


def test_no_translation_is_left_over() -> None:
    source = "".join(file.read_text("utf-8") for file in FOLDER.glob("*.py") if not file.name.startswith("words"))
    files = [file for file in FOLDER.parent.rglob("*.py") if not file.name.startswith("words")]
    kinds = [kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, errors.QuireError)]
    texts = [file.read_text("utf-8") for file in files]
    named = [re.findall(r'(?:existing\(.*, |missing\()"([a-z]+)"\)', text) for text in texts]
    missing = [f"There is no such {what}." for names in named for what in names]
    from_errors = "\n".join([*texts, *missing, *(kind.title for kind in kinds)])
    for text in CHINESE.keys() - ENGLISH.keys() - said():
        assert f'"{text}"' in source or text in from_errors, f"{text!r} is said nowhere"


def test_translations_have_the_same_placeholders() -> None:
    for text, chinese in CHINESE.items():
        if text not in ENGLISH:
            assert placeholders(text) == placeholders(chinese), text


def test_untranslated_texts_are_returned_unchanged() -> None:
    assert translate("role narrator", "zh") == "narrator"
    assert translate("warning something_new", "en") == "something new"
    assert translate("Anything else.", "zh") == "Anything else."
