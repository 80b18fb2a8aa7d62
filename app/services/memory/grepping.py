"""Find every line that matches a pattern: exact words, numbers and names that search by relevance can miss.

Messages are read in batches, newest first, then archived results. Time, messages and lines are bounded; the result says
whether everything was read.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from itertools import chain, count
from time import monotonic
from typing import Any, Concatenate, ParamSpec, TypeAlias, TypeVar
from uuid import UUID

import anyio.to_thread

from app.core.encoded import blanked
from app.core.groups import chat_messages
from app.core.history.rows import HistoryMessage
from app.core.line import Line, named
from app.core.neutral import replace_nul
from app.core.scope import Scope, scope_of
from app.core.search import grep
from app.core.search.forms import Comparable, comparable
from app.core.search.grep import MessageSpan, Pattern, SearchedLine
from app.core.times import local, time_text
from app.postgres.database import Database
from app.postgres.transactions import ReadTx
from app.runtime import Runtime
from app.services.memory import recalling
from app.store import branches, conversations
from app.store.memory import grep as stored
from app.store.memory.grep import GreppedResult, GrepTooSlow
from app.text.language import scalar

P = ParamSpec("P")
R = TypeVar("R")
T = TypeVar("T")

SECONDS = 2.0
"""For all of a request's statements."""
STRETCH, STRETCH_UNFILTERED = 20_000, 1_000
"""Messages that a statement looks at; fewer if each must be returned, because the pattern has no literal part."""
ROWS_MAX = 2_000
"""Messages read that can match."""
ARCHIVES = 20
"""Archives that a statement looks at."""
LINES_AT_ONCE, CHARACTERS_AT_ONCE = 50_000, 2_000_000
"""Lines that a statement matches: the loop is busy for some milliseconds with sending them."""
LIMIT, LIMIT_MAX = 20, 100

INCOMPLETE = {
    "code": "not_everything_was_read",
    "detail": "time was up, or too many messages can match; the oldest were not read",
}


@dataclass(frozen=True, slots=True)
class GrepRequest:
    """A pattern to find in a conversation or in all data of a user."""

    pattern: Pattern
    user_id: str | None = None
    conversation_id: str | None = None
    since: datetime | None = None
    until: datetime | None = None
    limit: int = LIMIT
    asked_in: str | None = None
    """The conversation that asks: what other branches of its tree said is not found."""
    space_id: str | None = None
    """The space whose conversations are read, for a tool in one of them."""


@dataclass(frozen=True, slots=True)
class GrepHit:
    """A matching line and its place."""

    line: SearchedLine
    conversation_id: str | None
    page: int | None
    role: str
    said_at: datetime
    seq: int | None = None
    message_id: UUID | None = None
    archive_id: UUID | None = None
    name: str | None = None
    """The speaker's."""


@dataclass
class GrepLines:
    """The lines found, newest first."""

    limit: int
    hits: list[GrepHit] = field(default_factory=list)
    total: int = 0
    """Of the lines that match in what was read."""
    is_complete: bool = True

    def add(self, hits: Sequence[GrepHit]) -> None:
        self.total += len(hits)
        self.hits = sorted([*self.hits, *hits], key=lambda hit: hit.said_at, reverse=True)[: self.limit]


@dataclass(frozen=True, slots=True)
class _Text:
    """A text that can match. ``of`` makes a hit from a line."""

    text: str
    of: Callable[[SearchedLine], GrepHit]


@dataclass(frozen=True, slots=True)
class _GrepRun:
    database: Database
    tenant: UUID
    request: GrepRequest
    found: GrepLines
    deadline: float

    async def read(self, work: Callable[Concatenate[ReadTx, P], Awaitable[T]], *args: P.args, **kwargs: P.kwargs) -> T:
        """Read within the remaining time. Raises GrepTooSlow if none is left."""
        async with self.database.snapshot(self.tenant) as tx:
            if (left := self.deadline - monotonic()) <= 0:
                raise GrepTooSlow
            await stored.limit(tx, left)
            return await work(tx, *args, **kwargs)


