"""When two names mean one topic, and which topics a head names."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.core.model import Language
from app.core.window.head import FRAMES, topics_line
from app.core.window.topics import Topic, features_of, merged, most_mentioned, most_telling, says_no_more
from tests.core.book import count

NAMES = st.lists(
    st.sampled_from(
        ["trips", "Trip", "the trip", "ＴＲＩＰ", "budget 2023", "budget 2024", "日本旅行", "日本旅游", "", "?"]
    ),
    max_size=8,
)


@given(NAMES, NAMES)
def test_merging_keeps_known_names_and_never_says_one_twice(known: list[str], new: list[str]) -> None:
    found = merged(features_of(known), new)
    assert len(found) == len(set(found))
    assert len(found) <= len(new)
    assert all(name in known or name in new for name in found)
    assert merged(features_of([*known, *found]), new) == found, "what was merged stays merged"
    assert merged(features_of(known), found) == found


@pytest.mark.parametrize(
    ("known", "new"),
    [
        ("Travel to Japan", "travel to japan"),
        ("Budgets", "budget"),
        ("API keys", "ＡＰＩ key"),
        ("postgres connection pool", "connection pools"),
        ("日本旅行", "日本旅游"),
        ("数据库迁移", "数据库的迁移"),
    ],
)
def test_near_duplicates_are_one_topic(known: str, new: str) -> None:
    assert merged(features_of([known]), [new]) == [known]


@pytest.mark.parametrize(
    ("known", "new"),
    [
        ("python", "python tests"),
        ("2023 budget", "2024 budget"),
        ("red wine", "white wine"),
        ("北京旅行", "日本旅行"),
        ("苹果手机", "华为手机"),
        ("news", "new"),
    ],
)
def test_different_subjects_stay_apart(known: str, new: str) -> None:
    assert merged(features_of([known]), [new]) == [new]


@pytest.mark.parametrize(
    ("text", "than", "expected"),
    [
        ("Answer in French", "Please answer in French from now on.", True),
        ("Answer in German", "Please answer in French from now on.", False),
        ("Deploy on Fridays", "Never deploy on Fridays", False),
        ("Use 4 spaces", "Use 2 spaces", False),
        ("用中文回答", "以后请用中文回答我的问题", True),
        ("用英文回答", "以后请用中文回答我的问题", False),
        ("", "anything", False),
    ],
)
def test_a_note_that_says_no_more_than_another(text: str, than: str, *, expected: bool) -> None:
    assert says_no_more(text, than) is expected


@given(st.lists(st.builds(Topic, st.text(max_size=30), st.integers(1, 99), st.integers(1, 99))), st.integers(0, 400))
def test_the_line_of_topics_keeps_to_its_part_of_the_room(topics: list[Topic], room: int) -> None:
    line = topics_line(topics, room, "en", count)
    if line is not None:
        assert line.tokens == count(line.text)
        assert line.tokens + 3 <= room / 4


@pytest.mark.parametrize("language", ["en", "zh"])
def test_the_most_mentioned_topics_are_named_first(language: Language) -> None:
    topics = [Topic("old", 1, 1), Topic("new", 1, 9), Topic("often", 7, 2)]
    assert [t.name for t in most_telling(topics, 2)] == ["often", "new"]
    line = topics_line(topics, 400, language, count)
    assert line is not None
    assert line.text.startswith(FRAMES[language]["topics"] + "often (7)")


def test_of_a_topic_and_its_parts_only_the_most_mentioned_is_named() -> None:
    topics = [Topic("flight", 3, 2), Topic("flight change", 1, 4), Topic("2024 budget", 2, 1), Topic("budget", 1, 5)]

    assert [t.name for t in most_telling(topics)] == ["flight", "2024 budget"]
    assert [t.name for t in most_mentioned(topics)] == ["flight", "2024 budget", "budget", "flight change"]
