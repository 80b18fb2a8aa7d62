"""BM25 in stock PostgreSQL: documents and queries as sparse vectors (pgvector's ``sparsevec``).

A document's vector has a component for each of its terms: the saturated term frequency of BM25,

    f * (k1 + 1) / (f + k1 * min(1 - b + b * length / LENGTH, 2))        k1 = 1.2, b = 0.25

A query's vector has each term's inverse document frequency, which the SQL statement computes over the user's own
rows. Their inner product is the BM25 score, so keyword search is an exact scan of a covering index.

Terms are made here in the same way for every language: words, the parts of identifiers, and in Chinese, Japanese and
Korean each pair of neighbouring characters, which needs no dictionary and no segmentation. A term's component is its
hash, so no vocabulary is stored. Width, case and script make no difference: traditional Chinese finds simplified, and
vice versa.
"""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import chain
from operator import itemgetter

from app.text.chinese_scripts import simplified
from app.text.language import straight
from app.text.questions import asks
from app.text.word_lists import words_of

DIMENSIONS = 1_000_000_000
"""The maximum of sparsevec. With some thousand terms per user, collisions do not matter."""
K1, B, LENGTH = 1.2, 0.25, 15
NORM_MAX = 2.0
"""The bound of the length factor. A passage is long because Quire cut it so, not because it is wordy: without a bound,
repetition would count for more than the query's different terms.
"""
TERMS_MAX = 256
"""The most components of a document: 2 kB, which fits an entry of a covering index."""
QUERY_TERMS_MAX = 128
"""The most terms of a query. Of a longer one the first and last halves count: a dialogue ends with the question."""
QUERY_CHARACTERS = 20_000
"""Characters of a query that are read for terms."""
SPEAKER_TERMS_MAX, SPEAKER_CHARACTERS = 32, 1_000
"""The most words of a query that are tried as speakers' names, and the characters that are read for them."""
SAID_BY = "\0said by "
"""Distinguishes a speaker's component from that of the same word in a text."""
QUESTION_TERMS = 20
"""A question with more terms than this also states something."""
TELLING_TERMS = 4
"""The least terms of a sentence that states something; shorter ones only open or close a question."""
WORD_CACHED_MAX = 40
"""Characters of the longest word whose terms are cached."""
PASSAGE_CHARACTERS = 1_200
ESCAPES_MIN = 4
"""A text with at least this many backslashes is treated as escaped JSON."""
CJK_WEIGHT = 4
"""A Chinese, Japanese or Korean character counts as this many others, because every two of them make a term, and a
passage's terms must fit its vector."""

_CJK = "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\u3040-\u30ff\uac00-\ud7af\U00020000-\U0003ffff"
_RUN = re.compile(f"[{_CJK}]+|[^\\W_{_CJK}]+(?:[._@'’-][^\\W_{_CJK}]+)*", re.UNICODE)
_ASCII_RUN = re.compile("[A-Za-z0-9]+(?:[._@'-][A-Za-z0-9]+)*")
"""Matches the same runs in ASCII texts, in half the time."""
_HAS_NUMBER = re.compile(r"\d[,.'’ ]\d{3}")
_HAS_CODE = re.compile(r"[A-Z][A-Z][A-Z]\d")
_CODED = re.compile(r"(?<![^\W_])[A-Z]{3}(\d+(?:\.\d+)?)(?!\w)")
_NUMBER = re.compile(
    r"(?<![\d.,])(?:"
    r"(?P<whole>\d{1,3}(?:(?:,\d{3})+|(?:['’]\d{3})+|(?: \d{3})+|(?:\.\d{3}){2,}|(?:\.\d{3})+(?=,\d)))"
    r"(?:[.,](?P<part>\d{1,9}))?(?!\d))"
)
_PARTS = re.compile("[^\\W_]+")
_SENTENCE_END = re.compile(r"(?<=[.!?。！？，])\s*")
_CAMEL = re.compile("(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z]{2})")  # getUser, HTTPServer; not PDFs
_ESCAPED = re.compile(r"\\+(?:u([0-9a-fA-F]{4})|[nrt\"/])")
_IS_CJK = re.compile(f"[{_CJK}]")

STOP_WORDS = words_of("stop_words.txt")
STOP_PAIRS = words_of("stop_pairs.txt")


def terms(text: str) -> Iterator[str]:
    """Yield the terms of a text lazily, because its first ones usually show already whether it shares another's."""
    text, run = _readable(text)
    return chain.from_iterable(map(terms_of_run, chain(map(itemgetter(0), run.finditer(text)), _numbers(text))))


def terms_of_run(run: str) -> Iterable[str]:
    return _word_terms(run) if _is_usual(run) else _run_terms(run)


