"""Options of a request without a counterpart in the dialect of the model's API.

Between two dialects, options that both have are translated. If leaving an option out would change what the client
relies on, the request is *refused*. Every other option is *dropped*: that changes how an answer is produced, not what
it can contain. The response header ``X-Quire-Dropped`` names what was dropped.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from importlib.resources import files
from typing import Any

from app.core.dialects.question import Dialect, Json, Question
from app.core.model import Format, Placed
from app.core.parts import is_quoted
from app.errors import FieldError, Invalid

TABLE: Mapping[Dialect, Json] = json.loads(files("app.core.dialects").joinpath("untranslated.json").read_text("utf-8"))
"""Options by the client's dialect: *translated* are those that the other dialects have too, or that Quire answers for
itself; what is *refused* says why.
"""


def check(question: Question, upstream: Dialect) -> list[str]:
    """Return the dropped options, and the types of content parts of which the API sees only the names.

    Raises Invalid, which names every option that the API cannot serve.
    """
    if question.dialect == upstream:
        return []
    translated, refused = (TABLE[question.dialect][kind] for kind in ("translated", "refused"))
    given = [name for name, value in question.body.items() if value not in (None, False) and name not in translated]
    spoken = f"and the model's API speaks {NAMES[upstream]}"
    wrong: list[FieldError] = [
        {"loc": ["body", name], "msg": f"{refused[name]}, {spoken}"} for name in given if name in refused
    ]
    wrong += [
        {
            "loc": ["body", *(int(part) if part.isdecimal() else part for part in place.split("."))],
            "msg": f"`{name}` is not served by a {NAMES[upstream]} API",
        }
        for place, name in question.hosted.items()
    ]
    if wrong:
        raise Invalid(errors=wrong)
    options = sorted(name for name in given if _NAME.fullmatch(name))[:DROPPED_MAX]
    return options + _quoted(question.messages, upstream)


def _quoted(messages: Iterable[Any], upstream: Dialect) -> list[str]:
    contents = [message.get("content") for message in messages if isinstance(message, Mapping)]
    return sorted({kind for content in contents for kind in _quoted_in(content, upstream)})[:DROPPED_MAX]


def quoted_in_window(body: Iterable[Placed], form: Format) -> list[str]:
    """Return the types of content parts of which a window in this form shows only the names."""
    upstream: Dialect = "messages" if form == "anthropic" else "chat"
    texts = (placed.text if form == "openai" or placed.anthropic is None else placed.anthropic for placed in body)
    return _quoted((one for text in texts if '"content":[' in text for one in json.loads(f"[{text}]")), upstream)


def _quoted_in(content: object, upstream: Dialect) -> Iterator[str]:
    for part in content if isinstance(content, list) else ():
        if not isinstance(part, Mapping) or not isinstance(kind := part.get("type"), str):
            continue
        if kind == "tool_result":
            yield from _quoted_in(part.get("content"), upstream)
        elif kind != "tool_use" and _NAME.fullmatch(kind) and is_quoted(part, upstream):
            yield kind


DROPPED_MAX = 20
_NAME = re.compile("[a-z_]{1,40}")
NAMES: Mapping[Dialect, str] = {"chat": "Chat Completions", "messages": "Messages", "responses": "Responses"}
