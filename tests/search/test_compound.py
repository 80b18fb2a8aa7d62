"""A compound query finds what answers each of its parts, which take turns."""

from datetime import UTC, datetime

import pytest

from app.runtime import Runtime
from app.text.queries import PARTS_MAX, parts
from tests.api.kit import turn, user
from tests.search.kit import drain, find, say, texts

pytestmark = pytest.mark.anyio

CAR = "The automobile is parked in Quarry Lane."
DOCTOR = "Our physician moved to Cremona."
CHINESE = "我女儿的生日是九月十二日。"


async def talked(made: Runtime) -> None:
    for number, fact in enumerate((CAR, DOCTOR, CHINESE)):
        for filler in range(6):
            await say(made, "c", turn(10 * number + filler, 3))
        await say(made, "c", [user(fact)])
    await drain(made)


@pytest.mark.parametrize("mode", ["keyword", "semantic", "hybrid"])
async def test_two_questions_in_one_are_both_answered(made: Runtime, mode: str) -> None:
    await talked(made)
    query = "Where is the automobile parked? Also, where did our physician move to?"
    assert set(texts(await find(made, query, mode, limit=2))) == {CAR, DOCTOR}  # type: ignore[arg-type]


async def test_a_question_in_rare_words_leaves_room_for_the_other(made: Runtime) -> None:
    await say(made, "c", [user(f"The automobile in Quarry Lane has dent number {n}.") for n in range(8)])
    await talked(made)
    query = "Where is the automobile with dents parked in Quarry Lane? And where is our physician now?"
    found = texts(await find(made, query, limit=4))
    assert DOCTOR in found[:2]
    assert len(found) == 4


async def test_small_talk_before_a_question_does_not_lead_away_from_it(made: Runtime) -> None:
    await talked(made)
    query = "今天上班真累,咖啡机又坏了,下班还堵车。另外,我女儿的生日是哪天?"
    assert texts(await find(made, query, limit=1)) == [CHINESE]


async def test_a_compound_query_ranks_its_question_no_lower_than_the_question_alone(made: Runtime) -> None:
    await talked(made)
    alone = await find(made, "Where did our physician move to?", limit=1)
    noisy = await find(made, "The coffee machine broke again. Where did our physician move to?", limit=1)
    assert texts(alone) == texts(noisy)
    assert noisy.hits[0].score >= alone.hits[0].score - 1e-6


async def test_days_in_a_part_count_for_the_whole(made: Runtime) -> None:
    for day in ("2024-03-10", "2024-04-10"):
        await say(made, "d", [user(f"I ran {day[5:7]} miles.") | {"said_at": f"{day}T09:00:00Z"}])
    await drain(made)
    asked_at = datetime(2024, 5, 15, tzinfo=UTC)
    assert "04" in texts(await find(made, "It rains. How many miles last month?", asked_at=asked_at))[0]


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("Where did I park?", []),
        ("When did Ann visit Dr. Lee and Mr. Poe in Rome?", []),
        ("thanks! Where did I park?", []),
        ("I had pasta for lunch. Where did I park?", ["Where did I park?"]),
        ("Where did I park? By the way, who called?", ["Where did I park?", "By the way, who called?"]),
        ("车停在哪里?另外,谁打过电话", ["车停在哪里?", "另外,谁打过电话"]),
        ("咖啡机坏了。对了女儿生日是哪天", ["对了女儿生日是哪天"]),
        ("The oven broke. The baker left.", ["The oven broke.", "The baker left."]),
        ("Ann: where is my car?\nBen: in the yard.\nAnn: and the key?", []),
        ("a" * 700 + "? And who called?", []),
        ("", []),
    ],
)
def test_a_query_is_taken_apart_where_it_asks_more_than_one_thing(query: str, found: list[str]) -> None:
    assert parts(query) == found


def test_a_query_has_few_parts_the_last_ones() -> None:
    query = " ".join(f"Who sold number{number}?" for number in range(20))
    assert parts(query) == [f"Who sold number{number}?" for number in range(20 - PARTS_MAX, 20)]
