"""A pattern is read once, refused where its cost has no bound, and filtered by texts that every match contains."""

import re
from unicodedata import normalize

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from app.core.search import grep
from app.core.search.grep import MessageSpan, RefusedPattern

SAFE = st.text(st.characters(codec="utf-8", exclude_characters="\n\r\x00"), min_size=1, max_size=8)


@given(SAFE, SAFE, SAFE)
def test_a_literal_is_found_where_it_stands_and_its_line_is_counted(before: str, literal: str, after: str) -> None:
    whole = f"{before}{literal}{after}"
    assume(normalize("NFKC", whole) == "".join(normalize("NFKC", one) for one in (before, literal, after)))
    text = f"first\n{whole}\nlast"
    lines = [line for line in grep.found_in(text, literal) if line.number == 2]
    assert lines
    found = normalize("NFKC", text[lines[0].offset :])
    assert re.match(re.escape(normalize("NFKC", literal)), found, re.IGNORECASE)
    assert "**" in lines[0].shown


def test_a_line_with_two_matches_is_given_once() -> None:
    lines = list(grep.found_in("tea, Tea\ncoffee\nTEA", "tea"))
    assert [(line.number, line.offset, line.shown) for line in lines] == [(1, 0, "**tea**, Tea"), (3, 16, "**TEA**")]


@pytest.mark.parametrize(
    ("text", "literal", "shown"),
    [
        ("un cafe\u0301 noir", "café", "un **cafe\u0301** noir"),
        ("un café noir", "cafe\u0301", "un **café** noir"),
        ("订单ＡＢ１２３号", "ab123", "订单**ＡＢ１２３**号"),
        ("order AB123", "ＡＢ１２３", "order **AB123**"),
        ("an eﬃcient ﬁx", "efficient", "an **eﬃcient** ﬁx"),
        ("한글", "\u1112\u1161\u11ab글", "**한글**"),
        ("paid $1,234.50 now", "1234.50", "paid $**1,234.50** now"),
        ("paid 1.234,50 € now", "1,234.50", "paid **1.234,50** € now"),
        ("¥1234567", "1,234,567", "¥**1234567**"),
    ],
)
def test_the_forms_of_characters_and_numbers_do_not_matter(text: str, literal: str, shown: str) -> None:
    assert [line.shown for line in grep.found_in(text, grep.pattern_of(literal, is_regex=False).text)] == [shown]


def test_a_long_line_is_shown_around_its_match() -> None:
    (line,) = grep.found_in("a" * 5_000 + "needle" + "b" * 5_000, "NEEDLE")
    assert "a**needle**b" in line.shown
    assert line.shown.startswith("…")
    assert line.shown.endswith("…")
    assert len(line.shown) <= grep.SHOWN_CHARACTERS + 6


@pytest.mark.parametrize(
    ("pattern", "expression", "needles"),
    [
        (r"ORD-\d{4}", r"ORD\-\d{4}", ("%ord-%",)),
        (r"\bcat\b", r"\ycat\y", ("%cat%",)),
        (r"foo|(bar)+x", r"foo|(?:bar)+x", ("%foo%", "%x%")),
        (r"colou?r", r"colou?r", ("%colo%",)),
        (r"a{x", r"a\{x", ("%a{x%",)),
        (r"say \"hello\"", r"say\ \"hello\"", ("%hello%",)),
        (r"50%_", r"50\%\_", (r"%50\%\_%",)),
        (r"龙井|\w+", r"龙井|\w+", ()),
        (r"[^]a]+ x", r"[^]a]+\ x", ("% x%",)),
        (r"(?i)naïve", "naïve", ("%na_ve%",)),
        (r"(a|b)", "(?:a|b)", ()),
        (r"a*b*", "a*b*", ()),
    ],
)
def test_a_regular_expression_is_written_for_postgresql(pattern: str, expression: str, needles: tuple[str]) -> None:
    read = grep.pattern_of(pattern, is_regex=True)
    assert (read.expression, read.needles) == (expression, needles)


@pytest.mark.parametrize(
    "pattern",
    [
        r"(a)\1", r"(?=a)", r"(?<!a)b", r"(?P<n>a)", "(a", "a)", "[a", "*a", "a|*", "a**", "a{256}", "a{1,999}",
        "((a{200}){200})", r"\q", "\\", "a\nb", r"a\n", r"[\q]", "***=a", "(?:*a)", "a" + "{2}" * 20, "{2}",
    ],
)  # fmt: skip
def test_what_could_explode_or_means_nothing_is_refused_in_both_languages(pattern: str) -> None:
    with pytest.raises(RefusedPattern) as refused:
        grep.pattern_of(pattern, is_regex=True)
    said = refused.value.wording()
    assert said.en.startswith("`pattern` cannot have ")
    assert any("\u4e00" <= character <= "\u9fff" for character in said.zh)


@given(st.text(max_size=40))
def test_every_text_is_read_or_refused(pattern: str) -> None:
    try:
        read = grep.pattern_of(pattern, is_regex=True)
    except RefusedPattern:
        return
    assert read.expression is not None
    assert read.expression.count("(") >= pattern.count("(")


@given(st.text(min_size=1, max_size=20), st.text(max_size=10), st.text(max_size=10))
def test_what_contains_a_literal_passes_its_filter(literal: str, before: str, after: str) -> None:
    needles = grep.pattern_of(literal, is_regex=False).needles
    text = f"{before}{literal}{after}"
    stored = "".join(character.lower() if character.isascii() else character for character in text)
    wild = {"_": ".", "%": ".*"}
    likened = ["".join(wild.get(p) or re.escape(p[-1]) for p in re.findall(r"\\.|.", n, re.DOTALL)) for n in needles]
    assert not needles or any(re.fullmatch(one, stored, re.DOTALL) for one in likened)


@given(st.lists(st.integers(1, 50), max_size=8), st.integers(1, 60))
def test_stretches_cover_every_message_once_and_none_is_too_long(lengths: list[int], size: int) -> None:
    spans = [MessageSpan(str(number), 1, length) for number, length in enumerate(lengths)]
    read: list[tuple[str, int]] = []
    while spans:
        now, spans = grep.take(spans, size)
        assert 0 < sum(span.last - span.first + 1 for span in now) <= size
        read += [(span.conversation_id, seq) for span in now for seq in range(span.last, span.first - 1, -1)]
    assert read == [(str(n), seq) for n, length in enumerate(lengths) for seq in range(length, 0, -1)]


def test_reading_goes_on_below_the_last_message() -> None:
    spans = [MessageSpan("a", 1, 9), MessageSpan("b", 3, 8), MessageSpan("c", 1, 2)]
    assert grep.below(spans, "b", 5) == [MessageSpan("b", 3, 4), MessageSpan("c", 1, 2)]
    assert grep.below(spans, "b", 3) == [MessageSpan("c", 1, 2)]
