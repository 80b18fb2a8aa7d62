"""What the pages show is made of: the parts of messages, the places of pictures, texts that are safe to show."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.core.model import Ledger
from app.ui.language import preferred
from app.ui.parts import message_parts
from app.ui.pictures import SECTIONS, Point, bar, chart
from app.ui.shown import clip, first_line, hidden, marked, shown

TOKENS = st.integers(0, 10**7)


def point(page: int, notes: int, summary: int, contents: int, condensed: int, recent: int) -> Point:
    ledger = Ledger(0, notes=notes, summary=summary, contents=contents, condensed=condensed, recent=recent)
    return Point(page, page, 0, False, ledger)


@given(st.text())
def test_displayed_text_has_no_control_characters(text: str) -> None:
    assert not [c for c in shown(text) if (ord(c) < 32 and c not in "\t\n\r") or ord(c) == 127]


@given(st.text())
def test_plain_text_is_shown_as_it_is(text: str) -> None:
    plain = "".join(c for c in text if c.isprintable() or c in "\n\t")
    assert shown(plain) == plain


@given(st.text(), st.integers(0, 50))
def test_clipped_characters_are_counted(text: str, longest: int) -> None:
    found = clip(text, longest)
    assert found.left_out == max(0, len(text) - longest)
    assert found.text == shown(text[:longest])
    assert len(first_line(text, longest).splitlines()) <= 1


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("plain", ()),
        ("שלום 你好 👩‍👩‍👧", ()),
        ("\u202ea\u202e", ("U+202E right-to-left override × 2",)),
        ("\U000e0041", ("U+E0000–E007F tag characters × 1",)),
    ],
)
def test_hidden_characters_are_named(text: str, said: tuple[str, ...]) -> None:
    assert hidden(text) == said


@pytest.mark.parametrize(
    ("preview", "match"),
    [
        ("the **kettle** is on", "kettle"),
        ("**not this** but **Kettle**", "Kettle"),
        ("** odd ** and **kettle**s", "kettle"),
        ("**kettle", None),
        ("nothing", None),
    ],
)
def test_only_search_terms_are_marked(preview: str, match: str | None) -> None:
    pieces = marked(preview, {"kettle"})
    assert next((piece.text for piece in pieces if piece.is_match), None) == match
    joined = "".join(f"**{piece.text}**" if piece.is_match else piece.text for piece in pieces)
    assert joined == preview


@given(st.fixed_dictionaries(dict.fromkeys(SECTIONS, TOKENS)), st.integers(1, 10**7), TOKENS)
def test_a_bar_has_its_pieces_side_by_side_within_the_width(sections: dict[str, int], budget: int, more: int) -> None:
    total = sum(sections.values())
    made = bar({"sections": sections, "total": total, "model_total": total, "budget": budget}, total + more)
    assert 0 <= made.used <= 100
    at = 0.0
    for piece in made.pieces:
        assert piece.x == pytest.approx(at, abs=0.02)
        at = piece.x + piece.width
    assert at == pytest.approx(made.width, abs=0.05)
    assert at <= 100.01


@given(st.lists(st.tuples(TOKENS, TOKENS, TOKENS, TOKENS, TOKENS), min_size=1, max_size=60))
def test_columns_start_at_the_baseline_and_fit_the_chart(
    sizes: list[tuple[int, int, int, int, int]],
) -> None:
    points = [point(i, *size) for i, size in enumerate(sizes, 1)]
    made = chart(points)
    assert made.most == max(point.total for point in points)
    for column in made.columns:
        assert 0 <= column.x <= column.x + column.width <= 100
        assert min(block.y for block in column.blocks) >= -0.1
        assert sum(block.height for block in column.blocks) == pytest.approx(150 - column.blocks[-1].y, abs=0.1)


def test_a_message_is_read_in_either_form() -> None:
    said = message_parts({
        "role": "assistant", "reasoning_content": "hm", "content": "Let me see.",
        "tool_calls": [{"id": "c", "type": "function", "function": {"name": "look", "arguments": '{"at": 1}'}}],
    })  # fmt: skip
    assert [(part.kind, part.label, part.body.text) for part in said] == [
        ("thinking", "", "hm"), ("text", "", "Let me see."), ("call", "look · c", '{"at": 1}'),
    ]  # fmt: skip
    blocks = [
        {"type": "thinking", "thinking": "hm", "signature": "s"},
        {"type": "tool_use", "id": "c", "name": "look", "input": {}},
        {
            "type": "tool_result",
            "tool_use_id": "c",
            "content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}],
        },
        {"type": "image", "source": {"type": "url", "url": "https://example.com/x.png"}},
        {"type": "novel"},
        "bare",
    ]
    found = message_parts({"role": "user", "content": blocks})
    assert [part.kind for part in found] == ["thinking", "call", "result", "media", "other", "other"]
    assert found[2].body.text == "a\nb"
    assert message_parts({"role": "tool", "tool_call_id": "c", "content": "seen"})[0].kind == "result"
    assert message_parts({"role": "assistant", "content": None}) == []


@given(st.text(max_size=60))
def test_any_accept_language_is_read(header: str) -> None:
    assert preferred(header) in ("en", "zh")
