"""Find the subjects of texts: noun phrases that several of them share.

Chinese is tagged by rjieba's dictionary, and a subject is a run of nouns. English has no tagger here, and a subject is
a run of up to four words that are neither function words nor listed in ``app.extractive.verbs``. Names of tools, dates,
quantities, identifiers, paths and addresses are no subjects in either language.
"""

import math
import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache

from app.extractive.calls import tools_in
from app.extractive.speakers import named
from app.extractive.stopwords import CHINESE, CHINESE_EMPTY, CHINESE_NO_NOUNS, COMMON, ENGLISH
from app.extractive.terms import rarity
from app.extractive.verbs import GENERIC, NOUNS, is_calendar, is_linking, is_no_noun, is_vague, is_verb
from app.text.chinese_scripts import simplified
from app.text.language import HAN, fold, is_han, jieba, one_line, scalar, squeeze

TOPIC_CHARS = 40
_LINE_CHARS = 400
_MAX_TEXTS = 400
_WORDS_MAX = 4
_HAN_MAX = 10
_WEIGHTS = {"title": 1.5, "user": 1.5, "assistant": 1.0}
_HAS_HAN = re.compile(f"[{HAN}]")
_TOKEN = re.compile(r"[^\s,.;:!?()\[\]{}<>\"“”|*=…—–]+(?:\.[^\s,.;:!?()\[\]{}<>\"“”|*=…—–]+)*|[^\s]")
_WORD = re.compile(r"[A-Za-zÀ-ɏ]+(?:[-'’&][A-Za-zÀ-ɏ]+)*$")
_MODEL = re.compile(r"(?:[A-Z][a-z]{2,14}|[A-Z]{1,4})-?\d{1,2}$")
"""Matches the only words with digits that can be subjects: G2, GPT-4, COVID-19."""
_STARTS = frozenset('.!?:;-•*"“”(…—–')
"""After these marks a capital begins a sentence, not a name."""
_LINKS = frozenset(("of", "&"))
"""Words that join capitalised words to a name: Mixture of Experts."""
_NO_HEADS = frozenset(("tool", "tools"))
_POSSESSIVE = re.compile(r"(?<=\w)['’]s?$")
_NOUN_TAGS = frozenset(("n", "nr", "ns", "nt", "nz", "vn", "an", "j", "nrt", "ng"))
_HAN_NO = CHINESE | CHINESE_EMPTY | CHINESE_NO_NOUNS
_HAN_GUESSED = re.compile(
    "^[我你他她它您有没做发给先被把想去来说看吃是在让要会能可很太真最更不都就还再也跟和对点个几]"
    "|[了过着的给吗呢吧啊试到]$"
)
"""Matches parts of sentences that the tagger or its dictionary mistakes for words."""
_SPEAKERS = "我你您"
"""No noun begins with one of these characters, though the dictionary has 我会."""
_KNOWN = 20
"""Words with a higher frequency in the dictionary are surely words."""
_DEGREES = frozenset("很 太 非常 更 最 真 好 挺 更加 特别 十分 超级 比较 这么 那么 多么 有点 不".split())
"""After these words, the tagger's names are adjectives: 很安静."""
_DESCRIBED = ("的", "地", "得")
_CUT = "…"
"""The mark of a cut. A word next to it can be part of a name."""


_Word = tuple[str, bool]
"""A word, and whether its capital marks it as a name."""


@dataclass(slots=True)
class _FoundSubject:
    """A candidate, with the summed weight of the texts that contain it."""

    text: str
    rarity: float
    words: int
    weight: float = 0.0
    texts: set[int] = field(default_factory=set)


def subjects_of_page(title: str, lines: Sequence[tuple[str, str]], n: int) -> list[str]:
    """Return up to ``n`` subjects of a page, best first, from its title and the words in its (role, line) pairs."""
    tools = frozenset(fold(name) for role, line in lines for name in tools_in(role, line))
    spoken = [(role, line) for role, line in lines if role in ("user", "assistant") and not tools_in(role, line)]
    return _best([("title", title), *spoken][:_MAX_TEXTS], tools | named(title, spoken), n)


