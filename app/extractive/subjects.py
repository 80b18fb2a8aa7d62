"""Find what texts are about: noun phrases that several of them share.

Chinese is tagged by rjieba's dictionary: a subject is a run of nouns. English has no tagger here: a subject is a run of
words that are neither function words nor those that ``app.extractive.verbs`` lists, one to three of them. Names of
tools, dates, quantities, identifiers, paths and addresses are no subjects in either language.
"""

import math
import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field

import rjieba

from app.extractive.calls import tools_in
from app.extractive.stopwords import CHINESE, COMMON, ENGLISH
from app.extractive.terms import rarity
from app.extractive.verbs import GENERIC, NOUNS, is_calendar, is_no_noun, is_verb
from app.text.chinese_scripts import simplified
from app.text.language import HAN, fold, is_han, one_line, scalar, squeeze

__all__ = ["subjects", "subjects_of_page"]

TOPIC_CHARS = 40
_LINE_CHARS = 400
_MAX_TEXTS = 400
_WORDS_MAX = 3
_HAN_MAX = 10
_WEIGHTS = {"title": 1.5, "user": 1.5, "assistant": 1.0}
_HAS_HAN = re.compile(f"[{HAN}]")
_TOKEN = re.compile(r"[^\s,.;:!?()\[\]{}<>\"“”|*=…—–]+(?:\.[^\s,.;:!?()\[\]{}<>\"“”|*=…—–]+)*|[^\s]")
_WORD = re.compile(r"[A-Za-zÀ-ɏ]+(?:[-'’&][A-Za-zÀ-ɏ]+)*$")
_MODEL = re.compile(r"(?:[A-Z][a-z]{2,14}|[A-Z]{1,4})-?\d{1,2}$")
"""G2, GPT-4, COVID-19: all that may have a digit."""
_POSSESSIVE = re.compile(r"(?<=\w)['’]s?$")
_NOUN_TAGS = frozenset(("n", "nr", "ns", "nt", "nz", "vn", "an", "j", "nrt", "ng"))
_HAN_EMPTY = frozenset(
    """
    时候 感觉 事情 东西 方法 办法 大家 人 样子 时间 地方 问题 情况 内容 部分 方面 结果 原因 意思
    机会 关系 过程 结论 好处 帮助 建议 需要 准备 看法 特点 信息 目的 工具 用户 样式 名字 名称
    选择 超级 心情 心里 想法 小时 分钟 星期 伤心 开心 感兴趣 做作业 写作业 家养 大人 发给 交给
    送给 带给 回事 对方 本人 先生 女士 个人 程度 期间 之类 一下 话 事 段 份 句 上面 下面 里面
    后面 前面 旁边 外面 哥们 老兄
    """.split()
)
_HAN_GUESSED = re.compile(
    "^[我你他她它您有没做发给先被把想去来说看吃是在让要会能可很太真最更不都就还再也跟和对点个几]"
    "|[了过着的给吗呢吧啊试到]$"
)
"""Words that the dictionary lacks, and that the tagger has put together from parts of a sentence."""


@dataclass(slots=True)
class _Found:
    """A candidate, with what the texts that have it weigh."""

    text: str
    rarity: float
    words: int
    weight: float = 0.0
    texts: set[int] = field(default_factory=set)


def subjects(texts: Sequence[str], n: int = 6) -> list[str]:
    """Return up to ``n`` subjects of several titles or sentences, best first."""
    return _best([("title", text) for text in texts[-_MAX_TEXTS:]], frozenset(), n)


def subjects_of_page(title: str, lines: Sequence[tuple[str, str]], n: int) -> list[str]:
    """Return up to ``n`` subjects of a page: of its title and of what is said in its (role, line) pairs, best first."""
    tools = frozenset(fold(name) for role, line in lines for name in tools_in(role, line))
    spoken = [(role, line) for role, line in lines if role in ("user", "assistant") and not tools_in(role, line)]
    return _best([("title", title), *spoken][:_MAX_TEXTS], tools, n)


def _best(texts: Sequence[tuple[str, str]], tools: Collection[str], n: int) -> list[str]:
    found: dict[str, _Found] = {}
    for at, (role, text) in enumerate(texts):
        for phrase, words, rare in _phrases(scalar(text[:_LINE_CHARS])):
            if (key := fold(phrase)) in tools:
                continue
            one = found.setdefault(key, _Found(phrase, rare, words))
            if at not in one.texts:
                one.texts.add(at)
                one.weight += _WEIGHTS.get(role, 1.0)
    ranked = sorted(found.values(), key=lambda one: -_score(one))
    return _distinct(ranked, max(n, 0))


