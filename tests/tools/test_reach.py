"""What was said early in a long conversation is at most two tool calls away, from a window of 4 000 tokens."""

import re
from collections.abc import Iterator

import httpx
import pytest

from tests.api.kit import Json, append, assistant, created, user, window
from tests.tools.kit import said

TURNS, FACTS, BUDGET = 2_000, 100, 4_000
CITIES = ["杭州", "苏州", "南京", "成都", "西安", "大理", "厦门", "青岛", "昆明", "桂林"]
GUESTS = ["王先生", "李女士", "张教授", "陈医生", "赵经理"]
TOWNS = ["Tartu", "Ghent", "Bergen", "Porto", "Lviv", "Turku", "Graz", "Cork", "Bari", "Malmö"]
THINGS = ["gate code", "meter reading", "locker number", "phone extension", "invoice number"]


def facts() -> Iterator[tuple[str, str, str]]:
    """A fact, a question about it, and the words that answer it: a number alone may be part of a key."""
    for number in range(FACTS // 2):
        town, thing = TOWNS[number % 10], THINGS[number // 10]
        said = f"the {thing} in {town} is {7000 + number}."
        yield f"By the way, {said}", f"the {thing} in {town}", said
        city, guest = CITIES[number % 10], GUESTS[number // 10]
        said = f"{guest}在{city}的房间号是{3000 + number}。"
        yield f"顺便说一下,{said}", f"{guest}在{city}的房间号", said


def turns(known: list[tuple[str, str, str]]) -> Iterator[Json]:
    for number in range(TURNS):
        fact = known[number // 3][0] if number % 3 == 0 and number // 3 < FACTS else ""
        yield user(f"Step {number}: go on with the report, please. {fact}")
        yield assistant(f"Step {number} of the report is done; 第 {number} 步完成了。")


@pytest.mark.slow
def test_every_fact_is_found_in_two_calls(client: httpx.Client) -> None:
    known = list(facts())
    assert len({question for _, question, _ in known}) == FACTS
    messages = list(turns(known))
    assert len(messages) == 2 * TURNS
    created(client, id="long", user_id="u", budget=BUDGET)
    for start in range(0, len(messages), 500):
        append(client, "long", messages[start : start + 500])
    found = window(client, "long")
    assert (found["usage"]["budget"], found["lag"]["last_page"]) == (BUDGET, TURNS)
    assert found["usage"]["total"] <= BUDGET
    assert {"search_memories", "recall_page"} <= {tool["function"]["name"] for tool in found["tools"]}
    assert not [answer for *_, answer in known if answer in str(found["messages"])]
    missed = [question for _, question, answer in known if not reached(client, question, answer)]
    assert missed == []


def reached(client: httpx.Client, question: str, answer: str) -> bool:
    """As an agent does it: search, and where the preview does not tell, read the page of the first result."""
    shown = said(client, "long", "search_memories", query=question).replace("**", "")
    if answer in shown:
        return True
    page = re.search(r"\[(?:page |第)(\d+)", shown)
    return page is not None and answer in said(client, "long", "recall_page", page=int(page[1]))
