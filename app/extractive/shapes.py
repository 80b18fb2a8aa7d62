"""Classify a tool result and describe its content in one line.

``examine`` unwraps and classifies the result; ``describe`` then writes a line for its kind. Both read at most the first
200,000 characters; only line ends are counted in the whole text.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from typing import Literal

from app.extractive import patterns
from app.extractive.blocks import CODE_LINE, LOG_LINE, SEEN, code_language, definitions
from app.extractive.documents import items_line, spoken
from app.extractive.envelope import WINDOW, parse_json, unwrap
from app.extractive.markup import page_headings, page_title, visible_text
from app.extractive.members import TITLE_KEYS, brief, entries, fitted, keys_of, members_line, telling_first
from app.extractive.salient import best_sentences
from app.text.language import Language, clip, one_line, squeeze

Kind = Literal["json", "table", "log", "code", "html", "prose"]

_MAX_LINES = 4_000
_SEEN = 300

_HTML = re.compile(r"<!doctype html|<html[\s>]|<(?:head|body|div|table|article|section|main)[\s>]", re.IGNORECASE)
_NUMBERS = re.compile(r"^[^\S\n]{0,8}\d{1,6}(?::(?!\d\d[:.])|[|\t]|→| {2,})", re.MULTILINE)
_DIFF_FILE = re.compile(r"^(?:diff --git \S+ (?:b/)?|\+\+\+ (?:b/)?(?!/dev/null))(\S+)", re.MULTILINE)
_DIFF = re.compile(r"^(?:diff --git |--- \S.*\n\+\+\+ \S)", re.MULTILINE)
_STEP = re.compile(r"\s{0,8}\d{1,3}(?:[.)]\s+|、)(\S.*)")
_STEP_CHARACTERS = 60
_QUOTED_FIELD = re.compile(r'"[^"\n]*"')
_MARKDOWN_RULE = re.compile(r"[\s|:-]+$")
_ERROR_KEYS = re.compile(r"errors?|error_?message|exception|traceback|stderr|detail", re.IGNORECASE)
_RAISED = re.compile(r"\s*(?:E\s+)?(?:[\w.]+\.)?[A-Z]\w*(?:Error|Exception)\b:")
_ENDS = (".", "!", "?", ":", ",", ";", "。", "！", "？", "：", "，", "；", "…")
_PAIR = re.compile(r"\s*(?:[-*•]\s*)?([A-Za-z\u4e00-\u9fff][\w ./-]{0,30})[:：=]\s*(\S.*)")


@dataclass(frozen=True)
class Shape:
    """A classified tool result: its innermost text, the kind of that text, and its JSON value if any."""

    kind: Kind
    body: str
    value: object | None
    lines: int
    cut: bool  # whether only a part of the text was read

    @cached_property
    def code(self) -> tuple[list[str], str, list[str]]:
        """Return the lines of source code, its language and its definitions: some is described at two lengths."""
        lines = list(_lines(self.body))
        source = _unnumbered(lines)[:60_000]
        return lines, code_language(source), definitions(source, limit=24)


def examine(text: str) -> Shape:
    """Unwrap and classify a result, for ``describe``."""
    body = unwrap(text)
    value = parse_json(body)
    cut = len(text) > WINDOW
    counted = text if text.startswith(body[:1000]) else body
    lines = counted.count("\n") + (not counted.endswith("\n"))
    kind: Kind = "json" if isinstance(value, (dict, list)) else _kind(body)
    return Shape(kind, body, value, lines, cut)


def describe(shape: Shape, *, max_chars: int, language: Language) -> str:
    """Describe the content of a result in at most ``max_chars`` characters; "" if it is blank."""
    writers = {"json": _json, "table": _table, "log": _log, "code": _code, "html": _html, "prose": _prose}
    return clip(squeeze(writers[shape.kind](shape, max_chars, language)), max_chars)


def _kind(body: str) -> Kind:
    if _HTML.search(body[:3000]):
        return "html"
    if _DIFF.search(body[:3000]):
        return "code"
    lines = [*filter(str.strip, islice(_lines(body), 240))]
    if _table_rows(lines) is not None:
        return "table"
    is_refusal = bool(lines) and len(lines) < 30 and patterns.ERROR_LINE.search(lines[0][:_SEEN]) is not None
    if is_refusal and not LOG_LINE.match(lines[0][:SEEN]):
        return "prose"
    plain = _unnumbered(lines).split("\n")
    if "Traceback (most recent call last)" in body[:20_000] or _is_often(plain, LOG_LINE):
        return "log"
    return "code" if len(lines) > 1 and _is_often(plain, CODE_LINE) else "prose"


def _lines(body: str) -> Iterator[str]:
    return islice(iter(body.splitlines()), _MAX_LINES)


def _unnumbered(lines: Iterable[str]) -> str:
    """Return lines without leading line numbers."""
    return _NUMBERS.sub("", "\n".join(lines))


def _is_often(lines: list[str], pattern: re.Pattern[str]) -> bool:
    """Return whether three lines in ten match a pattern. Stops reading once enough do."""
    least = -(-3 * len(lines) // 10)
    return bool(lines) and len([*islice(filter(pattern.match, [line[:SEEN] for line in lines]), least)]) == least


# --- JSON ---------------------------------------------------------------------


def _json(shape: Shape, max_chars: int, language: Language) -> str:
    value = shape.value
    error = _error_in(value)
    lead = f"{_say(language, '错误：', 'error: ')}{error}; " if error else ""
    if isinstance(value, list):
        return lead + _json_list(value, max_chars - len(lead), language, more=shape.cut)
    if isinstance(value, Mapping):
        return lead + _json_object(value, max_chars - len(lead), language)
    return lead


def _json_list(items: list[object], room: int, language: Language, *, more: bool) -> str:
    count = f"{len(items)}{'+' if more else ''}"
    objects = [item for item in items[:200] if isinstance(item, Mapping)]
    if not objects:
        values = fitted((brief(item) for item in items[:30]), room - 24)
        return _say(language, f"JSON 数组，{count} 项：{values}", f"JSON list, {_many(count, 'item')}: {values}")
    keys = fitted(keys_of(objects[0]), max(room // 4, 24))
    size = _say(language, f"JSON 数组，{count} 个对象（{keys}）：", f"JSON list, {_many(count, 'object')} ({keys}): ")
    return size + entries(objects, max(room - len(size), 24))


def _json_object(value: Mapping[str, object], room: int, language: Language) -> str:
    main = _main_text(value)
    members = [(key, item) for key, item in telling_first(value) if key != (main and main[0])]
    # A short line omits the label, because the members show that it is JSON.
    head = "JSON: " if room >= 140 else ""
    room -= len(head)
    if main:
        shown = members_line(members, max(room // 3, 20))
        inner = describe(examine(main[1]), max_chars=max(room - len(shown) - len(main[0]) - 4, 20), language=language)
        return f"{head}{shown}{'; ' if shown else ''}{one_line(main[0], 30)}: {inner}"
    return head + members_line(members, room)


def _main_text(value: Mapping[str, object], depth: int = 3) -> tuple[str, str] | None:
    """Return name and text of the longest text of more than 300 characters in an object or its nested objects (such as
    a crawled page or a file's content).
    """
    texts = [(str(key), item) for key, item in islice(value.items(), 50) if isinstance(item, str) and len(item) > 300]
    if not texts:
        held = (item[0] if isinstance(item, list) and len(item) == 1 else item for item in islice(value.values(), 8))
        inner = (_main_text(item, depth - 1) for item in held if depth and isinstance(item, Mapping))
        return next((member for member in inner if member), None)
    key, longest = max(texts, key=lambda member: len(member[1]))
    return key, longest[:WINDOW]


def _error_in(value: object, depth: int = 3) -> str:
    """Return the error message of a failed result; "" if it did not fail."""
    if not isinstance(value, Mapping) or depth == 0:
        return ""
    for key, item in islice(value.items(), 40):
        if _ERROR_KEYS.match(str(key)[:40]) and str(key).lower() != "detail" and item:
            if isinstance(item, str):
                return one_line(item, 90)
            if isinstance(item, Mapping):
                message = item.get("message") or item.get("detail") or item.get("type")
                return one_line(message, 90) if isinstance(message, str) else ""
    return _error_in(value.get("result"), depth - 1)


# --- tables -------------------------------------------------------------------


def _table_rows(lines: list[str]) -> tuple[str, list[str]] | None:
    """Return (delimiter, rows), header first, if most lines have the same number of columns."""
    if len(lines) < 3:
        return None
    marked = [line for line in lines if "|" in line and line.count("|") >= 2]
    if len(marked) >= 3 and len(marked) >= 0.6 * len(lines):
        return "|", [line for line in marked if not _MARKDOWN_RULE.match(line)]
    unquoted = [_QUOTED_FIELD.sub("", line) if '"' in line else line for line in [line[:2000] for line in lines]]
    for delimiter in ("\t", ",", ";"):
        usual = unquoted[0].count(delimiter)
        if usual < (1 if delimiter == "\t" else 2):
            continue
        widths = [line.count(delimiter) for line in unquoted]
        if usual > 2 and " " not in lines[0]:  # column names, so a last column can contain the delimiter
            widths = [min(width, usual) for width in widths]
        if widths.count(usual) >= 0.85 * len(lines) and _is_header(lines[0], delimiter):
            return delimiter, lines
    return None


def _is_header(line: str, delimiter: str) -> bool:
    """Return whether a line holds column names: its fields are short, and it does not end like a sentence."""
    fields = line[:2000].split(delimiter)
    return max(map(len, fields)) <= 50 and not line.rstrip().endswith((".", "。", ":", "?", "!", "{"))


def _table(shape: Shape, max_chars: int, language: Language) -> str:
    table = _table_rows([line for line in _lines(shape.body) if line.strip()])
    if table is None:
        return _prose(shape, max_chars, language)
    delimiter, rows = table
    columns = _cells(rows[0], delimiter)
    count = len(rows) - 1
    if shape.lines > _MAX_LINES and delimiter != "|":
        count = shape.lines - 1
    size = _say(
        language,
        f"表格，{count} 行 × {len(columns)} 列：",
        f"Table, {_many(count, 'row')} × {_many(len(columns), 'column')}: ",
    )
    names = fitted(columns, max(max_chars // 2, 20))
    room = max_chars - len(size) - len(names) - 16
    if len(rows) < 2 or room < 20:
        return size + names
    first = fitted((cell for cell in _cells(rows[1], delimiter) if cell), room)
    return size + names + _say(language, f"；首行：{first}", f"; first row: {first}")


def _cells(row: str, delimiter: str) -> list[str]:
    stripped = row[:4000].strip()
    inner = stripped.strip("|") if delimiter == "|" else stripped
    return [one_line(cell.strip().strip('"'), 40) for cell in inner.split(delimiter)]


# --- logs, code, pages, prose ----------------------------------------------------


def _log(shape: Shape, max_chars: int, language: Language) -> str:
    lines = [line for line in _lines(shape.body) if line.strip()]
    errors = [line for line in lines if patterns.ERROR_LINE.search(line[:_SEEN])]
    warned = [line for line in lines if patterns.WARNING_LINE.search(line[:_SEEN])]
    more = "+" if shape.cut or shape.lines > _MAX_LINES else ""
    size = _say(
        language,
        f"日志，{shape.lines} 行，{len(errors)}{more} 个错误，{len(warned)}{more} 个警告",
        f"Log, {_many(shape.lines, 'line')}, {_many(f'{len(errors)}{more}', 'error')}, "
        f"{_many(f'{len(warned)}{more}', 'warning')}",
    )
    last = lines[-1] if lines else ""
    room = max_chars - len(size) - 24
    if errors:
        first = one_line(first_error(lines), max(room * 2 // 3, 20))
        size += _say(language, f"；首个错误：{first}", f"; first error: {first}")
        room -= len(first) + 14
    elif warned:
        first = one_line(warned[0], max(room // 2, 20))
        size += _say(language, f"；首个警告：{first}", f"; first warning: {first}")
        room -= len(first) + 16
    if last and room >= 20 and (not errors or errors[0] is not last):
        size += _say(language, f"；末行：{one_line(last, room)}", f"; last line: {one_line(last, room)}")
    return size


def _code(shape: Shape, max_chars: int, language: Language) -> str:
    if _DIFF.search(shape.body[:3000]):
        return _diff(shape.body, max_chars, language)
    lines, name, defined = shape.code
    header = f"{one_line(lines[0], 70)} " if lines and lines[0].startswith("[") else ""
    size = _say(language, f"{name} 代码，{shape.lines} 行", f"{name} code, {_many(shape.lines, 'line')}".lstrip())
    room = max_chars - len(size) - len(header) - 4
    if defined:
        return f"{header}{size}{_say(language, '：', ': ')}{fitted(defined, max(room, 20))}"
    first = next((line for line in lines if line.strip() and not line.startswith("[")), "")
    return f"{header}{size}{_say(language, '：', ': ')}{one_line(_unnumbered([first]), max(room, 20))}"


def _diff(body: str, max_chars: int, language: Language) -> str:
    lines = list(_lines(body))
    files = dict.fromkeys(_DIFF_FILE.findall("\n".join(lines)))
    added, removed = (sum(line.startswith(sign) and not line.startswith(3 * sign) for line in lines) for sign in "+-")
    size = _say(language, f"差异，+{added} −{removed} 行：", f"Diff, +{added} −{removed} lines: ")
    return size + fitted(files, max(max_chars - len(size), 20))


def _html(shape: Shape, max_chars: int, language: Language) -> str:
    body = shape.body
    name = one_line(page_title(body), max_chars // 2)
    head = _say(language, f"网页“{name}”" if name else "网页", f"HTML page “{name}”" if name else "HTML page")
    heading_texts = (one_line(heading, 60) for heading in page_headings(body))
    headings = fitted(
        (heading for heading in dict.fromkeys(heading_texts) if heading and heading != name), max_chars - len(head) - 12
    )
    if headings:
        return head + _say(language, f"；标题：{headings}", f"; headings: {headings}")
    text = " ".join(best_sentences(visible_text(body), max_chars - len(head) - 2, limit=2))
    return f"{head}: {text}" if text else head


def _prose(shape: Shape, max_chars: int, language: Language) -> str:
    body = shape.body
    if "<" in body and body.count("</") > 20:
        body = visible_text(body)
    body = spoken(body)
    lines = [line.strip() for line in islice(body.splitlines(), 300) if line.strip()]
    if sum(map(bool, map(_NUMBERS.match, lines))) / max(len(lines), 1) >= 0.8:
        body = _unnumbered(body.splitlines())
        lines = [line.strip() for line in _unnumbered(lines).split("\n") if line.strip()]
    # A short text can report its failure anywhere, a long one at its start: later it can merely be about errors.
    if error := first_error(lines if len(body) <= 1_500 else lines[:3]):
        return one_line(error, max_chars)
    listed = items_line(list(_lines(body)), max_chars) or _listing(shape, lines, max_chars, language)
    if listed:
        return listed
    name = lines[0].lstrip("# ").strip("*") if len(lines) > 3 else ""
    is_name = 0 < len(name) <= min(80, max_chars // 3) and not name.endswith(_ENDS)
    name = f"{name}{_say(language, '：', ': ')}" if is_name else ""
    rest = body.partition(lines[0])[2] if is_name else body
    return name + " ".join(best_sentences(rest, max_chars - len(name), limit=4))


def first_error(lines: list[str]) -> str:
    """Return the line with the first error, and the next line if it ends in a colon; "" if there is none."""
    errors = [at for at, line in enumerate(lines[:2_000]) if patterns.ERROR_LINE.search(line[:_SEEN])]
    if not errors:
        return ""
    raised = [at for at in errors if _RAISED.match(lines[at])]
    at = raised[0] if raised else errors[0]
    below = lines[at + 1] if at + 1 < len(lines) and lines[at].rstrip().endswith((":", "：")) else ""
    return f"{lines[at][:_SEEN]} {below[:_SEEN]}".strip()


def _listing(shape: Shape, lines: list[str], max_chars: int, language: Language) -> str:
    """Describe a list of names, "key: value" lines or numbered steps; "" for anything else."""
    steps = [step[1] for line in lines if len(line) <= _STEP_CHARACTERS and (step := _STEP.match(line))]
    if len(steps) >= 3 and len(steps) >= 0.8 * len(lines):
        size = _say(language, f"{len(steps)} 项：", f"{len(steps)} steps: ")
        return size + fitted(steps, max_chars - len(size))
    if len(lines) < 4:
        return ""
    size = _say(language, f"{shape.lines} 行：", f"{shape.lines} lines: ")
    names = [line for line in lines if " " not in line and len(line) <= (120 if line.isascii() else 20)]
    if len(names) >= 0.7 * len(lines):
        return size + fitted(names, max_chars - len(size))
    pairs = [match.groups() for line in lines if (match := _PAIR.match(line[:_SEEN]))]
    if len(pairs) < 0.6 * len(lines):
        return ""
    values = [one_line(value, 48) for key, value in pairs if TITLE_KEYS.match(key.strip())]
    if len(values) < 2 and len({key for key, _ in pairs}) >= 0.8 * len(pairs):
        values = [f"{key.strip()}={one_line(value, 40)}" for key, value in pairs]
    return size + fitted(dict.fromkeys(values), max_chars - len(size)) if len(values) > 1 else ""


def _say(language: Language, chinese: str, english: str) -> str:
    return chinese if language == "zh" else english


def _many(count: int | str, noun: str) -> str:
    return f"{count} {noun}" if str(count) == "1" else f"{count} {noun}s"
