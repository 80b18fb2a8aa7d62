"""Find lasting wishes, and decide whether they hold for their user everywhere, as a proposal, or in one conversation.

Precision comes first, because a wish that holds everywhere is in all of its user's windows. Three kinds do at once:
closed keys with one value each, needs of the person, and wishes in lasting words. Other sentences that sound like a
lasting wish are proposed. A wish never leaves its conversation if its message hands over a text, plays a role or tells
a story, or if it is about a day, a trip, a piece of work or somebody else, in quotation marks, or in doubt.

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
"""The most wishes of one message."""
ORDER_MIN, HOLDS_MIN = 0.15, 0.8
"""The least probabilities, by a head that reads only words, for a lasting order and for any other sentence."""
SENTENCE_MIN = 4
_SENTENCE_MAX = 200
_SENTENCES_MAX = 30
"""The most sentences of a message that a person wrote; a longer one was pasted."""
_TAGS_MAX = 400
"""A text with more "<" is markup, and matching its elements would take long."""
_FORGET = any_case("forget")
_QUOTATION = re.compile(r"^['\"‘“「『《]|[\"‘“「『][^\"’”」』]{6,}[\"’”」』]")
"""Matches sentences with quoted words, which somebody else can have said."""
_LETTERS = re.compile("[a-z]+")
_BLANK_LINE = re.compile(r"\n[ \t]*\n")
PARTS = ("orders", "orders_han", "lead", "end", "language", "language_han", "name", "pronoun", "zone", "diet")
"""Sections of the file that are used in others."""
TABLES = ("plainly", "keys", "ended")
"""Sections of which each row begins with the key that it is for."""


class Wordings(NamedTuple):
    """Patterns by their keys, and words of which every English match contains one: most sentences have none of them."""

    rows: Mapping[str, re.Pattern[str]]
    words: frozenset[str]

    def may_be_in(self, text: str) -> bool:
        return not (self.words and text.isascii() and self.words.isdisjoint(_letters(text)))

    def key_in(self, text: str) -> str | None:
        rows = self.rows.items() if self.may_be_in(text) else ()
        return next((key for key, pattern in rows if pattern.search(text)), None)


@lru_cache(16)  # called a dozen times in a row for the same sentence
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
    """Return a table, with the patterns ``before`` and ``after`` around each of its own."""
    pattern, words = _SECTIONS[name]
    _, *cells = re.split(r"(?:^|\|)([\w, ]*) \| ", pattern)
    rows: defaultdict[str, list[str]] = defaultdict(list)
    for key, row in zip(cells[::2], cells[1::2], strict=True):
        rows[key].append(row)
    compiled = {key: re.compile(f"{before}(?:{'|'.join(own)}){after}", re.IGNORECASE) for key, own in rows.items()}
    return Wordings(compiled, words)


PLAINLY, ENDED = _table("plainly"), _table("ended")
KEYS = _table("keys", _SECTIONS["lead"][0], _SECTIONS["end"][0])
"""A sentence has a key only if it states nothing but its value: otherwise a mere mention would replace the value."""
FOLLOWING = Wordings(
    {}, ENDED.words.union(PLAINLY.words, KEYS.words, *(WORDINGS[name].words for name in ("need", "lasting")))
)
"""The words of which every wish that can hold everywhere contains one."""
_AGAIN = re.compile(r"^((?:please |from now on,? )*(?:never|do(?:n't| not))\b.*?),?(?: ever)? again\W*$", re.IGNORECASE)
_WORD = re.compile(r"(?<=[\w，, ])[\"“「『]([^\"”」』]{1,20})[\"”」』]")
"""Matches a quoted word or short phrase within a sentence."""


def wishes_of(text: str, prose: Sequence[str]) -> list[Wish]:
    """Return the wishes in a message with the sentences ``prose``. Texts in tags or triple quotation marks are ignored,
    because programs insert them.
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
    """Return whether a wish is surely its writer's: in a message of several lines, its paragraph holds only wishes."""
    if not is_surely_own(wish.text, own):
        return False
    paragraphs = [simplified(paragraph) for paragraph in _BLANK_LINE.split(own)]
    texts = [simplified(other.text) for other in found]
    return "\n" not in own.strip() or any(
        simplified(wish.text) in squeeze(paragraph)
        and all(any(text in squeeze(said) for text in texts) for said in take_apart(paragraph).prose)
        for paragraph in paragraphs
    )


@dataclass(frozen=True, slots=True)
class Judged:
    """A wish that the heads found, and their reason."""

    wish: Wish
    why: Mapping[str, str | float]


