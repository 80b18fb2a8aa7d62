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
_OFFER = re.compile(
    r"^\W*(?:if (?:you|there)\b.{0,80}\b(?:let me know|feel free|please|i can)|(?:here(?:'s| is| are)|below is)\b"
    r"|calling \w+|(?:please )?(?:let me|allow me)\b|(?:could|can|would|may) (?:you|i)\b|i(?:'ll| will)\b"
    r"|i(?:'d| would) be (?:glad|happy)|i(?: also| now)? (?:need to|understand|see\b(?! that)|have (?:retrieved|the))"
    r"|now that\b"
    r"|(?:we|you) (?:are now|need to)\b|the response was\b|once (?:i|you)\b|how can i\b|is there\b"
    r"|(?:great|good) (?:question|idea)s?\b[^,]*$)"
    r"|^\W*(?:如果您?你?(?:还|需要|有)|好的|让我|我来|我将|接下来)|请问",
    re.IGNORECASE,
)
"""Sentences about the assistant itself, or its questions, instead of findings."""
_WORK = re.compile(
    r"\b(?:i(?:['’]ll| will|['’]m going to| need to| should|['’]d)|we should|let me|let['’]s|here['’]s)\b"
    r"|^\W*(?:now,? (?:i|we|that)|please)\b|\b(?:i|my) .{0,60}\btools?\b|\btools? i\b"
    r"|我(?:先|来|这就|马上)(?:看|查|帮|为|去)",
    re.IGNORECASE,
)
"""An assistant's own work, or what it asks for, anywhere in a sentence."""
_CHOICE = re.compile(r"^\W*(?:the|this|that) (?:first |second |third |last |other )?one\b", re.IGNORECASE)
"""An answer that nobody understands without the question."""
_BROKEN = ("…", ";", "；")
_ENDS = (".", "!", "。", "！", '"', "”", "」", "~")
"""How an assistant's statement ends: else it is a question to the user, or a heading."""
_ASSENT = re.compile(
    r"^\W*(?:yes,? )?(?:please )?(?:proceed|go ahead|continue|go on|do it)\b.{0,30}$"
    r"|^\W*(?:请)?(?:继续|接着|开始)(?:吧)?\W*$",
    re.IGNORECASE,
)
"""Leave that a user gives to what was said before."""
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
    if role == "assistant" and (_OFFER.match(line) or _WORK.search(line) or patterns.PLAN.match(line)):
        return False
    if (
        patterns.is_filler(line)
        or patterns.PLEASANTRY.found(patterns.look(line))
        or patterns.EMPTY_REQUEST.match(line)
        or _ASSENT.match(line)
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
