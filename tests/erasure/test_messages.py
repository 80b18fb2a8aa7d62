"""A message or a page is erased: nothing holds what it said, and everything else stands as it did."""

import json
import logging
from collections.abc import Callable
from typing import Any

import asyncpg
import httpx
import pytest

from tests.api.kit import (
    Json,
    append,
    assistant,
    call,
    created,
    history,
    ok,
    path,
    problem,
    result,
    system,
    turn,
    user,
    window,
)
from tests.archive.conftest import Grep
from tests.archive.made import all_text, load_tool, made
from tests.by_turns import by_turns

Sql = Callable[[str], list[asyncpg.Record]]
MARK = "Xylocarpus"
SECRET = f"Remember for ever: the {MARK} seeds of the harbour are under pier {MARK}-7781."
BUDGETS = (*range(2_500, 7_000, 750), 60_000)


def keyed(client: httpx.Client, messages: list[Json], key: str = "k") -> list[Json]:
    sent = {"messages": messages, "user_id": "u"}
    answer = client.post(path("c", "messages"), json=sent, headers={"Idempotency-Key": key})
    found: list[Json] = ok(answer, 201)["messages"]
    return found


def refused_again(client: httpx.Client, messages: list[Json]) -> str:
    """The append under its old key: it was done, so it is not done again, and what it stored is gone."""
    sent = {"messages": messages, "user_id": "u"}
    answer = client.post(path("c", "messages"), json=sent, headers={"Idempotency-Key": "k"})
    assert problem(answer, 409, "Idempotency-Key")["type"] == "urn:quire:problem:erased-since"
    return answer.text


def tool_use(*ids: str) -> list[Json]:
    thought: list[Json] = [{"type": "thinking", "thinking": SECRET, "signature": "s"}, {"type": "text", "text": SECRET}]
    return [*thought, *({"type": "tool_use", "id": i, "name": "search", "input": {"q": SECRET}} for i in ids)]


def tool_results(*ids: str) -> list[Json]:
    return [{"type": "tool_result", "tool_use_id": i, "content": SECRET} for i in ids]


SENT: dict[str, tuple[list[Json], int]] = {
    "user": ([user(SECRET, name=MARK, remark=SECRET), assistant()], 0),
    "assistant": ([user(), assistant(SECRET, reasoning_content=SECRET)], 1),
    "parts": ([user([{"type": "text", "text": SECRET}, {"type": "text", "text": MARK}]), assistant()], 0),
    "call": ([user(), call("a", "b", name=MARK, arguments=json.dumps({"q": SECRET})), result("a"), result("b")], 1),
    "call of an archived result": (
        [user(), call("a", name=MARK, arguments=json.dumps({"query": SECRET})), result("a", made("prose"))],
        1,
    ),
    "recall call": (
        [user(), call("a", name="recall_memory", arguments=json.dumps({"query": SECRET})), result("a", "nothing")],
        1,
    ),
    "result": ([user(), call("a", "b"), result("a", SECRET), result("b", "beside it")], 2),
    "archived result": ([user(), call("a", "b"), result("a", f"{SECRET} {made('prose')}"), result("b")], 2),
    "anthropic call": ([user(), assistant(tool_use("a")), user(tool_results("a")[:1])], 1),  # type: ignore[arg-type]
    "anthropic results": (
        [
            user(),
            assistant([{"type": "tool_use", "id": i, "name": "f", "input": {}} for i in "ab"]),  # type: ignore[arg-type]
            user([*tool_results("a", "b"), {"type": "text", "text": SECRET}]),
        ],
        2,
    ),
    "orphan": ([user(), result("nobody's", SECRET)], 1),
}
SENT["anthropic call"][0][2]["content"][0]["content"] = "fine"