def may_keep(text: str) -> list[str]:
    """Return the sentences of a message that can be a person's wishes; none if it was pasted."""
    if text.count("<") > _TAGS_MAX:
        return []
    prose = list(map(squeeze, take_apart(window(without_elements(text))).prose))
    own = [sentence for sentence in prose if SENTENCE_MIN <= len(sentence) <= _SENTENCE_MAX]
    return own if own and _is_written(prose) else []


def judged(text: str, whole: Likely, each: Mapping[str, Likely]) -> list[Judged]:
    """Return the wishes in a message, judged by the heads' probabilities for the ``whole`` and ``each`` sentence.

    If the whole message is more certain than any sentence, and short, it is quoted whole. Wishes that a rule found are
    left out.
    """
    found = wishes_of(text, take_apart(window(text)).prose)
    readings = {text: among(likely, len(each)) for text, likely in each.items() if not takes_back(text)}
    best = max(readings, key=lambda text: certainty(readings[text]), default=None)
    if best is not None and certainty(whole) > certainty(readings[best]):
        short = squeeze(text)
        readings = {short: whole} if len(short) <= _SENTENCE_MAX else {**readings, best: whole}
    judged = [_judged(said, likely, text) for said, likely in readings.items() if not _is_among(said, found)]
    return [wish for wish in judged if wish is not None][:WISHES_MAX]


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
    """Return whether words of a message speak for its writer: it hands over no text, plays no role, tells no story."""
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
    """Return the lasting wishes among the sentences of a message, each of at most 200 characters, with their reach.

    ``is_own``: no paragraph shows that the next ones are somebody else's.
    """
    written = list(map(squeeze, prose))
    prose = list(map(simplified, prose))
    may_travel = is_own and _is_written(prose)
    standing, found = set[str](), dict[str, Wish]()
    for sentence in map(squeeze, prose):
        text = clip(strip_lead(sentence), _SENTENCE_MAX)
        if _holds(text) and not any(_says("play", other) for other in prose):
            standing.add(text)
        wish = _wish(text, is_standing=text in standing) if may_travel and len(sentence) <= _SENTENCE_MAX else None
        if wish is not None or (text in standing and not takes_back(text)):
            found.setdefault(text, wish or Wish(text))
    if any(wish.reach != "conversation" for wish in found.values()) and not _travels(prose):
        found = {text: Wish(text) for text in found if text in standing}
    return [_as_written(wish, written) for wish in islice(found.values(), WISHES_MAX)]


def _holds(text: str) -> bool:
    """Return whether a sentence sounds like a lasting wish."""
    if len(text) < SENTENCE_MIN or text.endswith(("?", "？")):
        return False
    likely = intents.KEEPS_BY_WORDS.probability(text)
    return likely >= HOLDS_MIN or (likely >= ORDER_MIN and _says("for_good", text))


def _as_written(wish: Wish, written: Sequence[str]) -> Wish:
    """Return a wish in the script of its original sentence, because the patterns know only simplified Chinese."""
    for sentence in () if wish.text.isascii() else written:
        if (start := simplified(sentence).find(wish.text)) >= 0:
            return replace(wish, text=sentence[start : start + len(wish.text)])
    return wish


def takes_back(sentence: str) -> bool:
    """Return whether a sentence asks to forget what it states."""
    return _FORGET.match(sentence) is not None


def wish_of(text: str) -> Wish | None:
    """Return the lasting wish in a person's own words; None if nothing shows that it is lasting."""
    found = wishes_in([text])
    return found[0] if found else None


def _says(name: str, text: str) -> bool:
    return WORDINGS[name].key_in(text) is not None


def _wish(text: str, *, is_standing: bool) -> Wish | None:
    """Return a sentence as a wish that leaves its conversation, or None. The most frequent cases are tested first."""
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
        if follows and not _says("doubt", _without_order(plain)):
            wish = Wish(text, "user", key, sensitive=_says("sensitive", text))
        elif is_standing and not text.endswith(("?", "？")):
            wish = Wish(text, "proposed", sensitive=_says("sensitive", text))
        else:
            return None
    return None if _says("here", text) else wish


def _without_order(plain: str) -> str:
    """Return the words that can express doubt: all except the head of an order and its quoted words."""
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
    """Return whether a wish is an order in lasting words to the assistant, rather than to a team."""
    if not _says("lasting", text) or WORDINGS["of_oneself"].rows["of_oneself"].match(text) is not None:
        return False
    return not any(_says(name, text) for name in ("team", "anybodys"))
