"""Run the recall tools for a model.

A model's mistake is not an HTTP error: the response tells what would work. A tool only reads; its recalls are counted
afterwards, in the transaction that also stores the response for a repeated request.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Container, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import anyio.to_thread
from asyncpg import Record

from app import errors
from app.concurrency import run_in_thread_if_large
from app.core import wording
from app.core.canonical import dumps
from app.core.conversation import Conversation
from app.core.model import Language
from app.core.quote import archive_text, day_heading, memories_text, passage_text, run_text
from app.core.scope import scope_of
from app.core.search.grep import RefusedPattern
from app.core.search.narrowing import EVERYTHING, Narrowing
from app.core.window.contents import PageEntry, run_lines
from app.core.window.profile import policy_of
from app.postgres.transactions import ReadTx, Tx
from app.recall import tools
from app.recall.arguments import Mistake, read
from app.recall.tools import Tool
from app.runtime import Runtime
from app.services.conversations import epochs
from app.services.idempotency import IdempotencyKey, StoredResponse, run_idempotently
from app.services.memory import archiving, expanding, grepping, keywords, recalling, searching, views
from app.services.memory.archiving import ArchivePart
from app.services.memory.grepping import GrepRequest
from app.services.memory.hits import SearchHit
from app.services.memory.recalling import clipped
from app.services.memory.searching import SearchRequest
from app.services.tools.found_lines import (
    first_within,
    found_line,
    found_title,
    hit_text,
    keywords_text,
    passages_text,
    search_text,
)
from app.store import conversations, heads, messages
from app.text.language import language as language_of


@dataclass(frozen=True, slots=True)
class ToolCall:
    tool: Tool
    arguments: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Asker:
    """The conversation, or the user outside of any conversation, that a tool runs for."""

    user_id: str | None
    conversation: Conversation | None = None
    sensitive: bool = False
    """Whether sensitive memories are there."""
    narrowing: Narrowing = EVERYTHING

    @property
    def scope(self) -> str:
        return scope_of(self.user_id, None) if self.conversation is None else self.conversation.scope

    @property
    def views(self) -> tuple[UUID, ...]:
        """Return the owners that its conversation may view; none: what its user may."""
        return () if self.conversation is None else tuple(self.conversation.searched)

    async def owners(self, tx: ReadTx) -> Container[UUID]:
        """Return the owners that it may view."""
        return self.views or await views.of_user(tx, self.user_id or "")

    def is_alone(self, runtime: Runtime) -> bool:
        """Return whether the conversation's policy keeps other conversations from it."""
        if self.conversation is None:
            return False
        policy = policy_of(runtime.defaults, conversations.policy_overrides(self.conversation))
        return policy.recall_scope == "conversation"

    def language(self, arguments: Mapping[str, Any]) -> Language:
        """Return the conversation's language; without one, the language of the arguments."""
        if self.conversation is not None:
            return self.conversation.language or "en"
        return language_of(" ".join(value[:1000] for value in arguments.values() if isinstance(value, str)))


@dataclass(frozen=True, slots=True)
class Answer:
    """A tool's result: ``content`` for a model, ``value`` for its code. ``pages``: the first and last recalled page."""

    content: str
    value: Any = None
    is_error: bool = False
    pages: tuple[int, int] | None = None


def checked(name: str, arguments: dict[str, Any]) -> ToolCall:
    """Return the call. Raises NotFound for an unknown tool."""
    tool = tools.BY_NAME.get(tools.SHORT_NAMES.get(name, name))
    if tool is None:
        raise errors.NotFound(f"There is no such tool. The tools are {', '.join(tools.BY_NAME)}.")
    return ToolCall(tool, arguments)


async def asker(
    runtime: Runtime, tenant: UUID, user_id: str | None, conversation_id: str | None, *, sensitive: bool = False
) -> Asker:
    """Return the asker. Raises NotFound for a conversation that is unknown or not the user's."""
    if conversation_id is None:
        return Asker(user_id, sensitive=sensitive)
    async with runtime.database.snapshot(tenant) as tx:
        conversation = await conversations.get(tx, conversation_id, bound_to=user_id)
    return Asker(conversation.user_id, conversation, sensitive)


