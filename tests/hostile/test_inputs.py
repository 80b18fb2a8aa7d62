"""Hostile input on every write path, not only on appends: refused with nothing stored, or kept as it is."""

import gzip
import json
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

import asyncpg
import httpx
import pytest

from tests.api.kit import call, canonical, ok, path, problem, result, turn, user
from tests.by_turns import few
from tests.keys.conftest import locked, locked_app, locked_url, mint, signer
from tests.keys.kit import Mint, bearing

__all__ = ["locked", "locked_app", "locked_url", "mint", "signer"]

Sql = Callable[[str], list[asyncpg.Record]]
LINES = "application/x-ndjson"
TOML = "application/toml"


@dataclass(frozen=True)
class Write:
    """A request that works. ``text`` says where in its body somebody's text stands."""

    verb: str
    path: str
    body: Any
    text: tuple[str | int, ...] = ()
    keeps_nul: bool = False
    longest: int | None = None
    """Characters that the text may have; None: more than a body may."""
    reads: tuple[str, tuple[str | int, ...]] | None = None
    """Where the text is found again: a path, of the answer's members if need be, and a place in what is there."""
    ids: tuple[str, ...] = ()
    """Members of the body that name a user or a conversation."""

    def body_with(self, value: Any, place: tuple[str | int, ...] | None = None) -> Any:
        changed = json.loads(json.dumps(self.body))
        at = changed
        *way, last = place or self.text
        for step in way:
            at = at[step]
        at[last] = value
        return changed


HISTORY = "/conversations/c/messages?order=desc&limit=1"
SAID = {"role": "user", "content": "x"}
WRITES: dict[str, Write] = {
    "create": Write("POST", "/conversations", {"id": "n", "user_id": "u", "title": "x"}, ("title",), longest=500,
                    ids=("id", "user_id")),
    "change": Write("PATCH", "/conversations/c", {"title": "x"}, ("title",), longest=500),
    "append": Write("POST", "/conversations/c/messages", {"messages": [SAID], "user_id": "u"},
                    ("messages", 0, "content"), keeps_nul=True, longest=1_000_000, ids=("user_id",),
                    reads=(HISTORY, ("items", 0, "content"))),
    "sync": Write("POST", "/conversations/c/sync", {"messages": [*turn(1), SAID], "user_id": "u"},
                  ("messages", 2, "content"), keeps_nul=True, longest=1_000_000, ids=("user_id",),
                  reads=(HISTORY, ("items", 0, "content"))),
    "context": Write("POST", "/conversations/c/context", {"budget": 9000, "query": "x"}, ("query",), longest=10_000,
                     keeps_nul=True),
    "note": Write("POST", "/conversations/c/notes", {"text": "x"}, ("text",), longest=2000),
    "edit a note": Write("PUT", "/conversations/c/notes/{note}", {"text": "x"}, ("text",), longest=2000),
    "tool": Write("POST", "/conversations/c/tools/search_memories", {"arguments": {"query": "x"}},
                  ("arguments", "query"), keeps_nul=True),
    "attp": Write("POST", "/conversations/c/attp", {"document": "x"}, ("document",), keeps_nul=True),
    "archive": Write("POST", "/archive", {"user_id": "u", "tool_name": "t", "result": "x"}, ("result",),
                     keeps_nul=True, ids=("user_id", "conversation_id")),
    "memory": Write("POST", "/memories", {"user_id": "u", "content": "x"}, ("content",), keeps_nul=True,
                    longest=1_000_000, ids=("user_id", "conversation_id")),
    "search": Write("POST", "/memories/search", {"user_id": "u", "query": "x"}, ("query",), longest=10_000,
                    keeps_nul=True, ids=("user_id", "conversation_id")),
    "recall": Write("POST", "/memories/recall", {"user_id": "u", "query": "x"}, ("query",), longest=10_000,
                    keeps_nul=True, ids=("user_id", "conversation_id")),
    "keywords": Write("POST", "/memories/keywords", {"text": "x"}, ("text",), longest=100_000, keeps_nul=True),
    "key": Write("POST", "/keys", {"name": "x"}, ("name",), longest=200, ids=("user_id",)),
}  # fmt: skip
TAKES_KEY = {"create", "change", "append", "sync", "note", "edit a note", "tool", "attp", "archive", "memory", "key"}
STORES = TAKES_KEY - {"tool", "attp"}
HEADER = {"type": "header", "format": "quire", "version": 1}
TALK = {"type": "conversation", "id": "imported", "user_id": "u"}
MESSAGE = {"type": "message", "conversation_id": "imported", "seq": 1, "message": SAID}


