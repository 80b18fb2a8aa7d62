"""Sentences, words and languages, in Chinese and English."""

import pytest

from app.text.language import clip, dominant, fold, language, script_counts, sentences, squeeze, words


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Where is the invoice?", "en"),
        ("发票在哪里？", "zh"),
        ("用 Python 写一个 REST API 的 client", "zh"),
        ("帮我看看这个：\n```\nTypeError: cannot read properties of undefined (reading 'map')\n```", "zh"),
        ("The word 茶 gave us both tea and chai, depending on the road it took.", "en"),
        ('{"status": "ok", "items": [1, 2, 3]}', "en"),
        ("これはペンです。東京に行きたい。", "en"),
        ("", "en"),
        ("👍", "en"),
    ],
)
def test_the_language_is_that_of_the_words_not_of_the_code(text: str, expected: str) -> None:
    assert language(text) == expected


def test_counts_of_messages_add_up_to_the_language_of_a_conversation() -> None:
    counts = [script_counts(text) for text in ("你好，帮我订一张票", "ok", "Traceback in main", "谢谢，改成星期五吧")]

    assert dominant(sum(han for han, _ in counts), sum(latin for _, latin in counts)) == "zh"


def test_a_sentence_ends_where_a_reader_would_end_it() -> None:
    text = (
        "Dr. Lee paid $3.50 for v1.2.3 at https://shop.test/a?b=1.2. It broke! See no. 5, e.g. the hinge. "
        "价格是3.5元。能退吗？能；但要快"
    )

    assert sentences(text) == [
        "Dr. Lee paid $3.50 for v1.2.3 at https://shop.test/a?b=1.2.",
        "It broke!",
        "See no. 5, e.g. the hinge.",
        "价格是3.5元。",
        "能退吗？",
        "能；",
        "但要快",
    ]


def test_bullets_and_headings_stand_alone_and_wrapped_lines_are_joined() -> None:
    text = (
        "# Plan\n- buy paint\n2. sand the door\n三、刷漆\n"
        "This paragraph was wrapped by hand at some width\nand goes on here.\nshort\nline"
    )

    assert sentences(text) == [
        "Plan",
        "buy paint",
        "sand the door",
        "刷漆",
        "This paragraph was wrapped by hand at some width and goes on here.",
        "short",
        "line",
    ]


def test_words_keep_identifiers_whole_and_segment_chinese() -> None:
    assert words("Call get_user on kim@mail.test, don't wait") == [
        "call",
        "get_user",
        "on",
        "kim@mail.test",
        "don't",
        "wait",
    ]
    assert words("数据库连接超时2024-05-20") == ["数据库", "连接", "超时", "2024-05-20"]


def test_folding_ignores_width_and_case() -> None:
    assert fold("ＡＰＩ Straße") == fold("api STRASSE")


def test_squeezing_leaves_one_clean_line() -> None:
    assert squeeze(" a\x00b\tc\r\n\x1b[31mred\x1b[0m \u202egnp.exe\u200b ") == "a b c red gnp.exe"


def test_clipping_cuts_between_words_with_a_mark() -> None:
    assert clip("the quick brown fox", 100) == "the quick brown fox"
    assert clip("the quick brown fox, who", 21) == "the quick brown fox…"
    assert clip("我们从不在星期五部署", 6) == "我们从不在…"
    assert clip("supercalifragilistic", 6) == "super…"
    assert clip("anything", 0) == ""
