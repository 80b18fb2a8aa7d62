"""Cuts: which pages a head reads, and how many tokens it can have."""

from __future__ import annotations

from uuid import UUID

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.core.model import OPENING_TOKENS, Policy
from app.core.search import days
from app.core.window import cut
from app.core.window.budget import reserves, usable
from app.core.window.head import BULLET
from app.core.window.kept import KeptLine
from tests.by_turns import examples
from tests.core.book import NOW, READER, Book, count
from tests.core.conversations import Transcript, transcripts, user

policies = st.builds(Policy, unlist_after_turns=st.sampled_from((1, 3, 40)), contents_max=st.sampled_from((2000, 60)))


@settings(max_examples=examples(25))
@given(transcripts(), policies, st.sampled_from((400, 800, 1500, 3000)))
def test_a_head_fits_its_room_and_lists_pages_that_were_read(
    transcript: Transcript, policy: Policy, budget: int
) -> None:
    book = Book(policy)
    for batch in transcript.batches:
        book.append(batch)
        book.index()
        book.summarise()
    plan = cut.plan(book.basis(book.profile(budget)))
    material = book.material(plan)
    frozen = cut.freeze(plan, material, READER)
    assert frozen.zones == plan.cut.zones
    in_zone = len(frozen.head.days) * days.MESSAGE_TOKENS if plan.last_page else 0
    assert frozen.head.tokens + in_zone <= max(0, plan.room)
    assert set(frozen.head.listed) <= {page.page for page in material.pages}


def test_nothing_is_read_for_a_history_that_is_whole() -> None:
    book = Book()
    book.append([{"role": "user", "content": "Hello"}, {"role": "assistant", "content": "Hello there"}])
    plan = cut.plan(book.basis(book.profile(8_000)))
    assert (plan.last_page, list(plan.zone)) == (0, [])
    assert cut.freeze(plan, book.material(plan), READER).head.text == ""


@pytest.mark.parametrize("active_pages", [0, 20, 100])
def test_a_cut_leaves_room_to_grow(active_pages: int) -> None:
    book = Book(Policy(active_pages=active_pages))
    for number in range(200):
        book.append([user(f"question {number} " * 5), {"role": "assistant", "content": f"answer {number} " * 5}])
        book.window(3_000)
    assert book.conversation.epoch < 25


def pinned(number: int, characters: int) -> KeptLine:
    text = f"Rule {number}: " + "never deploy on a Friday. " * (characters // 26)
    return KeptLine(UUID(int=number), text, count(text), NOW, is_written=True)


@settings(max_examples=examples(25))
@given(
    st.lists(st.integers(30, 1_500), min_size=1, max_size=8),
    st.lists(st.integers(5, 300), min_size=1, max_size=40),
    st.sampled_from(range(1_000, 8_001, 500)),
    st.integers(0, 4),
)
def test_what_is_pinned_is_the_last_to_go(wishes: list[int], turns: list[int], budget: int, step: int) -> None:
    book = Book()
    book.notes = [(0, pinned(number, size)) for number, size in enumerate(wishes)]
    for tokens in turns:
        book.append([user("why " * tokens), {"role": "assistant", "content": "so " * tokens}])
    book.append([user("and now?")])
    steps = reserves(book.profile(budget).shares.available, book.policy)
    seen = book.window(budget, reserve=steps[min(step, len(steps) - 1)])
    weight = sum(note.tokens + BULLET + count(" (2026-01-02)") for _, note in book.notes)
    frame = book.basis(seen.wanted).frame
    newest = book.rows[-1].entry.full
    if seen.wanted.fixed.tokens + frame + weight + newest + OPENING_TOKENS <= usable(budget):
        assert all(note.text.strip() in seen.window.head for _, note in book.notes)
