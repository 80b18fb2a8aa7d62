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
"""Unmatched results that an append's warnings name one by one."""
CALL_ID_SHOWN = 64
"""Characters of a call id in a warning."""


@dataclass(frozen=True, slots=True)
class FollowUp:
    pages: Sequence[int] = ()
    """Closed pages to index."""
    summary: bool = False
    """A refresh of the rolling summary is to be enqueued."""
    messages: Sequence[int] = ()
    """The seqs of messages so long that not all of their passages are searchable yet."""
    archives: Sequence[UUID] = ()
    """Such archives."""
    embeds: UUID | None = None
    """The owner whose new memories are to get vectors."""
    notices: bool = False
    """Whether those show what persons want kept: messages that were said just now."""


@dataclass(frozen=True, slots=True)
class Append:
    conversation: Conversation
    """The conversation afterwards; the append applies if the stored version is one less, or if it is new."""
    is_new: bool
    messages: Sequence[NewMessage]
    pages: Sequence[NewPage] = ()
    indexes: Sequence[ClosedPage] = ()
    """That of the page that it closes, unless a job makes it."""
    chapters: Sequence[Chapter] = ()
    open: OpenPage | None = None
    """The conversation's last page afterwards, where it is known."""
    wishes: Sequence[NewWish] = ()
    archives: Sequence[NewArchive] = ()
    memories: Sequence[NewMemory] = ()
    follow_up: FollowUp = field(default_factory=FollowUp)
    views: Sequence[Mapping[str, Any]] = ()
    """The messages as returned to the sender."""
    warnings: Sequence[WindowWarning] = ()


def decide(basis: Basis, preparation: Preparation, counts: Counts, new_id: NewId) -> Append:
    """Return what is written. ``counts`` has the tokens of all ``texts``."""
    found = preparation.messages
    rows, totals = _rows(basis, found, counts, new_id)
    after = _after(basis, found, totals, rows[-1].chain, counts)
    if (topics := preparation.topics) is not None:
        after = replace(after, indexed_through=basis.closed[0])
    scope = after.scope
    memories = _memories(found, after, scope, new_id)
    pages, indexes = _pages(basis, found, counts), [] if topics is None else [_index(basis, topics)]
    return Append(
        conversation=after,
        is_new=basis.is_new,
        messages=rows,
        pages=pages,
        indexes=indexes,
        open=_open(basis, found, pages, indexes),
        wishes=list(_wishes(basis, found, scope, counts, new_id)),
        archives=list(_archives(found, after, scope, counts)),
        memories=memories,
        follow_up=_follow_up(basis, found, after, memories, is_indexed=topics is not None),
        views=[_view(one, row) for one, row in zip(found, rows, strict=True)],
        warnings=_unmatched([one.placement for one in found]),
    )


def _unmatched(placements: Iterable[Placement]) -> list[WindowWarning]:
    found = [(one.seq, call_id) for one in placements for call_id in unmatched_results(one)]
    warnings = [
        WindowWarning(
            UNMATCHED,
            f"message {seq}: the result of {call_id[:CALL_ID_SHOWN]!r} answers no open call; no model will see it",
        )
        for seq, call_id in found[:UNMATCHED_NAMED]
    ]
    if more := len(found) - len(warnings):
        warnings.append(WindowWarning(UNMATCHED, f"{more} more result(s) answer no open call"))
    return warnings


def _rows(basis: Basis, found: Sequence[Prepared], counts: Counts, new_id: NewId) -> tuple[list[NewMessage], Totals]:
    """Return the messages' rows, each with the token sums before it, and the sums after the last."""
    rows: list[NewMessage] = []
    totals, chain = basis.conversation.totals, basis.conversation.chain
    full, short, history = totals.full, totals.short, totals.history
    for one in found:
        arrival = basis.arrivals[one.placement.index]
        if not arrival.is_inner and one.placement.kind != "prompt":
            chain = link(chain, one.digest)
        row = _row(one, arrival, (full, short, history), chain, counts, new_id, dict(basis.conversation.file_percents))
        full += row.full_tokens
        short += row.short_tokens
        history += row.full_tokens
        history += sum(counts[archived.shown] - counts[archived.placeholder] for archived in one.archived.values())
        rows.append(row)
    last = rows[-1]
    totals = replace(totals, last_seq=last.seq, last_page=last.page, full=full, short=short, history=history)
    return rows, totals


