"""Grep finds every line with an exact text or a safe pattern: of this conversation or all of the user's, never more."""

import json

import httpx
import pytest

from app.store.memory import grep
from tests.api.kit import Json, append, assistant, call, ok, problem, result, user
from tests.tools.kit import refused, said, use

LOG = "\n".join(
    f"2026-01-{day:02} job {day} {'failed with E-4410' if day % 7 == 0 else 'done'}" for day in range(1, 29)
)


@pytest.fixture
def seeded(client: httpx.Client) -> httpx.Client:
    """Two conversations of Ann's, one of Bob's, one of nobody's."""
    append(
        client,
        "tea",
        [user("Order ORD-2931 is longjing.\nOrder ord-2932 is oolong."), assistant("Noted.")],
        user_id="ann",
    )
    append(client, "tea", [user("我订了龙井,订单 ORD-2933。")], user_id="ann")
    append(client, "work", [user('Say "ORD-2934" \\ and C:\\orders.')], user_id="ann")
    append(client, "bobs", [user("Order ORD-6666 is mine.")], user_id="bob")
    ok(client.post("/conversations", json={"id": "nobodys"}), 201)
    ok(client.post("/conversations/nobodys/messages", json={"messages": [user("Order ORD-7777.")]}), 201)
    return client


def found(client: httpx.Client, **body: object) -> Json:
    return ok(client.post("/memories/grep", json=body))


def texts(answer: Json) -> list[str]:
    return [line["text"] for line in answer["results"]]


def test_every_line_is_given_with_its_page_line_and_day(seeded: httpx.Client) -> None:
    answer = found(seeded, user_id="ann", pattern="ORD-29")
    assert (answer["total_found"], answer["is_complete"], answer["warnings"]) == (4, True, [])
    places = {(line["conversation_id"], line["page"], line["seq"], line["line"]) for line in answer["results"]}
    assert places == {("work", 1, 1, 1), ("tea", 2, 3, 1), ("tea", 1, 1, 1), ("tea", 1, 1, 2)}
    assert "Order **ord-29**32 is oolong." in texts(answer)
    text = said(seeded, "tea", "grep_memories", pattern="ord-293")
    assert text.startswith("<quire-memories 4 of 4 lines, newest last>\n[page 1, 20")
    assert "user, line 2: Order **ord-293**2 is oolong." in text
    assert "[another conversation, work, 20" in text
    assert use(seeded, "tea", "grep", pattern="longjing")["content"].startswith("<quire-memories 1 of 1")


def test_it_looks_at_one_conversation_or_a_time_where_that_is_asked(seeded: httpx.Client) -> None:
    here = said(seeded, "tea", "grep_memories", pattern="ORD-29", this_conversation=True)
    assert here.startswith("<quire-memories 3 of 3")
    assert found(seeded, conversation_id="work", pattern="ORD-29")["total_found"] == 1
    old = [user("ORD-2900 long ago.", said_at="2020-05-05T12:00:00Z")]
    append(seeded, "old", old, user_id="ann")
    assert found(seeded, user_id="ann", pattern="ORD-29", until="2021-01-01T00:00:00Z")["total_found"] == 1
    assert found(seeded, user_id="ann", pattern="ORD-29", time_range_days=30)["total_found"] == 4
    assert found(seeded, user_id="ann", pattern="ORD-2900")["results"][0]["said_at"] == "2020-05-05T12:00:00Z"


@pytest.mark.parametrize(
    ("pattern", "count"),
    [
        ("龙井", 1), ('"ORD-2934"', 1), ("\\ and c:\\", 1), ("longjing.\nOrder", 1), ("ORD_2931", 0), ("%", 0),
        ("。", 1), ("\\", 1),
    ],
)  # fmt: skip
def test_a_literal_is_taken_by_the_letter(seeded: httpx.Client, pattern: str, count: int) -> None:
    assert found(seeded, user_id="ann", pattern=pattern)["total_found"] == count


@pytest.mark.parametrize(
    ("pattern", "count"),
    [
        (r"ORD-\d{4}", 4),
        (r"^order", 2),
        (r"oolong\.$|龙井", 2),
        (r"\bnoted\b", 1),
        (r"\d{3}[13]", 2),
        (r"y \"ord-\d", 1),
    ],
)
def test_a_regular_expression_matches_within_lines(seeded: httpx.Client, pattern: str, count: int) -> None:
    answer = found(seeded, user_id="ann", pattern=pattern, regex=True)
    assert answer["total_found"] == count
    assert all("**" in text for text in texts(answer))


def test_archived_results_are_read_in_full_and_once(client: httpx.Client) -> None:
    log = LOG + "\n" + "filler " * 2_000
    append(client, "c", [user("Look."), call("a"), result("a", log), call("b"), result("b", log)])
    answer = found(client, user_id="u", pattern="E-4410")
    assert (answer["total_found"], len(answer["results"])) == (4, 4)
    (archive,) = {line["archive_id"] for line in answer["results"]}
    assert {line["line"] for line in answer["results"]} == {7, 14, 21, 28}
    line = next(line for line in answer["results"] if line["line"] == 14)
    assert log[line["offset"] :].startswith("E-4410\n")
    text = said(client, "c", "grep_memories", pattern=r"job \d+ failed", regex=True)
    assert f"tool look, {archive}, line 14, offset " in text
    loaded = said(client, "c", "load_tool_history", uuid=archive, offset=line["offset"], length=6)
    assert "E-4410" in loaded


