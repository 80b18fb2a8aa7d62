"""Update a conversation's rolling summary; app.core.window.summarising decides when and how.

An unusable reply (empty, a loop, far too short: ``core.window.replies``) leaves the summary as it was, and the queue
retries later. A long backlog (an imported conversation) is covered some thousand tokens at a time, each by a job of its
own.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from app.concurrency import run_in_thread_if_large
from app.core.conversation import Conversation
from app.core.model import Language
from app.core.neutral import flat
from app.core.window import replies, summarising
from app.core.window.excerpts import Excerpt, cut
from app.core.window.summarising import SummaryStep
from app.extractive.summary import summarize_lines
from app.jobs import prompts
from app.jobs.asking import MESSAGE_FRAME, ask, covered_by, excerpts_of, prompt_room, weighed
from app.postgres.transactions import ReadTx
from app.providers import Chat, RefusedInput, UnusableReply
from app.queue import outbox, table
from app.queue.table import Claimed
from app.runtime import Runtime
from app.store import conversations, messages, page_index, summaries
from app.store.summaries import StoredSummary
from app.text.language import scalar, script_counts

MESSAGES_AT_ONCE = 100
USER_TOKENS_MAX = 1_500
OTHER_TOKENS_MAX = 500
"""Tokens of one message in the prompt."""
THIRD_MIN = 30
REPLY_TOKENS = 200
REPLY_SLACK = 2
"""Replies may be so many times as long as they should be before they are cut off."""
EXTRACTIVE = "extractive"
LINE_CHARACTERS = 300
REDONE_LINES = 80
"""Messages whose lines stand for a version that has to be redone."""


@dataclass(frozen=True, slots=True)
class _Due:
    conversation: Conversation
    old: StoredSummary
    excerpts: Sequence[Excerpt]
    """The messages after the old summary, a bounded number of them; not weighed yet."""
    through: int
    """The last seq that they cover."""
    cap: int

    @property
    def language(self) -> Language:
        return self.conversation.language or "en"


async def refresh_summary(runtime: Runtime, claimed: Claimed) -> None:
    """Update the summary. Raises LeaseLost or a ProviderError; the summary then stays as it was."""
    due = await _gather(runtime, claimed)
    if due is None or runtime.chat is None:
        async with runtime.database.begin(claimed.tenant) as tx:
            await table.finish(tx, claimed)
        return
    due = await _within(runtime, runtime.chat, due)
    await _apply(runtime, claimed, due, await _decide(runtime, claimed, due))


# --- Gather -----------------------------------------------------------------------------------------


async def _gather(runtime: Runtime, claimed: Claimed) -> _Due | None:
    tenant = claimed.tenant
    assert claimed.conversation_id is not None
    async with runtime.database.snapshot(tenant) as tx:
        conversation = await conversations.find(tx, claimed.conversation_id)
        if conversation is None or claimed.subject != str(conversation.uid):
            return None
        policy = runtime.policy(conversation)
        old = await _sound(tx, conversation.id, await summaries.newest(tx, conversation.id), policy.summary_max)
        threshold = runtime.defaults.summary_threshold
        through = summarising.due_through(conversation.totals.last_seq, old.through_seq, threshold)
        if not through or not policy.summary_enabled:
            return None
        limit = min(MESSAGES_AT_ONCE, through - old.through_seq)
        rows = await messages.history(tx, conversation.id, old.through_seq, limit, newest_first=False)
    rows = [row for row in rows if row.seq <= through]
    reached = through if len(rows) < limit else rows[-1].seq
    excerpts = await run_in_thread_if_large(sum(len(row.body) for row in rows), excerpts_of, rows)
    return _Due(conversation, old, excerpts, reached, policy.summary_max)


async def _sound(tx: ReadTx, conversation_id: str, old: StoredSummary, cap: int) -> StoredSummary:
    """Return the old summary, or if that is a refusal, the informative lines of its messages."""
    if not replies.is_refusal(old.text):
        return old
    rows = await messages.lines_through(tx, conversation_id, old.through_seq, REDONE_LINES)
    lines = summarize_lines(rows, max_items=REDONE_LINES // 4, max_chars=cap)
    return replace(old, text="\n".join(flat(line) for line in lines))


async def _within(runtime: Runtime, chat: Chat, due: _Due) -> _Due:
    """Return as many messages as fit one call, each cut to a bounded length."""
    room = prompt_room(chat)
    bounds = {"user": min(USER_TOKENS_MAX, room // 2)}
    excerpts = [
        replace(e, text=cut(e.text, e.tokens, bounds.get(e.role, min(OTHER_TOKENS_MAX, room // 2))))
        for e in await weighed(runtime, due.excerpts)
    ]
    excerpts = await weighed(runtime, excerpts)
    taken = summarising.chunk(excerpts, room, MESSAGE_FRAME)
    through = due.through if taken == len(excerpts) else excerpts[taken - 1].seq
    return replace(due, excerpts=excerpts[:taken], through=through)


# --- Decide -----------------------------------------------------------------------------------------


async def _decide(runtime: Runtime, claimed: Claimed, due: _Due) -> StoredSummary:
    if not due.excerpts:  # nothing that a model sees: the old one holds on
        return replace(due.old, version=due.old.version + 1, through_seq=due.through)
    try:
        lines, model = await _write(runtime, claimed, due)
    except RefusedInput:
        lines, model = _extractive(due), EXTRACTIVE
    lines = [flat(scalar(line).replace("\x00", "")) for line in lines]
    model = model.replace("\x00", "")
    text = "\n".join(summarising.fitting(lines, due.cap, runtime.tokens.count))
    tokens = runtime.tokens.count(text)
    return StoredSummary(due.old.version + 1, due.through, text, tokens, model)


def _extractive(due: _Due) -> list[str]:
    """Summarise without the model what it refuses: informative lines, added to the old summary's."""
    lines = [(e.role, " ".join(e.text.split())[:LINE_CHARACTERS]) for e in due.excerpts]
    new = summarize_lines(lines, max_items=max(1, len(lines) // 3), max_chars=due.cap)
    old = due.old.text.split("\n") if due.old.text else []
    return [*new, *old] if len(old) > len(new) else [*old, *new]


async def _write(runtime: Runtime, claimed: Claimed, due: _Due) -> tuple[list[str], str]:
    """Return the new summary's lines, possibly still over the cap, and the model's name. Raises a ProviderError."""
    old, lines, model = due.old.text, list[str](), ""
    taken: list[SummaryStep] = []
    while True:
        (tokens,) = await runtime.tokens.count_many(["\n".join(lines)])
        step = summarising.next_step(taken, tokens, due.cap, has_old=bool(old))
        taken.append(step)
        match step:
            case SummaryStep.MERGE:
                request = prompts.summary_request(old, due.excerpts, due.cap, due.language)
                about = [*due.excerpts, _as_excerpt(old)]
                expected = min(_content(old), _content("\n".join(e.text for e in due.excerpts)))
                lines, model = await _lines(runtime, claimed, request, due.cap, about, expected)
            case SummaryStep.COMPRESS_OLD:
                third = max(THIRD_MIN, due.old.tokens // 3)
                old = "\n".join((await _compressed(runtime, claimed, old, third, due.language))[0])
            case SummaryStep.COMPRESS:
                lines, model = await _compressed(runtime, claimed, "\n".join(lines), due.cap, due.language)
            case SummaryStep.CUT | SummaryStep.DONE:
                return lines, model


async def _compressed(
    runtime: Runtime, claimed: Claimed, text: str, cap: int, language: Language
) -> tuple[list[str], str]:
    (tokens,) = await runtime.tokens.count_many([text])
    expected = _content(text) * cap // max(cap, tokens)
    request = prompts.compress_request(text, cap, language)
    return await _lines(runtime, claimed, request, cap, [_as_excerpt(text)], expected)


async def _lines(
    runtime: Runtime, claimed: Claimed, request: Sequence[Mapping[str, Any]], cap: int,
    about: Sequence[Excerpt], content_expected: int,
) -> tuple[list[str], str]:  # fmt: skip
    with runtime.successes.judging(claimed.kind):
        reply = await ask(runtime, claimed, request, max_tokens=cap * REPLY_SLACK + REPLY_TOKENS)
        lines = summarising.lines_of(reply.text)
        if not lines:
            raise UnusableReply("the summary says nothing")
        characters = len(reply.text) + sum(len(e.text) for e in about)
        instructions = str(request[0]["content"])
        fault = await run_in_thread_if_large(characters, _fault, reply.text, about, content_expected, instructions)
        if fault is not None:
            raise UnusableReply(f"the summary {fault}")
    return lines, reply.model


def _fault(text: str, about: Sequence[Excerpt], content_expected: int, instructions: str) -> str | None:
    return replies.summary_fault(text, script_counts(text), covered_by(about), content_expected, instructions)


def _as_excerpt(summary: str) -> Excerpt:
    return Excerpt(0, "assistant", summary, 0)


def _content(summary: str) -> int:
    return replies.wording_of(summary).content


# --- Apply ------------------------------------------------------------------------------------------


async def _apply(runtime: Runtime, claimed: Claimed, due: _Due, new: StoredSummary) -> None:
    tenant, conversation = claimed.tenant, due.conversation
    generation = conversation.own_generation
    threshold = runtime.defaults.summary_threshold
    async with runtime.database.begin(tenant) as tx:
        at = await page_index.hold(tx, conversation.id, conversation.uid, generation)
        if at is not None and await summaries.insert(tx, conversation.id, new, at):
            through = new.through_seq
            written = outbox.event("summary.written", conversation_id=conversation.id, through_seq=through)
            await outbox.tell(tx, written)
        if at is None or summarising.due_through(conversation.totals.last_seq, new.through_seq, threshold):
            await table.requeue(tx, claimed)
        else:
            await table.finish(tx, claimed)