def _row(
    one: Prepared, arrival: Arrival, before: tuple[int, int, int], chain: bytes, counts: Counts, new_id: NewId,
    files: Mapping[str, int],
) -> NewMessage:  # fmt: skip
    """Return a message's row. ``before``: the weight of all before it, verbatim, condensed and with archives."""
    placement, forms = one.placement, one.forms
    draft = placement.draft
    tokens = form_tokens(forms, placement.kind, counts, files)
    body, view, archived = dumps(_stored_body(one)), _joined(forms.view), one.archived.values()
    shown = [each.shown for each in archived]
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
        line=one.lines.line,
        line_tokens=counts[one.lines.line],
        words=one.lines.words,
        archive_ids=tuple([each.card.uuid for each in archived]),
        fresh_tokens=tuple([whole_tokens(text, counts[text]) for text in shown]),
        marks=form_marks(forms, shown, files),
        digest=INNER if arrival.is_inner else one.digest,
        chain=chain,
        said_at=draft.said_at,
        said_offset=offset_of(draft.said_at),
    )


def _file_weights(basis: Basis, found: Sequence[Prepared]) -> Iterator[FileWeight]:
    percents = dict(basis.conversation.file_percents)
    for one in found:
        sizes: dict[str, int] = {}
        for kind, size in (file for message in one.forms.view for file in files_in(message)):
            sizes[kind] = sizes.get(kind, 0) + size
        for kind, usual in sizes.items() if one.placement.kind not in UNZONED else ():
            yield FileWeight(one.placement.seq, kind, usual, usual * percents.get(kind, OURS) // OURS)


def _joined(chat_messages: Sequence[dict[str, Any]]) -> str:
    return ",".join(map(dumps, chat_messages))


def _stored_body(one: Prepared) -> dict[str, Any]:
    """Return the message as sent; where a result's text went to the archive, a reference stands in for it.

    The reference is an object, which no result's content can be, so it cannot be mistaken for one.
    """
    original = one.placement.draft.original
    references = {
        id(archived.answer.result): {"archive": str(archived.card.uuid)}
        for archived in one.archived.values()
        if isinstance(archived.answer.result.content, str)
    }
    if not references:
        return original
    draft = one.placement.draft
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


def _after(basis: Basis, found: Sequence[Prepared], totals: Totals, chain: bytes, counts: Counts) -> Conversation:
    before = basis.conversation
    goes_on = before.asked_from if basis.origin in ("proxy question", "proxy recall") else None
    prompt_tokens = sum(weight(one.forms.view, counts) for one in found if one.placement.kind == "prompt")
    after = replace(
        before,
        version=before.version + 1,
        updated_at=basis.now,
        end=basis.placed[1],
        totals=totals,
        language=basis.language,
        prompt_tokens=before.prompt_tokens + prompt_tokens,
        file_weights=(*before.file_weights, *_file_weights(basis, found))[-FILES_KEPT:],
        chain=chain,
        asked=(basis.anew or chain) if basis.origin == "proxy question" else before.asked,
        asked_from=goes_on or (found[0].placement.seq if basis.origin == "proxy question" else None),
        refused=before.refused and basis.origin == "proxy recall",
        answered=before.answered or (chain if basis.origin == "proxy answer" else None),
        said_at=max((time for time in (before.said_at, *_times(found)) if time is not None), default=None),
    )
    if basis.origin != "import" and (before.title is None or basis.is_only_greeted):
        persons = [one for one in found if one.placement.author in PEOPLE]
        after = replace(after, title=_asked_first(persons) or before.title or _opening_title(persons) or None)
    if not basis.is_new:
        return after
    system_tokens = counts[before.system] + FRAME_TOKENS if before.system is not None else 0
    return replace(after, system_tokens=system_tokens)


def _asked_first(found: Sequence[Prepared]) -> str | None:
    """Return what is wanted first, for a title; None while nothing is wanted."""
    opening = (one.lines for one in found if one.placement.opens_page)
    return next((lines.title for lines in opening if lines.title and not lines.is_greeting), None)


def _opening_title(found: Sequence[Prepared]) -> str | None:
    """Return the title of the first page that opens; None while only prompts or assistants have spoken."""
    return next((one.lines.title for one in found if one.placement.opens_page), None)


def _times(found: Iterable[Prepared]) -> Iterator[datetime | None]:
    return (one.placement.draft.said_at for one in found)


def _pages(basis: Basis, found: Sequence[Prepared], counts: Counts) -> list[NewPage]:
    """Return the pages that the messages open. The first message of all opens the first one, whoever it is from."""
    rows = []
    for index, one in enumerate(found):
        is_first = index == 0 and not basis.conversation.end.last_seq
        title = (_opening_title(found) or one.lines.title) if is_first else one.lines.title
        if title is not None and (is_first or (one.placement.opens_page and one.placement.page > 1)):
            rows.append(NewPage(one.placement.page, one.placement.seq, title, counts[title]))
    return rows


def _index(basis: Basis, topics: Sequence[str]) -> ClosedPage:
    known = basis.closing.topics if basis.closing is not None else {}
    return ClosedPage(basis.closed[0], tuple(merged(known, topics)))


def _open(
    basis: Basis, found: Sequence[Prepared], pages: Sequence[NewPage], indexes: Sequence[ClosedPage]
) -> OpenPage | None:
    """Return the last page afterwards, with the topics up to it; None where what is stored of it has to be read."""
    page = basis.open
    if pages:
        is_first = not basis.conversation.end.last_seq
        known = basis.closing.topics if basis.closing is not None else {} if is_first else None
        page = None
        if known is not None:
            topics = {**features_of(sorted(topic for index in indexes for topic in index.topics)), **known}
            page = OpenPage(pages[-1].first_seq, pages[-1].title, (), dict(islice(topics.items(), TOPICS_KEPT)))
    return page and page.with_lines(found, basis.placed[1].last_page)


def _archives(found: Sequence[Prepared], after: Conversation, scope: Scope, counts: Counts) -> Iterator[NewArchive]:
    for one in found:
        for archived in one.archived.values():
            yield archive_row(
                archived.card, archived.text, counts[archived.shown], archived.answer.call.arguments,
                ArchivePlace(scope, after.id, one.placement.seq), after.language or "en", archived.expires_at,
                stored_parts(archived.parts, counts),
            )  # fmt: skip


def _memories(found: Sequence[Prepared], after: Conversation, scope: Scope, new_id: NewId) -> list[NewMemory]:
    owner = scope.owner
    return [
        NewMemory(
            id=dated(new_id(), time), owner=owner, type="episode" if text.archive_id is None else "passage",
            conversation_id=after.id, conversation_uid=after.uid, seq=one.placement.seq, page=one.placement.page,
            archive_id=text.archive_id, start=start, length=length, terms=terms,
            created_at=time or after.updated_at,
        )
        for one, time in zip(found, _times(found), strict=True)
        for text in one.searchable
        for start, length, terms in text.passages
    ]  # fmt: skip


def _wishes(basis: Basis, found: Sequence[Prepared], finder: Scope, counts: Counts, new_id: NewId) -> Iterator[NewWish]:
    """Yield the memories that the messages' wishes become. Nothing of an import follows its user by itself."""
    for one in found:
        if basis.arrivals[one.placement.index].archives is not None:
            continue  # of an export, which has the memories too
        draft = one.placement.draft
        said_at = min(draft.said_at or basis.now, basis.now)
        is_own = basis.origin != "import" and one.placement.author == "person"
        for wish in one.lines.wishes:
            for kept in keep(wish, basis.conversation, basis.policy, is_own=is_own):
                yield NewWish(
                    new_id(), (finder if kept.is_alone else kept.scope).owner, kept.scope.owner, kept.scope.text,
                    kept.status, wish.key, one.placement.seq,
                    one.placement.page, wish.text, counts[wish.text], wish.sensitive, said_at,
                    said_at if wish.ends else None,
                )  # fmt: skip


def _follow_up(
    basis: Basis, found: Sequence[Prepared], after: Conversation, memories: Sequence[NewMemory], *, is_indexed: bool
) -> FollowUp:
    unfinished = [(one.placement.seq, text.archive_id) for one in found for text in one.searchable if not text.is_whole]
    is_import = basis.origin == "import"  # its end enqueues what jobs have not found out where it comes from
    return FollowUp(
        pages=() if is_import or is_indexed else basis.closed,
        summary=not is_import and _is_summary_due(basis, after.totals),
        messages=[seq for seq, archive_id in unfinished if archive_id is None],
        archives=[archive_id for _, archive_id in unfinished if archive_id is not None],
        embeds=memories[0].owner if basis.rules.embeds and memories else None,
        notices=basis.rules.notices and not is_import and any(one.placement.author in PEOPLE for one in found),
    )


def _is_summary_due(basis: Basis, after: Totals) -> bool:
    first, before = basis.rules.summarised_from, basis.conversation.totals
    if first is None or not basis.policy.summary_enabled or after.last_seq < first:
        return False
    return before.last_seq < first or before.last_seq // SUMMARY_STEP != after.last_seq // SUMMARY_STEP


def _view(one: Prepared, row: NewMessage) -> dict[str, Any]:
    return {
        "id": str(row.id),
        "client_id": row.client_id,
        "seq": row.seq,
        "page": row.page,
        "role": row.role,
        "tokens": row.loaded_tokens or row.full_tokens,
        "archive_id": str(row.archive_ids[0]) if row.archive_ids else None,
        "content": _seen_content(one),
    }


def _seen_content(one: Prepared) -> Any:
    """Return the content as the model will see it on the next call."""
    if one.forms.anthropic is not None:
        return one.forms.anthropic["content"]
    shown = one.forms.loaded or one.forms.view
    return shown[0].get("content") if shown else one.placement.draft.original.get("content")
