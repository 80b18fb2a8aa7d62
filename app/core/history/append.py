"""Decide what an append writes: every row, the conversation afterwards, and the jobs that follow.

Pure: prepared messages (``core.history.preparation``) and the tokens of their texts go in, one ``Append`` comes out.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from itertools import islice
from typing import Any
from uuid import UUID

from app.core.calibration import FILES_KEPT
from app.core.canonical import dumps
from app.core.conversation import Conversation
from app.core.history.ingest import Placement, form_marks, form_tokens, unmatched_results, weight
from app.core.history.preparation import Arrival, Basis, Counts, NewId, OpenPage, Preparation, Prepared
from app.core.history.rows import (
    ArchivePlace,
    ClosedPage,
    NewArchive,
    NewMemory,
    NewMessage,
    NewPage,
    NewWish,
    archive_row,
)
from app.core.history.sync import INNER, link
from app.core.messages import FRAME_TOKENS, files_in
from app.core.model import OURS, PEOPLE, UNMATCHED, UNZONED, FileWeight, Totals, WindowWarning
from app.core.scope import Scope
from app.core.times import dated, offset_of
from app.core.window.contents import Chapter
from app.core.window.fresh import stored_parts, whole_tokens
from app.core.window.kept import keep
from app.core.window.topics import TOPICS_KEPT, features_of, merged

SUMMARY_STEP = 5
"""New messages after which a refresh of the rolling summary is enqueued."""
UNMATCHED_NAMED = 10
"""The number of unmatched results that get a warning of their own."""
CALL_ID_SHOWN = 64
"""Characters of a call id that a warning shows."""


@dataclass(frozen=True, slots=True)
class FollowUp:
    pages: Sequence[int] = ()
    """Closed pages to index."""
    summary: bool = False
    """Whether to enqueue a refresh of the rolling summary."""
    messages: Sequence[int] = ()
    """The seqs of messages that are so long that some of their passages are not searchable yet."""
    archives: Sequence[UUID] = ()
    """The archives of which the same is true."""
    embeds: UUID | None = None
    """The owner whose new memories need vectors."""
    notices: bool = False
    """Whether to look in these vectors for wishes of persons: only in messages that were said just now."""


@dataclass(frozen=True, slots=True)
class Append:
    conversation: Conversation
    """The conversation after the append, which applies only if the stored version is one less, or none is stored."""
    is_new: bool
    messages: Sequence[NewMessage]
    pages: Sequence[NewPage] = ()
    indexes: Sequence[ClosedPage] = ()
    """The index of the page that the append closes; empty if a job makes it."""
    chapters: Sequence[Chapter] = ()
    open: OpenPage | None = None
    """The conversation's last page after the append, if it is known."""
    wishes: Sequence[NewWish] = ()
    archives: Sequence[NewArchive] = ()
    memories: Sequence[NewMemory] = ()
    follow_up: FollowUp = field(default_factory=FollowUp)
    views: Sequence[Mapping[str, Any]] = ()
    """The messages as returned to the sender."""
    warnings: Sequence[WindowWarning] = ()


def decide(basis: Basis, preparation: Preparation, counts: Counts, new_id: NewId) -> Append:
    """Return everything to write. ``counts`` must hold the tokens of all texts that ``preparation.texts`` yields."""
    messages = preparation.messages
    rows, totals = _rows(basis, messages, counts, new_id)
    after = _after(basis, messages, totals, rows[-1].chain, counts)
    if (topics := preparation.topics) is not None:
        after = replace(after, indexed_through=basis.closed[0])
    scope = after.scope
    memories = _memories(messages, after, scope, new_id)
    pages, indexes = _pages(basis, messages, counts), [] if topics is None else [_index(basis, topics)]
    return Append(
        conversation=after,
        is_new=basis.is_new,
        messages=rows,
        pages=pages,
        indexes=indexes,
        open=_open(basis, messages, pages, indexes),
        wishes=list(_wishes(basis, messages, scope, counts, new_id)),
        archives=list(_archives(messages, after, scope, counts)),
        memories=memories,
        follow_up=_follow_up(basis, messages, after, memories, is_indexed=topics is not None),
        views=[_view(message, row) for message, row in zip(messages, rows, strict=True)],
        warnings=_unmatched([message.placement for message in messages]),
    )


