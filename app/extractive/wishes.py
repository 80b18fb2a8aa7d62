"""Find how far a person's standing wish goes: with its user at once, only as a proposal, or nowhere.

Precision comes first, because what follows a user is in every window of theirs. Three kinds follow at once: closed keys
with one value each, needs of the person, and wishes in lasting words. Everything else that sounds like a wish for good
is proposed. Nothing goes further than its conversation from a message that hands over a text, plays a role or tells a
story, nor a sentence about a day, a trip or a piece of work, about somebody else, in quotation marks, or in doubt.

The patterns are in ``wishes.txt``.
"""

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from app.core.history.judging import Likely, among, certainty, judgement, kind_of
from app.core.window.kept import Reach, Wish
from app.extractive import intents
from app.extractive.blocks import take_apart
from app.extractive.own_words import is_surely_own, own_words, without_elements
from app.extractive.patterns import any_case, strip_lead
from app.text.chinese_scripts import simplified
from app.text.language import clip, squeeze, window
from app.text.word_lists import patterns_of

WISHES_MAX = 20
"""Of one message."""
ORDER_MIN, HOLDS_MIN = 0.15, 0.8
"""How likely the words of an order for good are a wish, by a head that sees words alone, and those of any sentence."""
SENTENCE_MIN = 4
_SENTENCE_MAX = 200
_SENTENCES_MAX = 30
"""Sentences of a message that people write; a longer one was pasted."""
_TAGS_MAX = 400
"""More are markup, and would take long to match."""
_FORGET = any_case("forget")
_QUOTATION = re.compile(r"^['\"‘“「『《]|[\"‘“「『][^\"’”」』]{6,}[\"’”」』]")
"""Of a sentence: words that somebody else may have said."""
_LETTERS = re.compile("[a-z]+")
_BLANK_LINE = re.compile(r"\n[ \t]*\n")
PARTS = ("orders", "orders_han", "lead", "end", "language", "language_han", "name", "pronoun", "zone", "diet")
"""Sections of the file that are parts of the others."""
TABLES = ("plainly", "keys", "ended")
"""Those of which each row begins with what it is for."""


class Wordings(NamedTuple):
    """Patterns by what they are for, and words of which each English match has one: most sentences have none."""

    rows: Mapping[str, re.Pattern[str]]
    words: frozenset[str]

    def may_be_in(self, text: str) -> bool:
        return not (self.words and text.isascii() and self.words.isdisjoint(_letters(text)))

    def key_in(self, text: str) -> str | None:
        rows = self.rows.items() if self.may_be_in(text) else ()
        return next((key for key, pattern in rows if pattern.search(text)), None)


@lru_cache(16)  # a sentence is looked at a dozen times in a row
def _letters(text: str) -> list[str]:
    return _LETTERS.findall(text.lower())


_SECTIONS = {
    name: (pattern, frozenset(words.split()))
    for section, pattern in patterns_of(Path(__file__).with_name("wishes.txt"), PARTS).items()
    for name, _, words in (section.partition(": "),)
}
WORDINGS = {
    name: Wordings({name: re.compile(pattern, re.IGNORECASE)}, words)
    for name, (pattern, words) in _SECTIONS.items()
    if name not in (*PARTS, *TABLES)
}


def _table(name: str, before: str = "", after: str = "") -> Wordings:
    """Return a table, each of its patterns between two others."""
    pattern, words = _SECTIONS[name]
    _, *told = re.split(r"(?:^|\|)([\w, ]*) \| ", pattern)
    rows: defaultdict[str, list[str]] = defaultdict(list)
    for key, row in zip(told[::2], told[1::2], strict=True):
        rows[key].append(row)
    compiled = {key: re.compile(f"{before}(?:{'|'.join(own)}){after}", re.IGNORECASE) for key, own in rows.items()}
    return Wordings(compiled, words)


PLAINLY, ENDED = _table("plainly"), _table("ended")
KEYS = _table("keys", _SECTIONS["lead"][0], _SECTIONS["end"][0])
"""A sentence has a key if it says no more than a value of it: what only mentions one would replace it."""
FOLLOWING = Wordings(
    {}, ENDED.words.union(PLAINLY.words, KEYS.words, *(WORDINGS[name].words for name in ("need", "lasting")))
)
"""Of what follows a user in lasting words."""
_AGAIN = re.compile(r"^((?:please |from now on,? )*(?:never|do(?:n't| not))\b.*?),?(?: ever)? again\W*$", re.IGNORECASE)
_WORD = re.compile(r"(?<=[\w，, ])[\"“「『]([^\"”」』]{1,20})[\"”」』]")
"""One in quotation marks, within a sentence."""


