"""ATTP: a model's answer as one TOML document, for models and loops without tool calls of their own.

    thought = "why"
    [tool_call]
    status = "continue"
    target = "memory"
    code = '''…'''          or          message = "…"

With ``code`` the document requests a run, with ``message`` it ends the turn. ``status`` and ``target`` are labels of
the writer and decide nothing.
"""

from __future__ import annotations

import json
import re
import tomllib
from dataclasses import asdict, dataclass
from importlib.resources import files
from typing import Any

from app.core import wording
from app.core.model import Language
from app.core.wording import Wording
from app.recall.arguments import Mistake
from app.recall.sandbox import Failure, SandboxLimits
from app.recall.tools import Tool

DOCUMENT_MAX = 100_000
CODE_MAX = 20_000
LABEL_MAX = 128
_FAILURES: dict[Failure, dict[Language, str]] = json.loads(
    files("app.recall").joinpath("failures.json").read_text("utf-8")
)
_FENCE = re.compile(r"\s*```(?:toml|attp)?[ \t]*\n(.*?)\n?```\s*", re.DOTALL | re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Document:
    """A document that a model wrote: code to run, or its final message."""

    thought: str
    status: str
    target: str | None
    code: str | None
    message: str | None


def parse(text: str, language: Language) -> Document:
    """Parse a document. Raises Mistake with a text that tells how to correct it."""
    if len(text) > DOCUMENT_MAX:
        en, zh = f"is longer than {DOCUMENT_MAX} characters", f"超过 {DOCUMENT_MAX} 个字符"
        raise _mistake("document", f"The document {en}.", f"文档{zh}。", language)
    fenced = _FENCE.fullmatch(text)
    try:
        fields = tomllib.loads((fenced[1] if fenced else text).replace("\r\n", "\n"))
    except tomllib.TOMLDecodeError as error:
        raise _mistake("document", f"This is not TOML: {error}.", f"这不是 TOML：{error}。", language) from None
    except (RecursionError, ValueError):
        raise _mistake("document", "This is not TOML that can be read.", "无法读取这个 TOML。", language) from None
    table = fields.get("tool_call")
    if not isinstance(table, dict):
        raise _mistake("tool_call", "A [tool_call] table is missing.", "缺少 [tool_call] 表。", language)
    code = _text(table, "code", CODE_MAX, language)
    message = _text(table, "message", DOCUMENT_MAX, language)
    if (code is None) == (message is None):
        en = "[tool_call] needs either `code` to run or a `message`, not both."
        raise _mistake("code", en, "[tool_call] 需要 `code` 或 `message`，二者只能有其一。", language)
    return Document(
        thought=_text(fields, "thought", DOCUMENT_MAX, language) or "",
        status=_text(table, "status", LABEL_MAX, language) or ("continue" if code is not None else "done"),
        target=_text(table, "target", LABEL_MAX, language), code=code, message=message,
    )  # fmt: skip


def _text(table: dict[str, Any], name: str, most: int, language: Language) -> str | None:
    value = table.get(name)
    if value is None:
        return None
    if not isinstance(value, str) or len(value) > most:
        en = f"`{name}` must be a text of at most {most} characters."
        raise _mistake(name, en, f"`{name}` 应为最多 {most} 个字符的文本。", language)
    return value


def named(tool: Tool, positional: list[Any], given: dict[str, Any], language: Language) -> dict[str, Any]:
    """Return a function call's arguments by name, in the order of its signature. Raises Mistake."""
    names = [argument.name for argument in tool.in_order]
    if len(positional) > len(names) or set(names[: len(positional)]) & given.keys():
        raise Mistake(wording.USE.say(language, signature=tool.signature), "")
    return {**dict(zip(names, positional, strict=False)), **given}


def explain(failure: Failure, detail: str, limits: SandboxLimits, language: Language) -> str:
    """Explain why the code did not finish, and what would help."""
    given = {**asdict(limits), "megabytes": limits.memory_bytes // 1024 // 1024, "detail": detail}
    return _FAILURES[failure][language].format(**given).strip()


def _mistake(place: str, en: str, zh: str, language: Language) -> Mistake:
    return Mistake(Wording(en, zh).say(language), place)
