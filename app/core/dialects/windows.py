"""Fit a window to the API of the model that it is for."""

from __future__ import annotations

import json
from dataclasses import replace
from itertools import takewhile

from app.core.canonical import dumps, etag_of
from app.core.dialects.fitting import alternating, chat_messages
from app.core.messages import CARRIED
from app.core.model import Context, Format
from app.core.models import GENERAL, ModelTable
from app.core.parts import as_chat


def fitted_window(found: Context, models: ModelTable, model: str, form: Format, *, alternate: bool = False) -> Context:
    """Return a window as its model's API wants it, without what answers carried for other models."""
    row = models.row(model, alternate=alternate)
    is_plain = f'"{CARRIED}"'.encode() not in found.body and b'"type":"reasoning"' not in found.body
    if (form == "anthropic" and not alternate) or (row == GENERAL and is_plain):
        return found
    answer = json.loads(found.body)
    stable = answer["messages"][: answer["stable_messages"]]
    if form == "anthropic":
        fitted, alone = (alternating(said) for said in (answer["messages"], stable))
    else:
        fitted, alone = (chat_messages(row, model, as_chat(said)) for said in (answer["messages"], stable))
    same = sum(1 for _ in takewhile(lambda two: two[0] == two[1], zip(fitted, alone, strict=False)))
    body = dumps({**answer, "messages": fitted, "stable_messages": same}).encode()
    return replace(found, body=body, etag=etag_of(body))
