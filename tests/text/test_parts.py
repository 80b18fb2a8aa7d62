"""The parts of a long result that matter to a question."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.extractive.parts import END_CHARACTERS, OTHERS_CHARACTERS, SCAN_CHARACTERS, best_parts

FILLER = "The quay was quiet and the ships lay at anchor all day long.\n" * 15


def texts(text: str, question: str, most: int = 1_500) -> list[str]:
    return [text[start : start + length] for start, length in best_parts(text, question, most)]


@given(st.text(max_size=3_000), st.text(max_size=50), st.integers(0, 2_000))
def test_parts_are_stretches_of_the_text_that_do_not_overlap(text: str, question: str, most: int) -> None:
    found = sorted(best_parts(text, question, most))
    assert sum(length for _, length in found) <= most
    ends = [0, *(start + length for start, length in found)]
    assert all(start >= end for (start, _), end in zip(found, ends, strict=False))
    assert ends[-1] <= len(text)


@pytest.mark.parametrize(
    ("question", "wanted"),
    [
        ("Which broker clears the containers?", "Ivar Tamm is the broker for all containers.\n"),
        ("哪家公司负责清关?", "清关由塔林的海鸥公司负责。\n"),
        ("Which queries stopped?", "The QueryStops of Ivar Tamm were counted.\n"),
        ("What is 1234567?", "A total of USD1,234,567 was paid.\n"),
    ],
)
def test_what_answers_the_question_comes_first(question: str, wanted: str) -> None:
    assert wanted in texts(FILLER * 3 + wanted + FILLER * 3, question)[0]


def test_an_error_and_both_ends_come_before_the_rest() -> None:
    text = f"begin\n{FILLER}ERROR: the crane failed\n{FILLER}exit code 3\n"
    found = "".join(texts(text, "", 1_300))
    assert all(part in found for part in ("begin", "ERROR: the crane failed", "exit code 3"))


def test_what_has_nothing_to_do_with_the_question_fills_no_large_window() -> None:
    told = "".join(f"Berth {number} is free.\n" for number in range(1_500))
    found = "".join(texts(FILLER * 40 + told, "Which berth is free?", 100_000))
    assert found.count("Berth") == 1_500
    assert len(found) < len(told) + OTHERS_CHARACTERS


def test_of_a_very_long_text_the_beginning_and_the_end_are_looked_at() -> None:
    text = "quay " * (SCAN_CHARACTERS // 2)
    assert all(
        start + length <= SCAN_CHARACTERS or start >= len(text) - END_CHARACTERS
        for start, length in best_parts(text, "quay", 10**6)
    )
