"""Every route that writes keeps what is promised of writes: one walk of routes and promises.

A route that is added has to be listed here; what it forgets falls.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import httpx
import pytest

from app.main import build_app
from app.postgres.embedded import EmbeddedPostgres
from app.settings import Settings
from tests.archive.conftest import Grep, tables_with  # noqa: F401 - a fixture
from tests.conftest import Served, patient, serve
from tests.kept_rows import KeptRows
from tests.keys.kit import Sql, Things, bearing, forget, minting, populate, written
from tests.keys.test_matrix import ROUTES
from tests.providers.fake_openai import FakeOpenAI

SECRET = "ghp_" + "a1B2c3D4e5F6g7H8i9J0" * 2
TEXTS = ("content", "text", "title", "name", "prompt", "result", "input")
"""Members of bodies that a caller writes something in."""
SAID, MEMORY, TALK, SPACE, GONE = (
    "message.stored", "memory.changed", "conversation.changed", "space.changed", "erasure.done",
)  # fmt: skip


@dataclass(frozen=True)
class Promise:
    tells: str | None
    """The event of it; None: of nothing that is stored for anybody."""
    stores: bool = True
    """It takes room, and is refused where none is left."""
    again: str = "once"
    """By the same key it is done once; or why it needs no key."""


BY_ITS_LIST = "the list itself says what is stored already"
BY_CONTENT = "the same event is known by its content"
BY_RETRY = "a question is marked as sent again"
OF_SAME_END = "what is gone is so the second time"
PROMISES: dict[str, Promise] = {
    "post /conversations": Promise(TALK, stores=False),
    "patch /conversations/{conversation_id}": Promise(TALK, stores=False),
    "delete /conversations/{conversation_id}": Promise(GONE, stores=False),
    "delete /conversations/{conversation_id}/messages/{message}": Promise(GONE, stores=False),
    "delete /conversations/{conversation_id}/pages/{page}": Promise(GONE, stores=False),
    "delete /users/{user_id}": Promise(GONE, stores=False, again=OF_SAME_END),
    "post /import": Promise(TALK, again=BY_ITS_LIST),
    "post /conversations/{conversation_id}/notes": Promise(MEMORY),
    "put /conversations/{conversation_id}/notes/{note}": Promise(MEMORY),
    "delete /conversations/{conversation_id}/notes/{note}": Promise(GONE, stores=False),
    "post /conversations/{conversation_id}/messages": Promise(SAID),
    "post /conversations/{conversation_id}/sync": Promise(SAID, again=BY_ITS_LIST),
    "post /conversations/{conversation_id}/report": Promise(SAID),
    "post /conversations/{conversation_id}/fork": Promise(TALK, stores=False),
    "post /archive": Promise("archive.made"),
    "delete /archive/{uuid}": Promise(GONE, stores=False),
    "post /memories": Promise(MEMORY),
    "patch /memories/{memory_key}": Promise(MEMORY, stores=False),
    "delete /memories/{memory_key}": Promise(GONE, stores=False),
    "post /spaces": Promise(SPACE, stores=False),
    "patch /spaces/{space_id}": Promise(SPACE, stores=False),
    "delete /spaces/{space_id}": Promise(GONE, stores=False),
    "put /spaces/{space_id}/members/{user}": Promise(SPACE, stores=False),
    "delete /spaces/{space_id}/members/{user}": Promise(SPACE, stores=False),
    "post /v1/chat/completions": Promise(SAID, again=BY_RETRY),
    "post /v1/messages": Promise(SAID, again=BY_RETRY),
    "post /v1/responses": Promise(SAID, again=BY_RETRY),
    "post /v1/responses/compact": Promise(SAID, again=BY_RETRY),
    "delete /v1/responses/{response_id}": Promise(None, stores=False, again=OF_SAME_END),
    "post /hooks/{agent}": Promise(SAID, again=BY_CONTENT),
}
each_route = pytest.mark.parametrize("name", PROMISES)


def test_every_route_that_writes_has_its_promises() -> None:
    assert PROMISES.keys() == {name for name, route in ROUTES.items() if route.scope == "write"}


@pytest.fixture(scope="module")
def server(postgres: EmbeddedPostgres, settings: Settings) -> Iterator[Served]:
    with FakeOpenAI() as api:
        changes = {"quire_masks": "secrets", "quire_audit": True, "quire_proxy_base_url": api.url}
        with serve(build_app(settings.model_copy(update=changes), postgres.app_dsn)) as running:
            yield running


@dataclass
class Writer:
    """Ann, who has something of every kind, where events are on."""

    client: httpx.Client
    run: Sql
    things: Things = field(init=False)
    key: str = field(init=False)

    def begin(self) -> None:
        mint = minting(self.run)
        self.key = mint(user="ann")
        things = populate(self.client, mint(), self.key)
        asked = {"model": "fake", "input": "Who are you?"}
        response = self.client.post("/v1/responses", json=asked, headers=bearing(self.key)).json()["id"]
        self.client.post("/conversations", json={"id": "child", "parent": "anns"}, headers=bearing(self.key))
        self.things = replace(things, child="child", response=response)
        self.run("UPDATE tenants SET events = true")

    def send(self, name: str, text: str = "", again: str | None = None) -> httpx.Response:
        """Send a route's request, with a text in all that is written in it."""
        wanted, verb = ROUTES[name], name.split(maxsplit=1)[0]
        headers = bearing(self.key, **({"Idempotency-Key": again} if again is not None else {}))
        if "/v1/" in name:
            headers |= {"X-Quire-Conversation": "talk", "X-Stainless-Retry-Count": "1" if again else "0"}
        where = wanted.path.format_map(vars(self.things))
        if wanted.lines is not None:
            lines = wanted.lines.replace("Hello", f"Hello {text}").replace("imported", f"imported{len(text)}")
            headers["Content-Type"] = "application/x-ndjson"
            return self.client.request(verb, where, content=lines, headers=headers)
        return self.client.request(verb, where, json=_with(wanted.body, text), headers=headers)

    @property
    def events(self) -> set[str]:
        return {row["type"] for row in self.run("SELECT type FROM events")}

    @property
    def stored(self) -> dict[str, str]:
        """What is in the tables, but for what counts or logs requests."""
        names = [row[0] for row in self.run("SELECT tablename FROM pg_tables WHERE schemaname = 'public'")]
        counted = {"audit", "rates", "keys", "spending", "proxied_requests", "storage"}
        counted |= {"served_windows", "served_texts", "own_texts"}  # which are written after the answer
        rows = "(SELECT md5(string_agg(t::text, '' ORDER BY t::text)) FROM {0} t) AS {0}"
        [found] = self.run("SELECT " + ", ".join(rows.format(name) for name in names if name not in counted))
        return dict(found)


