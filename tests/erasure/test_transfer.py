"""What is exported and imported elsewhere is the same there: history, archives, windows. Imports can be repeated."""

import json
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import httpx
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from quire_command.demo.transcript import load
from quire_command.files import kinds, lines
from quire_command.files.reading import Document
from quire_command.files.values import Talk
from tests.api.kit import (
    SHIPPED,
    Json,
    append,
    call,
    created,
    history,
    ok,
    path,
    problem,
    recall,
    result,
    turn,
    user,
    window,
)
from tests.archive.conftest import Rows
from tests.archive.made import archive, archived, load_tool, made
from tests.by_turns import examples, few
from tests.files.samples import DOCUMENTS

BUDGETS = (2_500, 4_000, 6_000, 9_000, 60_000)
NDJSON = {"content-type": "application/x-ndjson"}


def exported(client: httpx.Client, where: str) -> list[str]:
    """The lines that an import puts in: receipts are of this service's windows, and elsewhere others begin."""
    with client.stream("GET", f"{where}/export") as answer:
        assert answer.status_code == 200
        assert answer.headers["content-type"].startswith("application/x-ndjson")
        return [line for line in answer.iter_lines() if line and not line.startswith('{"type":"receipt"')]


def imported(client: httpx.Client, lines: list[str], status: int = 200) -> Json:
    return ok(client.post("/import", content="\n".join(lines).encode(), headers=NDJSON), status)


def lived(client: httpx.Client, *, erases: bool = True) -> None:
    """A conversation with everything in it that needs no model."""
    created(client, id="c", user_id="u", title="Harbour", system="Be brief.", budget=5000, metadata={"a": [1]})
    append(
        client, "c", [user("Always answer in French.", client_id="m1"), call("x\u0000"[:1]), result("x", "NUL \x00")]
    )
    archived(client, "c", 1, f"\x00{made('prose')}")
    uuid = archived(client, "c", 2, made("log", size=30_000))
    blocks: list[Json] = [{"type": "tool_use", "id": i, "name": "search", "input": {"q": i}} for i in "ab"]
    texts = {"a": made("table"), "b": [{"type": "text", "text": made("code")}]}
    answers: list[Json] = [{"type": "tool_result", "tool_use_id": i, "content": texts[i]} for i in "ab"]
    append(client, "c", [user(), {"role": "assistant", "content": blocks}, {"role": "user", "content": answers}])
    for number in range(25):
        append(client, "c", turn(number))
        if number % 10 == 9:
            recall(client, "c", 2)
    said = load_tool(client, "c", uuid=uuid)["content"]
    arguments = json.dumps({"uuid": uuid})
    append(client, "c", [user(), call("l", name="load_tool_history", arguments=arguments), result("l", said)])
    if erases:
        ok(client.delete(f"/archive/{uuid}"))
    append(client, "c", [user("中文问题"), call("open")])
    ok(client.post(path("c", "notes"), json={"text": "Never on Fridays."}), 201)


def seen(client: httpx.Client, name: str = "c") -> list[Any]:
    """The windows of many budgets, with the numbers of their cuts."""
    windows = [window(client, name, budget=b, format=f) for b in BUDGETS for f in ("openai", "anthropic")]
    kept = ("messages", "system", "tools", "usage", "pages", "archive_refs", "stable_messages", "warnings", "epoch")
    return [{name: found[name] for name in kept} for found in windows]


@pytest.mark.parametrize("erases", few([True, False]))
def test_a_conversation_is_the_same_after_export_and_import(
    client: httpx.Client, delete_every_row: Callable[[], None], erases: bool
) -> None:
    """Of an archive that was erased, the text that says so comes along, and weighs what it weighs."""
    append(client, "c", turn(0), user_id="u")
    ok(client.delete(path("c")))
    lived(client, erases=erases)
    shown = seen(client)
    lines = exported(client, path("c"))
    before = (history(client, "c"), ok(client.get(path("c"))), ok(client.get(path("c", "notes"))))
    delete_every_row()
    answer = imported(client, lines)
    assert (answer["imported"]["conversations"], answer["imported"]["messages"]) == (1, len(before[0]))
    after = (history(client, "c"), ok(client.get(path("c"))), ok(client.get(path("c", "notes"))))
    if erases:
        assert [m["content"] for m in after[0]] == [m["content"] for m in before[0]]
    else:
        assert after[0] == before[0]
        assert seen(client) == shown
    assert after[1]["title"] == "Harbour"
    assert [n["text"] for n in after[2]["items"]] == [n["text"] for n in before[2]["items"]]
    assert exported(client, path("c")) == lines
    assert imported(client, lines)["imported"] == {}
    assert exported(client, path("c")) == lines


