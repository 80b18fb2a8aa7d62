"""Choose a page's language: from the URL, else the cookie, else the browser's preference."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from starlette.requests import Request

from app.core.model import Language

COOKIE: Final = "quire_ui_language"
LONGEST_HEADER = 500
LANGUAGES: Final[Mapping[str, Language]] = {"zh": "zh", "en": "en"}


def asked(request: Request) -> Language | None:
    return LANGUAGES.get(request.query_params.get("lang", "").lower())


def language(request: Request) -> Language:
    chosen = asked(request) or LANGUAGES.get(request.cookies.get(COOKIE, "").lower())
    return chosen or preferred(request.headers.get("accept-language", ""))


def preferred(header: str) -> Language:
    """Return the first of Chinese and English in an Accept-Language header."""
    best: tuple[float, Language] = (0.0, "en")
    for part in header[:LONGEST_HEADER].split(","):
        tag, _, parameter = part.strip().partition(";")
        candidate = LANGUAGES.get(tag.strip().partition("-")[0].lower())
        weight = _weight(parameter)
        if candidate and weight > best[0]:
            best = (weight, candidate)
    return best[1]


def _weight(parameter: str) -> float:
    name, _, value = parameter.strip().partition("=")
    if name.strip() != "q":
        return 1.0
    try:
        return min(1.0, max(0.0, float(value)))
    except ValueError:
        return 0.0
