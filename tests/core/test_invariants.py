"""The seven invariants of the window, over whole conversations (docs: "The invariants").

A transcript is replayed batch by batch through the executable specification in ``book.py``, and every invariant checks
every book and every window on the way, in both forms. There is one replay, because it costs far more than the checks.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from app.core.groups import units
from app.core.model import UNZONED, Cut, Format, Item, Policy, TailItem
from app.core.parts import as_chat
from app.core.window import paging
from app.core.window.budget import usable
from app.core.window.head import contents_of, map_lines
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
from tests.core.conversations import CallPlan, Loop, Say, Text, Transcript, transcripts

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
    """Everything except the conversation."""

    policy: Policy
    budget: int
    recalls: tuple[int, ...]
    jobs: tuple[int, ...] = ()
    """How many pages are indexed after each batch, cyclically; the summary comes with the first of them."""
    hours: int = 0
    """The hours between two batches."""


scenes = st.builds(
    Setting,
    policy=policies,
    budget=budgets,
    recalls=st.lists(st.integers(1, 30), max_size=6).map(tuple),
    jobs=st.lists(st.integers(0, 4), max_size=5).map(tuple),
    hours=st.sampled_from((0, 0, 5, 24, 100)),
)


def books(transcript: Transcript, scene: Setting) -> Iterator[Book]:
    """Yield the book after each batch. Now and then a page is recalled, or jobs are done."""
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


def window(book: Book, budget: int, form: Format) -> Seen | None:
    """Return the window, or None if the budget is too small."""
    try:
        return book.window(budget, form)
    except BudgetTooSmall:
        return None


def last_windows(transcript: Transcript, scene: Setting) -> dict[Format, Seen]:
    """Return the newest window of each form that fits the budget."""
    last: dict[Format, Seen] = {}
    for book in books(transcript, scene):
        last |= {form: seen for form in FORMATS if (seen := window(book, scene.budget, form)) is not None}
    return last


CALLS = (CallPlan("search", Text(0, 5)), CallPlan("recall_page", Text(0, 1)), CallPlan("search", Text(0, 1)))
WISHES_GROW = Transcript(
    (Loop(False, CALLS, Text(6, 5), thinking=True), Say("user", Text(0, 1))) * 6, sizes=(1,), reuse_ids=False
)
"""More memories are pinned than a small head has room for, once a message that stated one has left."""


SHORT = (CallPlan("search", Text(0, 1), "once", True), CallPlan("search", Text(0, 1), "late", True))
SHORT_RESULTS = Transcript((Loop(False, SHORT, Text(0, 1), thinking=True), Say("user", Text(0, 20))), (1,), False)
"""Results that are shorter than the mark of a cut result."""


@example(SHORT_RESULTS, Setting(Policy(1, summary_enabled=False), budget=250, recalls=(), jobs=()))
@example(
    WISHES_GROW, Setting(Policy(1, summary_enabled=False, unlist_after_turns=1), budget=400, recalls=(), jobs=(1,))
)
@given(transcripts(), scenes)
def test_every_book_and_every_window_keeps_the_invariants(transcript: Transcript, scene: Setting) -> None:
    before: dict[Format, Seen] = {}
    for book in books(transcript, scene):
        loaded_text_is_never_archived(book)
        for form in FORMATS:
            last = book.cuts.get(scene.budget)
            seen = window(book, scene.budget, form)
            if seen is None:
                continue
            a_cut_is_made_only_where_the_last_one_does_not_fit(book, last, seen)
            the_same_call_has_the_same_window(book, seen, form)
            zones_begin_where_they_would_by_the_whole_history(book, seen)
            for holds in ALWAYS + (IN_OPENAI if form == "openai" else IN_ANTHROPIC):
                holds(seen, form)
            if form in before:
                for holds_between in BETWEEN:
                    holds_between(before[form], seen)
            before[form] = seen


# --- 1. Hard budget -----------------------------------------------------------------------------------


def rendered_tokens_stay_within_the_ledger_and_the_budget(seen: Seen, form: Format) -> None:
    ledger = seen.window.ledger
    assert ledger.total <= usable(ledger.budget) <= ledger.budget == seen.wanted.budget
    assert sent_tokens(seen, form) <= ledger.total


@moderate
@given(transcripts(), scenes, st.lists(st.integers(1, 2000), max_size=4))
def test_the_tail_takes_only_what_the_body_leaves_free(
    transcript: Transcript, scene: Setting, lengths: list[int]
) -> None:
    wanted = [TailItem("x" * n, count("x" * n)) for n in lengths]
    book = list(books(transcript, scene))[-1]
    for form in FORMATS:
        try:
            seen = book.window(scene.budget, form, tail=wanted)
        except BudgetTooSmall:
            continue
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
    system = count(seen.system or "") + 4
    return anthropic_tokens(seen.messages, count) + system + count(compact(ANTHROPIC_TOOLS))


def compact(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def str_contents(seen: Seen) -> list[str]:
    """Return each message's content as one text."""
    return [
        m["content"] if isinstance(m["content"], str) else "".join(b.get("text", "") for b in m["content"] or [])
        for m in seen.messages
    ]


