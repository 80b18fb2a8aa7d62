"""Bringing an archive back: whole, by range, by passages, for one call, for one page."""

import json
from random import Random
from typing import Any
from uuid import UUID

import httpx
import pytest

from app.postgres.embedded import EmbeddedPostgres
from app.services.conversations.tail import LOAD_FRAME
from app.services.memory.indexing import Text
from app.settings import Settings
from app.text import tokens
from tests.api.kit import Json, append, call, created, history, ok, path, problem, result, turn, user, window
from tests.archive.conftest import Rows
from tests.archive.made import KINDS, all_text, archive, archived, index, listed, load_tool, loaded, looked_up, made

NEEDLE = "The customs broker in Tallinn is called Maarika Oja-Lindgren."


def with_needle(kind: str = "prose", language: str = "en", size: int = 40_000) -> str:
    """The needle stands in the middle."""
    text = made(kind, language, size)
    at = text.index("\n", size // 2) + 1
    return f"{text[:at]}{NEEDLE}\n{text[at:]}"


def test_the_whole_and_every_range_are_the_text_as_it_was_sent(client: httpx.Client) -> None:
    text = with_needle(language="zh") + "\U0001f30a é e\u0301 \x00 end"
    uuid = archived(client, "c", 1, text)
    assert loaded(client, uuid)["content"] == text
    rng = Random(2)
    for _ in range(20):
        offset, length = rng.randint(0, len(text)), rng.randint(1, 3_000)
        found = loaded(client, uuid, offset=offset, length=length)
        assert (found["content"], found["offset"]) == (text[offset : offset + length], offset)
        assert found["length"] == len(found["content"])
    assert loaded(client, uuid, offset=len(text) - 5)["content"] == text[-5:]
    assert loaded(client, uuid, offset=len(text) + 100)["content"] == ""
    assert loaded(client, uuid, offset=2**31 - 2, length=2**31 - 1)["content"] == ""


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize("kind", KINDS)
def test_relevant_passages_come_in_reading_order_with_offsets(client: httpx.Client, kind: str, language: str) -> None:
    text = with_needle(kind, language)
    uuid = archived(client, "c", 1, text)
    found = loaded(client, uuid, query="Which customs broker works in Tallinn?")
    assert "content" not in found or found["content"] is None
    offsets = [p["offset"] for p in found["passages"]]
    assert offsets == sorted(set(offsets))
    for passage in found["passages"]:
        assert text[passage["offset"] : passage["offset"] + passage["length"]] == passage["text"]
        assert 0 < passage["relevance_score"] <= 1
    best = max(found["passages"], key=lambda p: p["relevance_score"])
    assert "Maarika Oja-Lindgren" in best["text"]


def test_offsets_count_characters_even_with_nul_and_astral_ones(client: httpx.Client) -> None:
    text = ("\U0001f30a\x00" * 50 + "\n") * 150 + NEEDLE + "\x00\n" + "\U0001f30a\x00" * 5_000
    uuid = archived(client, "c", 1, text)
    (passage,) = loaded(client, uuid, query="broker Tallinn")["passages"]
    assert NEEDLE in passage["text"]
    assert text[passage["offset"] : passage["offset"] + passage["length"]] == passage["text"]
    assert loaded(client, uuid)["content"] == text
    assert history(client, "c")[2]["content"] == text
    for shown in (load_tool(client, "c", uuid=uuid)["content"], all_text(window(client, "c", load=uuid))):
        assert "\x00" not in shown
        assert "\\u0000" not in shown


@pytest.mark.parametrize("query", [None, "customs broker in Tallinn", "harbour warehouse invoice"])
@pytest.mark.parametrize("cap", [1, 40, 400, 3_000])
def test_a_load_stays_within_the_requested_tokens(
    client: httpx.Client, counter: tokens.TokenCounter, query: str | None, cap: int
) -> None:
    uuid = archived(client, "c", 1, with_needle())
    asked: dict[str, Any] = {"query": query} if query else {}
    found = loaded(client, uuid, max_tokens=cap, **asked)
    texts = [p["text"] for p in found["passages"]] if query else [found["content"]]
    brought = sum(counter.count(text) for text in texts)
    assert 0 < brought <= cap
    assert query or brought >= cap * 0.5 or cap > 400, "what hardly answers is no reason to fill a query's room"
    said = load_tool(client, "c", uuid=uuid, max_tokens=cap, **asked)
    assert counter.count(said["content"]) <= cap + LOAD_FRAME
    assert found["is_cut"] == ("load_tool_history(" in said["content"])
    if query:
        with_text = loaded(client, uuid)["content"]
        assert all(with_text[p["offset"] : p["offset"] + p["length"]] == p["text"] for p in found["passages"])


def test_a_query_that_matches_nothing_says_so(client: httpx.Client) -> None:
    uuid = archived(client, "c", 1, made("prose"))
    assert loaded(client, uuid, query="zzyzx quux")["passages"] == []
    answer = load_tool(client, "c", uuid=uuid, query="zzyzx quux")
    assert "No passage matches" in answer["content"]
    assert not answer["is_error"]


def test_a_load_is_in_the_tail_of_one_call_only(client: httpx.Client) -> None:
    uuid = archived(client, "c", 1, with_needle())
    append(client, "c", [user("Who is our broker?")])
    before = window(client, "c", budget=16_000)
    for form in ("openai", "anthropic"):
        seen = window(client, "c", budget=16_000, load=uuid, query="customs broker Tallinn", format=form)
        assert NEEDLE in seen["messages"][-1]["content"][0]["text"] if form == "anthropic" else NEEDLE in all_text(seen)
        assert seen["usage"]["sections"]["tail"] > 0
        assert seen["usage"]["total"] <= 16_000
        assert seen["warnings"] == []
    assert window(client, "c", budget=16_000) == before
    assert NEEDLE not in all_text(before)


@pytest.mark.parametrize("language", ["en", "zh"])
def test_a_part_says_where_to_read_on_until_all_is_read(client: httpx.Client, language: str) -> None:
    uuid = archived(client, "c", 1, with_needle(language=language))
    whole = loaded(client, uuid)
    assert whole["is_cut"] is False
    pieces, offset = [], 0
    while True:
        found = loaded(client, uuid, offset=offset, max_tokens=900)
        said = load_tool(client, "c", uuid=uuid, offset=offset, max_tokens=900)["content"]
        pieces.append(found["content"])
        offset += found["length"]
        assert (f'load_tool_history("{uuid}", offset={offset})' in said) == found["is_cut"]
        if not found["is_cut"]:
            break
    assert "".join(pieces) == whole["content"]
    part = loaded(client, uuid, offset=10, length=20)
    assert (part["length"], part["is_cut"]) == (20, False), "it is all that was asked for"


def test_an_archive_named_twice_is_loaded_once(client: httpx.Client) -> None:
    uuid = archived(client, "c", 1, with_needle())
    once = window(client, "c", budget=4_000, load=uuid)
    assert window(client, "c", budget=4_000, load=f"{uuid},{uuid.upper()}") == once
    sent = {"budget": 4_000, "load": [uuid, uuid]}
    assert ok(client.post(path("c", "context"), json=sent)) == once


@pytest.mark.parametrize("budget", [3_000, 4_000, 6_000, 12_000])
@pytest.mark.parametrize("query", ["harbour warehouse invoice freight customs", "港口 仓库 发票", ""])
def test_a_load_is_cut_to_the_free_tokens(client: httpx.Client, budget: int, query: str) -> None:
    uuids = [archived(client, "c", n, with_needle(language="zh" if n else "en")) for n in range(2)]
    seen = window(client, "c", budget=budget, load=",".join(uuids), **({"query": query} if query else {}))
    assert seen["usage"]["total"] <= budget * 0.9
    cut = [w["detail"] for w in seen["warnings"] if w["code"] == "tail_cut"]
    for uuid in uuids:
        tail = seen["messages"][-1]["content"].split("<quire-archive ")[1:]
        [shown] = [text for text in tail if uuid in text.splitlines()[0]]
        assert (f'load_tool_history("{uuid}"' in shown) == any(uuid in detail for detail in cut)
    assert len(cut) == 2 or query
    assert all_text(seen).count("<quire-archive") == 2
    if not query:
        assert seen["usage"]["model_total"] > budget * 0.7


def test_a_loaded_result_is_shown_in_full_until_the_next_user_message(client: httpx.Client, rows: Rows) -> None:
    created(client, id="c", user_id="u", settings={"archive_threshold": 500})
    uuid = archived(client, "c", 1, with_needle())
    append(client, "c", [user("Who is our broker in Tallinn?")])
    said = load_tool(client, "c", uuid=uuid, query="broker Tallinn")["content"]
    assert NEEDLE in said
    assert len(said) > 500
    arguments = json.dumps({"uuid": uuid, "query": "broker Tallinn"})
    before = rows("archives"), rows("archive_contents")
    passages = rows("memories")
    shown = append(client, "c", [call("l", name="load_tool_history", arguments=arguments), result("l", said)])
    assert shown["messages"][1]["content"] == said
    assert shown["messages"][1]["archive_id"] is None
    for _ in range(2):
        append(client, "c", [{"role": "assistant", "content": "One moment."}])
        seen = window(client, "c", budget=30_000)
        assert said in [m.get("content") for m in seen["messages"]]
    append(client, "c", [user("Thanks.")])
    for form in ("openai", "anthropic"):
        seen = window(client, "c", budget=30_000, format=form)
        assert NEEDLE not in all_text(seen)
        assert "was shown in full at the time" in all_text(seen)
    assert (rows("archives"), rows("archive_contents")) == before
    assert rows("memories") == passages + 3  # two answers and the thanks; neither the call nor what was loaded
    assert [m["content"] for m in history(client, "c") if m.get("tool_call_id") == "l"] == [said]
    found = window(client, "c", budget=30_000, query="customs broker Tallinn Maarika")
    assert all_text(found).count(NEEDLE) == 1  # the archive's passage, and not the copy


def test_a_second_load_in_a_row_says_the_same(client: httpx.Client) -> None:
    uuid = archived(client, "c", 1, with_needle())
    assert load_tool(client, "c", uuid=uuid, query="Tallinn") == load_tool(client, "c", uuid=uuid, query="Tallinn")


def test_the_tool_takes_a_range_as_models_write_it(client: httpx.Client) -> None:
    text = with_needle()
    uuid = archived(client, "c", 1, text)
    at = text.index(NEEDLE)
    for offset, length in ((at, len(NEEDLE)), (str(at), str(len(NEEDLE))), (float(at), float(len(NEEDLE)))):
        said = load_tool(client, "c", uuid=uuid, offset=offset, length=length)
        lines = said["content"].split("\n")
        assert lines[1] == NEEDLE
        assert f"{at}–{at + len(NEEDLE)} / {len(text)}" in lines[0]
    assert text[:2_000] in load_tool(client, "c", uuid=f" {uuid}".strip().upper())["content"]


@pytest.mark.parametrize("uuid", [None, 3, "", "none", "00000000-0000-7000-8000-000000000000", ["x"], "x" * 1_000])
def test_an_invalid_uuid_returns_an_explanation(client: httpx.Client, uuid: Any) -> None:
    append(client, "c", turn(1))
    answer = load_tool(client, "c", uuid=uuid)
    assert answer["is_error"]
    assert "uuid in a placeholder" in answer["content"]


def test_archives_can_be_filtered_and_are_listed_newest_first(client: httpx.Client) -> None:
    made_now = [
        archive(client, made("prose", seed=n), user_id=f"u{n % 2}", tool_name=f"t{n % 3}")["uuid"] for n in range(12)
    ]
    in_c = archived(client, "c", 1, made("log"), user_id="u0")
    everything = [in_c, *reversed(made_now)]
    assert listed(client) == everything
    assert listed(client, conversation_id="c") == [in_c]
    assert listed(client, user_id="u1") == [u for n, u in reversed(list(enumerate(made_now))) if n % 2]
    assert listed(client, user_id="u1", tool_name="t2") == [made_now[11], made_now[5]]
    assert listed(client, user_id="nobody") == listed(client, since="2100-01-01T00:00:00Z") == []
    sixth = loaded(client, made_now[6])["created_at"]
    assert listed(client, since=sixth) == everything[: everything.index(made_now[6]) + 1]
    assert listed(client, until=sixth) == everything[everything.index(made_now[6]) + 1 :]
    found: list[str] = []
    query: Json = {"limit": 5}
    while True:
        answer = ok(client.get("/archive", params=query))
        found += [item["uuid"] for item in answer["items"]]
        assert all("content" not in item or item["content"] is None for item in answer["items"])
        if answer["next_cursor"] is None:
            break
        query["cursor"] = answer["next_cursor"]
    assert found == everything


@pytest.mark.slow
def test_ten_million_characters_are_stored_found_and_loaded_by_range(
    large: httpx.Client, settings: Settings, postgres: EmbeddedPostgres
) -> None:
    line = " ".join("payload" * 9 for _ in range(9)) + "\n"  # long words: ten million characters cost what words cost
    text = line * (10_000_000 // len(line)) + NEEDLE + "\n" + line * 100
    answer = append(large, "c", looked_up(1, text))
    uuid = answer["messages"][2]["archive_id"]
    at = text.index(NEEDLE)
    assert loaded(large, uuid, offset=at, length=len(NEEDLE))["content"] == NEEDLE
    index(settings, postgres, Text(archive=UUID(uuid)))
    assert loaded(large, uuid, query="broker in Tallinn", max_tokens=500)["passages"][0]["offset"] > 9_990_000
    assert loaded(large, uuid, offset=0, length=10)["result_length"] == len(text)
    assert window(large, "c")["usage"]["total"] < 6_000  # the parts of it that matter


def test_an_overlong_result_is_rejected_with_its_limit(large: httpx.Client, rows: Rows) -> None:
    text = "x" * 20_000_001
    for answer in (
        large.post(path("c", "messages"), json={"user_id": "u", "messages": looked_up(1, text)}),
        large.post("/archive", json={"user_id": "u", "tool_name": "t", "result": text}),
    ):
        problem(answer, 413, "20000000")
    asked = {"user_id": "u", "tool_name": "t", "tool_input": {"q": "x" * 1_000_000}, "result": made("prose")}
    problem(large.post("/archive", json=asked), 413, "tool_input", "1000000")
    fifty = large.post("/archive", json={"user_id": "u", "tool_name": "t", "result": "x" * 50_000_000})
    problem(fifty, 413, "33554432")
    assert rows("conversations") == rows("archives") == rows("archive_contents") == 0
