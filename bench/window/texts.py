"""What people are shown of conversations without a model: titles, users' lines, topics, chapters, archive summaries.

`python -m bench.window.texts` prints texts of forty conversations, twenty in each half, eighteen of them long chats or
small talk, thirteen in Chinese: public ones (``DATA`` of ``bench/replay.py``) and our own long chats. Rules were chosen while
looking at half `a`; half `b` is judged by this rubric and not looked at otherwise. `--json FILE` stores the texts with
what they are of, so that two versions can be judged blindly; `--demo` prints those of the shipped conversation.

A title is good if it says what the user wants, in the user's language and order, and comes from no prompt; a user's line,
if it has what they tell of their case, with names and numbers, then the request; a topic, if it is a noun phrase (no tool,
date, number, identifier, function word or fragment); a chapter, if its terms tell it from the others and its line says
something about them, and who said it; an archive summary, if its 200 characters say what the result holds.
"""

import json
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from itertools import chain, groupby, islice
from pathlib import Path
from random import Random
from uuid import UUID

import click

from app.core.conversation import Conversation
from app.core.history.append import Append, decide
from app.core.history.preparation import Arrival, Basis, PreparationRules, prepare, spoken_language, texts
from app.core.messages import Limits, read
from app.core.model import Policy
from app.core.window.contents import TERMS_FIRST, Chapter, ContentsLine
from app.core.window.topics import Topic, features_of, merged, most_telling
from app.extractive.chapters import Shelf, ToldPage, close
from app.extractive.subjects import subjects_of_page
from app.recall.tools import TOOL_NAMES
from app.services.conversations.reading import READER
from app.text.language import squeeze
from bench.search import talks
from bench.window.replay import DATA
from quire_command.demo.command import CONVERSATION
from quire_command.demo.transcript import Transcript, load, transcript

SEED = 18
EACH = {
    "taubench": (0, 6), "deerflow": (2, 4), "sweagent": (0, 4), "livemcpbench": (0, 6), "locomo-noncommercial": (0, 2),
    "madial": (4, 0), "memorybank": (4, 2), "long": (3, 3),
}  # fmt: skip
"""The numbers of Chinese and English conversations of each folder."""
DIALOGUES = 4
"""The number of dialogues of MADial-Bench, in Chinese, that make one conversation."""
LOCOMO_MESSAGES = 120
MESSAGES_A_PAGE = 30
TOPICS_SHOWN = 8
SAMPLE = {"page title": 2, "line": 4, "topic": TOPICS_SHOWN, "chapter": 2, "archive": 3, "title": 1}
"""The number of texts of each kind that are judged of each conversation."""
ARCHIVED_FROM = 2_000
"""Results with at least this many characters are summarised here, which are more than Quire would archive."""
OF_CHARACTERS = 700
NOW = datetime(2026, 1, 1, tzinfo=UTC)


@dataclass(frozen=True)
class Text:
    """A text, and its source."""

    kind: str
    key: str
    text: str
    of: str = ""


@dataclass(frozen=True)
class Shown:
    """The texts of a conversation."""

    id: str
    half: str
    language: str
    texts: list[Text]
    notes: list[str]
    seconds: float

    def of(self, kind: str) -> list[str]:
        return [text.text for text in self.texts if text.kind == kind]


def forty() -> list[tuple[Transcript, str]]:
    """Return the conversations with their halves."""
    rng = Random(SEED)
    found: list[tuple[Transcript, str]] = []
    for folder, counts in EACH.items():
        if folder == "long":
            found += [(Transcript(talk.id, talk.messages), half) for half in "ab" for talk in talks.long(half).talks]
            continue
        here = sorted(_conversations(folder), key=lambda one: one.id)
        rng.shuffle(here)
        chosen = [one for zh, count in zip((True, False), counts, strict=True) for one in _some(here, zh, count)]
        found += [(one, "ab"[at % 2]) for at, one in enumerate(chosen)]
    return found


def _some(here: Sequence[Transcript], is_chinese: bool, count: int) -> list[Transcript]:
    return [one for one in here if _is_chinese(one) == is_chinese][:count]


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
    """Return the texts shown of a conversation that was appended at once, with all pages closed."""
    start = time.process_time()
    append = _appended(one)
    texts_ = list(_texts(append, one))
    notes = [wish.content for wish in append.wishes]
    return Shown(one.id, half, append.conversation.language or "en", texts_, notes, time.process_time() - start)


