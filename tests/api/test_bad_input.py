"""What is refused is refused as a problem that names the field and the limit, and leaves no row behind."""

import json
from collections.abc import Callable, Iterator
from typing import Any

import httpx
import pytest

from app.api.http import cursors
from tests.api.kit import Json, append, call, canonical, history, ok, path, problem, result, turn, user

Rows = Callable[[], dict[str, int]]
JSON = {"content-type": "application/json"}
MESSAGES = "/conversations/c/messages"


@pytest.fixture
def seeded(client: httpx.Client, rows: Rows) -> Iterator[httpx.Client]:
    """A conversation of one turn; whatever the test sends must leave every table as it was."""
    append(client, "c", turn(1))
    before = rows()
    yield client
    assert rows() == before


def bad(message: Any, *names: str, status: int = 422) -> Any:
    return pytest.param({"messages": [user(), message]}, status, names, id=canonical(message)[:60])


BAD_MESSAGES = [
    pytest.param({"messages": []}, 422, ("messages", "at least one"), id="empty list"),
    pytest.param({"messages": {}}, 422, ("messages",), id="no list"),
    pytest.param({}, 422, ("messages",), id="no messages"),
    pytest.param([], 422, (), id="a list"),
    pytest.param("x", 422, (), id="a string"),
    pytest.param({"messages": [user()] * 1001}, 422, ("messages", "1000", "1001"), id="too many"),
    pytest.param({"messages": [user()], "tenant_id": "x"}, 422, ("tenant_id",), id="unknown field of the body"),
    pytest.param({"messages": [user()], "user_id": 7}, 422, ("user_id",), id="user_id is a number"),
    pytest.param({"messages": [user()], "user_id": "v"}, 409, ("user_id",), id="another user"),
    pytest.param({"messages": [user()], "system": "a\x00b"}, 422, ("system", "U+0000"), id="NUL in system"),
    bad("hi", "object"),
    bad(None, "object"),
    bad({"content": "x"}, "role"),
    bad({"role": "robot", "content": "x"}, "role", "must be one of system"),
    bad({"role": ["user"], "content": "x"}, "role"),
    bad({"role": "function", "name": "f", "content": "x"}, "role", "tool_call_id"),
    bad({"role": "user"}, "content"),
    bad({"role": "user", "content": 7}, "content"),
    bad({"role": "user", "content": {"archive": "00000000-0000-7000-8000-000000000001"}}, "content"),
    bad({"role": "user", "content": ["x"]}, "content", "type"),
    bad({"role": "user", "content": [{"type": "text"}]}, "text", "must be a string"),
    bad({"role": "tool", "tool_call_id": 7, "content": "x"}, "tool_call_id", "must be the id"),
    bad({"role": "tool", "tool_call_id": "\x00", "content": "x"}, "tool_call_id"),
    bad({"role": "tool", "tool_call_id": "a", "content": None}, "content"),
    bad({"role": "assistant", "tool_calls": "x"}, "tool_calls", "list"),
    bad({"role": "assistant", "tool_calls": [{"id": "a"}]}, "name"),
    bad({"role": "assistant", "tool_calls": [{"id": 7, "function": {"name": "f"}}]}, "id"),
    bad({"role": "assistant", "tool_calls": [{"id": "a", "name": "f", "arguments": 7}]}, "arguments"),
    bad({"role": "user", "content": "x", "tool_calls": call("a")["tool_calls"]}, "tool_calls", "role is assistant"),
    bad({"role": "user", "content": [{"type": "tool_result", "tool_use_id": 7}]}, "tool_use_id"),
    bad({"role": "user", "content": [{"type": "tool_result", "tool_use_id": "a", "content": 7}]}, "content"),
    bad({"role": "assistant", "content": [{"type": "tool_use", "id": "a", "input": {}}]}, "name"),
    bad(user(name="x" * 257), "name", "256"),
    bad(user(name="a\nb"), "name", "control"),
    bad(user(client_id="x" * 129), "client_id", "128"),
    bad(user(id=7), "id", "128"),
    bad(user(id="a\x00"), "id", "control"),
    *[bad(user(**{field: 1}), field, "set by Quire") for field in ("tenant_id", "seq", "page", "tokens", "created_at")],
    *[bad(user(**{field: 1}), field, "set by Quire") for field in ("archive_id", "archived", "conversation_id")],
]  # fmt: skip