def pattern_of(text: str, *, is_regex: bool) -> Pattern:
    """Parse a pattern as sent. Raises RefusedPattern."""
    return grep.pattern_of(scalar(replace_nul(text)), is_regex=is_regex)


async def find(runtime: Runtime, tenant: UUID, request: GrepRequest) -> GrepLines:
    """Return the newest matching lines. Takes its own connections.

    Raises NotFound for a conversation that is unknown or not the user's, and RefusedPattern if PostgreSQL rejects the
    pattern.
    """
    run = _GrepRun(runtime.database, tenant, request, GrepLines(request.limit), monotonic() + SECONDS)
    try:
        spans, archives = await run.read(_places, request)
        await _messages(run, spans)
        for start in range(0, len(archives), ARCHIVES):
            await _results(run, archives[start : start + ARCHIVES])
    except GrepTooSlow:
        run.found.is_complete = False
    return run.found


async def _places(tx: ReadTx, request: GrepRequest) -> tuple[list[MessageSpan], list[UUID]]:
    if request.pattern.expression is not None:
        await stored.check(tx, request.pattern.expression)
    asking = await _asking(tx, request)
    tree = list(await branches.family(tx, asking.root)) if asking is not None else []
    scopes, spans = await _scopes(tx, request, asking, tree)
    within = [span.conversation_id for span in spans] if request.conversation_id is not None else None
    shows = partial(_is_shown, asking, tree)
    return spans, [one for scope in scopes for one in await stored.archives(tx, scope, within, shows)]


async def _asking(tx: ReadTx, request: GrepRequest) -> Line | None:
    """Return the line of the conversation that asks, if it is in a tree. Raises NotFound."""
    if (name := request.conversation_id or request.asked_in) is None:
        return None
    conversation = await conversations.get(tx, named(name), bound_to=request.user_id)
    return conversation.line if conversation.line.is_in_tree else None


async def _scopes(
    tx: ReadTx, request: GrepRequest, asking: Line | None, tree: Sequence[str]
) -> tuple[Sequence[Scope], list[MessageSpan]]:
    """Return the scopes of the archives to read, and the spans of the messages."""
    if request.conversation_id is None:
        spans = await stored.spans(tx, request.user_id, space_id=request.space_id)
        if asking is not None:
            inherited = {span.conversation_id: span for span in grep.spans_of(asking, 0)[1:]}
            others = set(tree) - inherited.keys() - {asking.own}
            spans = [inherited.get(one.conversation_id, one) for one in spans if one.conversation_id not in others]
        return [scope_of(request.user_id, None, request.space_id)], spans
    conversation = await conversations.get(tx, named(request.conversation_id))
    return conversation.held_in, grep.spans_of(conversation.line, conversation.totals.last_seq)


def _is_shown(asking: Line | None, tree: Sequence[str], of: str | None, seq: int | None, made_at: datetime) -> bool:
    """Return whether an archive is on the asking line, or outside of its tree."""
    return asking is None or of is None or of not in tree or asking.holds(of, seq, made_at)


async def _messages(run: _GrepRun, spans: list[MessageSpan]) -> None:
    request = run.request
    rows_read = 0
    while spans:
        if rows_read >= ROWS_MAX:
            run.found.is_complete = False
            return
        now, spans = grep.take(spans, STRETCH if request.pattern.needles else STRETCH_UNFILTERED)
        rows = await run.read(stored.messages, now, request.pattern.needles, request.since, request.until)
        if len(rows) == stored.ROWS:
            spans = [*grep.below(now, rows[-1].conversation_id, rows[-1].seq), *spans]
        rows_read += len(rows)
        await _match(run, rows, _message)


async def _results(run: _GrepRun, ids: Sequence[UUID]) -> None:
    request = run.request
    rows = await run.read(stored.results, ids, request.pattern.needles, request.since, request.until)
    await _match(run, rows, _result)


