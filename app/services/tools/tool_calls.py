"""Run the recall tools for a model.

A model's mistake is not an HTTP error: the response says what would work. Tools only read. Recalls are counted
afterwards, in the transaction that stores the response for repeated requests.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Container, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import anyio.to_thread

from app import errors
from app.concurrency import run_in_thread_if_large
from app.core import wording
from app.core.canonical import dumps
from app.core.conversation import Conversation
from app.core.edge.caller import Caller
from app.core.encoded import marked
from app.core.history.rows import HistoryMessage
from app.core.model import Language
from app.core.scope import Scope, scope_of
from app.core.search.grep import RefusedPattern
from app.core.search.narrowing import EVERYTHING, Narrowing
from app.core.window.budget import RecallRoom
from app.core.window.contents import PageEntry, run_lines
from app.core.window.quote import archive_text, day_heading, memories_text, passage_text, run_text
from app.postgres.transactions import ReadTx, Tx
from app.recall import tools
from app.recall.arguments import Mistake, read
from app.recall.tools import Tool
from app.runtime import Runtime
from app.services.conversations import cuts
from app.services.idempotency import IdempotencyKey, StoredResponse, run_idempotently
from app.services.memory import archiving, expanding, grepping, keywords, querying, recalling, searching, views
from app.services.memory.archiving import ArchivePart
from app.services.memory.grepping import GrepRequest
from app.services.memory.hits import SearchHit, find_memory
from app.services.memory.recalling import clipped
from app.services.memory.results import characters, memory_view, result_view
from app.services.memory.searching import SearchRequest
from app.services.tools import found_lines
from app.store import conversations, heads, messages
from app.store.memory.memories import Hit
from app.text.language import language as language_of

RUN_MAX = 200
"""Pages of a run that one read returns."""


@dataclass(frozen=True, slots=True)
class ToolCall:
    tool: Tool
    arguments: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Asker:
    """The conversation, or the user outside of conversations, for whom a tool runs."""

    runtime: Runtime
    tenant: UUID
    user_id: str | None
    conversation: Conversation | None = None
    sensitive: bool = False
    """Whether sensitive memories are there."""
    narrowing: Narrowing = EVERYTHING

    @property
    def scope(self) -> Scope:
        return scope_of(self.user_id, None) if self.conversation is None else self.conversation.scope

    @property
    def views(self) -> tuple[UUID, ...]:
        """Return the owners that its conversation can view; empty: those that its user can view."""
        return () if self.conversation is None else tuple(self.conversation.searched)

    def sees(self, hit: Hit) -> bool:
        """Return whether its conversation can view a memory, or has it on its line."""
        here = self.conversation
        return here is None or hit.owner in self.views or here.line.holds(*_place(hit))

    async def owners(self, tx: ReadTx) -> Container[UUID]:
        return self.views or await views.of_user(tx, self.user_id or "")

    def is_alone(self) -> bool:
        """Return whether the conversation's policy limits recalls to itself."""
        here = self.conversation
        return here is not None and self.runtime.policy(here).recall_scope == "conversation"

    def language(self, arguments: Mapping[str, Any]) -> Language:
        """Return the conversation's language, or without one that of the arguments."""
        if self.conversation is not None:
            return self.conversation.language or "en"
        return language_of(" ".join(value[:1000] for value in arguments.values() if isinstance(value, str)))


@dataclass(frozen=True, slots=True)
class Answer:
    """A tool's result: ``content`` for a model, ``value`` for its code, ``pages`` from first to last recalled page."""

    content: str
    value: Any = None
    is_error: bool = False
    pages: tuple[int, int] | None = None
    note: str = ""
    """For a model that reads only what its code makes of the value: nothing was found, or what the search lacked."""


@dataclass(frozen=True, slots=True)
class ToolRun:
    """A call to run, with validated arguments."""

    asking: Asker
    arguments: dict[str, Any]
    language: Language

    @property
    def runtime(self) -> Runtime:
        return self.asking.runtime

    @property
    def tenant(self) -> UUID:
        return self.asking.tenant

    @property
    def room(self) -> RecallRoom:
        return cuts.room_for_recall(self.runtime, self.asking.conversation)

    @property
    def conversation_id(self) -> str | None:
        return self.asking.conversation.id if self.asking.conversation is not None else None

    def here(self, *, searches: bool = True) -> str | None:
        """Return the only conversation that the tool reads; None: everything that can be viewed.

        A sub-agent is an owner, which limits what it ``searches``; other tools would read everything of its user.
        """
        asking, conversation = self.asking, self.asking.conversation
        here = asking.is_alone() or self.arguments.get("this_conversation", False)
        if conversation is not None and conversation.parent is not None:
            here = here or not searches
        elif asking.user_id is None:
            here = here or conversation is None or conversation.space_id is None
        return self.conversation_id if here else None

    @property
    def since(self) -> datetime | None:
        days = self.arguments.get("time_range_days")
        return datetime.now(UTC) - timedelta(days=days) if days else None