async def run_once(
    runtime: Runtime,
    tenant: UUID,
    conversation_id: str,
    call: ToolCall,
    idempotency: IdempotencyKey | None,
    *,
    bound_to: str | None = None,
    sensitive: bool = False,
) -> str:
    """Return the tool's answer as JSON text; a repeated request is answered alike and recalls nothing.

    ``bound_to``: the one user whose conversations are there.
    """
    if idempotency is not None and (stored := await idempotency.find_response(runtime.database, tenant)) is not None:
        return stored
    asking = await asker(runtime, tenant, bound_to, conversation_id, sensitive=sensitive)
    answer = await run(runtime, tenant, asking, call)
    response = dumps({"name": call.tool.name, "content": answer.content, "is_error": answer.is_error})
    return await keep(runtime, tenant, asking, [answer], response, idempotency)


async def keep(
    runtime: Runtime,
    tenant: UUID,
    asking: Asker,
    answers: Sequence[Answer],
    response: str,
    idempotency: IdempotencyKey | None = None,
) -> str:
    """Count what was recalled and keep what is said under the request's key, in one transaction."""
    pages = [answer.pages for answer in answers if answer.pages is not None]
    conversation = asking.conversation
    if idempotency is None and (not pages or conversation is None):
        return response

    async def count(tx: Tx) -> StoredResponse:
        if pages and conversation is not None:
            if await conversations.lock(tx, conversation.id, bound_to=conversation.user_id) is None:
                raise conversations.unknown()
            for first, last in pages:
                await messages.count_recall(tx, conversation.id, first, last)
        return StoredResponse.about(response, conversation, asking.user_id)

    stored = await run_idempotently(runtime.database, tenant, idempotency, count)
    if conversation is not None:
        runtime.caches.forget_conversation(tenant, conversation.id)
    return stored


async def run(runtime: Runtime, tenant: UUID, asking: Asker, call: ToolCall) -> Answer:
    """Run a tool. Takes its own connections, and writes nothing."""
    language = asking.language(call.arguments)
    try:
        arguments = read(call.tool, call.arguments, language)
    except Mistake as mistake:
        hint = _hint(asking, mistake.argument, language)
        return Answer(f"{mistake}{'' if language == 'zh' else ' '}{hint}".strip(), is_error=True)
    return await _RUN[call.tool.name](runtime, tenant, asking, arguments, language)


def _hint(asking: Asker, argument: str, language: Language) -> str:
    """Return a hint for an argument whose correct values can be named."""
    match argument:
        case "page":
            pages = _pages(asking.conversation, language)
            return pages[0].upper() + pages[1:]
        case "uuid":
            return wording.NO_ARCHIVE.say(language)
        case "memory_key":
            return wording.NO_MEMORY.say(language)
    return ""


async def _recall_page(
    runtime: Runtime, tenant: UUID, asking: Asker, arguments: dict[str, Any], language: Language
) -> Answer:
    page, last = arguments["page"]
    if page < last:
        return await _recall_run(runtime, tenant, asking, (page, last), language)
    most = epochs.room_for_recall(runtime, asking.conversation).most
    text = None
    if asking.conversation is not None:
        rows: Sequence[Record] = ()
        async with runtime.database.snapshot(tenant) as tx:
            if await conversations.is_still(tx, asking.conversation):
                rows = await messages.page_messages(tx, asking.conversation.id, page)
        text = await recalling.page(runtime, rows, page, language, most)
    if text is None:
        no_page = wording.NO_PAGE.say(language, page=page)
        return Answer(no_page + _pages(asking.conversation, language), is_error=True)
    return Answer(text, text, pages=(page, page))


async def _recall_run(
    runtime: Runtime, tenant: UUID, asking: Asker, run: tuple[int, int], language: Language
) -> Answer:
    """Return the lines of a run of pages, as many of its pages as a call has room for."""
    found: list[PageEntry] = []
    async with runtime.database.snapshot(tenant) as tx:
        if asking.conversation is not None and await conversations.is_still(tx, asking.conversation):
            found = await heads.run(tx, asking.conversation.id, *run)
    if not found:
        no_page = wording.NO_PAGE.say(language, page=run[0])
        return Answer(no_page + _pages(asking.conversation, language), is_error=True)
    room = epochs.room_for_recall(runtime, asking.conversation).usual
    last, lines = run_lines(found, room, language)
    end = min(run[1], asking.conversation.totals.last_page) if asking.conversation is not None else last
    if last < end:
        lines.append(wording.RUN_CUT.say(language, first=last + 1, last=end))
    text = run_text(found[0].page, last, lines, language)
    return Answer(text, text, pages=(found[0].page, last))


