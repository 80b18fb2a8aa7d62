"""What an append archives, and what stands in its place."""

import json
import re

import httpx
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.api.kit import Json, append, call, created, history, ok, path, result, turn, user, window
from tests.archive.conftest import Rows
from tests.archive.made import KINDS, archive, archived, loaded, looked_up, made
from tests.by_turns import examples

ANY = st.characters(exclude_categories=["Cs"])
VISIBLE = st.characters(exclude_categories=["Cs", "Cc", "Cn"])
UUID = re.compile("[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}")


def test_a_result_over_the_threshold_is_archived_and_one_at_it_is_not(client: httpx.Client) -> None:
    at = append(client, "c", looked_up(1, "x " * 5_000))["messages"][2]
    over = append(client, "c", looked_up(2, "x " * 5_000 + "x"))["messages"][2]
    assert (at["archive_id"], at["content"]) == (None, "x " * 5_000)
    assert over["archive_id"] is not None
    assert over["content"].startswith(f"[Archived tool result {over['archive_id']}]")
    assert over["tokens"] < 400


def test_a_conversation_may_have_a_threshold_of_its_own_in_characters_or_in_tokens(client: httpx.Client) -> None:
    created(client, id="c", user_id="u")
    text = made("prose", size=3_000)
    assert append(client, "c", looked_up(1, text))["messages"][2]["archive_id"] is None
    ok(client.patch(path("c"), json={"settings": {"archive_threshold": 2_000}}))
    assert append(client, "c", looked_up(2, text))["messages"][2]["archive_id"] is not None
    ok(client.patch(path("c"), json={"settings": {"archive_threshold_tokens": 100}}))
    assert append(client, "c", looked_up(3, text))["messages"][2]["archive_id"] is not None
    assert append(client, "c", looked_up(4, text[:200]))["messages"][2]["archive_id"] is None
    assert append(client, "other", looked_up(3, text))["messages"][2]["archive_id"] is None


def test_a_deployment_sets_the_threshold_for_all(strict: httpx.Client) -> None:
    assert append(strict, "c", looked_up(1, "x " * 251))["messages"][2]["archive_id"] is not None
    assert append(strict, "c", looked_up(2, "港口" * 100))["messages"][2]["archive_id"] is not None  # by tokens
    assert append(strict, "c", looked_up(3, "x " * 40))["messages"][2]["archive_id"] is None
    ok(strict.patch(path("c"), json={"settings": {"archive_threshold": 5_000, "archive_threshold_tokens": 0}}))
    assert append(strict, "c", looked_up(4, "x " * 251))["messages"][2]["archive_id"] is None


WORDS = {
    "en": ("Archived tool result", "Tool: search.", "Time: 20", "characters.", "Asked: ", "Holds: ", "Key terms: "),
    "zh": ("已归档的工具结果", "工具：search", "时间：20", "字符", "查询：", "内容：", "关键词："),
}
SHAPE = {
    ("json", "en"): r"JSON list, \d+ objects \(shipment, title, weight\)",
    ("json", "zh"): r"JSON 数组，\d+ 个对象（shipment, title, weight）",
    ("table", "en"): r"Table, \d+ rows × 4 columns: shipment, port, weight_kg, carrier",
    ("table", "zh"): r"表格，\d+ 行 × 4 列：shipment, port, weight_kg, carrier",
    ("log", "en"): r"Log, \d+ lines, \d+ errors, \d+ warnings; first error: .*; last line: ",
    ("log", "zh"): r"日志，\d+ 行，\d+ 个错误，\d+ 个警告；首个错误：.*；末行：",
    ("code", "en"): r"Python code, \d+ lines: ",
    ("code", "zh"): r"Python 代码，\d+ 行：",
    ("prose", "en"): r"\w+ \w+ ",
    ("prose", "zh"): r"[\u4e00-\u9fff]{5}",
}


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize("kind", KINDS)
def test_a_placeholder_describes_question_and_result(client: httpx.Client, kind: str, language: str) -> None:
    text = made(kind, language, ending="https://harbour.example/rates/2025")
    asked = [user("现在的运价是多少?" if language == "zh" else "What are the rates?"), *looked_up(1, text)[1:3]]
    stored = append(client, "c", asked)["messages"][2]
    said = stored["content"]
    for words in WORDS[language]:
        assert words in said
    lines = said.split("\n")
    assert stored["archive_id"] in lines[0]
    assert "load_tool_history(uuid, query)" in lines[0]
    assert str(len(text)) in lines[1]
    assert "freight rates" in lines[2]
    assert re.search(SHAPE[kind, language], lines[3]), lines[3]
    assert len(lines[3]) <= 220
    terms = re.split("[,、] ?", re.split("[:：]", lines[4], maxsplit=1)[1])
    assert 8 <= len(terms) <= 15
    assert all(term.strip().casefold() in text.casefold() for term in terms)
    assert "https://harbour.example/rates/2025" in lines[5]
    found = loaded(client, stored["archive_id"])
    assert found["content"] == text
    assert (found["result_length"], found["tool_name"], found["tool_input"], found["placeholder"]) == (
        len(text), "search", {"query": "freight rates"}, said,
    )  # fmt: skip