@pytest.mark.parametrize(("body", "status", "names"), BAD_MESSAGES)
def test_a_message_that_is_wrong_is_named_and_none_is_stored(
    seeded: httpx.Client, body: Any, status: int, names: tuple[str, ...]
) -> None:
    problem(seeded.post(MESSAGES, json=body), status, *names)


BAD_BODIES: dict[str, tuple[bytes, int, tuple[str, ...]]] = {
    "empty": (b"", 400, ("JSON",)),
    "not JSON": (b"{'messages': 1}", 400, ("JSON", "line 1")),
    "byte order mark": (b'\xef\xbb\xbf{"messages":[]}', 400, ("byte order mark",)),
    "UTF-16": (canonical({"messages": [user()]}).encode("utf-16"), 400, ("UTF-8",)),
    "invalid UTF-8": (b'{"messages":[{"role":"user","content":"\xff"}]}', 400, ("UTF-8", "byte 39")),
    "overlong UTF-8": (b'{"messages":[{"role":"user","content":"\xc0\xaf"}]}', 400, ("UTF-8",)),
    "encoded surrogate": (b'{"messages":[{"role":"user","content":"\xed\xa0\x80"}]}', 400, ("UTF-8",)),
    "lone surrogate": (b'{"messages":[{"role":"user","content":"\\ud800"}]}', 422, ("surrogate", "content")),
    "lone surrogate in a key": (b'{"messages":[{"role":"user","content":"x","\\udc00":1}]}', 422, ("surrogate",)),
    "and refused anyway": (b'{"messages":[{"role":"\\ud800","content":7}]}', 422, ("surrogate", "role")),
    "NUL in a key": (b'{"messages":[{"role":"user","content":"x","a\\u0000":1}]}', 422, ("U+0000",)),
    "NaN": (b'{"messages":[{"role":"user","content":"x","n":NaN}]}', 422, ("NaN",)),
    "Infinity": (b'{"messages":[{"role":"user","content":"x","n":-Infinity}]}', 422, ("Infinity",)),
    "1e999": (b'{"messages":[{"role":"user","content":"x","n":1e999}]}', 422, ("too large",)),
    "5,000 digits": (b'{"messages":[{"role":"user","content":"x","n":' + b"7" * 5000 + b"}]}", 422, ("4300 digits",)),
    "a key twice": (b'{"messages":[{"role":"user","content":"x","content":"y"}]}', 422, ("content", "twice")),
    "200 levels": (b'{"messages":' + b"[" * 200 + b"]" * 200 + b"}", 422, ("64 levels",)),
    "10,000 levels": (b'{"messages":' + b'{"a":' * 10_000 + b"1" + b"}" * 10_001, 422, ("64 levels",)),
    "200,000 levels": (b"[" * 200_000 + b"]" * 200_000, 422, ("64 levels",)),
    "a million containers": (b'{"messages":[' + b"{}," * 340_000 + b"{}]}", 422, ("messages",)),
    "over the limit": (b'{"messages":"' + b"x" * 1_100_000 + b'"}', 413, ("1048576 bytes",)),
}  # fmt: skip


@pytest.mark.parametrize("name", BAD_BODIES)
def test_a_body_that_cannot_be_kept_as_it_is_is_refused(seeded: httpx.Client, name: str) -> None:
    body, status, names = BAD_BODIES[name]
    writes = [("POST", MESSAGES), ("POST", "/conversations"), ("PATCH", "/conversations/c")]
    writes += [("POST", "/conversations/c/context"), ("POST", "/conversations/c/tools/recall_page")]
    for verb, where in writes:
        said = names if where == MESSAGES or status != 422 else ()
        problem(seeded.request(verb, where, content=body, headers=JSON), status, *said)


