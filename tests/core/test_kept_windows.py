"""A window made from the parts of the last one equals a newly made window, byte for byte."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace

import pytest
from hypothesis import example, given

from app.core.model import Anchored, Cut, Format, Policy, Window
from app.core.window.assemble import Body, assemble, lay_out, settled
from app.core.window.fresh import with_fresh
from app.core.window.profile import Profile
from app.core.window.render import Printed, Rendered, render, tools_text
from app.core.window.squeezing import Cutter
from app.errors import BudgetTooSmall
from app.store.windows import WindowParts
from tests.core.book import ANTHROPIC_TOOLS, OPENAI_TOOLS, SYSTEM, Book, count
from tests.core.conversations import Transcript, calls, result, transcripts, user
from tests.core.test_invariants import FORMATS, SHORT_RESULTS, Setting, books, moderate, scenes


@dataclass
class Kept:
    """The windows of a budget and form, each made from the last, as in app/services/conversations/context.py."""

    form: Format
    parts: WindowParts | None = None
    printed: Sequence[Printed] = ()
    most: int = 0
    """The largest number of settled messages in a body."""
    cuts: int = 0
    known: int = 0
    """The number of cuts for which the parts of the last one sufficed."""

    def shown(self, book: Book, cut: Cut, wanted: Profile, anchored: Anchored | None) -> tuple[Window, Rendered]:
        items, parts = book.items(cut), None
        if self.parts is not None and self.parts.cut is not None and self.parts.cut.generation == cut.generation:
            last = self.parts.conversation.totals.last_seq
            newer = [item for item in book.items(self.parts.cut) if item.seq > last]
            parts = self.parts.continued(book.conversation, newer)
            if self.parts.cut != cut:
                parts = parts.cut_again(cut)
                self.cuts += 1
                self.known += parts is not None
        parts = parts or WindowParts(book.conversation, cut, (), tuple(items))
        assert [*parts.items] == items
        known = settled(parts.settled, parts.body, parts.items, cut, book.totals.last_page, anchored)
        window, body, rendered = laid_out(book, cut, wanted, anchored, self.form, known, self.printed)
        self.parts, self.printed = replace(parts, settled=known, body=body), (rendered.stable, rendered.settled)
        self.most = max(self.most, window.settled)
        return window, rendered


def laid_out(
    book: Book, cut: Cut, wanted: Profile, anchored: Anchored | None, form: Format, known: Body,
    printed: Sequence[Printed] = (),
) -> tuple[Window, Body, Rendered]:  # fmt: skip
    body = lay_out(known, book.items(cut), cut, book.totals.last_page, anchored)
    window = assemble(cut, body, wanted, book.totals, anchored=anchored)
    if window.is_over:
        cutter = Cutter(book.language, book.policy.condensed_tool_max, count)
        window = assemble(cut, body, wanted, book.totals, anchored=anchored, cutter=cutter)
    window = with_fresh(window, book.results())
    tools = tools_text(OPENAI_TOOLS if form == "openai" else ANTHROPIC_TOOLS, form)
    return window, body, render(window, SYSTEM, tools, form, book.language, printed)


def look(book: Book, kept: Kept, budget: int, anchored: Anchored | None) -> None:
    """Compare the window made from kept parts with a newly made one."""
    wanted = book.profile(budget, kept.form)
    cut = book.shown_cut(wanted)
    window, rendered = kept.shown(book, cut, wanted, anchored)
    anew, body, rendered_anew = laid_out(book, cut, wanted, anchored, kept.form, Body())
    assert replace(window, settled=0) == anew
    assert kept.parts is not None
    assert kept.parts.body._replace(known=0, forms=(), can_settle=True) == body._replace(forms=(), can_settle=True)
    assert (rendered.messages, rendered.hash) == (rendered_anew.messages, rendered_anew.hash)
    assert rendered.stable == rendered_anew.stable
    assert rendered.stable.read.hexdigest() == rendered_anew.stable.read.hexdigest()


@moderate
@example(SHORT_RESULTS, Setting(Policy(1, summary_enabled=False), budget=250, recalls=(), jobs=()))
@given(transcripts(), scenes)
def test_a_window_of_kept_parts_is_the_one_made_anew(transcript: Transcript, scene: Setting) -> None:
    kept = {form: Kept(form) for form in FORMATS}
    for book in books(transcript, scene):
        asked = book.conversation.end.user_seq
        chosen = Anchored(asked, f"recalled for {asked}", 12 if asked % 3 else 4_000)
        for one in kept.values():
            for anchored in (None, chosen) if asked and asked % 2 else (None,):
                try:
                    look(book, one, scene.budget, anchored)
                except BudgetTooSmall:
                    continue


def test_all_but_the_newest_group_is_kept() -> None:
    book, kept = Book(), Kept("openai")
    for turn in range(30):
        book.append([{"role": "user", "content": f"question {turn}"}, {"role": "assistant", "content": "answer"}])
        look(book, kept, 40_000, None)
    assert kept.most == 59


def test_the_parts_of_a_cut_are_those_of_the_last_one() -> None:
    book, kept = Book(Policy(summary_enabled=False)), Kept("anthropic")
    for turn in range(60):
        book.append([user(f"question {turn} " * 20), calls("look"), result("look", "found " * 40)])
        look(book, kept, 2_000, None)
    assert 3 < kept.cuts == kept.known


def calls_of(book: Book, kept: Kept) -> int:
    """Return the number of Python and C calls that the window takes after another turn."""
    counted = 0

    def note(_frame: object, event: str, _arg: object) -> None:
        nonlocal counted
        counted += event in ("call", "c_call")

    cut, wanted = book.cuts[200_000], book.profile(200_000, "openai")
    assert kept.parts is not None
    last = kept.parts.conversation.totals.last_seq
    newer = [item for item in book.items(cut) if item.seq > last]
    sys.setprofile(note)
    try:
        parts = kept.parts.continued(book.conversation, newer)
        known = settled(parts.settled, parts.body, parts.items, cut, book.totals.last_page, None)
        body = lay_out(known, parts.items, cut, book.totals.last_page, None)
        window = assemble(cut, body, wanted, book.totals)
        render(window, SYSTEM, tools_text(OPENAI_TOOLS, "openai"), "openai", "en", kept.printed)
    finally:
        sys.setprofile(None)
    return counted


def test_a_window_takes_as_many_calls_at_any_length() -> None:
    book, kept, found = Book(), Kept("openai"), []
    for turn in range(220):
        book.append([user(f"question {turn}"), {"role": "assistant", "content": "answer"}])
        if turn in (20, 219):
            found.append(calls_of(book, kept))
        if turn >= 19:
            look(book, kept, 200_000, None)
    assert kept.most > 400
    assert found[0] == found[1] < 500


def test_a_call_without_its_result_is_kept_once_others_go_on() -> None:
    book, kept = Book(), Kept("openai")
    for batch in ([user("go"), calls("look")], [user("Wait.")], [user("Well?")]):
        book.append(batch)
        look(book, kept, 40_000, None)
    assert kept.most == 3


@pytest.mark.parametrize("form", FORMATS)
def test_results_that_are_fresh_are_not_kept_nor_what_a_cut_condensed_beside_them(form: Format) -> None:
    book, kept = Book(Policy(archive_threshold=600)), Kept(form)
    book.append([user("Look everywhere.")])
    for number in range(40):
        book.append([calls("look"), result("look", f"line {number} " * (90 if number % 5 == 0 else 20))])
        look(book, kept, 3_000, None)
    book.append([user("Thanks.")])
    look(book, kept, 3_000, None)
    assert kept.most
