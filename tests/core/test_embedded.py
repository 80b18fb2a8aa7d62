"""The text of which a query's vector is made, and how the vector is moved."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.core.search.vector_text import QUERY_CHARACTERS, WIDE_CHARACTERS, last_speaker, middle, query_text

TEXT = st.text(st.sampled_from("ab 茶水カ한，\U00020000\n")) | st.text()


@given(TEXT, st.integers(1, 400))
def test_a_query_is_taken_whole_or_by_its_two_ends(text: str, times: int) -> None:
    query = text * times
    taken = query_text(query)
    weight = sum(WIDE_CHARACTERS if c in "茶水カ한，\U00020000" else 1 for c in taken)
    if taken != query:
        assert weight <= QUERY_CHARACTERS + 1 or not set(text) <= set("ab 茶水カ한，\U00020000\n")
        blanks = [i for i, character in enumerate(taken) if character == " "]
        assert any(query.startswith(taken[:i]) and query.endswith(taken[i + 1 :]) for i in blanks)
        assert len(taken) <= len(query)
    else:
        assert len(query) <= QUERY_CHARACTERS


@pytest.mark.parametrize(
    ("query", "length"), [("tea " * 150, 600), ("茶" * 200, 200), ("tea " * 2_500, 601), ("茶" * 9_000, 201)]
)
def test_a_query_is_read_up_to_its_limit(query: str, length: int) -> None:
    assert len(query_text(query)) == length


def test_the_last_speaker_of_a_dialogue_is_the_one_who_asks() -> None:
    dialogue = "Bart: I got full marks!\nAssistant: Great!\n\nBart: How shall I celebrate?"
    assert last_speaker(dialogue) == "Bart: I got full marks!\nBart: How shall I celebrate?"
    assert last_speaker("助手：你好\n小明：我想去公园") == "小明：我想去公园"


@pytest.mark.parametrize("text", ["", "Where did we park?", "Note: one\nNote: two", "Bart: hi\nand no name here"])
def test_a_plain_query_is_used_as_a_whole(text: str) -> None:
    assert last_speaker(text) is None


def test_the_middle_of_two_vectors_is_as_near_to_either_and_of_unit_length() -> None:
    assert middle([[1.0, 0.0], [0.0, 1.0]]) == pytest.approx([0.5**0.5, 0.5**0.5])
    assert middle([[1.0, 0.0], [-1.0, 0.0]]) == [0.0, 0.0]
