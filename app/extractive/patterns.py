"""Classify sentences by their wording: request, greeting, conclusion and so on.

The patterns, in ``patterns.txt``, search single sentences that were cut to a few hundred characters. Repetitions of
overlapping alternatives are possessive (``*+``), so that no pattern backtracks excessively.
"""

import re
from dataclasses import dataclass
from pathlib import Path

from app.text.word_lists import patterns_of

_SEEN = 400
_ENGLISH_WORD = re.compile(r"[a-z]+(?:'[a-z]+)?")


@dataclass(frozen=True, slots=True)
class Seen:
    """A sentence prepared for the cues."""

    text: str
    lower: str
    words: frozenset[str]
    ascii: bool


def look(sentence: str) -> Seen:
    """Prepare the first 400 characters of a sentence for the cues."""
    text = sentence[:_SEEN]
    lower = text.lower()
    is_ascii = text.isascii()
    words = _ENGLISH_WORD.findall(lower if is_ascii else lower.replace("’", "'"))
    return Seen(text, lower, frozenset(words), is_ascii)


class Cue:
    """A pattern for each language, and the English words of which every English match contains one.

    Searching for dozens of alternatives at every character would be the main cost of a line, and most sentences contain
    none of the words. If there are no words, the pattern is always searched.

    The English pattern is in lower case and searches the sentence in lower case, which is several times as fast as
    ignoring case.
    """

    def __init__(self, words: str, english: str, chinese: str) -> None:
        self._words = frozenset(words.split())
        self._english = re.compile(english)
        self._chinese = re.compile(chinese)

    def found(self, seen: Seen) -> bool:
        """Return whether the sentence gives this cue, in either language."""
        if not (self._words and self._words.isdisjoint(seen.words)) and self._english.search(seen.lower):
            return True
        return not seen.ascii and self._chinese.search(seen.text) is not None


PATTERNS = patterns_of(Path(__file__).with_name("patterns.txt"))


def any_case(name: str) -> re.Pattern[str]:
    return re.compile(PATTERNS[name], re.IGNORECASE)


def _cue(name: str) -> Cue:
    words, english, chinese = (PATTERNS[f"{name} {kind}"] for kind in ("words", "english", "chinese"))
    return Cue(words.replace("|", " "), english, chinese)


FILLER = any_case("filler")
REACTION = any_case("reaction")
EMPTY_REQUEST = any_case("empty_request")
INTRODUCTION = any_case("introduction")
IMPERATIVE = any_case("imperative")
PLAN = any_case("plan")
POINTS = any_case("points")
HANGS = any_case("hangs")
MARK = re.compile(PATTERNS["mark"])
BOILERPLATE = any_case("boilerplate")
LEAD_LABEL = any_case("lead_label")
GIST_LABEL = any_case("gist_label")
RULES_LABEL = any_case("rules_label")
LEAD_IN = any_case("lead_in")
ASKING = any_case("asking")
ASKING_HAN, HAN_EMPTY = re.compile(PATTERNS["asking_han"]), re.compile(PATTERNS["han_empty"])
POLITE = tuple(PATTERNS["polite"].split("|"))
PLEASANTRY = _cue("pleasantry")
REQUEST = _cue("request")
QUESTION = _cue("question")
PROBLEM = _cue("problem")
CONCLUSION = _cue("conclusion")
DONE = _cue("done")
LASTING = _cue("lasting")
SPECIFIC = re.compile(PATTERNS["specific"])
ERROR_LINE = re.compile(PATTERNS["error_line"])
WARNING_LINE = re.compile(PATTERNS["warning_line"])


def strip_lead(sentence: str) -> str:
    """Strip up to four lead-ins such as "Hey Max, ", "Okay, " and "你好，请问"."""
    for _ in range(4):
        lead = LEAD_IN.match(sentence)
        if lead is None or lead.end() == 0 or len(sentence) - lead.end() < 4:
            break
        sentence = sentence[lead.end() :].lstrip()
    return sentence


def specifics(sentence: str) -> int:
    """Count the names, numbers, identifiers and quotations in a sentence, up to six."""
    count = 0
    for _ in SPECIFIC.finditer(sentence[:_SEEN]):
        count += 1
        if count == 6:
            break
    return count


def is_filler(sentence: str) -> bool:
    """Return whether a sentence is only a greeting, thanks or assent."""
    return len(sentence) < 120 and FILLER.match(sentence) is not None


def is_boilerplate(seen: Seen) -> bool:
    """Return whether a sentence only announces what follows."""
    if "following" in seen.words and "the following" in seen.text:
        return True
    return BOILERPLATE.match(seen.text) is not None or seen.text.rstrip("：: 。").endswith("如下")


def salience(sentence: str) -> float:
    """Score how much information a conversation would lose without this sentence."""
    seen = look(sentence)
    if is_filler(seen.text):
        return 0.0
    score = 1.0 + 0.5 * specifics(seen.text) + min(len(seen.text), 80) / 80
    score += 2.5 * LASTING.found(seen) + 0.8 * CONCLUSION.found(seen)
    score += 0.6 * DONE.found(seen) + 0.4 * PROBLEM.found(seen)
    score -= 1.5 * PLEASANTRY.found(seen) + 1.0 * bool(PLAN.match(seen.text))
    score -= 0.5 * QUESTION.found(seen) + 1.5 * seen.text.startswith(("(", "[", "（"))
    return max(score, 0.05)