# --- 2. No gap ----------------------------------------------------------------------------------------


def every_page_is_in_one_place(seen: Seen, form: Format) -> None:
    window = seen.window
    placed = [*window.pages.verbatim, *window.pages.condensed, *window.pages.listed]
    assert len(placed) == len(set(placed))
    assert set(placed) <= set(range(1, seen.totals.last_page + 1))
    assert len(placed) + window.pages.unlisted == seen.totals.last_page
    assert window.pages.unlisted >= 0


def every_message_of_a_page_in_view_is_in_view(seen: Seen, form: Format) -> None:
    shown = {p.seq: p for p in seen.window.body}
    held_back = {item.seq for item in units(items_of(seen))[1]}
    cut_at = seen.window.squeezed.cut_at if seen.window.squeezed else 0
    for row in seen.rows:
        page, seq = row.entry.page, row.entry.seq
        in_view = page in seen.window.pages.verbatim or page in seen.window.pages.condensed
        if not in_view or row.entry.kind in ("prompt", "orphan") or seq in held_back:
            continue
        assert seq in shown, f"message {seq} of page {page}"
        if page in seen.window.pages.verbatim:
            assert shown[seq].zone == "verbatim"
        for mark in marks_of(row):
            assert mark in seen.text or 0 < cut_at < len(mark)


def pages_on_the_contents_page_can_be_read_there(seen: Seen, form: Format) -> None:
    head = seen.cut.head
    if seen.window.head in ("", head.pinned):  # a squeezed window may show its notes alone
        return
    lines = seen.window.head.splitlines()
    for page in seen.window.pages.listed:
        assert any(line.startswith(f"{page}: ") for line in lines)
    for first, last, _ in map_lines(contents_of(seen.window.head)):
        assert 1 <= first <= last <= seen.totals.last_page


def every_page_out_of_view_is_under_one_line(seen: Seen, form: Format) -> None:
    head = seen.cut.head
    lines = map_lines(contents_of(head.text))
    if not lines or not seen.wanted.policy.chapter_lines:
        return
    under = [p for first, last, _ in lines if first not in head.listed for p in range(first, last + 1)]
    assert sorted([*head.listed, *under]) == list(range(1, len(head.listed) + len(under) + 1))
    gone = [row.entry.page for row in seen.rows if row.entry.seq < seen.cut.condensed_from]
    assert len(head.listed) + len(under) == max(gone)


