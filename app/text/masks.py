"""Mask secrets and personal data before anything is stored, with a placeholder that names the kind of data.

Patterns are in ``masks.txt``. A pattern is searched only if one of its hints occurs, and takes linear time, because no
repetition is nested in another. The same value is always masked to the same text, so a list that a client sends twice
stays the same.
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
"""Matches names of object members that hold secrets."""
_DIGITS = re.compile(r"\d[ .()-]{0,2}(?:\d[ .()-]{0,2}){8}")
_AFTER_ESCAPE = r"(?:\b|(?<=\\u[0-9a-fA-F]{4}))"
"""A word boundary, or the end of an escape in JSON."""
_SIGNS = "_-.:@"
"""A hint with one of these signs is only searched in texts that contain the sign."""
_WORD_MAX = 20
"""A shorter text of letters only is no secret, because keys without digits or signs are longer."""
_NAME_MAX = 100
"""The last characters of a member's name that are read to decide whether it holds a secret."""
_MASKED = re.compile(r"^\[?masked\b")


def _is_mixed(found: str) -> bool:
    """Return whether a text has both letters and digits, unlike a hyphenated word."""
    return any(c.isdigit() for c in found) and any(c.isalpha() for c in found)


def _is_secret(found: str) -> bool:
    """Return whether a text that is called a secret looks like one, and not like a word, a number or a variable."""
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
"""The weights of the digits of a resident identity number (GB 11643-1999)."""


def _is_resident(found: str) -> bool:
    total = sum(int(c) * weight for c, weight in zip(found, _WEIGHTS, strict=False))
    return "10X98765432"[total % 11] == found[-1].upper()


def _is_social_security(found: str) -> bool:
    area, group, serial = found.split("-")
    return area not in ("000", "666") and area < "900" and group != "00" and serial != "0000"


def _is_iban(found: str) -> bool:
    """Return whether a text is an account number with a valid checksum (ISO 13616)."""
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
    """A text without any of them is not searched. If there are no hints, only texts with enough digits are."""
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
    masks: dict[str, list[_Mask]] = {kind: [] for kind in KINDS}
    for section, text in sections_of(Path(__file__).with_name("masks.txt")).items():
        kind, name = section.split(": ")
        lines = [line for line in text.splitlines() if line.strip() and not line.startswith("#")]
        hints = tuple(lines.pop(0).removeprefix("hints").split())
        check = _CHECKS[lines.pop(0).removeprefix("check ")] if lines[0].startswith("check ") else None
        whole = (_AFTER_ESCAPE + line[2:] if line.startswith(r"\b") else line for line in lines)
        patterns = tuple(re.compile(line, re.DOTALL) for line in whole)
        masks[kind].append(_Mask(f"[masked {name.replace('_', ' ')}]", hints, patterns, check))
    return masks


def masked_kinds(setting: str) -> Collection[Kind]:
    """Return the kinds that the setting ``quire_masks`` names."""
    return [kind for kind in KINDS if setting in (kind, "all")]


@lru_cache(1_000)
def _names_secret(name: str) -> bool:
    return _SECRET_NAME.match(name) is not None


class Masks:
    """Masks the kinds of data that a deployment configures."""

    def __init__(self, kinds: Collection[Kind] = ()) -> None:
        self._masks = tuple(mask for kind in KINDS if kind in kinds for mask in _masks()[kind])
        self._has_secrets = "secrets" in kinds
        self._possible: dict[tuple[bool, ...], list[tuple[_Mask, tuple[str, ...]]]] = {}
        """The masks and hints to try for a text, by which of _SIGNS it contains."""

    def text(self, text: str) -> str:
        """Mask a text. JSON is parsed if it contains escapes, which can hide words."""
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
        """Mask the texts of a JSON value, but not its keys. A member called "password" or the like is masked whole.

        Return the same object if nothing was masked.
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
                return value if all(new is old for new, old in zip(items, value, strict=True)) else items
            case _:
                return value
