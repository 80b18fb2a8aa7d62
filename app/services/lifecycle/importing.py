"""Import lines (see app.services.lifecycle.lines) through the same appends as any other message, by the same rules.

An import can be repeated, as a whole or from where it stopped: what already exists is recognised by place and id and
left alone; anything that differs is a conflict, reported with its line.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import anyio.to_thread
import asyncpg

from app import errors
from app.core.canonical import dumps
from app.core.conversation import Conversation
from app.core.encoded import marked
from app.core.history.fork import NewBranch
from app.core.history.preparation import Arrival, KeptArchive
from app.core.history.rows import ArchivePlace, archive_row
from app.core.history.sync import digest
from app.core.messages import FRAME_TOKENS, Draft, read
from app.core.neutral import without_nul
from app.core.scope import Scope, scope_of
from app.errors import Conflict, FieldError, Forbidden, Invalid, QuireError
from app.ids import uuid7
from app.postgres.transactions import ReadTx, Tx
from app.queue import enqueue
from app.runtime import Runtime
from app.services import limits as storage
from app.services import spaces
from app.services.conversations import forking
from app.services.conversations.append import append
from app.services.conversations.requests import ImportedMessages
from app.services.lifecycle import derived, erasing_whole
from app.services.lifecycle.erasing import ErasingTx
from app.services.lifecycle.lines import (
    ArchiveLine,
    ChapterLine,
    ConversationLine,
    CutLine,
    EndLine,
    FileLine,
    Header,
    ImportedSummary,
    MemoryLine,
    MessageLine,
    PageLine,
    RecallLine,
    ReceiptLine,
    SpaceLine,
    checked,
)
from app.services.memory import files, insertion
from app.services.memory.archiving import all_vectors, rows_of, vectors
from app.services.memory.files import StoredFile
from app.services.memory.remembering import searchable
from app.store import archives, branches, conversations, page_index, portable
from app.store import spaces as stored_spaces
from app.store.conversations import NewConversation
from app.store.memory import files as stored_files
from app.store.memory import remembered
from app.store.memory.kept import NO_TERMS
from app.store.memory.remembered import Remembered
from app.store.spaces import NewSpace
from quire_verify import Refused, trusted_keys, verify_entry

MESSAGES_AT_ONCE = 200
"""Messages of one append, where nothing says which were sent together."""
TABLES = {
    "page": "page_index", "chapter": "chapter_names", "summary": "summaries", "recall": "recalls", "cut": "cuts",
}  # fmt: skip
"""Of what was derived, by the kind of line."""
CHARACTERS_AT_ONCE = 4_000_000
"""Characters of messages that wait to be appended; a line's own length is bounded where it is read."""


@dataclass(frozen=True, slots=True)
class Limit:
    """Limits of an import."""

    settings: Callable[[dict[str, Any]], str]
    """A conversation's settings as they are stored. Raises Invalid."""
    user_id: str | None = None
    """Only this user's, if it is one."""


@dataclass
class _Into:
    id: str
    uid: UUID
    user_id: str | None
    last_seq: int
    fresh: bool = False
    """Something was put in by this import."""


@dataclass
class _Import:
    runtime: Runtime
    tenant: UUID
    limit: Limit
    into: _Into | None = None
    waiting: list[tuple[int, MessageLine, Draft]] = field(default_factory=list)
    characters: int = 0
    done: Counter[str] = field(default_factory=Counter)
    matched: Counter[str] = field(default_factory=Counter)


async def import_lines(
    runtime: Runtime, tenant: UUID, lines: AsyncIterator[tuple[int, Any]], limit: Limit
) -> dict[str, dict[str, int]]:
    """Import lines. Return how many items of each kind were new, and how many existed. Lines before a wrong or
    conflicting one stay imported. Raises Invalid or Conflict, which name the line.
    """
    job = _Import(runtime, tenant, limit)
    number = 0
    async for number, value in lines:
        await _located(number, _take(job, number, value))
    await _located(number, _flush(job))
    await _located(number, _end(job))
    return {"imported": dict(sorted(job.done.items())), "matched": dict(sorted(job.matched.items()))}


