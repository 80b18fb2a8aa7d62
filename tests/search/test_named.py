"""What a query names besides its subject, a speaker or days, comes first; nothing else is left out."""

from datetime import UTC, datetime

import pytest

from app.runtime import Runtime
from app.text import bm25
from tests.api.kit import Json
from tests.search.kit import drain, find, say, texts

pytestmark = pytest.mark.anyio

NOW = datetime(2024, 5, 15, 12, tzinfo=UTC)


def said(name: str, content: str, day: str = "2024-01-01") -> Json:
    role = "user" if name == "Ann" else "assistant"
    return {"role": role, "name": name, "content": content, "said_at": f"{day}T09:00:00Z"}


async def test_the_words_of_the_named_speaker_come_first(made: Runtime) -> None:
    await say(made, "c", [said("Ann", "I bought a violin in Vienna."), said("Ben", "I bought a violin in Cremona.")])
    await drain(made)
    for name, other in (("Ann", "Ben"), ("Ben", "Ann")):
        found = texts(await find(made, f"Where did {name} buy a violin?"))
        assert len(found) == 2, f"{other} can still be found"
        assert ("Vienna" in found[0]) == (name == "Ann")


async def test_being_spoken_to_is_not_speaking(made: Runtime) -> None:
    await say(
        made, "c", [said("Ann", "Ben, my cello is from Mittenwald."), said("Ben", "Ah, my cello is from Prague.")]
    )
    await drain(made)
    assert "Prague" in texts(await find(made, "Where is the cello of Ben from?"))[0]


async def test_a_chinese_speaker_is_known_by_name(made: Runtime) -> None:
    await say(made, "c", [said("Ann", "小明,我养了一只猫。"), said("王小明", "我也养了一只猫。")])
    await drain(made)
    assert texts(await find(made, "王小明养了什么猫"))[0] == "我也养了一只猫。"


@pytest.mark.parametrize("name", ["' OR 1=1 --", "{1:1}/9", "AND", "*", "\u200b", "a" * 64])
async def test_speakers_named_like_operators_are_names(made: Runtime, name: str) -> None:
    await say(made, "c", [said("Ann", "The spare key is under the pot.") | {"name": name}])
    await drain(made)
    assert texts(await find(made, f"{name} key")) == ["The spare key is under the pot."]


@pytest.mark.parametrize(
    "query", ["What did I cook last month?", "What did I cook in April 2024?", "上个月 cook 了什么"]
)
async def test_what_was_said_in_the_named_days_comes_first(made: Runtime, query: str) -> None:
    days = ("2023-04-10", "2024-03-10", "2024-04-10", "2024-05-12")
    await say(made, "c", [said("Ann", f"Today I cook dish number {day[:7]}.", day) for day in days])
    await drain(made)
    found = texts(await find(made, query, asked_at=NOW))
    assert "2024-04" in found[0]
    assert len(found) == len(days), "a day is no filter"


async def test_what_is_told_soon_after_the_named_days_comes_next(made: Runtime) -> None:
    days = ("2023-11-10", "2024-02-10", "2024-05-03")
    await say(made, "c", [said("Ann", f"My marathon, told on {day}.", day) for day in days])
    await drain(made)
    assert "2024-05-03" in texts(await find(made, "my marathon in April 2024", asked_at=NOW))[0]


@pytest.mark.parametrize("query", ["cook on 30 February 2024", "cook 9999 years ago", "cook 13/13/2023 2月30日 99年前"])
async def test_days_that_do_not_exist_change_nothing(made: Runtime, query: str) -> None:
    await say(made, "c", [said("Ann", "Today I cook beans.")])
    await drain(made)
    assert texts(await find(made, query, asked_at=NOW)) == ["Today I cook beans."]


def test_a_speaker_has_a_component_that_no_text_has() -> None:
    assert not set(bm25.speakers("Ann Lee")) & set(bm25.query("Ann Lee said by Ann \0said by ann"))
    assert set(bm25.speakers("What did Ann say?")) & set(bm25.speakers("Ann Lee"))
