"""Whether windows hold what agents need later, at default settings: `python -m bench literals`.

The probes are those of bench/probes.py: an agent's first use of a literal that one earlier tool result has. Each is
looked for in the window that the agent would have been given before that use. Conversations are replayed twice: each
alone, and all of a set joined into one long conversation. They are searched by keyword, without vectors.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any

from app.assembly import defaults
from app.core.messages import Limits, read
from app.errors import BudgetTooSmall
from app.postgres.database import Database
from app.postgres.tenants import DEFAULT_TENANT
from app.runtime import Runtime
from app.services.conversations.append import append
from app.services.conversations.call import ContextRequest
from app.services.conversations.context import context
from app.services.conversations.requests import PostedMessages
from app.settings import Settings
from app.text import tokens
from bench.harness import Harness
from bench.tables import Table
from bench.window import money, probes, replay
from bench.window.archive import SETS
from bench.window.probes import Probe
from quire_command.demo.transcript import Message, load

BUDGETS = (4_000, 8_000, 16_000)
WAYS = ("newest that fit", "Quire without a query", "query: before", "query: intent")
APPENDED_AT_ONCE = 200
QUERY_CHARACTERS_MAX = 10_000
GOALS = "Goals with a query: 60 / 70 / 85 %, and at every budget at least what the newest messages that fit hold."


@dataclass(frozen=True)
class Probed:
    """A conversation and its probes."""

    name: str
    is_joined: bool
    messages: Sequence[Message]
    probes: Sequence[Probe]


Held = Mapping[tuple[str, int], bool]
"""Whether the window has the probe's literal, by way and budget."""


def run(opened: Harness, *, quick: bool) -> list[Table]:
    conversations = [one for name in (SETS[1:] if quick else SETS) for one in probed(name)]
    return [table(asyncio.run(_measure(opened, conversations)))]


def probed(name: str) -> list[Probed]:
    """Return the conversations of a set that have probes: each alone, then all of them joined."""
    file = replay.DATA / name / "conversations.jsonl"
    transcripts = load(file) if file.exists() else []
    alone = [(f"{name}-{one.id}", list(one.messages)) for one in transcripts]
    everything = [message for _, messages in alone for message in messages if message["role"] != "system"]
    joined = [{name: value for name, value in message.items() if name != "client_id"} for message in everything]
    found = [Probed(id_, False, messages, probes.probes(id_, messages)) for id_, messages in alone]
    found.append(Probed(name, True, joined, probes.probes(name, joined)))
    return [one for one in found if one.probes]


async def _measure(opened: Harness, conversations: Sequence[Probed]) -> list[tuple[Probed, Held]]:
    database = await Database.connect(opened.postgres.app_dsn, pool_size=2)
    try:
        settings = Settings(quire_data_dir=opened.folder)
        counter = tokens.load(opened.folder / "vocabularies")
        runtime = Runtime(defaults(settings), database, counter)
        own = replay.Counter(opened.folder / "vocabularies")
        return [(one, held) for one in conversations for held in await replayed(runtime, own, one)]
    finally:
        await database.close()


async def replayed(runtime: Runtime, counter: replay.Counter, one: Probed) -> list[Held]:
    """Append a conversation up to each use of a literal, and look for it in the windows there."""
    conversation = re.sub(r"[^\w.-]", "-", f"literals-{one.name}")
    found = []
    at = 0
    for probe in one.probes:
        for start in range(at, probe.use, APPENDED_AT_ONCE):
            new = list(one.messages[start : min(start + APPENDED_AT_ONCE, probe.use)])
            posted = PostedMessages(read(new, Limits()), user_id=conversation)
            await append(runtime, DEFAULT_TENANT, conversation, posted, None)
        at = max(at, probe.use)
        found.append(await _held(runtime, counter, conversation, one.messages[: probe.use], probe))
    return found


async def _held(
    runtime: Runtime, counter: replay.Counter, conversation: str, history: Sequence[Message], probe: Probe
) -> Held:
    said = [_said(message, counter) for message in history]
    queries = {WAYS[1]: None, WAYS[2]: probe.before, WAYS[3]: probe.intent}
    held = {}
    for budget in BUDGETS:
        newest = money.newest(said, [len(said)], budget).prompts[0]
        held[WAYS[0], budget] = any(probe.literal in text for text, _ in newest)
        for way, query in queries.items():
            request = ContextRequest(budget=budget, query=query and query[:QUERY_CHARACTERS_MAX])
            held[way, budget] = await _holds(runtime, conversation, request, probe.literal)
    return held


def _said(message: Message, counter: replay.Counter) -> money.Said:
    text = json.dumps(message, ensure_ascii=False)
    return money.Said(text, counter.message(text), message["role"])


async def _holds(runtime: Runtime, conversation: str, request: ContextRequest, literal: str) -> bool:
    try:
        window = await context(runtime, DEFAULT_TENANT, conversation, request)
    except BudgetTooSmall:
        return False
    messages: list[dict[str, Any]] = json.loads(window.body)["messages"]
    return any(literal in json.dumps(message, ensure_ascii=False) for message in messages)


def table(found: Sequence[tuple[Probed, Held]]) -> Table:
    kinds = {"alone": [h for one, h in found if not one.is_joined], "joined": [h for one, h in found if one.is_joined]}
    columns = [(kind, budget) for kind in kinds for budget in BUDGETS]
    rows = [(way, *(_percent([held[way, budget] for held in kinds[kind]]) for kind, budget in columns)) for way in WAYS]
    counts = ", ".join(f"{kind} {len(held)}" for kind, held in kinds.items())
    about = (
        f"Share of the probes whose literal is in the window at default settings; {counts}. Alone: each transcript is a "
        "conversation. Joined: the transcripts of a set are one. Queries as in the table above; by keyword."
    )
    return Table("Literals at default settings", ("", *(f"{k}: {b:,}" for k, b in columns)), rows, [about, GOALS])


def _percent(flags: Sequence[bool]) -> str:
    return f"{100 * fmean(flags):.0f} %" if flags else "–"
