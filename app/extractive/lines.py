"""Describe a message in one line: its subject, not its beginning.

Pasted blocks are set aside. Each of the author's own sentences is scored by what matters for the role (a request for a
user, a conclusion for an assistant), and the best one is shown without its "Hi, could you". A user's statements about
the case, with names and numbers, are shown beside the request and are cut last. Chinese is not segmented here, because
this code runs for every appended message.
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
from app.extractive.shapes import Shape, describe, examine
from app.extractive.stopwords import CHINESE, ENGLISH
from app.text.chinese_scripts import simplified
from app.text.language import clip, language, one_line, squeeze, straight, window
from app.text.queries import has_subject

_FIRST_SENTENCES = 60
_LAST_SENTENCES = 16
_SEEN = 400
_CANDIDATES = 4
_FEW_SENTENCES = 8
"""The line of a message with more sentences is the request alone, because the others are a text that it refers to."""
_LINE_CHARS = 110
"""A longer sentence would be cut, so a shorter one is preferred if it says nearly as much."""
_USER_CHARS = 180
"""A user's line has room for statements beside the request: 45 tokens, like a chapter's terms."""
TITLE_CHARS = 60
_FACT_CHARS = 24
"""The least room in a title for the fact to which a request refers: a shorter one names nothing."""
_FACTS_MAX = 3
OWN = 2.0
"""The bonus of a request that is surely the user's own: about as much as that of a question."""
_PLEASANTRY_WORDS = 12
"""A pleasantry has fewer words; a longer sentence also says something else."""

_LATIN_WORD = re.compile(r"[A-Za-z][\w'’-]*|\d[\d.,:/-]*")
_HAN_RUN = re.compile("[\u3400-\u9fff]+")
_BEFORE_GOOD = tuple("爱友偏嗜良美")
"""Characters before 好吗 with which 好 forms a word, so that it is no polite ending: 爱好吗 asks about a hobby."""
_POLITE_MAX = max(map(len, patterns.POLITE))
_CLOSING = " \t\n。．.!！?？~,，;；:：…"
_FULL_WIDTH = "。！？；：，"
_PROGRAM_TAG = re.compile(r"\s*<([a-z]+[_-][a-z_-]+)>")
"""Matches the tag around a text that an agent's program put into a user's message, such as <environment_context>."""
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
    """An analysed message, from which line, title and others are derived."""

    seen: str
    blocks: Blocks | None
    """The blocks of the message; None for JSON."""
    ranked: Sequence[str]
    """The few best sentences, best first."""
    plain: str = ""
    """The best sentence, without markup and lead-in."""
    told: Sequence[tuple[int, str]] = ()
    """A user's main sentence, then facts stated beside it, the best first; each with its index in the message."""
    asks: bool = False
    """Whether the main sentence is a request."""


class _Judged(NamedTuple):
    """A sentence with its score as the line."""

    seen: patterns.Seen
    score: float
    asks: bool = False
    is_empty: bool = False
    """Whether it is a pleasantry, an announcement or a request without an object."""
    is_lasting: bool = False
    names: int = 0
    """The number of its names, numbers, identifiers and quotations."""


def read(role: str, text: str) -> Reading:
    """Analyse a message that is no tool result."""
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
    """Return a line that tells what a message is about, in its own language; "" for a blank text."""
    if max_chars is None:
        max_chars = _USER_CHARS if role == "user" else _LINE_CHARS
    if role in ("tool", "function"):
        return result_line("", text, max_chars=max_chars)
    return line_of(read(role, text), max_chars=max_chars)


