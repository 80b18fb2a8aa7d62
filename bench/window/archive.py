"""The savings of archiving, and whether archived results are found again: `python -m bench.window.archive`.

The first table is the case that Quire began with: ten turns, each calling a tool that returns 50 000 characters.
The second asks recorded transcripts what their agents needed later (see bench/probes.py). At each probe the
conversation has been appended up to the message that uses the literal, each under a user of its own, so nothing
from later can be found. Every measure is asked with the same two queries:

    before   what was known before the use: the user's last message, and the agent's last with its calls
    intent   what the agent says and calls in using it, the literals taken out: what it would ask a recall tool for
"""

import asyncio
import json
import re
from argparse import ArgumentParser
from collections.abc import Sequence
from dataclasses import dataclass
from math import log
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from rich.console import Console

from app.core.scope import Scope
from app.postgres.database import Database
from app.postgres.tenants import DEFAULT_TENANT
from app.store import archives
from app.store.memory import memories
from app.store.memory.memories import Hit
from app.text import bm25, tokens
from bench import harness, tables
from bench.harness import Harness
from bench.tables import Table
from bench.window import probes, replay
from bench.window.probes import Probe
from quire_command.demo.command import CONVERSATION
from quire_command.demo.transcript import load

DATA = replay.DATA
SETS = ("livemcpbench", "deerflow", "taubench", "sweagent")
CHARACTERS = 50_000
TURNS = 10
BUDGET = 128_000
HITS = 200


def main(argv: Sequence[str] | None = None) -> None:
    parser = ArgumentParser(prog="python -m bench.window.archive", description=__doc__)
    parser.add_argument("--data", type=Path, default=DATA, help="folder of the transcripts")
    parser.add_argument("--sets", nargs="*", default=SETS, help="which of them")
    parser.add_argument("--write", action="store_true", help=f"write the tables into {tables.DOCUMENT.name}")
    parser.add_argument("--show", action="store_true", help="print each probe and what became of it")
    asked = parser.parse_args(argv)
    with harness.opened() as opened:
        found = [founding(opened), *later(opened, asked.data, asked.sets, show=asked.show)]
    for table in found:
        tables.show(Console(width=140), table)
    if asked.write:
        tables.write("archive", found, ["archive"])


def run(opened: Harness, *, quick: bool) -> list[Table]:
    """For `python -m bench`."""
    return [founding(opened), *later(opened, DATA, SETS[1:] if quick else SETS)]


# --- The founding table ------------------------------------------------------------------------------


