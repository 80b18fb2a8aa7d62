"""Words, sentences and language of Chinese, English and mixed text.

Every function here is pure and total: any ``str`` is accepted (empty, NUL, lone
surrogates, ten megabytes of one word), nothing raises, and the time is linear in
the length of the text. Callers that must be bounded pass ``window(text)``.
"""

import re
import unicodedata
from collections.abc import Iterator, Mapping
from functools import cache, lru_cache
from pathlib import Path
from types import ModuleType
from typing import Any, Literal

from app.text.chinese_scripts import simplified
from app.text.word_lists import patterns_of

Language = Literal["zh", "en"]

HEAD_CHARS = 20_000
TAIL_CHARS = 4_000

# Ideographs only: text with kana or hangul is not Chinese.
HAN = "\u3005\u3007\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003134f"

_HAN_RUN = re.compile(f"[{HAN}]+")
_KANA = re.compile("[\u3041-\u30ff]")
_LATIN_WORD = re.compile("[A-Za-z\u00c0-\u00d6\u00d8-\u00f6\u00f8-\u024f]+")
_FENCED = re.compile(r"```.*?```", re.DOTALL)
_WORD = re.compile(
    f"[{HAN}]+|[^\\W{HAN}]+(?:[-._@'\u2019][^\\W{HAN}]+)*"  # user@host.org, get_user, 2024-05-20, don't
)
# ANSI colours, zero-width marks and bidirectional overrides: they are invisible
# and can make the visible text look different.
_INVISIBLE = re.compile("\x1b\\[[0-9;]*[A-Za-z]|[\u00ad\u200b\u200e\u200f\u202a-\u202e\u2060-\u2069\ufeff]")
_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")
_SURROGATE = re.compile("[\ud800-\udfff]")

_PATTERNS = patterns_of(Path(__file__).with_name("language.txt"), ("closers",), {"HAN": HAN})
_SENTENCE_END, _MARKER = re.compile(_PATTERNS["sentence end"]), re.compile(_PATTERNS["marker"])
_ABBREVIATION, _BEFORE_NUMBER = (
    re.compile(_PATTERNS[name], re.IGNORECASE) for name in ("abbreviation", "before number")
)
_CLOSERS = " \t,;:，、；：—–-([{（【「“‘…"


def window(text: str) -> str:
    """Return the head and the tail of a text, the parts that bounded functions read."""
    if len(text) <= HEAD_CHARS + TAIL_CHARS:
        return text
    return text[:HEAD_CHARS] + "\n" + text[-TAIL_CHARS:]


def script_counts(text: str) -> tuple[int, int]:
    """Return (ideographs, Latin words) in the window of a text, without fenced code.

    Add up the pairs over a conversation and pass the sums to ``dominant``. The ideographs of Japanese do not count, so
    that it is not mistaken for Chinese.
    """
    seen = window(text)
    prose = _FENCED.sub(" ", seen) if "```" in seen else seen
    latin = len(_LATIN_WORD.findall(prose))
    if prose.isascii():
        return 0, latin
    han = sum(map(len, _HAN_RUN.findall(prose)))
    kana = len(_KANA.findall(prose))
    return (0 if kana * 8 > han else han), latin


def dominant(han: int, latin: int) -> Language:
    """Return the language that these counts indicate; English if there are none.

    A Chinese word has about 1.6 ideographs. A quarter of the words suffices, because people who write Chinese mix in
    English terms, but seldom the other way round.
    """
    chinese_words = han / 1.6
    return "zh" if han and chinese_words >= 0.25 * (chinese_words + latin) else "en"


def language(text: str) -> Language:
    """Return the language of a text. Code and JSON in ASCII are "en"."""
    if text.isascii():
        return "en"
    return dominant(*script_counts(text))


def fold(text: str) -> str:
    """Return a form for comparing texts in which width, case and the script of Chinese make no difference."""
    return text.lower() if text.isascii() else simplified(straight(unicodedata.normalize("NFKC", text)).casefold())


def straight(text: str) -> str:
    """Replace typographic apostrophes, as in "don’t" from phones, by straight ones."""
    return text.replace("\u2019", "'")


def fold_each(text: str) -> str:
    """Fold character by character, keeping the length, so that offsets in the result are offsets in the text."""
    if text.isascii():
        return text.lower()
    return "".join(map(_fold_one, text))


@lru_cache(maxsize=20_000)
def _fold_one(character: str) -> str:
    folded = fold(character)
    return folded if len(folded) == 1 else character


def squeeze(text: str) -> str:
    """Return the text on one line, with single spaces and without control characters."""
    if text.isprintable():  # control and invisible characters are not printable, so there are none
        return " ".join(text.split())
    return " ".join(_CONTROL.sub(" ", _INVISIBLE.sub("", text)).split())