def wishes_of(text: str, prose: Sequence[str]) -> list[Wish]:
    """Return the wishes in a message, whose sentences are ``prose``: none of those in tags or triple quotation marks,
    where programs put what the person did not write.
    """
    if text.count("<") > _TAGS_MAX:
        return []
    own = without_elements(text)
    found = wishes_in(prose if own == text else take_apart(window(own)).prose, is_own=not _opens_a_text(own))
    return [
        wish if wish.reach != "user" or _is_plain(wish, own, found) else replace(wish, reach="proposed")
        for wish in found
        if not wish.ends or is_surely_own(wish.text, own)
    ]


def _is_plain(wish: Wish, own: str, found: Sequence[Wish]) -> bool:
    """Return whether a wish is surely its writer's: of several lines, its paragraph says nothing but wishes."""
    if not is_surely_own(wish.text, own):
        return False
    paragraphs = [simplified(one) for one in _BLANK_LINE.split(own)]
    texts = [simplified(one.text) for one in found]
    return "\n" not in own.strip() or any(
        simplified(wish.text) in squeeze(one)
        and all(any(text in squeeze(said) for text in texts) for said in take_apart(one).prose)
        for one in paragraphs
    )


@dataclass(frozen=True, slots=True)
class Judged:
    """A wish that the heads found, and why."""

    wish: Wish
    why: Mapping[str, str | float]


def may_keep(text: str) -> list[str]:
    """Return the sentences of a message that can be a person's wishes; none of what was pasted."""
    if text.count("<") > _TAGS_MAX:
        return []
    prose = [squeeze(one) for one in take_apart(window(without_elements(text))).prose]
    own = [one for one in prose if SENTENCE_MIN <= len(one) <= _SENTENCE_MAX]
    return own if own and _is_written(prose) else []


def judged(text: str, whole: Likely, each: Mapping[str, Likely]) -> list[Judged]:
    """Return what is to be kept of a message, by what heads read from it and from ``each`` of its sentences.

    Where the whole says more than any sentence, and is short, it is quoted whole. What a rule found is left out.
    """
    found = wishes_of(text, take_apart(window(text)).prose)
    readings = {one: among(likely, len(each)) for one, likely in each.items() if not takes_back(one)}
    best = max(readings, key=lambda one: certainty(readings[one]), default=None)
    if best is not None and certainty(whole) > certainty(readings[best]):
        short = squeeze(text)
        readings = {short: whole} if len(short) <= _SENTENCE_MAX else {**readings, best: whole}
    judged = [_judged(one, likely, text) for one, likely in readings.items() if not _is_among(one, found)]
    return [one for one in judged if one is not None][:WISHES_MAX]


def _is_among(sentence: str, found: Sequence[Wish]) -> bool:
    return any(wish.reach == "user" and wish.text in sentence for wish in found)


def _judged(sentence: str, likely: Likely, message: str) -> Judged | None:
    verdict, sentence = judgement(likely), clip(strip_lead(sentence), _SENTENCE_MAX)
    is_quoted = sentence in squeeze(message) and not own_words(sentence, message)
    if verdict is None or is_quoted or _says("speaker", sentence):
        return None
    key = KEYS.key_in(_plainly(simplified(sentence)))
    is_own = _QUOTATION.search(sentence) is None and speaks_for_itself(sentence, message)
    is_for_good = not _says("here", simplified(sentence))
    reach: Reach = "user" if is_own and is_for_good and verdict == "carry" else "proposed"
    wish = Wish(sentence, reach, key, sensitive=is_sensitive(sentence))
    return Judged(wish, {"head": kind_of(likely), "certainty": round(certainty(likely), 2)})


def speaks_for_itself(words: str, message: str) -> bool:
    """Return whether words of a message speak for its writer: they hand over no text, play no role, tell no story."""
    is_short = message.count("<") <= _TAGS_MAX
    is_own = is_short and is_surely_own(words, message) and not _opens_a_text(message)
    return is_own and _travels(take_apart(window(message)).prose)


def is_sensitive(text: str) -> bool:
    return _says("sensitive", text)


def _opens_a_text(text: str) -> bool:
    return any(_says("opens_a_text", one.strip()) for one in _BLANK_LINE.split(text)[:-1])


def _travels(prose: Sequence[str]) -> bool:
    return _is_written(prose) and not any(
        _says(name, one) for one in prose for name in ("handed_over", "play", "speaker")
    )


