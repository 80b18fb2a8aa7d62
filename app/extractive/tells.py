"""Judge whether a line can stand for a chapter: somebody said it, and it is about the matter."""

import re

from app.extractive import patterns
from app.extractive.blocks import looks_like_code, looks_like_log
from app.extractive.calls import tools_in
from app.extractive.subjects import names_anything
from app.extractive.terms import content_words
from app.text.language import sentences

_SEEN = 400
_NO_PROSE = re.compile(
    r"[{}<>`|]|\[[{\"]|\"\s*:|###|\]\(|^(?:code: |JSON |\[|\(|<)|\w\(\w*\)|\w=\S|(?:\S+/){4}|[A-Za-z0-9+/_-]{40}|^\W*$"
)
"""Serialised data, code, markup and descriptions of pasted text."""
_CHOICE = re.compile(r"^\W*(?:the|this|that) (?:first |second |third |last |other )?one\b", re.IGNORECASE)
"""An answer that nobody understands without the question."""
_BROKEN = ("…", ";", "；")
_ENDS = (".", "!", "。", "！", '"', "”", "」", "~")
"""How an assistant's statement ends: else it is a question to the user, or a heading."""
_BEFORE_A_LIST = (":", "：")
_WORDS_MIN = 4
_HAN_MIN = 6
_HAN_WORDS_MIN = 3
_LONG, _HAN_LONG = 60, 16
"""Characters of a sentence that says enough in any words."""


def tells(role: str, line: str) -> bool:
    """Return whether a line of a message tells a reader something who sees nothing else of it."""
    is_whole = not line.endswith(_BROKEN)
    if is_whole and (_is_short(line) or (role == "assistant" and not line.endswith(_ENDS))):
        return False
    if not _is_prose(role, line):
        return False
    if role == "assistant" and (patterns.OFFER.match(line) or patterns.WORK.search(line) or patterns.PLAN.match(line)):
        return False
    if (
        patterns.is_filler(line)
        or patterns.PLEASANTRY.found(patterns.look(line))
        or patterns.EMPTY_REQUEST.match(line)
        or patterns.ASSENT.match(line)
        or _CHOICE.match(line)
    ):
        return False
    return any(_has_matter(said) for said in sentences(line))


def _is_prose(role: str, line: str) -> bool:
    if role not in ("user", "assistant") or tools_in(role, line) or _NO_PROSE.search(line[:_SEEN]):
        return False
    return not (looks_like_code(line) or looks_like_log(line) or line.endswith(_BEFORE_A_LIST))


def _has_matter(sentence: str) -> bool:
    """Return whether a sentence names something, or at least says much: "I'm looking forward to it!" does neither."""
    if patterns.REACTION.match(sentence):
        return False
    is_english = sentence.isascii()
    if len(sentence) >= (_LONG if is_english else _HAN_LONG) or patterns.specifics(sentence):
        return True
    if is_english and names_anything(sentence):
        return True
    words = len(content_words(sentence))
    return words >= _WORDS_MIN if is_english else words >= _HAN_WORDS_MIN or names_anything(sentence)


def _is_short(line: str) -> bool:
    """Return whether a line is a fragment: a name, a heading, "Yes, please"."""
    return len(line.split()) < _WORDS_MIN if line.isascii() else len(line) < _HAN_MIN
