"""Whether windows recall something when the user asks, and only then: `python -m bench recall`.

Facts that people told in conversations of their own are asked for in the same words, in other words and in the other
language, between messages about anything else, as agents do: the message is stored, then its window is read. All facts,
and a statement with the words of each, are one user's. Beside it the same questions as a caller's search and as a
window's `query`. Then some facts at a time stand in a long tool result, each among what assistants said of something
else, and are asked of that archive and of a search.
"""

from __future__ import annotations

import asyncio
import json
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from itertools import cycle
from statistics import fmean
from typing import Any
from uuid import UUID

from app.assembly import defaults
from app.core.messages import Limits, read
from app.postgres.database import Database
from app.postgres.tenants import DEFAULT_TENANT
from app.providers import local_embeddings
from app.runtime import Runtime
from app.services.conversations.append import append
from app.services.conversations.call import ContextRequest
from app.services.conversations.context import context
from app.services.conversations.requests import PostedMessages
from app.services.memory import archiving, querying, searching
from app.services.memory.archiving import ArchivePart, ArchiveRequest
from app.services.memory.results import result_view
from app.services.memory.searching import SearchRequest
from app.settings import Settings
from app.text import tokens
from bench import harness
from bench.harness import Harness
from bench.search import asked, talks
from bench.search.retrieval import embedded
from bench.tables import Table

USER, BUDGET, SHOWN = "u", 4_000, 3
QUICK_STEP = 5
HOW = ("same_words", "other_words", "other_language")
FACTS_A_RESULT = 18
PARAGRAPH_CHARACTERS = {"en": 1_000, "zh": 600}
"""Characters around each fact of a tool result, which make one passage in English and two in Chinese."""


def run(_: Harness, *, quick: bool) -> list[Table]:
    """For `python -m bench`. Runs in a harness of its own with the local model in its worker."""
    with harness.opened({"MEMORY_EMBEDDING_MODEL": ""}) as opened:
        return asyncio.run(_run(opened, step=QUICK_STEP if quick else 1))


async def _run(opened: Harness, *, step: int) -> list[Table]:
    database = await Database.connect(opened.postgres.app_dsn, pool_size=4)
    try:
        counter = tokens.load(opened.folder / "vocabularies")
        embedder = local_embeddings.load(threads=2)
        settings = Settings(quire_data_dir=opened.folder)
        runtime = Runtime(defaults(settings), database, counter, embedder=embedder)
        facts = asked.facts()
        for number, fact in enumerate(facts):
            await _say(runtime, f"told {number}", fact.fact)
            await _say(runtime, f"also told {number}", fact.lookalike)
        archived = {
            fact: (uuid, user) for some in _by_result(facts) for fact, uuid, user in await _archived(runtime, some)
        }
        await embedded(runtime)
        return [
            await _questions(runtime, facts[::step]),
            await _off_topic(runtime, asked.off_topic()[::step]),
            await _of_archives(runtime, {fact: archived[fact] for fact in [*archived][::step]}),
        ]
    finally:
        await database.close()


async def _say(runtime: Runtime, conversation: str, text: str) -> None:
    drafts = read([{"role": "user", "content": text}], Limits())
    await append(runtime, DEFAULT_TENANT, conversation, PostedMessages(drafts, user_id=USER), None)


async def _unasked(runtime: Runtime, conversation: str, text: str) -> tuple[str, int]:
    """Return the automatic recall for a message, and its tokens."""
    await _say(runtime, conversation, text)
    window = (await context(runtime, DEFAULT_TENANT, conversation, ContextRequest(budget=BUDGET))).window
    recalled = [placed for placed in window.body if placed.passing]
    return "\n".join(placed.text for placed in recalled), sum(placed.tokens for placed in recalled)


async def _by_query(runtime: Runtime, conversation: str, text: str) -> tuple[str, int]:
    """Return the texts of a window whose `query` is a stored message, and the tokens that the query adds."""
    await _say(runtime, conversation, text)
    request = ContextRequest(budget=BUDGET, query=text)
    body = json.loads((await context(runtime, DEFAULT_TENANT, conversation, request)).body)
    said = "\n".join(str(message["content"]) for message in body["messages"])
    return " ".join(said.split()), body["usage"]["sections"].get("tail", 0)


async def _questions(runtime: Runtime, facts: Sequence[asked.Fact]) -> Table:
    rows = []
    for language in ("en", "zh"):
        some = [fact for fact in facts if fact.lang == language]
        for how in HOW:
            first, best, seen, shown, queried, brought = 0, 0, 0, list[int](), 0, list[int]()
            for number, fact in enumerate(some):
                question = getattr(fact, how)
                request = SearchRequest(question, USER, limit=SHOWN)
                hits = (await searching.search(runtime, DEFAULT_TENANT, request)).hits
                first += [fact.fact] == [hit.text for hit in hits[:1]]
                best += fact.fact in [hit.text for hit in hits]
                text, size = await _unasked(runtime, f"{language} {how} {number}", question)
                seen += fact.answer in text
                shown.append(size)
                text, size = await _by_query(runtime, f"query {language} {how} {number}", question)
                queried += " ".join(fact.fact.split()) in text
                brought.append(size)
            rows.append((
                f"{language}, {how.replace('_', ' ')}", str(len(some)), f"{first / len(some):.2f} / {best / len(some):.2f}",
                f"{seen / len(some):.2f}", f"{fmean(shown):.0f}", f"{queried / len(some):.2f}", f"{fmean(brought):.0f}",
            ))  # fmt: skip
    head = (
        "facts asked for", "questions", f"search: R@1 / R@{SHOWN}", "unasked: answer in view", "tokens, mean",
        "by query: fact in view", "tokens, mean",
    )  # fmt: skip
    return Table("recall: questions", head, rows)


