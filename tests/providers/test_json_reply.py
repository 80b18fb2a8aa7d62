"""The JSON object of a model's answer: found in what models put around it, refused if it is not JSON to the letter."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.providers import UnusableReply
from app.providers.json_reply import DEPTH_MAX, object_of

TEXT = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=30)
NUMBERS = st.integers(-(10**18), 10**18) | st.floats(allow_nan=False, allow_infinity=False)
MARKS = st.sampled_from(["```", "}", "{", '"', "\\", "</think>\n", "<think>", "[{", '{"a": 1}', "//", ",]"])
VALUES = st.recursive(
    st.none() | st.booleans() | NUMBERS | TEXT | MARKS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT | MARKS, inner, max_size=3),
    max_leaves=12,
)
OBJECTS = st.dictionaries(TEXT | MARKS, VALUES, max_size=4)
# Braces that open no object, quotes that close no string.
PROSE = st.text("abc dé请,.:'\"!?\n}])", max_size=40) | st.sampled_from(
    ["Use { to open.", "{placeholder}", "[1]", "it's"]
)
AROUND = st.sampled_from(["{}", "```json\n{}\n```", "```\n{}\n```\n", "\ufeff {} \n"])


@given(OBJECTS, PROSE, PROSE, AROUND, st.sampled_from([None, 2]), st.booleans())
def test_an_object_is_found_in_any_surroundings(
    value: dict[str, Any], before: str, after: str, around: str, indent: int | None, ascii_only: bool
) -> None:
    written = json.dumps(value, indent=indent, ensure_ascii=ascii_only)
    text = f"{before} \n{around.replace('{}', written, 1)}\n {after}"
    assert object_of(text) == value


@given(
    OBJECTS, st.text(max_size=40).filter(lambda text: "</think>" not in text), st.sampled_from(["think", "thinking"])
)
def test_reasoning_before_the_object_is_skipped(value: dict[str, Any], thoughts: str, tag: str) -> None:
    text = json.dumps(value)
    assert object_of(f'\n<{tag}>{thoughts} {{"draft": 1}}</{tag}>\n{text}') == value
    assert object_of(f'{{"draft": 1}}</{tag}>\n\n{text}') == value


@given(OBJECTS.filter(bool), st.data())
def test_an_object_that_is_cut_off_is_refused(value: dict[str, Any], data: st.DataObject) -> None:
    text = json.dumps(value)
    with pytest.raises(UnusableReply):
        object_of(text[: data.draw(st.integers(0, len(text) - 1))])


@given(st.text(max_size=200) | st.text('{}[]"\\:,a1 \n<think>/', max_size=60))
def test_any_text_gives_an_object_or_an_error(text: str) -> None:
    try:
        value = object_of(text)
    except UnusableReply:
        return
    json.dumps(value, allow_nan=False).encode()
    assert "\0" not in str(value)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "no JSON object"),
        ("I cannot do that.", "no JSON object"),
        ("null", "no JSON object"),
        ('[{"a": 1}]', "list"),
        ('{"a": 1} {"b": 2}', "more than one"),
        ('{"a": 1,}', "not valid JSON"),
        ('{"a": [1, 2,]}', "not valid JSON"),
        ('{"a": 1 // one\n}', "not valid JSON"),
        ("{'a': 1}", "no JSON object"),
        ('{"a": 1, "b": 2, "a": 1}', 'key "a" twice'),
        ('{"a": {"b": 1, "b": 2}}', 'key "b" twice'),
        ('{"a": NaN}', "NaN"),
        ('{"a": -Infinity}', "-Infinity"),
        ('{"a": 1e999}', "too large"),
        ('{"a": ' + "9" * 5000 + "}", "too many digits"),
        ('{"a": "line\nbreak"}', "not valid JSON"),
        ('{"a": ' * 33 + "1" + "}" * 33, "deeper"),
        ('{"a": ' + "[" * 100_000, "deeper"),
        ('{"a": "' + '\\"' * 100_000 + "\\", "cut off"),
        ('{"a": {"b": 1}, ', "cut off"),
    ],
)
def test_anything_but_one_object_is_rejected_with_a_reason(text: str, why: str) -> None:
    with pytest.raises(UnusableReply, match=why):
        object_of(text)


def test_the_deepest_object_is_read() -> None:
    assert object_of('{"a": ' * DEPTH_MAX + "1" + "}" * DEPTH_MAX)


def test_characters_that_cannot_be_stored_are_replaced() -> None:
    assert object_of(r'{"a\u0000": ["\ud83d", "\ud83d\ude00"]}') == {"a\ufffd": ["\ufffd", "😀"]}


@pytest.mark.parametrize("text", ["{" * 200_000, "[ " * 100_000, '{"' * 100_000, "{ " * 100_000 + '"'])
def test_hostile_texts_are_parsed_in_linear_time(text: str) -> None:
    with pytest.raises(UnusableReply):
        object_of(text)
