"""Which lines can stand for a chapter."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.extractive.calls import call_line
from app.extractive.lines import result_line
from app.extractive.tells import tells

ARGUMENTS = st.dictionaries(st.from_regex(r"[a-z]{2,8}", fullmatch=True), st.text(max_size=30), max_size=4)


@given(st.from_regex(r"[a-z_]{2,20}", fullmatch=True), ARGUMENTS)
def test_no_call_and_no_result_tells_anything(tool: str, arguments: dict[str, str]) -> None:
    assert tells("assistant", call_line(tool, json.dumps(arguments))) is False
    assert tells("tool", result_line(tool, json.dumps(arguments))) is False


@pytest.mark.parametrize(
    ("role", "line", "told"),
    [
        ("user", "I need to change the passenger name on my reservation.", True),
        ("assistant", "我们决定三月把仓库搬到鹿特丹。", True),
        ("assistant", "The supplier moved the delivery of the pallets and of everything that…", True),
        ("assistant", "run_sql(query=SELECT return_id FROM returns)", False),
        ("assistant", 'get_weather(city=Bergen), read_file(path="a.md")', False),
        ("assistant", "JSON object, 2 keys: orders (62), count=62", False),
        ("user", '{"id": 7, "name": "pump"}', False),
        ("user", "code: class Cart · def total(self)", False),
        ("user", "Hi there!", False),
        ("user", "你好，谢谢！", False),
        ("user", "please proceed with the change.", False),
        ("assistant", "Could you please provide your user ID?", False),
        ("assistant", "Let me look at the file first.", False),
        ("assistant", "Here are the open orders:", False),
        ("assistant", "Since the file is large, I'll use the editor to read it.", False),
        ("assistant", "Now I have the timetable of both trains.", False),
        ("assistant", "I found the proper tools for spreadsheets.", False),
        ("assistant", "Trip Type: Round Trip", False),
        ("user", "The one that we had before", False),
        ("user", "That's all I needed.", False),
        ("user", "我期待已久了！", False),
        ("assistant", "所以，别太担心啦。", False),
        ("user", "Family comes first for me. That sounds awesome!", True),
        ("user", "我可以教你折纸飞机！ 哇，这主意好极了！", True),
        ("user", "我好伤心，我希望他们不要离婚。", True),
    ],
)
def test_what_a_line_tells(role: str, line: str, told: bool) -> None:
    assert tells(role, line) is told
