"""English words that are no subjects: verbs in all their forms, describing words, and names of times.

``verbs.txt`` holds the lists and explains them. Regular forms of verbs are derived.
"""

import re
from functools import lru_cache
from pathlib import Path

from app.text.word_lists import word_sets

_WORDS = word_sets(Path(__file__).with_name("verbs.txt"))
NOUNS, GENERIC = _WORDS["nouns"], _WORDS["generic"]
_DESCRIBING, _VAGUE, _LINKING = _WORDS["describing"], _WORDS["vague"], _WORDS["linking"]
_DESCRIBES = re.compile(r".{3,}(?:ly|ous|ful|less|able|ible|est|ive|cial|ical|ional|-related|-based)$|.*-to-")


def _forms(verb: str) -> set[str]:
    stem = verb.removesuffix("e")
    forms = {verb, f"{verb}s", f"{verb}es", f"{stem}ed", f"{stem}ing"}
    if verb.endswith("y") and verb[-2] not in "aeiou":
        forms |= {f"{verb[:-1]}ies", f"{verb[:-1]}ied"}
    if re.search(r"[^aeiou][aeiou][bdgklmnprt]$", verb):
        forms |= {f"{verb}{verb[-1]}ed", f"{verb}{verb[-1]}ing"}
    return forms


_ALL_VERBS = frozenset(form for verb in _WORDS["verbs"] for form in _forms(verb)) | _WORDS["irregular"]


@lru_cache(5_000)
def is_verb(word: str) -> bool:
    """Return whether a lower-case word is a form of a verb. Some are also nouns (``NOUNS``)."""
    if word in _WORDS["nouns in ing"] or word in _WORDS["nouns in ed"]:
        return False
    if len(word) > 5 and word.endswith(("ing", "ed", "ize", "ify")) and "-" not in word:
        return True
    return word in _ALL_VERBS


def is_no_noun(word: str) -> bool:
    """Return whether a word describes, counts or links, so that no noun phrase ends with it. Endings decide only for
    lower-case words, because Budapest and Emily are names.
    """
    lower = word.lower()
    if lower.removeprefix("un") in _DESCRIBING or lower in _VAGUE or lower in _LINKING:
        return True
    if is_verb(lower) and lower not in NOUNS:
        return True
    return word.islower() and _DESCRIBES.match(word) is not None and word not in _WORDS["like descriptions"]


def is_linking(word: str) -> bool:
    """Return whether a lower-case word counts, joins or is an adverb, so that no noun phrase contains it."""
    return word in _LINKING or (len(word) > 4 and word.endswith("ly") and word not in _WORDS["like descriptions"])


def is_vague(word: str) -> bool:
    """Return whether a lower-case word describes without distinguishing: "specific", or a comparison ("cheaper")."""
    if word in _VAGUE or "-to-" in word:
        return True
    return word.endswith(("er", "est")) and any(word[:end] in _DESCRIBING for end in (-1, -2, -3))


def is_calendar(word: str) -> bool:
    """Return whether a lower-case word names a time."""
    return word in _WORDS["calendar"]
