"""Quire beside its alternatives, on the same public conversations: evidence, tokens, money, latency.

    python -m bench.peers.beside --data FOLDER [--quick] [--write]

FOLDER holds LoCoMo as `bench.search.talks` reads it: `locomo-noncommercial/conversations.jsonl` with a conversation in each
line and `questions.jsonl` with the turns that hold each answer. LangGraph and mem0 are installed as `bench.peers.peers` says,
Hindsight in an environment of its own, since its packages and mem0's exclude each other:

    python3.11 -m venv /tmp/hindsight
    /tmp/hindsight/bin/pip install 'hindsight-api-slim[embedded-db]'
    export BENCH_HINDSIGHT_PYTHON=/tmp/hindsight/bin/python

It starts a PostgreSQL of its own, as any user but root; BENCH_HINDSIGHT_DSN names another, with pgvector and pg_trgm.
Sides that are not installed have rows that say so.

Every conversation is told turn by turn to every side. Before a turn each side is asked for a context, with the
user's new message as the query; that message follows it in the prompt. Of these prompts come money and what a cache
can reuse, and of the requests latency and CPU. When all is told each side is asked once more for each question.
Sides take turns, one request after the other, and wait until Quire's jobs are done.
"""

import sys
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from statistics import fmean, median

import click
from rich.console import Console

from bench import harness, tables
from bench.harness import Harness
from bench.peers import beside_sides
from bench.peers.beside_sides import Message, Ours, Quire, Sides, part, spoken
from bench.peers.peers import installed
from bench.search import talks
from bench.search.retrieval import QUICK_STEP, interval, squeezed
from bench.search.talks import Question, Talk, TalkSet
from bench.tables import Table, milliseconds
from bench.window import money, replay
from bench.window.money import Bill, Prompt
from bench.window.replay import Counter

BUDGETS = (4_000, 8_000)
SET = "LoCoMo"
NAME = "beside"
WIDTH = 140
ANALYZE_TURNS = 50
CPU_EACH = 4
"""The CPU of every fourth request is measured, because that takes longer than the request."""


@dataclass
class Tally:
    """The measurements of one side at one budget."""

    prompts: list[list[Prompt]] = field(default_factory=list)
    """The prompts of each conversation whose context was requested before each turn."""
    seconds: list[float] = field(default_factory=list)
    """Latencies of requests that no request for another budget had prepared."""
    cpu_seconds: list[float] = field(default_factory=list)
    """CPU seconds of some of these requests."""
    tokens: list[int] = field(default_factory=list)
    """Tokens of the questions' contexts."""
    held: list[bool] = field(default_factory=list)
    """Whether the context has all evidence, by question."""
    is_held_out: list[bool] = field(default_factory=list)
    """Whether the question's conversation was not used to choose any of Quire's constants."""


Tallies = dict[tuple[str, int], Tally]


@click.command()
@click.option("--data", type=click.Path(path_type=Path), default=replay.DATA, help="Folder with the conversations.")
@click.option("--quick", is_flag=True, help="Every fifth question; turns of one conversation.")
@click.option("--write", is_flag=True, help="Write the table into docs/.")
def main(data: Path, quick: bool, write: bool) -> None:
    """Compare Quire with LangGraph, mem0 and Hindsight on public conversations."""
    console = Console() if sys.stdout.isatty() else Console(width=WIDTH)
    some = next((one for one in talks.public(data) if one.name == SET), None)
    if some is None:
        raise click.ClickException(f"{SET} is not in {data}: name the folder that holds it with --data.")
    with harness.opened({"MEMORY_EMBEDDING_MODEL": ""}) as opened:
        found = run(opened, some, quick=quick)
    tables.show(console, found)
    if write:
        arguments = ["--data", "FOLDER", *(["--quick"] if quick else []), "--write"]
        tables.write(NAME, [found], arguments, program="bench.peers.beside")


def run(opened: Harness, some: TalkSet, *, quick: bool) -> Table:
    counter = Counter(opened.folder / "vocabularies")
    asked = some.questions[:: QUICK_STEP if quick else 1]
    first_held_out = len(some.talks) // 2
    played = some.talks[first_held_out : first_held_out + 1] if quick else some.talks
    found: Tallies = defaultdict(Tally)
    with beside_sides.opened(opened, counter, BUDGETS) as sides:
        for number, talk in enumerate(some.talks):
            _tell(opened, sides, talk, counter, found if talk in played else None)
            questions = [question for question in asked if question.talk == talk.id]
            _ask(sides, talk, questions, found, is_held_out=number >= first_held_out)
        turns = sum(sum(1 for _ in turns_of(talk.messages)) - 1 for talk in played)
        return table(found, sides, turns=turns, questions=len(asked), conversations=len(some.talks))


