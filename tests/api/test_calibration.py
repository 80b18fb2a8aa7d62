"""What a model's API counted is reported, and windows are fitted to it: a budget is in the model's tokens."""

from concurrent.futures import ThreadPoolExecutor
from functools import cache
from typing import Any

import httpx
import pytest

from app.text.tokens import TokenCounter
from quire_command.demo.transcript import load, steps
from tests.api.kit import (
    SHIPPED,
    Json,
    append,
    assistant,
    created,
    history,
    ok,
    path,
    problem,
    system,
    turn,
    user,
    window,
)
from tests.api.promises import Watch

BUDGET = 4000


def reported(window_tokens: int, percent: int) -> Json:
    return {"window_tokens": window_tokens, "prompt_tokens": window_tokens * percent // 100}


def talked(client: httpx.Client, turns: int = 30, **conversation: Any) -> None:
    """A conversation whose window is full."""
    created(client, id="c", user_id="u", budget=BUDGET, **conversation)
    for number in range(turns):
        append(client, "c", turn(number, 60))


def test_a_report_changes_no_cut_that_still_fits(client: httpx.Client) -> None:
    talked(client)
    before = window(client, "c")
    for percent in (110, 90, 100, 105):
        append(client, "c", [user("more")], reported_usage=reported(before["usage"]["total"], percent))
        after = window(client, "c")
        assert after["epoch"] == before["epoch"]
        assert after["messages"][: before["stable_messages"]] == before["messages"][: before["stable_messages"]]
    assert ok(client.get(path("c")))["token_percent"] < 100


@pytest.mark.parametrize("percent", [110, 160, 300])
@pytest.mark.parametrize("model", [None, "gpt-5", "claude-opus-5", "qwen3.6-plus"])
def test_after_three_reports_windows_fit_what_the_model_counts(
    client: httpx.Client, model: str | None, percent: int
) -> None:
    talked(client, model=model)
    usage = window(client, "c")["usage"]
    for number in range(30, 33):
        append(client, "c", turn(number, 60), reported_usage=reported(usage["total"], percent))
        usage = window(client, "c")["usage"]
        assert usage["model_total"] == -(-usage["total"] * usage["token_percent"] // 100) <= usage["budget"] == BUDGET
    most = 195  # what is reported beyond twice the formula is of more than the window
    assert min(percent, most) - 6 <= usage["token_percent"]


@pytest.mark.slow
def test_no_window_breaks_a_promise_while_it_is_learned(client: httpx.Client, counter: TokenCounter) -> None:
    """Turn by turn, with reports that go up and down: only a new epoch changes what was shown before."""
    [transcript] = load(SHIPPED)
    created(client, id="c", user_id="u", budget=6000)
    watches = [Watch(client, "c", cache(counter.count), budget) for budget in (3000, None)]
    sent: list[Json] = []
    told = [100, 104, 112, 90, 111, 125, 100, 149, 149, 120]
    for number, step in enumerate(steps(transcript.messages[:200])):
        report = {"reported_usage": reported(5000, told[number // 3 % len(told)])} if number % 3 == 2 else {}
        append(client, "c", step.messages, **report)
        sent += step.messages
        for watch in watches:
            seen = watch.look(sent)
            assert seen is None or seen["usage"]["total"] * seen["usage"]["token_percent"] <= 100 * watch_budget(seen)
    assert 110 < ok(client.get(path("c")))["token_percent"] < 150
    assert all(watch.looks for watch in watches)


def watch_budget(seen: Json) -> int:
    found: int = seen["usage"]["budget"]
    return found


@pytest.mark.parametrize("text", ["why " * 200, "为什么这样？" * 60, "1234567,89\n" * 60, "MAX_SIZE_OF=" * 60])
@pytest.mark.parametrize("model", ["gpt-5", "claude-opus-5", "qwen3.6-plus"])
def test_the_smallest_budget_is_one_of_the_models_tokens(client: httpx.Client, model: str, text: str) -> None:
    created(client, id="c", user_id="u", model=model)
    append(client, "c", [user("hi")])
    append(client, "c", [assistant()], reported_usage=reported(1000, 150))
    append(client, "c", [user(text)])
    refused = problem(client.get(path("c", "context"), params={"budget": 100}), 422)
    smallest = refused["minimum_budget"]
    assert window(client, "c", budget=smallest)["usage"]["model_total"] <= smallest
    assert problem(client.get(path("c", "context"), params={"budget": smallest - 1}), 422)["minimum_budget"] == smallest


def test_a_report_sent_twice_or_at_once_is_one(client: httpx.Client) -> None:
    talked(client, 5, model="gpt-5")
    sent = {"messages": [user("once")], "reported_usage": reported(9000, 130)}

    def send(_: int) -> Json:
        return ok(client.post(path("c", "messages"), json=sent, headers={"Idempotency-Key": "k"}), 201)

    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(send, range(8)))
    assert all(answer == answers[0] for answer in answers)
    assert [m["content"] for m in history(client, "c")].count("once") == 1
    assert ok(client.get(path("c")))["token_percent"] == 127


def test_a_synced_list_reports_too_even_with_nothing_new(client: httpx.Client) -> None:
    created(client, id="c", user_id="u", model="gpt-5")
    messages = [user("a"), assistant("b")]
    ok(client.post(path("c", "sync"), json={"messages": messages}))
    again = {"messages": messages, "reported_usage": reported(9000, 120)}
    assert ok(client.post(path("c", "sync"), json=again))["appended"] == []
    assert ok(client.get(path("c")))["token_percent"] == 118


@pytest.mark.parametrize(("window_tokens", "prompt_tokens"), [(1, 10_000_000), (9000, 1), (10_000_000, 1)])
def test_an_absurd_report_is_clamped(client: httpx.Client, window_tokens: int, prompt_tokens: int) -> None:
    talked(client, 5, model="claude-opus-5")
    usage = {"window_tokens": window_tokens, "prompt_tokens": prompt_tokens}
    append(client, "c", [user("more")], reported_usage=usage)
    assert 75 <= ok(client.get(path("c")))["token_percent"] <= 117


def test_another_model_is_unknown_again(client: httpx.Client) -> None:
    talked(client, 3, model="claude-sonnet-4")
    append(client, "c", turn(3), reported_usage=reported(9000, 150))
    ok(client.patch(path("c"), json={"title": "t", "model": "claude-sonnet-4"}))
    assert ok(client.get(path("c")))["token_percent"] > 120
    assert window(client, "c", model="gpt-5")["usage"]["token_percent"] == 100
    assert ok(client.patch(path("c"), json={"model": "gpt-4o"}))["token_percent"] == 100
    assert window(client, "c")["usage"]["token_percent"] == 100


def test_a_report_of_another_familys_window_teaches_nothing(client: httpx.Client) -> None:
    talked(client, 5, model="gpt-5")
    other = window(client, "c", model="claude-opus-5")["usage"]
    append(client, "c", [user("more")], reported_usage=reported(other["total"], 160))
    assert ok(client.get(path("c")))["token_percent"] == 100


@pytest.mark.parametrize(
    ("sent", "place"),
    [
        ({"window_tokens": 0, "prompt_tokens": 1}, "window_tokens"),
        ({"window_tokens": 1, "prompt_tokens": -1}, "prompt_tokens"),
        ({"window_tokens": 1, "prompt_tokens": 10_000_001}, "prompt_tokens"),
        ({"window_tokens": "many", "prompt_tokens": 1}, "window_tokens"),
        ({"window_tokens": True, "prompt_tokens": 1}, "window_tokens"),
        ({"window_tokens": 1}, "prompt_tokens"),
        ({"window_tokens": 1, "prompt_tokens": 1, "model": "m"}, "model"),
    ],
)
@pytest.mark.parametrize("way", ["messages", "sync"])
def test_malformed_usage_report_is_rejected(client: httpx.Client, sent: Json, place: str, way: str) -> None:
    append(client, "c", [user("kept")])
    body = {"messages": [user("kept"), user("not kept")], "reported_usage": sent}
    found = problem(client.post(path("c", way), json=body), 422)
    assert found["errors"][0]["loc"] == ["body", "reported_usage", place]
    assert [m["content"] for m in history(client, "c")] == ["kept"]


@pytest.mark.parametrize("model", ["claude-opus-5", "qwen3.6-plus"])
def test_a_prompt_is_charged_alike_however_much_history_is_read(client: httpx.Client, model: str) -> None:
    """Of a history that cannot fit, no message is read before the first cut, but the prompt counts."""
    created(client, id="c", user_id="u", model=model)
    append(client, "c", [system("MAX_SIZE_OF=1234567,89\n" * 60)])
    for number in range(10):
        append(client, "c", turn(number, 60))
    smallest = problem(client.get(path("c", "context"), params={"budget": 100}), 422)["minimum_budget"]
    assert problem(client.get(path("c", "context"), params={"budget": smallest - 1}), 422)["minimum_budget"] == smallest
    assert window(client, "c", budget=smallest)["usage"]["model_total"] <= smallest
