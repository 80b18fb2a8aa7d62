"""The seven invariants of the window, over whole conversations (docs: "The invariants").

Each property takes a transcript, replays it batch by batch through the executable specification in ``book.py``,
and looks at every window on the way.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.core.groups import units
from app.core.model import Format, Item, Policy, TailItem
from app.core.parts import as_chat
from app.core.window.budget import usable
from app.core.window.render import origins, tail_text
from app.errors import BudgetTooSmall
from tests.core.apis import (
    anthropic_problems,
    anthropic_tokens,
    cache_marks,
    openai_problems,
    openai_tokens,
)
from tests.core.book import ANTHROPIC_TOOLS, OPENAI_TOOLS, RECALL_TOOLS, Book, Row, Seen, count, plain
from tests.core.conversations import Transcript, transcripts

FORMATS: tuple[Format, ...] = ("openai", "anthropic")
moderate = settings(max_examples=settings().max_examples // 4)  # each is a whole conversation

policies = st.builds(
    Policy,
    full_recent_count=st.sampled_from((1, 2, 5, 10, 40)),
    active_pages=st.sampled_from((0, 0, 0, 1, 2, 5, 12, 30)),
    condensed_tool_max=st.sampled_from((200, 200, 40, 1000)),
    archive_threshold=st.sampled_from((10_000, 600, 300)),
    unlist_after_turns=st.sampled_from((1, 3, 40)),
    unlist_unchanged_turns=st.sampled_from((1, 5, 80)),
    contents_max=st.sampled_from((2000, 60)),
    summary_enabled=st.booleans(),
    chapter_lines=st.booleans(),
)
budgets = st.sampled_from((40, 100, 150, 250, 400, 800, 1500, 3000, 6000, 12_000, 40_000))


@dataclass(frozen=True)
class Setting:
    """Everything but the conversation."""

    policy: Policy
    budget: int
    recalls: tuple[int, ...]
    jobs: tuple[int, ...] = ()
    """How many pages are indexed after each batch, over and over; the summary with the first of them."""
    hours: int = 0
    """Between two batches."""


scenes = st.builds(
    Setting,
    policy=policies,
    budget=budgets,
    recalls=st.lists(st.integers(1, 30), max_size=6).map(tuple),
    jobs=st.lists(st.integers(0, 4), max_size=5).map(tuple),
    hours=st.sampled_from((0, 0, 5, 24, 100)),
)


def books(transcript: Transcript, scene: Setting) -> Iterator[Book]:
    """One book after each batch; now and then a page is recalled, or jobs are done."""
    book = Book(scene.policy)
    for i, batch in enumerate(transcript.batches):
        book.append(batch)
        book.now += timedelta(hours=scene.hours)
        if i < len(scene.recalls) and scene.recalls[i] <= book.totals.last_page:
            book.recall(scene.recalls[i])
        for job in range(scene.jobs[i % len(scene.jobs)] if scene.jobs else 0):
            book.index()
            if job == 0:
                book.summarise()
        yield book


def windows(transcript: Transcript, scene: Setting, form: Format) -> list[Seen]:
    """Every window that fits the budget, in order."""
    seen = []
    for book in books(transcript, scene):
        try:
            seen.append(book.window(scene.budget, form))
        except BudgetTooSmall:
            continue
    return seen


# --- 1. Hard budget -----------------------------------------------------------------------------------


@moderate
@given(transcripts(), scenes)
def test_rendered_tokens_stay_within_the_ledger_and_the_budget(transcript: Transcript, scene: Setting) -> None:
    for form in FORMATS:
        for seen in windows(transcript, scene, form):
            ledger = seen.window.ledger
            assert ledger.total <= usable(ledger.budget) <= ledger.budget == scene.budget
            assert sent_tokens(seen, form) <= ledger.total


@moderate
@given(transcripts(), scenes, st.lists(st.integers(1, 2000), max_size=4))
def test_the_tail_takes_only_what_the_body_leaves_free(
    transcript: Transcript, scene: Setting, lengths: list[int]
) -> None:
    wanted = [TailItem("x" * n, count("x" * n)) for n in lengths]
    for form in FORMATS:
        book = list(books(transcript, scene))[-1]
        try:
            seen = book.window(scene.budget, form, tail=wanted)
        except BudgetTooSmall:
            return
        assert seen.window.ledger.total <= usable(scene.budget)
        assert sent_tokens(seen, form) <= seen.window.ledger.total
        left_out = len(wanted) - len(seen.window.tail)
        assert bool(left_out) == ("tail_cut" in {w.code for w in seen.window.warnings})
        if seen.window.tail:
            assert tail_text(seen.window.tail, "en") in str_contents(seen)[-1]


@moderate
@given(transcripts(), scenes)
def test_a_budget_too_small_says_the_smallest_that_works(transcript: Transcript, scene: Setting) -> None:
    book = list(books(transcript, scene))[-1]
    for budget in (1, scene.budget):
        try:
            book.window(budget)
        except BudgetTooSmall as error:
            smallest = error.extra["minimum_budget"]
            assert smallest > budget
            assert book.window(smallest).window.ledger.total <= smallest
            with pytest.raises(BudgetTooSmall):
                book.window(smallest - 1)


def sent_tokens(seen: Seen, form: Format) -> int:
    if form == "openai":
        return openai_tokens(seen.messages, count) + count(compact(OPENAI_TOOLS))
    system = count(seen.rendered.system or "") + 4
    return anthropic_tokens(seen.messages, count) + system + count(compact(ANTHROPIC_TOOLS))


def compact(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def str_contents(seen: Seen) -> list[str]:
    """Each message's content as one text."""
    return [
        m["content"] if isinstance(m["content"], str) else "".join(b.get("text", "") for b in m["content"] or [])
        for m in seen.messages
    ]