def turns_of(messages: Sequence[Message]) -> Iterator[Sequence[Message]]:
    """Yield the turns, each from a user's message up to the next one."""
    begins = [at for at, message in enumerate(messages) if message["role"] == "user" or at == 0]
    for begin, end in pairwise([*begins, len(messages)]):
        yield messages[begin:end]


# --- Gathering ---------------------------------------------------------------------------------------


def _tell(
    opened: Harness,
    sides: Sides,
    talk: Talk,
    counter: Counter,
    found: Tallies | None,
) -> None:
    """Append a conversation to all sides. With ``found``, contexts are requested before each turn and counted there."""
    ours, turns = Ours(opened), list(turns_of(talk.messages))
    if found is None:
        sides.fill(talk.id, turns)
    else:
        for name in sides.named:
            for budget in BUDGETS:
                found[name, budget].prompts.append([])
        for number, turn in enumerate(turns):
            if number:
                _prompts(sides, talk.id, turn[0], number, found, counter)
            sides.append(talk.id, turn)
            ours.until_idle()
            if number % ANALYZE_TURNS == 1:
                sides.analyze()
    ours.until_idle()
    sides.analyze()


def _prompts(sides: Sides, talk: str, said: Message, number: int, found: Tallies, counter: Counter) -> None:
    """Request contexts before a turn. The first budget's requests are measured, and the CPU of some of them."""
    budgets, names = list(BUDGETS), list(sides.named)
    if number % 2:
        budgets.reverse()
    if number % 4 > 1:
        names.reverse()
    is_known = False
    """Whether Quire, which caches the vectors of queries, has embedded this one."""
    for budget in budgets:
        for name in names:
            side, tally = sides.named[name], found[name, budget]
            embeds = isinstance(side, Quire) and side.asks
            is_measured = budget == budgets[0] and not (embeds and is_known)
            is_sampled = is_measured and number // 4 % CPU_EACH == 0
            is_known |= embeds
            before = side.cpu() if is_sampled else None
            shown = side.context(talk, said["content"], budget)
            tally.prompts[-1].append([*shown.parts, part(spoken(said), counter)])
            if is_measured:
                tally.seconds.append(shown.seconds)
            if before is not None and (after := side.cpu()) is not None:
                tally.cpu_seconds.append(after - before)


def _ask(
    sides: Sides,
    talk: Talk,
    questions: Sequence[Question],
    found: Tallies,
    *,
    is_held_out: bool,
) -> None:
    for name, side in sides.named.items():
        for budget in BUDGETS:
            tally, shown = found[name, budget], None
            for question in questions:
                if shown is None or side.asks:
                    shown = side.context(talk.id, question.text, budget)
                tally.tokens.append(shown.tokens)
                wanted = [talk.messages[seq - 1]["content"] for seq in question.evidence]
                tally.held.append(holds_all(shown.text, wanted))
                tally.is_held_out.append(is_held_out)


def holds_all(text: str, wanted: Sequence[str]) -> bool:
    """Return whether a text contains all others word for word."""
    said = squeezed(text)
    return all(squeezed(one) in said for one in wanted)


# --- Counting ----------------------------------------------------------------------------------------


def summarised(prompts: Sequence[Prompt]) -> int:
    """Return the tokens that were read to summarise what a prompt has and the next lacks, with an earlier summary."""
    read = 0
    for before, after in pairwise(prompts):
        kept = {text for text, _ in after}
        if gone := [(text, tokens) for text, tokens in before if text not in kept]:
            earlier = [tokens for text, tokens in before[:1] if '"role": "system"' in text and text in kept]
            read += sum(tokens for _, tokens in gone) + sum(earlier)
    return read


def bill_of(conversations: Sequence[Sequence[Prompt]], *, summarises: bool) -> Bill:
    bills = [money.bill(prompts, summarised(prompts) if summarises else 0) for prompts in conversations]
    return Bill(sum(one.plain for one in bills), sum(one.cached for one in bills))


def reused(conversations: Sequence[Sequence[Prompt]]) -> float:
    """Return the share of the prompts' tokens that a cache can supply."""
    bill = bill_of(conversations, summarises=False)
    return (bill.plain - bill.cached) / (1 - money.CACHED) / bill.plain


