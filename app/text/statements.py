"""Reduce a text to what it states, in a form that is equal for texts that say the same.

"Well, my favourite tea is really longjing!" and "Longjing is my favourite tea" are one statement. Only words that
change no fact are dropped (openings, emphasis, articles), so texts that differ in a number, a name, a negation, a tense
or any other word stay apart. An overlap of words cannot tell them: in a long text one word changes little of it.
"""

from __future__ import annotations

import re
import unicodedata
from hashlib import blake2b
from threading import Lock

from cachetools import LRUCache, cached

from app.text.chinese_scripts import simplified
from app.text.language import HAN

STATEMENT_CHARACTERS = 300
"""A longer text is compared as it is: a fact is told in less, and the work takes 0.6 microseconds a character."""
REMEMBERED = 10_000
"""Texts whose statement's digest a process keeps: from one turn to the next, a user's searches find much the same."""

_CAPITALS = re.compile(r"(?<![A-Za-z0-9])(?:[A-Z][a-z']+|I(?='))(?![A-Za-z0-9+#])|(?<![A-Za-z0-9])I(?=\s)")
"""Written small; capitals stay in codes and names of one letter, because aB3 is not ab3."""
_SPELLINGS = {
    r"\bwon't\b": "will not",
    r"\bcan(?:no|')t\b": "can not",
    r"n't\b": " not",
    r"\bi'm\b": "i am",
    r"\bit's\b": "it is",
}
_MARKS = re.compile(
    rf"[!?.,;…。、\"“”「」『』()*_`~]+(?=\s|$|[{HAN}])|(?<=[{HAN}])[!?.,;…。、\"“”「」『』()*_`]+(?!\d)|"
    r"(?<!\S)[\"“「『(*_`•]+|(?<!\S)-(?=\s)"
)
"""Punctuation around words; what stands inside of one, as in 3.5 and a_b, stays."""
_OPENING = re.compile(
    r"^(?:(?:well|so|oh|ok|okay|yes|yeah|hey|hi|again|also|btw|fyi|by the way|"
    r"as (?:i|we) (?:said|mentioned)(?: before)?|like i said|just so you know|for the record|"
    r"(?:please )?(?:remember|note|keep in mind)(?: that)?)(?=[\s:]):?\s*|"
    r"(?:请?(?:记住|记得|注意)|顺便说一下|顺便|对了|话说|我?再?说一[遍次]|如前所述|我(?:之前)?说过|跟你说|告诉你|提醒一下|嗯+|哦+)"
    r"(?=\S| \S):?\s*)+",
    re.IGNORECASE,
)
_LIGHT = re.compile(
    r"(?<!\S)(?:(?:the|an?(?! (?:few|little|lot|bit)\b))(?=\s)|(?<!not )(?<!n't )(?:really|very|truly|indeed|actually|"
    r"basically|definitely|certainly|simply|honestly)(?!\S))|(?<!不)(?:非常|真的(?=\S)|确实|其实|很)|[啊呀嘛啦](?=\s|$)"
)
"""Only in small letters: An and Very may be names."""
# What "is", "是" and a colon connect can change places.
_IS = re.compile(rf"\s(?:is|are)\s|(?<=\w):\s|(?<=[{HAN}]):|(?<=\S)就?(?<![但可还总不要于算若凡老或正])是(?![否不吗])")
_HAN_SPACE = re.compile(rf"(?<=[{HAN}])\s+|\s+(?=[{HAN}])")


def statement(text: str) -> str:
    """Return the statement of a text. A question never equals an answer."""
    if len(text) > STATEMENT_CHARACTERS:
        return text.strip()
    said = simplified(unicodedata.normalize("NFKC", text)).replace("\u2019", "'")
    asks = "?" * said.count("?")
    said = _OPENING.sub("", " ".join(_MARKS.sub(" ", said).split()))
    said = _HAN_SPACE.sub("", " ".join(_LIGHT.sub(" ", _first_small(said)).split()))
    said = _CAPITALS.sub(lambda match: match[0].lower(), said)
    for written, spelling in _SPELLINGS.items():
        said = re.sub(written, spelling, said)
    halves = [half.strip() for half in _IS.split(said)]
    told = " = ".join(sorted(halves) if len(halves) == 2 else halves)
    return told + asks if any(halves) else text.strip()


def _digest(text: str) -> bytes:
    return blake2b(text.encode(errors="surrogatepass"), digest_size=16).digest()


@cached(LRUCache[bytes, bytes](REMEMBERED), key=_digest, lock=Lock())
def stated(text: str) -> bytes:
    """Return the digest of a text's statement. Only digests are remembered, because texts can be erased."""
    return _digest(statement(text))


def _first_small(text: str) -> str:
    first, space, rest = text.partition(" ")
    return (first.lower() if first[1:].islower() or first in "AI" else first) + space + rest
