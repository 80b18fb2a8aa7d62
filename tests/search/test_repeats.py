"""Questions that were asked before, and facts told again, do not crowd out what else there is."""

from typing import Any

import httpx
import pytest

from tests.api.kit import append, assistant, ok, path, user

SAID = {
    "en": ("My favourite tea is longjing.", "which tea is my favourite?", "longjing", "I do not know yet."),
    "zh": ("我最喜欢的茶是龙井。", "我最喜欢的茶是什么?", "龙井", "我还不知道。"),
}


@pytest.mark.parametrize("times", [1, 5, 50])
@pytest.mark.parametrize("language", SAID)
def test_a_repeated_question_hides_no_fact_and_is_not_found(client: httpx.Client, language: str, times: int) -> None:
    fact, question, answer, reply = SAID[language]
    append(client, "fact", [user(fact), assistant("OK.")], user_id="u")
    for number in range(times):
        append(client, f"c{number % 6}", [user(question), assistant(reply)], user_id="u")
    found = ok(client.post("/memories/search", json={"user_id": "u", "query": question, "limit": 5}))["results"]
    previews = [one["content_preview"].replace("*", "") for one in found]
    assert answer in previews[0]
    assert question not in previews
    arguments = {"arguments": {"query": question}}
    assert answer in ok(client.post(path("c0", "tools", "search_memories"), json=arguments))["content"].replace("*", "")
    window = ok(client.get(path("c0", "context"), params={"budget": 4000, "query": question}))
    assert answer in str(window["messages"][-1])


TOLD_AGAIN = {
    "en": ["My locker code is {}.", "Remember: my locker code is {}!", "My locker code: {}", "{} is my locker code"],
    "zh": ["我的储物柜密码是{}。", "请记住，我的储物柜密码是{}", "对了，我的储物柜密码就是{}！", "{}是我的储物柜密码"],
}
ELSE = {"en": "The locker is in the red hall; its code came by letter.", "zh": "储物柜在红厅，密码是写信寄来的。"}


def told(client: httpx.Client, day: int, text: str) -> None:
    message = user(text) | {"said_at": f"2026-03-{day:02}T10:00:00Z"}
    append(client, f"day {day}", [message, assistant("OK.")], user_id="u")


def results(client: httpx.Client, query: str, **more: object) -> list[dict[str, Any]]:
    found = ok(client.post("/memories/search", json={"user_id": "u", "query": query, **more}))
    return [one for one in found["results"] if one["summary"] != "OK."]


@pytest.mark.parametrize("language", TOLD_AGAIN)
def test_a_fact_told_again_takes_one_place_and_its_repetitions_are_counted(client: httpx.Client, language: str) -> None:
    phrases = TOLD_AGAIN[language]
    for day in range(1, 9):
        told(client, day, phrases[day % len(phrases)].format(4711))
    told(client, 9, ELSE[language])
    query = "locker code" if language == "en" else "储物柜的密码"
    fact, other = sorted(results(client, query, limit=3), key=lambda one: -int(one["similar"]))
    assert (fact["similar"], fact["conversation_id"]) == (7, "day 8")
    assert (other["similar"], other["conversation_id"]) == (0, "day 9")
    both = results(client, query, queries=[query, query[:6]])
    assert sorted(one["similar"] for one in both) == [0, 7]


@pytest.mark.parametrize("language", TOLD_AGAIN)
def test_what_a_fact_was_last_is_shown_with_its_day(client: httpx.Client, language: str) -> None:
    says = TOLD_AGAIN[language][0]
    for day, code in enumerate((4711, 4712, 4711), 1):
        told(client, day, says.format(code))
    found = results(client, "locker code" if language == "en" else "储物柜的密码")
    shown = {one["conversation_id"]: one["similar"] for one in found}
    assert shown == {"day 3": 1, "day 2": 0}


def test_what_another_speaker_says_is_no_repetition(client: httpx.Client) -> None:
    said = [user("I live in Lisbon.") | {"name": name} for name in ("Ann", "Bob")]
    append(client, "c", [*said, assistant("I live in Lisbon.")], user_id="u")
    assert [one["similar"] for one in results(client, "Who lives in Lisbon?")] == [0, 0, 0]


@pytest.mark.parametrize(("said", "reply", "query"), [
    ("My favourite beverage is longjing tea", "Good to know", "know a good beverage?"),
    ("我最喜欢喝龙井茶", "好的，记住了", "记住了，喜欢喝什么"),
])  # fmt: skip
def test_a_reply_that_only_acknowledges_ranks_below_the_fact(
    client: httpx.Client, said: str, reply: str, query: str
) -> None:
    append(client, "c", [user(said), assistant(reply)], user_id="u")
    told, acknowledged = results(client, query)
    assert (told["summary"], acknowledged["summary"]) == (said, reply)
    assert told["relevance_score"] >= acknowledged["relevance_score"]
