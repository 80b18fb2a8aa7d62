"""Memory that comes unasked: once for a user message, in view before it until the next one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import asyncpg
import httpx
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bench.search import talks
from quire_command.demo.promises import breaks_prefix
from tests.api.kit import (
    Json,
    append,
    assistant,
    call,
    canonical,
    created,
    ok,
    path,
    problem,
    result,
    turn,
    user,
    window,
)
from tests.api.promises import prefix_of
from tests.api.test_concurrency import at_once
from tests.by_turns import examples

FACT = "The boiler's service code is KX-2291."
QUESTION = "What is the boiler's service code?"


def remembering(client: httpx.Client) -> Json:
    return append(client, "before", [user(FACT), assistant("Noted.")])


def texts(found: Json) -> list[str]:
    return [str(message["content"]) for message in found["messages"]]


def begins_with(found: Json, before: Json) -> bool:
    stable = before["messages"][: before["stable_messages"]]
    return bool(found["messages"][: len(stable)] == stable)


def test_the_history_counts_the_question_alone(client: httpx.Client) -> None:
    remembering(client)
    [*_, asked] = append(client, "c", [user("hello"), assistant("hi"), user(QUESTION)])["messages"]
    assert "KX-2291" in texts(window(client, "c"))[-2]
    [*_, shown] = ok(client.get(path("c", "messages")))["items"]
    assert shown["tokens"] == asked["tokens"]


@pytest.mark.parametrize("form", ["openai", "anthropic"])
def test_it_stands_before_the_newest_user_message_for_its_whole_page(client: httpx.Client, form: str) -> None:
    remembering(client)
    append(client, "c", [user("hello"), assistant("hi"), user(QUESTION)])
    first = window(client, "c", format=form)
    assert "KX-2291" in texts(first)[-2]
    assert QUESTION in texts(first)[-1]
    assert first["stable_messages"] == len(first["messages"])
    assert first["usage"]["sections"]["tail"] == 0
    before = first
    for messages in ([call("a")], [result("a", "a plate: KX-2291")], [assistant("It is KX-2291.")]):
        append(client, "c", messages)
        found = window(client, "c", format=form)
        assert begins_with(found, before)
        assert found["epoch"] == first["epoch"]
        before = found
    append(client, "c", [user("thanks")])
    after = window(client, "c", format=form)
    at = next(at for at, text in enumerate(texts(before)) if "quire-recalled" in text)
    assert (after["epoch"], after["messages"][:at]) == (first["epoch"], before["messages"][:at])
    assert not any("quire-recalled" in text for text in texts(after))


def test_a_memory_that_was_told_comes_too(client: httpx.Client) -> None:
    ok(client.post("/memories", json={"user_id": "u", "content": "The alarm's code is 4471."}), 201)
    append(client, "c", [user("What is the alarm's code?")])
    assert "4471" in texts(window(client, "c"))[-2]


def test_what_is_kept_in_mind_is_told_once(client: httpx.Client) -> None:
    code = "The alarm's code\nis 4471."
    ok(client.post("/memories", json={"user_id": "u", "content": code, "pinned": True}), 201)
    append(client, "c", [user("What is the alarm's code?")])
    for query in (None, "the alarm's code"):
        assert canonical(window(client, "c", query=query)["messages"]).count("4471") == 1


def test_the_same_request_of_another_conversation_brings_nothing_in(client: httpx.Client) -> None:
    pdf = {"type": "file", "file": {"filename": "a.pdf", "file_data": "data:application/pdf;base64,JVBERi0xLjQK"}}
    said = user([pdf, {"type": "text", "text": "Summarise the attached contract"}])
    append(client, "before", [said, assistant("ok")])
    append(client, "c", [said])
    assert [message["role"] for message in window(client, "c")["messages"]] == ["system", "user"]


@pytest.mark.parametrize("said", ["thanks", "谢谢", "How many moons does Neptune have?"])
def test_what_nothing_answers_leaves_the_window_as_it_is(client: httpx.Client, said: str) -> None:
    remembering(client)
    append(client, "c", [user(said)])
    found = window(client, "c")
    assert texts(found)[-1] == said
    assert found == window(client, "c", recall="off")


@pytest.mark.parametrize("said", ["I glued the boiler's service code to its door.", "把锅炉的服务代码打印出来。"])
def test_what_does_not_ask_is_not_searched_for(client: httpx.Client, said: str) -> None:
    append(client, "before", [user(FACT), user("锅炉的服务代码是 KX-2291。")])
    append(client, "c", [user(said)])
    assert texts(window(client, "c"))[-2:] == texts(window(client, "c", recall="off"))[-2:]


OFF_TOPIC = {
    "en": ["Which emperor ordered the largest steam engine built?", "Translate a poem about an open door"],
    "zh": ["世界上最早的三轮车是哪位工程师发明的？", "请把描写河沙的这首唐诗翻译成德语"],
}
"""Each shares a word with what was said."""


@pytest.mark.parametrize("language", OFF_TOPIC)
def test_a_message_that_asks_makes_nothing_known(client: httpx.Client, language: str) -> None:
    """It is stored before the window is read, as agents do; asked again in other conversations it is no more known."""
    append(client, "before", list(talks.shipped(language).talks[0].messages))
    for number, asked in enumerate(OFF_TOPIC[language] * 3):
        append(client, f"c{number}", [user(asked)])
        assert texts(window(client, f"c{number}", recall="auto"))[-1] == asked
        assert window(client, f"c{number}")["messages"] == window(client, f"c{number}", recall="off")["messages"]


@pytest.fixture
def asked_before(client: httpx.Client) -> httpx.Client:
    """A fact, and six wordings of one question for it in other conversations."""
    remembering(client)
    for number, opening in enumerate(["", "Hey, ", "So ", "Sorry, ", "And ", "Again: "]):
        append(client, f"asked {number}", [user(opening + QUESTION), assistant("I do not know.")])
    return client


def test_six_wordings_of_a_question_do_not_hide_the_fact(asked_before: httpx.Client) -> None:
    append(asked_before, "c", [user(QUESTION)])
    [*_, recalled, _] = texts(window(asked_before, "c"))
    assert "KX-2291" in recalled
    assert QUESTION not in recalled
    for tool in ("recall_memory", "search_memories"):
        said = ok(asked_before.post(path("c", "tools", tool), json={"arguments": {"query": QUESTION}}))["content"]
        assert "KX-2291" in said
        assert QUESTION not in said


def test_a_question_that_two_branches_ask_finds_the_fact_in_both(asked_before: httpx.Client) -> None:
    append(asked_before, "c", [user("hello"), assistant("hi")])
    branch = ok(asked_before.post(path("c", "fork"), json={}), 201)["id"]
    for conversation in ("c", branch, "c"):
        append(asked_before, conversation, [user(QUESTION)])
        [*_, recalled, _] = texts(window(asked_before, conversation))
        assert "KX-2291" in recalled
        assert QUESTION not in recalled


def test_it_is_turned_off_by_request_and_by_conversation(client: httpx.Client) -> None:
    remembering(client)
    created(client, id="silent", user_id="u", settings={"recall": "off"})
    append(client, "silent", [user(QUESTION)])
    assert "KX-2291" not in str(window(client, "silent"))
    assert "KX-2291" in str(window(client, "silent", recall="auto"))
    append(client, "c", [user(QUESTION)])
    assert "KX-2291" not in str(window(client, "c", recall="off"))
    assert "KX-2291" in str(window(client, "c"))
    assert "KX-2291" not in str(window(client, "c", recall="off"))
    problem(client.get(path("c", "context"), params={"recall": "maybe"}), 422, "recall")
    problem(client.post(path("c", "context"), json={"recall": "maybe"}), 422, "recall")


def test_it_comes_with_an_append_too(client: httpx.Client) -> None:
    remembering(client)
    query: dict[str, Any] = {"include": "context", "budget": 8000}
    sent = client.post(path("c", "messages"), params=query, json={"messages": [user(QUESTION)], "user_id": "u"})
    assert "KX-2291" in str(ok(sent, 201)["context"]["messages"][-2])


def test_any_process_shows_the_same_and_only_one_chooses(client: httpx.Client, other: httpx.Client) -> None:
    remembering(client)
    append(client, "c", [user(QUESTION)])
    first = window(client, "c")
    append(client, "later", [user("The boiler's service code is KX-2291, says the plate.")])
    assert window(other, "c") == first
    append(other, "c", [call("a"), result("a")])
    assert window(client, "c") == window(other, "c")
    assert begins_with(window(client, "c"), first)


def test_a_call_that_comes_late_changes_nothing_in_view(client: httpx.Client) -> None:
    """It was not chosen while the message was the newest: to bring it in now would move what is in caches."""
    remembering(client)
    append(client, "c", [user(QUESTION), call("a"), result("a")])
    assert "KX-2291" not in str(window(client, "c"))


BOILERS = [user(f"Boiler {number} has the service code KX-{number}." + " Check it." * 20) for number in range(60)]


def test_calls_at_once_show_what_one_of_them_chose(client: httpx.Client, other: httpx.Client) -> None:
    """Each would choose as much as its budget allows; who was slower reads the window again."""
    append(client, "before", BOILERS)
    append(client, "c", [user("Which boiler service codes are there?")])
    budgets = [1_000, 16_000, 2_000, 1_500] * 2
    windows = at_once(lambda number: window((client, other)[number % 2], "c", budget=budgets[number]), 8)
    assert len({texts(one)[-2] for one in windows if len(texts(one)) > 1}) == 1


def test_it_stays_within_its_cap(client: httpx.Client) -> None:
    append(client, "before", BOILERS)
    append(client, "c", [user("Which boiler service codes are there?")])
    for budget, most in ((16_000, 500), (2_000, 400)):
        append(client, "c", [assistant("These."), user("Which boiler service codes are there?")])
        with_, without = window(client, "c", budget=budget), window(client, "c", budget=budget, recall="off")
        assert 0 < with_["usage"]["total"] - without["usage"]["total"] <= most


def erase_message(client: httpx.Client, stored: Json) -> httpx.Response:
    return client.delete(path("before", "messages", stored["messages"][0]["id"]))


def erase_conversation(client: httpx.Client, stored: Json) -> httpx.Response:
    return client.delete(path("before"))


@pytest.mark.parametrize("erase", [erase_message, erase_conversation])
def test_what_is_erased_is_gone_from_it_at_once(
    client: httpx.Client,
    other: httpx.Client,
    erase: Callable[[httpx.Client, Json], httpx.Response],
    run_as_superuser: Callable[[str], list[asyncpg.Record]],
) -> None:
    stored = remembering(client)
    append(client, "c", [user(QUESTION)])
    before = window(other, "c")
    assert "KX-2291" in str(before)
    assert erase(client, stored).is_success
    for process in (client, other):
        found = window(process, "c")
        assert "KX-2291" not in str(found)
        assert found["epoch"] > before["epoch"]
    assert not [row for row in run_as_superuser("SELECT recalled FROM conversations") if row["recalled"]]


def test_a_memory_that_is_erased_is_gone_from_it(client: httpx.Client) -> None:
    key = ok(client.post("/memories", json={"user_id": "u", "content": "The alarm's code is 4471."}), 201)["memory_key"]
    append(client, "c", [user("What is the alarm's code?")])
    assert "4471" in str(window(client, "c"))
    ok(client.delete(f"/memories/{key}"))
    assert "4471" not in str(window(client, "c"))


def test_another_users_memories_never_come(client: httpx.Client) -> None:
    remembering(client)
    append(client, "c", [user(QUESTION)], user_id="somebody else")
    assert "KX-2291" not in str(window(client, "c"))


steps = st.lists(st.sampled_from(["turn", "question", "call", "small talk"]), min_size=10, max_size=40)
looks = st.lists(st.sampled_from([{}, {"query": "the boiler's code"}, {"recall": "off"}]), min_size=1, max_size=5)


def said(step: str, number: int) -> Sequence[Json]:
    match step:
        case "turn":
            return turn(number, 40)
        case "question":
            return [user(f"What is the service code of boiler {number % 7}?")]
        case "call":
            return [call(f"call-{number}"), result(f"call-{number}", "seen " * 120)]
    return [user("thanks"), assistant("welcome")]


@pytest.mark.slow
@given(steps, looks, st.sampled_from([1500, 2500, 4000]), st.sampled_from(["openai", "anthropic"]))
@settings(max_examples=examples(15), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_windows_grow_at_their_end_whatever_is_recalled(
    client: httpx.Client, other: httpx.Client, plan: list[str], wanted: list[dict[str, str]], budget: int, form: str
) -> None:
    """By each cut, but for what goes at the next user message; a second process, which looks now and then, agrees."""
    client.delete("/users/u")
    codes = [user(f"The service code of boiler {n} is KX-{n}{n}4." + " It stands in the cellar." * 9) for n in range(7)]
    append(client, "before", codes)
    seen: dict[str, Json] = {}
    for number, step in enumerate(plan):
        append(client, "c", said(step, number))
        how: dict[str, Any] = wanted[number % len(wanted)]
        found = window(client, "c", budget=budget, format=form, **how)
        assert found["usage"]["total"] <= budget
        key = how.get("recall", "")
        if before := seen.get(key):
            assert not breaks_prefix(prefix_of(before), prefix_of(found))
        seen[key] = found
        if number % 3 == 0:
            again = window(other, "c", budget=budget, format=form, **how)
            assert canonical(again["messages"]) == canonical(found["messages"])
            assert again["epoch"] == found["epoch"]