def the_system_prompt_and_the_newest_user_message_are_always_there(seen: Seen, form: Format) -> None:
    prompts = [plain(row) for row in seen.rows if row.entry.kind == "prompt"]
    assert seen.messages[0]["role"] == "system"
    for text in ["You are a careful assistant.", *prompts]:
        assert text in seen.messages[0]["content"]
    said = [r for r in seen.rows if r.placement.draft.role == "user" and r.entry.kind == "message"]
    if said:
        assert said[-1].entry.seq in {p.seq for p in seen.window.body}
        assert compact(as_chat(said[-1].shape.view)[0])[1:-1] in seen.text


def items_of(seen: Seen) -> list[Item]:
    book = Book(seen.wanted.policy)
    book.rows, book.conversation = list(seen.rows), seen.conversation
    return book.items(seen.cut)


def marks_of(row: Row) -> Iterator[str]:
    """Yield the texts that a window must have for a message: the number its text begins with, or a replacement."""
    draft = row.placement.draft
    if draft.text.startswith("#"):
        yield draft.text.split(" ")[0]
    for i, answer in enumerate(row.placement.answers):
        if i in row.shape.archived:
            yield from row.archives
        elif answer.call.name not in RECALL_TOOLS and answer.result.text.startswith("#"):
            yield answer.result.text.split(" ")[0]


# --- 3. Append-only between cuts -----------------------------------------------------------------------


def a_cut_is_made_only_where_the_last_one_does_not_fit(book: Book, last: Cut | None, seen: Seen) -> None:
    if last is None or last is seen.cut or last.generation != seen.totals.generation:
        return
    most = seen.wanted.policy.active_pages
    pages = {r.entry.page for r in seen.rows if r.entry.seq >= last.condensed_from and r.entry.kind not in UNZONED}
    is_over_pages = most and seen.totals.last_page - min(pages, default=seen.totals.last_page) >= most
    is_over = last.is_squeezed and last.last_seq < seen.totals.last_seq
    assert is_over or is_over_pages or book.by(last, seen.wanted).squeezed is not None


def the_same_call_has_the_same_window(book: Book, seen: Seen, form: Format) -> None:
    again = book.window(seen.wanted.budget, form)
    assert (again.cut, again.rendered) == (seen.cut, seen.rendered)


def is_one_cut(before: Seen, after: Seen) -> bool:
    """Return whether both have the same cut and system prompt, which can still be growing."""
    return before.window.number == after.window.number and before.wanted.fixed == after.wanted.fixed


def while_a_page_goes_on_a_window_begins_with_the_one_before_it(before: Seen, after: Seen) -> None:
    if is_one_cut(before, after) and before.totals.last_page == after.totals.last_page:
        assert after.stable[: len(before.stable)] == before.stable
        assert after.stable_tokens >= before.stable_tokens


def within_a_cut_only_what_was_shown_for_its_page_changes(before: Seen, after: Seen) -> None:
    if not is_one_cut(before, after):
        return
    assert before.window.head == after.window.head
    assert len(before.window.body) <= len(after.window.body)
    for old, new in zip(before.window.body, after.window.body, strict=False):
        assert old.seq == new.seq
        assert old.text == new.text or (old.passing and before.totals.last_page < after.totals.last_page)


def cuts_are_counted(before: Seen, after: Seen) -> None:
    assert before.window.number <= after.window.number


def zones_begin_where_they_would_by_the_whole_history(book: Book, seen: Seen) -> None:
    if not seen.wanted.shares.body:
        return
    about = (seen.totals, seen.wanted.shares, seen.wanted.policy)
    found = paging.places(book.basis(seen.wanted).entries, *about)
    assert found == paging.places([row.entry for row in seen.rows], *about)


@moderate
@given(transcripts(), scenes)
def test_the_same_state_gives_the_same_bytes(transcript: Transcript, scene: Setting) -> None:
    once, again = last_windows(transcript, scene), last_windows(transcript, scene)
    assert {form: seen.rendered for form, seen in once.items()} == {form: seen.rendered for form, seen in again.items()}


# --- 4. Pairs stay whole ------------------------------------------------------------------------------


def openai_would_take_every_window(seen: Seen, form: Format) -> None:
    assert openai_problems(seen.messages) == []