async def _located(number: int, work: Any) -> None:
    try:
        await work
    except (Invalid, Conflict, Forbidden, errors.NotFound) as error:
        named: list[FieldError] = [
            e if list(e["loc"])[:1] == ["line"] else {"loc": ["line", number, *e["loc"]], "msg": e["msg"]}
            for e in error.errors
        ] or [{"loc": ["line", number], "msg": error.detail}]
        at = named[0]["loc"][1] if len(named[0]["loc"]) > 1 else number
        kind = type(error) if isinstance(error, Conflict | Forbidden) else Invalid
        raise kind(f"Line {at}: {error.detail}", errors=named) from error
    except asyncpg.UniqueViolationError:
        message = "was put in by another request at the same moment; send it again"
        raise Conflict.at(["line", number], message, f"Line {number}: it {message}.") from None


async def _take(job: _Import, number: int, value: Any) -> None:
    line = checked(number, value)
    if isinstance(line, MessageLine):
        await _message(job, number, line)
    elif not isinstance(line, Header):
        begins = isinstance(line, SpaceLine | ConversationLine | FileLine)
        await (_finish(job) if begins else _flush(job))
        await _STEPS[type(line)](job, line)


async def _ended(job: _Import, line: EndLine) -> None:
    _in(job, line.conversation_id)
    await _finish(job)


async def _finish(job: _Import) -> None:
    await _flush(job)
    await _end(job)
    job.into = None


def _in(job: _Import, conversation_id: str) -> _Into:
    if job.into is None or job.into.id != conversation_id:
        message = "must follow the line of its conversation"
        raise Invalid.at(["conversation_id"], message, "The line belongs to no conversation.")
    return job.into


def _user(job: _Import, user_id: str | None) -> str | None:
    if job.limit.user_id is not None and user_id != job.limit.user_id:
        raise Forbidden.at(["user_id"], "is not the key's user", "The line is another user's.")
    return user_id


async def _erase_again(job: _Import, line: ReceiptLine) -> None:
    """Erase again what a certificate of this service says was erased, in case an older backup brought it back."""
    if line.receipt.get("type") not in ("erasure", "end", "gone"):
        return  # what was served elsewhere is proven by the file: here another chain begins
    keys, done = trusted_keys(job.runtime.signer.document) if job.runtime.signer else {}, None
    if line.receipt.get("key") in keys:
        try:
            verify_entry(line.receipt, keys)
        except Refused as refused:
            raise Invalid.at(["receipt"], str(refused)) from None
        async with job.runtime.database.begin(job.tenant) as opened:
            tx = ErasingTx(job.runtime, opened)
            done = await erasing_whole.erase_again(tx, line.conversation_id or "", line.receipt, job.limit.user_id)
    (job.done if done and done.certificates else job.matched)["receipts"] += 1


# --- Conversations and messages -----------------------------------------------------------------------


async def _space(job: _Import, line: SpaceLine) -> None:
    """Create a space and its memberships unless it exists. Raises Forbidden for a caller bound to a user."""
    if job.limit.user_id is not None:
        raise Forbidden("The key is bound to one user; a space is of several.")
    new = NewSpace(line.id, line.name, spaces.participants_text(line.participants), dumps(line.metadata))
    async with job.runtime.database.begin(job.tenant) as tx:
        made = not await stored_spaces.exists(tx, line.id)
        if made:
            await spaces.create(tx, new, line.members)
    (job.done if made else job.matched)["spaces"] += 1