def table(found: Tallies, sides: Sides, *, turns: int, questions: int, conversations: int) -> Table:
    rows = []
    for budget in BUDGETS:
        for name in (*sides.named, *sides.missing):
            label = (name, f"{budget:,}")
            rows.append((*label, *(_cells(name, found[name, budget]) if name in sides.named else MISSING)))
    return Table(
        "Evidence and its price beside what a user would pick instead",
        COLUMNS,
        rows,
        _notes(sides, turns=turns, questions=questions, conversations=conversations),
    )


COLUMNS = (
    "with", "budget", "all evidence, %", "held-out half, %", "tokens", "cache reuses", "1,000 turns, no cache", "cache",
    "median ms", "CPU ms",
)  # fmt: skip
MISSING = ("not installed", *["–"] * 7)


def _cells(name: str, tally: Tally) -> Sequence[str]:
    turns = sum(map(len, tally.prompts))
    bill = bill_of(tally.prompts, summarises="summaries" in name)
    later = [held for held, is_held_out in zip(tally.held, tally.is_held_out, strict=True) if is_held_out]
    return (
        interval(tally.held),
        interval(later),
        f"{fmean(tally.tokens):,.0f}",
        f"{reused(tally.prompts):.0%}",
        *(f"{tokens / turns / 1000:.2f}" for tokens in (bill.plain, bill.cached)),
        milliseconds(median(tally.seconds)) if any(tally.seconds) else "–",
        milliseconds(fmean(tally.cpu_seconds)) if tally.cpu_seconds else "–",
    )


def _notes(sides: Sides, *, turns: int, questions: int, conversations: int) -> Sequence[str]:
    return (
        (
            f"{conversations} conversations of LoCoMo, told turn by turn to all sides; {questions} questions, each asked of "
            "all sides afterwards. All evidence: share of the questions with every turn that holds the answer word for word "
            "in the context, ± half of the 95 % interval (Wilson's); half of the conversations were never used to choose a "
            "constant of Quire's. Tokens: of these contexts, by tiktoken."
        ),
        (
            f"Cache and money: of {turns} prompts, one before each turn, the context and the user's message. What a cache "
            "can reuse is the prefix shared with the prompt before, if it has 1,024 tokens. Money: million times the price "
            f"of an uncached input token, that of a cached one being {money.CACHED} of it (`bench/money.py`); dollars if a "
            "million tokens cost one. Output is not counted. Median and CPU: of the requests before turns that no other with the "
            "same query prepared, CPU with PostgreSQL and the embedding of the query."
        ),
        (
            "Quire: no LLM, the local embedding model, one user for each conversation; over HTTP, its tools counted. The "
            "query is the user's message or the question; 65 % of the budget is free for what it brings in, so windows with and "
            "without a query differ. As its proxy asks: the query brings in at most "
            f"{beside_sides.PROXY_RECALL} tokens, and the rest is as without one. It has tools with which a model can fetch "
            "what is not in a window; they are not used here."
        ),
        (
            "LangGraph, trim_messages: the newest messages in a PostgreSQL checkpointer; a delta channel changes what it "
            "stores, not what it shows. Summaries: what exceeds the budget leaves the state in favour of a summary, with "
            f"{money.SUMMARY_TOKENS} tokens reserved. The summary is a fixed text of a fake model, so it holds no evidence "
            "(a real one would keep the gist of some); reading for it is in the money, writing it is not, and it takes no time."
        ),
        (
            "LangGraph's store and mem0 (without inference: no LLM) keep each message as a memory, with speaker and without "
            "day, and search exactly, without an approximate index. They use the local model of Quire through an API on "
            f"loopback. As many memories as fit the budget, or the default of {beside_sides.STORE_DEFAULT} and "
            f"{beside_sides.MEM0_DEFAULT}, are put before the user's message; unless half of the budget is for the newest "
            "messages, the model sees no conversation."
        ),
        (
            "Hindsight without an LLM, which is not how it is meant to be used: no facts, observations or links are extracted, "
            "each message is a chunk with its day. Its reranker is a model to be downloaded, so ranks are fused without one; "
            "its graph is off, since without a reranker it puts first what resembles many messages. It holds answers to the "
            "budget itself. Its database needs pg_trgm, so it has its own, whose CPU is not counted."
        ),
        "Not tried: Zep, Graphiti, Cognee, Letta, LangMem and LlamaIndex.",
        installed(sides.missing, sides.versions),
    )


if __name__ == "__main__":
    main()
