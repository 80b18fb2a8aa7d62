"""The usage and cost of a proxied request."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.core.dialects.usage import ModelUsage, Price, Prices

tokens = st.integers(0, 10**6)
dollars = st.floats(0, 1000)


@pytest.mark.parametrize(
    ("reported", "expected"),
    [
        (None, None),
        ({}, None),
        ({"prompt_tokens": "9", "completion_tokens": 1}, None),
        ({"prompt_tokens": True}, None),
        ({"prompt_tokens": 9}, ModelUsage(9, 0, 0)),
        ({"prompt_tokens": 9, "completion_tokens": 2, "prompt_tokens_details": None}, ModelUsage(9, 0, 2)),
        ({"prompt_tokens": 9, "prompt_tokens_details": {"cached_tokens": 4}}, ModelUsage(9, 4, 0)),
        ({"prompt_tokens": 9, "prompt_tokens_details": {"cached_tokens": 40}}, ModelUsage(9, 9, 0)),
        (
            {
                "prompt_tokens": 9,
                "completion_tokens": 2,
                "total_tokens": 14,
                "completion_tokens_details": {"reasoning_tokens": 3},
            },
            ModelUsage(9, 0, 5),
        ),
        (
            {
                "prompt_tokens": 9,
                "completion_tokens": 2,
                "total_tokens": 11,
                "completion_tokens_details": {"reasoning_tokens": 1},
            },
            ModelUsage(9, 0, 2),
        ),
        (
            {
                "prompt_tokens": 9,
                "completion_tokens": 2,
                "total_tokens": 51,
                "prompt_tokens_details": {"cached_tokens": 40},
            },
            ModelUsage(49, 40, 2),
        ),
        ({"prompt_tokens": -9, "completion_tokens": 2**70}, ModelUsage(0, 0, 2**31 - 1)),
    ],
)
def test_what_an_api_reports_is_read(reported: dict[str, Any] | None, expected: ModelUsage | None) -> None:
    assert ModelUsage.read(reported) == expected


@given(st.dictionaries(st.sampled_from(["prompt_tokens", "completion_tokens", "prompt_tokens_details"]), st.integers()))
def test_nothing_that_is_reported_is_out_of_range(reported: dict[str, Any]) -> None:
    used = ModelUsage.read(reported)
    assert used is None or 0 <= used.cached_tokens <= used.prompt_tokens < 2**31 > used.completion_tokens >= 0


@given(prompt=tokens, cached=tokens, completion=tokens, of_input=dollars, of_output=dollars)
def test_each_token_is_paid_once(prompt: int, cached: int, completion: int, of_input: float, of_output: float) -> None:
    used = ModelUsage(prompt + cached, cached, completion)
    assert Price(of_input, of_output, 0.0).cost(used) == pytest.approx(
        (prompt * of_input + completion * of_output) / 1_000_000
    )
    assert Price(of_input, of_output).cost(used) == pytest.approx(Price(of_input, of_output, of_input).cost(used))


def test_a_model_has_the_price_of_the_longest_name_that_it_begins_with() -> None:
    prices = Prices.read(
        json.dumps(
            {
                "gpt-5": {"input": 1, "output": 0},
                "gpt-5-mini": {"input": 2, "output": 0},
                "*": {"input": 3, "output": 0, "cached_input": 0.5},
            }
        )
    )
    million = ModelUsage(1_000_000, 0, 0)
    assert [prices.cost(m, million) for m in ("gpt-5", "gpt-5-2026", "gpt-5-mini-x", "o9")] == [1, 1, 2, 3]
    assert prices.cost("o9", ModelUsage(1_000_000, 1_000_000, 0)) == 0.5
    assert prices.cost("o9", None) is None
    assert Prices.read("").cost("o9", million) is None
    assert Prices.read('{"a": {"input": 1, "output": 1}}').cost("b", million) is None


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("x", "JSON object"),
        ("[1]", "JSON object"),
        ('{"m": 1}', "`input`"),
        ('{"m": {"input": 1}}', "`output`"),
        ('{"m": {"input": 1, "output": 1, "cache": 1}}', "`cached_input`"),
        ('{"m": {"input": -1, "output": 1}}', "`input`"),
        ('{"m": {"input": true, "output": 1}}', "`input`"),
        ('{"m": {"input": 1, "output": NaN}}', "`output`"),
        ('{"m": {"input": 1, "output": 1e9}}', "`output`"),
        ("[" * 100_000, "JSON object"),
    ],
)
def test_a_bad_table_of_prices_says_what_is_wrong(text: str, named: str) -> None:
    with pytest.raises(ValueError, match=named):
        Prices.read(text)
