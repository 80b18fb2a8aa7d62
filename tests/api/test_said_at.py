"""A message can say when it was said: it is kept, checked, and what search dates the message's memories by."""

from datetime import UTC, datetime, timedelta
from typing import Any

import httpx
import pytest

from tests.api.kit import Json, append, assistant, history, ok, path, problem, user
from tests.sync.kit import sync

FIRST, SECOND, THIRD = "2024-03-01T09:00:00Z", "2024-03-02T09:00:00Z", "2024-03-03T09:00:00Z"
BAD_TIMES = [
    ("2024-03-01", "RFC 3339"),
    ("yesterday", "RFC 3339"),
    ("2024-02-30T09:00:00Z", "RFC 3339"),
    ("0001-01-01T00:00:00+14:00", "RFC 3339"),
    ("", "RFC 3339"),
    (1_709_283_600, "RFC 3339"),
    (["2024-03-01T09:00:00Z"], "RFC 3339"),
    ("1969-12-31T23:59:59Z", "1970-01-01T00:00:00Z"),
    ("1970-01-01T00:00:00+00:01", "1970-01-01T00:00:00Z"),
    ("9999-12-31T23:59:59Z", "future"),
]


def in_minutes(minutes: float) -> str:
    return (datetime.now(UTC) + timedelta(minutes=minutes)).isoformat()


def times(client: httpx.Client, conversation: str = "c") -> list[Any]:
    return [message["said_at"] for message in history(client, conversation)]


def refused(client: httpx.Client, messages: list[Json], *names: str, route: str = "messages") -> Json:
    return problem(client.post(path("c", route), json={"messages": messages, "user_id": "u"}), 422, "said_at", *names)


def test_said_at_is_returned_in_utc_or_null(client: httpx.Client) -> None:
    append(client, "c", [user(said_at="2024-03-01T17:00:00.25+08:00"), assistant(), user(said_at=None)])
    assert times(client) == ["2024-03-01T09:00:00.250000Z", None, None]


def test_a_time_without_a_zone_is_in_utc(client: httpx.Client) -> None:
    append(client, "c", [user(said_at="2024-03-01T09:00:00"), assistant(said_at="2024-03-01T09:00:00.5")])
    assert times(client) == [FIRST, "2024-03-01T09:00:00.500000Z"]


def test_a_message_that_is_a_little_older_than_the_one_before_it_keeps_its_place(client: httpx.Client) -> None:
    append(client, "c", [user("a", said_at=SECOND), assistant("b", said_at="2024-03-02T08:59:59.999Z")])
    append(client, "c", [user("c", said_at="2024-03-02T08:59:30Z")])
    assert [message["content"] for message in history(client, "c")] == ["a", "b", "c"]
    refused(client, [user("d", said_at="2024-03-02T08:58:59Z")], SECOND)  # a minute after the newest, not the last


def test_the_day_is_the_speakers(client: httpx.Client) -> None:
    """In the head, the condensed zone, the contents, a page in full, and what a query finds."""
    for page in range(28):
        time = f"2024-03-{2 + page:02d}T07:30:00+08:00"
        append(client, "c", [user(f"Paid bill {page} " + "x " * 150, said_at=time), assistant("Noted. " * 60)])
    asked: Json = {"budget": 4000, "pages": 1, "query": "Which bill was paid on March 2?"}
    shown = (
        ok(client.get(path("c", "context"), params={"budget": 4000})),
        ok(client.get(path("c", "context"), params=asked)),
    )
    whole = ok(client.post(path("c", "tools", "recall_page"), json={"arguments": {"page": 1}}))
    found = ok(client.post(path("c", "tools", "search_memories"), json={"arguments": {"query": "bill 0"}}))
    told = str([one["messages"] for one in shown]) + whole["content"] + found["content"]
    assert "2024-03-01" not in told
    assert "2024-03-02" in told


def test_a_day_that_a_query_names_is_the_speakers(client: httpx.Client) -> None:
    times_ = ["2024-03-02T07:30:00+08:00", "2024-03-03T07:30:00+08:00"]
    sent = [user("We met in the tea house.", said_at=times_[0]), user("We met in the tea garden.", said_at=times_[1])]
    append(client, "old", sent)
    append(client, "c", [user("hello", said_at="2024-03-05T07:30:00+08:00")])
    query: Json = {"budget": 4000, "query": "Where in the tea house did we meet on March 2, 2024?"}
    assert "2024-03-02" in str(ok(client.get(path("c", "context"), params=query))["messages"])
    exported = client.get("/users/u/export").text
    assert times_[0] in exported


def test_no_model_sees_it(client: httpx.Client) -> None:
    append(client, "c", [user("dated", said_at=FIRST)])
    for form in ("openai", "anthropic"):
        assert "said_at" not in client.get(path("c", "context"), params={"budget": 4000, "format": form}).text


@pytest.mark.parametrize("route", ["messages", "sync"])
@pytest.mark.parametrize(("time", "limit"), BAD_TIMES)
def test_a_bad_time_is_refused_and_nothing_is_stored(client: httpx.Client, route: str, time: Any, limit: str) -> None:
    found = refused(client, [user("a"), assistant("b", said_at=time)], limit, route=route)
    assert found["errors"][0]["loc"] == ["body", "messages", 1, "said_at"]
    problem(client.get(path("c")), 404)


def test_a_clock_can_be_a_minute_ahead_and_no_more(client: httpx.Client) -> None:
    append(client, "c", [user(said_at=in_minutes(0.5))])
    refused(client, [user(said_at=in_minutes(2))], "future")