def anthropic_would_take_every_window(seen: Seen, form: Format) -> None:
    assert anthropic_problems(seen.messages) == []


def a_call_still_without_its_results_is_held_back_and_said_so(seen: Seen, form: Format) -> None:
    awaited = {"tool_results_awaited"} & {w.code for w in seen.window.warnings}
    assert bool(awaited) == any(not call.is_left for call in seen.conversation.end.open_calls)


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


def a_placeholder_shows_its_uuid_in_every_zone(seen: Seen, form: Format) -> None:
    for placed in seen.window.body:
        for uuid in placed.archive_ids:
            assert uuid in placed.text
    refs = {uuid for placed in seen.window.body for uuid in placed.archive_ids}
    assert refs <= {uuid for row in seen.rows for uuid in row.archives}


# --- 6. Loaded is for one page --------------------------------------------------------------------------


def loaded_text_is_in_full_during_its_page_only(seen: Seen, form: Format) -> None:
    for placed in seen.window.body:
        if placed.passing:
            assert placed.page == seen.totals.last_page
    for row in seen.rows:
        for answer in row.placement.answers:
            if answer.call.name in RECALL_TOOLS and row.entry.page < seen.totals.last_page:
                number = answer.result.text.split(" ")[0]
                if number.startswith("#"):
                    assert number not in without_head(seen)


def loaded_text_is_never_archived(book: Book) -> None:
    for row in book.rows:
        for i in row.shape.archived:
            assert row.placement.answers[i].call.name not in RECALL_TOOLS


def without_head(seen: Seen) -> str:
    return "".join(placed.text for placed in seen.window.body)


# --- 7. What the model has seen is data ----------------------------------------------------------------


def nothing_in_a_head_can_close_it(seen: Seen, form: Format) -> None:
    if seen.window.head:
        assert seen.window.head.count("<quire-") == 1
        assert seen.window.head.count("</quire-") == 1
        assert seen.window.head.endswith("</quire-memory>")


# --- Cache breakpoints ----------------------------------------------------------------------------------


def every_rendered_message_has_an_origin(seen: Seen, form: Format) -> None:
    system = seen.messages[0]["content"] if form == "openai" and seen.messages[0]["role"] == "system" else ""
    found = origins(seen.window, str(system), form)
    assert len(found) == len(seen.messages)
    shown = [placed for origin in found for placed in origin.placed if placed.seq]
    seqs, body = list(dict.fromkeys(p.seq for p in shown)), [p.seq for p in seen.window.body if p.seq]
    assert seqs == [seq for seq in dict.fromkeys(body) if seq in seqs]  # none is empty


def at_most_four_cache_breakpoints_are_set(seen: Seen, form: Format) -> None:
    tools = json.loads(seen.rendered.stable.begun[2])
    assert cache_marks(tools) == 1
    assert cache_marks(tools) + cache_marks(seen.messages) <= 4


ALWAYS = (
    rendered_tokens_stay_within_the_ledger_and_the_budget,
    every_page_is_in_one_place,
    every_message_of_a_page_in_view_is_in_view,
    every_page_out_of_view_is_under_one_line,
    pages_on_the_contents_page_can_be_read_there,
    a_call_still_without_its_results_is_held_back_and_said_so,
    a_placeholder_shows_its_uuid_in_every_zone,
    loaded_text_is_in_full_during_its_page_only,
    nothing_in_a_head_can_close_it,
    every_rendered_message_has_an_origin,
)
IN_OPENAI = (the_system_prompt_and_the_newest_user_message_are_always_there, openai_would_take_every_window)
IN_ANTHROPIC = (anthropic_would_take_every_window, at_most_four_cache_breakpoints_are_set)
BETWEEN = (
    while_a_page_goes_on_a_window_begins_with_the_one_before_it,
    within_a_cut_only_what_was_shown_for_its_page_changes,
    cuts_are_counted,
)
