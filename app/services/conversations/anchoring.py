"""Automatic recall: chosen once for a user message, and in view until the next one.

Every window of the message's page shows the same text in the same place, so further calls of a loop need no search. If
the choice fails or cannot be stored, so does the call: the next window would not begin with one that lacks the recall.
"""

from __future__ import annotations

from app.caches import KeptWindow
from app.core.conversation import Conversation
from app.core.dialects.proxy import newest_user_text
from app.core.groups import chat_messages
from app.core.model import Anchored, Policy, Recall
from app.core.search.relevance import ASKS_MIN, MAY_ASK_MIN
from app.core.window.assemble import TAIL_OVERHEAD
from app.core.window.budget import ANCHORED_SHARE
from app.core.window.render import tail_text
from app.extractive import intents
from app.services.conversations import tail
from app.services.conversations.call import ContextRequest, WindowCall
from app.services.memory import querying
from app.store import conversations
from app.text.queries import is_a_question


def wish(request: ContextRequest, policy: Policy) -> Recall:
    return policy.recall if request.recall is None else request.recall


def in_view(conversation: Conversation, request: ContextRequest, policy: Policy) -> Anchored | None:
    """Return the recall for the newest user message, if the window shows one."""
    found = conversation.anchored
    if found is None or found.seq != conversation.end.user_seq or wish(request, policy) == "off":
        return None
    return found


def is_due(shown: KeptWindow, request: ContextRequest) -> bool:
    """Return whether the newest message is a user's that has had no recall yet. A query replaces the recall."""
    conversation = shown.conversation
    if not request.chooses or request.query is not None or not conversation.end.user_seq:
        return False
    is_newest = conversation.end.user_seq == conversation.end.last_seq
    line = conversation.line  # a branch changes no shared row
    is_own = line.keeper(conversation.end.user_seq) == line.own
    is_known = conversation.anchored is not None and conversation.anchored.seq == conversation.end.user_seq
    return is_newest and is_own and not is_known and wish(request, shown.target.policy) == "auto"


async def asked(call: WindowCall, shown: KeptWindow) -> str | None:
    """Return the newest user message if it is worth a search; None if it does not ask."""
    seq = shown.conversation.end.user_seq
    said = newest_user_text([one for item in shown.parts.items if item.seq == seq for one in chat_messages(item.text)])
    if said is None:
        return None
    asks = await querying.asks_for_earlier(call.runtime, call.tenant, said)
    is_worth = intents.may_ask(said) if asks is None else asks >= (MAY_ASK_MIN if is_a_question(said) else ASKS_MIN)
    return said if is_worth else None


async def choose(call: WindowCall, shown: KeptWindow, said: str) -> Anchored | None:
    """Choose, store and return the recall for a message; None if another call was faster or a source has changed."""
    conversation, policy = shown.conversation, shown.target.policy
    room = max(0, min(policy.recall_max, int(shown.target.shares.available * ANCHORED_SHARE)) - TAIL_OVERHEAD)
    query = await querying.prepare(call.runtime, call.tenant, said, asked_at=conversation.said_at)
    async with call.runtime.database.begin(call.tenant, sharing=conversation.searched) as tx:
        items, sources = await tail.unasked(tx, call, shown, query, room)
        text = tail_text(items, conversation.language or "en") if items else None
        tokens = sum(item.tokens for item in items) + TAIL_OVERHEAD if text else 0
        chosen = Anchored(conversation.end.user_seq, text, tokens)
        is_kept = await conversations.anchor(tx, conversation, chosen, sources)
    run = call.runtime.caches.served.run(call.tenant, conversation)
    if text:
        run.chosen = run.seal("recalled", text).digest, sources
    return chosen if is_kept else None