@pytest.mark.slow
@pytest.mark.parametrize("size", [3, 1])
def test_windows_of_every_budget_are_the_same_after_import(
    client: httpx.Client, delete_every_row: Callable[[], None], size: int
) -> None:
    [transcript, *_] = load(SHIPPED)
    for start in range(0, len(transcript.messages), size):
        append(client, "c", transcript.messages[start : start + size])
        if start // size % 20 == 19:
            recall(client, "c", 3)
    shown, lines = seen(client), exported(client, path("c"))
    delete_every_row()
    imported(client, lines)
    assert seen(client) == shown


def test_a_user_is_exported_with_all_that_is_the_users_and_nothing_else(
    client: httpx.Client, delete_every_row: Callable[[], None], rows: Rows
) -> None:
    for number in range(3):
        append(client, f"c{number}", turn(number))
    alone = archive(client, made("prose"), sources=["https://example.org/a"])["uuid"]
    memory = {"user_id": "u", "content": "Likes tea \x00", "keywords": ["cup"], "memory_type": "preference"}
    key = ok(client.post("/memories", json=memory), 201)["memory_key"]
    ok(client.post("/memories", json={"conversation_id": "c1", "content": "of the conversation"}), 201)
    append(client, "other", turn(1), user_id="somebody else")
    lines = exported(client, "/users/u")
    before = [ok(client.get(f"/archive/{alone}")), ok(client.get(f"/memories/{key}"))]
    assert "somebody" not in "".join(lines)
    delete_every_row()
    counts = imported(client, lines)["imported"]
    assert counts == {"archives": 1, "conversations": 3, "memories": 2, "messages": 6}
    assert [ok(client.get(f"/archive/{alone}")), ok(client.get(f"/memories/{key}"))] == before
    assert exported(client, "/users/u") == lines
    found = ok(client.post("/memories/search", json={"user_id": "u", "query": "cup of tea"}))["results"]
    assert key in [hit["memory_key"] for hit in found]
    assert imported(client, lines)["imported"] == {}
    assert rows("memories") == rows("memories")