def founding(opened: Harness) -> Table:
    counter = tokens.load(opened.folder / "vocabularies")
    results = retrieved()
    rows: dict[str, list[int]] = {
        "full accumulation": [],
        "Quire, placeholders": [],
        "Quire, passages of one result loaded": [],
        "Quire, one whole result loaded": [],
    }
    opened.api.call("POST", "/conversations", {"id": "founding", "user_id": "founder", "budget": BUDGET})
    uuids: list[str] = []
    questions: list[dict[str, Any]] = []
    for turn, result in enumerate(results):
        question, *answered = asked_turn(turn, result)
        opened.api.call("POST", "/conversations/founding/messages", {"messages": [question]})
        questions.append(_context(opened, "founding", BUDGET)["usage"])
        stored = json.loads(opened.api.call("POST", "/conversations/founding/messages", {"messages": answered}))
        uuids.append(stored["messages"][1]["archive_id"])
        plain = _context(opened, "founding", BUDGET)["usage"]
        earlier = uuids[turn // 2]
        queried = _context(opened, "founding", BUDGET, load=earlier, query=QUESTIONS[turn // 2 % len(QUESTIONS)])
        whole = _context(opened, "founding", BUDGET, load=earlier)
        values = (plain["full_history"], plain["total"], queried["usage"]["total"], whole["usage"]["total"])
        for name, value in zip(rows, values, strict=True):
            rows[name].append(value)
    assert min(len(result) for result in results) >= CHARACTERS
    sums = {name: sum(values) for name, values in rows.items()}
    accumulated = sums["full accumulation"]
    loaded = sum(map(counter.count, results))
    setup = (
        f"Ten turns, each with a tool result of {CHARACTERS:,} characters of Chinese and English, {loaded:,} tokens "
        "together. Total: the sum of the ten windows. Loaded: the tail of each window brings in an earlier result, either "
        "the passages relevant to the question (and what the question finds) or all of it."
    )
    later = 1 - sum(one["total"] for one in questions[1:]) / sum(one["full_history"] for one in questions[1:])
    goals = (
        f"Goals: at least 80 % saved in total, where each new result is shown in full: "
        f"{1 - sums['Quire, placeholders'] / accumulated:.1%}; at least 95 % from the second question on, when earlier "
        f"results are placeholders: {later:.1%}. The largest window with placeholders had {max(rows['Quire, placeholders']):,} tokens."
    )
    return Table(
        "Ten turns with 50 000 characters each",
        ("tokens", "turn 1", "turn 5", "turn 10", "total", "saved"),
        [
            (name, f"{v[0]:,}", f"{v[4]:,}", f"{v[9]:,}", f"{sums[name]:,}", f"{1 - sums[name] / accumulated:.1%}")
            for name, v in rows.items()
        ],
        (setup, goals),
    )


QUESTIONS = (
    "What does the contract say about late delivery and penalties?",
    "评论里顾客对包装有什么意见?",
    "Which hotels are near the trade fair and how much do they cost?",
)


def retrieved() -> list[str]:
    """Return ten results of 50,000 characters, no two alike: the demo's tool results, joined in turn."""
    results = [m["content"] for t in load(CONVERSATION) for m in t.messages if m["role"] == "tool"]
    found = []
    for turn in range(TURNS):
        text, step = "", turn * 7
        while len(text) < CHARACTERS:
            text += results[step % len(results)] + "\n\n"
            step += 1
        found.append(text[:CHARACTERS])
    return found


def asked_turn(turn: int, result: str) -> list[dict[str, Any]]:
    arguments = json.dumps({"query": f"{QUESTIONS[turn % len(QUESTIONS)]} ({turn + 1})"}, ensure_ascii=False)
    function = {"name": "retrieve", "arguments": arguments}
    call = {"id": f"call_{turn}", "type": "function", "function": function}
    return [
        {"role": "user", "content": f"{QUESTIONS[turn % len(QUESTIONS)]} Look it up, please."},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": f"call_{turn}", "content": result},
        {"role": "assistant", "content": "I have looked it up; the details are in the result."},
    ]


# --- What the agent needs later ----------------------------------------------------------------------


@dataclass(frozen=True)
class Scored:
    """Whether each way led to the literal, for a probe and a query."""

    by_placeholder: bool
    by_placeholder_3: bool
    by_search_3: bool
    in_passages_3: bool
    in_loaded: bool
    at_4k: bool
    at_8k: bool
    without_query_4k: bool
    without_query_8k: bool


MEASURES = (
    ("right archive first, by placeholders alone", "by_placeholder", "32–40 %", 50),
    ("… in the first three", "by_placeholder_3", "78 %", None),
    ("right archive in the first three, by search", "by_search_3", "77 %", 85),
    ("literal in the first three passages found", "in_passages_3", "43 %", 60),
    ("literal in 4 000 tokens loaded from the right archive", "in_loaded", "", None),
    ("literal in the window at 4k tokens, with the query", "at_4k", "59 %", 75),
    ("literal in the window at 8k tokens, with the query", "at_8k", "68 %", 85),
    ("literal in the window at 4k tokens, without", "without_query_4k", "32 %", None),
    ("literal in the window at 8k tokens, without", "without_query_8k", "60 %", None),
)

LATER = "What the agent needs later"
COLUMNS = ("", "before", "intent", "reference", "goal")


def later(opened: Harness, data: Path, names: Sequence[str], *, show: bool = False) -> list[Table]:
    conversations = probes.read(data, [n for n in names if (data / n / "conversations.jsonl").exists()])
    if not conversations:
        return [Table(LATER, COLUMNS, (), ("Nothing was measured: the recorded transcripts are not on this machine.",))]
    scored: dict[str, list[Scored]] = {"before": [], "intent": []}
    for name, messages, some in conversations:
        for probe, by_query in asyncio.run(_replay(opened, name, messages, some)):
            for query, score in by_query.items():
                scored[query].append(score)
            if show:
                hit = [m[1] for m in MEASURES if getattr(by_query["before"], m[1])]
                print(name, probe.source, probe.use, probe.literal, hit, json.dumps(probe.before[:100]))  # noqa: T201
    n = len(scored["before"])
    rows = []
    for title, field, reference, goal in MEASURES:
        shares = {q: 100 * sum(getattr(s, field) for s in scores) / n for q, scores in scored.items()}
        rows.append((title, *(f"{share:.0f} %" for share in shares.values()), reference, f"{goal} %" if goal else ""))
    sets = ", ".join(f"{s} {sum(len(p) for c, _, p in conversations if c.startswith(s))}" for s in names)
    about = (
        f"{n} probes ({sets}) of {len(conversations)} conversations. A probe is an agent's first use, three or more "
        "messages later, of a literal from exactly one tool result of at least 2 000 characters and from no other message "
        f"(bench/probes.py). One probe is {100 / n:.1f} points, so differences of a few points mean nothing."
    )
    queries = (
        "before: the query is the last user and agent messages with their calls. intent: what the agent says and calls "
        "when it uses the literal, without the literals. archive_threshold is 2 000. Placeholders are ranked by BM25 within "
        "the conversation, archives by their best passage. The reference used other code and its own probes."
    )
    return [Table(LATER, COLUMNS, rows, (about, queries))]


async def _replay(
    opened: Harness, name: str, messages: Sequence[dict[str, Any]], some: Sequence[Probe]
) -> list[tuple[Probe, dict[str, Scored]]]:
    conversation = re.sub(r"[^\w.-]", "-", name)
    settings = {"archive_threshold": probes.RESULT_CHARACTERS}
    opened.api.call("POST", "/conversations", {"id": conversation, "user_id": conversation, "settings": settings})
    database = await Database.connect(opened.postgres.app_dsn, pool_size=1)
    found = []
    ids: dict[int, str] = {}
    at = 0
    try:
        for probe in some:
            if probe.use > at:
                stored = opened.api.call(
                    "POST", f"/conversations/{conversation}/messages", {"messages": list(messages[at : probe.use])}
                )
                for index, message in enumerate(json.loads(stored)["messages"], at):
                    if message["archive_id"]:
                        ids[index] = message["archive_id"]
                at = probe.use
            found.append((probe, await _scored(opened, database, conversation, probe, ids)))
    finally:
        await database.close()
    return found


async def _scored(
    opened: Harness, database: Database, conversation: str, probe: Probe, ids: dict[int, str]
) -> dict[str, Scored]:
    right = ids[probe.source]
    listed = json.loads(opened.api.call("GET", f"/archive?conversation_id={conversation}&limit=200"))["items"]
    placeholders = {item["uuid"]: item["placeholder"] for item in listed}
    plain = {budget: _holds(opened, conversation, probe, budget) for budget in (4_000, 8_000)}
    scores = {}
    for name, query in (("before", probe.before), ("intent", probe.intent)):
        ranked = rank(query, placeholders)
        async with database.snapshot(DEFAULT_TENANT) as tx:
            hits, *_ = await memories.search(
                tx, [Scope("user", conversation).owner], memories.Scoring(bm25.query(query)),
                memories.PassageFilter(types=["passage"]), limit=HITS,
            )  # fmt: skip
            texts = await archives.passages(tx, [(h.archive_id, h.start, h.length) for h in hits[:3] if h.archive_id])
        asked = urlencode({"query": query, "max_tokens": 4_000})
        passages = json.loads(opened.api.call("GET", f"/archive/{right}?{asked}"))["passages"]
        scores[name] = Scored(
            by_placeholder=ranked[:1] == [right],
            by_placeholder_3=right in ranked[:3],
            by_search_3=right in best_archives(hits)[:3],
            in_passages_3=any(probe.literal in text for _, text in texts.values()),
            in_loaded=any(probe.literal in passage["text"] for passage in passages),
            at_4k=_holds(opened, conversation, probe, 4_000, query),
            at_8k=_holds(opened, conversation, probe, 8_000, query),
            without_query_4k=plain[4_000],
            without_query_8k=plain[8_000],
        )
    return scores


def best_archives(hits: Sequence[Hit]) -> list[str]:
    """Return archives in the order of their best passages."""
    return list(dict.fromkeys(str(hit.archive_id) for hit in hits))


def rank(query: str, texts: dict[str, str]) -> list[str]:
    """Return the keys of matching texts, best first by BM25 with the idf over these texts."""
    wanted = set(bm25.query(query))
    documents = {key: _vector(text) for key, text in texts.items()}
    idf = {}
    for term in wanted:
        df = sum(term in document for document in documents.values())
        idf[term] = log(1 + (len(documents) - df + 0.5) / (df + 0.5))
    scores = {key: sum(idf[t] * d[t] for t in wanted & d.keys()) for key, d in documents.items()}
    return [key for key in sorted(scores, key=lambda k: -scores[k]) if scores[key] > 0]


def _vector(text: str) -> dict[int, float]:
    inside = bm25.document(text).split("}")[0].strip("{")
    return {int(index): float(value) for index, _, value in (part.partition(":") for part in inside.split(",") if part)}


def _holds(opened: Harness, conversation: str, probe: Probe, budget: int, query: str | None = None) -> bool:
    try:
        window = _context(opened, conversation, budget, **({"query": query[:10_000]} if query else {}))
    except RuntimeError:  # the conversation's newest user message does not fit the budget
        return False
    return any(probe.literal in json.dumps(m, ensure_ascii=False) for m in window["messages"])


def _context(opened: Harness, conversation: str, budget: int, **query: str) -> dict[str, Any]:
    asked = urlencode({"budget": budget, **query})
    window: dict[str, Any] = json.loads(opened.api.call("GET", f"/conversations/{conversation}/context?{asked}"))
    return window


if __name__ == "__main__":
    main()