def _best(texts: Sequence[tuple[str, str]], tools: Collection[str], n: int) -> list[str]:
    subjects: dict[str, _FoundSubject] = {}
    for at, (role, text) in enumerate(texts):
        for phrase, words, rare in _phrases(scalar(text[:_LINE_CHARS])):
            if (key := fold(phrase)) in tools:
                continue
            subject = subjects.setdefault(key, _FoundSubject(phrase, rare, words))
            if at not in subject.texts:
                subject.texts.add(at)
                subject.weight += _WEIGHTS.get(role, 1.0)
    return _distinct(sorted(subjects.values(), key=lambda subject: -_score(subject)), max(n, 0))


def _score(subject: _FoundSubject) -> float:
    return math.log2(1 + subject.weight) * (0.5 + subject.rarity) * (1.35 if subject.words > 1 else 1.0)


def _distinct(ranked: Iterable[_FoundSubject], n: int) -> list[str]:
    """Return the first ``n`` subjects of which none contains another."""
    chosen: dict[str, str] = {}
    for subject in ranked:
        if len(chosen) == n:
            break
        key = fold(subject.text)
        if not any(key in other or other in key for other in chosen):
            chosen[key] = one_line(subject.text, TOPIC_CHARS)
    return list(chosen.values())


def _phrases(text: str) -> Iterator[tuple[str, int, float]]:
    return _chinese(text) if _HAS_HAN.search(text) else _english(text)


# --- English ------------------------------------------------------------------------------------------


def _english(text: str) -> Iterator[tuple[str, int, float]]:
    run: list[_Word] = []
    before = "."
    tokens = [*_TOKEN.findall(text), "."]
    for token, after in zip(tokens, (*tokens[1:], "."), strict=True):
        word = _POSSESSIVE.sub("", token) if "'" in token or "’" in token else token
        if _is_content(word):
            run.append((word, word[:1].isupper() and before not in _STARTS))
            if word is not token:  # "Mei's flight" is two subjects
                yield from _runs(run)
                run = []
        elif token in _LINKS and run and run[-1][0][:1].isupper() and after[:1].isupper():
            run.append((token, True))
        elif run:
            if _CUT not in (token, after):
                yield from _runs(run)
            run = []
        before = token


@lru_cache(5_000)  # texts repeat their words
def _is_content(token: str) -> bool:
    if not token.isalpha() and not _WORD.match(token) and not _MODEL.match(token):
        return False
    lower = token.lower().replace("’", "'")
    return len(token) > 1 and lower not in ENGLISH and not is_calendar(lower) and "'" not in lower


def _runs(run: Sequence[_Word]) -> Iterator[tuple[str, int, float]]:
    """Yield the phrases in a run of words, which verbs, adverbs and numerals separate."""
    part: list[str] = []
    for word, is_name in (*run, ("", False)):
        lower = word.lower()
        is_noun = not is_verb(lower) or (lower in NOUNS and part)
        if word and (is_name or (is_noun and not is_linking(lower))):
            part.append(word)
            continue
        yield from _phrase(part)
        part = []


def _phrase(words: Sequence[str]) -> Iterator[tuple[str, int, float]]:
    """Yield the subject in a run of words. A describing word can begin but not end it; a vague one cannot begin it."""
    end = len(words)
    while end and (is_no_noun(words[end - 1]) or words[end - 1] in _LINKS):
        end -= 1
    start = max(end - _WORDS_MAX, 0)
    while start < end and (words[start] in _LINKS or (start < end - 1 and is_vague(words[start].lower()))):
        start += 1
    words = words[start:end]
    if all(_is_vague(word) for word in words) or words[-1].lower() in _NO_HEADS:
        return
    first = words[0]
    is_name = len(words) > 1 and words[1][:1].isupper()
    shown = [first.lower() if not is_name and first.istitle() and first.lower() in COMMON else first, *words[1:]]
    yield " ".join(shown), len(words), max(rarity(word) for word in words)