def _with(body: Any, text: str, member: str = "") -> Any:
    match body:
        case dict():
            return {name: _with(value, text, name) for name, value in body.items()}
        case list():
            return [_with(one, text, member) for one in body]
        case str() if member in TEXTS:
            return f"{body} {text}"
    return body


@pytest.fixture(scope="module")
def writer(server: Served, run_as_superuser: Sql) -> Iterator[Writer]:
    with patient(server.url) as client:
        yield Writer(client, run_as_superuser)


@pytest.fixture
def ann(server: Served, writer: Writer, kept_rows: KeptRows) -> Writer:
    runtime = server.app.state.runtime
    written(runtime)
    kept_rows.put_back(writer.begin)
    forget(runtime)
    return writer


@each_route
def test_it_tells_what_it_did_and_leaves_a_trace_where_it_erases(ann: Writer, name: str) -> None:
    answer = ann.send(name)
    assert answer.is_success, answer.text
    if (tells := PROMISES[name].tells) is not None:
        assert tells in ann.events
    if name.startswith("delete"):
        [entry] = [row for row in ann.run("SELECT action, route FROM audit") if row["action"] == "erase"]
        assert entry["route"].lower().startswith(name.split("{", maxsplit=1)[0])


@each_route
def test_it_is_done_once(ann: Writer, name: str) -> None:
    first = ann.send(name, again="k")
    assert first.is_success, first.text
    before = ann.stored
    second = ann.send(name, again="k")
    if PROMISES[name].again == OF_SAME_END:
        assert second.status_code in (401, 404)  # a key is its user's, and goes with them
        return
    assert second.is_success, second.text
    if PROMISES[name].again == "once":
        assert second.content == first.content
    assert ann.stored == before


@each_route
def test_what_it_writes_is_masked(
    ann: Writer,
    name: str,
    tables_with: Grep,  # noqa: F811
) -> None:
    assert ann.send(name, SECRET).is_success
    assert tables_with(SECRET) == []


@each_route
def test_it_is_refused_where_no_room_is_left(ann: Writer, name: str) -> None:
    stored = "INSERT INTO storage (tenant_id, user_id, bytes) SELECT tenant_id, 'ann', 9 FROM tenants"
    ann.run(f"{stored} ON CONFLICT (tenant_id, user_id) DO UPDATE SET bytes = 9")
    ann.run("UPDATE tenants SET user_storage_bytes = 1")
    answer = ann.send(name)
    assert answer.status_code == 429 if PROMISES[name].stores else answer.is_success, answer.text
