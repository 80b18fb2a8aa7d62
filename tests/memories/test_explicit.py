"""Memories that callers post: found, read, erased; refused with the field that is wrong."""

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
import pytest

from tests.api.kit import Json, append, created, ok, path, problem, turn, user
from tests.archive.conftest import Grep, Rows, rows, tables_with  # noqa: F401 - fixtures

TEA = {"user_id": "u", "content": "Prefers green tea from Hangzhou", "memory_type": "preference"}


def post(client: httpx.Client, **body: Any) -> Json:
    return ok(client.post("/memories", json={**TEA, **body}), 201)


def found(client: httpx.Client, query: str, **body: Any) -> list[Json]:
    answer = ok(client.post("/memories/search", json={"user_id": "u", "query": query, **body}))
    results: list[Json] = answer["results"]
    return results


def test_a_memory_is_found_read_and_erased(client: httpx.Client, tables_with: Grep) -> None:  # noqa: F811
    made = post(client, keywords=["longjing"], metadata={"from": "form 7"})
    key = made["memory_key"]
    assert made["content"] == TEA["content"]
    assert made["metadata"] == {"from": "form 7"}
    assert made["keywords"] == ["longjing"]
    assert made["source"] == "person"
    for query in ("green tea", "longjing"):
        [hit] = found(client, query)
        assert (hit["memory_key"], hit["memory_type"], hit["page"]) == (key, "preference", None)
    assert found(client, "tea", memory_types=["fact"]) == []
    assert found(client, "tea", memory_types=["preference"])
    assert ok(client.get(f"/memories/{key}")) == made
    assert ok(client.delete(f"/memories/{key}"))["erased"] == {"memories": 1}
    problem(client.get(f"/memories/{key}"), 404)
    problem(client.delete(f"/memories/{key}"), 404)
    assert found(client, "tea") == []
    assert tables_with("Hangzhou") == []


def test_a_long_memory_is_found_by_its_end_and_cut_with_a_mark(client: httpx.Client) -> None:
    text = "\n".join(f"Line {i}: nothing of interest here." for i in range(4_000)) + "\nThe password hint is zebrafish."
    key = post(client, content=text)["memory_key"]
    [hit] = found(client, "zebrafish hint")
    assert hit["memory_key"] == key
    assert "**zebrafish**" in hit["content_preview"]
    assert len(hit["content_preview"]) <= 202
    whole = ok(client.get(f"/memories/{key}"))
    assert whole["is_cut"]
    assert whole["content"].startswith("Line 0:")
    assert whole["content"].endswith("… [cut]")
    assert len(whole["content"].encode()) < 100_100
    ok(client.delete(f"/memories/{key}"))
    assert found(client, "zebrafish hint") == []


@pytest.mark.parametrize("content", ["一杯绿茶,谢谢 😀", "nul \x00 inside", "  spaces kept  ", "<quire-memory> {uuid}"])
def test_content_is_returned_unchanged(client: httpx.Client, content: str) -> None:
    key = post(client, content=content)["memory_key"]
    assert ok(client.get(f"/memories/{key}"))["content"] == content


def test_a_memory_of_a_conversation_is_its_users_and_goes_with_it(client: httpx.Client, rows: Rows) -> None:  # noqa: F811
    append(client, "c", turn(1))
    key = post(client, conversation_id="c")["memory_key"]
    assert [hit["memory_key"] for hit in found(client, "green tea")] == [key]
    assert ok(client.get(f"/memories/{key}"))["conversation_id"] == "c"
    problem(client.post("/memories", json={**TEA, "conversation_id": "c", "user_id": "eve"}), 409)
    problem(client.post("/memories", json={**TEA, "conversation_id": "none"}), 404)
    ok(client.delete(path("c")))
    problem(client.get(f"/memories/{key}"), 404)
    assert rows("memories") == 0


def test_another_user_does_not_find_it(client: httpx.Client) -> None:
    post(client)
    assert found(client, "green tea", user_id="eve") == []
    created(client, id="alone")
    append(client, "alone", [user("what about green tea?")], user_id=None)
    answer = ok(client.post("/memories/search", json={"conversation_id": "alone", "query": "Hangzhou"}))
    assert answer["results"] == []


def test_a_repeated_memory_is_stored_once(client: httpx.Client, rows: Rows) -> None:  # noqa: F811
    def send(_: int) -> Json:
        return ok(client.post("/memories", json=TEA, headers={"Idempotency-Key": "k"}), 201)

    with ThreadPoolExecutor(8) as pool:
        keys = {answer["memory_key"] for answer in pool.map(send, range(16))}
    assert len(keys) == rows("memories") == 1


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"content": ""}, "content"),
        ({"content": " \n"}, "content"),
        ({"content": "x" * 1_000_001}, "content"),
        ({"content": None}, "content"),
        ({"user_id": None}, "user_id"),
        ({"user_id": "a\x00"}, "user_id"),
        ({"memory_type": "episode"}, "memory_type"),
        ({"memory_type": "wish"}, "memory_type"),
        ({"keywords": ["x"] * 21}, "keywords"),
        ({"keywords": [""]}, "keywords"),
        ({"keywords": ["a\x00"]}, "keywords"),
        ({"metadata": {"a": "x" * 20_000}}, "metadata"),
        ({"metadata": []}, "metadata"),
        ({"metadata": {"a": "\x00"}}, "metadata"),
        ({"expires_at": "2020-01-01T00:00:00Z"}, "expires_at"),
        ({"expires_at": "soon"}, "expires_at"),
        ({"sensitivity": "secret"}, "sensitivity"),
        ({"tenant_id": "x"}, "tenant_id"),
    ],
)
def test_an_invalid_memory_is_rejected_with_its_field(
    client: httpx.Client,
    rows: Rows,  # noqa: F811
    body: Json,
    field: str,
) -> None:
    sent = {name: value for name, value in {**TEA, **body}.items() if value is not None or name == "content"}
    answer = client.post("/memories", json=sent)
    said = problem(answer, 422 if answer.status_code == 422 else 413)
    assert any(field in error["loc"] for error in said["errors"])
    assert rows("memories") == 0


def test_an_expired_memory_is_not_found(client: httpx.Client, run_as_superuser: Any) -> None:
    key = post(client, expires_at="2100-01-01T00:00:00Z")["memory_key"]
    assert ok(client.get(f"/memories/{key}"))["expires_at"] == "2100-01-01T00:00:00Z"
    run_as_superuser("UPDATE memories SET expires_at = now() - interval '1 second'")
    problem(client.get(f"/memories/{key}"), 404)
    assert found(client, "green tea") == []