def clip(text: str, max_chars: int) -> str:
    """Cut a text to at most ``max_chars`` characters, between words and marked with "…"."""
    if len(text) <= max_chars:
        return text
    if max_chars <= 1:
        return "…"[: max(max_chars, 0)]
    return text[: _boundary(text, max_chars - 1)].rstrip(_CLOSERS) + "…"


def _boundary(text: str, end: int) -> int:
    """Return the last acceptable place to cut at or before ``end``."""
    for at in range(end, end - end // 3 - 1, -1):
        if at and _breaks(text[at - 1], text[at]):
            return at
    for at in range(end, max(end - 16, 0), -1):
        if not (unicodedata.combining(text[at]) or text[at] in "\u200d\ufe0f" or text[at - 1] == "\u200d"):
            return at
    return end


def _breaks(left: str, right: str) -> bool:
    return right.isspace() or left.isspace() or left in "。！？；，、,;" or "\u2e80" <= left <= "\u9fff"


def one_line(text: str, max_chars: int) -> str:
    """Return ``clip(squeeze(text), max_chars)`` without reading more of the text than it needs."""
    # Twice the size leaves room for runs of blanks. A text with even more blanks becomes shorter than necessary.
    return clip(squeeze(text[: 2 * max(max_chars, 0) + 400]), max_chars)


def sentences(text: str) -> list[str]:
    """Return the sentences in order, stripped, without bullet and heading marks.

    A line end ends a sentence, except in prose that was wrapped by hand. A bullet or
    heading is never joined to its neighbours. Decimals, versions, URLs and common
    abbreviations do not end a sentence.
    """
    result: list[str] = []
    for line in _unwrapped(text):
        result.extend(_split(line))
    return result


def _unwrapped(text: str) -> list[str]:
    """Return lines without list markers. A line that continues in lower case is joined to the previous one."""
    paragraphs: list[list[str]] = []
    joinable = False
    for raw in text.splitlines():
        mark = _MARKER.match(raw)
        line = raw[mark.end() :].strip() if mark else raw.strip()
        if joinable and not mark and line[:1].islower() and line[0].isascii():
            paragraphs[-1].append(line)
        elif line:
            paragraphs.append([line])
        joinable = len(line) >= 45 and line[-1] not in ".!?:;。！？；：|}" and not (mark and "#" in mark[0])
    return [" ".join(paragraph) for paragraph in paragraphs]


def _split(line: str) -> list[str]:
    parts: list[str] = []
    start = 0
    for end in _SENTENCE_END.finditer(line):
        before = line[max(start, end.start() - 12) : end.start()]
        if end[0] == "." and _abbreviates(before, line[end.end() : end.end() + 2]):
            continue
        parts.append(line[start : end.end()].strip())
        start = end.end()
    parts.append(line[start:].strip())
    return [part for part in parts if part]


def _abbreviates(before: str, after: str) -> bool:
    return bool(_ABBREVIATION.search(before) or (after[1:].isdigit() and _BEFORE_NUMBER.search(before)))


def words(text: str) -> list[str]:
    """Return the words in order: Latin ones in lower case, identifiers as one word, and Chinese ones segmented."""
    return _WORD.findall(text.lower()) if text.isascii() else list(each_word(text))


def each_word(text: str) -> Iterator[str]:
    """Yield the words lazily."""
    for token in _WORD.finditer(text):
        if is_han(token[0]):
            yield from segments(token[0])
        else:
            yield straight(token[0].lower())


def segments(run: str) -> list[str]:
    """Return the words of a run of ideographs. It is segmented in simplified form, the script of the dictionary."""
    result: list[str] = []
    at = 0
    for word in jieba().cut(simplified(run)):
        result.append(run[at : at + len(word)])
        at += len(word)
    return result


@cache
def jieba() -> ModuleType:
    """Return the Chinese dictionary. The first Chinese text loads it, which takes 34 MB and a tenth of a second."""
    import rjieba

    return rjieba


def is_han(word: str) -> bool:
    return word >= "\u3005" and _HAN_RUN.match(word) is not None


def scalar(text: str) -> str:
    """Return the text with lone surrogates replaced, because nothing outside Python accepts them."""
    return _SURROGATE.sub("\ufffd", text)


def scalars(value: Any) -> Any:
    """Return a JSON value with the lone surrogates in its texts and names replaced."""
    match value:
        case str():
            return scalar(value)
        case Mapping():
            return {scalar(name): scalars(item) for name, item in value.items()}
        case list() | tuple():
            return [scalars(item) for item in value]
    return value
