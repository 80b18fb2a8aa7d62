"""A reference model of the invariants: a conversation in memory, appended to and shown by the product's own functions.

What the services do with the database between those functions is done here with lists: rows are kept, and what jobs
found out is known from a revision on.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import cached_property
from itertools import count as count_from
from itertools import groupby
from uuid import UUID, uuid4

from app.core.canonical import dumps
from app.core.conversation import Conversation
from app.core.history.append import decide
from app.core.history.ingest import AnsweredCall, Placement, ShownForms, joined_from
from app.core.history.placeholder import ArchiveCard
from app.core.history.preparation import (
    Arrival,
    Basis,
    LinesOfMessage,
    Passage,
    PreparationRules,
    Prepared,
    prepare,
    results_to_count,
    texts,
)
from app.core.history.rows import NewMessage
from app.core.messages import Limits, read, weigh
from app.core.model import (
    Entry,
    Epoch,
    Fixed,
    Format,
    Item,
    Language,
    Layout,
    Policy,
    TailItem,
    Totals,
    Window,
)
from app.core.window import epoch, paging
from app.core.window.assemble import assemble, with_tail
from app.core.window.contents import Chapter, ContentsLine, PageEntry, PageNames
from app.core.window.epoch import EpochPlan, Material
from app.core.window.fresh import FreshResult, ResultPart, with_fresh
from app.core.window.head import HeadReader, SummaryLine, Written
from app.core.window.kept import KeptLine
from app.core.window.paging import ledger_reach
from app.core.window.profile import Profile, profile
from app.core.window.render import Rendered, render, tools_text
from app.core.window.squeezing import Cutter
from app.core.window.summarising import due_through
from app.core.window.topics import Topic, counted, merged
from app.extractive.chapters import Shelf, ToldPage, close, words_told
from tests.core.conversations import Message, Transcript

RECALL_TOOLS = frozenset({"recall_page", "load_tool_history"})
SYSTEM = "You are a careful assistant."
OPENAI_TOOLS = [{"type": "function", "function": {"name": "recall_page", "parameters": {"type": "object"}}}]
ANTHROPIC_TOOLS = [{"name": "recall_page", "input_schema": {"type": "object"}}]
NOW = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
LINES_PER_PAGE = 30


def count(text: str) -> int:
    """Tokens of a text; a join never counts more than its parts, as with real tokenizers (nearly)."""
    return len(text) // 4 + 1


def row_weight(row: Row) -> int:
    weighed = [weigh(message) for message in row.shape.view]
    return sum(overhead + sum(map(count, found)) for found, overhead in weighed)


def newest(lines: Sequence[tuple[str, str]], *, max_items: int, max_chars: int) -> list[int]:
    assert max_chars >= 0
    return list(range(len(lines)))[-max_items:]


READER = HeadReader(count, newest, str.splitlines)


class BookReader:
    """What is found out of texts, as simply as it can be."""

    def language(self, text: str) -> Language:
        return "en" if text.isascii() else "zh"

    def lines(self, placement: Placement) -> LinesOfMessage:
        said = placement.draft.text or "; ".join(answer.result.text for answer in placement.answers)
        line = " ".join(said.split())[:80]
        return LinesOfMessage(line, line[:40], words=" ".join(words_told(said)))

    def card(self, uuid: UUID, answer: AnsweredCall, language: Language, now: datetime) -> ArchiveCard:
        return ArchiveCard(
            uuid=uuid,
            tool_name=answer.call.name,
            query_summary=answer.call.arguments,
            created_at=now,
            length=len(answer.result.text),
            result_summary=answer.result.text[:200],
            key_terms=("terms", language),
            sources=(),
        )

    def passages(self, text: str, speaker: str | None) -> list[Passage]:
        return [(0, len(text), speaker or "")] if text else []

    def parts(self, text: str, question: str) -> list[tuple[int, int]]:
        found = [(at, min(100, len(text) - at)) for at in range(0, len(text), 100)]
        return sorted(found, key=lambda part: question[:5] not in text[part[0] : sum(part)])

    def topics(self, title: str, lines: Sequence[tuple[str, str]]) -> list[str]:
        return [title, *(line for _, line in lines)]


@dataclass(frozen=True)
class Row:
    """A stored message, and what it was made of."""

    prepared: Prepared
    message: NewMessage
    revision: int
    stored: datetime

    @property
    def day(self) -> str:
        return (self.message.said_at or self.stored).strftime("%Y-%m-%d")

    @property
    def placement(self) -> Placement:
        return self.prepared.placement

    @property
    def shape(self) -> ShownForms:
        return self.prepared.forms

    @cached_property
    def entry(self) -> Entry:
        found = self.message
        return Entry(
            seq=found.seq, page=found.page, group=found.call_group, kind=found.kind,
            full=found.full_tokens, short=found.short_tokens,
            full_before=found.full_before, short_before=found.short_before,
            user_seq=found.user_seq, revision=self.revision, fresh=found.fresh_tokens,
            loaded=max(0, found.loaded_tokens - found.full_tokens) if found.loaded_tokens else 0,
        )  # fmt: skip

    @property
    def line(self) -> ContentsLine:
        found = self.message
        return ContentsLine(found.seq, "tool" if found.results else found.role, found.line, found.line_tokens)

    @property
    def title(self) -> str:
        return self.message.line[:40]

    @property
    def archives(self) -> tuple[str, ...]:
        return tuple(map(str, self.message.archive_ids))


@dataclass(frozen=True)
class Seen:
    """What one GET saw, and what it was made of."""

    rows: tuple[Row, ...]
    conversation: Conversation
    wanted: Profile
    epoch: Epoch
    window: Window
    rendered: Rendered

    @property
    def totals(self) -> Totals:
        return self.conversation.totals

    @property
    def layout(self) -> Layout:
        return self.epoch.layout

    @cached_property
    def messages(self) -> list[Message]:
        messages: list[Message] = json.loads(self.rendered.messages)
        return messages

    @cached_property
    def texts(self) -> list[str]:
        """The messages as they are sent, byte for byte."""
        return [dumps(message) for message in self.messages]

    @cached_property
    def stable(self) -> list[str]:
        return self.texts[: self.rendered.stable_messages]


def decided(deciding: Generator[EpochPlan, Material, Epoch], material: Callable[[EpochPlan], Material]) -> Epoch:
    """The epoch, with the texts of each plan."""
    try:
        plan = next(deciding)
        while True:
            plan = deciding.send(material(plan))
    except StopIteration as end:
        found: Epoch = end.value
        return found


@dataclass
class Book:
    """A conversation in memory."""

    policy: Policy = field(default_factory=Policy)
    language: Language = "en"
    system: str = SYSTEM
    now: datetime = NOW
    rows: list[Row] = field(default_factory=list)
    conversation: Conversation = field(default_factory=lambda: Conversation("c", UUID(int=1), NOW, NOW))
    revision: int = 0
    recalls: list[tuple[int, int, int, int]] = field(default_factory=list)
    """Page, count, page at the time, revision."""
    deleted: set[int] = field(default_factory=set)
    archived: Iterator[int] = field(default_factory=lambda: count_from(1))
    names: dict[int, tuple[int, PageNames]] = field(default_factory=dict)
    """What jobs wrote of pages, with the revision."""
    mentions: list[tuple[Topic, int]] = field(default_factory=list)
    summaries: list[tuple[int, int, tuple[SummaryLine, ...]]] = field(default_factory=list)
    """The seq it reaches to, revision, lines."""
    notes: list[tuple[int, int, int, SummaryLine]] = field(default_factory=list)
    """Seq, revision, the revision that replaced it, the note."""
    chapters: list[Chapter] = field(default_factory=list)

    @property
    def totals(self) -> Totals:
        return self.conversation.totals

    # --- Append ---------------------------------------------------------------------------------------

    def append(self, messages: Sequence[Message]) -> list[Row]:
        arrivals = [Arrival(draft) for draft in read(list(messages), Limits())]
        basis = Basis(
            self.conversation, is_new=not self.rows, arrivals=arrivals, origin="caller", policy=self.policy,
            language=self.language, rules=PreparationRules(recall_tools=RECALL_TOOLS), now=self.now,
        )  # fmt: skip
        if any(answer.call.is_left for placed in basis.placed[0] for answer in placed.answers):
            basis = self._came_late(basis)
        counts = {text: count(text) for text in results_to_count(basis)}
        preparation = prepare(basis, counts, BookReader(), self._archive_id)
        counts |= {text: count(text) for text in texts(basis, preparation)}
        appended = decide(basis, preparation, counts, uuid4)
        self.conversation = appended.conversation
        prepared = zip(preparation.messages, appended.messages, strict=True)
        added = [Row(one, message, self.revision, self.now) for one, message in prepared]
        self.rows += added
        self._close_chapters()
        return added

    def _came_late(self, basis: Basis) -> Basis:
        """What app/services/conversations/changes.py does when a result comes late."""
        group = joined_from(self.conversation.end, basis.placed[0])
        self.rows = [
            replace(row, message=replace(row.message, call_group=min(row.message.call_group, group)))
            if group is not None and row.message.seq > group
            else row
            for row in self.rows
        ]
        totals = self.conversation.totals
        totals = replace(totals, generation=totals.generation + totals.last_seq + 1)
        return replace(basis, conversation=replace(self.conversation, totals=totals))

    def _close_chapters(self) -> None:
        """What the append's transaction does, as app/services/conversations/chapters.py does it."""
        through = max((chapter.last_page for chapter in self.chapters), default=0)
        by_page = {page: list(rows) for page, rows in groupby(self.rows, key=lambda row: row.entry.page)}
        pages = [
            ToldPage(
                page, rows[0].stored, rows[-1].stored,
                [(row.message.role, row.message.line, row.message.words) for row in rows[:LINES_PER_PAGE]],
            )
            for page, rows in by_page.items()
            if through < page < self.totals.last_page
        ]  # fmt: skip
        levels: dict[int, list[Chapter]] = {}
        for chapter in self.chapters:
            levels.setdefault(chapter.level, []).append(chapter)
        self.chapters += close(pages, Shelf(levels), count)

    def _archive_id(self) -> UUID:
        """Return an id that is the same however the messages are batched."""
        return UUID(int=(7 << 76) + next(self.archived))

    def recall(self, page: int) -> None:
        """A recall tool is used on a page."""
        self.revision += 1
        times = sum(1 for recalled, *_ in self.recalls if recalled == page) + 1
        self.recalls.append((page, times, self.totals.last_page, self.revision))

    def index(self) -> None:
        """The job of the first closed page that has no index is done; its note replaces the one before."""
        page = len(self.names) + 1
        if page >= self.totals.last_page:
            return
        self.revision += 1
        seqs = [row.entry.seq for row in self._kept() if row.entry.page == page]
        lines = {seq: self._named(f"message {seq} in the model's words") for seq in seqs}
        title = self._named(f"page {page} in the model's words")
        known = [topic.name for topic, _ in self.mentions]
        [topic] = merged(known, [f"subject {page % 3}"])
        self.names[page] = (self.revision, PageNames(*title, lines))
        self.mentions.append((Topic(topic, known.count(topic) + 1, page), self.revision))
        if seqs and page % 4 == 1:
            last = len(self.notes) - 1
            self.notes = [
                (seq, since, self.revision if i == last else until, line)
                for i, (seq, since, until, line) in enumerate(self.notes)
            ]
            note = SummaryLine(*self._named(f"keep to rule {page}"))
            self.notes.append((seqs[0], self.revision, 2**31, note))

    def summarise(self) -> None:
        """The summary's job is done."""
        covered = self.summaries[-1][0] if self.summaries else 0
        if through := due_through(self.totals.last_seq, covered, 10):
            self.revision += 1
            lines = tuple(SummaryLine(*self._named(f"sentence {n} of {through}")) for n in range(1, 9))
            self.summaries.append((through, self.revision, lines))

    def _named(self, text: str) -> tuple[str, int]:
        return text, count(text)

    # --- Window ---------------------------------------------------------------------------------------

    def profile(self, budget: int, form: Format = "openai") -> Profile:
        tools = OPENAI_TOOLS if form == "openai" else ANTHROPIC_TOOLS
        system = count(self.system) + 4 + sum(row_weight(row) for row in self._prompt())
        return profile(self.policy, budget, Fixed(tools_tokens=count(dumps(tools)), system_tokens=system))

    def window(self, budget: int, form: Format = "openai", tail: Sequence[TailItem] = ()) -> Seen:
        """The window. Raises BudgetTooSmall."""
        wanted = self.profile(budget, form)
        found = self.epoch(wanted)
        window = assemble(
            found,
            self.items(found.layout),
            wanted,
            self.totals,
            cutter=Cutter(self.language, self.policy.condensed_tool_max, count),
        )
        window = with_tail(with_fresh(window, self.results()), tail)
        tools = OPENAI_TOOLS if form == "openai" else ANTHROPIC_TOOLS
        rendered = render(window, self._system_text(), tools_text(tools, form), form, self.language)
        return Seen(tuple(self._kept()), self.conversation, wanted, found, window, rendered)

    def results(self) -> list[FreshResult]:
        """What is archived, in full."""
        return [
            FreshResult(UUID(uuid), text, count(text), parts)
            for row in self._kept()
            for uuid, i in zip(row.archives, row.shape.archived, strict=True)
            for text in [row.placement.answers[i].result.text]
            for parts in [tuple(ResultPart(at, part, count(part)) for at, part in row.prepared.archived[i].parts)]
        ]

    def layout(self, wanted: Profile, *, from_scratch: bool = False) -> Layout:
        entries = (
            [row.entry for row in self._kept()]
            if from_scratch
            else self.entries(ledger_reach(self.totals, wanted.shares))
        )
        return paging.layout(entries, self.totals, wanted.shares, wanted.policy)

    def entries(self, bound: int) -> list[Entry]:
        """The newest entries, as app/store/windows.py reads them."""
        known = [row.entry for row in self._kept()]
        start = next((e for e in reversed(known) if e.short_before <= bound), None)
        if start is None:
            return []
        first = next((e for e in known if e.seq == start.group), start)
        opener = [e for e in known if e.seq == min(start.user_seq, first.user_seq) and e.seq < start.group]
        return opener + [e for e in known if e.seq >= start.group]

    def plan(self, wanted: Profile) -> EpochPlan:
        """The plan where nothing is kept in mind."""
        entries = self.entries(ledger_reach(self.totals, wanted.shares))
        return epoch.plan(self.layout(wanted), entries, self.language, wanted)

    def epoch(self, wanted: Profile) -> Epoch:
        entries = self.entries(ledger_reach(self.totals, wanted.shares))
        return decided(epoch.decide(entries, self.totals, self.language, wanted, READER), self.material)

    def material(self, plan: EpochPlan) -> Material:
        """What is known at the layout's revision, as app/store/heads.py reads it."""
        layout, recalled = plan.layout, self._recalled(plan.layout)
        listable = set(range(plan.oldest_read, plan.last_page + 1))
        listable |= {page for page, (_, at) in recalled.items() if page <= plan.last_page and at >= plan.recalled_since}
        stored = {page: list(rows) for page, rows in groupby(self._kept(), key=lambda row: row.entry.page)}
        return Material(
            pages=[self._page_entry(stored[page], plan) for page in sorted({*listable, *plan.zone} & stored.keys())],
            chapters=[
                chapter
                for chapter in self.chapters
                if chapter.last_page <= plan.last_page and chapter.at_page <= layout.trigger_page
            ],
            names={page: names for page, (since, names) in self.names.items() if since <= layout.revision},
            kept=[
                KeptLine(UUID(int=seq), line.text, line.tokens, datetime(2026, 1, 1, tzinfo=UTC))
                for seq, since, until, line in reversed(self.notes)
                if seq < layout.condensed_from and since <= layout.revision < until
            ],
            topics=counted(
                (topic.name, topic.mentions, topic.last_page)
                for topic, since in reversed(self.mentions)
                if since <= layout.revision and topic.last_page <= plan.last_page
            ),
            summary=self._summary(layout),
        )

    def _summary(self, layout: Layout) -> Written | None:
        """The earliest version known then that covers all that left the window, else the newest."""
        known = [(through, lines) for through, since, lines in self.summaries if since <= layout.revision]
        covering = [found for found in known if found[0] >= layout.condensed_from - 1]
        for through, lines in covering[:1] or known[-1:]:
            return Written("\n".join(line.text for line in lines), through, "llm")
        return None

    def _recalled(self, layout: Layout) -> dict[int, tuple[int, int]]:
        return {page: (times, at) for page, times, at, revision in self.recalls if revision <= layout.revision}

    def _page_entry(self, rows: Sequence[Row], plan: EpochPlan) -> PageEntry:
        page = rows[0].entry.page
        gone = [row for row in rows if row.entry.seq < plan.layout.condensed_from and page <= plan.last_page]
        lines = [row.line for row in gone if row.line.text and row.entry.kind != "prompt"][:LINES_PER_PAGE]
        title = rows[0].title
        count_, at = self._recalled(plan.layout).get(page, (0, 0))
        return PageEntry(page, title, count(title), tuple(lines), count_, at, day=rows[0].day)

    def items(self, layout: Layout) -> list[Item]:
        shown = [
            row
            for row in self._kept()
            if row.entry.seq >= layout.condensed_from or row.entry.seq == layout.pinned
        ]  # fmt: skip
        return [self._item(row, layout) for row in shown if row.entry.kind != "prompt"]

    def _item(self, row: Row, layout: Layout) -> Item:
        entry, found = row.entry, row.message
        verbatim = entry.seq >= layout.verbatim_from or entry.seq == layout.pinned
        view = found.view if found.view is not None else found.body
        return Item(
            seq=entry.seq,
            page=entry.page,
            group=entry.group,
            kind=entry.kind,
            role="tool" if entry.kind == "result" else found.role,
            text=view if verbatim or found.short is None else found.short,
            parts=found.parts,
            tokens=entry.full if verbatim else entry.short,
            calls=found.calls,
            results=found.results,
            full_after=entry.full_after,
            loaded_text=found.loaded
            if entry.page == self.totals.last_page and entry.seq >= layout.verbatim_from
            else None,
            loaded_tokens=found.loaded_tokens,
            short_text=found.short if verbatim else None,
            short_tokens=entry.short,
            anthropic=found.anthropic if verbatim else None,
            archive_ids=row.archives,
            fresh=found.fresh_tokens,
        )

    def _kept(self) -> Iterator[Row]:
        return (row for row in self.rows if row.entry.seq not in self.deleted)

    def _prompt(self) -> Iterator[Row]:
        return (row for row in self._kept() if row.entry.kind == "prompt")

    def _system_text(self) -> str:
        return "\n\n".join(text for text in (self.system, *map(plain, self._prompt())) if text)


def plain(row: Row) -> str:
    """The words of a prompt, as they go into the system section."""
    content = row.shape.view[0]["content"]
    if isinstance(content, str):
        return content
    return "\n".join(part["text"] for part in content if part["type"] == "text")


def read_whole(transcript: Transcript, policy: Policy) -> Iterator[Book]:
    """The same book after each of a transcript's batches."""
    book = Book(policy)
    for batch in transcript.batches:
        book.append(batch)
        yield book