def _unmatched(placements: Iterable[Placement]) -> list[WindowWarning]:
    unmatched = [(placement.seq, call_id) for placement in placements for call_id in unmatched_results(placement)]
    warnings = [
        WindowWarning(
            UNMATCHED,
            f"message {seq}: the result of {call_id[:CALL_ID_SHOWN]!r} answers no open call; no model will see it",
        )
        for seq, call_id in unmatched[:UNMATCHED_NAMED]
    ]
    if more := len(unmatched) - len(warnings):
        warnings.append(WindowWarning(UNMATCHED, f"{more} more result(s) answer no open call"))
    return warnings


def _rows(basis: Basis, messages: Sequence[Prepared], counts: Counts, new_id: NewId) -> tuple[list[NewMessage], Totals]:
    """Return the messages' rows, each with the token sums before it, and the totals after the last."""
    rows: list[NewMessage] = []
    totals, chain = basis.conversation.totals, basis.conversation.chain
    full, short, history = totals.full, totals.short, totals.history
    percents = dict(basis.conversation.file_percents)
    for message in messages:
        arrival = basis.arrivals[message.placement.index]
        if not arrival.is_inner and message.placement.kind != "prompt":
            chain = link(chain, message.digest)
        row = _row(message, arrival, (full, short, history), chain, counts, new_id, percents)
        full += row.full_tokens
        short += row.short_tokens
        history += row.full_tokens
        history += sum(counts[archived.shown] - counts[archived.placeholder] for archived in message.archived.values())
        rows.append(row)
    last = rows[-1]
    totals = replace(totals, last_seq=last.seq, last_page=last.page, full=full, short=short, history=history)
    return rows, totals


def _row(
    message: Prepared, arrival: Arrival, before: tuple[int, int, int], chain: bytes, counts: Counts, new_id: NewId,
    files: Mapping[str, int],
) -> NewMessage:  # fmt: skip
    """Return a message's row. ``before``: earlier messages' tokens verbatim, condensed, and with archives in full."""
    placement, forms = message.placement, message.forms
    draft = placement.draft
    tokens = form_tokens(forms, placement.kind, counts, files)
    body, view, archives = dumps(_stored_body(message)), _joined(forms.view), message.archived.values()
    shown = [archived.shown for archived in archives]
    return NewMessage(
        seq=placement.seq,
        id=arrival.id or new_id(),
        client_id=draft.client_id,
        page=placement.page,
        user_seq=placement.user_seq,
        call_group=placement.group,
        kind=placement.kind,
        role=draft.role,
        author=placement.author,
        body=body,
        view=None if view == body else view,
        short=_joined(forms.short) if forms.short is not None and tokens.short < tokens.full else None,
        loaded=_joined(forms.loaded) if forms.loaded is not None else None,
        anthropic=dumps(forms.anthropic) if forms.anthropic is not None else None,
        parts=len(forms.view),
        calls=len(draft.calls),
        results=len(placement.answers) - len(placement.far),
        full_tokens=tokens.full,
        short_tokens=tokens.short,
        loaded_tokens=tokens.loaded,
        full_before=before[0],
        short_before=before[1],
        history_before=before[2],
        line=message.lines.line,
        line_tokens=counts[message.lines.line],
        words=message.lines.words,
        archive_ids=tuple([archived.card.uuid for archived in archives]),
        fresh_tokens=tuple([whole_tokens(text, counts[text]) for text in shown]),
        marks=form_marks(forms, shown, files),
        digest=INNER if arrival.is_inner else message.digest,
        chain=chain,
        said_at=draft.said_at,
        said_offset=offset_of(draft.said_at),
    )


