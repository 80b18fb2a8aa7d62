"""The tool that stores memories: a person's words are held, anything else is proposed. An equal text is stored once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import anyio.to_thread

from app import errors
from app.core import wording
from app.core.conversation import Conversation
from app.core.history.rows import HistoryMessage
from app.core.model import INTEGER_MAX, Language, Policy
from app.core.neutral import replace_nul
from app.core.window.kept import CLOSED_KEYS, PINNED_MAX, SaidByTool, Status, key_problem, lets_tools_keep, told
from app.core.wording import Wording
from app.extractive.blocks import take_apart
from app.extractive.own_words import own_words
from app.extractive.wishes import is_sensitive, speaks_for_itself, wishes_of
from app.postgres.transactions import Tx
from app.recall import tools
from app.recall.arguments import Mistake, read
from app.services.memory import recalling, remembering
from app.services.memory.remembering import MemoryRequest
from app.services.tools.tool_calls import Answer, Asker
from app.store import conversations, locks, messages, spaces
from app.store.memory import kept
from app.store.memory.remembered import Remembered
from app.text.language import window

KEYWORD_MAX = 100
MESSAGES_READ = 200
"""Of a conversation's messages, to find a person's words in."""


@dataclass(frozen=True, slots=True)
class _Quote:
    """The stretch of a person's message that says what a model wants remembered."""

    words: str
    seq: int
    page: int
    message: str
    """The message as it was read."""
    is_lasting: bool


async def remember(asking: Asker, given: dict[str, Any], *, bound_to: str | None = None) -> Answer:
    """Store a memory of the user or the space, or of the conversation where neither is known.

    It is held if a person said it in the conversation. Otherwise it is proposed, for a person to accept or refuse.
    """
    runtime, language, conversation = asking.runtime, asking.language(given), asking.conversation
    try:
        arguments = _read(given, language)
    except Mistake as mistake:
        return Answer(str(mistake), is_error=True)
    policy = runtime.defaults.policy
    quote = None
    if conversation is not None:
        policy = runtime.policy(conversation)
        if not lets_tools_keep(conversation, policy):
            return Answer(wording.NOTHING_KEPT.say(language), is_error=True)
        quote = await _quote(asking, conversation, arguments)
    new = await anyio.to_thread.run_sync(_prepared, asking, arguments, quote)
    async with runtime.database.begin(asking.tenant) as tx:
        await _hold(tx, asking, bound_to)
        said = await _store(tx, asking, policy, new, quote)
    return Answer(said.say(language), is_error=said is wording.NOT_PROPOSED)


def _read(given: Mapping[str, Any], language: Language) -> dict[str, Any]:
    """Return the call's arguments. Raises Mistake."""
    arguments = read(tools.REMEMBER, given, language)
    if (key := arguments.get("key")) is not None:
        if (problem := key_problem(key)) is not None:
            raise Mistake(f"`key` {problem}.", "key")
        if len(arguments["content"]) > PINNED_MAX:
            most = Wording(f"at most {PINNED_MAX} characters with a key", f"有 key 时最多 {PINNED_MAX} 个字符")
            raise Mistake(wording.MUST_BE.say(language, name="content", what=most.say(language)), "content")
    return arguments


# --- Gather -----------------------------------------------------------------------------------------------------


async def _quote(asking: Asker, conversation: Conversation, arguments: Mapping[str, Any]) -> _Quote | None:
    """Return the newest words of a person that say it, searched in the conversation's newest messages."""
    async with asking.runtime.database.snapshot(asking.tenant) as tx:
        rows = await messages.history(tx, conversation.id, INTEGER_MAX, MESSAGES_READ, newest_first=True)
    return await anyio.to_thread.run_sync(_quote_among, rows, conversation, arguments)