@pytest.mark.parametrize(("sent", "language"), by_turns(SENT, ["en", "zh"], every=4))
def test_no_table_contains_an_erased_message(
    client: httpx.Client,
    large: httpx.Client,
    tables_with: Grep,
    caplog: pytest.LogCaptureFixture,
    sent: str,
    language: str,
) -> None:
    """Verbatim, condensed, listed; in every process, every table, the history, the kept answer, the log."""
    caplog.set_level(logging.DEBUG, "app")
    if language == "zh":
        append(client, "c", [user("今天港口的运价如何?"), assistant("好")])
    messages, at = SENT[sent]
    target = keyed(client, messages)[at]
    page = target["page"]
    recalled = ok(
        client.post(
            path("c", "tools", "recall_page"),
            json={"arguments": {"page": page}},
            headers={"Idempotency-Key": "recall"},
        )
    )["content"]
    append(client, "c", [user(), call("r", name="recall_page", arguments=f'{{"page":{page}}}'), result("r", recalled)])
    append(client, "c", [message for number in range(16) for message in turn(number, words=60)])
    before = {(s.base_url, b): window(s, "c", budget=b) for s in (client, large) for b in BUDGETS}
    assert tables_with(MARK)

    gone = ok(client.delete(path("c", "messages", str(target["seq"]))))
    assert gone["seq"] == target["seq"]
    assert gone["erased"]["messages"] >= 1
    assert tables_with(MARK) == []
    said = "[已删除]" if language == "zh" else "[erased]"
    for server in (client, large):
        for budget in BUDGETS:
            for form in ("openai", "anthropic"):
                seen = window(server, "c", budget=budget, format=form)
                assert MARK not in all_text(seen)
                assert seen["usage"]["total"] <= budget
                assert seen["epoch"] > before[server.base_url, budget]["epoch"]
        if sent != "orphan":
            assert said in all_text(window(server, "c", budget=60_000))
        paired(window(server, "c", budget=60_000))
    found = next(m for m in history(client, "c") if m["seq"] == target["seq"])
    assert (found["id"], found["role"], found["page"]) == (target["id"], target["role"], target["page"])
    for part in ("contents", "pages/1", "pages/2", "notes", "topics", "summary", "status", "messages"):
        assert MARK not in json.dumps(ok(client.get(path("c", part)))), part
    assert MARK not in json.dumps(ok(client.post("/memories/search", json={"user_id": "u", "query": MARK})))
    assert MARK not in refused_again(client, messages)
    assert MARK not in json.dumps(load_tool(client, "c", uuid=target["archive_id"] or "none"))
    assert MARK not in caplog.text
    append(client, "c", turn(99))
    assert MARK not in all_text(window(client, "c"))


def paired(seen: Json) -> None:
    calls = {c["id"] for m in seen["messages"] for c in m.get("tool_calls") or []}
    results = {m["tool_call_id"] for m in seen["messages"] if m["role"] == "tool"}
    assert calls == results


def test_a_page_is_erased_whole_and_by_its_number(client: httpx.Client, tables_with: Grep) -> None:
    append(client, "c", turn(0))
    keyed(client, [user(SECRET), call("a"), result("a", f"{SECRET}{made('prose')}"), assistant(SECRET)])
    append(client, "c", turn(1))
    before = history(client, "c")
    gone = ok(client.delete(path("c", "pages", "2")))
    assert (gone["page"], gone["erased"]["messages"], gone["erased"]["archives"]) == (2, 4, 1)
    assert tables_with(MARK) == []
    after = history(client, "c")
    assert [m["seq"] for m in after] == [m["seq"] for m in before]
    assert [m for m in after if m["page"] != 2] == [m for m in before if m["page"] != 2]
    assert ok(client.get(path("c", "pages/2")))["title"] == "[erased]"


def test_an_erased_pending_call_loses_its_arguments(client: httpx.Client, tables_with: Grep) -> None:
    append(client, "c", [user(), call("a", name=MARK, arguments=SECRET)])
    ok(client.delete(path("c", "messages", "2")))
    assert tables_with(MARK) == []
    append(client, "c", [result("a", made("prose"))])
    assert tables_with(MARK) == []
    paired(window(client, "c"))