def _score(one: _Found) -> float:
    return math.log2(1 + one.weight) * (0.5 + one.rarity) * (1.35 if one.words > 1 else 1.0)


def _distinct(ranked: Iterable[_Found], n: int) -> list[str]:
    """Return the first ``n``, none of which is part of another."""
    chosen: dict[str, str] = {}
    for one in ranked:
        if len(chosen) == n:
            break
        key = fold(one.text)
        if not any(key in other or other in key for other in chosen):
            chosen[key] = one_line(one.text, TOPIC_CHARS)
    return list(chosen.values())


def _phrases(text: str) -> Iterator[tuple[str, int, float]]:
    """Yield the candidates of a text: as written, the number of words, and how rare the rarest is."""
    return _chinese(text) if _HAS_HAN.search(text) else _english(text)


# --- English ------------------------------------------------------------------------------------------


def _english(text: str) -> Iterator[tuple[str, int, float]]:
    run: list[str] = []
    for token in (*_TOKEN.findall(text), "."):
        word = _POSSESSIVE.sub("", token)
        if _is_content(word):
            run.append(word)
            if word is not token:  # "Mei's flight" are two subjects
                yield from _runs(run)
                run = []
        elif run:
            yield from _runs(run)
            run = []


def _is_content(token: str) -> bool:
    """Return whether a token can be part of an English subject."""
    if not token.isalpha() and not _WORD.match(token) and not _MODEL.match(token):
        return False
    lower = token.lower().replace("’", "'")
    return len(token) > 1 and lower not in ENGLISH and not is_calendar(lower) and "'" not in lower


def _runs(run: Sequence[str]) -> Iterator[tuple[str, int, float]]:
    """Yield the phrases of words in a row: verbs part them, and what describes may begin but not end one."""
    part: list[str] = []
    for at, word in enumerate((*run, "")):
        lower = word.lower()
        is_name = at > 0 and word[:1].isupper()
        if word and (is_name or not is_verb(lower) or (lower in NOUNS and part)):
            part.append(word)
            continue
        while part and is_no_noun(part[-1].lower()):
            part.pop()
        if part:
            yield from _phrase(part[-_WORDS_MAX:])
        part = []


def _phrase(words: Sequence[str]) -> Iterator[tuple[str, int, float]]:
    if all(_is_vague(word) for word in words):
        return
    first = words[0]
    is_name = len(words) > 1 and words[1][:1].isupper()
    shown = [first.lower() if not is_name and first.istitle() and first.lower() in COMMON else first, *words[1:]]
    yield " ".join(shown), len(words), max(rarity(word) for word in words)


def _is_vague(word: str) -> bool:
    """Return whether a word names no subject without others."""
    lower = word.lower()
    return lower in COMMON or lower in GENERIC or (len(word) < 3 and not word.isupper())


# --- Chinese, and English within it ----------------------------------------------------------------------


def _chinese(text: str) -> Iterator[tuple[str, int, float]]:
    run: list[tuple[str, str]] = []
    for word, tag in (*_tagged(text), ("", "x")):
        if _is_part(word, tag):
            run.append((word, tag))
            continue
        if word == " " and run and not is_han(run[-1][0]):  # "G2 夹爪"
            continue
        if run:
            yield from _han_phrase(run)
        run = []


def _tagged(text: str) -> Iterator[tuple[str, str]]:
    """Yield words as written, with the tags of their simplified forms."""
    at = 0
    for word, tag in rjieba.tag(simplified(text)):
        yield text[at : at + len(word)], tag
        at += len(word)


def _is_part(word: str, tag: str) -> bool:
    if not is_han(word):
        return _is_content(word) and not is_verb(word.lower())
    plain = simplified(word)
    if tag not in _NOUN_TAGS or plain in CHINESE or plain in _HAN_EMPTY:
        return False
    return _HAN_GUESSED.search(plain) is None or bool(rjieba.has_word(plain))


def _han_phrase(run: Sequence[tuple[str, str]]) -> Iterator[tuple[str, int, float]]:
    """Yield the nouns in a row as one subject, the last of many; English words among them keep their own spaces."""
    words = [word for word, _ in run]
    while len(words) > 1 and sum(map(len, words)) > _HAN_MAX and is_han(words[0]):
        words.pop(0)
    if not is_han(words[-1]) and not any(map(is_han, words)):
        yield from _runs(words)
        return
    phrase = squeeze("".join(word if is_han(word) else f" {word} " for word in words))
    if len(phrase) > 1:
        yield phrase, len(words), max(rarity(word) for word in words)