def test_sources_are_declared_or_extracted_and_at_most_three(client: httpx.Client) -> None:
    text = made("prose") + "".join(f"\nhttps://site{n}.example/page" for n in range(5))
    assert archive(client, text)["sources"] == [f"https://site{n}.example/page" for n in range(3)]
    declared = archive(client, text, sources=["Harbour report", "rates.pdf"])["sources"]
    assert declared == ["Harbour report", "rates.pdf", "https://site0.example/page"]


def test_a_window_shows_the_placeholder_and_the_history_the_original(client: httpx.Client) -> None:
    text = made("prose")
    uuid = archived(client, "c", 1, text)
    append(client, "c", [user("thanks")])
    seen = window(client, "c", budget=32_000)
    placeholder = loaded(client, uuid)["placeholder"]
    assert [m["content"] for m in seen["messages"] if m["role"] == "tool"] == [placeholder]
    assert seen["archive_refs"] == [uuid]
    assert seen["usage"]["full_history"] - seen["usage"]["total"] > 2_000
    entry = history(client, "c")[2]
    assert (entry["content"], entry["archived"], entry["archive_id"]) == (text, True, uuid)
    status = ok(client.get(path("c", "status")))
    assert status["archived"] == [{"archive_id": uuid, "seq": 3, "tool_name": "search", "length": len(text)}]


def test_a_placeholders_bytes_never_change(client: httpx.Client, large: httpx.Client) -> None:
    """Not across epochs, formats, budgets, processes; condensed it is cut, but still carries its uuid."""
    texts = {archived(client, "c", n, made("prose", seed=n)): n for n in range(3)}
    said = {uuid: loaded(client, uuid)["placeholder"] for uuid in texts}
    epochs = set()
    for number in range(3, 60):
        append(client, "c", turn(number, words=60))
        if number % 4:
            continue
        for server in (client, large):
            for form in ("openai", "anthropic"):
                for budget in (5_000, 60_000):
                    seen = window(server, "c", format=form, budget=budget)
                    epochs.add(seen["epoch"])
                    for shown in _tool_texts(seen):
                        (uuid,) = UUID.findall(shown.split("\n")[0])
                        whole = shown == said[uuid]
                        assert whole or said[uuid].startswith(shown.split("… [")[0])
    assert len(epochs) > 2
    assert {uuid: loaded(large, uuid)["placeholder"] for uuid in texts} == said


def _tool_texts(seen: Json) -> list[str]:
    if seen["format"] == "openai":
        return [m["content"] for m in seen["messages"] if m["role"] == "tool"]
    blocks = [b for m in seen["messages"] if isinstance(m["content"], list) for b in m["content"]]
    return [b["content"] for b in blocks if b["type"] == "tool_result"]


def test_only_the_long_one_of_parallel_results_is_archived(client: httpx.Client) -> None:
    long = made("log")
    answer = append(
        client, "c",
        [user(), call("a", "b", "c"), result("b", "short"), result("a", long), result("c", "short too")],
    )  # fmt: skip
    assert [m["archive_id"] is not None for m in answer["messages"]] == [False, False, False, True, False]
    assert [m["content"] for m in history(client, "c")[2:]] == ["short", long, "short too"]


def test_results_in_anthropic_form_are_archived_too(client: httpx.Client) -> None:
    long, blocks = made("json"), [{"type": "text", "text": made("prose")}, {"type": "text", "text": "the end"}]
    uses = [{"type": "tool_use", "id": i, "name": "search", "input": {"q": i}} for i in ("a", "b", "c")]
    results = [
        {"type": "tool_result", "tool_use_id": "a", "content": long},
        {"type": "tool_result", "tool_use_id": "b", "content": "short"},
        {"type": "tool_result", "tool_use_id": "c", "content": blocks},
    ]
    append(client, "c", [user(), {"role": "assistant", "content": uses}, {"role": "user", "content": results}])
    seen = {form: window(client, "c", format=form) for form in ("anthropic", "openai")}
    for each in seen.values():
        assert [s.startswith("[Archived") for s in _tool_texts(each)] == [True, False, True]
        assert len(each["archive_refs"]) == 2
    first, second = (loaded(client, uuid) for uuid in seen["openai"]["archive_refs"])
    assert first["content"] == long
    assert second["content"] == blocks[0]["text"] + "\nthe end"
    assert history(client, "c")[2]["content"] == results


