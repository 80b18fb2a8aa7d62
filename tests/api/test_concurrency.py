"""Many writers at once: appends to one conversation follow each other without a gap, and nothing is lost."""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import asyncpg
import httpx
import pytest

from app.postgres.database import Database
from app.postgres.tenants import DEFAULT_TENANT
from app.settings import Settings
from app.text.tokens import TokenCounter
from tests.api.kit import (
    Json,
    append,
    assistant,
    call,
    created,
    history,
    ok,
    path,
    recall,
    result,
    turn,
    user,
    window,
)
from tests.guards.tenants import ANN, runtime, say

Ask = Callable[[str], list[asyncpg.Record]]

APPENDERS = 40
BATCHES = 5

# Rows whose offsets are not the sums of what weighs before them, or that stand in the wrong page or group.
INCONSISTENT = """
SELECT m.* FROM (
  SELECT *, sum(full_tokens) OVER before AS full_sum, sum(short_tokens) OVER before AS short_sum,
         row_number() OVER (ORDER BY seq) AS number,
         count(*) FILTER (WHERE role = 'user') OVER (ORDER BY seq) AS users
    FROM messages WHERE tenant_id = '{1}' AND conversation_id = '{0}'
  WINDOW before AS (ORDER BY seq ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING)) m
  LEFT JOIN pages p ON p.tenant_id = m.tenant_id AND p.conversation_id = m.conversation_id AND p.page = m.page
 WHERE m.seq <> number OR m.full_before <> coalesce(full_sum, 0) OR m.short_before <> coalesce(short_sum, 0)
    OR m.page <> greatest(users, 1) OR p.first_seq IS NULL OR p.first_seq > m.seq
"""
TOTALS = """
SELECT c.last_seq = count(m) AND c.full_total = sum(m.full_tokens) AND c.short_total = sum(m.short_tokens)
       AND c.last_page = max(m.page) AND c.history_total = sum(m.full_tokens) AS agree,
       (SELECT count(*) FROM pages WHERE tenant_id = '{1}' AND conversation_id = '{0}') = max(m.page) AS pages_agree
  FROM conversations c JOIN messages m ON m.tenant_id = c.tenant_id AND m.conversation_id = c.id
 WHERE c.tenant_id = '{1}' AND c.id = '{0}'
 GROUP BY c.last_seq, c.full_total, c.short_total, c.last_page, c.history_total
"""


def assert_consistent(ask: Ask, conversation: str) -> None:
    assert ask(INCONSISTENT.format(conversation, DEFAULT_TENANT)) == []
    assert [tuple(row) for row in ask(TOTALS.format(conversation, DEFAULT_TENANT))] == [(True, True)]


def at_once(work: Callable[[int], Any], times: int) -> list[Any]:
    with ThreadPoolExecutor(times) as pool:
        return list(pool.map(work, range(times)))


def batch(appender: int, number: int) -> list[Json]:
    name = f"{appender}.{number}"
    return [user(f"q {name} " + "w " * appender), call(name), result(name, f"r {name}"), assistant(f"a {name}")]


def test_appends_to_one_conversation_are_gapless_and_lose_nothing(
    client: httpx.Client, other: httpx.Client, run_as_superuser: Ask
) -> None:
    created(client, id="c", user_id="u", budget=4000)

    def work(appender: int) -> list[Json]:
        server = (client, other)[appender % 2]
        return [append(server, "c", batch(appender, number)) for number in range(BATCHES)]

    answers = at_once(work, APPENDERS)
    stored = history(client, "c", limit=1000)
    assert [m["seq"] for m in stored] == list(range(1, APPENDERS * BATCHES * 4 + 1))
    by_seq = {m["seq"]: m for m in stored}
    for appender, batches in enumerate(answers):
        for number, answer in enumerate(batches):
            seqs = [m["seq"] for m in answer["messages"]]
            assert seqs == list(range(seqs[0], seqs[0] + 4))
            found = [{k: v for k, v in by_seq[s].items() if k in ("role", "content")} for s in seqs]
            assert [m["content"] for m in found] == [m["content"] for m in batch(appender, number)]
            assert {m["page"] for m in answer["messages"]} == {answer["page"]}
        assert [a["page"] for a in batches] == sorted(a["page"] for a in batches)
    assert_consistent(run_as_superuser, "c")
    assert window(client, "c")["epoch"] == window(other, "c")["epoch"] > 0