async def _match(run: _GrepRun, rows: Sequence[R], text_of: Callable[[R], _Text]) -> None:
    pattern = run.request.pattern
    if pattern.expression is None:
        await anyio.to_thread.run_sync(_match_literal, run, map(text_of, rows))
        return
    lines = chain.from_iterable(_split(text_of(row)) for row in rows)
    while batch := await anyio.to_thread.run_sync(_batch, lines):
        places = await run.read(stored.matches, [compared.text for *_, compared in batch], pattern)
        await anyio.to_thread.run_sync(
            lambda b, p: run.found.add([_hit(*b[n], *span) for n, *span in p]), batch, places
        )


def _match_literal(run: _GrepRun, texts: Iterator[_Text]) -> None:
    """Add the lines in which a literal begins. Raises GrepTooSlow, and keeps what it found before."""
    for one in texts:
        if monotonic() > run.deadline:
            raise GrepTooSlow
        run.found.add(list(map(one.of, grep.found_in(one.text, run.request.pattern.text))))


_Line: TypeAlias = tuple[_Text, int, int, str, Comparable]
"""A line of a text with its number, its offset, and the form in which it is compared."""


def _batch(lines: Iterator[_Line]) -> list[_Line]:
    """Return the lines that the next statement matches; none if there are no more."""
    batch: list[_Line] = []
    characters = 0
    while len(batch) < LINES_AT_ONCE and characters < CHARACTERS_AT_ONCE and (line := next(lines, None)):
        batch.append(line)
        characters += len(line[3])
    return batch


def _split(one: _Text) -> Iterator[_Line]:
    offset = 0
    for number in count(1):
        end = one.text.find("\n", offset)
        line = one.text[offset : end if end >= 0 else None].removesuffix("\r")
        yield one, number, offset, line, comparable(line, "NFC")
        if end < 0:
            return
        offset = end + 1


def _hit(one: _Text, number: int, offset: int, line: str, compared: Comparable, start: int, stop: int) -> GrepHit:
    start, stop = compared.span(start, stop)
    return one.of(SearchedLine(number, offset + start, grep.shown(line, start, stop - start)))


def _message(row: HistoryMessage) -> _Text:
    name = recalling.speaker(row)

    def hit(line: SearchedLine) -> GrepHit:
        said_at = local(row.said_at or row.created_at, row.said_offset or 0)
        place = row.conversation_id, row.page, row.role, said_at, row.seq, row.id
        return GrepHit(line, *place, name=name)

    return _Text(replace_nul(_text(row)), hit)


def _text(row: HistoryMessage) -> str:
    text = recalling.searchable_text(row)
    for placeholder in _placeholders(row) if row.archive_ids else ():
        text = text.replace(placeholder, "")
    return text


def _placeholders(row: HistoryMessage) -> Iterator[str]:
    ids = [str(one) for one in row.archive_ids]
    for message in chat_messages(row.view or row.body):
        content = message.get("content")
        if message.get("role") == "tool" and isinstance(content, str) and any(one in content for one in ids):
            yield content


def _result(row: GreppedResult) -> _Text:
    def hit(line: SearchedLine) -> GrepHit:
        said_at = local(row.said_at or row.created_at, row.said_offset or 0)
        role = f"tool {row.tool_name}"
        return GrepHit(line, row.conversation_id, row.page, role, said_at, archive_id=row.id)

    return _Text(blanked(row.content), hit)


def answer(found: GrepLines) -> dict[str, Any]:
    return {
        "results": [result(hit) for hit in found.hits],
        "total_found": found.total,
        "is_complete": found.is_complete,
        "warnings": [] if found.is_complete else [INCOMPLETE],
    }


def result(hit: GrepHit) -> dict[str, Any]:
    return {
        "conversation_id": hit.conversation_id,
        "page": hit.page,
        "seq": hit.seq,
        "message_id": str(hit.message_id) if hit.message_id else None,
        "archive_id": str(hit.archive_id) if hit.archive_id else None,
        "role": hit.role,
        "line": hit.line.number,
        "offset": hit.line.offset,
        "text": hit.line.shown,
        "said_at": time_text(hit.said_at),
    }