# --- 2. No gap ----------------------------------------------------------------------------------------


@moderate
@given(transcripts(), scenes)
def test_every_page_is_in_one_place(transcript: Transcript, scene: Setting) -> None:
    for seen in windows(transcript, scene, "openai"):
        window = seen.window
        placed = [*window.verbatim_pages, *window.condensed_pages, *window.listed_pages]
        assert len(placed) == len(set(placed))
        assert set(placed) <= set(range(1, seen.totals.last_page + 1))
        assert len(placed) + window.unlisted == seen.totals.last_page
        assert window.unlisted >= 0


@moderate
@given(transcripts(), scenes)
def test_every_message_of_a_page_in_view_is_in_view(transcript: Transcript, scene: Setting) -> None:
    for form in FORMATS:
        for seen in windows(transcript, scene, form):
            shown = {p.seq: p for p in seen.window.body}
            held_back = {item.seq for item in units(items_of(seen))[1]}
            for row in seen.rows:
                page, seq = row.entry.page, row.entry.seq
                in_view = page in seen.window.verbatim_pages or page in seen.window.condensed_pages
                if not in_view or row.entry.kind in ("prompt", "orphan") or seq in held_back:
                    continue
                assert seq in shown, f"message {seq} of page {page}"
                if page in seen.window.verbatim_pages:
                    assert shown[seq].zone == "verbatim"
                for mark in marks_of(row):
                    assert mark in seen.rendered.messages


@moderate
@given(transcripts(), scenes)
def test_pages_on_the_contents_page_can_be_read_there(transcript: Transcript, scene: Setting) -> None:
    for seen in windows(transcript, scene, "openai"):
        for page in seen.window.listed_pages:
            assert f"[Page {page}]" in seen.window.head
        for first, last, line in seen.epoch.head.chapters if seen.window.head else ():
            assert line in seen.window.head
            assert 1 <= first <= last <= seen.totals.last_page


@moderate
@given(transcripts(), scenes)
def test_the_system_prompt_and_the_newest_user_message_are_always_there(transcript: Transcript, scene: Setting) -> None:
    for seen in windows(transcript, scene, "openai"):
        prompts = [plain(row) for row in seen.rows if row.entry.kind == "prompt"]
        assert seen.messages[0]["role"] == "system"
        for text in ["You are a careful assistant.", *prompts]:
            assert text in seen.messages[0]["content"]
        said = [r for r in seen.rows if r.placement.draft.role == "user" and r.entry.kind == "message"]
        if said:
            assert said[-1].entry.seq in {p.seq for p in seen.window.body}
            assert compact(as_chat(said[-1].shape.view)[0])[1:-1] in seen.rendered.messages


