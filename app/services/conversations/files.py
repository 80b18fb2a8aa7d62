"""What files weigh for a conversation's model: learned from the window whose tokens its API reported last."""

from __future__ import annotations

from collections.abc import Mapping
from uuid import UUID

from app.core.calibration import learned_of_files
from app.core.conversation import Conversation
from app.core.groups import chat_messages
from app.core.messages import FILE_KINDS, files_in, weigh
from app.core.model import Placed, Window
from app.runtime import Runtime
from app.services.conversations.selection import Arrivals

_MARKS = tuple(f'"type":"{kind}"' for kind in FILE_KINDS)


async def percents(runtime: Runtime, tenant: UUID, known: Conversation, selection: Arrivals) -> Mapping[str, int]:
    """Return the percent of the usual estimate that new files of each kind weigh; none for the usual.

    A window with files of one kind tells what that kind weighs. It is remembered as long as the process runs.
    """
    place, turns = (tenant, known.uid), runtime.turns
    if selection.reported_usage is not None:
        turns.reported[place] = selection.reported_usage
    if not any(files_in(view) for arrival in selection.arrivals for view in arrival.draft.contents):
        return {}
    learned = dict(turns.files.get(place, {}))
    reported = turns.reported.get(place)
    window = _reported(runtime, tenant, known, reported.window_tokens) if reported is not None else None
    if reported is not None and window is not None:
        usual, counted = await _files(runtime, window)
        if len(usual) == 1:
            [(kind, tokens)] = usual.items()
            learned[kind] = learned_of_files(reported, known.token_percent, counted, tokens)
            turns.files[place] = learned
    return learned


def _reported(runtime: Runtime, tenant: UUID, known: Conversation, tokens: int) -> Window | None:
    """Return the window of so many tokens that this process made last for the conversation."""
    found = [
        kept.window
        for (owner, *_), kept in runtime.caches.windows.items()
        if owner == tenant and kept.conversation.uid == known.uid and kept.window.ledger.total == tokens
    ]
    return found[-1] if found else None


async def _files(runtime: Runtime, window: Window) -> tuple[dict[str, int], int]:
    """Return the usual tokens of a window's files by kind, and what was counted for all of them."""
    usual: dict[str, int] = {}
    counted = 0
    for placed in window.body:
        if any(mark in placed.text for mark in _MARKS):
            found, beside = await _of_message(runtime, placed)
            counted += max(0, placed.tokens - beside) if found else 0
            usual |= {kind: usual.get(kind, 0) + tokens for kind, tokens in found.items()}
    return usual, counted


async def _of_message(runtime: Runtime, placed: Placed) -> tuple[dict[str, int], int]:
    """Return the usual tokens of a message's files by kind, and those of everything else in it."""
    found: dict[str, int] = {}
    beside = 0
    for message in chat_messages(placed.text):
        texts, tokens = weigh(message)
        for kind, size in files_in(message):
            found[kind] = found.get(kind, 0) + size
            tokens -= size
        beside += tokens + sum(await runtime.tokens.count_many(texts))
    return found, beside