def _pages(conversation: Conversation | None, language: Language) -> str:
    """Tell which pages exist."""
    if conversation is None:
        return wording.NO_CONVERSATION.say(language)
    last = conversation.totals.last_page
    if not last:
        return wording.NO_PAGES.say(language)
    return wording.PAGES_EXIST.say(language, last=last)


async def _load_tool_history(
    runtime: Runtime, tenant: UUID, asking: Asker, arguments: dict[str, Any], language: Language
) -> Answer:
    uuid = _uuid(arguments["uuid"])
    query, length, max_tokens = (arguments.get(name) for name in ("query", "length", "max_tokens"))
    room = epochs.room_for_recall(runtime, asking.conversation)
    loaded_archive = None
    if uuid is not None:
        request_part = ArchivePart(
            query=await searching.ready(runtime, tenant, query) if query is not None else None,
            max_tokens=min(max_tokens or room.most, room.most) if max_tokens or length else room.usual,
            offset=arguments.get("offset", 0),
            length=length,
        )
        async with runtime.database.snapshot(tenant) as tx:
            loaded_archive = await archiving.load(tx, await asking.owners(tx), uuid, request_part)
    if loaded_archive is None:
        return Answer(wording.NO_ARCHIVE.say(language), is_error=True)
    view = await archiving.shown(runtime, loaded_archive)
    text, part = archiving.tool_text(view, language)
    framed = archive_text(str(uuid), view["tool_name"], text, part, language)
    return Answer(framed, framed)


async def _search_memories(
    runtime: Runtime, tenant: UUID, asking: Asker, arguments: dict[str, Any], language: Language
) -> Answer:
    query: str = arguments["query"]
    queries = [one[: tools.TEXT_MAX] for one in arguments.get("queries", ())]
    expansion = None
    if arguments.get("expand"):
        expansion, _ = await expanding.expand(runtime, tenant, asking.scope, query)
    request = SearchRequest(
        query=query,
        queries=tuple(queries),
        expansion=expansion,
        narrowing=asking.narrowing.with_(arguments.get("roles", ()), arguments.get("topics", ())),
        user_id=asking.user_id,
        conversation_id=_here(runtime, asking, arguments),
        views=asking.views,
        mode=arguments.get("search_mode", "hybrid"),
        keywords=tuple(arguments.get("keywords", ())),
        types=tuple(arguments.get("memory_types", ())),
        since=_since(arguments),
        limit=arguments.get("limit", tools.SEARCH_LIMIT),
        relevance_min=arguments.get("min_relevance_score"),
        sensitive=asking.sensitive,
    )
    search_results = await searching.search(runtime, tenant, request)
    if not search_results.hits:
        return _nothing(search_results.warnings, language)
    query = "\n".join([expansion or query, *queries])
    results = await run_in_thread_if_large(
        searching.size(search_results.hits, query), _results, search_results.hits, query
    )
    text = search_text(search_results, results, _conversation(asking), language)
    return Answer(text, results)


def _conversation(asking: Asker) -> str | None:
    return asking.conversation.id if asking.conversation is not None else None


def _results(hits: Sequence[SearchHit], query: str) -> list[dict[str, Any]]:
    return [{**searching.result(hit, query), "role": hit.role} for hit in hits]


async def _grep(runtime: Runtime, tenant: UUID, asking: Asker, arguments: dict[str, Any], language: Language) -> Answer:
    """Return the newest matching lines that a call has room for, older ones before newer."""
    try:
        pattern = grepping.pattern_of(arguments["pattern"], is_regex=arguments.get("regex", False))
        found = await grepping.find(
            runtime, tenant, GrepRequest(
                pattern, asking.user_id, _here(runtime, asking, arguments, searches=False), _since(arguments),
                space_id=asking.conversation.space_id if asking.conversation else None,
                limit=arguments.get("limit", grepping.LIMIT),
            ),
        )  # fmt: skip
    except RefusedPattern as refused:
        return Answer(refused.wording().say(language), is_error=True)
    lines = [hit_text(hit, _conversation(asking), language) for hit in found.hits]
    tokens = await runtime.tokens.count_many(lines)
    fitting = first_within(tokens, epochs.room_for_recall(runtime, asking.conversation).usual)
    title = found_title(fitting, found, language)
    if not lines:
        return Answer(title, [])
    return Answer(memories_text(title, lines[:fitting][::-1]), [grepping.result(hit) for hit in found.hits])


