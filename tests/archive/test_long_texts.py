"""Texts too long for one append are indexed to their ends in the background."""

from itertools import pairwise
from typing import Any
from uuid import UUID

import httpx
from hypothesis import given
from hypothesis import strategies as st

from app.postgres.embedded import EmbeddedPostgres
from app.services.memory.archiving import PASSAGES_AT_ONCE
from app.services.memory.indexing import Text
from app.settings import Settings
from app.store.archives import GAP_MAX, joined_ranges
from tests.api.kit import Json, append, call, ok, path, result, user
from tests.archive.conftest import Rows
from tests.archive.made import index

LONG = "\n".join(f"Row {i}: the warehouse counted {i * 7} boxes of item {i % 97}." for i in range(8_000))
TEXT = f"{LONG}\nThe very last row speaks of quinces."


def found(client: httpx.Client, query: str) -> list[Json]:
    results: list[Json] = ok(client.post("/memories/search", json={"user_id": "u", "query": query}))["results"]
    return results


def pending(run_as_superuser: Any) -> list[tuple[str, str]]:
    return [(r["subject"], r["args"]) for r in run_as_superuser("SELECT * FROM work WHERE kind = 'passages'")]


def test_a_long_result_is_searchable_to_its_end_after_the_job(
    large: httpx.Client,
    settings: Settings,
    postgres: EmbeddedPostgres,
    run_as_superuser: Any,
    rows: Rows,
) -> None:
    answer = append(large, "c", [user("count"), call("a"), result("a", TEXT)])
    archive = answer["messages"][2]["archive_id"]
    assert [r["start"] for r in run_as_superuser("SELECT start FROM memories WHERE start = 0 AND type = 'passage'")]
    assert rows("memories WHERE type = 'passage'") == PASSAGES_AT_ONCE
    assert pending(run_as_superuser) == [(archive, f'{{"archive":"{archive}"}}')]
    assert found(large, "quinces") == []
    index(settings, postgres, Text(archive=archive), times=3)
    [hit] = found(large, "quinces")
    assert hit["archive_id"] == archive
    spans = run_as_superuser("SELECT start, length FROM memories WHERE type = 'passage' ORDER BY start")
    ends = [s["start"] + s["length"] for s in spans]
    assert [s["start"] for s in spans] == [0, *ends[:-1]], "no gap and nothing twice"
    assert ends[-1] == len(TEXT)


def test_a_long_message_too(
    large: httpx.Client, settings: Settings, postgres: EmbeddedPostgres, run_as_superuser: Any
) -> None:
    append(large, "c", [user("hello"), user(TEXT)])
    [(subject, args)] = pending(run_as_superuser)
    assert args == '{"seq":2}'
    assert found(large, "quinces") == []
    index(settings, postgres, Text(conversation_id="c", uid=UUID(subject.split(":")[0]), seq=2))
    [hit] = found(large, "quinces")
    assert (hit["conversation_id"], hit["memory_type"]) == ("c", "episode")


def test_erased_text_is_not_indexed(
    large: httpx.Client,
    settings: Settings,
    postgres: EmbeddedPostgres,
    rows: Rows,
) -> None:
    answer = append(large, "c", [user("count"), call("a"), result("a", TEXT)])
    archive = answer["messages"][2]["archive_id"]
    ok(large.delete(path("c")))
    index(settings, postgres, Text(archive=archive), Text(conversation_id="c", uid=UUID(archive), seq=3))
    assert rows("memories") == rows("work") == 0


PLACES = st.tuples(st.sampled_from([UUID(int=1), UUID(int=2)]), st.integers(0, 200_000), st.integers(1, 3_000))


@given(st.lists(PLACES, max_size=30, unique_by=lambda place: place[:2]))
def test_ranges_that_are_close_together_are_read_as_one(places: list[tuple[UUID, int, int]]) -> None:
    joined = joined_ranges(places)
    assert sorted((uuid, *one) for (uuid, _, _), inside in joined.items() for one in inside) == sorted(places)
    for (_, first, size), inside in joined.items():
        assert all(first <= start and start + length <= first + size for start, length in inside)
    ends = sorted((uuid, first, first + size) for uuid, first, size in joined)
    assert all(b[1] > a[2] + GAP_MAX for a, b in pairwise(ends) if a[0] == b[0])
