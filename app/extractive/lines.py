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

from app.extractive import patterns
from app.extractive.blocks import Blocks, definitions, take_apart, without_markup
from app.extractive.envelope import parse_json
from app.extractive.shapes import describe, examine
from app.extractive.stopwords import CHINESE, ENGLISH
from app.text.chinese_scripts import simplified
from app.text.language import clip, language, one_line, squeeze, straight, window

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
_TOLD_MAX = 3
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
_CONDITION = re.compile(
    r"^(?:if|when|since|because|after|before|once|as|although|(?:even )?though|while)\s[^,.]{4,120},\s*(?=\S.{12})",
    re.IGNORECASE,
)
_ADVERB = re.compile(r"^(?:(?:now|then|also|so|and|next|first|just|please)\s+)+(?=\S+\s+\S)", re.IGNORECASE)
_FIELD = re.compile(r"\W*[\w /-]{2,28}[:：]\W*\S")
_STAMP = re.compile(r"^\W*\d{2,4}[-/:]\d\d[-/:]\d\d(?:[T ]\d\d:\d\d(?::\d\d)?[\d.,Z+:]*)?\W*")
_POINTING = re.compile(
    r"^(?:(?:help|assist|do|look|check)\b[^?.]{0,20}\b)?(?:it|that|this|something)\s*\?\s+(?=\S)", re.IGNORECASE
)
"""A request whose object is in the sentence after it."""
_CLAUSE = re.compile(
    r"[，；：。！？]|[,;:.!?]\s|\s[-–—]\s|\s(?:because|since|so that|and (?:then|also)|but|which|when|if)\s"
)


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
    is_thin: bool = False
    """It does not tell by itself what the message is about."""


def read(role: str, text: str) -> Reading:
    """Read a message that is no tool's result."""
    seen = window(text)
    if seen.lstrip()[:1] in ("{", "[") and parse_json(seen) is not None:
        return Reading(seen, None, ())
    blocks = take_apart(seen)
    ranked, told, asks = _ranked(role, blocks.prose)
    plain = _plain(ranked[0]) if ranked else ""
    return Reading(seen, blocks, ranked, plain, told, asks, is_thin=_telling(plain, 2) < 2)


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
    line = _completed(message.plain, message.ranked, blocks, max_chars) if message.is_thin else message.plain
    return one_line(line, max_chars) or one_line(message.seen, max_chars)


def _joined(one: str, other: str) -> str:
    """Return two sentences as one line. Chinese has no blank between them."""
    return f"{one}{other}" if one[-1:] in _FULL_WIDTH else f"{one} {other}"


def title_of(request: Reading) -> str:
    """Return a page's title, at most 60 characters: the request as a phrase. What an agent's program says has none."""
    if _is_by_program(request.seen):
        return ""
    blocks = request.blocks
    if blocks is None or not request.ranked:
        said = line_of(request)
    elif request.asks and _telling(request.told[0][1], 2) >= 2:
        said = request.told[0][1]
    else:
        said = _request(request, blocks, 200)
    line = _POINTING.sub("", said)
    return one_line(_as_title(line) or line, 60)


def greets(message: Reading) -> bool:
    """Return whether a message does no more than greet, assent or say who speaks."""
    return bool(message.ranked) and all(map(_greets, message.ranked))


def _greets(sentence: str) -> bool:
    seen = patterns.look(patterns.strip_lead(sentence))
    if patterns.is_filler(sentence) or patterns.REACTION.match(seen.text):
        return True
    if patterns.PLEASANTRY.found(seen) and _size(seen.text) < _PLEASANTRY_WORDS:
        return True
    return patterns.INTRODUCTION.match(seen.text) is not None and not (
        patterns.REQUEST.found(seen) or patterns.QUESTION.found(seen) or patterns.PROBLEM.found(seen)
    )


def _is_by_program(text: str) -> bool:
    """Return whether a user's message is what an agent's program says, from its first tag to its end."""
    tag = _PROGRAM_TAG.match(text)
    return tag is not None and text.rstrip().endswith(f"</{tag[1]}>")


def result_line(tool_name: str, text: str, *, max_chars: int = 110) -> str:
    """Return the line of a short tool result: its first error, else a description of its content."""
    label = f"{one_line(tool_name, 40)}: " if tool_name.strip() else ""
    shape = examine(text)
    gist = describe(shape, max_chars=max(max_chars - len(label), 1), language=language(shape.body[:2000]))
    return one_line(label + (gist or "(empty)"), max_chars)


def _ranked(role: str, prose: list[str]) -> tuple[list[str], list[tuple[int, str]], bool]:
    """Return the few best sentences; what a user asks for and tells; and whether they ask."""
    if len(prose) > _FIRST_SENTENCES + _LAST_SENTENCES:
        prose = prose[:_FIRST_SENTENCES] + prose[-_LAST_SENTENCES:]
    score = _assistant_score if role == "assistant" else _user_score
    sentences = list(_labelled(prose))
    if len(sentences) == 1:  # most messages of a chat
        return [_with_list(sentences, 0)], [], False
    seen = [patterns.look(patterns.strip_lead(one) if at < 3 else one) for at, (one, _) in enumerate(sentences)]
    judged = [score(one) for one in seen]
    scores = [
        own + _place(role, at, len(sentences)) + bonus
        for at, ((own, _), (_, bonus)) in enumerate(zip(judged, sentences, strict=True))
    ]
    ranked = sorted(range(len(sentences)), key=lambda at: -scores[at])
    best = [_with_list(sentences, at) for at in ranked[:_CANDIDATES]]
    if role != "user" or not 1 < len(sentences) <= _FEW_SENTENCES:
        return best, [], False
    asking = [at for at in ranked if judged[at][1]]
    asking = [at for at in asking if _asks_outright(seen[at].text)] or asking
    asking.sort(key=lambda at: patterns.LASTING.found(seen[at]))
    main = (asking or ranked)[0]
    said = _plain(_with_list(sentences, main))
    told = [(at, _plain(sentences[at][0])) for at in _beside(main, seen, asking)]
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


