"""Split a message into what its author wrote and what was pasted into it."""

import re
from dataclasses import dataclass, field
from itertools import islice

from app.text.language import sentences

_FENCE = re.compile(r"\s{0,8}(?:```|~~~)")
_QUOTE = re.compile(r"\s{0,3}(?:>(?!>>)\s?)+")
_THINKING = ("think", "thinking", "reasoning")
_TAG_LINE = re.compile(r"\s*(?:</?[A-Za-z_][^<>\n]{0,200}>\s*)+$")
_TAG = re.compile(r"</?[a-z][\w-]{0,40}(?:\s[^<>\n]{0,200})?/?>")
_ATTACHMENT = re.compile(
    r"\[(?:image|photo|picture|video|audio|file|attachment|sticker|图片|照片|视频|文件|语音|表情)\b[^\[\]\n]{0,400}\]",
    re.IGNORECASE,
)
_RULE = re.compile(r"[\s|:+=_*#~.-]+$")
# Prose that starts like code ("return the book", "make a website", "if you can:") must
# not match, so each alternative asks for punctuation that prose does not have.
_CODE_LINE = re.compile(
    r"\s*(?:"
    r"(?:async\s+)?(?:def|func|fn)\s+[\w.$]+\s*[(<]"
    r"|(?:class|struct|interface|enum|namespace|impl|module|trait)\s+[\w.]+[^.?!]*[:{(]\s*$"
    r"|(?:from\s+[\w.]+\s+import\s|import\s+[\w.{*'\"]+(?:\s+(?:as|from)\s+[\w.'\"]+;?|;)?\s*$|#include\s*[<\"]"
    r"|using\s+[\w.]+;|package\s+[\w.]+;)"
    r"|(?:const|let|var|public|private|protected|static|export|function)\s+[\w${<*].*[;{=()>]"
    r"|(?:if|for|while|elif|switch|catch|with|except)\b.*(?:[=()<>\[\]].*:|\{)\s*$"
    r"|(?:else|try|finally|do)\s*[:{]\s*$"
    r"|(?:return|raise|throw|yield|await)\b.*[;)\]}]\s*$"
    r"|(?:SELECT\s.*(?:,|\*|\bFROM\b)|INSERT INTO\s|UPDATE\s+\S+\s+SET\s|DELETE FROM\s|(?:CREATE|ALTER"
    r"|DROP)\s+(?:TABLE|INDEX|VIEW|DATABASE)\s)"
    r"|[\w.\[\]'\"$]+\s*[-+*/|:]?=\s*[^=\s]"
    r"|[\w.$]+\([^()\n]*\)[;{]?\s*$"
    r"|@\w[\w.]*(?:\(.*)?$"
    r"|(?://|/\*|\*/|#!/)"
    r"|(?:\$|>>>)\s+\S"
    r"|[}\])]+[,;)]*\s*$"
    r"|.*[;{}]\s*$"
    r")",
    re.ASCII,
)
_LOG_LINE = re.compile(
    r"\s*(?:\[?\d{4}[-/]\d\d[-/]\d\d[T ,]\d\d:\d\d|\[?\d\d:\d\d:\d\d[\].,\s]|(?:\[|\b)(?:DEBUG|INFO|WARN(?:ING)?"
    r"|ERROR|FATAL|TRACE|CRITICAL)\b[\]: ]"
    r"|[A-Z][a-z]{2}\s+\d{1,2} \d\d:\d\d:\d\d|Traceback \(most recent|File \"[^\"\n]+\", line \d+|at [\w.$<>]+\s?\("
    r"|(?:[\w.]+\.)?[A-Z]\w*(?:Error|Exception)\b:?"
    r"|npm ERR!|E\s{3}|FAILED |PASSED |Caused by:|\S+:\d+:\d+: |\d+\.\d+\.\d+\.\d+ - )"
)
_DATA_LINE = re.compile(r"\s*(?:[\[{](?:[\s\"'\[{]|$)|\"[^\"\n]{1,80}\"\s*:|\|.*\|\s*$)")
_DEFINITION = re.compile(
    r"^[ \t]*(?:(?:export|default|public|private|protected|static|async|final|abstract|pub|override|data"
    r"|sealed)[ \t]+){0,4}"
    r"(def|class|function|func|fn|interface|struct|enum|trait|type|impl|module|CREATE TABLE|create table|const)[ \t]+"
    r"([A-Za-z_$][\w$.]*)[ \t]*(\([^()\n]{0,60}\))?",
    re.MULTILINE,
)
_LANGUAGES: tuple[tuple[str, re.Pattern[str]], ...] = (
    (
        "Python",
        re.compile(
            r"^\s*(?:def \w+\(.*:|from [\w.]+ import |import \w+$|class \w+.*:$|@\w+$|elif |if __name__)", re.MULTILINE
        ),
    ),
    (
        "TypeScript",
        re.compile(r"^\s*(?:export )?(?:interface \w+ \{|type \w+ =)|: (?:string|number|boolean)[;,)=]", re.MULTILINE),
    ),
    (
        "JavaScript",
        re.compile(r"\b(?:const|let|var) \w+ =|=> \{|^\s*(?:async )?function \w*\(|require\(", re.MULTILINE),
    ),
    ("Go", re.compile(r"^package \w+$|^func (?:\(|\w+\()|:= ", re.MULTILINE)),
    ("Rust", re.compile(r"\bfn \w+.*\{|\blet mut |\bimpl\b|#\[derive", re.MULTILINE)),
    ("Java", re.compile(r"\bpublic (?:static |final )*(?:class|void|int|String)\b|^import java", re.MULTILINE)),
    ("C/C++", re.compile(r"^\s*#include|\bstd::|^\s*(?:int|void|char|static) \*?\w+\(.*\)\s*\{?$", re.MULTILINE)),
    ("SQL", re.compile(r"\b(?:SELECT .* FROM|CREATE TABLE|INSERT INTO)\b", re.IGNORECASE)),
    ("CSS", re.compile(r"^[.#]?[\w-]+\s*\{$|^\s+[\w-]+:\s.*;$", re.MULTILINE)),
    ("Shell", re.compile(r"^#!/bin/|^\s*(?:fi|done|esac)$|^\s*echo ", re.MULTILINE)),
)
_LINK = re.compile(r"!?\[([^\[\]\n]*)\]\([^()\s]*\)")
_MARKS = frozenset("*_`#")
_EMPHASIS = re.compile(r"\*\*|__(?=\S)|(?<=\S)__|`+|^#+\s|(?<!\w)\*(?=\S)|(?<=\S)\*(?!\w)")