def test_a_standalone_archive_equals_that_of_an_append(client: httpx.Client) -> None:
    text = made("table") + "\nhttps://harbour.example/rates"
    arguments = {"query": "rates " + "of the northern harbours " * 10, "limit": 5, "region": "x" * 300}
    created(client, id="c", user_id="u")
    asked = looked_up(1, text, arguments=json.dumps(arguments))
    uuid = append(client, "c", asked)["messages"][2]["archive_id"]
    of_append = loaded(client, uuid)
    alone = archive(client, text, tool_input=arguments, conversation_id="c")
    names = (
        "archived", "tool_name", "tool_input", "query_summary", "result_summary", "key_terms", "sources",
        "result_length", "tokens", "conversation_id", "user_id",
    )  # fmt: skip
    assert {n: alone[n] for n in names} == {n: of_append[n] for n in names}
    assert _without_id_and_time(alone["placeholder"]) == _without_id_and_time(of_append["placeholder"])
    assert alone["uuid"] != uuid


def _without_id_and_time(placeholder: str) -> str:
    return re.sub(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", "time", UUID.sub("uuid", placeholder))


def test_a_short_standalone_result_is_passed_through(client: httpx.Client, rows: Rows) -> None:
    answer = archive(client, "18 °C", tool_input="Hangzhou")
    assert (answer["archived"], answer["uuid"], answer["placeholder"], answer["content"]) == (
        False, None, "18 °C", "18 °C",
    )  # fmt: skip
    assert answer["tool_input"] == "Hangzhou"
    assert rows("archives") == rows("archive_contents") == rows("memories") == 0


def test_a_standalone_archive_speaks_the_languages_of_its_conversation_or_else_of_its_text(
    client: httpx.Client,
) -> None:
    append(client, "zh", [user("今天运价如何?")])
    assert archive(client, made("prose"), conversation_id="zh")["placeholder"].startswith("[已归档")
    assert archive(client, made("prose", "zh"))["placeholder"].startswith("[已归档")
    assert archive(client, made("prose"))["placeholder"].startswith("[Archived")


def test_sending_an_archived_result_again_under_its_key_makes_no_second_archive(
    client: httpx.Client, rows: Rows
) -> None:
    messages = looked_up(1, made("prose"))
    answers: list[Json] = []
    for _ in range(3):
        again = client.post(
            path("c", "messages"), json={"messages": messages, "user_id": "u"}, headers={"Idempotency-Key": "k"}
        )
        alone = client.post(
            "/archive", json={"user_id": "u", "tool_name": "t", "result": made("log")}, headers={"Idempotency-Key": "l"}
        )
        answers = [ok(again, 201), ok(alone, 201)]
    assert rows("archives") == 2
    assert (
        loaded(client, answers[0]["messages"][2]["archive_id"])["placeholder"] == answers[0]["messages"][2]["content"]
    )
    assert loaded(client, answers[1]["uuid"])["placeholder"] == answers[1]["placeholder"]


@settings(max_examples=examples(15), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    text=st.text(ANY, min_size=1, max_size=300),
    arguments=st.dictionaries(st.text(ANY, max_size=20), st.text(ANY, max_size=200), max_size=4),
    name=st.text(VISIBLE, min_size=1, max_size=40),
)  # fmt: skip
def test_any_tool_result_is_returned_unchanged(
    client: httpx.Client, text: str, arguments: dict[str, str], name: str
) -> None:
    long = text * (10_001 // len(text) + 1)
    messages = [user(), call("a", name=name, arguments=json.dumps(arguments)), result("a", long)]
    uuid = append(client, "any", messages)["messages"][2]["archive_id"]
    found = loaded(client, uuid)
    assert found["content"] == long
    assert found["placeholder"].startswith(f"[Archived tool result {uuid}] read it with ")
    assert history(client, "any", limit=1, order="desc")[0]["content"] == long
    append(client, "any", [user()])
    assert found["placeholder"] in [m["content"] for m in window(client, "any", budget=100_000)["messages"]]


@pytest.mark.parametrize(("before", "after"), [(10_000, 2_000), (2_000, 10_000)])
def test_an_append_goes_by_the_threshold_that_another_process_has_set(
    client: httpx.Client, large: httpx.Client, before: int, after: int
) -> None:
    """Its first try goes by what this process remembers; nothing of that may be left in what is stored."""
    created(client, id="c", user_id="u", settings={"archive_threshold": before})
    append(client, "c", turn(1))
    ok(large.patch(path("c"), json={"settings": {"archive_threshold": after}}))
    text = made("prose", size=5_000)
    stored = append(client, "c", looked_up(2, text))["messages"][2]
    assert (stored["archive_id"] is not None) == (after < 5_000)
    append(client, "c", turn(3))  # until the next user message it is in view anyhow
    found = window(client, "c", query=text[2_000:2_100], budget=30_000)
    assert (found["usage"]["sections"]["tail"] > 0) == (after < 5_000)


def test_an_archive_speaks_the_language_that_the_conversation_got_in_another_process(
    client: httpx.Client, large: httpx.Client
) -> None:
    created(client, id="c", user_id="u")
    append(client, "c", [{"role": "system", "content": "Be brief."}])
    append(large, "c", [user("现在的运价是多少?"), call("a")])
    said = append(client, "c", [result("a", made("table"))])["messages"][0]["content"]
    assert "内容：表格" in said
    assert "工具：look" in said
