"""Shared by jobs that call a model: how much of a conversation fits a prompt, and the cause of a refusal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from app.core.history.rows import HistoryMessage
from app.core.model import PEOPLE, UNZONED
from app.core.search.days import day_of
from app.core.times import local
from app.core.window.excerpts import Excerpt, cut, rooms
from app.core.window.replies import Covered, wording_of
from app.jobs.policy import fault_of_all
from app.providers import Chat, RefusedInput, Reply, UnusableReply
from app.queue.table import Claimed
from app.runtime import Runtime
from app.services import asking
from app.services.memory.recalling import said_text, speaker
from app.text.language import script_counts

PROMPT_TOKENS_MAX = 6_000
"""Tokens of a conversation in one prompt: more would cost more than it is worth."""
PROMPT_SHARE = 0.5
"""Share of the model's context window, which must also hold the instructions and the reply."""
MESSAGE_CHARACTERS_MAX = 100_000
HARMLESS_REQUEST = "Answer with the JSON object {}."
MESSAGE_FRAME = 6
"""Tokens around each message in a prompt."""


def prompt_room(chat: Chat) -> int:
    """Return the tokens of a prompt that messages can take."""
    return min(PROMPT_TOKENS_MAX, int(chat.context_window * PROMPT_SHARE))


def excerpts_of(rows: Sequence[HistoryMessage]) -> list[Excerpt]:
    """Return the messages to show a model, not yet weighed, without recalled ones and those that no model sees."""
    excerpts = [
        Excerpt(
            row.seq,
            "tool" if row.kind == "result" or (row.role == "user" and row.author not in PEOPLE) else row.role,
            text[:MESSAGE_CHARACTERS_MAX],
            0,
            day=day_of(local(row.said_at or row.created_at, row.said_offset)),
            name=speaker(row),
        )
        for row in rows
        if row.kind not in UNZONED and not row.loaded_tokens and (text := said_text(row))
    ]
    return [e for e in excerpts if e.text.strip()]


def covered_by(shown: Sequence[Excerpt]) -> Covered:
    """Return what a reply about these messages covers. Tool results do not count for its language."""
    counts = [script_counts(message.text) for message in shown if message.role != "tool"]
    scripts = sum(han for han, _ in counts), sum(latin for _, latin in counts)
    return Covered(wording_of("\n".join(message.text for message in shown)), scripts)


async def weighed(runtime: Runtime, excerpts: Sequence[Excerpt]) -> list[Excerpt]:
    tokens = await runtime.tokens.count_many([e.text for e in excerpts])
    return [replace(e, tokens=t) for e, t in zip(excerpts, tokens, strict=True)]


async def cut_to_fit(runtime: Runtime, excerpts: Sequence[Excerpt], room: int) -> list[Excerpt]:
    room -= len(excerpts) * MESSAGE_FRAME
    whole = await weighed(runtime, excerpts)
    shown = whole
    for tighter in (1.0, 0.8, 0.6, 0.4):  # the remaining part of a text may have more tokens per character
        if sum(e.tokens for e in shown) <= room:
            break
        keep = rooms(whole, int(room * tighter))
        shown = [replace(e, text=cut(e.text, e.tokens, k)) for e, k in zip(whole, keep, strict=True)]
        shown = await weighed(runtime, shown)
    return shown


async def ask(runtime: Runtime, claimed: Claimed, request: Sequence[Mapping[str, Any]], **options: Any) -> Reply:
    """Return the model's reply.

    Raises a ProviderError: RefusedInput only if the model takes the same request with harmless words; otherwise the
    fault is the provider's or the settings'.
    """
    about: Any = {"conversation_id": claimed.conversation_id, **options}
    try:
        return await asking.ask(runtime, claimed.tenant, claimed.kind, request, **about)
    except RefusedInput as refusal:
        harmless = [m if m["role"] == "system" else {**m, "content": HARMLESS_REQUEST} for m in request]
        try:
            await asking.ask(runtime, claimed.tenant, claimed.kind, harmless, **about)
        except RefusedInput:
            raise fault_of_all(refusal) from None
        except UnusableReply:
            pass  # an answer all the same
        raise