def _beside(main: int, seen: Sequence[patterns.Seen], asking: Sequence[int]) -> list[int]:
    """Return the places of what is told beside the main sentence, the best first: of one that is no request, only what
    names something or holds for good.
    """
    worths = {
        at: _worth(one)
        for at, one in enumerate(seen)
        if at != main and _tells(one) and (_holds(one) or (asking and at not in asking))
    }
    return sorted(worths, key=lambda at: -worths[at])[:_TOLD_MAX]


def _tells(seen: patterns.Seen) -> bool:
    """Return whether a statement says something about the case: no politeness, no announcement."""
    is_empty = patterns.is_filler(seen.text) or patterns.PLEASANTRY.found(seen) or patterns.is_boilerplate(seen)
    if is_empty or patterns.EMPTY_REQUEST.match(seen.text) or patterns.REACTION.match(seen.text):
        return False
    if seen.text.endswith((":", "：")) or _telling(seen.text, 2) < 2:
        return False
    return _size(seen.text) >= 3 or patterns.specifics(seen.text) > 0


def _holds(seen: patterns.Seen) -> bool:
    """Return whether a statement is worth keeping without a request: it has names, numbers, or holds for good."""
    return patterns.LASTING.found(seen) or patterns.specifics(seen.text) > 0


def _worth(seen: patterns.Seen) -> float:
    return patterns.specifics(seen.text) + 2.0 * patterns.LASTING.found(seen) + 0.2 * min(_telling(seen.text, 10), 10)


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


def _user_score(seen: patterns.Seen) -> tuple[float, bool]:
    """Return what a sentence is worth as the line, and whether it asks for something."""
    if patterns.is_filler(seen.text):
        return -6.0, False
    questions = patterns.QUESTION.found(seen)
    asks = patterns.REQUEST.found(seen) or patterns.IMPERATIVE.match(seen.text) is not None
    score = 2.2 * questions + 2.4 * asks
    score += 1.2 * patterns.PROBLEM.found(seen) + 1.2 * patterns.LASTING.found(seen)
    score -= 3.0 * patterns.PLEASANTRY.found(seen) + 2.5 * patterns.is_boilerplate(seen)
    score -= 3.5 * bool(patterns.EMPTY_REQUEST.match(seen.text)) + 3.0 * bool(patterns.INTRODUCTION.match(seen.text))
    return score + _substance(seen), questions or asks


def _assistant_score(seen: patterns.Seen) -> tuple[float, bool]:
    if patterns.is_filler(seen.text):
        return -6.0, False
    score = 2.0 * patterns.CONCLUSION.found(seen) + 1.8 * patterns.DONE.found(seen)
    score -= 3.0 * bool(patterns.PLAN.match(seen.text)) + 4.5 * patterns.PLEASANTRY.found(seen)
    score -= 1.5 * (patterns.is_boilerplate(seen) and not seen.text.endswith((":", "：")))
    score += 0.8 * ("**" in seen.text) + 1.0 * seen.text.endswith(("?", "？"))
    return score + _substance(seen), False


def _substance(seen: patterns.Seen) -> float:
    size = _size(seen.text)
    too_long = 0.8 * (len(seen.text) > _LINE_CHARS)
    score = -too_long + 0.35 * min(patterns.specifics(seen.text), 5) + min(size, 12) / 10
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
    """Return a thin line, the best, completed with what it refers to: pasted text, else another sentence; where
    both fit, in the order in which they were said.
    """
    pasted = _without_prose(blocks)
    if pasted and (blocks.logs or blocks.code or blocks.data):
        return f"{line} {pasted}"
    best, *others = ranked
    for other in others:
        plain = _plain(other)
        if _telling(plain, 2) >= 2 and not (
            patterns.PLEASANTRY.found(patterns.look(other)) or patterns.REACTION.match(plain)
        ):
            fit = len(line) + len(plain) < max_chars
            if not fit and not _telling(line, 1):
                return plain
            return _joined(plain, line) if fit and _comes_before(other, best, blocks.prose) else _joined(line, plain)
    return f"{line} {pasted}" if pasted else line


def _comes_before(one: str, other: str, prose: Sequence[str]) -> bool:
    for sentence in prose:
        if sentence.endswith(other[:_SEEN]) or other.startswith(sentence):
            return False
        if sentence.endswith(one[:_SEEN]) or one.startswith(sentence):
            return True
    return False


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
    asking = (patterns.ASKING_HAN, 4) if language(line) == "zh" else (patterns.ASKING, 6)
    phrase = _strip_asking(line, *asking)
    phrase = _without_thanks(_CONDITION.sub("", phrase[:300], count=1))
    phrase = _POINTING.sub("", _strip_asking(_ADVERB.sub("", phrase, count=1), *asking))
    if len(phrase) > 60:
        ends = [cut.start() for cut in _CLAUSE.finditer(phrase[:60]) if cut.start() >= 18]
        phrase = phrase[: ends[-1]].rstrip(" ,;:，；：、-–—") if ends else phrase
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
    return rest if len(rest) >= least else line
