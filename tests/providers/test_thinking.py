"""Background calls of models that think."""

from __future__ import annotations

import pytest

from app.core.models import TABLE, ModelRow
from app.providers.openai_chat import thought_too_long

CUT = {"choices": [{"finish_reason": "length", "message": {"content": "", "reasoning_content": "hm"}}]}


def test_an_answer_that_thinking_used_up_is_known_by_its_reasoning_or_its_usage() -> None:
    counted = {
        "choices": [{"finish_reason": "length", "message": {"content": ""}}],
        "usage": {"completion_tokens_details": {"reasoning_tokens": 560}},
    }
    in_text = {"choices": [{"finish_reason": "length", "message": {"content": "<think>\nFirst,"}}]}
    in_parts = {"choices": [{"finish_reason": "length", "message": {"content": [{"type": "thinking"}]}}]}
    assert all(map(thought_too_long, (CUT, in_text, in_parts)))
    assert thought_too_long(counted)
    assert not thought_too_long({"choices": [{"finish_reason": "length", "message": {"content": "a long text"}}]})
    assert not thought_too_long({"choices": [{"finish_reason": "stop", "message": {"reasoning_content": "hm"}}]})


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        ('{"mine": {"colour": 1}}', "the row 'mine' has the unknown member 'colour'"),
        ('{"mine": {"input_price": -1}}', "`input_price` of the row 'mine' cannot be -1"),
        ('{"mine": {"output_price": "2"}}', "`output_price` of the row 'mine' cannot be"),
        ('{"mine": {"cache": {"size": 1}}}', "`cache` of the row 'mine' has the unknown member 'size'"),
        ('{"mine": {"like": "yours"}}', "is like 'yours', which is no row"),
        ('{"mine": {"window": "large"}}', "`window` of the row 'mine' cannot be"),
        ("[]", "must be a JSON object"),
    ],
)
def test_a_malformed_row_is_refused_with_its_place(text: str, wrong: str) -> None:
    with pytest.raises(ValueError, match=wrong):
        TABLE.extended(text)


def test_a_deployments_row_extends_the_table() -> None:
    table = TABLE.extended('{"mine": {"like": "kimi", "prefixes": ["My-Model"], "window": 1234}}')
    row = table.row("my-model-2")
    assert (row.reasoning, row.window, table.window("my-model-2")) == ("reasoning_content", 1234, 1234)
    assert table.row("another") == ModelRow()