def _is_written(prose: Sequence[str]) -> bool:
    return len(prose) <= _SENTENCES_MAX


def wishes_in(prose: Sequence[str], *, is_own: bool = True) -> list[Wish]:
    """Return what holds for good among the sentences of a message, each at most 200 characters, and how far it goes.

    ``is_own``: no paragraph shows that the next ones are somebody else's.
    """
    said = prose
    prose = [simplified(one) for one in prose]
    may_travel = is_own and _is_written(prose)
    standing, found = set[str](), dict[str, Wish]()
    for sentence in map(squeeze, prose):
        text = clip(strip_lead(sentence), _SENTENCE_MAX)
        if _holds(text) and not any(_says("play", one) for one in prose):
            standing.add(text)
        wish = _wish(text, is_standing=text in standing) if may_travel and len(sentence) <= _SENTENCE_MAX else None
        if wish is not None or (text in standing and not takes_back(text)):
            found.setdefault(text, wish or Wish(text))
    if any(wish.reach != "conversation" for wish in found.values()) and not _travels(prose):
        found = {text: Wish(text) for text in found if text in standing}
    return [_as_written(wish, [squeeze(one) for one in said]) for wish in islice(found.values(), WISHES_MAX)]


def _holds(text: str) -> bool:
    """Return whether a sentence sounds like a wish for good."""
    if len(text) < SENTENCE_MIN or text.endswith(("?", "？")):
        return False
    likely = intents.KEEPS_BY_WORDS.probability(text)
    return likely >= HOLDS_MIN or (likely >= ORDER_MIN and _says("for_good", text))


def _as_written(wish: Wish, written: Sequence[str]) -> Wish:
    """Return a wish in the script that its sentence is written in; the patterns know one script of Chinese."""
    for sentence in () if wish.text.isascii() else written:
        if (start := simplified(sentence).find(wish.text)) >= 0:
            return replace(wish, text=sentence[start : start + len(wish.text)])
    return wish


def takes_back(sentence: str) -> bool:
    """Return whether a sentence asks to forget what it says."""
    return _FORGET.match(sentence) is not None


def wish_of(text: str) -> Wish | None:
    """Return what a person's own words hold for good; None if nothing shows that they do."""
    found = wishes_in([text])
    return found[0] if found else None


def _says(name: str, text: str) -> bool:
    return WORDINGS[name].key_in(text) is not None


def _wish(text: str, *, is_standing: bool) -> Wish | None:
    """Return a sentence as a wish; None if it goes nowhere. What most sentences are is asked first."""
    if takes_back(text):
        key = KEYS.key_in(_FORGET.sub("", text))
        return Wish(text, "user", key, ends=True) if key is not None else None
    if not (is_standing or FOLLOWING.may_be_in(text)):
        return None
    if (key := ENDED.key_in(text)) is not None:
        wish = Wish(text, "user", key, ends=True)
    else:
        plain = _plainly(text)
        key = KEYS.key_in(plain)
        follows = key is not None or _says("need", plain)
        follows = follows or (_is_lasting(plain) and (is_standing or _holds(plain)))
        if follows and not _says("doubt", _told(plain)):
            wish = Wish(text, "user", key, sensitive=_says("sensitive", text))
        elif is_standing and not text.endswith(("?", "？")):
            wish = Wish(text, "proposed", sensitive=_says("sensitive", text))
        else:
            return None
    return None if _says("here", text) else wish


def _told(plain: str) -> str:
    """Return what doubt can be told by: all but the head of an order and a word that it puts in quotation marks."""
    head = WORDINGS["order"].rows["order"].match(plain)
    return _WORD.sub("", plain[head.end() :]) if head else plain


def _plainly(text: str) -> str:
    """Return an order without its polite or wordy head: "I'd like you to call me Lin" is "call me Lin"."""
    for head, pattern in PLAINLY.rows.items() if PLAINLY.may_be_in(text) else ():
        if found := pattern.match(text):
            rest = found[found.lastindex] if found.lastindex else text[found.end() :]
            text = f"{head} {rest}" if head.isascii() else head + rest
    return squeeze(_AGAIN.sub(r"\1", text))


def _is_lasting(text: str) -> bool:
    """Return whether a standing wish is an order in lasting words, to the assistant and to nobody's team."""
    if not _says("lasting", text) or WORDINGS["of_oneself"].rows["of_oneself"].match(text) is not None:
        return False
    return not any(_says(name, text) for name in ("team", "anybodys"))
