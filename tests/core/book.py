"""A reference model of the invariants: a conversation in memory, appended to and shown by the product's own functions.

What the services do with the database between those functions is done here with lists: rows are kept, and what jobs
found out is known from a revision on.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cached_property
from itertools import count as count_from
from typing import Any
from uuid import UUID, uuid4

from app.core import contents, head, paging
from app.core.append import decide
from app.core.assemble import assemble, with_tail
from app.core.canonical import dumps
from app.core.contents import Line, PageEntry, PageNames
from app.core.conversation import Conversation
from app.core.fresh import FreshResult, with_fresh
from app.core.head import SummaryLine
from app.core.ingest import AnsweredCall, Placement, ShownForms
from app.core.messages import Limits, read, weigh
from app.core.model import (
    Entry,
    Epoch,
    Fixed,
    Format,
    Head,
    Item,
    Language,
    Layout,
    Policy,
    TailItem,
    Totals,
    Window,
)
from app.core.paging import ledger_reach
from app.core.placeholder import ArchiveCard
from app.core.preparation import Arrival, Basis, Lines, Passage, Prepared, Rules, prepare, results_to_count, texts
from app.core.profile import Profile, profile
from app.core.render import Rendered, render, tools_text
from app.core.rows import NewMessage
from app.core.summarising import due_through
from app.core.topics import Topic, merged
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


def topics(titles: Sequence[str]) -> list[str]:
    return [title[:12] for title in titles[:3]]


class BookReader:
    """What is found out of texts, as simply as it can be."""

    def language(self, text: str) -> Language:
        return "en" if text.isascii() else "zh"

    def lines(self, placement: Placement) -> Lines:
        said = placement.draft.text or "; ".join(answer.result.text for answer in placement.answers)
        line = " ".join(said.split())[:80]
        return Lines(line, line[:40])

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


@dataclass(frozen=True)
class Row:
    """A stored message, and what it was made of."""

    prepared: Prepared
    message: NewMessage
    revision: int

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
            user_seq=found.user_seq, revision=self.revision,
        )  # fmt: skip

    @property
    def line(self) -> Line:
        found = self.message
        return Line(found.seq, "tool" if found.results else found.role, found.line, found.line_tokens)

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


@dataclass
class Book:
    """A conversation in memory."""

    policy: Policy = field(default_factory=Policy)
    language: Language = "en"
    system: str = SYSTEM
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

    @property
    def totals(self) -> Totals:
        return self.conversation.totals

    # --- Append ---------------------------------------------------------------------------------------

    def append(self, messages: Sequence[Message]) -> list[Row]:
        arrivals = [Arrival(draft) for draft in read(list(messages), Limits())]
        basis = Basis(
            self.conversation, is_new=not self.rows, arrivals=arrivals, origin="caller", policy=self.policy,
            language=self.language, rules=Rules(recall_tools=RECALL_TOOLS), now=NOW,
        )  # fmt: skip
        counts = {text: count(text) for text in results_to_count(basis)}
        preparation = prepare(basis, counts, BookReader(), self._archive_id)
        counts |= {text: count(text) for text in texts(basis, preparation)}
        appended = decide(basis, preparation, counts, uuid4)
        self.conversation = appended.conversation
        prepared = zip(preparation.messages, appended.messages, strict=True)
        added = [Row(one, message, self.revision) for one, message in prepared]
        self.rows += added
        return added

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
        epoch = self.epoch(wanted)
        window = assemble(epoch, self.items(epoch.layout), wanted.fixed, budget, self.totals)
        window = with_tail(with_fresh(window, self.results(), self.totals.last_page), tail)
        tools = OPENAI_TOOLS if form == "openai" else ANTHROPIC_TOOLS
        rendered = render(window, self._system_text(), tools_text(tools, form), form, self.language)
        return Seen(tuple(self._kept()), self.conversation, wanted, epoch, window, rendered)

    def results(self) -> list[FreshResult]:
        """What is archived, in full."""
        return [
            FreshResult(UUID(uuid), text, count(text))
            for row in self._kept()
            for uuid, i in zip(row.archives, row.shape.archived, strict=True)
            for text in [row.placement.answers[i].result.text]
        ]

    def layout(self, wanted: Profile, *, from_scratch: bool = False) -> Layout:
        entries = [row.entry for row in self._kept()] if from_scratch else self.entries(ledger_reach(wanted.shares))
        return paging.layout(entries, self.totals, wanted.shares, wanted.policy)

    def entries(self, reach: int) -> list[Entry]:
        """The newest entries, as app/store/windows.py reads them."""
        known = [row.entry for row in self._kept()]
        bound = max(0, self.totals.short - reach)
        start = next((e for e in reversed(known) if e.short_before <= bound), None)
        if start is None:
            return []
        opener = [e for e in known if e.seq == start.user_seq and e.seq < start.group]
        return opener + [e for e in known if e.seq >= start.group]

    def epoch(self, wanted: Profile) -> Epoch:
        layout = self.layout(wanted)
        if layout.condensed_from <= 1:
            return Epoch(layout, Head())
        entries = self.entries(ledger_reach(wanted.shares))
        first = next(e for e in entries if e.seq == layout.condensed_from)
        return Epoch(layout, self._head(layout, first.page - 1 if first.opens_page else first.page, wanted))

    def _head(self, layout: Layout, last_page: int, wanted: Profile) -> Head:
        policy, language = wanted.policy, self.language
        frame = head.frame_tokens(language, count)
        room = layout.head_room - frame
        notes = self._notes(layout)
        if room <= 0 or last_page < 1:
            return Head(unlisted=last_page, notes_left_out=len(notes))
        noted = head.take(notes, head.notes_room(room, policy))
        room -= sum(line.tokens + head.BULLET for line in noted)
        archived = [row for row in self._kept() if row.entry.seq < layout.condensed_from]
        for_summary = head.summary_room(room, policy)
        known = {t.name: t for t, since in self.mentions if since <= layout.revision and t.last_page <= last_page}
        topic_line = head.topics_line(list(known.values()), for_summary, language, count)
        spent = topic_line.tokens + head.BULLET if topic_line else 0
        through, lines = self._summary(layout, archived)
        summary = head.take(lines, for_summary - spent)
        spent += sum(line.tokens + head.BULLET for line in summary)
        cap = min(room - spent, policy.contents_max)
        entries = [e for e in map(self._page_entry(layout), range(1, last_page + 1)) if self._listed(e, layout)]
        selection = contents.select(entries, cap, policy)
        titles = {row.entry.page: row.title for row in reversed(archived)}
        titles |= {p: n.title for p, (since, n) in self.names.items() if since <= layout.revision and p in titles}
        page = contents.compose(entries, selection, last_page, titles, cap, policy, language, topics, count)
        return head.compose(
            noted, summary, page, language, frame,
            summary_through_seq=through, topics=topic_line, notes_left_out=len(notes) - len(noted),
        )  # fmt: skip

    def _notes(self, layout: Layout) -> list[SummaryLine]:
        """Those that held at the layout's revision and whose message is out of view."""
        return [
            line
            for seq, since, until, line in self.notes
            if seq < layout.condensed_from and since <= layout.revision < until
        ]

    def _summary(self, layout: Layout, archived: Sequence[Row]) -> tuple[int, list[SummaryLine]]:
        """The earliest version known then that covers all that left the window, else the newest; else lines."""
        known = [(through, lines) for through, since, lines in self.summaries if since <= layout.revision]
        covering = [found for found in known if found[0] >= layout.condensed_from - 1]
        for through, written in covering[:1] or known[-1:]:
            return through, list(written)
        said = [row.line for row in archived if row.line.role in ("user", "assistant") and row.line.text]
        return layout.condensed_from - 1, [SummaryLine(line.text, line.tokens) for line in said[-8:]]

    def _listed(self, entry: PageEntry, layout: Layout) -> bool:
        recalled, at_page = entry.recall_count, entry.last_recalled_page
        return contents.is_listed(entry.page, recalled, at_page, layout.trigger_page, self.policy)

    def _page_entry(self, layout: Layout) -> Any:
        known: Mapping[int, tuple[int, int]] = {
            page: (times, at) for page, times, at, revision in self.recalls if revision <= layout.revision
        }

        def entry(page: int) -> PageEntry:
            rows = [r for r in self._kept() if r.entry.page == page and r.entry.seq < layout.condensed_from]
            lines = [r.line for r in rows if r.line.text and r.entry.kind != "prompt"][:LINES_PER_PAGE]
            title = rows[0].title if rows else ""
            found = PageEntry(page, title, count(title), tuple(lines), *known.get(page, (0, 0)))
            since, names = self.names.get(page, (0, None))
            return contents.renamed(found, names if since <= layout.revision else None)

        return entry

    def items(self, layout: Layout) -> list[Item]:
        shown = [
            row
            for row in self._kept()
            if row.entry.seq >= layout.condensed_from or row.entry.seq == layout.pinned
        ]  # fmt: skip
        return [self._item(row, layout) for row in shown if row.entry.kind != "prompt"]

    def _item(self, row: Row, layout: Layout) -> Item:
        entry, found = row.entry, row.message
        verbatim = entry.seq >= layout.verbatim_from
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
            loaded_text=found.loaded if entry.page == self.totals.last_page else None,
            loaded_tokens=found.loaded_tokens,
            short_text=found.short if verbatim else None,
            short_tokens=entry.short,
            anthropic=found.anthropic if verbatim else None,
            archive_ids=row.archives,
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
