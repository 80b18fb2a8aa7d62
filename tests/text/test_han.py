"""Traditional and simplified Chinese are one when they are compared, and stay two where they are kept."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.extractive.terms import key_terms
from app.services.memory.previewing import preview
from app.text import bm25
from app.text.chinese_scripts import simplified
from app.text.language import fold, fold_each, is_han, segments, words

IDEOGRAPHS = st.characters(min_codepoint=0x3400, max_codepoint=0x9FFF)
TEXT = st.text(IDEOGRAPHS | st.sampled_from("aB_1 ,。\n\x00\ud800ＡﬁİßがカＩ한ｶﾞ𠀀") | st.characters())


@given(TEXT)
def test_folding_is_idempotent_and_keeps_offsets(text: str) -> None:
    once = simplified(text)
    assert len(once) == len(text)
    assert simplified(once) == once
    each = fold_each(text)
    assert len(each) == len(text)
    assert fold_each(each) == each


@given(TEXT)
def test_a_text_and_its_simplified_form_have_the_same_terms(text: str) -> None:
    assert list(bm25.terms(text)) == list(bm25.terms(simplified(text)))
    assert fold(text) == fold(simplified(text))


@given(TEXT)
def test_other_text_is_unchanged(text: str) -> None:
    for before, after in zip(text, simplified(text), strict=True):
        assert before == after or (is_han(before) and is_han(after))


@pytest.mark.parametrize(
    ("traditional", "simple"),
    [
        ("頭髮", "头发"), ("發現", "发现"), ("臺灣", "台湾"), ("裡面", "里面"), ("裏面", "里面"), ("著名", "着名"),
        ("衛生", "卫生"), ("衞生", "卫生"), ("軟體", "软体"), ("麵條", "面条"), ("龍井茶", "龙井茶"), ("憂鬱", "忧郁"),
    ],
)  # fmt: skip
def test_words_of_both_scripts_match(traditional: str, simple: str) -> None:
    assert simplified(traditional) == simplified(simple)
    assert bm25.query(traditional) == bm25.query(simple)


@pytest.mark.parametrize(
    "text", ["これはペンです。", "カタカナ", "한국어 텍스트", "plain ASCII", "Ünïcödé", "簡".encode().hex()]
)
def test_other_scripts_are_unchanged(text: str) -> None:
    assert simplified(text) == text


def test_a_match_is_marked_as_it_was_written() -> None:
    assert preview("昨天我買了龍井茶,很好喝。", "龙井") == "昨天我買了**龍井**茶,很好喝。"
    assert preview("昨天我买了龙井茶。", "龍井") == "昨天我买了**龙井**茶。"
    assert preview("İstanbul ＣＡＦÉ is open", "café") == "İstanbul **ＣＡＦÉ** is open"
    assert preview("ﬁrst of all: ＰＥＡＲＬ", "pearl") == "ﬁrst of all: **ＰＥＡＲＬ**"


def test_traditional_text_is_segmented_like_simplified_text() -> None:
    assert words("我們開發資料庫的備份腳本") == ["我們", "開發", "資料庫", "的", "備份", "腳本"]
    terms = key_terms("我們這個週末去爬山,記得帶防曬霜和登山鞋,我們在纜車站集合。")
    assert "我們" not in terms
    assert any("防曬" in term for term in terms), terms


@given(st.text(IDEOGRAPHS, min_size=1))
def test_the_words_of_a_run_are_all_of_it(run: str) -> None:
    assert "".join(segments(run)) == run