def test_an_erased_prompt_is_gone_from_the_system_segment(client: httpx.Client, tables_with: Grep) -> None:
    append(client, "c", [{"role": "system", "content": SECRET}, user(), assistant()])
    ok(client.delete(path("c", "messages", "1")))
    assert tables_with(MARK) == []
    assert MARK not in all_text(window(client, "c"))


def test_copies_recalled_by_the_users_other_conversations_are_erased(client: httpx.Client, tables_with: Grep) -> None:
    append(client, "a", [user(SECRET), assistant()])
    append(client, "b", turn(1))
    recalled = ok(client.post(path("b", "tools", "recall_memory"), json={"arguments": {"query": MARK}}))["content"]
    assert MARK in recalled
    loads = [user(), call("x", name="recall_memory", arguments='{"query":"it"}'), result("x", recalled)]
    append(client, "b", [*loads, assistant("kept answer")])
    other = [user(), call("y", name="recall_page", arguments='{"page":1}'), result("y", "question 1 because of it all")]
    append(client, "b", other)
    ok(client.delete(path("a", "messages", "1")))
    assert tables_with(MARK) == []
    said = json.dumps(history(client, "b"))
    assert "kept answer" in said
    assert "question 1 because of it all" in said


def test_a_conversation_or_a_memory_that_was_recalled_elsewhere_is_erased_there_too(
    client: httpx.Client, tables_with: Grep
) -> None:
    key = ""
    for number, source in enumerate(("conversation", "memory")):
        if source == "memory":
            sent = {"user_id": "u", "content": SECRET}
            key = ok(client.post("/memories", json=sent, headers={"Idempotency-Key": "m"}), 201)["memory_key"]
        else:
            append(client, "a", [user(SECRET), assistant()])
        recalled = (
            ok(client.post(path("b", "tools", "recall_memory"), json={"arguments": {"query": MARK}}))
            if number
            else None
        )
        append(client, "b", turn(number))
        recalled = ok(client.post(path("b", "tools", "recall_memory"), json={"arguments": {"query": MARK}}))
        loads = call(f"x{number}", name="recall_memory", arguments='{"query":"it"}')
        append(client, "b", [user(), loads, result(f"x{number}", recalled["content"])])
        assert "messages" in tables_with(MARK)
        ok(client.delete(f"/memories/{key}" if source == "memory" else path("a")))
        assert tables_with(MARK) == [], source
        assert MARK not in all_text(window(client, "b"))


def test_erasing_a_user_empties_every_table_of_that_user_only(
    client: httpx.Client, tables_with: Grep, run_as_superuser: Sql
) -> None:
    for number in range(3):
        keyed_path = path(f"c{number}", "messages")
        sent = {"messages": [user(SECRET), call("a"), result("a", f"{SECRET}{made('prose')}")], "user_id": "u"}
        ok(client.post(keyed_path, json=sent, headers={"Idempotency-Key": f"k{number}"}), 201)
    ok(client.post("/memories", json={"user_id": "u", "content": SECRET}, headers={"Idempotency-Key": "m"}), 201)
    kept = {"user_id": "u", "tool_name": "t", "tool_input": SECRET, "result": f"{SECRET}{made('prose')}"}
    ok(client.post("/archive", json=kept, headers={"Idempotency-Key": "a"}), 201)
    created(client, id="titled", user_id="u", title=SECRET, system=SECRET)
    append(client, "other", turn(1), user_id="somebody else")
    gone = ok(client.delete("/users/u", headers={"Idempotency-Key": "gone"}))
    assert (gone["erased"]["conversations"], gone["erased"]["archives"], gone["erased"]["messages"]) == (4, 4, 9)
    assert tables_with(MARK) == []
    assert ok(client.delete("/users/u", headers={"Idempotency-Key": "gone"})) == gone
    assert set(ok(client.delete("/users/u"))["erased"].values()) <= {0}
    assert [c["id"] for c in ok(client.get("/conversations"))["items"]] == ["other"]
    assert len(history(client, "other")) == 2