def test_a_body_without_length_is_cut_off_at_the_limit(seeded: httpx.Client) -> None:
    def endless() -> Iterator[bytes]:
        yield b'{"messages":["'
        for _ in range(100_000):
            yield b"x" * 65_536

    problem(seeded.post(MESSAGES, content=endless(), headers=JSON), 413, "1048576 bytes")


@pytest.mark.parametrize("kind", ["", "text/plain", "multipart/form-data", "application/x-www-form-urlencoded",
                                  "application/json; charset=latin-1", "application/jsonx"])  # fmt: skip
def test_a_body_of_another_type_is_refused(seeded: httpx.Client, kind: str) -> None:
    body = canonical({"messages": [user()]}).encode()
    problem(
        seeded.post(MESSAGES, content=body, headers={"content-type": kind}),
        415,
        "Content-Type" if "charset" not in kind else "utf-8",
    )


def test_a_message_over_its_limit_is_refused_where_the_body_is_not(seeded: httpx.Client, other: httpx.Client) -> None:
    for text in ("x" * 10_000_000, "x" * 1_000_001, "龙" * 1_000_001):
        problem(other.post(MESSAGES, json={"messages": [user(), user(text)]}), 413, "content", "1000000 characters")
    problem(other.post(MESSAGES, json={"messages": [result("a", "x" * 20_000_001)]}), 413, "20000000 characters")


TIMES_OUT_OF_REACH = ("0001-01-01T00:00:00+23:59", "9999-12-31T23:59:59-23:59", "2020", "now")


def made_up(when: str) -> str:
    """A cursor of the list of conversations that Quire did not make."""
    return cursors.encode(when, "00000000-0000-7000-8000-000000000001")


