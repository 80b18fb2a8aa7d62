"""Analyse a query: whether it has a subject, which words carry it, what kind of answer it needs.

Every function is pure and total, like those of ``language``.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache

from app.text import bm25
from app.text.chinese_scripts import simplified
from app.text.language import each_word, fold, is_han, words
from app.text.questions import asks
from app.text.small_talk import (
    CHINESE_PHRASES,
    CHINESE_WORDS,
    ENGLISH_PHRASES,
    ENGLISH_PRAISE,
    ENGLISH_PRAISED,
    ENGLISH_WORDS,
)

SMALL_TALK_CHARACTERS = 200
"""A longer text speaks of something."""

PARTS_MAX, PARTS_CHARACTERS = 3, 600
"""Parts of a query that are searched for besides the whole, the last ones; a longer text is not taken apart."""

_SEAM = re.compile(
    r"(?<=[。！？!?;；\n])|(?<=\w\w\w\.)(?<!\bmrs\.)(?=\s)|"
    r"(?=另外|对了|顺便|话说|还有[,，])|\b(?=by the way\b|also,|anyway,)",
    re.IGNORECASE,
)
_TURN = re.compile(r"^\W{0,3}[^\s:：][^:：\n]{0,39}[:：]", re.MULTILINE)
_ASKS = re.compile(
    r"[?？]\W*$|[吗呢]\W*$|什么|谁|哪|几[个号点月天年次种条]|多少|怎么|\b(?:who|whose|what|when|where|which|why|how)\b",
    re.IGNORECASE,
)
_OF_REPLIES = re.compile(
    r"\byou(?:[’']d| had| have|[’']ve)? (?:advi|answer|explain|gave|give|list|mention|propose|recommend|sa(?:id|y)\b"
    r"|sen[dt]\b|show|suggest|t(?:ell|old)\b|wr[io]te)"
    r"|\byour (?:advice|answer|draft|idea|list|plan|recommend|repl|suggest)"
    r"|(?<![跟和对给向])你[^，。？?我]{0,4}(?:给我|跟我|帮我|为我|教我)?(?:推荐|建议|说|讲|告诉|写|列|提|教|解释|回答)",
    re.IGNORECASE,
)
"""What asks for an assistant's words instead of a person's."""
_WHO_ASKS = re.compile(r"\bwho am i\b|我是谁")
_LABELS = re.compile(r"^\[\w+\]\s*", re.MULTILINE)
"""Of what was sent with a text: `[image]`."""
_ENGLISH_PHRASE = re.compile(
    rf"\b(?:(?:{'|'.join(map(re.escape, sorted(ENGLISH_PHRASES, key=len, reverse=True)))})|"
    rf"(?:{'|'.join(ENGLISH_PRAISE)}) (?:{'|'.join(ENGLISH_PRAISED)}))\b"
)
_CHINESE_PHRASE = re.compile("|".join(sorted(CHINESE_PHRASES, key=len, reverse=True)))
"""By itself it passes over other scripts at once: all that it begins with is known."""
_NO_SUBJECT = bm25.STOP_WORDS | ENGLISH_WORDS | CHINESE_WORDS
# What refers to the talk itself: it says who said something, not what.
_EARLIER = r"(?: (?:just now|earlier|before|previously|recently|so far|last time|the other day|a while ago|above))?"
_TALKED = re.compile(
    r" ?\b(?:"
    r"(?:(?:that|which|who|whom|as|what|like) )?(?:we|you|i)(?:'(?:ve|d)| have| had| were| was| are)?"
    r"(?: (?:just|already|once|also|both|only|never))? (?:talk(?:ed|ing)|sp(?:oke|oken|eaking)|chatt(?:ed|ing)"
    r"|discuss(?:ed|ing)|mention(?:ed|ing)|went over|gone over|brought up)"
    r"|(?:did|have|had|were|are|do|can) (?:we|you|i)(?: (?:just|already|once|also|ever))? (?:talk(?:ed|ing)?"
    r"|speak(?:ing)?|spoken|chat(?:ted|ting)?|discuss(?:ed|ing)?|mention(?:ed)?|g(?:o|one) over|br(?:ing|ought) up)"
    r"|(?:as|previously|already|just) (?:discussed|mentioned)"
    rf")\b(?: (?:to|with) (?:you|me|each other))?(?: (?:about|of|on))?{_EARLIER}"
    r"|(?:(?:我们|咱们|咱俩|[你我您]|之前|以前|上次|上回|刚才|刚刚|先前|前面|曾经?)(?:是|有|还|都|一起)?)+"
    r"(?:聊|讨论|谈论|谈|提|说|讲)(?:[到过起及了的])+",
    re.IGNORECASE,
)
_OF_TALK = """
that which who whom as what like we you i ve d have had were was are just already once also both only never ever talk
talked talking speak spoke spoken speaking chat chatted chatting discuss discussed discussing mention mentioned
mentioning go went gone over bring brought up did do can to with me each other about of on now earlier before previously
recently so far last time the day a while ago above
"""
"""The words of ``_TALKED``."""
_OF_PHRASES = frozenset(
    re.findall("[a-z]+", " ".join((_OF_TALK, *ENGLISH_PHRASES, *ENGLISH_PRAISE, *ENGLISH_PRAISED, *CHINESE_PHRASES)))
)


def has_subject(text: str) -> bool:
    """Return whether a text has a subject; "thanks", "谢谢", "sounds good, go ahead" and "" have none."""
    return _has_subject(text) if len(text) <= SMALL_TALK_CHARACTERS else True


@lru_cache(8_192)  # each cut asks it of the same titles
def _has_subject(text: str) -> bool:
    folded = fold(text)
    if not folded or any(map(_is_surely_subject, each_word(folded))) or _WHO_ASKS.search(folded):
        return bool(text)
    rest = _CHINESE_PHRASE.sub(" ", _ENGLISH_PHRASE.sub(" ", _TALKED.sub("", folded)))
    return any(_is_subject(word) for word in words(rest))


def subject_of(text: str) -> str:
    """Return a query without what refers to the talk itself, such as "we talked about" and 「我们刚才聊到的」, if
    anything is left to search for.
    """
    if len(text) > PARTS_CHARACTERS or len(_TURN.findall(text)) > 1 or not _TALKED.search(text):
        return text
    rest = _TALKED.sub("", text).strip()
    return rest if has_subject(rest) else text


def is_a_question(text: str) -> bool:
    """Return whether a text is one question, and nothing else."""
    return asks(text) and sum(bool(piece.strip()) for piece in _SEAM.split(text)) == 1


def asks_of_replies(text: str) -> bool:
    return _OF_REPLIES.search(text) is not None


def parts(text: str) -> list[str]:
    """Return what else to search for in a compound query: each of its questions; none if it is of one piece.

    "I just had lunch. Where did I park? And who called?" has two, since what is said before a question only leads away
    from it. If it has no question, its sentences are its parts. A dialogue is a piece: its turns mean little alone.
    """
    if len(text) > PARTS_CHARACTERS or len(_TURN.findall(text)) > 1:
        return []
    pieces = [piece for one in _SEAM.split(text) if has_subject(piece := one.strip())]
    questions = [piece for piece in pieces if _ASKS.search(piece)]
    found = questions or pieces
    return found[-PARTS_MAX:] if found != [text.strip()] and len(pieces) > 1 else []


def _is_subject(word: str) -> bool:
    word = simplified(word)
    return word not in _NO_SUBJECT and not (is_han(word) and all(one in _NO_SUBJECT for one in word))


def _is_surely_subject(word: str) -> bool:
    """Return whether a word is a subject in any phrase: it is in none. Looking for phrases takes ten times as long."""
    return word.isascii() and word.isalpha() and word not in _OF_PHRASES and word not in _NO_SUBJECT


def telling_more(texts: Sequence[str], said: str, *, only_questions: bool = False) -> list[int]:
    """Return the indexes of the texts that have a subject, and a word more than what was just said.

    ``only_questions``: other texts need neither.
    """
    terms = set(bm25.terms(said[: bm25.QUERY_CHARACTERS]))
    bare = [_LABELS.sub("", text) for text in texts]
    return [
        place
        for place, text in enumerate(bare)
        if (only_questions and not asks(text)) or (has_subject(text) and not terms.issuperset(bm25.terms(text)))
    ]