def test_a_users_chosen_ids_are_removed_from_stored_responses(client: httpx.Client, tables_with: Grep) -> None:
    owner, name = f"{MARK}@example.com", f"{MARK}-conversation"
    new = {"id": name, "user_id": owner}
    ok(client.post("/conversations", json=new, headers={"Idempotency-Key": "c"}), 201)
    ok(client.patch(path(name), json={"title": "t"}, headers={"Idempotency-Key": "p"}))
    sent = {"messages": [{**user("hello"), "client_id": f"{MARK}-1"}]}
    ok(client.post(path(name, "messages"), json=sent, headers={"Idempotency-Key": "m"}), 201)
    fact = {"user_id": owner, "conversation_id": name, "content": "tea"}
    ok(client.post("/memories", json=fact, headers={"Idempotency-Key": "f"}), 201)
    result_of = {"user_id": owner, "tool_name": "t", "result": made("prose")}
    ok(client.post("/archive", json=result_of, headers={"Idempotency-Key": "a"}), 201)
    ok(client.delete(path(name, "pages", "1"), headers={"Idempotency-Key": "d"}))
    assert "idempotency" in tables_with(MARK)
    ok(client.delete(f"/users/{owner}"))
    assert tables_with(MARK) == []
    problem(client.post("/conversations", json=new, headers={"Idempotency-Key": "c"}), 409, "erased since")
    assert ok(client.delete(path(name, "pages", "1"), headers={"Idempotency-Key": "d"}))["id"] == "[erased]"
    ok(client.post("/conversations", json=new, headers={"Idempotency-Key": "another"}), 201)


def test_missing_messages_answer_404_and_repeats_are_replayed(client: httpx.Client) -> None:
    append(client, "c", turn(1))
    for name in ("3", "0", "99999999999", "x", "00000000-0000-7000-8000-000000000000"):
        problem(client.delete(path("c", "messages", name)), 404)
    problem(client.delete(path("c", "pages", "2")), 404)
    problem(client.delete(path("none", "messages", "1")), 404)
    answers = [ok(client.delete(path("c", "messages", "1"), headers={"Idempotency-Key": "k"})) for _ in range(2)]
    assert answers[0] == answers[1]
    ok(client.delete(path("c", "messages", history(client, "c")[1]["id"])))
    assert [m["content"] for m in history(client, "c")] == ["[erased]", "[erased]"]
    seen: Any = window(client, "c")
    assert [m["content"] for m in seen["messages"]][-2:] == ["[erased]", "[erased]"]


@pytest.mark.parametrize(
    "before",
    [
        [system("Be brief.")],
        [user("Hello there! How are you?"), assistant("Well, thanks.")],
        [user("<env_context>\n<cwd>/srv</cwd>\n</env_context>")],
    ],
)
def test_the_title_goes_with_the_message_that_gave_it(
    client: httpx.Client, before: list[Json], tables_with: Grep
) -> None:
    append(client, "c", [*before, user(f"Water the {MARK} seeds under pier 7."), assistant("Done.")])
    assert ok(client.get(path("c")))["title"] == f"Water the {MARK} seeds under pier 7"
    ok(client.delete(path("c", "messages", str(len(before) + 1))))
    assert ok(client.get(path("c")))["title"] == "[erased]"
    assert tables_with(MARK) == []


@pytest.mark.parametrize("name", [None, "Ann"])
def test_the_title_goes_though_an_assistants_greeting_opened_the_page(client: httpx.Client, name: str | None) -> None:
    append(client, "g", [assistant("Welcome! What can I do for you?")], user_id="u")
    append(client, "g", [{**user(f"Delete the {MARK} file, please."), **({"name": name} if name else {})}])
    assert MARK in ok(client.get(path("g")))["title"]
    ok(client.delete(path("g", "messages", "2")))
    assert ok(client.get(path("g")))["title"] == "[erased]"
