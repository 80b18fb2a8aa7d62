"""The page of one conversation: its window, the reasons for its layout, its growth and its parts."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final, Literal, assert_never
from uuid import UUID

from starlette.requests import Request

from app import errors
from app.api.http import cursors
from app.concurrency import run_in_thread_if_large
from app.core.conversation import Conversation
from app.core.model import INTEGER_MAX, Context, Format
from app.core.window.budget import BUDGET_MAX
from app.core.window.render import origins
from app.postgres.transactions import ReadTx
from app.queue import table
from app.runtime import Runtime
from app.services.conversations import forking, serving
from app.services.conversations.call import ContextRequest
from app.services.conversations.context import context
from app.services.lifecycle import noting
from app.services.memory import archiving
from app.services.views import inspect, progress
from app.services.views.usage import request_sums, request_view
from app.store import archives, conversations, messages, page_index
from app.store.memory import kept
from app.store.proxy import proxied_requests
from app.ui import pictures
from app.ui.html import query_of
from app.ui.jobs import grouped
from app.ui.parts import window_messages
from app.ui.served import ServedView, served_view

Show = Literal["window", "messages", "pages", "archives", "memory", "requests", "work"]
"""The views of a conversation, each a page of its own."""
MADE: Final = ("window", "messages", "pages")
"""Views for which its window is put together."""
MESSAGES_SHOWN = 100
"""Messages of a window on one page."""
ENTRIES_SHOWN = 50
"""Entries of the contents page on one page."""
PAGES_SHOWN = 25
ARCHIVES_SHOWN = 50
TOPICS_SHOWN = 30
BRANCHES_SHOWN = 100
JOBS_READ = 400
REQUESTS_READ = 1_000
REQUESTS_SHOWN = 50
"""Requests on one page."""


@dataclass(frozen=True, slots=True)
class Form:
    """The form for trying another window."""

    values: dict[str, str]
    request: ContextRequest | None = None
    """None: nothing is tried, or the input is invalid."""
    problems: dict[str, str] = field(default_factory=dict)
    """By field; keys that the templates translate, blank if there is no problem."""


def read_form(request: Request, runtime: Runtime) -> Form:
    values = query_of(request, {"budget": 12, "model": 200, "format": 20, "query": 2_000, "window": 12})
    form: Format = "anthropic" if values["format"] == "anthropic" else "openai"
    problems = {"budget": "", "model": ""}
    budget, model = values["budget"] or None, values["model"] or None
    if budget is not None and not (budget.isascii() and budget.isdecimal() and 1 <= int(budget) <= BUDGET_MAX):
        problems["budget"] = "The budget must be a whole number from 1 to 10,000,000."
    is_sized = budget is not None or runtime.defaults.context_window > 0
    if model is not None and not is_sized and runtime.defaults.models.window(model) is None:
        problems["model"] = "Quire does not know the context window of this model. Specify a budget."
    is_asked = budget or model or values["query"] or form == "anthropic"
    if any(problems.values()) or not is_asked:
        return Form(values, None, problems)
    number = int(budget) if budget is not None else None
    tried = replace(LOOK, budget=number, model=model, query=values["query"] or None, format=form)
    return Form(values, tried, problems)


LOOK = ContextRequest(chooses=False)


@dataclass(frozen=True, slots=True)
class ShownWindow:
    """A window, or the smallest budget that works."""

    name: Literal["own", "tried", "served"]
    context: Context | None = None
    answer: dict[str, Any] | None = None
    minimum: int | None = None


@dataclass(frozen=True, slots=True)
class Spot:
    """A view, and which part of its list."""

    show: Show = "window"
    part: int = 1
    before: int = INTEGER_MAX
    """A page; of those before it the newest are listed."""
    cursor: str | None = None


@dataclass(frozen=True, slots=True)
class WindowPart:
    """Some items of a long list."""

    items: Sequence[Any]
    number: int
    count: int
    """Parts in all."""

    @staticmethod
    def of(items: Sequence[Any], number: int, size: int) -> WindowPart:
        count = max(1, -(-len(items) // size))
        number = min(number, count)
        return WindowPart(items[(number - 1) * size : number * size], number, count)


async def view(runtime: Runtime, tenant: UUID, conversation: Conversation, form: Form, place: Spot) -> dict[str, Any]:
    gathered: dict[str, Any] = {"conversation": inspect.conversation_view(conversation)}
    gathered |= {"show": place.show, "form": form}
    served = None
    if place.show in MADE and form.request is None:
        await serving.write(runtime)
        async with runtime.database.snapshot(tenant) as tx:
            served = await served_view(runtime, tx, conversation, form.values["window"])
    windows = await _windows(runtime, tenant, conversation, form, served) if place.show in MADE else {}
    async with runtime.database.snapshot(tenant) as tx:
        at = runtime, tx, conversation
        gathered |= {"tree": await _tree(tx, conversation)}
        match place.show:
            case "window":
                points = served.points if served else ()
                parts: dict[str, Any] = {"points": points, "chart": pictures.chart(points)}
            case "messages":
                parts = {}
            case "pages":
                parts = await _pages(*at, place, served.record["budget"] if served else None)
            case "archives":
                parts = await _archives(*at, place.cursor)
            case "memory":
                parts = await _memory(*at)
            case "requests":
                parts = await _requests(*at, place.part)
            case "work":
                parts = await _work(*at)
            case _:
                assert_never(place.show)
    if place.show == "messages":
        shown: ShownWindow = windows["shown"]
        size = len(shown.context.body) if shown.context else 0
        listed = await run_in_thread_if_large(size, _messages, shown, (form.request or LOOK).format)
        parts = {"messages": WindowPart.of(listed, place.part, MESSAGES_SHOWN), "all_messages": len(listed)}
    return {**gathered, **windows, **parts}


async def _tree(tx: ReadTx, conversation: Conversation) -> dict[str, Any] | None:
    """Return the tree of branches that a conversation is in, from its trunk on; None if it is in none."""
    if not conversation.line.is_in_tree:
        return None
    trunk = await conversations.get(tx, conversation.line.root)
    rows = await forking.browse(tx, conversation, None, BRANCHES_SHOWN)
    nodes: dict[str, dict[str, Any]] = {row["id"]: {**row, "branches": []} for row in rows}
    root = {**inspect.conversation_view(trunk), "branches": [], "shown": trunk.shown or trunk.id}
    for node in reversed(nodes.values()):  # one whose parent is not among those shown hangs from the trunk
        nodes.get(node["parent_id"], root)["branches"].append(node)
    return root if nodes else None


async def _windows(
    runtime: Runtime, tenant: UUID, conversation: Conversation, form: Form, served: ServedView | None
) -> dict[str, Any]:
    if served is not None:
        shown = ShownWindow("served", served.context, served.answer)
        bars = {"served": pictures.bar(served.answer["usage"], served.answer["usage"]["total"])}
        nothing = {"own": None, "tried": None, "prefix": None}
        return {**nothing, "served": served, "shown": shown, "bars": bars, "zones": _zones(shown)}
    own = await _make("own", runtime, tenant, conversation, LOOK)
    tried = await _make("tried", runtime, tenant, conversation, form.request) if form.request else None
    made = [window for window in (own, tried) if window is not None]
    largest = max((window.answer["usage"]["total"] for window in made if window.answer), default=0)
    return {
        "served": None,
        "own": own,
        "tried": tried,
        "shown": tried or own,
        "bars": {m.name: pictures.bar(m.answer["usage"], largest) for m in made if m.answer},
        "zones": _zones(tried or own),
        "prefix": _common(own, tried),
    }


async def _make(
    name: Literal["own", "tried"], runtime: Runtime, tenant: UUID, conversation: Conversation, request: ContextRequest
) -> ShownWindow:
    try:
        answer = await context(runtime, tenant, conversation.id, request)
    except errors.BudgetTooSmall as error:
        return ShownWindow(name, minimum=error.extra["minimum_budget"])
    return ShownWindow(name, answer, json.loads(answer.body))


def _messages(made: ShownWindow, form: Format) -> list[Any]:
    if made.context is None or made.answer is None:
        return []
    sources = origins(
        made.context.window, made.context.system, made.answer["format"] if made.name == "served" else form
    )
    return window_messages(made.answer, sources, made.context.system)


def _zones(made: ShownWindow) -> dict[int, str]:
    if made.answer is None:
        return {}
    return {page: zone for zone in ("verbatim", "condensed", "listed") for page in made.answer["pages"][zone]}


def _common(own: ShownWindow, tried: ShownWindow | None) -> int | None:
    """Count the leading messages that both windows share, byte for byte; None if they cannot be compared."""
    if tried is None or own.answer is None or tried.answer is None or own.answer["format"] != tried.answer["format"]:
        return None
    ours, theirs = own.answer["messages"], tried.answer["messages"]
    pairs = zip(ours, theirs, strict=False)
    return next((i for i, (a, b) in enumerate(pairs) if a != b), min(len(ours), len(theirs)))


async def _pages(
    runtime: Runtime, tx: ReadTx, conversation: Conversation, place: Spot, budget: int | None
) -> dict[str, Any]:
    contents = await inspect.contents_view(runtime, tx, conversation, budget)
    last = max(0, min(place.before - 1, conversation.totals.last_page))
    numbers = range(max(1, last - PAGES_SHOWN + 1), last + 1)
    return {
        "contents": contents,
        "entries": WindowPart.of(contents["entries"], place.part, ENTRIES_SHOWN),
        "pages": list(reversed(await some_pages(tx, conversation, numbers))),
    }


async def _archives(_: Runtime, tx: ReadTx, conversation: Conversation, cursor: str | None) -> dict[str, Any]:
    rows = await archives.browse(
        tx, archives.ArchiveFilter(conversation.id), after=cursors.decode_id(cursor), limit=ARCHIVES_SHOWN + 1
    )
    views = [archiving.view(row) for row in rows[:ARCHIVES_SHOWN]]
    older = cursors.encode(views[-1]["uuid"]) if len(rows) > ARCHIVES_SHOWN else None
    return {"archives": views, "older": older, "is_first": cursor is None}


async def _memory(runtime: Runtime, tx: ReadTx, conversation: Conversation) -> dict[str, Any]:
    topics = await page_index.topics(tx, conversation.id)
    return {
        "notes": [noting.view(row) for row in await kept.of_conversation(tx, conversation.id)],
        "summary": await inspect.summary_view(runtime, tx, conversation),
        "topics": sorted(topics, key=lambda topic: (-topic.mentions, -topic.last_page, topic.name))[:TOPICS_SHOWN],
    }


async def _requests(runtime: Runtime, tx: ReadTx, conversation: Conversation, part: int) -> dict[str, Any]:
    rows = await proxied_requests.browse(tx, conversation.id, None, REQUESTS_READ)
    found = [request_view(*row, runtime.proxying.prices) for row in rows]
    return {
        "requests": WindowPart.of(found, part, REQUESTS_SHOWN),
        "sums": request_sums(found),
        "requests_max": REQUESTS_READ,
        "has_proxy": bool(runtime.upstreams.each),
    }


async def _work(runtime: Runtime, tx: ReadTx, conversation: Conversation) -> dict[str, Any]:
    summary = await inspect.summary_view(runtime, tx, conversation)
    return {
        "reach": conversation.indexed_through,
        "summary_lag": summary["lag"],
        "working": await progress.status_view(tx, conversation),
        "has_embedder": runtime.embedder is not None,
        "jobs": grouped(await table.browse(tx, conversation.id, JOBS_READ)),
    }


async def some_pages(tx: ReadTx, conversation: Conversation, numbers: Sequence[int]) -> list[dict[str, Any]]:
    return await inspect.page_items(tx, conversation.id, await messages.pages(tx, conversation.id, some=numbers))