def items_of(seen: Seen) -> list[Item]:
    book = Book(seen.wanted.policy)
    book.rows, book.conversation = list(seen.rows), seen.conversation
    return book.items(seen.layout)


def marks_of(row: Row) -> Iterator[str]:
    """What must be found of a message: the number its text begins with, or what stands for it."""
    draft = row.placement.draft
    if draft.text.startswith("#"):
        yield draft.text.split(" ")[0]
    for i, answer in enumerate(row.placement.answers):
        if i in row.shape.archived:
            yield from row.archives
        elif answer.call.name not in RECALL_TOOLS and answer.result.text.startswith("#"):
            yield answer.result.text.split(" ")[0]


# --- 3. Append-only between epochs ---------------------------------------------------------------------


@moderate
@given(transcripts(), scenes)
def test_a_window_begins_with_the_stable_part_of_the_one_before_it(transcript: Transcript, scene: Setting) -> None:
    for form in FORMATS:
        for before, after in pairwise(windows(transcript, scene, form)):
            if before.wanted.fixed != after.wanted.fixed:
                continue  # the system prompt was still being given
            if before.window.number == after.window.number:
                assert after.stable[: len(before.stable)] == before.stable
                assert after.rendered.stable_tokens >= before.rendered.stable_tokens


@moderate
@given(transcripts(), scenes)
def test_between_epochs_nothing_changes_but_marks(transcript: Transcript, scene: Setting) -> None:
    for before, after in pairwise(windows(transcript, scene, "openai")):
        same_epoch = before.window.number == after.window.number
        if not same_epoch or before.wanted.fixed != after.wanted.fixed:
            continue
        assert before.window.head == after.window.head
        for old, new in zip(before.window.body, after.window.body, strict=False):
            assert old.seq == new.seq
            assert old.passing or old.text == new.text


@moderate
@given(transcripts(), scenes)
def test_epoch_numbers_never_go_backwards(transcript: Transcript, scene: Setting) -> None:
    for before, after in pairwise(windows(transcript, scene, "openai")):
        if before.wanted.fixed == after.wanted.fixed:
            assert before.window.number <= after.window.number


@moderate
@given(transcripts(), scenes)
def test_the_layout_is_the_same_from_the_whole_history_as_from_its_end(transcript: Transcript, scene: Setting) -> None:
    for book in books(transcript, scene):
        wanted = book.profile(scene.budget)
        assert book.layout(wanted) == book.layout(wanted, from_scratch=True)


@moderate
@given(transcripts(), scenes)
def test_a_layout_holds_until_the_number_changes(transcript: Transcript, scene: Setting) -> None:
    known = None
    for book in books(transcript, scene):
        wanted = book.profile(scene.budget)
        now = book.layout(wanted)
        assert now.holds(book.totals)
        if known and known[0] == wanted.shares and known[1].number == now.number:
            assert known[1] == now
            assert known[1].holds(book.totals)
        known = (wanted.shares, now)


@moderate
@given(transcripts(), scenes)
def test_the_same_state_gives_the_same_bytes(transcript: Transcript, scene: Setting) -> None:
    for form in FORMATS:
        once, again = windows(transcript, scene, form)[-1:], windows(transcript, scene, form)[-1:]
        assert [seen.rendered for seen in once] == [seen.rendered for seen in again]


# --- 4. Pairs stay whole ------------------------------------------------------------------------------


@moderate
@given(transcripts(), scenes)
def test_openai_would_take_every_window(transcript: Transcript, scene: Setting) -> None:
    for seen in windows(transcript, scene, "openai"):
        assert openai_problems(seen.messages) == []


@moderate
@given(transcripts(), scenes)
def test_anthropic_would_take_every_window(transcript: Transcript, scene: Setting) -> None:
    for seen in windows(transcript, scene, "anthropic"):
        assert anthropic_problems(seen.messages) == []


