"""The decisions of an append: tests of everything that the invariants of windows do not show."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from uuid import UUID

import pytest
from hypothesis import given

from app.core.conversation import ConversationEnd
from app.core.history.append import Append, decide
from app.core.history.ingest import Placement
from app.core.history.preparation import (
    Arrival,
    Basis,
    KeptArchive,
    LinesOfMessage,
    OpenPage,
    Origin,
    Preparation,
    PreparationRules,
    prepare,
    results_to_count,
    texts,
)
from app.core.messages import Limits, read
from app.core.model import Policy, Totals
from app.core.window.contents import LINES_PER_PAGE
from app.core.window.topics import TOPICS_KEPT, features_of
from tests.core.book import NOW, RECALL_TOOLS, Book, BookReader, count
from tests.core.conversations import Message, Transcript, calls, result, transcripts, user

POLICY = Policy(archive_threshold=100)
ARCHIVE = UUID(int=7)
LONG = "a long result " * 20


class NoReader(BookReader):
    """Fails if a message that was analysed before is analysed again."""

    def lines(self, placement: Placement, line: str | None) -> LinesOfMessage:
        raise AssertionError(placement, line)


def basis(messages: Sequence[Message], book: Book | None = None, origin: Origin = "caller") -> Basis:
    book = book or Book(POLICY)
    rules = PreparationRules(recall_tools=RECALL_TOOLS, summarised_from=10, embeds=True)
    arrivals = [Arrival(draft) for draft in read(list(messages), Limits())]
    is_new = not book.rows
    return Basis(book.conversation, is_new, arrivals, origin, book.policy, "en", rules, NOW)


def prepared(given_: Basis, earlier: Preparation | None = None, reader: BookReader | None = None) -> Preparation:
    counts = {text: count(text) for text in results_to_count(given_)}
    return prepare(given_, counts, reader or BookReader(), lambda: ARCHIVE, earlier)


def decided(given_: Basis) -> Append:
    found = prepared(given_)
    return decide(given_, found, {text: count(text) for text in texts(given_, found)}, lambda: ARCHIVE)


@given(transcripts())
def test_an_earlier_preparation_is_valid_at_any_position(transcript: Transcript) -> None:
    first, *_ = transcript.batches
    book = Book(POLICY)
    book.append([user("hello")])
    before = basis(first, book)
    earlier = prepared(before)
    book.append([{"role": "assistant", "content": "hi"}, user("and more")])
    anew = replace(before, conversation=book.conversation)
    kinds = [placement.kind for placement in anew.placed[0]]
    if kinds == [one.placement.kind for one in earlier.messages]:
        assert prepared(anew, earlier, NoReader()) == prepared(anew)


def test_a_page_is_indexed_as_it_closes_from_what_is_stored_and_what_arrives() -> None:
    book = Book(POLICY)
    book.append([user("hello")])
    closing = OpenPage(1, "hello", [("user", "hello")], features_of(["Hello"]))
    arriving = basis([{"role": "assistant", "content": "hi"}, user("and more")], book)
    found = decided(replace(arriving, closing=closing))
    [index] = found.indexes
    assert (index.page, index.topics) == (1, ("Hello", "hi"))
    assert found.follow_up.pages == ()
    assert found.conversation.indexed_through == 1

    left = decided(arriving)
    assert (list(left.indexes), list(left.follow_up.pages)) == ([], [1])
    assert left.conversation.indexed_through == 0


@given(transcripts())
def test_an_open_page_that_is_remembered_is_the_one_that_is_stored(transcript: Transcript) -> None:
    """An append that closes several pages leaves the open page unknown."""
    book, remembered = Book(POLICY), None
    written: list[Append] = []
    for batch in transcript.batches:
        given_ = replace(basis(batch, book), conversation=book.conversation, is_new=not written, open=remembered)
        given_ = replace(given_, closing=remembered if len(given_.closed) == 1 else None)
        written.append(decided(given_))
        book.conversation, remembered = written[-1].conversation, written[-1].open
        if remembered is not None:
            assert remembered == stored_page(written)


def stored_page(written: Sequence[Append]) -> OpenPage:
    page = next(page for append in reversed(written) for page in reversed(append.pages))
    rows = [row for append in written for row in append.messages]
    first = [row for row in rows if page.first_seq <= row.seq < page.first_seq + LINES_PER_PAGE]
    lines = [
        ("tool" if row.kind == "result" else row.role, row.line) for row in first if row.line and row.kind != "prompt"
    ]
    mentions = sorted((-one.page, topic) for append in written for one in append.indexes for topic in one.topics)
    topics = list(dict.fromkeys(topic for _, topic in mentions))[:TOPICS_KEPT]
    return OpenPage(page.first_seq, page.title, lines, features_of(topics))


def test_a_message_is_read_anew_under_another_policy() -> None:
    sent = [user("go"), calls("a"), result("a", LONG)]
    earlier = prepared(basis(sent))
    assert earlier.messages[2].archived
    found = prepared(basis(sent, Book(Policy(archive_threshold=1_000))), earlier)
    assert not found.messages[2].archived


def test_a_result_that_was_archived_where_it_comes_from_keeps_its_archive_and_others_are_not_archived() -> None:
    sent = basis([user("go"), calls("a", "b"), result("a", "short"), result("b", LONG)], origin="import")
    card, _ = BookReader().card(UUID(int=9), sent.placed[0][2].answers[0], "en", NOW)
    kept = [replace(arrival, archives={"a": KeptArchive(card, NOW)}) for arrival in sent.arrivals]
    [archive] = decided(replace(sent, arrivals=kept)).archives
    assert (archive.id, archive.content, archive.expires_at) == (UUID(int=9), "short", NOW)


def test_an_archive_stores_its_nuls_separately() -> None:
    [archive] = decided(basis([user("go"), calls("a"), result("a", f"\x00{LONG}\x00")])).archives
    assert archive.content == f"\ufffd{LONG}\ufffd"
    assert archive.nul_offsets == (0, len(LONG) + 1)


@pytest.mark.parametrize(("origin", "pages"), [("caller", [1, 2]), ("import", [])])
def test_closed_pages_are_left_to_jobs_but_not_those_of_an_import(origin: Origin, pages: list[int]) -> None:
    found = decided(basis([user("one"), user("two"), user("three")], origin=origin))
    assert list(found.follow_up.pages) == pages
    assert [page.page for page in found.pages] == [1, 2, 3]


@pytest.mark.parametrize(
    ("before", "new", "is_due"),
    [(0, 9, False), (0, 10, True), (9, 1, True), (10, 4, False), (10, 5, True), (14, 1, True)],
)
def test_a_summary_is_due_from_its_threshold_on_at_each_fifth_message(before: int, new: int, is_due: bool) -> None:
    book = Book(POLICY)
    end, totals = ConversationEnd(last_seq=before, last_page=1), Totals(last_seq=before, last_page=1)
    book.conversation = replace(book.conversation, end=end, totals=totals)
    found = decided(basis([{"role": "assistant", "content": "on"}] * new, book))
    assert found.follow_up.summary is is_due


@pytest.mark.parametrize("origin", ["caller", "proxy question", "proxy recall", "proxy answer"])
def test_a_conversation_records_the_proxys_question_and_first_answer(origin: Origin) -> None:
    after = decided(basis([user("one")], origin=origin)).conversation
    assert after.asked == (after.chain if origin == "proxy question" else None)
    assert after.answered == (after.chain if origin == "proxy answer" else None)


def test_inner_messages_have_the_chain_of_the_message_before() -> None:
    sent = basis([user("one"), {"role": "assistant", "content": "recalled"}, user("two")])
    arrivals = [replace(arrival, is_inner=index == 1) for index, arrival in enumerate(sent.arrivals)]
    first, inner, last = decided(replace(sent, arrivals=arrivals)).messages
    assert inner.digest == b""
    assert first.chain == inner.chain != last.chain