def checked(name: str, arguments: dict[str, Any]) -> ToolCall:
    """Return the call of a known tool. Raises NotFound."""
    tool = tools.BY_NAME.get(tools.SHORT_NAMES.get(name, name))
    if tool is None:
        raise errors.NotFound(f"There is no such tool. The tools are {', '.join(tools.BY_NAME)}.")
    return ToolCall(tool, arguments)


async def asker(
    runtime: Runtime, tenant: UUID, user_id: str | None, conversation_id: str | None, *, sensitive: bool = False
) -> Asker:
    """Return the asker. Raises NotFound if the conversation is unknown or not the user's."""
    if conversation_id is None:
        return Asker(runtime, tenant, user_id, sensitive=sensitive)
    async with runtime.database.snapshot(tenant) as tx:
        conversation = await conversations.get(tx, conversation_id, bound_to=user_id)
    return Asker(runtime, tenant, conversation.user_id, conversation, sensitive)


async def run_once(
    runtime: Runtime, caller: Caller, conversation_id: str, call: ToolCall, idempotency: IdempotencyKey | None
) -> str:
    """Return the tool's answer as JSON text. A repeated request gets the same answer and recalls nothing."""
    tenant = caller.tenant
    if idempotency is not None and (stored := await idempotency.find_response(runtime.database, tenant)) is not None:
        return stored
    asking = await asker(runtime, tenant, caller.user_id, conversation_id, sensitive=caller.sensitive)
    answer = await run(asking, call)
    response = dumps({"name": call.tool.name, "content": answer.content, "is_error": answer.is_error})
    return await keep(asking, [answer], response, idempotency)


async def keep(
    asking: Asker, answers: Sequence[Answer], response: str, idempotency: IdempotencyKey | None = None
) -> str:
    """Count recalls and store the response under the request's key, in one transaction."""
    pages = [answer.pages for answer in answers if answer.pages is not None]
    runtime, tenant, conversation = asking.runtime, asking.tenant, asking.conversation
    if idempotency is None and (not pages or conversation is None):
        return response

    async def count(tx: Tx) -> StoredResponse:
        if pages and conversation is not None:
            there = await conversations.lock(tx, conversation.id, bound_to=conversation.user_id)
            errors.existing(there, "conversation")
            for first, last in pages:
                await messages.count_recall(tx, conversation.id, first, last)
        return StoredResponse.about(response, conversation, asking.user_id)

    return await run_idempotently(runtime.database, tenant, idempotency, count)


async def run(asking: Asker, call: ToolCall) -> Answer:
    """Run a tool, which takes its own connections and writes nothing."""
    language = asking.language(call.arguments)
    try:
        arguments = read(call.tool, call.arguments, language)
    except Mistake as mistake:
        hint = _hint(asking, mistake.argument, language)
        return Answer(f"{mistake}{'' if language == 'zh' else ' '}{hint}".strip(), is_error=True)
    return await _RUN[call.tool.name](ToolRun(asking, arguments, language))


def _hint(asking: Asker, argument: str, language: Language) -> str:
    match argument:
        case "page":
            pages = _pages(asking.conversation, language)
            return pages[0].upper() + pages[1:]
        case "uuid":
            return wording.NO_ARCHIVE.say(language)
        case "memory_key":
            return wording.NO_MEMORY.say(language)
    return ""


async def _recall_page(call: ToolRun) -> Answer:
    page, last = call.arguments["page"]
    if page < last:
        return await _recall_run(call, (page, last))
    most = call.room.most
    text = None
    if call.asking.conversation is not None:
        rows: Sequence[HistoryMessage] = ()
        async with call.runtime.database.snapshot(call.tenant) as tx:
            if await conversations.is_still(tx, call.asking.conversation):
                rows = await messages.page_messages(tx, call.asking.conversation.id, page)
        text = await recalling.page(call.runtime, rows, page, call.language, most)
    if text is None:
        no_page = wording.NO_PAGE.say(call.language, page=page)
        return Answer(no_page + _pages(call.asking.conversation, call.language), is_error=True)
    return Answer(text, text, pages=(page, page))