@pytest.mark.parametrize("words", [1, pytest.param(3000, marks=pytest.mark.slow)])
def test_a_conversation_that_many_appends_create_is_created_once(
    client: httpx.Client, other: httpx.Client, run_as_superuser: Ask, words: int
) -> None:
    """Also where the first append opens an epoch at once."""
    for round_ in range(5):
        name = f"c{round_}"

        def work(number: int, name: str = name) -> Json:
            messages = [m for i in range(25 if words > 1 else 1) for m in turn(i, words // 25)]
            return append((client, other)[number % 2], name, messages)

        answers = at_once(work, 8)
        seqs = sorted(m["seq"] for answer in answers for m in answer["messages"])
        assert seqs == list(range(1, len(seqs) + 1))
        assert_consistent(run_as_superuser, name)


def test_only_one_of_many_creators_of_a_conversation_succeeds(client: httpx.Client, other: httpx.Client) -> None:
    found = at_once(lambda n: (client, other)[n % 2].post("/conversations", json={"id": "c"}).status_code, 16)
    assert sorted(found) == [201] + [409] * 15


@pytest.mark.slow
def test_appends_recalls_changes_and_windows_run_concurrently(
    client: httpx.Client, other: httpx.Client, run_as_superuser: Ask
) -> None:
    append(client, "c", turn(0))

    def work(number: int) -> None:
        server = (client, other)[number % 2]
        for round_ in range(6):
            append(server, "c", turn(round_))
            if number % 4 == 0:
                assert recall(server, "c", 1)["is_error"] is False
            elif number % 4 == 1:
                ok(server.patch(path("c"), json={"title": f"{number}"}))
            elif number % 4 == 2:
                ok(server.patch(path("c"), json={"budget": 3000 + number * 10 + round_}))
            found = window(server, "c", budget=2500)
            assert found["usage"]["total"] <= 2250
            assert found["lag"]["last_seq"] >= 2

    at_once(work, 12)
    assert len(history(client, "c")) == 2 + 12 * 6 * 2
    assert ok(client.get(path("c", "pages", "1")))["recall_count"] == 3 * 6
    assert_consistent(run_as_superuser, "c")


def test_concurrent_duplicates_of_a_client_id_are_stored_once(client: httpx.Client, other: httpx.Client) -> None:
    append(client, "c", [user()])
    body = {"messages": [user("x", client_id="m")]}
    found = at_once(lambda n: (client, other)[n % 2].post(path("c", "messages"), json=body).status_code, 12)
    assert sorted(found) == [201] + [409] * 11
    assert [m["client_id"] for m in history(client, "c")] == [None, "m"]


def test_an_id_erased_and_given_away_elsewhere_is_its_new_users(client: httpx.Client, other: httpx.Client) -> None:
    """What this process remembers of the conversation is not what it is."""
    append(client, "c", [user("ann's")], user_id="ann")
    ok(other.delete(path("c")))
    assert append(client, "c", [user("bob's")], user_id="bob")["messages"][0]["seq"] == 1
    ok(other.delete(path("c")))
    append(other, "c", [user("cid's"), user("cid's")], user_id="cid")
    assert append(client, "c", [user("cid's")], user_id="cid")["messages"][0]["seq"] == 3
    assert [m["content"] for m in history(client, "c")] == ["cid's"] * 3


def test_a_conversation_erased_under_its_appenders_is_whole_or_gone(
    client: httpx.Client, other: httpx.Client, run_as_superuser: Ask
) -> None:
    append(client, "c", turn(0))

    def work(number: int) -> int:
        server = (client, other)[number % 2]
        if number % 5 == 4:
            return server.delete(path("c")).status_code
        return server.post(path("c", "messages"), json={"messages": turn(number), "user_id": "u"}).status_code

    found = at_once(work, 20)
    assert set(found) <= {200, 201, 404, 409}
    append(client, "c", turn(99))
    assert_consistent(run_as_superuser, "c")
    [(left,)] = run_as_superuser("SELECT count(*) FROM messages")
    assert left == len(history(client, "c"))


@pytest.mark.anyio
async def test_one_process_stores_appends_in_the_order_they_came(
    settings: Settings, database: Database, counter: TokenCounter
) -> None:
    """Each is decided on what the one before left, so none is decided twice; and nothing stays of the queue."""
    made = runtime(settings, database, counter)
    texts = [f"message {number}" for number in range(30)]
    await asyncio.gather(*(say(made, ANN, "c", [user(text)]) for text in texts))
    async with database.snapshot(ANN) as tx:
        rows = await tx.connection.fetch("SELECT body::json ->> 'content' FROM messages ORDER BY seq")
    assert [row[0] for row in rows] == texts
    assert not made.queues
