"""What people are shown of conversations without a model: title, topics, chapters, archive summaries.

`python -m bench.window.texts` prints the texts of forty public conversations (``DATA`` of ``bench/replay.py``), twenty in each
half: rules were chosen while looking at half `a`, half `b` was judged by this rubric. `--json FILE` stores them, so that
two versions can be compared; `--demo` prints those of the shipped conversation.

A title is good if it says what the user wants, in the user's language, and comes from no prompt; a user's line, if it has
what they tell of their case, with names and numbers, then the request; a topic, if it is a noun phrase (no tool, date,
number, identifier, function word or fragment); a chapter, if its terms tell it from the others and its line says something
about them, and who said it; an archive summary, if its 200 characters say what the result holds.
"""

import json
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from itertools import groupby, islice
from pathlib import Path
from random import Random
from uuid import UUID

import click

from app.core.conversation import Conversation
from app.core.history.append import Append, decide
from app.core.history.preparation import Arrival, Basis, PreparationRules, prepare, spoken_language, texts
from app.core.messages import Limits, read
from app.core.model import Policy
from app.core.window.contents import ContentsLine
from app.core.window.topics import Topic, merged, most_telling
from app.demo.command import CONVERSATION
from app.demo.transcript import Transcript, load, transcript
from app.extractive.chapters import Shelf, ToldPage, close
from app.extractive.subjects import subjects_of_page
from app.recall.tools import TOOL_NAMES
from app.services.conversations.reading import READER
from bench.window.replay import DATA

SEED = 18
EACH = {"taubench": 8, "deerflow": 9, "sweagent": 5, "livemcpbench": 6, "locomo-noncommercial": 2, "madial": 10}
DIALOGUES = 4
"""Dialogues of MADial-Bench, in Chinese, that make one conversation."""
LOCOMO_MESSAGES = 120
MESSAGES_A_PAGE = 30
TOPICS_SHOWN = 8
NOW = datetime(2026, 1, 1, tzinfo=UTC)


@dataclass(frozen=True)
class Shown:
    """The texts of a conversation."""

    id: str
    half: str
    language: str
    title: str
    topics: list[str]
    summary: list[str]
    archives: list[str]
    notes: list[str]
    seconds: float


def forty() -> list[tuple[Transcript, str]]:
    """Return the conversations with their half."""
    rng = Random(SEED)
    found: list[tuple[Transcript, str]] = []
    for folder, count in EACH.items():
        here = sorted(_conversations(folder), key=lambda one: one.id)
        rng.shuffle(here)
        here.sort(key=lambda one: not _is_chinese(one))  # few are: all of them
        found += [(one, "ab"[at % 2]) for at, one in enumerate(here[:count])]
    return found


def _conversations(folder: str) -> list[Transcript]:
    if folder != "madial":
        whole = load(DATA / folder / "conversations.jsonl")
        return [Transcript(one.id, one.messages[:LOCOMO_MESSAGES]) if "locomo" in folder else one for one in whole]
    rows = [json.loads(row) for row in (DATA / folder / "questions.jsonl").read_text("utf-8").splitlines()]
    rows = [row for row in rows if row["conversation_id"] == "madial-zh"]
    return [
        transcript(rows[at]["id"], [turn for row in rows[at : at + DIALOGUES] for turn in _turns(row)])
        for at in range(0, len(rows) - DIALOGUES + 1, DIALOGUES)
    ]


def _turns(row: dict[str, str]) -> list[dict[str, str]]:
    """Return a dialogue written as "Name: text" lines, and its answer, as messages."""
    turns: list[dict[str, str]] = []
    for line in row["question"].splitlines():
        name, colon, text = line.partition(": ")
        if colon:
            turns.append({"role": "assistant" if name == "Assistant" else "user", "content": text})
    return [*turns, {"role": "assistant", "content": row["answer"]}]


def _is_chinese(one: Transcript) -> bool:
    return any("\u4e00" <= c <= "\u9fff" for m in one.messages if m["role"] == "user" for c in str(m["content"])[:30])


def shown(one: Transcript, half: str = "") -> Shown:
    """Return what is shown of a conversation that was appended at once, all of its pages closed."""
    start = time.process_time()
    append = _appended(one)
    lines: dict[int, list[ContentsLine]] = {}
    for row in append.messages:
        if row.line and row.kind != "prompt" and len(lines.setdefault(row.page, [])) < MESSAGES_A_PAGE:
            lines[row.page].append(
                ContentsLine(row.seq, "tool" if row.kind == "result" else row.role, row.line, row.line_tokens)
            )
    counted: dict[str, Topic] = {}
    for page in append.pages:
        here = lines.get(page.page, [])
        for name in merged(counted, subjects_of_page(page.title, [(line.role, line.text) for line in here], 3)):
            mentions = counted[name].mentions if name in counted else 0
            counted[name] = Topic(name, mentions + 1, page.page)
    return Shown(
        one.id, half, append.conversation.language or "en", append.conversation.title or "",
        [topic.name for topic in most_telling(counted.values(), TOPICS_SHOWN)],
        _chapters(append), [archive.result_summary for archive in append.archives],
        [wish.content for wish in append.wishes], time.process_time() - start,
    )  # fmt: skip


def _chapters(append: Append) -> list[str]:
    """Return the lines of the chapters that the pages make."""
    by_page = groupby(append.messages, key=lambda row: row.page)
    pages = [
        ToldPage(page, NOW, NOW, [(row.role, row.line, row.words) for row in islice(rows, MESSAGES_A_PAGE)])
        for page, rows in by_page
    ]
    found = close(pages, Shelf({}), _tokens)
    return [text for chapter in found for text in (chapter.line, chapter.sentence) if text]


def _appended(one: Transcript) -> Append:
    arrivals = [Arrival(draft) for draft in read([dict(m) for m in one.messages], Limits(messages=10_000))]
    conversation = Conversation(one.id, UUID(int=1), NOW, NOW)
    rules = PreparationRules(recall_tools=frozenset(TOOL_NAMES))
    basis = Basis(conversation, True, arrivals, "caller", Policy(), spoken_language(arrivals, READER), rules, NOW)
    found = prepare(basis, {}, READER, lambda: UUID(int=7))
    return decide(basis, found, {text: _tokens(text) for text in texts(basis, found)}, lambda: UUID(int=7))


def _tokens(text: str) -> int:
    """Estimate the tokens of a text: the texts shown depend little on them."""
    return len(text) if not text.isascii() else 1 + len(text) // 4


def _print(one: Shown) -> None:
    click.echo(f"\n=== {one.id} ({one.half}, {one.language})\ntitle:   {one.title}\ntopics:  {' · '.join(one.topics)}")
    for name, texts_ in (("summary", one.summary), ("archive", one.archives), ("note", one.notes)):
        for text in texts_:
            click.echo(f"{name}: {' ' * (7 - len(name))}{text}")


@click.command()
@click.option("--half", type=click.Choice(["a", "b"]))
@click.option("--demo", is_flag=True)
@click.option("--json", "path", type=click.Path(path_type=Path))
def main(half: str | None, demo: bool, path: Path | None) -> None:
    chosen: Sequence[tuple[Transcript, str]] = [(load(CONVERSATION)[0], "")] if demo else forty()
    found = [shown(one, its) for one, its in chosen if half in (None, its)]
    for one in found:
        _print(one)
    if path is not None:
        path.write_text(json.dumps([asdict(one) for one in found], ensure_ascii=False, indent=1), "utf-8")
    click.echo(f"\n{len(found)} conversations, {sum(one.seconds for one in found):.2f} s of CPU", err=True)


if __name__ == "__main__":
    main()