@dataclass(frozen=True)
class Blocks:
    """Sentences the author wrote, and pasted lines by kind, each in the order of the text."""

    prose: list[str] = field(default_factory=list)
    code: list[str] = field(default_factory=list)
    logs: list[str] = field(default_factory=list)
    data: list[str] = field(default_factory=list)
    quotes: list[str] = field(default_factory=list)
    attachments: list[str] = field(default_factory=list)


def take_apart(text: str) -> Blocks:
    """Sort every line of a text, already cut to a window, into its block."""
    if "<" in text:
        text = _spoken(text)
    blocks = Blocks()
    if "[" in text:
        blocks.attachments.extend(_ATTACHMENT.findall(text))
        text = _ATTACHMENT.sub(" ", text)
    prose: list[str] = []
    fenced = False
    for line in text.splitlines():
        if _FENCE.match(line):
            fenced = not fenced
            prose.append("")
            continue
        _sort(line, fenced, blocks, prose)
    blocks.prose.extend(sentences("\n".join(prose)))
    return blocks


def _sort(line: str, fenced: bool, blocks: Blocks, prose: list[str]) -> None:
    seen = line[:400]
    if fenced:
        (blocks.logs if _LOG_LINE.match(seen) else blocks.code).append(line)
    elif not seen.strip():
        prose.append("")
    elif quoted := _QUOTE.match(seen):
        blocks.quotes.append(line[quoted.end() :])
    elif _LOG_LINE.match(seen):
        blocks.logs.append(line)
    elif _DATA_LINE.match(seen):
        blocks.data.append(line)
    elif _TAG_LINE.match(seen) or _RULE.match(seen):
        prose.append("")
    elif looks_like_code(seen):
        blocks.code.append(line)
    else:
        prose.append(_TAG.sub(" ", line) if "</" in line else line)


def _spoken(text: str) -> str:
    """Return the text without the reasoning that some models put before their answer."""
    for tag in _THINKING:
        pieces: list[str] = []
        at = 0
        while (start := text.find(f"<{tag}>", at)) >= 0 and (end := text.find(f"</{tag}>", start)) >= 0:
            pieces.append(text[at:start])
            at = end + len(tag) + 3
        text = "".join(pieces) + text[at:]
    return text


def looks_like_code(line: str) -> bool:
    """Return whether a line is source code or a shell command rather than a sentence."""
    return _CODE_LINE.match(line[:400]) is not None


def looks_like_log(line: str) -> bool:
    return _LOG_LINE.match(line[:400]) is not None


def definitions(code: str, limit: int = 8) -> list[str]:
    """Return the definitions in source code: "class Cart", "def total(self, vat)"."""
    signatures: list[str] = []
    for match in _DEFINITION.finditer(code):
        kind, name, parameters = match.groups()
        signature = f"{kind} {name}{parameters or ''}"
        if signature not in signatures:
            signatures.append(signature)
        if len(signatures) == limit:
            break
    return signatures


def without_markup(sentence: str) -> str:
    """Strip Markdown: links become their text; emphasis and code marks go."""
    if "](" in sentence:
        sentence = _LINK.sub(r"\1", sentence)
    return sentence if _MARKS.isdisjoint(sentence) else _EMPHASIS.sub("", sentence)


def code_language(source: str) -> str:
    """Return the programming language with the most tell-tale lines; "" if there are none."""
    scores = [(_hits(pattern, source[:20_000]), name) for name, pattern in _LANGUAGES]
    best = max(scores, key=lambda score: score[0])
    return best[1] if best[0] else ""


def _hits(pattern: re.Pattern[str], text: str) -> int:
    return sum(1 for _ in islice(pattern.finditer(text), 50))
