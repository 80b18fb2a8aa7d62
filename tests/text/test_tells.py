"""Which lines can stand in a summary."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.core.window import head_summary
from app.core.window.contents import ContentsLine
from app.core.window.head_summary import HeadReader, Tells
from app.extractive.calls import call_line
from app.extractive.lines import message_line, result_line
from app.extractive.summary import pick_lines
from app.extractive.tells import tells
from app.text.language import sentences

READER = HeadReader(len, pick_lines, sentences, tells)
ARGUMENTS = st.dictionaries(st.from_regex(r"[a-z]{2,8}", fullmatch=True), st.text(max_size=30), max_size=4)
SENTENCES = st.lists(
    st.sampled_from(
        [
            "The pool of the order gateway has twelve connections.",
            "We decided to use Valkey instead of Redis for the session store.",
            "我们决定三月把仓库搬到鹿特丹。",
            "老周不吃香菜，小北对花生过敏。",
            "Hello!",
            "Let me check that for you.",
            "还有什么可以帮您的吗？",
            "The supplier moved the delivery "
            + "of the pallets and of everything that belongs to them " * 4
            + "to May.",
        ]
    ),
    min_size=1,
    max_size=12,
)


@given(st.from_regex(r"[a-z_]{2,20}", fullmatch=True), ARGUMENTS)
def test_no_call_and_no_result_tells_anything(tool: str, arguments: dict[str, str]) -> None:
    assert tells("assistant", call_line(tool, json.dumps(arguments))) is Tells.NOTHING
    assert tells("tool", result_line(tool, json.dumps(arguments))) is Tells.NOTHING


@pytest.mark.parametrize(
    ("role", "line", "told"),
    [
        ("user", "I need to change the passenger name on my reservation.", Tells.WHOLE),
        ("assistant", "我们决定三月把仓库搬到鹿特丹。", Tells.WHOLE),
        ("assistant", "The supplier moved the delivery of the pallets and of everything that…", Tells.IN_PART),
        ("assistant", "run_sql(query=SELECT return_id FROM returns)", Tells.NOTHING),
        ("assistant", 'get_weather(city=Bergen), read_file(path="a.md")', Tells.NOTHING),
        ("assistant", "JSON object, 2 keys: orders (62), count=62", Tells.NOTHING),
        ("user", '{"id": 7, "name": "pump"}', Tells.NOTHING),
        ("user", "code: class Cart · def total(self)", Tells.NOTHING),
        ("user", "Hi there!", Tells.NOTHING),
        ("user", "你好，谢谢！", Tells.NOTHING),
        ("user", "please proceed with the change.", Tells.NOTHING),
        ("assistant", "Could you please provide your user ID?", Tells.NOTHING),
        ("assistant", "Let me look at the file first.", Tells.NOTHING),
        ("assistant", "Here are the open orders:", Tells.NOTHING),
        ("assistant", "Since the file is large, I'll use the editor to read it.", Tells.NOTHING),
        ("assistant", "Now I have the timetable of both trains.", Tells.NOTHING),
        ("assistant", "I found the proper tools for spreadsheets.", Tells.NOTHING),
        ("assistant", "Trip Type: Round Trip", Tells.NOTHING),
        ("user", "The one that we had before", Tells.NOTHING),
        ("user", "That's all I needed.", Tells.NOTHING),
        ("user", "我期待已久了！", Tells.NOTHING),
        ("assistant", "所以，别太担心啦。", Tells.NOTHING),
        ("user", "Family comes first for me. That sounds awesome!", Tells.IN_PART),
        ("user", "我可以教你折纸飞机！ 哇，这主意好极了！", Tells.IN_PART),
        ("user", "我好伤心，我希望他们不要离婚。", Tells.WHOLE),
    ],
)
def test_what_a_line_tells(role: str, line: str, told: Tells) -> None:
    assert tells(role, line) is told


@given(SENTENCES, st.integers(30, 400))
def test_a_summary_is_made_of_whole_sentences_and_else_of_their_beginnings(said: list[str], room: int) -> None:
    lines = [ContentsLine(seq, "user", message_line("user", text), len(text)) for seq, text in enumerate(said, 1)]
    found = [line.text for line in head_summary.extracted({1: lines}, {}, room, READER)]

    assert all(
        text in said or (text.endswith("…") and any(one.startswith(text[:-1]) for one in said)) for text in found
    )
    assert all(tells("user", text) is not Tells.NOTHING for text in found)
