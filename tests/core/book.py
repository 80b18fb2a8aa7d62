"""A reference model of the invariants: a conversation in memory, appended to and shown by the product's own functions.

Lists replace the database that the services use between those functions.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
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
    Cut,
    Entry,
    Fixed,
    Format,
    FreshForm,
    Item,
    Language,
    Policy,
    TailItem,
    Totals,
    Window,
)
from app.core.window import cut
from app.core.window.assemble import Body, assemble, lay_out, with_tail
from app.core.window.contents import Chapter, ContentsLine, PageEntry
from app.core.window.cut import CutPlan, Material
from app.core.window.fresh import FreshResult, ResultPart, with_fresh
from app.core.window.head import HeadReader, Written, frame_tokens
from app.core.window.kept import KeptLine
from app.core.window.profile import Profile, profile
from app.core.window.render import Rendered, render, tools_text
from app.core.window.squeezing import Cutter
from app.core.window.summarising import due_through
from app.core.window.topics import counted, features_of, merged
from app.extractive.chapters import Shelf, ToldPage, close, words_told
from tests.core.conversations import Message, Transcript

RECALL_TOOLS = frozenset({"recall_page", "load_tool_history"})
SYSTEM = "You are a careful assistant."
OPENAI_TOOLS = [{"type": "function", "function": {"name": "recall_page", "parameters": {"type": "object"}}}]
ANTHROPIC_TOOLS = [{"name": "recall_page", "input_schema": {"type": "object"}}]
NOW = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
LINES_PER_PAGE = 30


def count(text: str) -> int:
    """Return the tokens of a text. A join never counts more than its parts, as nearly with real tokenizers."""
    return len(text) // 4 + 1


def row_weight(row: Row) -> int:
    weighed = [weigh(message) for message in row.shape.view]
    return sum(overhead + sum(map(count, found)) for found, overhead in weighed)


def newest(lines: Sequence[tuple[str, str]], *, max_items: int, max_chars: int) -> list[int]:
    assert max_chars >= 0
    return list(range(len(lines)))[-max_items:]


READER = HeadReader(count, newest, str.splitlines)


class BookReader:
    """Analyses texts in the simplest way."""

    def language(self, text: str) -> Language:
        return "en" if text.isascii() else "zh"

    def lines(self, placement: Placement, line: str | None) -> LinesOfMessage:
        said = placement.draft.text or "; ".join(answer.result.text for answer in placement.answers)
        line = line or " ".join(said.split())[:80]
        return LinesOfMessage(line, line[:40], words=" ".join(words_told(said)))

    def card(self, uuid: UUID, answer: AnsweredCall, language: Language, now: datetime) -> tuple[ArchiveCard, str]:
        card = ArchiveCard(
            uuid=uuid,
            tool_name=answer.call.name,
            query_summary=answer.call.arguments,
            created_at=now,
            length=len(answer.result.text),
            result_summary=answer.result.text[:200],
            key_terms=("terms", language),
            sources=(),
        )
        return card, " ".join(answer.result.text.split())[:80]

    def passages(self, text: str, speaker: str | None) -> list[Passage]:
        return [(0, len(text), speaker or "")] if text else []

    def parts(self, text: str, question: str, characters_max: int) -> list[tuple[int, int]]:
        found = [(at, min(100, len(text) - at)) for at in range(0, len(text), 100)]
        return sorted(found, key=lambda part: question[:5] not in text[part[0] : sum(part)])[: characters_max // 100]

    def topics(self, title: str, lines: Sequence[tuple[str, str]]) -> list[str]:
        return [title, *(line for _, line in lines)]


@dataclass(frozen=True)
class Row:
    """A stored message, with its source."""

    prepared: Prepared
    message: NewMessage
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
            user_seq=found.user_seq, fresh=found.fresh_tokens,
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
    """The window of a GET, with its source."""

    rows: tuple[Row, ...]
    conversation: Conversation
    wanted: Profile
    cut: Cut
    window: Window
    rendered: Rendered

    @property
    def totals(self) -> Totals:
        return self.conversation.totals

    @property
    def text(self) -> str:
        return self.rendered.messages.decode()

    @property
    def system(self) -> str | None:
        form, system, *_ = self.rendered.stable.begun
        return system if form == "anthropic" else None

    @property
    def stable_tokens(self) -> int:
        return self.window.ledger.total - self.window.ledger.tail

    @cached_property
    def messages(self) -> list[Message]:
        messages: list[Message] = json.loads(self.rendered.messages)
        return messages

    @cached_property
    def texts(self) -> list[str]:
        """Return the messages as they are sent, byte for byte."""
        return [dumps(message) for message in self.messages]

    @cached_property
    def stable(self) -> list[str]:
        return self.texts[: self.rendered.stable.count]


@dataclass
class Book:
    """A conversation in memory."""

    policy: Policy = field(default_factory=Policy)
    language: Language = "en"
    system: str = SYSTEM
    now: datetime = NOW
    rows: list[Row] = field(default_factory=list)
    conversation: Conversation = field(default_factory=lambda: Conversation("c", UUID(int=1), NOW, NOW))
    cuts: dict[int, Cut] = field(default_factory=dict)
    """The newest cut of each budget."""
    recalls: dict[int, tuple[int, int]] = field(default_factory=dict)
    """The count of recalls by page, with the conversation's last page at the last one."""
    deleted: set[int] = field(default_factory=set)
    archived: Iterator[int] = field(default_factory=lambda: count_from(1))
    names: dict[int, tuple[tuple[str, int], dict[int, tuple[str, int]]]] = field(default_factory=dict)
    """The page indexes that jobs wrote."""
    mentions: list[tuple[str, int]] = field(default_factory=list)
    summaries: list[Written] = field(default_factory=list)
    notes: list[tuple[int, KeptLine]] = field(default_factory=list)
    """The pinned memories, each with the message that states it."""
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
        added = [Row(one, message, self.now) for one, message in prepared]
        self.rows += added
        self._close_chapters()
        return added

    def _came_late(self, basis: Basis) -> Basis:
        """Do the same as app/services/conversations/changes.py does for a late result."""
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
        """Close chapters in the append, as app/services/conversations/chapters.py does."""
        through = max((chapter.last_page for chapter in self.chapters), default=0)
        by_page = {page: list(rows) for page, rows in groupby(self.rows, key=lambda row: row.entry.page)}
        pages = [
            ToldPage(
                page, rows[0].stored, rows[-1].stored,
                [word for row in rows[:LINES_PER_PAGE] for word in row.message.words.split()],
            )
            for page, rows in by_page.items()
            if through < page < self.totals.last_page
        ]  # fmt: skip
        levels: dict[int, list[Chapter]] = {}
        for chapter in self.chapters:
            levels.setdefault(chapter.level, []).append(chapter)
        self.chapters += close(pages, Shelf(levels))

    def _archive_id(self) -> UUID:
        """Return an id that does not depend on how messages are batched."""
        return UUID(int=(7 << 76) + next(self.archived))

    def recall(self, page: int) -> None:
        """Use a recall tool on a page."""
        times, _ = self.recalls.get(page, (0, 0))
        self.recalls[page] = times + 1, self.totals.last_page

    def index(self) -> None:
        """Do the job of the first closed page without an index, and pin the memories that it finds."""
        page = len(self.names) + 1
        if page >= self.totals.last_page:
            return
        seqs = [row.entry.seq for row in self._kept() if row.entry.page == page]
        lines = {seq: self._named(f"message {seq} in the model's words") for seq in seqs}
        self.names[page] = self._named(f"page {page} in the model's words"), lines
        known = [name for name, _ in self.mentions]
        [topic] = merged(features_of(known), [f"subject {page % 3}"])
        self.mentions.append((topic, page))
        if seqs and page % 4 == 1:
            note = KeptLine(UUID(int=seqs[0]), *self._named(f"keep to rule {page}"), NOW)
            self.notes.append((seqs[0], note))

    def summarise(self) -> None:
        """Do the summary's job."""
        covered = self.summaries[-1].through_seq if self.summaries else 0
        if through := due_through(self.totals.last_seq, covered, 10):
            text = "\n".join(f"sentence {n} of {through}" for n in range(1, 9))
            self.summaries.append(Written(text, through, "llm"))

    def _named(self, text: str) -> tuple[str, int]:
        return text, count(text)

    # --- Window ---------------------------------------------------------------------------------------

    def profile(self, budget: int, form: Format = "openai", reserve: int = 0) -> Profile:
        tools = OPENAI_TOOLS if form == "openai" else ANTHROPIC_TOOLS
        system = count(self.system) + 4 + sum(row_weight(row) for row in self._prompt())
        fixed = Fixed(tools_tokens=count(dumps(tools)), system_tokens=system)
        return profile(self.policy, budget, fixed, reserve=reserve)

    def window(self, budget: int, form: Format = "openai", tail: Sequence[TailItem] = (), reserve: int = 0) -> Seen:
        """Return the window. Raises BudgetTooSmall."""
        wanted = self.profile(budget, form, reserve)
        shown, window = self._shown(wanted)
        window = with_tail(with_fresh(window, self.results()), tail)
        tools = OPENAI_TOOLS if form == "openai" else ANTHROPIC_TOOLS
        rendered = render(window, self._system_text(), tools_text(tools, form), form, self.language)
        return Seen(tuple(self._kept()), self.conversation, wanted, shown, window, rendered)

    def _shown(self, wanted: Profile) -> tuple[Cut, Window]:
        """Show the last cut; if it does not fit, cut again and remember: app/services/conversations/context.py."""
        last = None if wanted.shares.reserve else self.cuts.get(wanted.budget)
        if last is None or last.generation != self.totals.generation:
            last = self._store(self.new_cut(wanted))
        while not cut.is_in_force(last, window := self.by(last, wanted), self.totals):
            made = self.new_cut(wanted, window.forms)
            if made.last_seq == last.last_seq and window.is_over:
                made = replace(made, is_squeezed=True)
            if cut.shows(made) == cut.shows(last):
                break
            last = self._store(made)
        return last, window

    def shown_cut(self, wanted: Profile) -> Cut:
        return self._shown(wanted)[0]

    def by(self, shown: Cut, wanted: Profile) -> Window:
        """Return the window by a cut."""
        cutter = Cutter(self.language, self.policy.condensed_tool_max, count)
        body = lay_out(Body(), self.items(shown), shown, self.totals.last_page, None)
        return assemble(shown, body, wanted, self.totals, cutter=cutter)

    def _store(self, made: Cut) -> Cut:
        self.cuts[made.budget] = made
        self.conversation = replace(self.conversation, epoch=made.number)
        return made

    def results(self) -> list[FreshResult]:
        """Return all archived results in full."""
        return [
            FreshResult(UUID(uuid), text, count(text), parts)
            for row in self._kept()
            for uuid, i in zip(row.archives, row.shape.archived, strict=True)
            for text in [row.placement.answers[i].result.text]
            for parts in [tuple(ResultPart(at, part, count(part)) for at, part in row.prepared.archived[i].parts)]
        ]

    def new_cut(self, wanted: Profile, forms: Sequence[FreshForm] = ()) -> Cut:
        """Make a new cut, as app/services/conversations/cuts.py does."""
        about = self.basis(wanted, forms)
        plan = cut.plan(about)
        if least := cut.least_head(plan, self.material(plan), READER):
            plan = cut.plan(about, least)
        return cut.freeze(plan, self.material(plan), READER)

    def basis(self, wanted: Profile, forms: Sequence[FreshForm] = ()) -> cut.CutBasis:
        entries = self.entries(max(0, self.totals.short - wanted.shares.body))
        frame, number = frame_tokens(self.language, count), self.conversation.epoch + 1
        return cut.CutBasis(entries, self.totals, self.language, wanted, frame, number, forms=forms)

    def entries(self, bound: int) -> list[Entry]:
        """Return the newest entries, as app/store/windows.py reads them."""
        known = [row.entry for row in self._kept()]
        start = next((e for e in reversed(known) if e.short_before <= bound), None)
        if start is None:
            return []
        first = next((e for e in known if e.seq == start.group), start)
        opener = [e for e in known if e.seq == min(start.user_seq, first.user_seq) and e.seq < start.group]
        return opener + [e for e in known if e.seq >= start.group]

    def material(self, plan: CutPlan) -> Material:
        """Return the material of a head, as app/store/heads.py reads it."""
        last, gone = plan.last_page, plan.cut.condensed_from
        chapters = [chapter for chapter in self.chapters if chapter.last_page <= last]
        listable = set(plan.read(chapters, count))
        listable |= {page for page, (_, at) in self.recalls.items() if page <= last and at >= plan.recalled_since}
        stored = {page: list(rows) for page, rows in groupby(self._kept(), key=lambda row: row.entry.page)}
        covering = [written for written in self.summaries if written.through_seq >= gone - 1]
        return Material(
            pages=[self._page_entry(stored[page], plan) for page in sorted(listable & stored.keys())],
            chapters=chapters,
            kept=[note for seq, note in reversed(self.notes) if seq < gone],
            topics=counted((name, page) for name, page in reversed(self.mentions) if page <= last),
            summary=next(iter([*covering[:1], *self.summaries[-1:]]), None),
        )

    def _page_entry(self, rows: Sequence[Row], plan: CutPlan) -> PageEntry:
        page = rows[0].entry.page
        gone = [row for row in rows if row.entry.seq < plan.cut.condensed_from and page <= plan.last_page]
        lines = [row.line for row in gone if row.line.text and row.entry.kind != "prompt"][:LINES_PER_PAGE]
        title, named = self.names.get(page, (self._named(rows[0].title), {}))
        told = [ContentsLine(line.seq, line.role, *named.get(line.seq, line[2:])) for line in lines]
        return PageEntry(page, *title, tuple(told), *self.recalls.get(page, (0, 0)), day=rows[0].day)

    def items(self, shown: Cut) -> list[Item]:
        """Return the rows of a cut's zones, as app/store/windows.py reads them."""
        rows = [row for row in self._kept() if row.entry.seq >= shown.condensed_from or row.entry.seq == shown.pinned]
        return [self._item(row, shown) for row in rows if row.entry.kind != "prompt"]

    def _item(self, row: Row, shown: Cut) -> Item:
        entry, found = row.entry, row.message
        verbatim = entry.seq >= shown.verbatim_from or entry.seq == shown.pinned
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
            if entry.page == self.totals.last_page and entry.seq >= shown.verbatim_from
            else None,
            loaded_tokens=found.loaded_tokens,
            short_text=found.short if verbatim else None,
            short_tokens=entry.short,
            anthropic=found.anthropic if entry.seq >= shown.verbatim_from else None,
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
    """Return the words of a prompt, as the system section shows them."""
    content = row.shape.view[0]["content"]
    if isinstance(content, str):
        return content
    return "\n".join(part["text"] for part in content if part["type"] == "text")


def read_whole(transcript: Transcript, policy: Policy) -> Iterator[Book]:
    """Yield the same book after each of a transcript's batches."""
    book = Book(policy)
    for batch in transcript.batches:
        book.append(batch)
        yield book