@dataclass
class Door:
    """The service with a conversation in it, asked with a key."""

    client: httpx.Client
    sql: Sql
    headers: dict[str, str]
    note: str = ""
    tables: list[str] = field(default_factory=list)

    def send(self, write: Write, body: bytes | Iterator[bytes], **headers: str) -> httpx.Response:
        sent = {"content-type": "application/json", **self.headers, **headers}
        return self.client.request(write.verb, write.path.format(note=self.note), content=body, headers=sent)

    def lines(self, *lines: bytes | str, **headers: str) -> httpx.Response:
        body = b"\n".join(line if isinstance(line, bytes) else line.encode() for line in lines)
        sent = {"content-type": LINES, **self.headers, **headers}
        return self.client.post("/import", content=body, headers=sent)

    def stored(self) -> list[Any]:
        """What is in the tables, but for when keys were used."""
        columns = (
            "(SELECT md5(string_agg((to_jsonb(t) - 'last_used_at')::text, '' ORDER BY to_jsonb(t)::text)) FROM {0} t)"
        )
        return [tuple(row) for row in self.sql(f"SELECT {', '.join(map(columns.format, self.tables))}")]


@pytest.fixture
def door(locked: httpx.Client, mint: Mint, run_as_superuser: Sql) -> Door:
    tables = [r[0] for r in run_as_superuser("SELECT tablename FROM pg_tables WHERE schemaname = 'public'")]
    opened = Door(locked, run_as_superuser, bearing(mint()), tables=tables)
    body = {"messages": turn(1), "user_id": "u"}
    ok(locked.post(path("c", "messages"), json=body, headers=opened.headers), 201)
    opened.note = ok(locked.post(path("c", "notes"), json={"text": "n"}, headers=opened.headers), 201)["id"]
    return opened


SLOT = '"<here>"'


def raw(write: Write, fragment: bytes) -> bytes:
    """The body with these bytes where its text stood."""
    return canonical(write.body_with("<here>")).encode().replace(SLOT.encode(), fragment)


def beside(write: Write, member: bytes) -> bytes:
    """The body with one more member, first."""
    return b"{" + member + b"," + canonical(write.body).encode()[1:]


Make = Callable[[Write], bytes]
BODIES: dict[str, tuple[Make, int]] = {
    "empty": (lambda _: b"", 400),
    "byte order mark": (lambda w: b"\xef\xbb\xbf" + canonical(w.body).encode(), 400),
    "UTF-16": (lambda w: canonical(w.body).encode("utf-16"), 400),
    "invalid UTF-8": (lambda w: raw(w, b'"a\xffb"'), 400),
    "overlong UTF-8": (lambda w: raw(w, b'"a\xc0\xafb"'), 400),
    "an encoded surrogate": (lambda w: raw(w, b'"a\xed\xa0\x80b"'), 400),
    "a lone surrogate": (lambda w: raw(w, b'"a\\ud800b"'), 422),
    "a lone surrogate in a key": (lambda w: beside(w, b'"\\udc00":1'), 422),
    "a lone surrogate, refused for another reason": (
        lambda w: beside(w, b'"\\ud800":{"user_id":7,"x":"\\udfff"}'),
        422,
    ),
    "NUL in a key": (lambda w: beside(w, b'"a\\u0000":1'), 422),
    "NaN": (lambda w: beside(w, b'"n":NaN'), 422),
    "Infinity": (lambda w: beside(w, b'"n":-Infinity'), 422),
    "1e999": (lambda w: beside(w, b'"n":1e999'), 422),
    "5,000 digits": (lambda w: beside(w, b'"n":' + b"7" * 5000), 422),
    "a key twice": (lambda w: beside(w, f'"{next(iter(w.body))}":1'.encode()), 422),
    "200 levels": (lambda w: raw(w, b"[" * 200 + b"]" * 200), 422),
    "200,000 levels": (lambda w: raw(w, b"[" * 200_000 + b"]" * 200_000), 422),
    "200,000 levels that never end": (lambda w: raw(w, b"[" * 200_000), 422),
    "tenant_id": (lambda w: beside(w, b'"tenant_id":"00000000-0000-7000-8000-000000000000"'), 422),
    "seq": (lambda w: beside(w, b'"seq":1'), 422),
    "a number for its text": (lambda w: raw(w, b"7"), 422),
    "over the limit": (lambda w: raw(w, b'"' + b"x" * 1_100_000 + b'"'), 413),
}