def _topics(append: Append) -> list[str]:
    lines: dict[int, list[ContentsLine]] = {}
    for row in append.messages:
        if row.line and row.kind != "prompt" and len(lines.setdefault(row.page, [])) < MESSAGES_A_PAGE:
            lines[row.page].append(
                ContentsLine(row.seq, "tool" if row.kind == "result" else row.role, row.line, row.line_tokens)
            )
    counted: dict[str, Topic] = {}
    for page in append.pages:
        here = lines.get(page.page, [])
        for name in merged(
            features_of(counted), subjects_of_page(page.title, [(line.role, line.text) for line in here], 3)
        ):
            mentions = counted[name].mentions if name in counted else 0
            counted[name] = Topic(name, mentions + 1, page.page)
    return [topic.name for topic in most_telling(counted.values(), TOPICS_SHOWN)]


def _texts(append: Append, one: Transcript) -> Iterator[Text]:
    said = [str(message["content"])[:OF_CHARACTERS] for message in one.messages]
    first = next((text for text, message in zip(said, one.messages, strict=True) if message["role"] == "user"), "")
    yield Text("title", "title", append.conversation.title or "", first)
    yield from (Text("topic", name, name) for name in _topics(append))
    for page in append.pages[1:]:
        yield Text("page title", f"page {page.page}", page.title, said[page.first_seq - 1])
    for row in append.messages:
        if row.role == "user" and row.kind != "prompt":
            yield Text("line", f"message {row.seq}", row.line, said[row.seq - 1])
    for archive in append.archives:
        yield Text(
            "archive",
            f"{archive.tool_name}, message {archive.seq}",
            archive.result_summary,
            archive.content[:OF_CHARACTERS],
        )
    for chapter in _chapters(append):
        of = "; ".join(page.title for page in append.pages if chapter.first_page <= page.page <= chapter.last_page)
        key = f"pages {chapter.first_page}-{chapter.last_page}"
        yield Text("chapter", key, ", ".join(chapter.terms[:TERMS_FIRST]), of[:OF_CHARACTERS])


def _sampled(one: Shown) -> Shown:
    """Return the texts that are judged."""
    rng = Random(f"{SEED} {one.id}")
    here = {kind: [text for text in one.texts if text.kind == kind] for kind in SAMPLE}
    chosen = [
        sorted(rng.sample(here[kind], min(SAMPLE[kind], len(here[kind]))), key=here[kind].index) for kind in SAMPLE
    ]
    return replace(one, texts=list(chain.from_iterable(chosen)))


def _chapters(append: Append) -> list[Chapter]:
    """Return the chapters that the pages make."""
    by_page = groupby(append.messages, key=lambda row: row.page)
    pages = [
        ToldPage(page, NOW, NOW, [word for row in islice(rows, MESSAGES_A_PAGE) for word in row.words.split()])
        for page, rows in by_page
    ]
    return [chapter for chapter in close(pages, Shelf({})) if chapter.level == 1]


def _appended(one: Transcript) -> Append:
    arrivals = [Arrival(draft) for draft in read([dict(m) for m in one.messages], Limits(messages=10_000))]
    conversation = Conversation(one.id, UUID(int=1), NOW, NOW)
    rules = PreparationRules(recall_tools=frozenset(TOOL_NAMES))
    basis = Basis(
        conversation,
        True,
        arrivals,
        "caller",
        Policy(archive_threshold=ARCHIVED_FROM),
        spoken_language(arrivals, READER),
        rules,
        NOW,
    )
    found = prepare(basis, {}, READER, lambda: UUID(int=7))
    return decide(basis, found, {text: _tokens(text) for text in texts(basis, found)}, lambda: UUID(int=7))


def _tokens(text: str) -> int:
    """Estimate the tokens of a text, on which the shown texts depend little."""
    return len(text) if not text.isascii() else 1 + len(text) // 4


def _print(one: Shown) -> None:
    click.echo(f"\n=== {one.id} ({one.half}, {one.language})")
    for text in (*one.texts, *(Text("note", "", note) for note in one.notes)):
        click.echo(f"{text.kind:<11}{text.text}")
        if text.of:
            click.echo(f"{'':<13}{text.key}: {squeeze(text.of)}")


@click.command()
@click.option("--half", type=click.Choice(["a", "b"]))
@click.option("--demo", is_flag=True)
@click.option("--json", "path", type=click.Path(path_type=Path))
def main(half: str | None, demo: bool, path: Path | None) -> None:
    chosen: Sequence[tuple[Transcript, str]] = [(load(CONVERSATION)[0], "")] if demo else forty()
    found = [_sampled(shown(one, its)) for one, its in chosen if half in (None, its)]
    for one in found:
        _print(one)
    if path is not None:
        path.write_text(json.dumps([asdict(one) for one in found], ensure_ascii=False, indent=1), "utf-8")
    click.echo(f"\n{len(found)} conversations, {sum(one.seconds for one in found):.2f} s of CPU", err=True)


if __name__ == "__main__":
    main()
