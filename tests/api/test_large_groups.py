"""A call group larger than its window: the model sees as much of it as there is room for, and what was before."""

from __future__ import annotations

import json

import httpx
import pytest

from tests.api.kit import Json, append, assistant, call, created, ok, path, result, user
from tests.served.kit import is_given_back, records, served

BUDGET = 4_000
LINE = "Row {} of the report says that the committee read the bill again. "


def report(rows: int, first: int = 0) -> str:
    return "".join(LINE.format(row) for row in range(first, first + rows))


def window(client: httpx.Client, budget: int = BUDGET, **query: str | int) -> Json:
    return ok(client.get(path("c", "context"), params={"budget": budget, **query}))


def results(found: Json) -> list[str]:
    return [message["content"] for message in found["messages"] if message["role"] == "tool"]


def parallel(*texts: str) -> list[Json]:
    ids = [f"call_{number}" for number in range(len(texts))]
    return [call(*ids), *(result(id_, text) for id_, text in zip(ids, texts, strict=True))]


@pytest.mark.parametrize("count", [2, 3, 5])
def test_results_larger_than_the_window_are_cut_to_fill_it(client: httpx.Client, count: int) -> None:
    append(client, "c", [user("Compare the reports.")])
    append(client, "c", parallel(*(report(140, 1_000 * number) for number in range(count))))
    found = window(client)
    shown = results(found)
    assert len(shown) == count
    assert all(text.startswith(LINE.format(1_000 * number)) for number, text in enumerate(shown))
    assert len({len(text) for text in shown}) == 1
    assert all("characters in all; recall_page(1) has the rest]" in text for text in shown)
    assert BUDGET * 0.6 < found["usage"]["total"] <= BUDGET
    [tight] = [warning for warning in found["warnings"] if warning["code"] == "window_squeezed"]
    assert "what is newest is cut to " in tight["detail"]


def test_results_too_many_for_their_condensed_forms_are_cut_shorter(client: httpx.Client) -> None:
    append(client, "c", [user("Compare the reports.")])
    append(client, "c", parallel(*(report(40, 1_000 * number) for number in range(40))))
    sent = served(client, "c", budget=BUDGET)
    found = window(client)
    assert len(results(found)) == 40
    assert all(text.startswith(f"Row {1_000 * number}"[:7]) for number, text in enumerate(results(found)))
    assert BUDGET * 0.6 < found["usage"]["total"] <= BUDGET
    append(client, "c", [assistant("They differ.")])
    assert is_given_back(client, "c", records(client, "c")[-1], sent)


def test_a_question_that_is_left_behind_is_condensed_where_it_is_too_long(client: httpx.Client) -> None:
    created(client, id="c", budget=BUDGET, settings={"active_pages": 1})
    append(client, "c", [user(report(210)), call("a"), result("a", report(20)), user("And now?")])
    found = window(client)
    assert LINE.format(0) in str(found["messages"])
    assert "characters in all; recall_page(1) has the rest]" in str(found["messages"])


def test_a_small_result_beside_large_ones_stays_whole(client: httpx.Client) -> None:
    append(client, "c", [user("Compare the reports.")])
    append(client, "c", parallel(report(140), "404", report(140)))
    assert results(window(client))[1] == "404"


def test_cut_results_leave_the_room_that_a_query_needs(client: httpx.Client) -> None:
    append(client, "c", [user("The vault's code word is heliotrope."), assistant("Noted.")])
    append(client, "c", [user("Compare the reports."), *parallel(report(140), report(140))])
    assert "heliotrope" in json.dumps(window(client, query="the code word of the vault")["messages"])


def test_a_window_with_cut_results_is_given_back(client: httpx.Client) -> None:
    append(client, "c", [user("Compare the reports."), *parallel(report(140), "404", report(140))])
    sent = [served(client, "c", budget=BUDGET, format=form) for form in ("openai", "anthropic")]
    append(client, "c", [assistant("They differ.")])
    for record, window in zip(records(client, "c"), reversed(sent), strict=True):
        assert is_given_back(client, "c", record, window)


def test_a_call_larger_than_the_window_is_cut_to_fill_it(client: httpx.Client) -> None:
    append(client, "c", [user("Write the report."), assistant("First an outline."), user("Go on.")])
    written = call("call_1", arguments=json.dumps({"path": "report.md", "content": report(400)}))
    append(client, "c", [written, result("call_1", "written")])
    found = window(client)
    (shown,) = [message["tool_calls"][0] for message in found["messages"] if message.get("tool_calls")]
    arguments = json.loads(shown["function"]["arguments"])
    assert arguments["path"] == "report.md"
    assert arguments["content"].startswith(LINE.format(0))
    assert "characters in all; recall_page(2) has the rest]" in arguments["content"]
    assert BUDGET * 0.6 < found["usage"]["total"] <= BUDGET
    assert results(found) == ["written"]
    assert "First an outline." in json.dumps(found["messages"])


@pytest.mark.parametrize("form", ["openai", "anthropic"])
def test_a_window_with_a_cut_call_is_given_back(client: httpx.Client, form: str) -> None:
    append(client, "c", [user("Write the report.")])
    written = call("call_1", "call_2", arguments=json.dumps({"parts": [report(200), report(100), "end"]}))
    append(client, "c", [written, result("call_1", report(20)), result("call_2", "written")])
    sent = served(client, "c", budget=BUDGET, format=form)
    append(client, "c", [assistant("There it is.")])
    (record,) = records(client, "c")
    assert is_given_back(client, "c", record, sent)


def test_a_long_answer_that_does_not_fit_is_cut_after_what_was_before(client: httpx.Client) -> None:
    append(client, "c", [user("My cat is called Humphrey."), assistant("Noted."), user("Tell me of the bill.")])
    append(client, "c", [assistant(report(400))])
    found = window(client)
    assert "Humphrey" in json.dumps(found["messages"])
    assert len(found["messages"][-1]["content"]) > 4_000
    assert found["usage"]["total"] <= BUDGET


def test_a_long_argument_in_anothers_form_keeps_its_shape(client: httpx.Client) -> None:
    append(client, "c", [user("Write.")])
    edit: Json = {"old": report(60), "new": "x", "line": 3}
    edits = {"edits": [edit], "strict": True}
    append(client, "c", [call("call_1", arguments=json.dumps(edits)), result("call_1", "written")])
    append(client, "c", [user("And the rest?"), *parallel(report(140), report(140))])
    found = window(client, format="anthropic")
    (shown,) = [
        block["input"]
        for message in found["messages"]
        for block in message["content"]
        if isinstance(block, dict) and block.get("type") == "tool_use" and "edits" in block["input"]
    ]
    assert shown["strict"] is True
    assert shown["edits"][0] == {**edit, "old": shown["edits"][0]["old"]}
    assert len(shown["edits"][0]["old"]) < 300


@pytest.mark.parametrize("budget", [16_000, 64_000])
def test_a_result_that_does_not_fit_is_shown_in_parts_of_a_quarter_of_the_room(
    client: httpx.Client, budget: int
) -> None:
    created(client, id="c", budget=budget, model="gpt-5")
    append(client, "c", [user("Compare the reports.")])
    append(client, "c", parallel(report(budget // 8)))
    found = window(client, budget)
    room = budget - found["usage"]["sections"]["tools"] - found["usage"]["sections"]["system"]
    [warning] = [warning for warning in found["warnings"] if warning["code"] == "result_in_part"]
    assert room * 0.22 <= int(warning["detail"].split()[0].replace(",", "")) <= room * 0.25