def _here(runtime: Runtime, asking: Asker, arguments: Mapping[str, Any], *, searches: bool = True) -> str | None:
    """Return the only conversation that a tool may look at; None for all that may be viewed.

    ``searches``: by owners, of which a sub-agent's has its own; else it would read all of the user's.
    """
    conversation = asking.conversation
    here = asking.is_alone(runtime) or arguments.get("this_conversation", False)
    if conversation is not None and conversation.parent is not None:
        here = here or not searches
    elif asking.user_id is None:
        here = here or conversation is None or conversation.space_id is None
    return _conversation(asking) if here else None


def _since(arguments: Mapping[str, Any]) -> datetime | None:
    days = arguments.get("time_range_days")
    return datetime.now(UTC) - timedelta(days=days) if days else None


async def _recall_memory(
    runtime: Runtime, tenant: UUID, asking: Asker, arguments: dict[str, Any], language: Language
) -> Answer:
    """Return the best passages in full that a call has room for, older ones before newer."""
    query: str = arguments["query"]
    limit = runtime.defaults.recall_top_k
    request = SearchRequest(
        query, asking.user_id, _here(runtime, asking, {}), limit=limit, sensitive=asking.sensitive, views=asking.views
    )
    results = await searching.search(runtime, tenant, request)
    if not results.hits:
        return _nothing(results.warnings, language)
    free = epochs.room_for_recall(runtime, asking.conversation).usual
    here = _conversation(asking)
    taken: list[tuple[SearchHit, str]] = []
    for hit in results.hits:
        free -= await runtime.count(day_heading(hit.day, hit.elsewhere(here), language, is_newest=True))
        line = found_line(hit, hit.text, language)
        tokens = await runtime.count(line)
        if taken and tokens > free:
            break
        if tokens > free:
            line = await clipped(runtime, line, free) + wording.CUT_PAGE.say(language)
        free -= tokens
        taken.append((hit, line))
    text = passages_text(wording.RELEVANT_PASSAGES.say(language), taken, here, language)
    return Answer(text, text)


def _nothing(warnings: Sequence[Mapping[str, str]], language: Language) -> Answer:
    if searching.NO_WORDS in warnings:
        return Answer(wording.NO_WORDS.say(language), is_error=True)
    wanted = wording.NOTHING_ANSWERS if searching.NOTHING_ANSWERS in warnings else wording.NOTHING_FOUND
    return Answer(wanted.say(language), [])


async def _get_memory_detail(
    runtime: Runtime, tenant: UUID, asking: Asker, arguments: dict[str, Any], language: Language
) -> Answer:
    key = _uuid(arguments["memory_key"])
    found = None
    if key is not None:
        async with runtime.database.snapshot(tenant) as tx:
            found = await searching.memory(tx, key, await asking.owners(tx), sensitive=asking.sensitive)
    if found is None:
        return Answer(wording.NO_MEMORY.say(language), is_error=True)
    detail = {**await anyio.to_thread.run_sync(searching.detail, found), "role": found.role}
    hit, elsewhere = found.hit, found.elsewhere(_conversation(asking))
    line = passage_text(hit.page or 0, found.role, detail["content"], found.said_at, elsewhere, language)
    shown = await clipped(runtime, line, epochs.room_for_recall(runtime, asking.conversation).most)
    cut = "" if shown == line else wording.CUT.say(language)
    return Answer(memories_text(str(key), [shown + cut]), detail)


async def _extract_search_keywords(
    runtime: Runtime, tenant: UUID, asking: Asker, arguments: dict[str, Any], language: Language
) -> Answer:
    query: str = arguments["query"]
    count = arguments.get("max_keywords", tools.KEYWORDS_LIMIT)
    found = await keywords.keywords_of(query, arguments.get("context", ""), count)
    if not found:
        return Answer(wording.NO_KEYWORDS.say(language), [])
    expanded = await keywords.expanded(runtime, tenant, asking.scope, query)
    return Answer(keywords_text(found, expanded, language), [one.value() for one in found])


Run = Callable[[Runtime, UUID, Asker, dict[str, Any], Language], Awaitable[Answer]]
_RUN: dict[str, Run] = {
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
