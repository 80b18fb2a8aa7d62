"""What a conversation is about: noun phrases, and nothing else."""

import re
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.extractive.calls import call_line
from app.extractive.lines import result_line
from app.extractive.stopwords import CHINESE, ENGLISH
from app.extractive.subjects import subjects_of_page
from app.text.language import fold

NAMES = st.from_regex(r"[a-z]{3,9}(?:_[a-z]{3,9})?", fullmatch=True)
SAID = st.lists(
    st.sampled_from(
        [
            "Change the passenger name on my flight reservation, please.",
            "On the 15th of March at 10:30 we met in Bergen.",
            "订单 MQ-250310-0418 的地址在鹿特丹，先给我看看。",
            "周五下午把连接池的报告发给老周。",
            "run_sql failed; see /var/log/app.log and https://a.example/b?c=d",
            "It costs 1,200 EUR, 20 % more than in 2024.",
            "The connection pool of the order gateway is exhausted.",
            "他们都觉得这样很好。",
            "What is the meaning of it all?",
        ]
    ),
    max_size=6,
)
DATED = re.compile(r"\d{3}|\d(?:st|nd|rd|th)\b|[_/@=(){}]|\b(?:monday|friday|march)\b", re.IGNORECASE)


def subjects(texts: Sequence[str], n: int = 6) -> list[str]:
    return subjects_of_page("", [("user", text) for text in texts], n)


@given(NAMES, SAID)
def test_no_tool_is_a_subject(tool: str, said: list[str]) -> None:
    lines = [("user", text) for text in said]
    lines += [("assistant", call_line(tool, {"query": "pumps in Bergen"})), ("tool", result_line(tool, "7 rows"))]
    lines.append(("assistant", f"The {tool} has answered, says {tool}."))

    assert fold(tool) not in map(fold, subjects_of_page("Pumps", lines, 9))


@given(SAID)
def test_no_date_number_identifier_or_function_word_is_a_subject(said: list[str]) -> None:
    for subject in subjects(said, 9):
        assert not DATED.search(subject), subject
        assert subject.lower() not in ENGLISH | CHINESE
        assert 2 <= len(subject) <= 40


@given(SAID, st.integers(0, 9))
def test_no_subject_is_part_of_another(said: list[str], n: int) -> None:
    found = [fold(subject) for subject in subjects(said, n)]

    assert len(found) <= n
    assert not [one for one in found for other in found if one is not other and one in other]


def test_subjects_are_what_several_titles_share() -> None:
    titles = [
        "Tune the connection pool of the billing database",
        "Why does the billing import time out",
        "账单数据库的连接池超时",
        "Rename the invoice column",
        "连接池参数怎么调",
    ]
    found = subjects(titles, 6)

    assert "connection pool" in found
    assert any("billing" in subject for subject in found)
    assert any("连接池" in subject for subject in found)


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("I need to change the passenger name on a flight reservation.", ["passenger name", "flight reservation"]),
        ("Can you cancel all of my upcoming flights?", ["flights"]),
        ("新来的夜班同事进不去仓库，侧门密码是多少来着？", ["仓库", "密码"]),
        ("先给我看看国内用户怎么评价 G2 夹爪", ["G2 夹爪"]),
        ("thanks, see you on the 15th", []),
        ("好的，谢谢你，先给他吧", []),
    ],
)
def test_a_request_is_about_its_nouns(text: str, wanted: list[str]) -> None:
    found = subjects([text])

    assert [subject for subject in wanted if not any(subject in one for one in found)] == []
    assert bool(found) == bool(wanted)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("The booking was successfully changed.", {"booking"}),  # no adverb
        ("Is there a train vs ferry gap?", {"ferry gap"}),  # no joining word
        ("I asked the relevant department about a cheaper hotel room.", {"department", "hotel room"}),
        (
            "He explains the Mixture of Experts and the Fear & Greed Index.",
            {"Mixture of Experts", "Fear & Greed Index"},
        ),
        ("A walk through the Burning Forest", {"Burning Forest"}),  # a name, though in -ing
        ("My sister Emily likes Budapest, unhappy or not.", {"sister Emily", "Budapest"}),  # names, though in -ly, -est
        ("She will summarize and categorize it as financial.", set()),
        ("Is it Moe the character or the Ministry of…", {"Moe", "character"}),  # no cut name
        ("I found the news-specific tools.", set()),
        ("我们总是一起踢足球，一起做作业。", {"足球"}),  # the object of an action
        ("那个房间很安静，太贵了。", {"房间"}),  # no adjective
        ("其实我有一个点读笔。", set()),  # no half of a word
        ("你可以试试看，真的很漂亮。", set()),
    ],
)
def test_a_subject_is_a_whole_noun_phrase(text: str, found: set[str]) -> None:
    assert set(subjects([text], 9)) == found


def test_a_clause_of_a_speaker_is_no_subject() -> None:
    assert subjects(["我会听古典音乐", "我会做饭"]) == ["古典音乐"]
