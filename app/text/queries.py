"""Analyse a query: whether it has a subject, which words express it, and what kind of answer it needs.

Every function is pure and total, like those of ``language``.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

from app.core.canonical import remembered
from app.text import bm25
from app.text.chinese_scripts import simplified
from app.text.language import each_word, fold, is_han, words
from app.text.questions import asks
from app.text.word_lists import patterns_of, sections_of

SMALL_TALK_CHARACTERS = 200
"""A longer text always has a subject."""
_SECTIONS = sections_of(Path(__file__).with_name("small_talk.txt"))
ENGLISH_PHRASES = " ".join(_SECTIONS["english phrases"].split()).split(", ")
CHINESE_PHRASES = _SECTIONS["chinese phrases"].split()
ENGLISH_PRAISE, ENGLISH_PRAISED = _SECTIONS["praise"].split(), _SECTIONS["praised"].split()
"""Words of praise, and things that are praised; a pair of them is a phrase."""
SMALL_TALK = frozenset(f"{_SECTIONS['english words']} {_SECTIONS['chinese words']}".split())
"""Words that are no subjects. They count after phrases, the longest first, have been removed."""

PARTS_MAX, PARTS_CHARACTERS = 3, 600
"""How many (last) parts of a query are searched for besides the whole, and the longest query that is divided."""

_PATTERNS = patterns_of(Path(__file__).with_name("queries.txt"), ("earlier",))
_SEAM, _ASKS, _OF_REPLIES, _TALKED = (
    re.compile(_PATTERNS[name], re.IGNORECASE) for name in ("seam", "asks", "of replies", "talked")
)
_TURN = re.compile(r"^\W{0,3}[^\s:：][^:：\n]{0,39}[:：]", re.MULTILINE)
_WHO_ASKS = re.compile(r"\bwho am i\b|我是谁")
_LABELS = re.compile(r"^\[\w+\]\s*", re.MULTILINE)
"""Matches labels of attachments, such as `[image]`."""
_ENGLISH_PHRASE = re.compile(
    rf"\b(?:(?:{'|'.join(map(re.escape, sorted(ENGLISH_PHRASES, key=len, reverse=True)))})|"
    rf"(?:{'|'.join(ENGLISH_PRAISE)}) (?:{'|'.join(ENGLISH_PRAISED)}))\b"
)
_CHINESE_PHRASE = re.compile("|".join(sorted(CHINESE_PHRASES, key=len, reverse=True)))
"""Separate from the English pattern, so that it skips other scripts fast: all its first characters are known."""
_NO_SUBJECT = bm25.STOP_WORDS | SMALL_TALK
_OF_PHRASES = frozenset(
    re.findall("[a-z]+", " ".join((_PATTERNS["of talk"], *ENGLISH_PHRASES, *ENGLISH_PRAISE, *ENGLISH_PRAISED)))
)


def has_subject(text: str) -> bool:
    """Return whether a text has a subject. "thanks", "谢谢", "sounds good, go ahead" and "" have none."""
    return _has_subject(text) if len(text) <= SMALL_TALK_CHARACTERS else True


@remembered(8_192)  # each cut calls it for the same titles
def _has_subject(text: str) -> bool:
    folded = fold(text)
    if not folded or any(map(_is_surely_subject, each_word(folded))) or _WHO_ASKS.search(folded):
        return bool(text)
    rest = _CHINESE_PHRASE.sub(" ", _ENGLISH_PHRASE.sub(" ", _TALKED.sub("", folded)))
    return any(_is_subject(word) for word in words(rest))


def subject_of(text: str) -> str:
    """Strip references to the conversation ("we talked about", 「我们刚才聊到的」), unless nothing else is left."""
    if len(text) > PARTS_CHARACTERS or len(_TURN.findall(text)) > 1 or not _TALKED.search(text):
        return text
    rest = _TALKED.sub("", text).strip()
    return rest if has_subject(rest) else text


def is_a_question(text: str) -> bool:
    """Return whether a text is a single question."""
    return asks(text) and sum(bool(piece.strip()) for piece in _SEAM.split(text)) == 1


def asks_of_replies(text: str) -> bool:
    return _OF_REPLIES.search(text) is not None


def parts(text: str) -> list[str]:
    """Return the parts of a compound query, to search for besides the whole: its questions, or else its sentences.

    "I just had lunch. Where did I park? And who called?" has two parts, because a statement before a question only
    distracts from it. A query of one piece has none, and nor has a dialogue, since its turns mean little alone.
    """
    if len(text) > PARTS_CHARACTERS or len(_TURN.findall(text)) > 1:
        return []
    pieces = [piece for raw in _SEAM.split(text) if has_subject(piece := raw.strip())]
    questions = [piece for piece in pieces if _ASKS.search(piece)]
    chosen = questions or pieces
    return chosen[-PARTS_MAX:] if chosen != [text.strip()] and len(pieces) > 1 else []


def _is_subject(word: str) -> bool:
    word = simplified(word)
    return word not in _NO_SUBJECT and not (is_han(word) and all(character in _NO_SUBJECT for character in word))


def _is_surely_subject(word: str) -> bool:
    """Return whether a word is a subject that no phrase contains. Searching for phrases takes ten times as long."""
    return word.isascii() and word.isalpha() and word not in _OF_PHRASES and word not in _NO_SUBJECT


def repeating(texts: Iterable[str], said: str) -> set[str]:
    """Return the texts whose words all occur in ``said``."""
    terms = set(bm25.terms(said[: bm25.QUERY_CHARACTERS]))
    return {text for text in texts if terms.issuperset(bm25.terms(bare(text)))}


def bare(text: str) -> str:
    return _LABELS.sub("", text)


def tells(text: str) -> bool:
    """Return whether a text states something, rather than only asking."""
    return has_subject(text) and bm25.tells(text)