def runs(text: str) -> list[str]:
    """Return the words of a text and its runs of Chinese, Japanese or Korean, for ``terms_of_run``."""
    text, run = _readable(text)
    return [*run.findall(text), *_numbers(text)]


def _readable(text: str) -> tuple[str, re.Pattern[str]]:
    """Return a text without escapes and variant forms, and the pattern that finds its runs."""
    text = unescaped(text)
    if text.isascii():
        return text, _ASCII_RUN
    return straight(unicodedata.normalize("NFKC", text)), _RUN


def _numbers(text: str) -> Iterator[str]:
    """Yield numbers without their separators or currency code: "1234.50" for "USD1,234.50"."""
    for number in _NUMBER.finditer(text) if _HAS_NUMBER.search(text) else ():
        whole = re.sub(r"\D", "", number["whole"])
        yield f"{whole}.{number['part']}" if number["part"] else whole
    yield from _CODED.findall(text) if _HAS_CODE.search(text) else ()


def _is_word(run: str) -> bool:
    return run[0].isascii() or not _IS_CJK.match(run)


def _is_usual(run: str) -> bool:
    """Return whether a run is a word whose terms are cached."""
    return len(run) <= WORD_CACHED_MAX and (run.isascii() or _is_word(run))


def _run_terms(run: str) -> Iterable[str]:
    if _is_word(run):
        return _word(run)
    han = simplified(run)
    return [han[i : i + 2] for i in range(len(han) - 1)] if len(run) > 1 else [han]


def unescaped(text: str) -> str:
    r"""Remove the escapes of JSON inside JSON, which tools often return.

    With escapes, the first word of a line would become another word (``\nserver``) and Chinese no words at all. A text
    with few escapes is left alone: it may be something else, such as a path.
    """
    if text.count("\\") < ESCAPES_MIN:
        return text
    return _ESCAPED.sub(lambda match: chr(int(match[1], 16)) if match[1] else " ", text)


def _word(run: str) -> Iterator[str]:
    """Yield a word; for a compound word, also its parts."""
    folded = run.casefold()
    parts = [part for piece in _PARTS.findall(run) for part in _CAMEL.split(piece)]
    if len(parts) > 1:
        yield folded
    for part in parts:
        yield stem(part.casefold())


def stem(word: str) -> str:
    """Cut the most common English endings off a word, so that its forms match. Faster than a dictionary stemmer."""
    if len(word) > 4 and word[-1] in "sgd" and word.isascii():  # the last letters of all endings
        for ending, replacement in (("ies", "y"), ("sses", "ss"), ("ing", ""), ("ed", ""), ("es", "e"), ("s", "")):
            if word.endswith(ending) and len(word) - len(ending) >= 3 and not word.endswith("ss"):
                base = word[: -len(ending)] + replacement
                return base[:-1] if len(base) > 3 and base[-1] == base[-2] and ending in ("ing", "ed") else base
    return word


@lru_cache(maxsize=200_000)
def component(term: str) -> int:
    digest = hashlib.blake2b(term.encode("utf-8", "replace"), digest_size=8).digest()
    return int.from_bytes(digest, "big") % DIMENSIONS + 1


def document(text: str, speaker: str = "") -> str:
    """Return a text's vector as a sparsevec literal, with at most TERMS_MAX terms, the most frequent.

    It also has a component for each term of the speaker's name, which only a query's ``speakers`` find, and one for the
    share of the text that asks.
    """
    counts = dict(Counter(chain.from_iterable(_components(runs(text)))))
    size = sum(counts.values())
    for index in _STOPPED & counts.keys():
        del counts[index]
    length = sum(counts.values())
    norm = K1 * min(1 - B + B * length / LENGTH, NORM_MAX)
    frequent = counts if len(counts) <= TERMS_MAX else dict(Counter(counts).most_common(TERMS_MAX))
    weights = {times: f"{times * (K1 + 1) / (times + norm):.4g}" for times in set(frequent.values())}
    values = {index: weights[times] for index, times in frequent.items()}
    values |= dict.fromkeys(speakers(speaker) if speaker else (), "1")
    if size and asks(text):  # 1 for a bare question, less if it is long or also states something
        stated = sum(_statement_sizes(text))
        values[_ASKING] = f"{min(1.0, (QUESTION_TERMS / size) ** 2) * max(0.0, 1 - stated / size):.4g}"
        if not stated:
            values[_ONLY_ASKS] = "1"
    inside = ",".join([f"{index}:{values[index]}" for index in sorted(values)])
    return f"{{{inside}}}/{DIMENSIONS}"


def tells(text: str) -> bool:
    """Return whether a text is more than a question."""
    return not asks(text) or any(_statement_sizes(text))