async def _recall_run(call: ToolRun, run: tuple[int, int]) -> Answer:
    """Return the lines of as many pages of a run as the call has room for."""
    found: list[PageEntry] = []
    pages = range(run[0], min(run[1], run[0] + RUN_MAX - 1) + 1)
    async with call.runtime.database.snapshot(call.tenant) as tx:
        if call.asking.conversation is not None and await conversations.is_still(tx, call.asking.conversation):
            found = [*(await heads.entries(tx, call.asking.conversation.id, pages)).values()]
    if not found:
        no_page = wording.NO_PAGE.say(call.language, page=run[0])
        return Answer(no_page + _pages(call.asking.conversation, call.language), is_error=True)
    last, lines = run_lines(found, call.room.usual, call.language)
    end = min(run[1], call.asking.conversation.totals.last_page) if call.asking.conversation is not None else last
    if last < end:
        lines.append(wording.RUN_CUT.say(call.language, first=last + 1, last=end))
    text = run_text(found[0].page, last, lines, call.language)
    return Answer(text, text, pages=(found[0].page, last))


def _pages(conversation: Conversation | None, language: Language) -> str:
    if conversation is None:
        return wording.NO_CONVERSATION.say(language)
    last = conversation.totals.last_page
    if not last:
        return wording.NO_PAGES.say(language)
    return wording.PAGES_EXIST.say(language, last=last)


async def _load_tool_history(call: ToolRun) -> Answer:
    uuid = _uuid(call.arguments["uuid"])
    query, length, max_tokens = (call.arguments.get(name) for name in ("query", "length", "max_tokens"))
    room = call.room
    loaded_archive = None
    if uuid is not None:
        request_part = ArchivePart(
            query=await querying.prepare(call.runtime, call.tenant, query) if query is not None else None,
            max_tokens=min(max_tokens or room.most, room.most) if max_tokens or length else room.usual,
            offset=call.arguments.get("offset", 0),
            length=length,
        )
        async with call.runtime.database.snapshot(call.tenant) as tx:
            loaded_archive = await archiving.load(
                tx, await call.asking.owners(tx), uuid, request_part, asked_in=call.asking.conversation
            )
    if loaded_archive is None:
        return Answer(wording.NO_ARCHIVE.say(call.language), is_error=True)
    view = await archiving.shown(call.runtime, loaded_archive)
    text, part = archiving.tool_text(view, call.language)
    framed = archive_text(str(uuid), view["tool_name"], text, part, call.language)
    return Answer(framed, framed)


async def _search_memories(call: ToolRun) -> Answer:
    query: str = call.arguments["query"]
    queries = [one[: tools.TEXT_MAX] for one in call.arguments.get("queries", ())]
    expansion = None
    if call.arguments.get("expand"):
        expansion, _ = await expanding.expand(call.runtime, call.tenant, call.asking.scope, query)
    request = SearchRequest(
        query=query,
        queries=tuple(queries),
        expansion=expansion,
        narrowing=call.asking.narrowing.with_(call.arguments.get("roles", ()), call.arguments.get("topics", ())),
        user_id=call.asking.user_id,
        conversation_id=call.here(),
        asked_in=call.conversation_id,
        views=call.asking.views,
        mode=call.arguments.get("search_mode", "hybrid"),
        keywords=tuple(call.arguments.get("keywords", ())),
        types=tuple(call.arguments.get("memory_types", ())),
        since=call.since,
        limit=call.arguments.get("limit", tools.SEARCH_LIMIT),
        relevance_min=call.arguments.get("min_relevance_score"),
        sensitive=call.asking.sensitive,
    )
    search_results = await searching.search(call.runtime, call.tenant, request)
    if not search_results.hits:
        return _nothing(search_results.warnings, call.language)
    query = "\n".join([expansion or query, *queries])
    results = await run_in_thread_if_large(characters(search_results.hits, query), _results, search_results.hits, query)
    text = found_lines.search_text(search_results, results, call.conversation_id, call.language)
    passing = [warning for warning in search_results.warnings if warning["code"] != "embeddings_absent"]
    return Answer(text, results, note=wording.lacking(passing, call.language).strip())


def _place(hit: Hit) -> tuple[str | None, int | None, datetime]:
    return hit.conversation_id, hit.seq, hit.created_at


def _results(hits: Sequence[SearchHit], query: str) -> list[dict[str, Any]]:
    return [{**result_view(hit, query), "role": hit.role} for hit in hits]