@pytest.mark.parametrize("write", few(WRITES, 5))
def test_a_hostile_body_is_refused_on_every_path_and_nothing_is_stored(door: Door, write: str) -> None:
    known = WRITES[write]
    before = door.stored()
    for name, (make, status) in BODIES.items():
        answer = door.send(known, make(known))
        if write == "tool" and name == "a number for its text":
            ok(answer)  # what a model writes is read as it was meant
            continue
        assert answer.status_code == status, f"{name}: {answer.status_code} {answer.text[:300]}"
        problem(answer, status)
    bomb = gzip.compress(b" " * 20_000_000)
    problem(door.send(known, bomb, **{"content-encoding": "gzip"}), 413, "1048576 bytes")
    problem(
        door.send(known, canonical(known.body).encode(), **{"content-type": "application/json; charset=utf-16"}), 415
    )
    problem(door.send(known, (b'{"messages":["' + b"x" * 65_536 for _ in range(1000))), 413, "1048576 bytes")
    assert door.stored() == before


IMPORTED: dict[str, tuple[bytes, int]] = {
    name: (make(Write("POST", "/import", MESSAGE, ("message", "content"))), 422)
    for name, (make, _) in BODIES.items()
    if name not in ("empty", "over the limit", "seq")
} | {
    "members that Quire sets": (canonical({**MESSAGE, "message": {**SAID, "tenant_id": "x"}}).encode(), 422),
    "over the limit": (canonical({**MESSAGE, "message": {**SAID, "content": "x" * 1_100_000}}).encode(), 413),
    "a number for its place": (canonical({**MESSAGE, "seq": "1"}).encode(), 422),
    "a place beyond all": (canonical({**MESSAGE, "seq": 10**20}).encode(), 422),
    "NUL in an id": (canonical({**TALK, "id": "a\0b"}).encode(), 422),
    "NUL in a user's id": (canonical({**TALK, "id": "i2", "user_id": "a\0b"}).encode(), 422),
}


@pytest.mark.parametrize("name", IMPORTED)
def test_a_hostile_line_is_named_and_not_stored(door: Door, name: str) -> None:
    line, status = IMPORTED[name]
    ok(door.lines(canonical(HEADER), canonical(TALK)))
    before = door.stored()
    problem(door.lines(canonical(HEADER), canonical(TALK), line), status, "3")
    assert door.stored() == before


def test_non_json_bombs_endless_and_foreign_charset_bodies_are_rejected(door: Door) -> None:
    before = door.stored()
    attp = WRITES["attp"]
    bomb = gzip.compress(b" " * 20_000_000)
    for kind in (LINES, TOML):
        write = attp if kind == TOML else Write("POST", "/import", {})
        problem(door.send(write, bomb, **{"content-type": kind, "content-encoding": "gzip"}), 413, "1048576 bytes")
        problem(door.send(write, b"x = 1", **{"content-type": f"{kind}; charset=utf-16"}), 415)
        endless = (b"x" * 65_536 for _ in range(1000))
        problem(door.send(write, endless, **{"content-type": kind}), 413, "1048576 bytes")
        answer = door.send(write, b"a\xffb", **{"content-type": kind})
        problem(answer, 400 if kind == TOML else 422, "UTF-8")
    assert door.stored() == before


