"""Any process finds the same window, byte for byte: nothing that decides about it lives in a process alone."""

from collections.abc import Sequence
from typing import Any

import httpx
import pytest

from quire_command.demo.transcript import load, steps
from tests.api.kit import SHIPPED, Json, append, call, ok, path, recall, result, turn, user

pytestmark = pytest.mark.slow

BUDGETS = (2500, 6000, 12_000)
ASKED: list[Json] = [
    *({"budget": budget, "format": form} for budget in BUDGETS for form in ("openai", "anthropic")),
    {"format": "openai"},
    {"budget": 6000, "pages": [2, 3]},
    {"budget": 6000, "system": "Another system prompt.", "tools": [{"type": "function", "function": {"name": "x"}}]},
    {"model": "gpt-4"},
]


def assert_alike(warm: httpx.Client, cold: httpx.Client, conversation: str, asked: Sequence[Json] = ASKED) -> None:
    for body in asked:
        answers = [server.post(path(conversation, "context"), json=body) for server in (warm, cold)]
        assert answers[0].content == answers[1].content, body
        assert answers[0].headers["etag"] == answers[1].headers["etag"]


@pytest.mark.parametrize("own", [None, 5000])
def test_a_process_started_later_builds_the_same_window(
    client: httpx.Client, other: httpx.Client, own: int | None
) -> None:
    """The first looks again and again; the other has never heard of the conversation's budgets."""
    [transcript] = load(SHIPPED)
    made: Json = {"user_id": "u", "budget": own}
    for number, late in enumerate((13, 47)):
        name = f"{number}"
        ok(client.post("/conversations", json={"id": name, **made}), 201)
        for step in steps(transcript.messages)[:late]:
            append(client, name, step.messages)
            for budget in BUDGETS if step.turn % 3 else ():
                client.get(path(name, "context"), params={"budget": budget})
        assert_alike(client, other, name)


def test_recalls_in_between_keep_both_processes_equal(client: httpx.Client, other: httpx.Client) -> None:
    """A head may only know of recalls made before its epoch began, whoever makes it and when."""
    for number in range(1, 41):
        append(client, "c", turn(number, 40))
        for budget in BUDGETS:
            client.get(path("c", "context"), params={"budget": budget})
        if number % 5 == 0:
            recall((client, other)[number % 2], "c", number // 5)
            assert_alike(client, other, "c", ASKED[:6])
    for page in (1, 2, 30):
        recall(other, "c", page)
    assert_alike(client, other, "c")


def test_a_loaded_page_is_the_same_at_both_and_so_is_its_mark(client: httpx.Client, other: httpx.Client) -> None:
    for number in range(1, 21):
        append(client, "c", turn(number, 40))
    append(client, "c", [user("page 2?"), call("r", name="recall_page", arguments='{"page":2}')])
    append(client, "c", [result("r", recall(other, "c", 2)["content"])])
    assert_alike(client, other, "c")
    append(other, "c", turn(22))
    assert_alike(other, client, "c")


def test_a_whole_history_is_shown_with_a_persons_notes_by_a_process_that_never_read_it(
    client: httpx.Client, other: httpx.Client
) -> None:
    """Without notes such a head needs no look-up; both processes must tell whether there are any."""
    append(client, "c", turn(1))
    assert_alike(client, other, "c")
    note = ok(client.post(path("c", "notes"), json={"text": "Answer in verse."}), 201)
    assert_alike(other, client, "c")
    assert "Answer in verse." in other.get(path("c", "context")).text
    ok(client.put(path("c", "notes", note["id"]), json={"text": "Answer in prose."}))
    append(other, "c", turn(2))
    assert_alike(other, client, "c")
    assert "Answer in prose." in other.get(path("c", "context"), params={"budget": 9000}).text


def test_a_change_is_visible_to_the_other_process_at_once(client: httpx.Client, other: httpx.Client) -> None:
    for number in range(1, 31):
        append((client, other)[number % 2], "c", turn(number, 40))
    changes: list[Json] = [
        {"system": "Be brief."}, {"budget": 4000}, {"settings": {"active_pages": 3}}, {"model": "gpt-4"},
        {"settings": {"chapter_lines": False, "contents_max": 50}}, {"budget": None, "system": None},
    ]  # fmt: skip
    for index, change in enumerate(changes):
        assert_alike(client, other, "c")
        ok((client, other)[index % 2].patch(path("c"), json=change))
        assert_alike(client, other, "c")
        append((other, client)[index % 2], "c", turn(31 + index, 40))
    ok(other.delete(path("c")))
    assert client.get(path("c", "context"), params={"budget": 6000}).status_code == 404
    append(other, "c", [user("a new life")])
    assert_alike(client, other, "c", ASKED[:7])


def test_a_cut_stored_by_either_serves_both(client: httpx.Client, other: httpx.Client, rows: Any) -> None:
    ok(client.post("/conversations", json={"id": "c", "user_id": "u", "budget": 2500}), 201)
    for number in range(60):
        append((client, other)[number % 2], "c", turn(number, 30))
        assert_alike(client, other, "c", [{"format": "openai"}, {"budget": 2500}])
    assert rows()["cuts"] > 3


def test_an_erasure_takes_effect_in_the_other_process(client: httpx.Client, other: httpx.Client) -> None:
    """Also what the other has in memory: windows that it made a moment ago."""
    large = "x" * 20_000
    for number in range(1, 21):
        append(client, "c", turn(number, 40))
    append(client, "c", [user("Always answer in French."), call("r"), result("r", large), user("and now?")])
    archive = ok(client.get("/archive", params={"conversation_id": "c"}))["items"][0]["uuid"]
    (note,) = ok(client.get(path("c", "notes")))["items"]
    gone = [
        path("c", "messages", "39"),
        path("c", "pages", "20"),
        f"/archive/{archive}",
        path("c", "notes", note["id"]),
    ]
    for at, erased in enumerate(gone):
        assert_alike(client, other, "c", ASKED[:7])
        ok((client, other)[at % 2].delete(erased))
        assert_alike(client, other, "c", ASKED[:7])
    append(client, "c", [user("go on")])
    assert_alike(other, client, "c")