def _is_vague(word: str) -> bool:
    """Return whether a word alone names no subject."""
    lower = word.lower()
    return lower in COMMON or lower in GENERIC or (len(word) < 3 and not word.isupper())


# --- Chinese, and English words within it ----------------------------------------------------------------


def _chinese(text: str) -> Iterator[tuple[str, int, float]]:
    run: list[str] = []
    before, last_tag = "", ""
    words = [*_tagged(text), ("\n", "x")]
    for (word, tag), (after, _) in zip(words, (*words[1:], ("\n", "x")), strict=True):
        describes = tag == "nr" and (simplified(before) in _DEGREES or after in _DESCRIBED)
        part = "" if describes else _part(word, tag)
        goes_on = part == word or (word == " " and run and not is_han(run[-1]))  # "G2 夹爪"
        if run and not goes_on:
            # Half of the words that the tagger composes by itself, except names, are parts of sentences.
            is_guess = len(run) == 1 and last_tag == "n" and is_han(run[0]) and not jieba().has_word(simplified(run[0]))
            if word != _CUT and not is_guess:
                yield from _han_phrase(run)
            run = []
        if part:
            run.append(part)
            last_tag = tag
        before = word


def _tagged(text: str) -> Iterator[tuple[str, str]]:
    """Yield words as written, with the tags of their simplified forms."""
    at = 0
    for word, tag in jieba().tag(simplified(text)):
        yield text[at : at + len(word)], tag
        at += len(word)


def _part(word: str, tag: str) -> str:
    """Return the part of a tagged word that belongs to a subject: of an action (踢足球) its object; "" if none does."""
    if not is_han(word):
        return word if _is_content(word) and not is_verb(word.lower()) else ""
    plain = simplified(word)
    if not _is_noun(plain, tag) or plain.endswith(("了", "的")) or (tag == "vn" and plain[0] == plain[-1]):
        return ""
    if len(plain) == 1:
        return word
    is_cut = _HAN_GUESSED.search(plain) is not None
    if not (is_cut or len(plain) > 2):
        return word
    is_listed = jieba().has_word(plain)
    if is_listed and jieba().suggest_freq(plain) > _KNOWN and plain[0] not in _SPEAKERS:
        return word
    return "" if is_cut else word[_action(plain) :] if is_listed else word


def _is_noun(word: str, tag: str) -> bool:
    return tag in _NOUN_TAGS and word not in _HAN_NO


def _action(word: str) -> int:
    """Return the length of the verb at the start of a rare word (踢足球: 1); of the whole word if it has no object."""
    for end in (1, 2):
        rest = word[end:]
        if not (rest and jieba().has_word(word[:end]) and jieba().has_word(rest)):
            continue
        verb, object_ = jieba().tag(word[:end])[0][1], jieba().tag(rest)[0][1]
        if len(rest) > 1 and not _is_noun(rest, object_):
            return len(word)
        if verb in ("v", "vg") and (len(rest) > 1 or object_ == "v"):
            return end if len(rest) > 1 else len(word)
    return 0


def _han_phrase(run: Sequence[str]) -> Iterator[tuple[str, int, float]]:
    """Yield a run of nouns as one subject, of a long run the last ones. English words in it are separated by spaces."""
    words = list(run)
    while len(words) > 1 and sum(map(len, words)) > _HAN_MAX and is_han(words[0]):
        words.pop(0)
    if not is_han(words[-1]) and not any(map(is_han, words)):
        yield from _runs([(word, word[:1].isupper()) for word in words])
        return
    phrase = squeeze("".join(word if is_han(word) else f" {word} " for word in words))
    if len(phrase) > 1:
        yield phrase, len(words), max(rarity(word) for word in words)
