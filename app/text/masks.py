"""Mask secrets and personal data before anything is stored: a placeholder that says what stood there.

Patterns are in ``masks.txt``. Each is searched only where its hint occurs, and each is linear, since no repetition
stands within another. A value that was masked is masked to the same text again, so a list that a client sends twice is
the same list.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cache, lru_cache
from pathlib import Path
from typing import Any, Literal, get_args

from app.text.word_lists import sections_of

Kind = Literal["secrets", "personal"]
KINDS: tuple[Kind, ...] = get_args(Kind)
_SECRET_NAME = re.compile(
    r"(?i)^(?:.*[_-])?(?:pass(?:word|wd|phrase)|pwd|client_?secret|secret|(?:api|access|private|auth|secret)[_-]?key"
    r"|(?:auth|access|refresh|bot|api)[_-]?token|token|密码|口令|密钥)$"
)
"""Members of an object whose text is a secret whatever it looks like."""
_DIGITS = re.compile(r"\d[ .()-]{0,2}(?:\d[ .()-]{0,2}){8}")
_AFTER_ESCAPE = r"(?:\b|(?<=\\u[0-9a-fA-F]{4}))"
"""A word begins after an escape in JSON too."""
_SIGNS = "_-.:@"
"""A hint with one of these is only looked for in a text that has it."""
_WORD_MAX = 20
"""What is shorter and has letters only is no secret: the keys without digits or signs are longer."""
_NAME_MAX = 100
"""Characters of a member's name that tell whether its text is a secret: the last."""
_MASKED = re.compile(r"^\[?masked\b")


def _is_mixed(found: str) -> bool:
    """Return whether a text has letters and digits: a word with hyphens has none of these."""
    return any(c.isdigit() for c in found) and any(c.isalpha() for c in found)


def _is_secret(found: str) -> bool:
    """Return whether what is called a secret looks like one: no word of prose or code, no number, no variable."""
    if _MASKED.match(found):
        return False
    classes = sum(any(is_so(c) for c in found) for is_so in (str.islower, str.isupper, str.isdigit, _is_sign))
    return classes >= 2 and any(c.isdigit() or _is_sign(c) for c in found) and not found.startswith(("$", "%", "http"))


def _is_sign(character: str) -> bool:
    return character in "!@#$%^&*+=~?"


def _passes_luhn(found: str) -> bool:
    digits = [int(c) for c in found if c.isdigit()][::-1]
    doubled = [d * 2 - 9 * (d > 4) for d in digits[1::2]]
    return 13 <= len(digits) <= 19 and len(set(digits)) > 1 and (sum(digits[::2]) + sum(doubled)) % 10 == 0


_WEIGHTS = (7, 9, 10, 5, 8, 4, 2, 1, 6, 3, 7, 9, 10, 5, 8, 4, 2)
"""Of the digits of a resident identity number: GB 11643-1999."""


def _is_resident(found: str) -> bool:
    total = sum(int(c) * weight for c, weight in zip(found, _WEIGHTS, strict=False))
    return "10X98765432"[total % 11] == found[-1].upper()


def _is_social_security(found: str) -> bool:
    area, group, serial = found.split("-")
    return area not in ("000", "666") and area < "900" and group != "00" and serial != "0000"


def _is_iban(found: str) -> bool:
    """Return whether a text is an account number by ISO 13616."""
    plain = found.replace(" ", "")
    if not 15 <= len(plain) <= 34:
        return False
    return int("".join(str(int(c, 36)) for c in plain[4:] + plain[:4])) % 97 == 1


_CHECKS: Mapping[str, Callable[[str], bool]] = {
    "mixed": _is_mixed,
    "secret": _is_secret,
    "luhn": _passes_luhn,
    "phone": lambda found: 8 <= sum(c.isdigit() for c in found) <= 15,
    "resident": _is_resident,
    "ssn": _is_social_security,
    "iban": _is_iban,
}


