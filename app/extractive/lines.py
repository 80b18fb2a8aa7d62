"""Describe a message in one line: what it is about, not how it begins.

Pasted blocks are set aside. Each sentence that the author wrote is scored by what matters for the role (a request for a
user, a conclusion for an assistant), and the best one is shown without its "Hi, could you". What a user tells of the
case, with its names and numbers, stands beside the request and is the last to be cut. Nothing is segmented here: this
runs for every appended message.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import islice
from typing import NamedTuple

from app.core.canonical import remembered
from app.extractive import patterns
from app.extractive.blocks import Blocks, definitions, take_apart, without_markup
from app.extractive.envelope import parse_json
from app.extractive.shapes import describe, examine
from app.extractive.stopwords import CHINESE, ENGLISH
from app.text.chinese_scripts import simplified
from app.text.language import clip, language, one_line, squeeze, straight, window
from app.text.queries import has_subject

_FIRST_SENTENCES = 60
_LAST_SENTENCES = 16
_SEEN = 400
_CANDIDATES = 4
_FEW_SENTENCES = 8
"""Of a longer message the request alone is the line: what it is told about is a text."""
_LINE_CHARS = 110
"""A longer sentence would be cut, so that a shorter one is preferred if it tells nearly as much."""
_USER_CHARS = 180
"""A user's line has room for what is told beside the request: 45 tokens, as a chapter's terms have."""
TITLE_CHARS = 60
_FACT_CHARS = 24
"""Of what a request points at, in its title: less names nothing."""
_TOLD_MAX = 3
OWN = 2.0
"""What a request gains where it is surely the user's: as much as a question is worth."""
_PLEASANTRY_WORDS = 12
"""A longer sentence says something besides."""

_LATIN_WORD = re.compile(r"[A-Za-z][\w'’-]*|\d[\d.,:/-]*")
_HAN_RUN = re.compile("[\u3400-\u9fff]+")
_BEFORE_GOOD = tuple("爱友偏嗜良美")
"""爱好吗 asks about a hobby."""
_POLITE_MAX = max(map(len, patterns.POLITE))
_CLOSING = " \t\n。．.!！?？~,，;；:：…"
_FULL_WIDTH = "。！？；：，"
_PROGRAM_TAG = re.compile(r"\s*<([a-z]+[_-][a-z_-]+)>")
"""What an agent's program puts around what it says in a user's message, such as <environment_context>."""
_CONDITION = patterns.any_case("condition")
_ADVERB = patterns.any_case("adverb")
_FIELD = patterns.any_case("field")
_STAMP = patterns.any_case("stamp")
_SPEAKER = patterns.any_case("speaker")
_SEAM = patterns.any_case("seam")
_ENDS_IN_LINK = patterns.any_case("ends_in_link")
_POINTING = patterns.any_case("pointing")
_CLAUSE = patterns.any_case("clause")


@dataclass(frozen=True, slots=True)
class Reading:
    """A message taken apart once, for all that is picked from it."""

    seen: str
    blocks: Blocks | None
    """None for JSON."""
    ranked: Sequence[str]
    """The few best sentences, best first."""
    plain: str = ""
    """The best one without markup and without its lead-in."""
    told: Sequence[tuple[int, str]] = ()
    """What a user asks for, or says, then what they tell beside it, the best first; each with its place."""
    asks: bool = False
    """The first of ``told`` is a request."""


class _Judged(NamedTuple):
    """A sentence, and what it is worth as the line."""

    seen: patterns.Seen
    score: float
    asks: bool = False
    is_empty: bool = False
    """It is a politeness, an announcement or a request without an object."""
    is_lasting: bool = False
    names: int = 0
    """Names, numbers, identifiers and quotations in it."""


def read(role: str, text: str) -> Reading:
    """Read a message that is no tool's result."""
    seen = window(text)
    if "##" in seen or "|>" in seen or "[" in seen or "</s>" in seen:
        seen = patterns.MARK.sub(" ", seen)
    if seen.lstrip()[:1] in ("{", "[") and parse_json(seen) is not None:
        return Reading(seen, None, ())
    blocks = take_apart(seen)
    ranked, told, asks = _ranked(role, blocks.prose, _ends(seen) if role == "user" else "")
    plain = _plain(ranked[0]) if ranked else ""
    return Reading(seen, blocks, ranked, plain, told, asks)


def message_line(role: str, text: str, *, max_chars: int | None = None) -> str:
    """Return what tells what this message is about, in its own language; "" for a blank text."""
    if max_chars is None:
        max_chars = _USER_CHARS if role == "user" else _LINE_CHARS
    if role in ("tool", "function"):
        return result_line("", text, max_chars=max_chars)
    return line_of(read(role, text), max_chars=max_chars)