async def _grep(call: ToolRun) -> Answer:
    """Return the newest matching lines that the call has room for, oldest first."""
    try:
        pattern = grepping.pattern_of(call.arguments["pattern"], is_regex=call.arguments.get("regex", False))
        found = await grepping.find(
            call.runtime, call.tenant, GrepRequest(
                pattern, call.asking.user_id, call.here(searches=False), call.since,
                limit=call.arguments.get("limit", grepping.LIMIT), asked_in=call.conversation_id,
                space_id=call.asking.conversation.space_id if call.asking.conversation else None,
            ),
        )  # fmt: skip
    except RefusedPattern as refused:
        return Answer(refused.wording().say(call.language), is_error=True)
    lines = [found_lines.hit_text(hit, call.conversation_id, call.language) for hit in found.hits]
    tokens = await call.runtime.tokens.count_many(lines)
    fitting = found_lines.first_within(tokens, call.room.usual)
    title = found_lines.found_title(fitting, found, call.language)
    if not lines:
        return Answer(title, [])
    return Answer(memories_text(title, lines[:fitting][::-1]), [grepping.result(hit) for hit in found.hits])


async def _recall_memory(call: ToolRun) -> Answer:
    """Return the best passages that the call has room for in full, oldest first."""
    query: str = call.arguments["query"]
    limit = call.runtime.defaults.recall_top_k
    request = SearchRequest(
        query, call.asking.user_id, call.here(), call.conversation_id, limit=limit, sensitive=call.asking.sensitive,
        views=call.asking.views,
    )  # fmt: skip
    results = await searching.search(call.runtime, call.tenant, request)
    if not results.hits:
        return _nothing(results.warnings, call.language)
    free = call.room.usual
    here = call.conversation_id
    taken: list[tuple[SearchHit, str]] = []
    for hit in results.hits:
        free -= await call.runtime.count(day_heading(hit.day, hit.elsewhere(here), call.language, is_newest=True))
        line = found_lines.found_line(hit, hit.text, call.language)
        tokens = await call.runtime.count(line)
        if taken and tokens > free:
            break
        if tokens > free:
            line = await clipped(call.runtime, line, free) + wording.CUT_PAGE.say(call.language)
        free -= tokens
        taken.append((hit, line))
    text = found_lines.passages_text(
        wording.RELEVANT_PASSAGES.say(call.language) + wording.lacking(results.warnings, call.language),
        taken,
        here,
        call.language,
    )
    return Answer(text, text)


def _nothing(warnings: Sequence[Mapping[str, str]], language: Language) -> Answer:
    if searching.NO_WORDS in warnings:
        return Answer(wording.NO_WORDS.say(language), is_error=True)
    said = wording.NOTHING_FOUND.say(language) + wording.lacking(warnings, language)
    return Answer(said, [], note=said)


async def _get_memory_detail(call: ToolRun) -> Answer:
    key = _uuid(call.arguments["memory_key"])
    found = None
    if key is not None:
        async with call.runtime.database.snapshot(call.tenant) as tx:
            owners = await call.asking.owners(tx) if call.asking.conversation is None else None
            found = await find_memory(tx, key, owners, sensitive=call.asking.sensitive)
            if found is not None and not call.asking.sees(found.hit):
                found = None
            if found is not None and await views.is_hidden(tx, call.asking.conversation, *_place(found.hit)):
                found = None
    if found is None:
        return Answer(wording.NO_MEMORY.say(call.language), is_error=True)
    detail = {**await anyio.to_thread.run_sync(memory_view, found), "role": found.role}
    hit, elsewhere = found.hit, found.elsewhere(call.conversation_id)
    place = hit.page or 0, found.role
    line = passage_text(*place, marked(detail["content"]), found.said_at, elsewhere, call.language, found.name)
    shown = await clipped(call.runtime, line, call.room.most)
    cut = "" if shown == line else wording.CUT.say(call.language)
    return Answer(memories_text(str(key), [shown + cut]), detail)


async def _extract_search_keywords(call: ToolRun) -> Answer:
    query: str = call.arguments["query"]
    count = call.arguments.get("max_keywords", tools.KEYWORDS_LIMIT)
    found = await keywords.keywords_of(query, call.arguments.get("context", ""), count)
    if not found:
        return Answer(wording.NO_KEYWORDS.say(call.language), [])
    expanded, _ = await expanding.expand(call.runtime, call.tenant, call.asking.scope, query)
    return Answer(found_lines.keywords_text(found, expanded, call.language), [one.value() for one in found])


_RUN: dict[str, Callable[[ToolRun], Awaitable[Answer]]] = {
    tools.RECALL_PAGE.name: _recall_page,
    tools.LOAD_TOOL_HISTORY.name: _load_tool_history,
    tools.SEARCH_MEMORIES.name: _search_memories,
    tools.GREP_MEMORIES.name: _grep,
    tools.RECALL_MEMORY.name: _recall_memory,
    tools.GET_MEMORY_DETAIL.name: _get_memory_detail,
    tools.EXTRACT_SEARCH_KEYWORDS.name: _extract_search_keywords,
}


def _uuid(text: str) -> UUID | None:
    try:
        return UUID(text.strip())
    except ValueError:
        return None
