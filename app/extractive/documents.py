"""Read parts of documents: front matter, fenced code, and lists of items in YAML."""

import re
from collections.abc import Iterator, Sequence
from itertools import islice

from app.extractive.members import TITLE_KEYS, fitted
from app.text.language import one_line

_FRONT = re.compile(r"\A\s*---[ \t]*\n((?:[\w-]{1,40}:.*\n|[ \t].*\n)+)---[ \t]*\n")
_FIELD = re.compile(r"([\w-]{1,40}):[ \t]*(\S.*)")
_FENCED = re.compile(r"^[ \t]*(```|~~~).*?^[ \t]*\1[ \t]*$", re.MULTILINE | re.DOTALL)
_HEADING = re.compile(r"^#{1,6} .*$", re.MULTILINE)
_ITEM = re.compile(r"([ \t]*)- ([A-Za-z][\w-]{0,40}):(?:[ \t]+(.*))?$")
_HOLDER = re.compile(r"[ \t]*([A-Za-z][\w -]{0,40}):[ \t]*$")
_NAMES_MAX = 3


def spoken(text: str) -> str:
    """Return a document without fenced code and headings, with the values of its front matter as first lines. Return
    it unchanged if nothing else is in it.
    """
    front = _FRONT.match(text)
    rest = text[front.end() :] if front else text
    rest = _FENCED.sub("\n", rest) if "```" in rest or "~~~" in rest else rest
    title, line_end, below = rest.lstrip().partition("\n")
    rest = title + line_end + _HEADING.sub("", below)
    if front is None:
        return rest if rest.strip() else text
    fields = [field.groups() for line in front[1].splitlines() if (field := _FIELD.match(line))]
    names = [value for key, value in fields if TITLE_KEYS.match(key)]
    told = [value for key, value in fields if " " in value and value not in names]
    return "\n".join([*names[:1], *told, rest])


def items_line(lines: Sequence[str], room: int) -> str:
    """Name the items of a YAML list of mappings, such as "servers (2: web eu-1, db eu-2)"; "" for anything else."""
    start = next((at for at, line in enumerate(lines) if _ITEM.match(line[:200])), None)
    first = _ITEM.match(lines[start][:200]) if start is not None else None
    if start is None or first is None:
        return ""
    head = f"{first[1]}- {first[2]}:"
    names = [_named(item) for item in _items(lines[start:], head)]
    if len(names) < 2 or not all(names):
        return ""
    holder = _HOLDER.match(lines[start - 1][:60]) if start else None
    name = holder[1] if holder else first[2]
    return f"{name} ({len(names)}: {fitted(names, max(room - len(name) - 8, 20))})"


def _items(lines: Sequence[str], head: str) -> Iterator[list[str]]:
    """Yield the fields of each item, without its deeper lines."""
    indent = " " * (len(head) - len(head.lstrip()) + 2)
    item: list[str] = []
    for line in lines:
        if line.startswith(head):
            if item:
                yield item
            item = [line.replace("- ", "  ", 1)]
        elif line.startswith(indent) and line[len(indent) : len(indent) + 1].strip():
            item.append(line)
    yield item


def _named(item: Sequence[str]) -> str:
    fields = (field.groups() for line in item if (field := _FIELD.match(line.strip()[:300])))
    values = (one_line(value.strip("'\""), 40) for key, value in fields if TITLE_KEYS.match(key))
    return " ".join(islice(values, _NAMES_MAX))