@pytest.mark.parametrize("write", WRITES)
def test_nul_is_stored_or_rejected_with_its_field(door: Door, write: str) -> None:
    known = WRITES[write]
    answer = door.send(known, canonical(known.body_with("a\0b")).encode())
    if not known.keeps_nul:
        problem(answer, 422, str(known.text[-1]))
        return
    assert answer.is_success, answer.text
    if known.reads is not None:
        where, place = known.reads
        found: Any = ok(door.client.get(where, headers=door.headers))
        for step in place:
            found = found[step]
        assert found == "a\0b"


ODD = {
    "blank": " \t\n" * 50,
    "one word": "x" * 900_000,
    "distinct words": " ".join(f"w{n}" for n in range(100_000)),
    "JSON cut after a key": '[{"name": "Ada"}, {"name":',
    "JSON with an empty key": '{"": [1, 2]}',
}


@pytest.mark.parametrize("write", few(WRITES, 2))
def test_odd_texts_are_stored_unchanged_or_rejected_with_their_field(door: Door, write: str) -> None:
    known = WRITES[write]
    for name, text in ODD.items():
        body = known.body_with(text)
        if write == "create":
            body["id"] = name
        answer = door.send(known, canonical(body).encode())
        if (known.longest is not None and len(text) > known.longest) or (name == "blank" and answer.status_code == 422):
            problem(answer, 422, str(known.text[-1]))
        else:
            assert answer.is_success, f"{name}: {answer.text[:300]}"
        if known.reads is not None and answer.is_success:
            where, place = known.reads
            found: Any = ok(door.client.get(where, headers=door.headers))
            for step in place:
                found = found[step]
            assert found == text
            if write == "sync":
                ok(door.client.delete("/conversations/c", headers=door.headers))


UNUSABLE_IDS = ("", "a\0b", "a\nb", "a\x7fb", "a\u0085b", "x" * 129, ".", "..", "a\uffff")


@pytest.mark.parametrize("write", [name for name, write in WRITES.items() if write.ids])
def test_an_unusable_id_in_a_body_is_refused_by_name(door: Door, write: str) -> None:
    known = WRITES[write]
    before = door.stored()
    for member in known.ids:
        for bad in UNUSABLE_IDS:
            problem(door.send(known, canonical({**known.body, member: bad}).encode()), 422, member)
        problem(door.send(known, raw(Write("", "", {**known.body, member: ""}, (member,)), b'"\\ud800"')), 422, member)
    assert door.stored() == before


ROUTES = (
    *[("GET", f"/conversations/ID{part}") for part in
      ("", "/messages", "/context", "/contents", "/pages", "/pages/1", "/summary", "/topics", "/notes", "/status",
       "/export")],
    *[("DELETE", f"/conversations/ID{part}") for part in ("", "/messages/1", "/pages/1")],
    *[(write.verb, write.path.replace("/c/", "/ID/").removesuffix("/c")) for write in WRITES.values()
      if "/c/" in write.path],
    ("GET", "/users/ID/export"), ("DELETE", "/users/ID"),
)  # fmt: skip


@pytest.mark.parametrize("route", ROUTES, ids=" ".join)
def test_an_unusable_id_in_a_path_is_refused(door: Door, route: tuple[str, str]) -> None:
    verb, where = route
    body = next((w.body for w in WRITES.values() if w.path.replace("/c/", "/ID/") == where), None)
    before = door.stored()
    for bad in ("a%00b", "a%0Ab", "a%C2%85b", "x" * 129, "a%ED%A0%80", "a%FF", "a%EF%BF%BF"):
        target = where.replace("ID", bad).format(note=door.note)
        problem(door.client.request(verb, target, json=body, headers=door.headers), 422, "_id")
    assert door.stored() == before


LISTS = {
    "/conversations": 200, "/conversations/c/messages": 1000, "/conversations/c/pages": 200, "/archive": 200,
    "/keys": 200, "/jobs": 200, "/memories/search?user_id=u&query=x": 100,
}  # fmt: skip


