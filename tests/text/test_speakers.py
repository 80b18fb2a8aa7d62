"""Names of those who talk are no subjects, whatever apostrophe a phone writes."""

import pytest

from app.extractive.chapters import words_told
from app.extractive.lines import message_line
from app.extractive.speakers import addressed
from app.extractive.subjects import subjects_of_page
from app.extractive.terms import key_terms


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("Thanks, Maria! We love climbing.", {"maria"}),
        ("Hey Jolene, my dad passed away.", {"jolene"}),
        ("That is great, Mel!", {"mel"}),
        ("We moved to Lyon, France.", set()),
        ("Tell Omar about the harbour.", set()),
    ],
)
def test_whom_a_text_addresses(text: str, names: set[str]) -> None:
    assert addressed(text) == names


def test_the_speakers_of_a_page_are_no_subjects() -> None:
    lines = [
        ("user", "Jon: The dance studio opens in Leith."),
        ("assistant", "Thanks, Jon! Which floor has the dance studio?"),
    ]

    assert subjects_of_page("Jon: The dance studio opens", lines, 5) == ["dance studio", "Leith", "floor"]


def test_a_heading_is_no_speaker() -> None:
    assert "error" not in subjects_of_page("Error: the harbour crane", [("user", "Error: the harbour crane")], 5)
    assert "Leith" in subjects_of_page("Leith", [("user", "Leith: a walk")], 5)


def test_curly_apostrophes_make_no_terms() -> None:
    text = "I’m sure it’s Anna’s lighthouse. They’re lovely, don’t you think? Let’s go, we’ve time."

    assert words_told(text) == ["anna", "lighthouse", "time"]
    assert set(key_terms(text)[:2]) == {"lighthouse", "Anna"}


def test_three_facts_stand_before_their_request() -> None:
    text = "The server runs on port 8443. It has 16 GB of RAM. My colleague Tom set it up in 2019. Why is it slow?"

    assert message_line("user", text) == text