async def _conversation(job: _Import, line: ConversationLine) -> None:
    user_id = _user(job, line.user_id)
    runtime, uid = job.runtime, uuid7()
    tokens = await runtime.count(line.system) + FRAME_TOKENS if line.system else 0
    settings = job.limit.settings(line.settings)
    new = NewConversation(
        line.id, uid, user_id, line.title, line.system, tokens, line.model, line.budget, settings, dumps(line.metadata),
        line.has_earlier, space_id=line.space_id,
    )  # fmt: skip
    async with runtime.database.begin(job.tenant) as tx:
        if line.space_id is not None:
            await stored_spaces.hold(tx, line.space_id, job.limit.user_id)
        made = await (_branch(tx, line, new) if line.parent_id is not None else conversations.create(tx, new))
        if made and line.created_at is not None:
            await portable.date(tx, line.id, line.created_at)
        known = await conversations.get(tx, line.id)
    if (known.user_id, known.space_id) != (user_id, line.space_id):
        raise Conflict("The conversation id is taken by another user or space.")
    (job.done if made else job.matched)["conversations"] += 1
    runtime.caches.forget_conversation(job.tenant, line.id)
    job.into = _Into(known.id, known.uid, known.user_id, known.end.last_seq, fresh=made)


async def _branch(tx: Tx, line: ConversationLine, new: NewConversation) -> bool:
    """Create a branch. Return False if it exists. Raises Invalid unless the messages that it shares are there."""
    parent = await conversations.lock(tx, line.parent_id or "")
    there = await conversations.find(tx, line.id)
    if there is not None:
        return False
    if parent is None or parent.user_id != new.user_id or parent.totals.last_seq < line.forked_after:
        message = "must be a conversation of the lines before, with the messages up to `forked_after`"
        raise Invalid.at(["parent_id"], message, "What the branch shares is not there.")
    branch = NewBranch(new.id, new.uid, new.title, await page_index.now(tx))
    made = await forking.at(tx, parent, line.forked_after, branch)
    if made is not None:
        await conversations.change(tx, made, new)
        if line.shown:
            await branches.show(tx, made.line.root, made.line.root, made.id)
    return made is not None


async def _message(job: _Import, number: int, line: MessageLine) -> None:
    into = _in(job, line.conversation_id)
    limits = job.runtime.defaults.limits
    [draft] = read([line.message], limits, ("line", number, "message"))
    if await _is_there(job, number, line, draft, into):
        job.matched["messages"] += 1
        return
    expected = into.last_seq + len(job.waiting) + 1
    if line.seq is not None and line.seq != expected:
        message = f"must be {expected}, the next of the conversation"
        raise Conflict.at(["seq"], message, "A message does not follow the one before.")
    if job.waiting and (job.waiting[0][1].created_at != line.created_at or len(job.waiting) >= MESSAGES_AT_ONCE * 5):
        await _flush(job)
    job.waiting.append((number, line, draft))
    job.characters += len(draft.text) + sum(len(result.text) for result in draft.results)
    undated = line.created_at is None and len(job.waiting) >= MESSAGES_AT_ONCE
    if undated or job.characters > CHARACTERS_AT_ONCE:
        await _flush(job)


async def _is_there(job: _Import, number: int, line: MessageLine, draft: Draft, into: _Into) -> bool:
    if line.seq is not None and line.seq > into.last_seq:
        return False
    if line.seq is None and draft.client_id is None:
        return False
    async with job.runtime.database.snapshot(job.tenant) as tx:
        stored = await portable.stored(tx, into.id, line.seq, draft.client_id)
    if stored is None:
        return False
    message, known_digest = stored
    same = line.id == message.id if line.id is not None else draft.client_id == message.client_id
    if line.id is None and draft.client_id is None:
        same = known_digest == digest(draft)
    if not same:
        raise Conflict.at(["line", number, "seq"], "is taken", "Its place is taken.")
    return True


async def _flush(job: _Import) -> None:
    if not job.waiting or job.into is None:
        return
    waiting, job.waiting, job.characters = job.waiting, [], 0
    into = job.into
    lines = [line for _, line, _ in waiting]
    await _check_archives(job, waiting)
    knows_archives = any("archives" in line.model_fields_set for line in lines)
    request = ImportedMessages(
        [_arrival(line, draft, knows_archives=knows_archives) for _, line, draft in waiting],
        first_seq=into.last_seq + 1,
        created_at=lines[0].created_at or datetime.now(UTC),
        bound_to=job.limit.user_id,
    )
    try:
        await append(job.runtime, job.tenant, into.id, request, None)
    except QuireError as error:
        for found in error.errors:  # a place in the append is a line here
            match found["loc"]:
                case ["body", "messages", int(index), *rest] if index < len(waiting):
                    found["loc"] = ["line", waiting[index][0], "message", *rest]
                case _:
                    pass
        raise
    into.last_seq += len(waiting)
    into.fresh = True
    job.done["messages"] += len(waiting)
    job.done["archives"] += sum(len(line.archives) for line in lines)


