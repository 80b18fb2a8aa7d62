"""What a search shows of a match."""

import pytest

from app.services.memory.previewing import PREVIEW_CHARACTERS, preview


@pytest.mark.parametrize(
    ("text", "query", "shown"),
    [
        ("I like longjing tea", "longjing", "I like **longjing** tea"),
        ("A steak, then tea.", "tea", "A steak, then **tea**."),
        ("the runner is running", "run", "the runner is **running**"),
        ("call getUserName() now", "user", "call get**User**Name() now"),
        ("mail a.b@c.de today", "a.b@c.de", "mail **a.b@c.de** today"),
        ("我们去杭州喝龙井茶吧", "龙井茶", "我们去杭州喝**龙井茶**吧"),
        ("nothing", "tea", "nothing"),
        ("a great steak", "eat tea", "a great steak"),
        ("a great cat", "eat cat", "a great **cat**"),
        ("", "", ""),
    ],
)
def test_the_whole_word_is_marked_that_was_meant(text: str, query: str, shown: str) -> None:
    assert preview(text, query) == shown


def test_a_preview_is_around_its_match() -> None:
    shown = preview("a " * 500 + "zebrafish" + " b" * 500, "zebrafish")
    assert "a **zebrafish** b" in shown
    assert len(shown) <= PREVIEW_CHARACTERS + 2


def test_a_preview_begins_with_the_sentence_that_has_most_of_the_words() -> None:
    text = "The invoice came. " * 12 + "Tarnhost paid the invoice of 3.50 EUR on 4 May. " + "It rained. " * 20

    assert preview(text, "Who paid the invoice in May?").startswith("…Tarnhost paid the **invoice** of 3.50 EUR")


def test_a_preview_shows_figures_where_no_word_is_shared() -> None:
    text = "We talked for a while about this and that. " * 6 + "The rent is 890 a month in Leith. " + "It rained. " * 20

    assert "890" in preview(text, "What does my flat cost?")
    assert preview(text, "").startswith("We talked")