def test_what_recall_tools_were_asked_or_gave_is_not_found(client: httpx.Client) -> None:
    append(client, "c", [user("The vault is at the mill.")])
    asked = call("a", name="grep_memories", arguments='{"pattern":"vault"}')
    append(
        client,
        "c",
        [asked, result("a", said(client, "c", "grep_memories", pattern="vault")), assistant("At the mill.")],
    )
    assert found(client, user_id="u", pattern="vault")["total_found"] == 1


def test_a_result_of_an_agents_own_grep_stays_findable(client: httpx.Client) -> None:
    own = [call("a", name="grep", arguments='{"pattern":"def main"}'), result("a", "app.py:7:def main():")]
    append(client, "c", [user("Where is main?"), *own, assistant("In app.py.")])
    assert found(client, user_id="u", pattern="app.py:7")["total_found"] == 1


def test_nothing_of_another_user_is_found(seeded: httpx.Client) -> None:
    for regex in (False, True):
        assert found(seeded, user_id="ann", pattern="6666", regex=regex)["total_found"] == 0
        assert found(seeded, user_id="nobody", pattern="ORD", regex=regex)["total_found"] == 0
        assert found(seeded, conversation_id="nobodys", pattern="ORD", regex=regex)["total_found"] == 1
    assert said(seeded, "nobodys", "grep_memories", pattern="ORD").startswith("<quire-memories 1 of 1")
    assert said(seeded, "bobs", "grep_memories", pattern="ORD", this_conversation=False).count("ORD") == 1
    problem(seeded.post("/memories/grep", json={"user_id": "bob", "conversation_id": "tea", "pattern": "ORD"}), 404)


def test_many_lines_are_counted_and_the_newest_shown(client: httpx.Client) -> None:
    for start in range(0, 3 * grep.ROWS // 2, 50):
        append(client, "c", [user(f"needle {number}") for number in range(start, start + 50)])
    answer = found(client, user_id="u", pattern="NEEDLE", limit=3)
    assert answer["total_found"] == 3 * grep.ROWS // 2
    assert texts(answer) == [f"**needle** {3 * grep.ROWS // 2 - number}" for number in (1, 2, 3)]
    assert found(client, user_id="u", pattern=r"needle \d*7$", regex=True)["total_found"] == 3 * grep.ROWS // 20
    text = said(client, "c", "grep_memories", pattern="needle", limit=2)
    assert text.splitlines()[0] == f"<quire-memories 2 of {answer['total_found']} lines, newest last>"


@pytest.mark.slow
def test_a_pattern_that_explodes_elsewhere_is_answered(client: httpx.Client) -> None:
    append(client, "c", [user("a" * 30_000 + " " + "ab" * 10_000)])
    for pattern in (r"(a*)*c!", r"(a|aa)+$!", r"(.*a){30}!", "(((a{0,255}b?){0,39}))!"):
        assert found(client, user_id="u", pattern=pattern, regex=True)["total_found"] == 0
    assert found(client, user_id="u", pattern="abab")["total_found"] == 1


@pytest.mark.parametrize("pattern", [r"(a)\1", "(?=a)", "(a", "a{999}", "x*", "", "a" * 501, "[z-a]", "[[:nope:]]"])
def test_a_pattern_that_cannot_be_run_is_a_clear_problem(seeded: httpx.Client, pattern: str) -> None:
    problem(seeded.post("/memories/grep", json={"user_id": "ann", "pattern": pattern, "regex": True}), 422, "pattern")
    assert "pattern" in refused(seeded, "tea", "grep_memories", pattern=pattern, regex=True)


def test_wrong_requests_are_clear_problems(seeded: httpx.Client) -> None:
    bodies: list[tuple[Json, str]] = [
        ({"pattern": "a"}, "user_id"), ({"user_id": "ann"}, "pattern"),
        ({"user_id": "ann", "pattern": "a", "limit": 0}, "limit"),
        ({"user_id": "ann", "pattern": "a", "since": "2026-02-30T00:00:00Z"}, "since"),
        ({"user_id": "ann", "pattern": "a", "since": "2026-02-02T00:00:00Z", "until": "2026-02-01T00:00:00Z"}, "until"),
        ({"user_id": "ann", "pattern": ["a"]}, "pattern"),
    ]  # fmt: skip
    for body, name in bodies:
        problem(seeded.post("/memories/grep", json=body), 422, name)
    for pattern in ("\x00", "a\x00b", "\ud800"):
        sent = json.dumps({"user_id": "ann", "pattern": pattern})
        answer = seeded.post("/memories/grep", content=sent, headers={"content-type": "application/json"})
        assert answer.status_code in (200, 422), answer.text