@pytest.mark.parametrize("where", LISTS)
def test_an_invalid_limit_is_rejected_by_name(door: Door, where: str) -> None:
    joint = "&" if "?" in where else "?"
    for bad in ("0", "-1", "", "x", "٣", "1e3", "NaN", "0x10", str(10**20), str(LISTS[where] + 1), "1" * 5000):
        problem(door.client.get(f"{where}{joint}limit={bad}", headers=door.headers), 422, "limit")
    ok(door.client.get(f"{where}{joint}limit={LISTS[where]}", headers=door.headers))
    if "search" not in where:
        for bad in ("", "x", "W10", "%00", "龙", "a" * 501):
            problem(door.client.get(f"{where}{joint}cursor={bad}", headers=door.headers), 422, "cursor")


TIMES = ("5", "1e9", "1700000000", "now", "", "2020", "0001-01-01T00:00:00+23:59", "9999-12-31T23:59:59-23:59",
         "2020-13-01T00:00:00Z", "٢٠٢٠-01-01T00:00:00Z")  # fmt: skip


def test_an_invalid_time_is_rejected_by_name(door: Door) -> None:
    for where in ("/archive?", "/memories/search?user_id=u&query=x&"):
        for name in ("since", "until"):
            for bad in TIMES:
                query = httpx.QueryParams({name: bad})
                problem(door.client.get(f"{where}{query}", headers=door.headers), 422, name)
    before = door.stored()
    for write in ("memory", "archive", "key"):
        wrongs: tuple[Any, ...] = (*TIMES, 5, 1_900_000_000, True, [], "2020-01-01T00:00:00Z")
        for wrong in wrongs:
            body = canonical({**WRITES[write].body, "expires_at": wrong}).encode()
            problem(door.send(WRITES[write], body), 422, "expires_at")
    assert door.stored() == before


def erasures(door: Door) -> dict[str, str]:
    """Something of each kind that can be erased, by what it is."""
    big = [user("q"), call("a"), result("a", "x " * 9000)]
    post = door.client.post
    said = ok(
        post(path("e", "messages"), json={"messages": [*big, *turn(2)], "user_id": "v"}, headers=door.headers), 201
    )
    memory = ok(post("/memories", json={"user_id": "v", "content": "m"}, headers=door.headers), 201)
    key = ok(post("/keys", json={"name": "k"}, headers=door.headers), 201)
    return {
        "note": f"/conversations/c/notes/{door.note}",
        "memory": f"/memories/{memory['memory_key']}",
        "archive": f"/archive/{said['messages'][2]['archive_id']}",
        "message": path("e", "messages", "4"),
        "page": path("e", "pages", "1"),
        "conversation": path("e"),
        "user": "/users/u",
        "key": f"/keys/{key['id']}",
    }


@pytest.mark.parametrize("write", few(sorted(TAKES_KEY), 4))
def test_a_write_sent_twenty_times_at_once_is_done_once(door: Door, write: str) -> None:
    known = WRITES[write]
    body = canonical(known.body).encode()
    sent = {"Idempotency-Key": "k"}
    with ThreadPoolExecutor(20) as pool:
        answers = list(pool.map(lambda _: door.send(known, body, **sent), range(20)))
    assert {answer.status_code for answer in answers} <= {200, 201}, [a.text[:300] for a in answers]
    told = {answer.text for answer in answers}
    if write == "key":  # its secret is told once
        assert sorted(json.loads(one)["key"] is None for one in told) == [False, True]
    else:
        assert len(told) == 1
    before = door.stored()
    assert door.send(known, body, **sent).is_success
    assert door.stored() == before
    changed = canonical(known.body_with("another")).encode()
    problem(door.send(known, changed, **sent), 422, "Idempotency-Key")


@pytest.mark.parametrize(
    "what", few(["message", "conversation", "user", "memory", "note", "archive", "page", "key"], 3)
)
def test_an_erasure_sent_twenty_times_at_once_is_done_once(door: Door, what: str) -> None:
    where = erasures(door)[what]
    sent = {**door.headers, "Idempotency-Key": "k"}
    with ThreadPoolExecutor(20) as pool:
        answers = list(pool.map(lambda _: door.client.delete(where, headers=sent), range(20)))
    assert {(answer.status_code, answer.text) for answer in answers} == {(200, answers[0].text)}
    before = door.stored()
    ok(door.client.delete(where, headers=sent))
    assert door.stored() == before