@dataclass(frozen=True, slots=True)
class _Mask:
    placeholder: str
    hints: tuple[str, ...]
    """Texts without any of them are not searched. None at all: those with few digits are not."""
    patterns: tuple[re.Pattern[str], ...]
    check: Callable[[str], bool] | None

    def apply(self, text: str) -> str:
        for pattern in self.patterns:
            text = pattern.sub(self._one, text)
        return text

    def _one(self, match: re.Match[str]) -> str:
        group = "it" if "it" in match.re.groupindex else 0
        if self.check is not None and not self.check(match[group]):
            return match[0]
        first, end = (place - match.start() for place in match.span(group))
        return f"{match[0][:first]}{self.placeholder}{match[0][end:]}"


@cache
def _masks() -> Mapping[str, list[_Mask]]:
    found: dict[str, list[_Mask]] = {kind: [] for kind in KINDS}
    for section, text in sections_of(Path(__file__).with_name("masks.txt")).items():
        kind, name = section.split(": ")
        lines = [line for line in text.splitlines() if line.strip() and not line.startswith("#")]
        hints = tuple(lines.pop(0).removeprefix("hints").split())
        check = _CHECKS[lines.pop(0).removeprefix("check ")] if lines[0].startswith("check ") else None
        whole = (_AFTER_ESCAPE + line[2:] if line.startswith(r"\b") else line for line in lines)
        patterns = tuple(re.compile(line, re.DOTALL) for line in whole)
        found[kind].append(_Mask(f"[masked {name.replace('_', ' ')}]", hints, patterns, check))
    return found


def masked_kinds(setting: str) -> Collection[Kind]:
    """Return the kinds that the setting ``quire_masks`` names."""
    return [kind for kind in KINDS if setting in (kind, "all")]


@lru_cache(1_000)
def _names_secret(name: str) -> bool:
    return _SECRET_NAME.match(name) is not None


class Masks:
    """Masks what a deployment wants masked."""

    def __init__(self, kinds: Collection[Kind] = ()) -> None:
        self._masks = tuple(mask for kind in KINDS if kind in kinds for mask in _masks()[kind])
        self._has_secrets = "secrets" in kinds
        self._possible: dict[tuple[bool, ...], list[tuple[_Mask, tuple[str, ...]]]] = {}
        """The masks, and those of their hints, that a text can hold, by which signs it has."""

    def text(self, text: str) -> str:
        """Return a text with placeholders. JSON is read if it spells words by escapes."""
        if "\\u" in text and text.lstrip()[:1] in ("{", "["):
            with suppress(ValueError, RecursionError):
                value = json.loads(text)
                return text if (masked := self.value(value)) is value else json.dumps(masked, ensure_ascii=False)
        if len(text) < _WORD_MAX and text.isalpha():
            return text
        lower, has_digits = text.lower(), _DIGITS.search(text) is not None
        for mask, hints in self._to_try(text):
            if any(hint in lower for hint in hints) if mask.hints else has_digits:
                text = mask.apply(text)
        return text

    def _to_try(self, text: str) -> list[tuple[_Mask, tuple[str, ...]]]:
        has = tuple(sign in text for sign in _SIGNS)
        if (found := self._possible.get(has)) is None:
            absent = {sign for sign, is_there in zip(_SIGNS, has, strict=True) if not is_there}
            left = ((mask, tuple(hint for hint in mask.hints if absent.isdisjoint(hint))) for mask in self._masks)
            found = self._possible[has] = [(mask, hints) for mask, hints in left if hints or not mask.hints]
        return found

    def value(self, value: Any, name: str = "") -> Any:
        """Return a JSON value with its texts masked. Keys stay; a text in a member called "password" is masked whole.

        The same value if nothing was masked in it.
        """
        if not self._masks:
            return value
        match value:
            case str():
                if (
                    self._has_secrets
                    and len(value) > 3
                    and _names_secret(name[-_NAME_MAX:])
                    and not _MASKED.match(value)
                ):
                    return "[masked secret]" if _is_secret(value) else self.text(value)
                return self.text(value)
            case dict():
                members = {key: self.value(item, key) for key, item in value.items()}
                return value if all(members[key] is item for key, item in value.items()) else members
            case list():
                items = [self.value(item, name) for item in value]
                return value if all(one is item for one, item in zip(items, value, strict=True)) else items
            case _:
                return value