def line_of(message: Reading, *, max_chars: int = _USER_CHARS) -> str:
    """Return the line of a user's message that has been read; see ``message_line``."""
    seen, blocks = message.seen, message.blocks
    if blocks is None:
        return describe(examine(seen), max_chars=max_chars, language=language(seen))
    if not message.ranked:
        return one_line(_without_prose(blocks), max_chars) or one_line(seen, max_chars)
    if message.told and not (blocks.logs or blocks.code or blocks.data):
        return _in_order(message.told, max_chars if language(message.seen) == "en" else max_chars * 2 // 3)
    return _request(message, blocks, min(max_chars, _LINE_CHARS))


def _in_order(told: Sequence[tuple[int, str]], room: int) -> str:
    """Return the first sentence and as many of the others as fit, in their order. Where the first two do not fit, the
    request is cut before what is told.
    """
    (main_at, main), (beside_at, beside), *others = told
    beside = clip(beside, max(room - len(main) - 1, room * 2 // 3))
    chosen = {main_at: clip(main, room - len(beside) - 1), beside_at: beside}
    for at, text in others:
        if sum(map(len, chosen.values())) + len(chosen) + len(text) <= room:
            chosen[at] = text
    return one_line(reduce(_joined, (chosen[at] for at in sorted(chosen))), room)


def _request(message: Reading, blocks: Blocks, max_chars: int) -> str:
    plain = message.plain
    announces = plain.endswith((":", "："))  # "Review the following:"
    line = _completed(plain, message.ranked, blocks, max_chars) if announces or _telling(plain, 2) < 2 else plain
    return one_line(line, max_chars) or one_line(message.seen, max_chars)


def _joined(one: str, other: str) -> str:
    """Return two sentences as one line. Chinese has no blank between them."""
    return f"{one}{other}" if one[-1:] in _FULL_WIDTH else f"{one} {other}"


def title_of(request: Reading) -> str:
    """Return a page's title, at most 60 characters: the request as a phrase, after what it points at. What an agent's
    program says has none.
    """
    if _is_by_program(request.seen):
        return ""
    blocks = request.blocks
    if blocks is None or not request.ranked:
        said = line_of(request)
    elif request.asks and not (blocks.logs or blocks.code or blocks.data):
        return _pointed(request.told)
    else:
        said = _request(request, blocks, 200)
    return _titled(said)


def _titled(said: str) -> str:
    line = _POINTING.sub("", said)
    return one_line(_as_title(line) or line, TITLE_CHARS)


def _pointed(told: Sequence[tuple[int, str]]) -> str:
    """Return a request as a title, after what it points at: "The office has no showers. How do people cope with it"."""
    (main_at, main), *others = told
    is_thin = _telling(main, 2) < 2
    if not (is_thin or patterns.POINTS.search(main[-TITLE_CHARS:])):
        return _titled(main)
    facts = [one for one in others if one[1][:1].isalpha() and not _FIELD.match(one[1])]
    asked = _as_title(main)
    room = TITLE_CHARS - len(asked) - 1
    if is_thin:
        at, fact = (facts or others)[0]
        if len(fact) > room or patterns.PLEASANTRY.found(patterns.look(main)):
            return one_line(fact[:1].upper() + fact[1:].rstrip(_CLOSING), TITLE_CHARS)
        return _titled(_joined(fact, asked) if at < main_at else _joined(main, fact))
    before = max((one for one in facts if one[0] < main_at), default=None)
    if before is None or room < _FACT_CHARS:
        return _titled(main)
    fact = clip(before[1], room)
    return _joined(fact[:1].upper() + fact[1:], asked)


def greets(message: Reading) -> bool:
    """Return whether a message does no more than greet, assent or say who speaks."""
    return bool(message.ranked) and all(map(_greets, message.ranked))


@remembered(8_192)  # each cut asks it of the same titles
def names_subject(title: str) -> bool:
    """Return whether a title, maybe after a speaker, says what a page is about: "Ann: Sounds great, Bob!" does not."""
    said = _SPEAKER.sub("", title, count=1)
    is_courtesy = patterns.is_filler(said) or patterns.REACTION.match(said)
    return not is_courtesy and any(map(_names, _SEAM.split(said)))


def tells(reply: str) -> bool:
    """Return whether an assistant's line can be the title of a page that opens with a courtesy: it has none itself."""
    return names_subject(reply) and _telling(reply, 2) >= 2 and not patterns.PLEASANTRY.found(patterns.look(reply))


def _names(clause: str) -> bool:
    seen = patterns.look(patterns.strip_lead(clause))
    is_introduction = patterns.INTRODUCTION.match(seen.text) is not None
    return has_subject(clause) and (is_introduction or not _is_courtesy(clause, seen))


def _greets(sentence: str) -> bool:
    seen = patterns.look(patterns.strip_lead(sentence))
    if _is_courtesy(sentence, seen):
        return True
    return patterns.INTRODUCTION.match(seen.text) is not None and not (
        patterns.REQUEST.found(seen) or patterns.QUESTION.found(seen) or patterns.PROBLEM.found(seen)
    )


def _is_courtesy(sentence: str, seen: patterns.Seen) -> bool:
    if patterns.is_filler(sentence) or patterns.is_filler(seen.text) or patterns.REACTION.match(seen.text):
        return True
    return patterns.PLEASANTRY.found(seen) and _size(seen.text) < _PLEASANTRY_WORDS


def _is_by_program(text: str) -> bool:
    """Return whether a user's message is what an agent's program says, from its first tag to its end."""
    tag = _PROGRAM_TAG.match(text)
    return tag is not None and text.rstrip().endswith(f"</{tag[1]}>")


def result_line(tool_name: str, text: str, *, max_chars: int = 110) -> str:
    """Return the line of a tool result: its first error, else a description of its content."""
    label = f"{one_line(tool_name, 40)}: " if tool_name.strip() else ""
    shape = examine(text)
    gist = describe(shape, max_chars=max(max_chars - len(label), 1), language=language(shape.body[:2000]))
    return one_line(label + (gist or "(empty)"), max_chars)


def _ends(seen: str) -> str:
    """Return the first and the last paragraph: a user asks before or after what they paste; "" of a single one."""
    paragraphs = seen.strip().split("\n\n") if "\n\n" in seen else ()
    return "\n".join((paragraphs[0], paragraphs[-1])) if len(paragraphs) > 1 else ""


def _ranked(role: str, prose: list[str], ends: str) -> tuple[list[str], list[tuple[int, str]], bool]:
    """Return the few best sentences; what a user asks for and tells; and whether they ask. ``ends``: the paragraphs
    where a request is surely the user's.
    """
    if len(prose) > _FIRST_SENTENCES + _LAST_SENTENCES:
        prose = prose[:_FIRST_SENTENCES] + prose[-_LAST_SENTENCES:]
    judge = _judge_assistant if role == "assistant" else _judge_user
    sentences = list(_labelled(prose))
    if len(sentences) == 1:  # most messages of a chat
        return [_with_list(sentences, 0)], [], False
    seen = [patterns.look(patterns.strip_lead(one) if at < 3 else one) for at, (one, _) in enumerate(sentences)]
    judged = [judge(one) for one in seen]
    own = {at for at, (one, _) in enumerate(sentences) if judged[at].asks and one in ends} if ends else ()
    scores = [
        one.score + _place(role, at, len(sentences)) + bonus + OWN * (at in own)
        for at, (one, (_, bonus)) in enumerate(zip(judged, sentences, strict=True))
    ]
    ranked = sorted(range(len(sentences)), key=lambda at: -scores[at])
    best = [_with_list(sentences, at) for at in ranked[:_CANDIDATES]]
    if role != "user" or not 1 < len(sentences) <= _FEW_SENTENCES:
        return best, [], False
    asking = [at for at in ranked if at in own] or [at for at in ranked if judged[at].asks]
    asking = [at for at in asking if _asks_outright(seen[at].text)] or asking
    asking.sort(key=lambda at: judged[at].is_lasting)
    main = (asking or ranked)[0]
    said = _plain(_with_list(sentences, main))
    told = [(at, _plain(sentences[at][0])) for at in _beside(main, judged, asking)]
    if not told or not (asking or _telling(said, 2) >= 2):
        return best, [], False
    return best, [(main, said), *told], bool(asking)


def _asks_outright(sentence: str) -> bool:
    """Return whether a sentence asks, and does not only tell of asking: "he applied for leave", 他申请了休假."""
    if sentence.endswith(("?", "？")) or sentence[:6].lower() == "please":
        return True
    if patterns.IMPERATIVE.match(sentence) or patterns.ASKING.match(sentence):
        return True
    found = patterns.ASKING_HAN.match(sentence)
    return found is not None and found.end() > 0


def _beside(main: int, judged: Sequence[_Judged], asking: Sequence[int]) -> list[int]:
    """Return the places of what is told beside the main sentence, the best first: of one that is no request, only what
    names something or holds for good.
    """
    worths = {
        at: _worth(one)
        for at, one in enumerate(judged)
        if at != main and (one.is_lasting or one.names or (asking and at not in asking)) and _tells(one)
    }
    return sorted(worths, key=lambda at: -worths[at])[:_TOLD_MAX]


def _tells(judged: _Judged) -> bool:
    """Return whether a statement says something about the case: no politeness, no announcement."""
    text = judged.seen.text
    if judged.is_empty or text.endswith((":", "：")) or patterns.REACTION.match(text) or _telling(text, 2) < 2:
        return False
    return judged.names > 0 or _size(text) >= 3


def _worth(judged: _Judged) -> float:
    return judged.names + 2.0 * judged.is_lasting + 0.2 * min(_telling(judged.seen.text, 10), 10)


def _labelled(prose: list[str]) -> Iterator[tuple[str, float]]:
    """Yield sentences with the weight of their label: "Task:" before one, or a heading like "INSTRUCTIONS:" above."""
    pending = False
    below_rules = 0.0
    for sentence in prose:
        if len(sentence) < 40 and patterns.RULES_LABEL.match(sentence):
            below_rules = -3.0
            continue
        if len(sentence) < 40 and patterns.GIST_LABEL.match(sentence):
            pending = True
            continue
        label = patterns.LEAD_LABEL.match(sentence[:60])
        rest = sentence[label.end() :] if label else sentence
        if rest.strip():
            below_rules = 0.0 if label else below_rules
            yield rest, (2.0 if pending or label else 0.0) + below_rules
            pending = False
        else:
            pending = True
            below_rules = 0.0


def _with_list(sentences: list[tuple[str, float]], at: int) -> str:
    """Return the sentence; if it ends in a colon, with what it introduces."""
    text = sentences[at][0]
    for following, _ in sentences[at + 1 : at + 6]:
        if not text.endswith((":", "：")) and not (text is not sentences[at][0] and len(text) < 80):
            break
        text = f"{text} {following}" if text.endswith((":", "：")) else f"{text}; {following}"
    return text if len(text) < 2_000 else sentences[at][0]


def _place(role: str, at: int, total: int) -> float:
    """Score the position in a message: people put what matters first or last."""
    first = 1.8 if role == "assistant" else 1.3
    return max(first - 0.25 * at, 0.0) + 0.5 * (at == total - 1 and total > 3)


def _judge_user(seen: patterns.Seen) -> _Judged:
    if patterns.is_filler(seen.text):
        return _Judged(seen, -6.0, is_empty=True)
    questions, is_lasting = patterns.QUESTION.found(seen), patterns.LASTING.found(seen)
    asks = patterns.REQUEST.found(seen) or patterns.IMPERATIVE.match(seen.text) is not None
    is_polite, announces = patterns.PLEASANTRY.found(seen), patterns.is_boilerplate(seen)
    is_hollow, names = patterns.EMPTY_REQUEST.match(seen.text) is not None, patterns.specifics(seen.text)
    score = 2.2 * questions + 2.4 * asks + 1.2 * patterns.PROBLEM.found(seen) + 1.2 * is_lasting
    score -= 3.0 * is_polite + 2.5 * announces + 3.5 * is_hollow + 3.0 * bool(patterns.INTRODUCTION.match(seen.text))
    is_empty = is_polite or announces or is_hollow
    return _Judged(seen, score + _substance(seen, names), questions or asks, is_empty, is_lasting, names)


def _judge_assistant(seen: patterns.Seen) -> _Judged:
    if patterns.is_filler(seen.text):
        return _Judged(seen, -6.0)
    score = 2.0 * patterns.CONCLUSION.found(seen) + 1.8 * patterns.DONE.found(seen)
    score -= 3.0 * bool(patterns.PLAN.match(seen.text)) + 4.5 * patterns.PLEASANTRY.found(seen)
    score -= 1.5 * (patterns.is_boilerplate(seen) and not seen.text.endswith((":", "：")))
    score += 0.8 * ("**" in seen.text) + 1.0 * seen.text.endswith(("?", "？"))
    return _Judged(seen, score + _substance(seen, patterns.specifics(seen.text)))


def _substance(seen: patterns.Seen, names: int) -> float:
    size = _size(seen.text)
    too_long = 0.8 * (len(seen.text) > _LINE_CHARS)
    score = -too_long + 0.35 * min(names, 5) + min(size, 12) / 10
    # "Origin: DEN" in a list, or a heading over one.
    is_label = (size < 4 and ":" in seen.text) or seen.text.endswith((":", "："))
    if size < 10 and _FIELD.match(seen.text):
        score -= 1.0
    return score - (1.5 if is_label and size < 6 else 0.4 * is_label)


def _size(sentence: str) -> float:
    if sentence.isascii():
        return sentence.count(" ") + 1
    return sum(map(len, _HAN_RUN.findall(sentence))) / 1.6 + len(_LATIN_WORD.findall(sentence))


def _telling(line: str, enough: int) -> int:
    """Count the words that name something, up to ``enough``: "Can you fix this?" and 这个怎么解决 have none."""
    seen = straight(line[:_SEEN])
    telling = 0
    for word in _LATIN_WORD.finditer(seen):
        if word[0].lower() not in ENGLISH:
            telling += 1
            if telling >= enough:
                return telling
    if not seen.isascii():
        han = patterns.HAN_EMPTY.sub("", "".join(_HAN_RUN.findall(seen)))
        telling += len(han) // 2 if simplified(han) not in CHINESE else 0
    return telling


def _completed(line: str, ranked: Sequence[str], blocks: Blocks, max_chars: int) -> str:
    """Return a thin line, the best, completed with what it refers to: pasted text, else another sentence."""
    pasted = _without_prose(blocks)
    if pasted and (blocks.logs or blocks.code or blocks.data):
        return f"{line} {pasted}"
    for other in ranked[1:]:
        plain = _plain(other)
        if _telling(plain, 2) >= 2 and not (
            patterns.PLEASANTRY.found(patterns.look(other)) or patterns.REACTION.match(plain)
        ):
            return _joined(line, plain) if len(line) + len(plain) < max_chars or _telling(line, 1) else plain
    return f"{line} {pasted}" if pasted else line


def _without_prose(blocks: Blocks) -> str:
    """Describe pasted text in one line: the error, what the code defines, what the data is, the quotation."""
    if not (blocks.logs or blocks.code or blocks.data):
        return next((line[:_SEEN] for line in (*blocks.quotes, *blocks.attachments) if line.strip()), "")
    for line in islice((*reversed(blocks.logs[-400:]), *blocks.code[:400]), 800):
        if patterns.ERROR_LINE.search(line[:_SEEN]):
            return _STAMP.sub("", line[:_SEEN])
    if blocks.code:
        code = "\n".join(blocks.code)
        defined = definitions(code, limit=4)
        first = next((line for line in blocks.code if line.strip()), "")
        return f"code: {' · '.join(defined)}" if defined else first[:_SEEN]
    if blocks.data:
        return describe(examine("\n".join(blocks.data)), max_chars=160, language="en")
    return next((line[:_SEEN] for line in blocks.logs if line.strip()), "")


def _plain(sentence: str) -> str:
    plain = patterns.strip_lead(squeeze(without_markup(sentence)))
    return plain.strip('"') if plain.count('"') == 1 and '"' in (plain[:1], plain[-1:]) else plain


def _as_title(line: str) -> str:
    """Return the line as a phrase: no "could you please", no question mark, its first clauses only."""
    is_chinese = not line.isascii() and language(line) == "zh"
    asking = (patterns.ASKING_HAN, 4) if is_chinese else (patterns.ASKING, 6)
    phrase = _strip_asking(line, *asking)
    phrase = _without_thanks(_CONDITION.sub("", phrase[:300], count=1))
    phrase = _POINTING.sub("", _strip_asking(_ADVERB.sub("", phrase, count=1), *asking))
    if len(phrase) > 60:
        ends = [cut.start() for cut in _CLAUSE.finditer(phrase[:60]) if cut.start() >= 18]
        phrase = _ENDS_IN_LINK.sub("", phrase[: ends[-1]].rstrip(" ,;:，；：、-–—")) if ends else phrase
    return phrase[:1].upper() + phrase[1:]


def _without_thanks(phrase: str) -> str:
    """Strip closing marks and the polite words before them. (A regular expression would be tried at each character.)"""
    phrase = phrase.rstrip(_CLOSING)
    while (tail := phrase[-_POLITE_MAX:].lower()).endswith(patterns.POLITE):
        longest = max(len(words) for words in patterns.POLITE if tail.endswith(words))
        longest -= tail.endswith("好吗") and tail[-3:-2] in _BEFORE_GOOD
        phrase = phrase[:-longest].rstrip(" ,，")
    return phrase


def _strip_asking(line: str, asking: re.Pattern[str], least: int) -> str:
    found = asking.match(line)
    rest = line[found.end() :] if found else line
    return line if len(rest) < least or patterns.HANGS.match(rest) else rest