def _quote_among(
    rows: Sequence[HistoryMessage], conversation: Conversation, arguments: Mapping[str, Any]
) -> _Quote | None:
    for row in rows:
        if row.author != "person" and (row.author != "participant" or conversation.user_id is not None):
            continue
        message = recalling.said_text(row)
        if (words := own_words(arguments["content"], message)) and speaks_for_itself(words, message):
            is_lasting = _shows(message, words, arguments.get("key"))
            return _Quote(words, row.seq, row.page, message, is_lasting)
    return None


def _shows(message: str, words: str, key: str | None) -> bool:
    """Return whether the rules find a lasting wish in some words of a message, under a key that they know."""
    found = wishes_of(message, take_apart(window(message)).prose) if key in CLOSED_KEYS else ()
    return any(
        wish.key == key and wish.reach == "user" and not wish.ends and (wish.text in words or words in wish.text)
        for wish in found
    )


def _prepared(asking: Asker, arguments: Mapping[str, Any], quote: _Quote | None) -> Remembered:
    conversation, masks = asking.conversation, asking.runtime.masks
    content = quote.words if quote is not None else arguments["content"]
    request = MemoryRequest(
        content=content,
        memory_type=arguments.get("memory_type", "general"),
        source="tool",
        key=arguments.get("key"),
        sensitive=is_sensitive(content),
        keywords=tuple(replace_nul(word)[:KEYWORD_MAX] for word in arguments.get("keywords", ())),
    )
    if conversation is None:
        return remembering.prepared(masks, request, asking.scope, None)
    totals, line = conversation.totals, conversation.line
    seq, page = (quote.seq, quote.page) if quote is not None else (totals.last_seq, totals.last_page)
    keeper = line.keeper(seq)
    uid = {one.id: one.uid for one in line.stretches}.get(keeper, conversation.uid)
    request = replace(request, conversation_id=keeper)
    return replace(remembering.prepared(masks, request, asking.scope, uid, conversation.scope), page=page)


# --- Apply ------------------------------------------------------------------------------------------------------


async def _hold(tx: Tx, asking: Asker, bound_to: str | None) -> None:
    """Lock the scope against erasure and other writers. Raises NotFound or Forbidden."""
    await locks.lock_owner(tx, asking.scope.owner)
    if (conversation := asking.conversation) is None:
        return
    current = await conversations.hold(tx, conversation.id, bound_to=bound_to)
    if current is None or current.uid != conversation.uid:
        raise errors.missing("conversation")
    if conversation.space_id is not None:
        await spaces.hold(tx, conversation.space_id, bound_to)


async def _store(tx: Tx, asking: Asker, policy: Policy, new: Remembered, quote: _Quote | None) -> Wording:
    """Store the text if it is new, and return the answer for the model."""
    holder = new.scope.owner
    status: Status = "proposed"
    before = await kept.status_of(tx, holder, new.key, new.content)
    if asking.conversation is not None and quote is not None and await _is_there(tx, asking.conversation, quote):
        new = replace(new, seq=quote.seq, quote=quote.words)
        is_set = new.key is not None and (await kept.value(tx, holder, new.key))[0]
        saying = SaidByTool(quote.words, new.key, quote.is_lasting, new.sensitive, is_set)
        status = told(saying, asking.conversation, policy)
    if before == "held":
        return wording.REMEMBERED
    if status == "proposed" and before is not None:
        return wording.NOT_PROPOSED if before == "refused" else wording.PROPOSED
    pinned = True if status == "held" and new.key in CLOSED_KEYS else None
    await remembering.keep(asking.runtime, tx, replace(new, status=status), pinned=pinned)
    return wording.PROPOSED if status == "proposed" else wording.REMEMBERED


async def _is_there(tx: Tx, conversation: Conversation, quote: _Quote) -> bool:
    """Return whether the message still exists as it was read."""
    rows = await messages.history(tx, conversation.id, quote.seq - 1, 1, newest_first=False)
    return any(row.seq == quote.seq and recalling.said_text(row) == quote.message for row in rows)