def test_an_import_that_was_cut_off_is_gone_on_with(client: httpx.Client, delete_every_row: Callable[[], None]) -> None:
    lived(client)
    lines = exported(client, path("c"))
    delete_every_row()
    for at in (2, 3, len(lines) // 2, len(lines) - 1):
        imported(client, lines[:at])
    imported(client, lines)
    assert exported(client, path("c")) == lines


def line(**members: Any) -> str:
    return json.dumps(members)


CONVERSATION = line(type="conversation", id="c", user_id="u")


SUMMARY = line(type="summary", conversation_id="c", version=1, through_seq=9, text="x", model="m")


def said(seq: int, text: str = "hi", **more: Any) -> str:
    return line(type="message", conversation_id="c", seq=seq, message=user(text), **more)


def cut(**values: Any) -> str:
    found = {"number": 1, "budget": 8_000, "last_seq": 1, "last_page": 1} | values
    return line(type="cut", conversation_id="c", created_at="2026-11-28T00:00:00Z", cut=found)


CALLED = [
    line(type="message", conversation_id="c", seq=seq, message=message)
    for seq, message in enumerate([user("look"), call("a"), result("a", "seen")], 1)
]
SOME_ID = "00000000-0000-7000-8000-000000000000"


def remembered(**more: Any) -> str:
    return line(type="memory", id=SOME_ID, user_id="u", memory_type="fact", content="x", **more)


@pytest.mark.parametrize(
    ("lines", "status", "named"),
    [
        (["{"], 422, 1),
        (["[]"], 422, 1),
        ([line(type="nothing")], 422, 1),
        ([said(1)], 422, 1),
        ([CONVERSATION, said(2)], 409, 2),
        ([CONVERSATION, said(1), said(3)], 409, 3),
        ([CONVERSATION, "", said(1), line(type="message", conversation_id="c", message={"role": "x"})], 422, 4),
        ([CONVERSATION, said(1), line(type="message", conversation_id="c", seq=1, message=user(), extra=1)], 422, 3),
        ([CONVERSATION.replace('"u"', '"other"'), CONVERSATION], 409, 2),
        ([CONVERSATION, said(1, client_id_="x")], 422, 2),
        ([line(type="conversation", id="\u0000")], 422, 1),
        ([line(type="conversation", id="c", settings={"nope": 1})], 422, 1),
        (
            [CONVERSATION, line(type="summary", conversation_id="c", version=1, through_seq=9, text="x", model="m")],
            422,
            2,
        ),
        ([CONVERSATION, line(type="page", conversation_id="c", page=9, source="llm")], 422, 2),
        ([CONVERSATION, said(1), cut(condensed_from=3)], 422, 3),
        ([CONVERSATION, said(1), cut(last_seq=9)], 422, 3),
        ([CONVERSATION, said(1), cut(number=0)], 422, 3),
        ([CONVERSATION, *CALLED, cut(last_seq=3, verbatim_from=3)], 422, 5),
        ([CONVERSATION, said(1), cut(head={"shown": "x"})], 422, 3),
        ([line(type="memory", id="00000000-0000-7000-8000-000000000000", memory_type="fact", content="x")], 422, 1),
        ([line(type="header", format="quire", version=2)], 422, 1),
        ([line(type="conversation", id="c", title="t" * 501)], 422, 1),
        ([line(type="conversation", id="c", model="m" * 201)], 422, 1),
        ([line(type="conversation", id="c", budget=10_000_001)], 422, 1),
        ([line(type="conversation", id="c", metadata={"a": "x" * 16_384})], 422, 1),
        ([CONVERSATION, line(type="note", conversation_id="c", id=SOME_ID, text="n" * 2001)], 422, 2),
        ([CONVERSATION, line(type="note", conversation_id="c", id=SOME_ID, text="")], 422, 2),
        ([remembered(keywords=["k"] * 21)], 422, 1),
        ([remembered(keywords=["k" * 101])], 422, 1),
        ([remembered(metadata={"a": "x" * 16_384})], 422, 1),
    ],
)
def test_a_line_that_is_wrong_is_named(client: httpx.Client, lines: list[str], status: int, named: int) -> None:
    found = problem(client.post("/import", content="\n".join(lines), headers=NDJSON), status)
    assert found["errors"][0]["loc"][:2] == ["line", named], found
    assert f"Line {named}" in found["detail"]


def test_what_was_derived_before_an_erasure_is_not_put_back(client: httpx.Client) -> None:
    for number in range(30):
        append(client, "c", turn(number) if number != 17 else [user("The safe opens with Brindlewick."), *turn(17)[1:]])
    assert "Brindlewick" in json.dumps(window(client, "c", budget=2_500)["messages"])
    lines = exported(client, path("c"))
    assert "Brindlewick" in next(line for line in lines if '"type":"cut"' in line)
    ok(client.delete(path("c", "messages/35")))
    imported(client, lines)
    assert "Brindlewick" not in json.dumps([seen(client), exported(client, path("c"))])


def test_other_messages_in_the_same_places_are_a_conflict(client: httpx.Client) -> None:
    imported(client, [CONVERSATION, said(1, "one"), said(2, "two")])
    assert imported(client, [CONVERSATION, said(1, "one"), said(2, "two")])["matched"]["messages"] == 2
    found = problem(
        client.post("/import", content="\n".join([CONVERSATION, said(1, "one"), said(2, "other")]), headers=NDJSON), 409
    )
    assert found["errors"][0]["loc"][:2] == ["line", 3]
    assert [m["content"] for m in history(client, "c")] == ["one", "two"]


def test_a_file_that_is_not_an_export_is_rejected(client: httpx.Client) -> None:
    problem(client.post("/import", content="{}", headers={"content-type": "text/plain"}), 415)
    problem(client.post("/import", json={"type": "header"}), 422)
    problem(client.post("/import", content=b"x" * (2 << 20), headers=NDJSON), 413)
    problem(client.get(path("none", "export")), 404)
    assert len(exported(client, "/users/nobody")) == 1


@settings(max_examples=examples(15), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(gaps=st.lists(st.none() | st.integers(0, 10**9), min_size=1, max_size=12))
def test_said_at_survives_export_and_import(
    client: httpx.Client, delete_every_row: Callable[[], None], gaps: list[int | None]
) -> None:
    """Milliseconds since the message before; None: it does not say when it was said."""
    delete_every_row()
    client.delete(path("c"))
    time, sent = datetime(2001, 1, 1, tzinfo=UTC), list[Json]()
    for gap in gaps:
        time += timedelta(milliseconds=gap or 0)
        sent.append(user("harbour", **({"said_at": time.isoformat()} if gap is not None else {})))
    append(client, "c", sent)
    lines, before = exported(client, path("c")), history(client, "c")
    delete_every_row()
    imported(client, lines)
    assert history(client, "c") == before
    assert exported(client, path("c")) == lines


def test_an_imported_history_is_searched_by_its_own_dates(client: httpx.Client) -> None:
    header = {"type": "header", "format": "quire", "version": 1}
    said = [user("harbour pearl", said_at=f"2019-05-0{day}T08:00:00+08:00") for day in (1, 2, 3)]
    rows = [{"type": "message", "conversation_id": "c", "message": message} for message in said]
    lines = [json.dumps(row) for row in (header, {"type": "conversation", "id": "c", "user_id": "u"}, *rows)]
    imported(client, lines)
    query = {"user_id": "u", "query": "pearl", "since": "2019-05-02T00:00:00Z", "until": "2019-05-02T01:00:00Z"}
    hits = ok(client.post("/memories/search", json=query))["results"]
    assert [hit["created_at"] for hit in hits] == ["2019-05-02T00:00:00Z"]


@pytest.mark.parametrize(
    ("time", "limit"),
    [
        ("1969-01-01T00:00:00Z", "1970"),
        ("2999-01-01T00:00:00Z", "future"),
        ("2019-05-01T00:00:00Z", "2019-05-02"),
    ],
)
def test_a_bad_time_is_named_by_its_line_and_its_message_is_not_stored(
    client: httpx.Client, time: str, limit: str
) -> None:
    header = {"type": "header", "format": "quire", "version": 1}
    said = [user("first", said_at="2019-05-02T00:00:00Z"), user("second", said_at=time)]
    rows = [{"type": "message", "conversation_id": "c", "message": message} for message in said]
    lines = [json.dumps(row) for row in (header, {"type": "conversation", "id": "c", "user_id": "u"}, *rows)]
    answer = client.post("/import", content="\n".join(lines).encode(), headers=NDJSON)
    found = problem(answer, 422, "said_at", limit)
    loc = found["errors"][0]["loc"]
    assert (loc[:3], loc[-1]) == (["line", 4, "message"], "said_at")
    assert "second" not in [message["content"] for message in history(client, "c")]


@pytest.mark.parametrize("source", few([name for name, found in DOCUMENTS.items() if found.value is not None]))
def test_a_transcript_imported_again_adds_nothing(client: httpx.Client, source: str) -> None:
    """Not even where its long results were archived."""
    text = json.dumps(DOCUMENTS[source].value).replace('"done"', json.dumps(made("prose", size=20_000)))
    found = kinds.found_in(Document("own.json", json.loads(text)), kinds.BY_NAME[source])
    talk = next(one for one in found if isinstance(one, Talk))
    sent = list(lines.talk_lines(lines.sendable(talk, lines.now())[0], "u"))
    first, again, name = imported(client, sent), imported(client, sent), str(talk.id)
    assert first["imported"]["messages"] == again["matched"]["messages"] == len(history(client, name))
    assert (again["imported"], len(history(client, name))) == ({}, first["imported"]["messages"])
    shown = json.dumps(window(client, name, budget=8000)["messages"])
    assert "no result" not in shown
    assert "Here it is" in shown


def test_windows_of_several_conversations_are_the_same_after_an_import(
    client: httpx.Client, delete_every_row: Callable[[], None]
) -> None:
    """The second one tells that there was an earlier one, in whatever order they are exported."""
    for name in ("zz", "aa"):
        append(client, name, [user("Hello"), {"role": "assistant", "content": "Hi"}])
    before = [window(client, name, budget=8000)["messages"] for name in ("zz", "aa")]
    lines = exported(client, "/users/u")
    delete_every_row()
    imported(client, lines)
    assert [window(client, name, budget=8000)["messages"] for name in ("zz", "aa")] == before