@moderate
@given(transcripts(), scenes)
def test_a_call_still_without_its_results_is_held_back_and_said_so(transcript: Transcript, scene: Setting) -> None:
    for book in books(transcript, scene):
        try:
            seen = book.window(scene.budget)
        except BudgetTooSmall:
            continue
        awaited = {"tool_results_awaited"} & {w.code for w in seen.window.warnings}
        assert bool(awaited) == any(not call.is_left for call in book.conversation.end.open_calls)


@moderate
@given(transcripts(), scenes, st.data())
def test_invariants_hold_with_deleted_messages(transcript: Transcript, scene: Setting, data: st.DataObject) -> None:
    book = list(books(transcript, scene))[-1]
    book.deleted = data.draw(st.sets(st.integers(1, book.totals.last_seq), max_size=12))
    for form in FORMATS:
        try:
            seen = book.window(scene.budget, form)
        except BudgetTooSmall:
            return
        assert sent_tokens(seen, form) <= seen.window.ledger.total <= scene.budget
        assert (openai_problems if form == "openai" else anthropic_problems)(seen.messages) == []


# --- 5. A placeholder always resolves ------------------------------------------------------------------


@moderate
@given(transcripts(), scenes)
def test_a_placeholder_shows_its_uuid_in_every_zone_and_never_changes(transcript: Transcript, scene: Setting) -> None:
    for seen in windows(transcript, scene, "openai"):
        for placed in seen.window.body:
            for uuid in placed.archive_ids:
                assert uuid in placed.text
        refs = {uuid for placed in seen.window.body for uuid in placed.archive_ids}
        assert refs <= {uuid for row in seen.rows for uuid in row.archives}


# --- 6. Loaded is for one page --------------------------------------------------------------------------


@moderate
@given(transcripts(), scenes)
def test_loaded_text_is_in_full_during_its_page_only(transcript: Transcript, scene: Setting) -> None:
    for seen in windows(transcript, scene, "openai"):
        for placed in seen.window.body:
            if placed.passing:
                assert placed.page == seen.totals.last_page
        for row in seen.rows:
            for answer in row.placement.answers:
                if answer.call.name in RECALL_TOOLS and row.entry.page < seen.totals.last_page:
                    number = answer.result.text.split(" ")[0]
                    if number.startswith("#"):
                        assert number not in without_head(seen)


@moderate
@given(transcripts(), scenes)
def test_loaded_text_is_never_archived(transcript: Transcript, scene: Setting) -> None:
    for book in books(transcript, scene):
        for row in book.rows:
            for i in row.shape.archived:
                assert row.placement.answers[i].call.name not in RECALL_TOOLS


def without_head(seen: Seen) -> str:
    return "".join(placed.text for placed in seen.window.body)


# --- 7. What the model has seen is data ----------------------------------------------------------------


@moderate
@given(transcripts(), scenes)
def test_nothing_in_a_head_can_close_it(transcript: Transcript, scene: Setting) -> None:
    for seen in windows(transcript, scene, "openai"):
        if seen.window.head:
            assert seen.window.head.count("<quire-") == 1
            assert seen.window.head.count("</quire-") == 1
            assert seen.window.head.endswith("</quire-memory>")


# --- Cache breakpoints ----------------------------------------------------------------------------------


@moderate
@given(transcripts(), scenes, st.sampled_from(("openai", "anthropic")))
def test_every_rendered_message_has_an_origin(transcript: Transcript, scene: Setting, form: Format) -> None:
    for seen in windows(transcript, scene, form):
        system = seen.messages[0]["content"] if form == "openai" and seen.messages[0]["role"] == "system" else ""
        found = origins(seen.window, str(system), form)
        assert len(found) == len(seen.messages)
        shown = [placed for origin in found for placed in origin.placed if placed.seq]
        seqs, body = list(dict.fromkeys(p.seq for p in shown)), [p.seq for p in seen.window.body if p.seq]
        assert seqs == [seq for seq in dict.fromkeys(body) if seq in seqs]  # there are none that say nothing


@moderate
@given(transcripts(), scenes)
def test_at_most_four_cache_breakpoints_are_set(transcript: Transcript, scene: Setting) -> None:
    for seen in windows(transcript, scene, "anthropic"):
        tools = json.loads(seen.rendered.tools)
        assert cache_marks(tools) == 1
        assert cache_marks(tools) + cache_marks(seen.messages) <= 4