def _arrival(line: MessageLine, draft: Draft, *, knows_archives: bool) -> Arrival:
    archives = {call: KeptArchive(card.value(), card.expires_at) for call, card in line.archives.items()}
    kept = archives if knows_archives else None
    return Arrival(draft, line.id, is_inner=line.inner, is_refused=line.refused, archives=kept)


async def _check_archives(job: _Import, waiting: Sequence[tuple[int, MessageLine, Draft]]) -> None:
    wanted = {card.uuid: number for number, line, _ in waiting for card in line.archives.values()}
    if not wanted:
        return
    async with job.runtime.database.snapshot(job.tenant) as tx:
        taken = await archives.known(tx, list(wanted))
    for one in taken:
        raise Conflict.at(["line", wanted[one.id], "archives"], f"{one.id} is taken", "The archive uuid is taken.")


# --- What was learned ---------------------------------------------------------------------------------


async def _learn(job: _Import, line: derived.DerivedLine) -> None:
    into, tenant = _in(job, line.conversation_id), job.tenant
    async with job.runtime.database.begin(tenant) as tx:
        known = await conversations.lock(tx, into.id, bound_to=job.limit.user_id)
        if known is None or known.uid != into.uid:
            raise Conflict("The conversation was erased during the import.")
        made = await derived.insert(job.runtime, tx, known, line)
    (job.done if made else job.matched)[TABLES[line.type]] += 1
    into.fresh = into.fresh or made
    job.runtime.caches.forget_conversation(tenant, into.id)


async def _end(job: _Import) -> None:
    into, runtime, tenant = job.into, job.runtime, job.tenant
    if into is None:
        return
    async with runtime.database.begin(tenant) as tx:
        known = await conversations.lock(tx, into.id)
        if known is None or known.uid != into.uid:
            return
        work = [enqueue.page(known.id, known.uid, page) for page in await portable.unindexed_pages(tx, into.id)]
        enough = known.totals.last_seq >= runtime.defaults.summary_threshold
        if runtime.chat is not None and into.fresh and enough:
            work.append(enqueue.summary(known.id, known.uid))
        if work:
            await enqueue.enqueue(tx, work)
    runtime.caches.forget_conversation(tenant, into.id)


# --- Outside of messages ------------------------------------------------------------------------------


async def _scope(
    job: _Import, tx: ReadTx, line: MemoryLine | ArchiveLine | FileLine
) -> tuple[Scope, Conversation | None]:
    if line.conversation_id is None and line.space_id is not None:
        await stored_spaces.hold(tx, line.space_id, job.limit.user_id)
        return Scope("space", line.space_id), None
    if line.conversation_id is None:
        if line.user_id is None:
            message = "or `conversation_id` is required"
            raise Invalid.at(["user_id"], message, "The line needs `user_id` or `conversation_id`.")
        return scope_of(_user(job, line.user_id), None), None
    known = await conversations.hold(tx, line.conversation_id, bound_to=job.limit.user_id)
    if known is None:
        raise Invalid.at(["conversation_id"], "does not exist", "There is no such conversation.")
    _user(job, known.user_id)
    return known.scope, known