BAD_QUERIES = [
    *[(f"/conversations?limit={n}", "limit") for n in ("0", "-1", "201", 10**20, "٣", "x", "")],
    *[(f"{MESSAGES}?limit={n}", "limit") for n in ("0", "-1", "1001", 10**20, "٣")],
    *[(f"/conversations/c/pages?limit={n}", "limit") for n in ("0", "201", 10**20)],
    *[(f"/conversations/c/requests?limit={n}", "limit") for n in ("0", "201", 10**20)],
    *[(f"{where}?cursor={cursor}", "cursor")
      for where in ("/conversations", MESSAGES, "/conversations/c/pages", "/conversations/c/requests")
      for cursor in ("", "x", "!!", "W10", "bnVsbA", "WyItMSJd", "WyIxIiwiMiJd", "WyI5OTk5OTk5OTk5OTk5OTk5OTk5OSJd",
                     "WyLZoyJd", "W1tbW1tbW1tb", "龙", "a" * 501)],
    *[(f"/conversations?cursor={made_up(when)}", "cursor") for when in TIMES_OUT_OF_REACH],
    (f"{MESSAGES}?order=up", "order"),
    ("/conversations?q=a%00b", "q"),
    ("/conversations?user_id=%00", "user_id"),
    ("/conversations?q=" + "x" * 201, "q"),
    ("/conversations?user_id=" + "x" * 129, "user_id"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("verb", "where", "body", "loc"),
    [
        ("POST", MESSAGES, None, ["body"]),
        ("POST", MESSAGES, {}, ["body", "messages"]),
        ("POST", MESSAGES, {"messages": [user(1)]}, ["body", "messages", 0, "content"]),
        ("POST", MESSAGES, {"messages": [user()], "tenant_id": "x"}, ["body", "tenant_id"]),
        ("POST", MESSAGES, {"messages": [user("\ud800")]}, ["body", "messages", 0, "content"]),
        ("POST", "/conversations", {"settings": {"active_pages": -1}}, ["body", "settings", "active_pages"]),
        ("POST", "/conversations/c/context", {"model": "nobody's"}, ["body", "model"]),
        ("POST", "/conversations/c/context", {"system": "\x00"}, ["body", "system"]),
        ("GET", "/conversations/c/context?model=nobody", None, ["query", "model"]),
        ("POST", "/memories/search", {"query": "x"}, ["body", "user_id"]),
        ("GET", "/memories/search?query=x", None, ["query", "user_id"]),
        ("GET", "/memories/search?query=x&user_id=%00", None, ["query", "user_id"]),
        ("GET", "/memories/search?query=x&user_id=u&since=2025-01-02&until=2025-01-01", None, ["query", "until"]),
    ],
)  # fmt: skip
def test_an_error_says_in_which_part_of_the_request_it_is(
    seeded: httpx.Client, verb: str, where: str, body: Any, loc: list[str | int]
) -> None:
    content = None if verb == "GET" else json.dumps(body).encode()
    assert problem(seeded.request(verb, where, content=content, headers=JSON), 422)["errors"][0]["loc"] == loc


@pytest.mark.parametrize(("where", "name"), BAD_QUERIES)
def test_a_query_that_is_wrong_is_refused_by_name(seeded: httpx.Client, where: str, name: str) -> None:
    problem(seeded.get(where), 422, name)


@pytest.mark.parametrize(
    ("verb", "where", "body", "detail"),
    [
        ("GET", "/conversations/c/context?budget=0", None, "`budget` must be at least 1."),
        ("GET", "/conversations?limit=201", None, "`limit` must be at most 200."),
        ("POST", "/memories/search", {"user_id": "u"}, "`query` is required."),
        ("POST", "/memories/search", {"user_id": "u", "query": ""}, "`query` must have at least 1 character."),
        ("POST", "/conversations", {"color": 1}, "`color` is not a known field."),
        ("POST", "/conversations", {"settings": {"contents_max": -1}}, "`settings.contents_max` must be at least 0."),
        ("POST", "/conversations/c/messages", {"messages": []}, "`messages` must be a list of at least one message."),
        ("POST", "/conversations/c/messages", 1, "The body must be an object."),
        (
            "POST", "/archive", {"user_id": "u", "tool_name": "t", "tool_input": None, "result": "r"},
            "`tool_input` must be an object or a list or a string.",
        ),
        (
            "GET", "/conversations/c/context?as_of=x", None,
            "`as_of` must be a whole number or a time as in RFC 3339, such as 2030-01-31T12:00:00Z.",
        ),
        ("GET", "/archive/x", None, "`uuid` must be a UUID."),
        ("GET", f"/conversations/c/context?load={','.join(['x'] * 21)}", None, "`load` must have at most 20 uuids."),
        (
            "POST", "/conversations/c/messages", {"messages": [user(seq=1), user(page=2)]},
            "`messages[0].seq` is set by Quire and cannot be sent. 1 more in `errors`.",
        ),
    ],
)  # fmt: skip
def test_the_detail_says_what_is_wrong(seeded: httpx.Client, verb: str, where: str, body: Any, detail: str) -> None:
    content = None if verb == "GET" else json.dumps(body).encode()
    assert problem(seeded.request(verb, where, content=content, headers=JSON), 422)["detail"] == detail


def test_a_cursor_without_a_time_zone_is_read_as_some_time(seeded: httpx.Client) -> None:
    assert ok(seeded.get(f"/conversations?cursor={made_up('2020-01-01T00:00:00')}"))["items"] == []


@pytest.mark.parametrize(
    ("verb", "where", "body"),
    [
        ("GET", "/conversations/nope", None),
        ("GET", "/conversations/nope/messages", None),
        ("GET", "/conversations/nope/context", None),
        ("GET", "/conversations/nope/contents", None),
        ("GET", "/conversations/nope/pages", None),
        ("GET", "/conversations/nope/pages/1", None),
        ("GET", "/conversations/nope/summary", None),
        ("POST", "/conversations/nope/context", {}),
        ("POST", "/conversations/nope/messages", {"messages": [user()]}),
        ("POST", "/conversations/nope/tools/recall_page", {"arguments": {"page": 1}}),
        ("PATCH", "/conversations/nope", {"title": "t"}),
        ("DELETE", "/conversations/nope", None),
        ("GET", "/nothing/here", None),
        ("GET", "/conversations/a/b/c", None),
    ],
)
def test_missing_resources_answer_404(seeded: httpx.Client, verb: str, where: str, body: Json | None) -> None:
    content = None if body is None else canonical(body).encode()
    problem(seeded.request(verb, where, content=content, headers=JSON), 404)


def test_a_method_that_is_not_allowed_answers_405(seeded: httpx.Client) -> None:
    for verb, where in (("PUT", "/conversations/c"), ("DELETE", MESSAGES), ("POST", "/tools"), ("PATCH", "/healthz")):
        problem(seeded.request(verb, where), 405)


@pytest.mark.parametrize(
    ("where", "allowed"),
    [
        ("/conversations", "GET, POST"), ("/conversations/c", "DELETE, GET, PATCH"), (MESSAGES, "GET, POST"),
        ("/memories", "GET, POST"), ("/memories/search", "GET, POST"), ("/memories/recall", "POST"),
        ("/memories/00000000-0000-7000-8000-000000000001", "DELETE, GET, PATCH"),
    ],
)  # fmt: skip
def test_errors_list_all_allowed_values(seeded: httpx.Client, where: str, allowed: str) -> None:
    for verb in {"GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"} - set(allowed.split(", ")):
        refused = seeded.request(verb, where)
        problem(refused, 405)
        assert refused.headers["allow"] == allowed


BAD_CHANGES: list[tuple[Json, str]] = [
    ({"title": "t" * 501}, "title"), ({"title": "a\x00"}, "title"), ({"title": 7}, "title"),
    ({"system": "s" * 1_000_001}, "system"), ({"system": "\x00"}, "system"), ({"model": ""}, "model"),
    ({"model": "m" * 201}, "model"), ({"model": "\x00"}, "model"), ({"metadata": []}, "metadata"),
    ({"metadata": {"a": "x" * 16_384}}, "16384"),
    ({"tenant_id": "x"}, "tenant_id"), ({"seq": 1}, "seq"), ({"epoch": 1}, "epoch"),
    ({"settings": {"active_pages": -1}}, "active_pages"), ({"settings": {"head_share": 1}}, "head_share"),
    ({"settings": {"archive_threshold": 10**20}}, "archive_threshold"), ({"settings": []}, "settings"),
    ({"settings": {"keep_share": -0.1}}, "keep_share"), ({"settings": {"recall_share": 0.9}}, "recall_share"),
    ({"settings": {"keep_share": 1e300}}, "keep_share"), ({"settings": {"condensed_share": "0.1"}}, "condensed_share"),
    ({"settings": {"keep_share": 0.95}}, "keep_share"), ({"settings": {"view_price": 0.05}}, "view_price"),
    ({"settings": {"head_share": 0.3, "condensed_share": 0.7}}, "at most 0.9"),
]  # fmt: skip


@pytest.mark.parametrize(("body", "name"), BAD_CHANGES)
def test_a_conversation_takes_no_nonsense(seeded: httpx.Client, body: Json, name: str) -> None:
    problem(seeded.post("/conversations", json=body), 422, name)
    problem(seeded.patch("/conversations/c", json=body), 422, name)


def test_the_request_id_of_the_caller_is_given_back_if_it_is_sane(seeded: httpx.Client) -> None:
    assert problem(seeded.get("/x", headers={"x-request-id": "my-id.1"}), 404)["request_id"] == "my-id.1"
    assert problem(seeded.get("/x", headers={"x-request-id": "a b<"}), 404)["request_id"] != "a b<"


@pytest.mark.parametrize(
    "text",
    [
        " ".join(f"word{n}" for n in range(90_000)),
        "x" * 900_000,
        " \t\n" * 1000,
        "\x00" * 1000,
        "﷽" * 5000,
        "<|endoftext|>" * 100,
        "a\u0301" * 5000,
        "'; DROP TABLE messages; --",
    ],
    ids=["distinct words", "one word", "blank", "NUL", "ligatures", "marks", "combining", "SQL"],
)
def test_odd_text_is_stored_unchanged(other: httpx.Client, text: str) -> None:
    append(other, "c", [user(text), call("a"), result("a", text), user(" ")])
    found = history(other, "c")
    assert [found[0]["content"], found[2]["content"]] == [text, text]
    assert ok(other.get(path("c", "context"), params={"budget": 1_000_000}))["messages"][-1] == user(" ")
    assert ok(other.get(path("c", "contents")))["entries"] == []
