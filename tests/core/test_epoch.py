"""Epochs: what a head reads, and what it may weigh."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from app.core import days
from app.core.model import Policy
from app.core.window import epoch
from app.core.window.paging import ledger_reach
from tests.core.book import READER, Book
from tests.core.conversations import Transcript, transcripts

policies = st.builds(Policy, unlist_after_turns=st.sampled_from((1, 3, 40)), contents_max=st.sampled_from((2000, 60)))


@settings(max_examples=25)
@given(transcripts(), policies, st.sampled_from((400, 800, 1500, 3000)))
def test_a_head_fits_its_room_and_lists_pages_that_were_read(
    transcript: Transcript, policy: Policy, budget: int
) -> None:
    book = Book(policy)
    for batch in transcript.batches:
        book.append(batch)
        book.index()
        book.summarise()
    target = book.profile(budget)
    plan = epoch.plan(book.entries(ledger_reach(book.totals, target.shares)), book.totals, book.language, target)
    material = book.material(plan)
    frozen = epoch.freeze(plan, material, READER)
    assert frozen.layout == plan.layout
    in_zone = len(frozen.head.days) * days.MESSAGE_TOKENS if plan.last_page else 0
    assert frozen.head.tokens + in_zone <= max(0, plan.room)
    assert set(frozen.head.listed) <= {page.page for page in material.pages}


def test_nothing_is_read_for_a_history_that_is_whole() -> None:
    book = Book()
    book.append([{"role": "user", "content": "Hello"}, {"role": "assistant", "content": "Hello there"}])
    target = book.profile(8_000)
    plan = epoch.plan(book.entries(ledger_reach(book.totals, target.shares)), book.totals, book.language, target)
    assert (plan.last_page, list(plan.zone)) == (0, [])
    assert epoch.freeze(plan, book.material(plan), READER).head.text == ""
