"""Whether memory speaks when it is asked, and only then: `python -m bench recall`.

Facts that people told in conversations of their own are asked for in the same words, in other words and in the other
language, between messages about anything else, as agents do: the message is stored, then its window is read. All facts,
and a statement with the words of each, are one user's. Beside it the same questions as a caller's search.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Sequence
from statistics import fmean
from typing import Any

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
from app.services.memory import searching
from app.services.memory.searching import SearchRequest
from app.settings import Settings
from app.text import tokens
from bench import harness
from bench.harness import Harness
from bench.search import asked
from bench.search.retrieval import embedded
from bench.tables import Table

USER, BUDGET, SHOWN = "u", 4_000, 3
QUICK_STEP = 5
HOW = ("same_words", "other_words", "other_language")


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
        await embedded(runtime)
        return [await _questions(runtime, facts[::step]), await _off_topic(runtime, asked.off_topic()[::step])]
    finally:
        await database.close()


async def _say(runtime: Runtime, conversation: str, text: str) -> None:
    drafts = read([{"role": "user", "content": text}], Limits())
    await append(runtime, DEFAULT_TENANT, conversation, PostedMessages(drafts, user_id=USER), None)


async def _unasked(runtime: Runtime, conversation: str, text: str) -> tuple[str, int]:
    """Return what comes unasked with a message, and its tokens."""
    await _say(runtime, conversation, text)
    window = (await context(runtime, DEFAULT_TENANT, conversation, ContextRequest(budget=BUDGET))).window
    recalled = [placed for placed in window.body if placed.passing]
    return "\n".join(placed.text for placed in recalled), sum(placed.tokens for placed in recalled)


async def _questions(runtime: Runtime, facts: Sequence[asked.Fact]) -> Table:
    rows = []
    for language in ("en", "zh"):
        some = [fact for fact in facts if fact.lang == language]
        for how in HOW:
            first, best, seen, shown = 0, 0, 0, list[int]()
            for number, fact in enumerate(some):
                question = getattr(fact, how)
                request = SearchRequest(question, USER, limit=SHOWN)
                hits = (await searching.search(runtime, DEFAULT_TENANT, request)).hits
                first += [fact.fact] == [hit.text for hit in hits[:1]]
                best += fact.fact in [hit.text for hit in hits]
                text, size = await _unasked(runtime, f"{language} {how} {number}", question)
                seen += fact.answer in text
                shown.append(size)
            rows.append((
                f"{language}, {how.replace('_', ' ')}", str(len(some)), f"{first / len(some):.2f} / {best / len(some):.2f}",
                f"{seen / len(some):.2f}", f"{fmean(shown):.0f}",
            ))  # fmt: skip
    head = ("facts asked for", "questions", f"search: R@1 / R@{SHOWN}", "unasked: answer in view", "tokens, mean")
    return Table("recall: questions", head, rows)


async def _off_topic(runtime: Runtime, messages: Sequence[asked.Message]) -> Table:
    shown: dict[tuple[str, str], list[int]] = defaultdict(list)
    for number, message in enumerate(messages):
        _, size = await _unasked(runtime, f"off topic {number}", message.text)
        for kind in (message.kind.replace("_", " "), "all"):
            shown[message.lang, kind].append(size)
    rows: list[Any] = [
        (f"{language}, {kind}", str(len(sizes)), f"{sum(map(bool, sizes)) / len(sizes):.0%}", f"{fmean(sizes):.0f}")
        for (language, kind), sizes in sorted(shown.items())
    ]
    return Table("recall: messages off topic", ("messages", "count", "windows that get text", "tokens, mean"), rows)
