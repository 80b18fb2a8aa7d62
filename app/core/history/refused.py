"""Questions that a model's API refuses for good: an image it does not accept, a body too large, a content policy.

Such a question is stored like any other. If it stayed in windows, every later request would be refused too, so it is
marked when it is refused. While nothing follows it, it stays: the same list can ask it again, and an answer removes
the mark. Otherwise the next message decides:

    the proxy's answer, or a recall on the way to it   the question stays
    the caller's own answer, appended or synced        the question stays
    anything else                                      the question leaves: windows, search and the jobs pass over it

A question that has left keeps its place in the history. If it was a tool result, its call is open again, so that the
client can send another result.
"""

from __future__ import annotations

from collections.abc import Sequence

from app.core.conversation import OpenCall
from app.core.groups import chat_messages
from app.core.history.ingest import OPEN_ARGUMENTS_MAX
from app.core.history.preparation import Origin


def leaves(origin: Origin, role: str) -> bool:
    """Return whether a refused question leaves the windows when a message with this role follows it."""
    match origin:
        case "proxy recall" | "proxy answer":
            return False
        case "proxy question":
            return True
        case "caller" | "import":
            return role != "assistant"


def open_again(shown: Sequence[str], group: int) -> tuple[OpenCall, ...]:
    """Return the calls of a group that no result answers. ``shown``: the group's messages as windows show them."""
    messages = [message for text in shown for message in chat_messages(text)]
    answered = {message.get("tool_call_id") for message in messages}
    return tuple(
        OpenCall(call["id"], call["function"]["name"], call["function"]["arguments"][:OPEN_ARGUMENTS_MAX], group)
        for message in messages
        for call in message.get("tool_calls") or ()
        if call["id"] not in answered
    )