def _statement_sizes(text: str) -> Iterator[int]:
    """Yield the number of terms of each sentence that states something. In Chinese a comma ends a sentence."""
    sizes = (len(list(terms(sentence))) for sentence in _SENTENCE_END.split(text) if not asks(sentence))
    return (size for size in sizes if size >= TELLING_TERMS)


@lru_cache(maxsize=50_000)
def _word_terms(run: str) -> tuple[str, ...]:
    """Return the terms of a word. Cached, because texts repeat their words and splitting one is expensive."""
    return tuple(_word(run))


def _components(runs: Sequence[str]) -> Iterable[Iterable[int]]:
    """Return the components of each run's terms. The fast path is for most texts: all runs are short words in ASCII."""
    if "".join(runs).isascii() and max(map(len, runs), default=0) <= WORD_CACHED_MAX:
        return map(_word_components, runs)
    return (_word_components(run) if _is_usual(run) else map(component, _run_terms(run)) for run in runs)


@lru_cache(maxsize=50_000)
def _word_components(run: str) -> tuple[int, ...]:
    return tuple(map(component, _word_terms(run)))


_STOPPED = frozenset(map(component, STOP_WORDS))
_ASKING = component("\0asks")
_ONLY_ASKS = component("\0only asks")
ONLY_ASKS = f"{{{_ONLY_ASKS}:1}}/{DIMENSIONS}"
"""The vector whose inner product with a document is 1 if the document only asks."""
ASKING = f"{{{_ASKING}:1}}/{DIMENSIONS}"
"""The vector whose inner product with a document is the share of it that asks, from 0 to 1."""


def query(text: str) -> list[int]:
    """Return the components of a query, without words that occur everywhere. It can be empty."""
    query_terms = dict.fromkeys(
        t for t in terms(text[:QUERY_CHARACTERS]) if t not in STOP_WORDS and t not in STOP_PAIRS
    )
    ends = list(query_terms)
    if len(ends) > QUERY_TERMS_MAX:
        ends = ends[: QUERY_TERMS_MAX // 2] + ends[-QUERY_TERMS_MAX // 2 :]
    return sorted({component(term) for term in ends})


def speakers(text: str) -> list[int]:
    """Return the speaker components of a name, or of all words of a query, because any of them can be a name."""
    named = dict.fromkeys(t for t in terms(text[:SPEAKER_CHARACTERS]) if t not in STOP_WORDS and t not in STOP_PAIRS)
    return sorted({component(SAID_BY + term) for term in list(named)[:SPEAKER_TERMS_MAX]})


def any_of(components: Iterable[int]) -> str:
    """Return a vector whose inner product with a document is positive if the document has any of the terms."""
    return f"{{{','.join(f'{index}:1' for index in sorted(set(components)))}}}/{DIMENSIONS}"


BLANKS = 200
_BLANK = re.compile(rf"\s{{{BLANKS},}}")


def passages(text: str, start: int = 0, most: int | None = None) -> list[tuple[int, int]]:
    """Return offset and length of each passage, cut after a line or a sentence where possible. A stretch of blanks is
    a passage of its own: it replaces an embedded file, which is not part of the text.

    The end of a passage depends only on its start, so the work can resume at the end of any passage.
    """
    offsets: list[tuple[int, int]] = []
    at = start
    while at < len(text) and (most is None or len(offsets) < most):
        if blank := _BLANK.match(text, at):
            end = blank.end()
        else:
            end = _reach(text, at)
            blank = _BLANK.search(text, at, end + BLANKS)
            if blank and blank.start() < end:
                end = blank.start()
            elif end < len(text):
                end = _seam(text, (at + end) // 2, end)
        offsets.append((at, end - at))
        at = end
    return offsets


def _reach(text: str, at: int) -> int:
    """Return where a passage must end at the latest (see CJK_WEIGHT)."""
    end = min(at + PASSAGE_CHARACTERS, len(text))
    if text.isascii():
        return end
    for count, match in enumerate(_IS_CJK.finditer(text, at, end), 1):
        if match.end() - at + count * (CJK_WEIGHT - 1) >= PASSAGE_CHARACTERS:
            return match.end()
    return end


SEAMS = (("\n",), ("\\n",), ("。", "！", "？", ". ", "! ", "? "), ("；", "，", "; ", ", "), (" ",), (",",))
"""The marks after which a text is cut, the best first: a line, a line of escaped JSON, a sentence, a clause, a word.
Numbers and addresses are never cut."""


def _seam(text: str, low: int, high: int) -> int:
    """Return the last good place to cut between ``low`` and ``high``; ``high`` if there is none."""
    for marks in SEAMS:
        at = max((text.rfind(mark, low, high) + len(mark) for mark in marks if mark in text[low:high]), default=-1)
        if at >= 0:
            return at
    return high
