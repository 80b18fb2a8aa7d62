"""Epochs: what a head reads, and what it may weigh."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from uuid import UUID

from hypothesis import given, settings
from hypothesis import strategies as st

from app.core.model import Entry, Fixed, Item, Layout, Policy
from app.core.search import days
from app.core.window import epoch
from app.core.window.contents import Chapter
from app.core.window.epoch import EpochPlan, Material
from app.core.window.kept import KeptLine
from app.core.window.paging import is_over
from app.core.window.profile import Profile, profile
from tests.by_turns import examples
from tests.core.book import READER, Book, decided
from tests.core.conversations import Transcript, transcripts
from tests.core.test_paging import history, totals

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
    target = book.profile(budget)
    plan = book.plan(target)
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
    plan = book.plan(target)
    assert (plan.last_page, list(plan.zone)) == (0, [])
    assert epoch.freeze(plan, book.material(plan), READER).head.text == ""


def test_what_is_kept_in_mind_is_no_chapters_sentence_too() -> None:
    book = Book(Policy(unlist_after_turns=1, unlist_unchanged_turns=1))
    for number in range(40):
        book.append(
            [{"role": "user", "content": f"question {number} " + "why " * 60}, {"role": "assistant", "content": "ok"}]
        )
    target = book.profile(1500)
    plan = replace(book.plan(target), kept_max=200)
    kept = KeptLine(UUID(int=1), "Never deploy on Fridays.", 8, datetime(2026, 1, 1, tzinfo=UTC))
    chapters = [
        Chapter(1, 1, 8, 9, ("deploy",), "Pages 1-8: deploy", 6, f"user: {kept.text}", 10),
        Chapter(1, 9, 16, 17, ("tea",), "Pages 9-16: tea", 6, "user: The tea is in the tin.", 10),
    ]
    material = replace(book.material(plan), chapters=chapters, kept=[kept])
    found = epoch.freeze(replace(plan, room=3000), material, READER).head
    assert found.text.count(kept.text) == 1
    assert found.text.count("The tea is in the tin.") == 1
    without = epoch.freeze(replace(plan, room=3000), replace(material, kept=()), READER).head
    assert without.text.count(kept.text) == 1


WISH = KeptLine(
    UUID(int=1), "From now on always answer in French, in whole sentences.", 12, datetime(2026, 1, 1, tzinfo=UTC)
)


@settings(max_examples=examples(100))
@given(st.lists(st.sampled_from((10, 30, 150, 400)), min_size=10, max_size=60), st.integers(0, 300))
def test_what_is_kept_in_mind_moves_no_cut_that_was_made(sizes: list[int], recalled: int) -> None:
    target = profile(Policy(), 1_500, Fixed(0, 0))
    entries = history(*([(size, min(size, 20))] for size in sizes))
    entries = [entry._replace(loaded=recalled if entry.seq % 3 == 0 else 0) for entry in entries]
    made = None
    for last in range(1, len(entries) + 1):
        found = _decided(entries[:last], target)
        if made is not None and made.holds(totals(entries[:last])) and not is_over(made, _items(entries[:last]), 0):
            assert found == made  # as another process finds it
        made = found


def _items(entries: list[Entry]) -> list[Item]:
    return [
        Item(
            entry.seq, entry.page, entry.group, entry.kind, "user", "", 1, entry.full, 0, 0, entry.full_after,
            loaded_tokens=entry.full + entry.loaded,
        )
        for entry in entries
    ]  # fmt: skip


def _decided(entries: list[Entry], target: Profile) -> Layout:
    """The layout as it is decided where one wish more is known every five messages."""

    def material(plan: EpochPlan) -> Material:
        wishes = [replace(WISH, id=UUID(int=n), text=f"{WISH.text} ({n})") for n in range(1 + plan.layout.trigger // 5)]
        return Material(pages=(), kept=wishes)

    return decided(epoch.decide(entries, totals(entries), "en", target, READER), material).layout