async def _off_topic(runtime: Runtime, messages: Sequence[asked.Message]) -> Table:
    shown: dict[tuple[str, str], list[tuple[int, int]]] = defaultdict(list)
    for number, message in enumerate(messages):
        _, size = await _unasked(runtime, f"off topic {number}", message.text)
        _, brought = await _by_query(runtime, f"query off topic {number}", message.text)
        for kind in (message.kind.replace("_", " "), "all"):
            shown[message.lang, kind].append((size, brought))
    rows: list[Any] = [
        (f"{language}, {kind}", str(len(sizes)), *(told for one in zip(*sizes, strict=True) for told in _share(one)))
        for (language, kind), sizes in sorted(shown.items())
    ]
    head = ("messages", "count", "windows that get text", "tokens, mean", "by query: windows", "tokens, mean")
    return Table("recall: messages off topic", head, rows)


def _share(sizes: Sequence[int]) -> tuple[str, str]:
    return f"{sum(map(bool, sizes)) / len(sizes):.0%}", f"{fmean(sizes):.0f}"


def _by_result(facts: Sequence[asked.Fact]) -> Iterator[list[asked.Fact]]:
    """Yield the facts of each tool result."""
    for language in ("en", "zh"):
        some = [fact for fact in facts if fact.lang == language]
        for at in range(0, len(some) - FACTS_A_RESULT + 1, FACTS_A_RESULT):
            yield some[at : at + FACTS_A_RESULT]


async def _archived(runtime: Runtime, facts: Sequence[asked.Fact]) -> list[tuple[asked.Fact, UUID, str]]:
    """Archive a tool result of facts, each in an unrelated paragraph. Return them with their archive and place."""
    language = facts[0].lang
    replies = cycle(
        message["content"]
        for half in talks.LONG
        for talk in talks.long(half).talks
        for message in talk.messages
        if message["role"] == "assistant" and f"-{language}-" in talk.id
    )
    paragraphs = []
    for fact in facts:
        around = ""
        while len(around) < PARAGRAPH_CHARACTERS[language]:
            around += next(replies) + " "
        around = around[: PARAGRAPH_CHARACTERS[language]]
        seam = max(around.rfind(end, 0, len(around) * 2 // 3) for end in ("。", ". ")) + 1
        paragraphs.append(f"{around[:seam]} {fact.fact} {around[seam:]}")
    user = f"archives {language}"
    request = ArchiveRequest("read_notes", "{}", "\n\n".join(paragraphs), user_id=user)
    prepared = await archiving.prepare(runtime, DEFAULT_TENANT, request)
    async with runtime.database.begin(DEFAULT_TENANT) as tx:
        made, _ = await archiving.archive(runtime, tx, request, prepared)
    return [(fact, UUID(made["uuid"]), user) for fact in facts]


async def _of_archives(runtime: Runtime, archived: Mapping[asked.Fact, tuple[UUID, str]]) -> Table:
    rows = []
    for language in ("en", "zh"):
        some = [fact for fact in archived if fact.lang == language]
        for how in HOW:
            found = [await _of_archive(runtime, fact, getattr(fact, how), *archived[fact]) for fact in some]
            best, loaded, hits, previews = (sum(flags) for flags in zip(*found, strict=True))
            of_hits = f"{previews / hits:.2f}" if hits else "–"
            rows.append((
                f"{language}, {how.replace('_', ' ')}", str(len(some)), f"{best / len(some):.2f}",
                f"{loaded / len(some):.2f}", f"{hits / len(some):.2f}", of_hits,
            ))  # fmt: skip
    head = (
        "facts in tool results", "questions", f"archive: passage among {SHOWN}", "archive: fact loaded",
        f"search: passage among {SHOWN}", "its preview has the answer",
    )  # fmt: skip
    return Table("recall: archives", head, rows)


async def _of_archive(runtime: Runtime, fact: asked.Fact, question: str, uuid: UUID, user: str) -> list[bool]:
    query = await querying.prepare(runtime, DEFAULT_TENANT, question)
    async with runtime.database.snapshot(DEFAULT_TENANT) as tx:
        part = await archiving.load(tx, None, uuid, ArchivePart(query=query))
    assert part is not None
    view = await archiving.shown(runtime, part)
    hits = (await searching.search(runtime, DEFAULT_TENANT, SearchRequest(question, user, limit=SHOWN))).hits
    right = [result_view(hit, question) for hit in hits if fact.fact in hit.text]
    return [
        any(fact.fact in text for _, text in part.passages[:SHOWN]),
        any(fact.fact in passage["text"] for passage in view["passages"]),
        bool(right),
        any(fact.answer in one["content_preview"].replace("**", "") for one in right),
    ]
