"""The page of one conversation: its window, the reasons for its layout, its growth and its parts."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal
from uuid import UUID

from starlette.requests import Request

from app import errors
from app.concurrency import run_in_thread_if_large
from app.core.budget import BUDGET_MAX, model_window
from app.core.conversation import Conversation
from app.core.model import Context, Format
from app.core.render import origins
from app.core.topics import Topic
from app.postgres.database import Connection
from app.queue import table
from app.runtime import Runtime
from app.services.conversations import growing
from app.services.conversations.context import context
from app.services.conversations.tail import ContextRequest
from app.services.memory import archiving
from app.services.views import inspect, progress
from app.store import archives, messages, notes, page_index
from app.ui import pictures
from app.ui.html import query_of
from app.ui.jobs import grouped
from app.ui.parts import window_messages

PAGES_SHOWN = 25
ARCHIVES_SHOWN = 10
TOPICS_SHOWN = 30
JOBS_READ = 400


@dataclass(frozen=True, slots=True)
class Form:
    """The form for trying another window."""

    values: dict[str, str]
    request: ContextRequest | None = None
    """None: nothing is tried, or the input is invalid."""
    problems: dict[str, str] = field(default_factory=dict)
    """By field; keys that the templates translate, blank if there is no problem."""


def read_form(request: Request, runtime: Runtime) -> Form:
    values = query_of(request, {"budget": 12, "model": 200, "format": 20, "query": 2_000})
    form: Format = "anthropic" if values["format"] == "anthropic" else "openai"
    problems = {"budget": "", "model": ""}
    budget, model = values["budget"] or None, values["model"] or None
    if budget is not None and not (budget.isascii() and budget.isdecimal() and 1 <= int(budget) <= BUDGET_MAX):
        problems["budget"] = "The budget must be a whole number from 1 to 10,000,000."
    is_sized = budget is not None or runtime.defaults.context_window > 0
    if model is not None and not is_sized and model_window(model) is None:
        problems["model"] = "Quire does not know the context window of this model. Specify a budget."
    is_asked = budget or model or values["query"] or form == "anthropic"
    if any(problems.values()) or not is_asked:
        return Form(values, None, problems)
    number = int(budget) if budget is not None else None
    return Form(
        values, ContextRequest(budget=number, model=model, query=values["query"] or None, format=form), problems
    )


@dataclass(frozen=True, slots=True)
class Made:
    """A window, or the smallest budget that works."""

    name: Literal["own", "tried"]
    context: Context | None = None
    answer: dict[str, Any] | None = None
    minimum: int | None = None


async def view(runtime: Runtime, tenant: UUID, conversation: Conversation, form: Form) -> dict[str, Any]:
    """Return the values for the template."""
    own = await _make("own", runtime, tenant, conversation, ContextRequest())
    tried = await _make("tried", runtime, tenant, conversation, form.request) if form.request else None
    shown = tried or own
    made = [window for window in (own, tried) if window is not None]
    largest = max((window.answer["usage"]["total"] for window in made if window.answer), default=0)
    parts = await _parts(runtime, tenant, conversation)
    size = len(shown.context.body) if shown.context else 0
    return {
        "conversation": inspect.conversation_view(conversation),
        "form": form,
        "own": own,
        "tried": tried,
        "shown": shown,
        "bars": {m.name: pictures.bar(m.answer["usage"], largest) for m in made if m.answer},
        "messages": await run_in_thread_if_large(size, _messages, shown, form.request or ContextRequest()),
        "zones": _zones(shown),
        "prefix": _common(own, tried),
        **parts,
    }


async def _make(
    name: Literal["own", "tried"],
    runtime: Runtime,
    tenant: UUID,
    conversation: Conversation,
    request: ContextRequest,
) -> Made:
    try:
        answer = await context(runtime, tenant, conversation.id, request)
    except errors.BudgetTooSmall as error:
        return Made(name, minimum=error.extra["minimum_budget"])
    return Made(name, answer, json.loads(answer.body))


def _messages(made: Made, request: ContextRequest) -> list[Any]:
    if made.context is None or made.answer is None:
        return []
    sources = origins(made.context.window, made.context.system, request.format)
    return window_messages(made.answer, sources, made.context.system)


def _zones(made: Made) -> dict[int, str]:
    """Map each page in the window to its zone; all other pages are unlisted."""
    if made.answer is None:
        return {}
    return {page: zone for zone in ("verbatim", "condensed", "listed") for page in made.answer["pages"][zone]}


def _common(own: Made, tried: Made | None) -> int | None:
    """Count the leading messages that both windows share, byte for byte; None if they cannot be compared."""
    if tried is None or own.answer is None or tried.answer is None or own.answer["format"] != tried.answer["format"]:
        return None
    pairs = zip(own.answer["messages"], tried.answer["messages"], strict=False)
    return next((i for i, (a, b) in enumerate(pairs) if a != b), min(_count(own), _count(tried)))


def _count(made: Made) -> int:
    return len(made.answer["messages"]) if made.answer else 0


async def _parts(runtime: Runtime, tenant: UUID, conversation: Conversation) -> dict[str, Any]:
    """Return everything on the page but the window, from one snapshot."""
    async with runtime.database.snapshot(tenant) as connection:
        points = await growing.last_turns(connection, tenant, conversation)
        archived = await archives.browse(connection, tenant, archives.Filter(conversation.id), limit=ARCHIVES_SHOWN + 1)
        return {
            "points": points,
            "chart": pictures.chart(points),
            "contents": await inspect.contents_view(runtime, connection, tenant, conversation),
            "pages": await newest_pages(connection, tenant, conversation, conversation.totals.last_page),
            "archives": [archiving.view(row) for row in archived[:ARCHIVES_SHOWN]],
            "more_archives": len(archived) > ARCHIVES_SHOWN,
            "notes": await notes.browse(connection, tenant, conversation.id),
            "summary": await inspect.summary_view(runtime, connection, tenant, conversation),
            "topics": await _topics(connection, tenant, conversation),
            "reach": conversation.indexed_through,
            "working": await progress.status_view(connection, tenant, conversation),
            "jobs": grouped(await table.browse(connection, tenant, conversation.id, JOBS_READ)),
        }


async def newest_pages(
    connection: Connection, tenant: UUID, conversation: Conversation, last: int
) -> list[dict[str, Any]]:
    """Return the newest pages up to ``last``, newest first."""
    numbers = range(max(1, last - PAGES_SHOWN + 1), last + 1)
    return list(reversed(await some_pages(connection, tenant, conversation, numbers)))


async def some_pages(
    connection: Connection, tenant: UUID, conversation: Conversation, numbers: Sequence[int]
) -> list[dict[str, Any]]:
    """Return the wanted pages in order, with the model's titles where there are any."""
    rows = await messages.pages(connection, tenant, conversation.id, some=numbers)
    names = await page_index.names(connection, tenant, conversation.id, numbers, inspect.ALL)
    return [inspect.page_item(row, names.get(row["page"])) for row in rows]


async def _topics(connection: Connection, tenant: UUID, conversation: Conversation) -> list[Topic]:
    topics = await page_index.topics(connection, tenant, conversation.id, inspect.ALL, inspect.ALL)
    return sorted(topics, key=lambda topic: (-topic.mentions, -topic.last_page, topic.name))[:TOPICS_SHOWN]