def _file_weights(basis: Basis, messages: Sequence[Prepared]) -> Iterator[FileWeight]:
    percents = dict(basis.conversation.file_percents)
    for message in messages:
        sizes: dict[str, int] = {}
        for kind, size in (file for shown in message.forms.view for file in files_in(shown)):
            sizes[kind] = sizes.get(kind, 0) + size
        for kind, usual in sizes.items() if message.placement.kind not in UNZONED else ():
            yield FileWeight(message.placement.seq, kind, usual, usual * percents.get(kind, OURS) // OURS)


def _joined(chat_messages: Sequence[dict[str, Any]]) -> str:
    return ",".join(map(dumps, chat_messages))


def _stored_body(message: Prepared) -> dict[str, Any]:
    """Return the message as sent, with a reference in place of each archived text.

    The reference is an object, which no result's content can be, so it cannot be mistaken for one.
    """
    original = message.placement.draft.original
    references = {
        id(archived.answer.result): {"archive": str(archived.card.uuid)}
        for archived in message.archived.values()
        if isinstance(archived.answer.result.content, str)
    }
    if not references:
        return original
    draft = message.placement.draft
    if draft.role == "tool":
        return {**original, "content": references[id(draft.results[0])]}
    results = iter(draft.results)
    blocks = [
        {**block, "content": references[id_]}
        if block["type"] == "tool_result" and (id_ := id(next(results))) in references
        else block
        for block in original["content"]
    ]
    return {**original, "content": blocks}


def _after(basis: Basis, messages: Sequence[Prepared], totals: Totals, chain: bytes, counts: Counts) -> Conversation:
    before = basis.conversation
    goes_on = before.asked_from if basis.origin in ("proxy question", "proxy recall") else None
    prompt_tokens = sum(weight(m.forms.view, counts) for m in messages if m.placement.kind == "prompt")
    after = replace(
        before,
        version=before.version + 1,
        updated_at=basis.now,
        end=basis.placed[1],
        totals=totals,
        language=basis.language,
        prompt_tokens=before.prompt_tokens + prompt_tokens,
        file_weights=(*before.file_weights, *_file_weights(basis, messages))[-FILES_KEPT:],
        chain=chain,
        asked=(basis.anew or chain) if basis.origin == "proxy question" else before.asked,
        asked_from=goes_on or (messages[0].placement.seq if basis.origin == "proxy question" else None),
        refused=before.refused and basis.origin == "proxy recall",
        answered=before.answered or (chain if basis.origin == "proxy answer" else None),
        said_at=max((time for time in (before.said_at, *_times(messages)) if time is not None), default=None),
    )
    if basis.origin != "import" and (before.title is None or basis.is_only_greeted):
        persons = [message for message in messages if message.placement.author in PEOPLE]
        after = replace(after, title=_telling_title(persons) or before.title or _opening_title(persons) or None)
    if not basis.is_new:
        return after
    system_tokens = counts[before.system] + FRAME_TOKENS if before.system is not None else 0
    return replace(after, system_tokens=system_tokens)


def _telling_title(messages: Sequence[Prepared]) -> str | None:
    """Return the title of the first page that is more than a greeting, if there is one."""
    opening = (message.lines for message in messages if message.placement.opens_page)
    return next((lines.title for lines in opening if lines.title and not lines.is_greeting), None)


def _opening_title(messages: Sequence[Prepared]) -> str | None:
    """Return the title of the first page that opens; None if only prompts or assistants have spoken so far."""
    return next((message.lines.title for message in messages if message.placement.opens_page), None)


def _times(messages: Iterable[Prepared]) -> Iterator[datetime | None]:
    return (message.placement.draft.said_at for message in messages)


def _pages(basis: Basis, messages: Sequence[Prepared], counts: Counts) -> list[NewPage]:
    """Return the pages that the messages open. A conversation's first message opens page 1, whatever its role."""
    rows = []
    for index, message in enumerate(messages):
        is_first = index == 0 and not basis.conversation.end.last_seq
        title = (_opening_title(messages) or message.lines.title) if is_first else message.lines.title
        if title is not None and (is_first or (message.placement.opens_page and message.placement.page > 1)):
            rows.append(NewPage(message.placement.page, message.placement.seq, title, counts[title]))
    return rows


def _index(basis: Basis, topics: Sequence[str]) -> ClosedPage:
    known = basis.closing.topics if basis.closing is not None else {}
    return ClosedPage(basis.closed[0], tuple(merged(known, topics)))


def _open(
    basis: Basis, messages: Sequence[Prepared], pages: Sequence[NewPage], indexes: Sequence[ClosedPage]
) -> OpenPage | None:
    """Return the last page after the append, with the topics up to it; None if its stored part must be read first."""
    page = basis.open
    if pages:
        is_first = not basis.conversation.end.last_seq
        known = basis.closing.topics if basis.closing is not None else {} if is_first else None
        page = None
        if known is not None:
            topics = {**features_of(sorted(topic for index in indexes for topic in index.topics)), **known}
            page = OpenPage(pages[-1].first_seq, pages[-1].title, (), dict(islice(topics.items(), TOPICS_KEPT)))
    return page and page.with_lines(messages, basis.placed[1].last_page)


def _archives(messages: Sequence[Prepared], after: Conversation, scope: Scope, counts: Counts) -> Iterator[NewArchive]:
    for message in messages:
        for archived in message.archived.values():
            yield archive_row(
                archived.card, archived.text, counts[archived.shown], archived.answer.call.arguments,
                ArchivePlace(scope, after.id, message.placement.seq), after.language or "en", archived.expires_at,
                stored_parts(archived.parts, counts),
            )  # fmt: skip


def _memories(messages: Sequence[Prepared], after: Conversation, scope: Scope, new_id: NewId) -> list[NewMemory]:
    owner = scope.owner
    return [
        NewMemory(
            id=dated(new_id(), time), owner=owner, type="episode" if text.archive_id is None else "passage",
            conversation_id=after.id, conversation_uid=after.uid, seq=message.placement.seq,
            page=message.placement.page, archive_id=text.archive_id, start=start, length=length, terms=terms,
            created_at=time or after.updated_at,
        )
        for message, time in zip(messages, _times(messages), strict=True)
        for text in message.searchable
        for start, length, terms in text.passages
    ]  # fmt: skip


def _wishes(
    basis: Basis, messages: Sequence[Prepared], finder: Scope, counts: Counts, new_id: NewId
) -> Iterator[NewWish]:
    """Yield the messages' wishes as memories. An imported wish never holds in other conversations by itself."""
    for message in messages:
        if basis.arrivals[message.placement.index].archives is not None:
            continue  # from an export, which contains the memories too
        draft = message.placement.draft
        said_at = min(draft.said_at or basis.now, basis.now)
        is_own = basis.origin != "import" and message.placement.author == "person"
        for wish in message.lines.wishes:
            for kept in keep(wish, basis.conversation, basis.policy, is_own=is_own):
                yield NewWish(
                    new_id(), (finder if kept.is_alone else kept.scope).owner, kept.scope.owner, kept.scope.text,
                    kept.status, wish.key, message.placement.seq, message.placement.page, wish.text,
                    counts[wish.text], wish.sensitive, said_at, said_at if wish.ends else None,
                )  # fmt: skip


def _follow_up(
    basis: Basis, messages: Sequence[Prepared], after: Conversation, memories: Sequence[NewMemory], *, is_indexed: bool
) -> FollowUp:
    texts = [(message.placement.seq, text) for message in messages for text in message.searchable]
    unfinished = [(seq, text.archive_id) for seq, text in texts if not text.is_whole]
    is_import = basis.origin == "import"  # its end enqueues what the exporting service's jobs had not yet derived
    return FollowUp(
        pages=() if is_import or is_indexed else basis.closed,
        summary=not is_import and _is_summary_due(basis, after.totals),
        messages=[seq for seq, archive_id in unfinished if archive_id is None],
        archives=[archive_id for _, archive_id in unfinished if archive_id is not None],
        embeds=memories[0].owner if basis.rules.embeds and memories else None,
        notices=basis.rules.notices and not is_import and any(m.placement.author in PEOPLE for m in messages),
    )


def _is_summary_due(basis: Basis, after: Totals) -> bool:
    first, before = basis.rules.summarised_from, basis.conversation.totals
    if first is None or not basis.policy.summary_enabled or after.last_seq < first:
        return False
    return before.last_seq < first or before.last_seq // SUMMARY_STEP != after.last_seq // SUMMARY_STEP


def _view(message: Prepared, row: NewMessage) -> dict[str, Any]:
    return {
        "id": str(row.id),
        "client_id": row.client_id,
        "seq": row.seq,
        "page": row.page,
        "role": row.role,
        "tokens": row.loaded_tokens or row.full_tokens,
        "archive_id": str(row.archive_ids[0]) if row.archive_ids else None,
        "content": _seen_content(message),
    }


def _seen_content(message: Prepared) -> Any:
    """Return the content as the model will see it on the next call."""
    if message.forms.anthropic is not None:
        return message.forms.anthropic["content"]
    shown = message.forms.loaded or message.forms.view
    return shown[0].get("content") if shown else message.placement.draft.original.get("content")
