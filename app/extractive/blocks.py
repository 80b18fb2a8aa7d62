"""Split a message into what its author wrote and what was pasted into it."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import islice
from operator import itemgetter
from pathlib import Path

from app.extractive.patterns import any_case
from app.text.language import sentences
from app.text.word_lists import patterns_of

_FENCE = re.compile(r"\s{0,8}(?:```|~~~)")
_QUOTE = re.compile(r"\s{0,3}(?:>(?!>>)\s?)+")
_THINKING = ("think", "thinking", "reasoning")
_TAG_LINE = re.compile(r"\s*(?:</?[A-Za-z_][^<>\n]{0,200}>\s*)+$")
_TAG = re.compile(r"</?[a-z][\w-]{0,40}(?:\s[^<>\n]{0,200})?/?>")
_ATTACHMENT = any_case("attachment")
_RULE = re.compile(r"[\s|:+=_*#~.-]+$")
_DATA_LINE = re.compile(r"\s*(?:[\[{](?:[\s\"'\[{]|$)|\"[^\"\n]{1,80}\"\s*:|\|.*\|\s*$)")
_CODE = patterns_of(Path(__file__).with_name("code.txt"), ("code", "log"))
SEEN = 400
"""Characters of a line that are read to classify it."""
CODE_LINE, LOG_LINE = re.compile(_CODE["code_line"], re.ASCII), re.compile(_CODE["log_line"])
_DEFINITION = re.compile(_CODE["definition"], re.MULTILINE)
_HINTS: Mapping[str, tuple[str, ...]] = {
    "Python": ("def ", "import ", "class ", "@", "elif ", "if __name__"),
    "TypeScript": ("interface ", "type ", ": string", ": number", ": boolean"),
    "JavaScript": ("const ", "let ", "var ", "=> {", "function", "require("),
    "Go": ("package ", "func ", ":= "),
    "Rust": ("fn ", "let mut ", "impl", "#[derive"),
    "Java": ("public ", "import java"),
    "C/C++": ("#include", "std::", "int ", "void ", "char ", "static "),
    "SQL": ("select ", "create table", "insert into"),
    "CSS": (";\n", "{\n"),
    "Shell": ("#!/bin/", "fi\n", "done\n", "esac\n", "echo "),
}
"""Every line that shows a language contains one of its hints, in lower case. A text without them is not searched."""
_LANGUAGES = tuple(
    (name, re.compile(_CODE[f"language {name.partition('/')[0].lower()}"], flags), hints)
    for name, hints in _HINTS.items()
    for flags in [re.IGNORECASE if name == "SQL" else re.MULTILINE]
)
_LINK = re.compile(r"!?\[([^\[\]\n]*)\]\([^()\s]*\)")
_MARKS = re.compile("[*_`#]")
_EMPHASIS = re.compile(r"\*\*|__(?=\S)|(?<=\S)__|`+|^#+\s|(?<!\w)\*(?=\S)|(?<=\S)\*(?!\w)")


@dataclass(frozen=True)
class Blocks:
    """The author's own sentences, and the pasted lines by kind, each in the order of the text."""

    prose: list[str] = field(default_factory=list)
    code: list[str] = field(default_factory=list)
    logs: list[str] = field(default_factory=list)
    data: list[str] = field(default_factory=list)
    quotes: list[str] = field(default_factory=list)
    attachments: list[str] = field(default_factory=list)


def take_apart(text: str) -> Blocks:
    """Sort the lines of a text into blocks. The text must already be cut to a window."""
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
    seen = line[:SEEN]
    if fenced:
        (blocks.logs if LOG_LINE.match(seen) else blocks.code).append(line)
    elif not seen.strip():
        prose.append("")
    elif quoted := _QUOTE.match(seen):
        blocks.quotes.append(line[quoted.end() :])
    elif LOG_LINE.match(seen):
        blocks.logs.append(line)
    elif _DATA_LINE.match(seen):
        blocks.data.append(line)
    elif _TAG_LINE.match(seen) or _RULE.match(seen):
        prose.append("")
    elif CODE_LINE.match(seen):
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
    """Strip Markdown: replace links by their text, and remove emphasis and code marks."""
    if "](" in sentence:
        sentence = _LINK.sub(r"\1", sentence)
    return _EMPHASIS.sub("", sentence) if _MARKS.search(sentence) else sentence


def code_language(source: str) -> str:
    """Return the programming language with the most characteristic lines; "" if there are none."""
    text = source[:8_000]  # the rest hardly ever changes the result
    folded = f"{text.lower()}\n"
    scores = [
        (sum(1 for _ in islice(pattern.finditer(text), 50)) if any(map(folded.__contains__, hints)) else 0, name)
        for name, pattern, hints in _LANGUAGES
    ]
    best = max(scores, key=itemgetter(0))
    return best[1] if best[0] else ""
