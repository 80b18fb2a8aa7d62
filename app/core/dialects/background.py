"""Background requests of chat UIs: titles, tags, follow-ups, quota probes. They are not stored.

A client can mark one with a header. Those of common UIs are recognised by their prompts, which are data
(``background.json``): the beginning of the ``system`` prompt, of the only ``user`` message or of the ``last`` one, or
the ``whole`` text.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from importlib.resources import files
from typing import Any

from app.core.canonical import dumps
from app.core.conversation import ConversationEnd
from app.core.dialects.question import Json, Question
from app.core.groups import units
from app.core.history.ingest import Placement, ShownForms, place, shown_forms
from app.core.messages import Draft
from app.core.model import Format, Item, Ledger, PagesShown, Placed, Policy, Window
from app.core.window.quote import plain_text
from app.core.window.render import render

PROMPTS: Sequence[Json] = json.loads(files("app.core.dialects").joinpath("background.json").read_text("utf-8"))


def is_background(question: Question) -> bool:
    texts = _texts(question.messages)
    return any(_is(prompt, question, texts) for prompt in PROMPTS)


def _is(prompt: Mapping[str, Any], question: Question, texts: Mapping[str, str]) -> bool:
    most = prompt.get("answer_tokens_max")
    if most is not None and not 0 < question.answer_tokens_max <= most:
        return False
    named = ((texts[where], prompt[where]) for where in texts if where in prompt)
    return any(said == told if prompt.get("whole") else said.startswith(told) for said, told in named)


def _texts(messages: Sequence[Any]) -> dict[str, str]:
    said = [message for message in messages if isinstance(message, Mapping)]
    system = next((_text(message) for message in said if message.get("role") in ("system", "developer")), "")
    users = [_text(message) for message in said if message.get("role") == "user"]
    is_alone = len(users) == 1 and not any(message.get("role") in ("assistant", "tool") for message in said)
    return {"system": system, "user": users[0] if is_alone else "", "last": users[-1] if users else ""}


def _text(message: Mapping[str, Any]) -> str:
    content = message.get("content")
    parts = content if isinstance(content, list) else [{"text": content}]
    texts = [part.get("text") for part in parts if isinstance(part, Mapping)]
    return "\n".join(text for text in texts if isinstance(text, str)).strip()


# --- A request as a window --------------------------------------------------------------------------------


def unstored(drafts: Sequence[Draft], form: Format) -> tuple[list[Json], str | None, Window]:
    """Return the messages of an unstored request in a format's form, and its system prompt."""
    placements, _ = place(ConversationEnd(), drafts)
    found = [(placed, shown_forms(placed, {}, Policy(), "en", frozenset())) for placed in placements]
    system = "\n\n".join(plain_text(forms.view) for placed, forms in found if placed.kind == "prompt")
    shown, held = units([_item(placed, forms) for placed, forms in found])
    items = [item for unit in [*shown, *([held] if held else [])] for item in unit]
    body = tuple(Placed(i.seq, i.page, "verbatim", i.role, i.text, i.parts, 0, i.anthropic) for i in items)
    window = Window(0, "", body, (), Ledger(0), PagesShown())
    rendered = render(window, system, "[]", form, "en")
    return json.loads(rendered.messages), (system or None) if form == "anthropic" else None, window


def _item(placed: Placement, forms: ShownForms) -> Item:
    return Item(
        placed.seq, placed.page, placed.group, placed.kind, "tool" if placed.kind == "result" else placed.draft.role,
        ",".join(map(dumps, forms.view)), len(forms.view), 0, len(placed.draft.calls),
        len(placed.answers) - len(placed.far), 0,
        anthropic=dumps(forms.anthropic) if forms.anthropic is not None else None,
    )  # fmt: skip
