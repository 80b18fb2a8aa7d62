"""A model's tokens of a text, by its family's formula and from a few integers."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.core.calibration import PERCENT_MAX, PERCENT_MIN, Charge, charged, counted, hundredths, marks_of
from app.core.messages import weigh
from app.core.model import OURS, Marks, Mix
from app.core.models import EXACT, FAMILIES, TABLE, UNMEASURED
from app.core.window.profile import marks_in
from app.text.tokens import TokenCounter

names = st.sampled_from(sorted(FAMILIES))
small = st.integers(0, 2_000)
mixes = st.builds(Mix, st.integers(1, 50_000), small, small, small, st.just(0), st.integers(0, 50), st.integers(0, 9))


@pytest.mark.parametrize(
    ("text", "marks"),
    [
        ("", (0, 0, 0)), ("7", (0, 0, 0)), ("42", (1, 0, 0)), ("1234", (2, 0, 0)), ("123456789", (6, 0, 0)),
        ("2026-11-28", (4, 0, 0)), ("一二三", (0, 3, 0)), ("한국어かな", (0, 0, 0)), ("I am A", (0, 0, 0)),
        ("MAX_SIZE", (0, 0, 7)), ("aBCd", (0, 0, 2)), ("\ud800 12", (1, 0, 0)), ("👩‍👩‍👧", (0, 0, 0)),
    ],
)  # fmt: skip
def test_marks_are_counted(text: str, marks: tuple[int, int, int]) -> None:
    assert marks_of(text) == Marks(*marks)


@given(st.lists(st.text()))
def test_marks_of_lines_add_up(lines: list[str]) -> None:
    each = Marks().plus(*map(marks_of, lines))
    assert marks_of("\n".join(lines)) == each
    views = [{"role": "user", "content": line} for line in lines]
    assert marks_in(views) == marks_in((), lines) == marks_in(views[:1], lines[1:]) == each


@given(names, mixes, mixes)
def test_a_count_is_an_integer_that_grows_with_the_text(name: str, one: Mix, other: Mix) -> None:
    family = FAMILIES[name]
    assert hundredths(family, one.plus(other)) == hundredths(family, one) + hundredths(family, other)
    assert PERCENT_MIN <= charged(Charge(family), one) <= PERCENT_MAX


@given(mixes)
def test_a_model_of_our_vocabulary_has_no_margin(mix: Mix) -> None:
    assert charged(Charge(FAMILIES[EXACT]), mix) == OURS
    assert Charge(FAMILIES[EXACT]).tokens(mix) == mix.tokens


@given(names, mixes, st.integers(2_000, 200_000))
def test_a_window_at_its_percent_is_within_the_budget(name: str, mix: Mix, budget: int) -> None:
    charge = Charge(FAMILIES[name])
    percent = charged(charge, mix)
    if percent < PERCENT_MAX and mix.tokens * percent <= budget * OURS:
        assert charge.tokens(mix) <= budget


def test_a_million_digits_and_a_million_capitals_are_charged_sanely() -> None:
    for name, family in FAMILIES.items():
        digits, capitals = Mix(333_334, digits=666_666), Mix(330_000, capitals=1_000_000)
        assert Charge(family).tokens(digits) >= 0.98 * 333_334, name
        assert Charge(family).tokens(capitals) >= 0.9 * 330_000, name


def test_images_are_no_text_of_a_family() -> None:
    image = Mix(1_600, flat=1_600)
    assert {Charge(family).tokens(image) for family in FAMILIES.values()} == {1_600}


@given(names, mixes)
def test_texts_beside_a_window_count_as_it_does(name: str, mix: Mix) -> None:
    charge, marks = Charge(FAMILIES[name]), Marks(mix.digits, mix.han, mix.capitals)
    plain = Mix.of(mix.tokens, marks)
    if (percent := charged(charge, plain)) < PERCENT_MAX:
        assert counted(charge, percent, mix.tokens, marks) <= mix.tokens + 1


@pytest.mark.parametrize(
    ("model", "family"),
    [
        ("gpt-5.4", EXACT), ("openai/gpt-4o", EXACT), ("gpt-4", "cl100k"), ("claude-opus-5", "claude-4.7"),
        ("anthropic/claude-opus-4-8", "claude-4.7"), ("claude-opus-4-6", "claude"), ("claude-3-5-haiku", "claude"),
        ("us.anthropic.claude-sonnet-4-5-v1:0", "claude"), ("deepseek/deepseek-v4", "deepseek"),
        ("qwen3.6-plus", "qwen"), ("qwen3.5:9b", "qwen"), ("qwen-max", "qwen-old"), ("mistral-large-3", "tekken"),
        ("meta-llama/llama-3.1-8b", "llama"), ("google/gemini-3-pro", "gemini"), ("gemma4:12b", "gemma"),
        ("kimi-k3", UNMEASURED), ("nobodys-model", UNMEASURED), ("", UNMEASURED),
    ],
)  # fmt: skip
def test_a_models_family_is_known_by_its_name(model: str, family: str) -> None:
    assert TABLE.family(model) is FAMILIES[family]


def test_a_deployments_row_names_a_family() -> None:
    mine = TABLE.extended('{"mine": {"prefixes": ["mine-"], "family": "qwen"}}')
    assert mine.family("mine-7b") is FAMILIES["qwen"]
    with pytest.raises(ValueError, match="`family` of the row 'mine' cannot be"):
        TABLE.extended('{"mine": {"prefixes": ["mine-"], "family": "nobodys"}}')


@pytest.mark.parametrize(("calls", "prompt_tokens"), [(1, 58), (2, 114)])
def test_calls_are_charged_as_the_longest_template_writes_them(
    counter: TokenCounter, calls: int, prompt_tokens: int
) -> None:
    """``prompt_tokens``: the count of mistral-common 1.13.1 for its template v3."""
    function = {"name": "get_weather", "arguments": '{"city": "Paris", "days": 3}'}
    ids = ["abcdefghi", "abcdefghj"][:calls]
    called: dict[str, Any] = {
        "role": "assistant",
        "content": "",
        "tool_calls": [{"id": i, "function": function} for i in ids],
    }
    results: list[dict[str, Any]] = [{"role": "tool", "tool_call_id": i, "content": "sunny, 24 degrees"} for i in ids]
    weighed = [weigh(message) for message in (called, *results)]
    tokens = sum(flat + sum(map(counter.count, texts)) for texts, flat in weighed)
    marks = Marks().plus(*(marks_of(text) for texts, _ in weighed for text in texts))
    assert Charge(FAMILIES["tekken"]).tokens(Mix.of(tokens, marks, calls=calls)) >= prompt_tokens