def test_times_within_a_request_must_not_decrease(client: httpx.Client) -> None:
    sent = [user("a", said_at=SECOND), assistant("b"), user("c", said_at=FIRST)]
    found = refused(client, sent, SECOND)
    assert found["errors"][0]["loc"] == ["body", "messages", 2, "said_at"]
    problem(client.get(path("c")), 404)


def test_times_must_not_precede_stored_messages(client: httpx.Client, other: httpx.Client) -> None:
    """In another process too, which reads the conversation's newest time with the conversation."""
    append(client, "c", [user("a", said_at=SECOND), assistant("undated")])
    for process in (client, other):
        refused(process, [user("b", said_at=FIRST)], SECOND)
    append(other, "c", [user("b", said_at=SECOND), assistant("undated too"), user("c", said_at=THIRD)])
    refused(client, [user("d", said_at=SECOND)], THIRD)
    assert times(client) == [SECOND, None, SECOND, None, THIRD]


def test_the_same_message_with_another_time_is_the_same_message(client: httpx.Client) -> None:
    sent = [user("a", said_at=FIRST), assistant("b", said_at=SECOND)]
    sync(client, "c", sent)
    again = sync(client, "c", [user("a"), assistant("b", said_at=FIRST), user("c", said_at=THIRD)])
    assert (again["matched"], len(again["appended"])) == (2, 1)
    assert times(client) == [FIRST, SECOND, THIRD]
    found = refused(client, [*sent, user("c", said_at=THIRD), assistant("d", said_at=FIRST)], THIRD, route="sync")
    assert found["errors"][0]["loc"] == ["body", "messages", 3, "said_at"]


def test_a_retry_is_answered_as_before_though_newer_times_are_stored(client: httpx.Client) -> None:
    body, key = {"messages": [user("a", said_at=FIRST)], "user_id": "u"}, {"idempotency-key": "k"}
    first = ok(client.post(path("c", "messages"), json=body, headers=key), 201)
    append(client, "c", [user("b", said_at=SECOND)])
    assert ok(client.post(path("c", "messages"), json=body, headers=key), 201) == first
    assert times(client) == [FIRST, SECOND]


def found(client: httpx.Client, **query: Any) -> list[tuple[str, str]]:
    body = {"user_id": "u", "query": "harbour pearl", "search_mode": "keyword", **query}
    hits = ok(client.post("/memories/search", json=body))["results"]
    return sorted((hit["memory_type"], hit["created_at"]) for hit in hits)


def test_search_dates_a_message_by_when_it_was_said(client: httpx.Client) -> None:
    append(client, "c", [user("the pearl in the harbour", said_at=FIRST), assistant("a harbour", said_at=THIRD)])
    assert found(client) == [("episode", FIRST), ("episode", THIRD)]
    assert found(client, since=SECOND) == [("episode", THIRD)]
    assert found(client, until=THIRD) == [("episode", FIRST)]
    assert found(client, since=FIRST, until=SECOND) == [("episode", FIRST)]
    assert found(client, time_range_days=30) == []


def test_search_dates_an_archive_by_when_its_message_was_said(client: httpx.Client) -> None:
    call = {"id": "x", "type": "function", "function": {"name": "read", "arguments": "{}"}}
    told = {"role": "tool", "tool_call_id": "x", "content": "harbour pearl " * 1_000, "said_at": SECOND}
    append(client, "c", [user("read"), {"role": "assistant", "content": None, "tool_calls": [call]}, told])
    assert ("passage", SECOND) in found(client, since=FIRST, until=THIRD)
    assert found(client, since=THIRD) == []


def test_a_window_dates_what_it_brings_in_by_when_it_was_said(client: httpx.Client) -> None:
    append(client, "old", [user("The pearl lies in the old harbour of Ningbo.", said_at=FIRST), assistant("Noted.")])
    append(client, "c", [user("hello")])
    query: Json = {"budget": 4000, "query": "Where does the pearl lie in the harbour?", "recall_scope": "user"}
    assert "2024-03-01" in client.get(path("c", "context"), params=query).text


def test_a_window_orders_what_it_brings_in_by_day_and_marks_the_newest(client: httpx.Client) -> None:
    """However well each day answers, and whichever conversation it is of."""
    moved = [
        ("late", "The pearl lies in the new harbour of Ningbo.", THIRD),
        ("early", "The pearl lies at sea.", FIRST),
    ]
    for name, text, time in moved:
        append(client, name, [user(text, said_at=time)])
    append(client, "c", [user("hello")])
    query: Json = {"budget": 4000, "query": "Does the pearl lie at sea, or in a harbour?", "recall_scope": "user"}
    shown = str(ok(client.get(path("c", "context"), params=query))["messages"][-1])
    assert 0 < shown.index("2024-03-01 ") < shown.index("at sea") < shown.index("2024-03-03 (newest) ")
    assert shown.count("newest") == 1


def test_a_single_day_gets_no_date_lines(client: httpx.Client) -> None:
    append(client, "old", [user("The pearl lies in the old harbour of Ningbo.", said_at=FIRST)])
    append(client, "c", [user("hello")])
    query: Json = {"budget": 4000, "query": "Where does the pearl lie in the harbour?", "recall_scope": "user"}
    shown = client.get(path("c", "context"), params=query).text
    assert "2024-03-01 " in shown
    assert "newest" not in shown


def test_a_reversed_range_names_both_ends(client: httpx.Client) -> None:
    body = {"user_id": "u", "query": "pearl", "since": SECOND, "until": FIRST}
    answer = problem(client.post("/memories/search", json=body), 422)
    assert [error["loc"] for error in answer["errors"]] == [["body", "until"], ["body", "since"]]
