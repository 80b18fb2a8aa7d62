"""What the jobs wrote in the windows: from the next epoch on, never before, and the same for every process."""

from collections.abc import Iterator
from functools import cache

import httpx
import pytest

from app.main import build_app
from app.postgres.embedded import EmbeddedPostgres
from app.settings import Settings
from app.text.tokens import TokenCounter
from quire_command.demo.transcript import load, steps
from tests.api.kit import SHIPPED, Json, append, assistant, contents, ok, path, turn, user, window
from tests.api.promises import Watch, head_of
from tests.conftest import serving
from tests.jobs.kit import Model, Worker, index_of, shown

BUDGET = 4000
BUDGETS = (3000, 8000, 32_000)


@pytest.fixture(scope="module")
def other_url(postgres: EmbeddedPostgres, settings: Settings) -> Iterator[str]:
    yield from serving(build_app(settings.model_copy(update={"memory_llm_model": "fake"}), postgres.app_dsn))


@pytest.fixture
def other(other_url: str, client: httpx.Client) -> Iterator[httpx.Client]:
    """A second process, with caches of its own."""
    with httpx.Client(base_url=other_url, timeout=30) as opened:
        yield opened


def index(request: Json) -> Json:
    [seq, *_] = shown(request)
    wish = {"quote": f"question {(seq + 1) // 2} why", "seq": seq, "pinned": True}
    return index_of(request, topics=["Everyday life", f"Subject {seq % 7}"], memories=[wish] if seq % 5 == 1 else [])


@pytest.mark.slow
def test_windows_keep_their_promises_while_jobs_run(
    client: httpx.Client, other: httpx.Client, worker: Worker, model: Model, counter: TokenCounter
) -> None:
    """Invariants 1 to 4 turn by turn, with the jobs always some turns behind; and a process that has just come to a
    conversation makes the same windows.
    """
    model.page = index
    [transcript] = load(SHIPPED)
    plan = steps(transcript.messages)[:140]
    watches = [Watch(client, "c", cache(counter.count), budget) for budget in BUDGETS]
    sent: list[Json] = []
    outcomes: set[str] = set()
    for number, step in enumerate(plan):
        append(client, "c", step.messages)
        sent += step.messages
        before = [watch.look(sent) for watch in watches]
        if number % 3 == 0:
            outcomes.update(worker.drain(rounds=2))
            for watch, found in zip(watches, before, strict=True):
                again = window(other, "c", budget=watch.budget)
                assert found is not None
                assert again["messages"] == found["messages"], "made anew by another process after the jobs"
    assert all(len(watch.epochs) > 2 for watch in watches[:2])
    assert outcomes.union(worker.drain()) == {"done"}
    assert window(client, "c")["lag"]["indexed_through_page"] == len(plan) - 1


def test_an_epoch_made_before_the_jobs_keeps_its_text_and_the_next_one_has_the_models(
    client: httpx.Client, worker: Worker, model: Model
) -> None:
    ok(client.post("/conversations", json={"id": "c", "user_id": "u", "budget": BUDGET}), 201)
    model.page = index
    number = 0
    while not window(client, "c")["pages"]["listed"]:
        number += 1
        append(client, "c", turn(number))
    old = window(client, "c")
    assert "question" in head_of(old)
    assert "line 1" not in head_of(old)
    assert "index_lags" in [w["code"] for w in old["warnings"]]
    assert contents(client, "c")["entries"][0]["source"] == "extractive"

    worker.drain()
    now = window(client, "c")
    assert now["epoch"] == old["epoch"]
    assert now["messages"] == old["messages"]
    assert now["lag"]["indexed_through_page"] == number - 1
    assert "index_lags" not in [w["code"] for w in now["warnings"]]

    while window(client, "c")["epoch"] == old["epoch"]:
        number += 1
        append(client, "c", turn(number))
        worker.drain()
    new = window(client, "c")
    head = head_of(new)
    first_left = 2 * (new["pages"]["listed"][-1]) - 1
    assert f"Title {first_left}" in head
    assert "was said." in head
    assert "Topics, all recallable: Everyday life (" in head
    assert "why (" not in head, "what only the model finds lasting is proposed"
    entries = contents(client, "c")["entries"]
    assert {e["source"] for e in entries} == {"llm"}
    assert new["lag"]["summary_through_seq"] >= first_left + 1
    assert new["warnings"] == []
    covered = new["lag"]["summary_through_seq"]
    assert f"All up to message {covered} was" in head, "the version that covers what left, and little more"
    assert ok(client.get(path("c", "summary")))["through_seq"] >= covered


@pytest.mark.slow
def test_a_wish_leads_the_head_once_its_message_has_left_and_until_a_later_value_of_its_key_has(
    client: httpx.Client, worker: Worker
) -> None:
    ok(client.post("/conversations", json={"id": "c", "user_id": "u", "budget": BUDGET}), 201)

    append(client, "c", [user("From now on answer in French."), assistant("arr")])
    grow(client, worker)
    assert head_of(window(client, "c")).count("answer in French") >= 1
    assert window(client, "c")["usage"]["sections"]["notes"] > 0
    page = append(client, "c", [user("From now on answer in German."), assistant("indeed")])["page"]
    grow(client, worker)
    while page in (*(pages := window(client, "c")["pages"])["verbatim"], *pages["condensed"]):
        grow(client, worker)
    kept = head_of(window(client, "c")).split("## Summary")[0]
    assert "- From now on answer in German." in kept
    assert "- From now on answer in French." not in kept


def grow(client: httpx.Client, worker: Worker) -> None:
    """Turns until there is a new epoch."""
    before = window(client, "c")["epoch"]
    while window(client, "c")["epoch"] == before:
        append(client, "c", turn(1))
        worker.drain()


def test_a_chinese_heads_topics_are_named_in_chinese(client: httpx.Client, worker: Worker, model: Model) -> None:
    ok(client.post("/conversations", json={"id": "c", "user_id": "u", "budget": BUDGET}), 201)
    model.page = lambda r: index_of(r, title="安排去日本的旅行", topics=["日本旅行"])
    model.summary = lambda _: "用户打算去日本旅行。"
    while not (found := window(client, "c"))["pages"]["listed"]:
        append(client, "c", [user("我想去日本旅行,请帮我安排行程。" * 5), assistant("好的,可以去京都和奈良。" * 5)])
        worker.drain()
    head = head_of(found)
    assert "话题（均可召回）：日本旅行 (" in head
    assert "- 用户打算去日本旅行。" in head
    assert "安排去日本的旅行" in head