async def _memory(job: _Import, line: MemoryLine) -> None:
    runtime, tenant = job.runtime, job.tenant
    content, offsets = without_nul(line.content)
    read_by = searchable(line.content, tuple(line.keywords)) if line.source in ("person", "import") else line.content
    found = await anyio.to_thread.run_sync(all_vectors, read_by) if line.is_found else [(0, 0, NO_TERMS)]
    tokens = await runtime.count(marked(content)) if line.pinned else 0
    ids = [line.id, *(uuid7() for _ in found[1:])]
    async with runtime.database.begin(tenant) as tx:
        scope, known = await _scope(job, tx, line)
        if known is not None and line.scope == "conversation":
            scope = Scope("conversation", known.id)
        found_in = known.scope if known is not None and scope.is_alone else scope
        owner = await remembered.owner(tx, line.id)
        if owner is not None and owner != found_in.owner:
            raise Conflict.at(["id"], "is taken", "The memory id is taken.")
        if owner is None:
            new = Remembered(
                id=line.id, scope=scope, type=line.memory_type, content=content,
                nul_offsets=f"{{{','.join(map(str, offsets))}}}", keywords=line.keywords, metadata=dumps(line.metadata),
                source=line.source, sensitive=line.sensitive, expires_at=line.expires_at,
                created_at=line.created_at or datetime.now(UTC),
                passages=[(i, *passage) for i, passage in zip(ids, found, strict=True)],
                conversation_id=known.id if known else None, conversation_uid=known.uid if known else None,
                seq=line.seq, page=line.page, key=line.key, pinned=line.pinned, status=line.status, tokens=tokens,
                quote=line.quote, valid_from=line.valid_from, valid_to=line.valid_to, learnt_at=line.learnt_at,
                found_in=found_in,
            )  # fmt: skip
            await insertion.insert_remembered(runtime, tx, [new])
    (job.done if owner is None else job.matched)["memories"] += 1


async def _file(job: _Import, line: FileLine) -> None:
    async with job.runtime.database.begin(job.tenant) as tx:
        scope, _ = await _scope(job, tx, line)
        await files.hold(tx, scope)
        is_there = line.id in {file for file, _ in (await stored_files.keys(tx, scope)).values()}
        if not is_there:
            if await remembered.owner(tx, line.id) is not None:
                raise Conflict.at(["id"], "is taken", "The id of the file is taken.")
            new = StoredFile(scope, line.path.removeprefix("/"), line.content)
            await files.create(job.runtime, tx, new, line.id, line.created_at)
    (job.matched if is_there else job.done)["memory_files"] += 1


async def _archive(job: _Import, line: ArchiveLine) -> None:
    runtime, tenant = job.runtime, job.tenant
    (tokens,) = await runtime.tokens.count_many([line.result])
    found = await anyio.to_thread.run_sync(vectors, line.result)
    card = replace(line.card.value(), tool_name=line.tool_name, created_at=line.created_at, length=len(line.result))
    async with runtime.database.begin(tenant) as tx:
        scope, known = await _scope(job, tx, line)
        is_there = False
        for one in await archives.known(tx, [card.uuid]):
            is_there = True
            if one.scope != scope or one.seq is not None:
                raise Conflict.at(["card"], "is taken", "The archive uuid is taken.")
        if not is_there:
            await storage.require_room_in(runtime, tx, scope.user_id)
            where = ArchivePlace(scope, known.id if known else None)
            expires_at = line.card.expires_at
            new = archive_row(card, line.result, tokens, line.tool_input, where, line.language, expires_at)
            await archives.insert(tx, new, line.created_at)
            rows = rows_of(found, new, known.uid if known else None, line.created_at)
            await insertion.insert_memories(runtime, tx, rows)
            await enqueue.enqueue(tx, [enqueue.archive_passages(card.uuid, where.conversation_id)])
    (job.matched if is_there else job.done)["archives"] += 1


_STEPS: Mapping[type, Callable[[_Import, Any], Awaitable[None]]] = {
    SpaceLine: _space,
    ConversationLine: _conversation,
    **dict.fromkeys((PageLine, ChapterLine, ImportedSummary, RecallLine, CutLine), _learn),
    EndLine: _ended,
    ReceiptLine: _erase_again,
    MemoryLine: _memory,
    FileLine: _file,
    ArchiveLine: _archive,
}
