"""Find the names of speakers, which say nothing about the subject of a conversation."""

import re
from collections.abc import Sequence

from app.extractive.stopwords import COMMON, ENGLISH

_BEFORE = re.compile(r"(\w[\w.-]{1,19}(?: \w[\w.-]{0,19}){0,2}): ")
_NAME = re.compile(r" ([A-Z]\w+)([,.!?])")
_GREETINGS = ("hi", "hey", "hello", "thanks", "thank you", "yeah", "yes", "yep", "wow", "cool", "sure")


def addressed(text: str, *, is_talk: bool = False) -> set[str]:
    """Return the names, in lower case, by which a text addresses somebody, as in "Thanks, Ann!". In a conversation
    between people (``is_talk``), "See you, Ann." counts too.
    """
    found = set[str]()
    for name in _NAME.finditer(text):
        before = text[max(0, name.start() - 10) : name.start()].lower()
        if before.rstrip(",").endswith(_GREETINGS) or (before.endswith(",") and (is_talk or name[2] == "!")):
            found.add(name[1].lower())
    return found


def named(title: str, lines: Sequence[tuple[str, str]]) -> set[str]:
    """Return the names, in lower case, of the speaker of a page's lines and of the people whom these address."""
    before = _BEFORE.match(title)
    is_talk = before is not None and all(line.startswith(before[0]) for role, line in lines if role == "user")
    found = set[str]().union(*(addressed(line, is_talk=is_talk) for _, line in lines))
    return found | ({before[1].lower()} - ENGLISH - COMMON) if before and is_talk else found
