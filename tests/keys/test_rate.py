"""A key's rate: what the bucket promises, and what callers are told."""

import httpx
from hypothesis import given
from hypothesis import strategies as st

from app.core.edge.rate import Bucket, TakenTokens, take
from tests.api.kit import problem
from tests.keys.conftest import Serve
from tests.keys.kit import Mint, bearing

waits = st.lists(st.floats(0, 30), max_size=200)


def run(gaps: list[float], per_minute: int) -> list[tuple[float, TakenTokens]]:
    now, bucket, found = 0.0, None, []
    for gap in gaps:
        now += gap
        taken = take(bucket, now, per_minute)
        bucket = taken.bucket
        found.append((now, taken))
    return found


@given(waits, st.integers(1, 600))
def test_a_bucket_bounds_every_time_span(gaps: list[float], per_minute: int) -> None:
    allowed = [at for at, taken in run(gaps, per_minute) if taken.allowed]
    for first, begun in enumerate(allowed):
        for last in range(first, len(allowed)):
            assert last - first + 1 <= per_minute + (allowed[last] - begun) * per_minute / 60 + 1e-3


@given(waits, st.integers(1, 600))
def test_waiting_for_retry_after_is_enough(gaps: list[float], per_minute: int) -> None:
    for at, taken in run(gaps, per_minute):
        assert 0 <= taken.remaining <= per_minute
        assert taken.reset_seconds >= 0
        if not taken.allowed:
            assert take(taken.bucket, at + taken.retry_seconds, per_minute).allowed


def test_a_bucket_begins_full_and_is_never_fuller() -> None:
    assert [taken.allowed for _, taken in run([0, 0, 0], 2)] == [True, True, False]
    assert take(Bucket(0, 0), 1e6, 60).remaining == 59


def test_a_key_over_its_rate_gets_retry_after(serve: Serve, mint: Mint) -> None:
    client = serve(quire_rate_limit_per_minute=3)
    busy, other = bearing(mint()), bearing(mint())
    answers = [client.get("/conversations", headers=busy) for _ in range(3)]
    assert [answer.status_code for answer in answers] == [200] * 3
    assert [answer.headers["ratelimit-remaining"] for answer in answers] == ["2", "1", "0"]
    refused = client.get("/conversations/none", headers=busy)
    problem(refused, 429, "3")
    assert 1 <= int(refused.headers["retry-after"]) <= 20
    assert (refused.headers["ratelimit-limit"], refused.headers["ratelimit-remaining"]) == ("3", "0")
    missing = client.get("/conversations/none", headers=other)
    problem(missing, 404)
    assert missing.headers["ratelimit-remaining"] == "2"
    assert client.get("/healthz").status_code == 200


def test_without_a_limit_there_are_no_rate_headers(locked: httpx.Client, mint: Mint) -> None:
    answer = locked.get("/conversations", headers=bearing(mint()))
    assert not [name for name in answer.headers if name.startswith("ratelimit")]