def line_of(message: Reading, *, max_chars: int = _USER_CHARS) -> str:
    """Return the line of an analysed message; see ``message_line``."""
    seen, blocks = message.seen, message.blocks
    if blocks is None:
        return describe(examine(seen), max_chars=max_chars, language=language(seen))
    if not message.ranked:
        return one_line(_without_prose(blocks), max_chars) or one_line(seen, max_chars)
    if message.told and not (blocks.logs or blocks.code or blocks.data):
        return _in_order(message.told, max_chars if language(message.seen) == "en" else max_chars * 2 // 3)
    return _request(message, blocks, min(max_chars, _LINE_CHARS))


def _in_order(told: Sequence[tuple[int, str]], room: int) -> str:
    """Return the main sentence and as many facts as fit, in their order in the message. If even the first fact does not
    fit, the main sentence is cut first.
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


def _joined(first: str, second: str) -> str:
    """Return two sentences as one line, in Chinese without a blank between them."""
    return f"{first}{second}" if first[-1:] in _FULL_WIDTH else f"{first} {second}"


def title_of(request: Reading) -> str:
    """Return a page's title of at most 60 characters: the request as a phrase, after the fact to which it refers.
    Return "" for a text that an agent's program wrote.
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
    """Return a request after the fact to which it refers: "The office has no showers. How do people cope with it"."""
    (main_at, main), *others = told
    is_thin = _telling(main, 2) < 2
    if not (is_thin or patterns.POINTS.search(main[-TITLE_CHARS:])):
        return _titled(main)
    facts = [(at, text) for at, text in others if text[:1].isalpha() and not _FIELD.match(text)]
    asked = _as_title(main)
    room = TITLE_CHARS - len(asked) - 1
    if is_thin:
        at, fact = (facts or others)[0]
        if len(fact) > room or patterns.PLEASANTRY.found(patterns.look(main)):
            return one_line(fact[:1].upper() + fact[1:].rstrip(_CLOSING), TITLE_CHARS)
        return _titled(_joined(fact, asked) if at < main_at else _joined(main, fact))
    before = max(((at, text) for at, text in facts if at < main_at), default=None)
    if before is None or room < _FACT_CHARS:
        return _titled(main)
    fact = clip(before[1], room)
    return _joined(fact[:1].upper() + fact[1:], asked)


def greets(message: Reading) -> bool:
    """Return whether a message only greets, assents or says who speaks."""
    return bool(message.ranked) and all(map(_greets, message.ranked))


@remembered(8_192)  # each cut calls it for the same titles
def names_subject(title: str) -> bool:
    """Return whether a title, with or without a speaker, names a subject: "Ann: Sounds great, Bob!" does not."""
    said = _SPEAKER.sub("", title, count=1)
    is_courtesy = patterns.is_filler(said) or patterns.REACTION.match(said)
    return not is_courtesy and any(map(_names, _SEAM.split(said)))


def tells(reply: str) -> bool:
    """Return whether an assistant's line names a subject, and so can be the title of a page opened by a courtesy."""
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
    """Return whether a user's message was written by an agent's program: one tag encloses all of it."""
    tag = _PROGRAM_TAG.match(text)
    return tag is not None and text.rstrip().endswith(f"</{tag[1]}>")


def result_line(tool_name: str, text: str, *, max_chars: int = 110) -> str:
    """Return the line of a tool result: its first error, or else a description of its content."""
    return line_of_shape(tool_name, examine(text), max_chars=max_chars)


def line_of_shape(tool_name: str, shape: Shape, *, max_chars: int = 110) -> str:
    label = f"{one_line(tool_name, 40)}: " if tool_name.strip() else ""
    gist = describe(shape, max_chars=max(max_chars - len(label), 1), language=language(shape.body[:2000]))
    return one_line(label + (gist or "(empty)"), max_chars)


def _ends(seen: str) -> str:
    """Return the first and last paragraphs, because users ask before or after a pasted text; "" if there is but one."""
    paragraphs = seen.strip().split("\n\n") if "\n\n" in seen else ()
    return "\n".join((paragraphs[0], paragraphs[-1])) if len(paragraphs) > 1 else ""


def _ranked(role: str, prose: list[str], ends: str) -> tuple[list[str], list[tuple[int, str]], bool]:
    """Return the few best sentences, the user's main sentence with the facts beside it, and whether it is a request.
    ``ends``: the paragraphs in which a request is surely the user's own.
    """
    if len(prose) > _FIRST_SENTENCES + _LAST_SENTENCES:
        prose = prose[:_FIRST_SENTENCES] + prose[-_LAST_SENTENCES:]
    judge = _judge_assistant if role == "assistant" else _judge_user
    sentences = list(_labelled(prose))
    if len(sentences) == 1:  # most messages of a chat
        return [_with_list(sentences, 0)], [], False
    seen = [patterns.look(patterns.strip_lead(text) if at < 3 else text) for at, (text, _) in enumerate(sentences)]
    judged = list(map(judge, seen))
    own = {at for at, (text, _) in enumerate(sentences) if judged[at].asks and text in ends} if ends else ()
    scores = [
        sentence.score + _place(role, at, len(sentences)) + bonus + OWN * (at in own)
        for at, (sentence, (_, bonus)) in enumerate(zip(judged, sentences, strict=True))
    ]
    ranked = sorted(range(len(sentences)), key=lambda at: -scores[at])
    best = [_with_list(sentences, at) for at in ranked[:_CANDIDATES]]
    if role != "user" or not 1 < len(sentences) <= _FEW_SENTENCES:
        return best, [], False
    asking = [at for at in ranked if at in own] or [at for at in ranked if judged[at].asks]
    asking = [at for at in asking if _asks_outright(seen[at].text)] or asking
    asking.sort(key=lambda at: judged[at].is_lasting)
    main = (asking or ranked)[0]
    plain = _plain(_with_list(sentences, main))
    facts = [(at, _plain(sentences[at][0])) for at in _beside(main, judged, asking)]
    if not facts or not (asking or _telling(plain, 2) >= 2):
        return best, [], False
    return best, [(main, plain), *facts], bool(asking)


def _asks_outright(sentence: str) -> bool:
    """Return whether a sentence asks, rather than only reports asking: "he applied for leave", 他申请了休假."""
    if sentence.endswith(("?", "？")) or sentence[:6].lower() == "please":
        return True
    if patterns.IMPERATIVE.match(sentence) or patterns.ASKING.match(sentence):
        return True
    found = patterns.ASKING_HAN.match(sentence)
    return found is not None and found.end() > 0


def _beside(main: int, judged: Sequence[_Judged], asking: Sequence[int]) -> list[int]:
    """Return the indices of facts stated beside the main sentence, the best first. If the main sentence is no request,
    only lasting statements and those with names count.
    """
    worths = {
        at: _worth(fact)
        for at, fact in enumerate(judged)
        if at != main and (fact.is_lasting or fact.names or (asking and at not in asking)) and _tells(fact)
    }
    return sorted(worths, key=lambda at: -worths[at])[:_FACTS_MAX]


def _tells(judged: _Judged) -> bool:
    """Return whether a statement says something about the case, unlike a pleasantry or an announcement."""
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
    """Return the sentence, with the sentences that it introduces if it ends in a colon."""
    text = sentences[at][0]
    for following, _ in sentences[at + 1 : at + 6]:
        if not text.endswith((":", "：")) and not (text is not sentences[at][0] and len(text) < 80):
            break
        text = f"{text} {following}" if text.endswith((":", "：")) else f"{text}; {following}"
    return text if len(text) < 2_000 else sentences[at][0]


def _place(role: str, at: int, total: int) -> float:
    """Score the position in a message: people state the important things first or last."""
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
    # A field in a list, such as "Origin: DEN", or a heading of a list.
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
    """Return a line that says little, completed with the text to which it refers: a pasted one, or another sentence."""
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
    """Describe pasted text in one line: an error, the code's definitions, the kind of data, or a quotation."""
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
    """Return the line as a phrase, without "could you please" and question mark, and only its first clauses."""
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
    """Strip closing marks and polite words before them. (A regular expression would be tried at each character.)"""
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
