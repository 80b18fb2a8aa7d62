"""Every route of the API: who gets in, and what is there for whom. A route without an expectation fails here."""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any, Literal
from uuid import UUID

import httpx
import pytest
import starlette.routing
from fastapi import FastAPI
from fastapi.routing import APIRoute

from app.api.http.fast_routes import EveryTurn
from app.core.edge.caller import ALL_SCOPES
from app.core.edge.identity import is_token
from app.core.scope import Scope, keys_member
from app.main import ROUTERS, build_app
from app.runtime import Runtime
from app.settings import Settings
from tests.api.kit import Json, problem, user
from tests.by_turns import by_turns
from tests.conftest import patient
from tests.kept_rows import KeptRows
from tests.keys.kit import ELSEWHERE, HERE, MARK, Mint, Sql, Things, bearing, forget, minting, populate, written
from tests.keys.tokens import Signer, minting_tokens

Kind = Literal["open", "alike", "own", "numbers", "unknown", "makes", "creates", "filtered", "names", "tenant"]


@dataclass(frozen=True)
class Route:
    """``kind`` is what Bob, who is bound to himself, and another tenant find of Ann's:

    open      everybody gets in, with or without a key
    alike     nothing of anybody's is in it: the same for all
    unknown   404, and not a byte tells it from what does not exist
    own       200 for everybody who gets in, and Ann's things for Ann alone
    numbers   200 for everybody who gets in, and nobody's ids or words
    creates   404 as well, although the same request for what does not exist would make it
    makes     everybody makes one of their own
    filtered  a list that holds Ann's things for Ann alone
    tenant    it is about a whole tenant: 403 for keys that are bound to a user, and nothing of Ann's for another tenant
    names     the request names Ann: 403 for Bob; for another tenant she is somebody else, of whom there is nothing
    """

    scope: str | None
    kind: Kind
    path: str
    body: Json | None = None
    lines: str | None = None
    user: str | None = None
    """Named in a header."""
    hidden: bool = False
    """Not in the OpenAPI document."""


HOOK = UUID("ffffffff-0000-7000-8000-00000000000f")
MCP_CALL: Json = {
    "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "recall_page", "arguments": {"page": 1}},
}  # fmt: skip
TURN = {"messages": [user("hello")]}
ANNS_LINES = """{"type":"header","format":"quire","version":1}
{"type":"conversation","id":"imported","user_id":"ann"}
{"type":"message","conversation_id":"imported","seq":1,"message":{"role":"user","content":"Hello"}}
"""
ROUTES: dict[str, Route] = {
    "get /healthz": Route(None, "open", "/healthz"),
    "get /.well-known/quire-keys": Route(None, "open", "/.well-known/quire-keys"),
    "get /": Route(None, "open", "/", hidden=True),
    "get /.well-known/oauth-protected-resource{of:path}": Route(
        None, "open", "/.well-known/oauth-protected-resource/mcp", hidden=True
    ),
    "head /healthz": Route(None, "open", "/healthz", hidden=True),
    "head /readyz": Route(None, "open", "/readyz", hidden=True),
    "get /readyz": Route(None, "open", "/readyz"),
    "get /metrics": Route("read", "numbers", "/metrics", hidden=True),
    "post /mcp": Route("read", "own", "/mcp?conversation_id={conversation}", MCP_CALL, hidden=True),
    "get /tools": Route("read", "alike", "/tools"),
    "post /memories/keywords": Route("read", "alike", "/memories/keywords", {"text": "green tea"}),
    "get /conversations": Route("read", "filtered", "/conversations"),
    "post /conversations": Route("write", "names", "/conversations", {"id": "new", "user_id": "ann"}),
    "get /conversations/{conversation_id}": Route("read", "unknown", "/conversations/{conversation}"),
    "patch /conversations/{conversation_id}": Route(
        "write", "unknown", "/conversations/{conversation}", {"title": "x"}
    ),
    "delete /conversations/{conversation_id}": Route("write", "unknown", "/conversations/{conversation}"),
    "delete /conversations/{conversation_id}/messages/{message}": Route(
        "write", "unknown", "/conversations/{conversation}/messages/1"
    ),
    "delete /conversations/{conversation_id}/pages/{page}": Route(
        "write", "unknown", "/conversations/{conversation}/pages/1"
    ),
    "get /conversations/{conversation_id}/export": Route("read", "unknown", "/conversations/{conversation}/export"),
    "delete /users/{user_id}": Route("write", "names", "/users/ann"),
    "post /import": Route("write", "names", "/import", lines=ANNS_LINES),
    "get /users/{user_id}/export": Route("read", "names", "/users/ann/export"),
    "get /conversations/{conversation_id}/contents": Route("read", "unknown", "/conversations/{conversation}/contents"),
    "get /conversations/{conversation_id}/pages": Route("read", "unknown", "/conversations/{conversation}/pages"),
    "get /conversations/{conversation_id}/pages/{page}": Route(
        "read", "unknown", "/conversations/{conversation}/pages/1"
    ),
    "get /conversations/{conversation_id}/summary": Route("read", "unknown", "/conversations/{conversation}/summary"),
    "get /conversations/{conversation_id}/status": Route("read", "unknown", "/conversations/{conversation}/status"),
    "get /conversations/{conversation_id}/topics": Route("read", "unknown", "/conversations/{conversation}/topics"),
    "get /conversations/{conversation_id}/requests": Route("read", "unknown", "/conversations/{conversation}/requests"),
    "get /conversations/{conversation_id}/why": Route("read", "unknown", "/conversations/{conversation}/why?seq=1"),
    "get /conversations/{conversation_id}/windows": Route("read", "unknown", "/conversations/{conversation}/windows"),
    "get /conversations/{conversation_id}/windows/{window}": Route(
        "read", "unknown", "/conversations/{conversation}/windows/1"
    ),
    "get /conversations/{conversation_id}/windows/{window}/receipt": Route(
        "read", "unknown", "/conversations/{conversation}/windows/1/receipt"
    ),
    "get /conversations/{conversation_id}/windows/{window}/diff": Route(
        "read", "unknown", "/conversations/{conversation}/windows/1/diff"
    ),
    "get /conversations/{conversation_id}/notes": Route("read", "unknown", "/conversations/{conversation}/notes"),
    "post /conversations/{conversation_id}/notes": Route(
        "write", "unknown", "/conversations/{conversation}/notes", {"text": "note"}
    ),
    "put /conversations/{conversation_id}/notes/{note}": Route(
        "write", "unknown", "/conversations/{conversation}/notes/{note}", {"text": "note"}
    ),
    "delete /conversations/{conversation_id}/notes/{note}": Route(
        "write", "unknown", "/conversations/{conversation}/notes/{note}"
    ),
    "get /conversations/{conversation_id}/messages": Route("read", "unknown", "/conversations/{conversation}/messages"),
    "post /conversations/{conversation_id}/messages": Route(
        "write", "creates", "/conversations/{conversation}/messages", TURN
    ),
    "post /conversations/{conversation_id}/sync": Route(
        "write", "creates", "/conversations/{conversation}/sync", {**TURN, "on_fork": "append"}
    ),
    "get /conversations/{conversation_id}/context": Route("read", "unknown", "/conversations/{conversation}/context"),
    "post /conversations/{conversation_id}/context": Route(
        "read", "unknown", "/conversations/{conversation}/context", {"budget": 8000}
    ),
    "post /conversations/{conversation_id}/tools/{name}": Route(
        "read", "unknown", "/conversations/{conversation}/tools/recall_page", {"arguments": {"page": 1}}
    ),
    "post /conversations/{conversation_id}/attp": Route(
        "read",
        "unknown",
        "/conversations/{conversation}/attp",
        {"document": 'thought = "x"\n[tool_call]\nstatus = "done"\ntarget = "user"\nmessage = "x"\n'},
    ),
    "post /conversations/{conversation_id}/report": Route(
        "write", "unknown", "/conversations/{child}/report", {"text": "done"}
    ),
    "post /conversations/{conversation_id}/fork": Route("write", "unknown", "/conversations/{conversation}/fork", {}),
    "get /conversations/{conversation_id}/branches": Route("read", "unknown", "/conversations/{conversation}/branches"),
    "get /jobs": Route("admin", "tenant", "/jobs"),
    "post /jobs/{job_id}/retry": Route("admin", "tenant", "/jobs/{job}/retry"),
    "get /archive": Route("read", "filtered", "/archive"),
    "post /archive": Route(
        "write", "names", "/archive", {"user_id": "ann", "tool_name": "f", "result": "x" * 20_000, "tool_input": {}}
    ),
    "get /archive/{uuid}": Route("read", "unknown", "/archive/{archive}"),
    "delete /archive/{uuid}": Route("write", "unknown", "/archive/{archive}"),
    "post /memories": Route("write", "names", "/memories", {"user_id": "ann", "content": "tea"}),
    "get /memories": Route("read", "names", "/memories?user_id=ann"),
    "get /memories/{memory_key}": Route("read", "unknown", "/memories/{memory}"),
    "delete /memories/{memory_key}": Route("write", "unknown", "/memories/{memory}"),
    "patch /memories/{memory_key}": Route("write", "unknown", "/memories/{memory}", {"status": "held"}),
    "get /memories/{memory_key}/versions": Route("read", "unknown", "/memories/{memory}/versions"),
    "post /memories/grep": Route("read", "names", "/memories/grep", {"user_id": "ann", "pattern": "likes"}),
    "post /memories/search": Route("read", "names", "/memories/search", {"user_id": "ann", "query": "likes"}),
    "get /memories/search": Route("read", "names", "/memories/search?user_id=ann&query=likes"),
    "post /memories/recall": Route("read", "names", "/memories/recall", {"user_id": "ann", "query": "likes"}),
    "post /spaces": Route("write", "makes", "/spaces", {"name": "a space"}),
    "get /spaces": Route("read", "filtered", "/spaces"),
    "get /spaces/{space_id}": Route("read", "unknown", "/spaces/{space}"),
    "patch /spaces/{space_id}": Route("write", "unknown", "/spaces/{space}", {"name": "x"}),
    "delete /spaces/{space_id}": Route("write", "unknown", "/spaces/{space}"),
    "get /spaces/{space_id}/export": Route("read", "unknown", "/spaces/{space}/export"),
    "get /spaces/{space_id}/members": Route("read", "unknown", "/spaces/{space}/members"),
    "put /spaces/{space_id}/members/{user}": Route(
        "write", "unknown", "/spaces/{space}/members/sam", {"right": "read"}
    ),
    "delete /spaces/{space_id}/members/{user}": Route("write", "unknown", "/spaces/{space}/members/sam"),
    "get /keys": Route("admin", "filtered", "/keys"),
    "post /keys": Route("admin", "names", "/keys", {"name": "k", "scopes": ["read"], "user_id": "ann"}),
    "delete /keys/{key_id}": Route("admin", "unknown", "/keys/{key}"),
    "patch /keys/{key_id}": Route("admin", "unknown", "/keys/{key}", {"requests_per_minute": 9}),
    "get /events": Route("read", "tenant", "/events?wait=false&after=0"),
    "get /audit": Route("admin", "tenant", "/audit"),
    "get /webhooks": Route("admin", "tenant", "/webhooks"),
    "post /webhooks": Route("admin", "tenant", "/webhooks", {"url": "https://anns.example/"}),
    "delete /webhooks/{webhook_id}": Route("admin", "tenant", "/webhooks/{webhook}"),
    "get /usage": Route("admin", "tenant", "/usage?by=conversation"),
}
ROUTES |= {
    "post /v1/chat/completions": Route(
        "write", "names", "/v1/chat/completions", {"model": "fake", "user": "ann", "messages": [user("hello")]}
    ),
    "post /hooks/{agent}": Route(
        "write",
        "names",
        "/hooks/claude-code",
        {"session_id": "s", "hook_event_name": "UserPromptSubmit", "prompt": MARK},
        user="ann",
    ),
    "post /v1/messages": Route(
        "write", "names", "/v1/messages", {"model": "fake", "max_tokens": 9, "messages": [user("hello")]}, user="ann"
    ),
    "post /v1/messages/count_tokens": Route(
        "read", "alike", "/v1/messages/count_tokens", {"model": "fake", "messages": [user("hello")]}
    ),
    "post /v1/responses": Route("write", "names", "/v1/responses", {"model": "fake", "input": "hello"}, user="ann"),
    "post /v1/responses/compact": Route(
        "write", "names", "/v1/responses/compact", {"model": "fake", "input": "hello"}, user="ann"
    ),
    "post /v1/responses/input_tokens": Route(
        "read", "alike", "/v1/responses/input_tokens", {"model": "fake", "input": "hello"}
    ),
    "get /v1/responses/{response_id}": Route("read", "unknown", "/v1/responses/{response}"),
    "get /v1/responses/{response_id}/input_items": Route("read", "unknown", "/v1/responses/{response}/input_items"),
    "delete /v1/responses/{response_id}": Route("write", "unknown", "/v1/responses/{response}"),
    "post /v1/embeddings": Route("read", "alike", "/v1/embeddings", {"model": "multilingual-e5-small", "input": "tea"}),
    "get /v1/models": Route("read", "alike", "/v1/models"),
    "get /v1/models/{model}": Route("read", "alike", "/v1/models/fake"),
}
LISTS = {
    "get /jobs": 200,
    "get /usage": 200,
    "get /events": 200,
    "get /webhooks": 200,
    "get /audit": 200,
    "post /webhooks": 201,
}
"""What is about a whole tenant and found by another too, with things of its own."""
OPEN_PAGES = {"/docs", "/openapi.json"}
FOUND_BY = {
    "post /mcp",
    "get /users/{user_id}/export",
    "post /memories/search",
    "get /memories/search",
    "post /memories/recall",
}
"""They hold Ann's things when Ann asks."""


def test_every_route_has_an_expectation_and_says_what_scope_it_needs() -> None:
    document = build_app(Settings(), "").openapi()
    found = {
        f"{verb} {path}": operation for path, verbs in document["paths"].items() for verb, operation in verbs.items()
    }
    assert set(found) == {name for name, route in ROUTES.items() if not route.hidden}
    for name, operation in found.items():
        needed = ROUTES[name].scope
        said = operation.get("security", [])
        assert said == ([] if needed is None else [{"bearer": [needed]}, {"header": [needed]}, {}]), name


def test_undocumented_routes_are_listed() -> None:
    """Also the routes that are not in it. The inspector's pages have a door of their own: tests/ui/test_sign_in.py."""
    declared = [route for router in ROUTERS for route in router.routes if isinstance(route, APIRoute)]
    found = {
        f"{verb.lower()} {route.path}"
        for route in declared
        if not route.include_in_schema and not route.path.startswith("/ui")
        for verb in route.methods or ()
    }
    assert found == {name for name, route in ROUTES.items() if route.hidden}
    app = build_app(Settings(), "")
    plain = [route for route in app.routes if isinstance(route, starlette.routing.Route) and route not in declared]
    assert {route.path for route in plain if not isinstance(route, EveryTurn)} == OPEN_PAGES
    served_first = {
        f"{verb.lower()} {route.path}"
        for route in plain
        if isinstance(route, EveryTurn)
        for verb in route.methods or ()
    }
    assert "get /conversations/{conversation_id}/context" in served_first
    assert served_first <= ROUTES.keys()


@pytest.mark.parametrize("path", sorted(OPEN_PAGES))
def test_pages_without_user_data_are_public(scene: "Scene", path: str) -> None:
    answers = {scene.client.get(path, headers=bearing(key)).content for key in (None, "no key", scene.ann)}
    assert len(answers) == 1
    assert MARK not in str(answers)


@dataclass(frozen=True)
class Scene:
    """Ann and Bob of one tenant, with as much each, and another tenant with an Ann of its own."""

    client: httpx.Client
    things: Things
    all_here: str
    ann: str
    bob: str
    elsewhere: str

    def ask(
        self, route: str, key: str | None, things: Things | None = None, *, named: str | None = None
    ) -> httpx.Response:
        wanted = ROUTES[route]
        where = wanted.path.format_map(vars(things or self.things))
        headers = bearing(key, **{"X-Request-Id": "same", "Accept": "application/json, text/event-stream"})
        if (in_head := named or wanted.user) is not None:
            headers["X-Quire-User"] = in_head
        verb = route.split(maxsplit=1)[0]
        if wanted.lines is not None:
            headers["Content-Type"] = "application/x-ndjson"
            return self.client.request(verb, where, content=wanted.lines, headers=headers)
        return self.client.request(verb, where, json=wanted.body, headers=headers)


MINTS = ("keys", "tokens")


def by_each(wanted: Callable[[str, Route], bool], *, every: int = 2) -> pytest.MarkDecorator:
    """Ask some routes by keys and tokens by turns, and with `make test-all` all of them by both."""
    names = [name for name, route in ROUTES.items() if wanted(name, route)]
    return pytest.mark.parametrize(("mint", "name"), by_turns(MINTS, names, every=every), indirect=["mint"])


@pytest.fixture(params=MINTS)
def mint(request: pytest.FixtureRequest, run_as_superuser: Sql, signer: Signer) -> Mint:
    """Makes API keys, and tokens with the same rights."""
    return minting(run_as_superuser) if request.param == "keys" else minting_tokens(run_as_superuser, signer)


class World:
    """What everybody has. It is put back only when a test has changed it."""

    def __init__(self, client: httpx.Client, run: Sql, kept: KeptRows, runtime: Runtime) -> None:
        self.client, self._run, self._kept, self._runtime = client, run, kept, runtime
        self._things: Things | None = None
        self._stored: Any = None

    def things(self) -> Things:
        if self._things is None or self._state() != self._stored:
            written(self._runtime)
            self._kept.put_back(self._make)
            self._stored = self._state()
            forget(self._runtime)
        assert self._things is not None
        return self._things

    def _make(self) -> None:
        self._things = made(self.client, self._run)
        written(self._runtime)

    def forget_keys(self) -> None:
        """Leave only those of the world itself."""
        ids = ",".join(str(row["id"]) for row in self._stored[1])
        self._run(f"DELETE FROM keys WHERE id <> ALL('{{{ids}}}')")

    def _state(self) -> Any:
        columns = "id, name, scopes, user_id, expires_at, revoked_at, requests_per_minute"
        return state(self._run), self._run(f"SELECT {columns} FROM keys ORDER BY id")


@pytest.fixture(scope="module")
def world(locked_app: FastAPI, locked_url: str, run_as_superuser: Sql, kept_rows: KeptRows) -> Iterator[World]:
    with patient(locked_url) as client:
        yield World(client, run_as_superuser, kept_rows, locked_app.state.runtime)


@pytest.fixture
def scene(world: World, mint: Mint) -> Iterator[Scene]:
    things = world.things()
    ann, bob = mint(user="ann", name=MARK), mint(user="bob")
    yield Scene(world.client, things, mint(), ann, bob, mint(ELSEWHERE))
    world.forget_keys()


def made(client: httpx.Client, run: Sql) -> Things:
    """Make what Ann and Bob have, and an Ann of another tenant; return what Ann has."""
    mint = minting(run)
    here, elsewhere = mint(), mint(ELSEWHERE)
    kept = mint(user="ann", name=MARK)
    things = populate(client, here, kept)
    populate(client, here, kept, "bob", "walrus")
    populate(client, elsewhere, kept, "ann", "walrus")
    client.delete("/conversations/anns", headers=bearing(elsewhere))
    client.delete("/spaces/anns-space", headers=bearing(elsewhere))
    [job] = run(
        "INSERT INTO work (tenant_id, kind, subject, id, lane, conversation_id, args, failed_at, error, attempts)"
        f" VALUES ('{HERE}', 'page', 'anns:1', gen_random_uuid(), 'llm', 'anns', '{{}}', now(), 'e', 1) RETURNING id"
    )
    asked = {"model": "fake", "input": f"where is the {MARK}?"}
    response = client.post("/v1/responses", json=asked, headers=bearing(kept)).json()["id"]
    run(
        "INSERT INTO webhooks (tenant_id, id, url, secret, types, cursor)"
        f" VALUES ('{HERE}', '{HOOK}', 'https://anns.example/', 'whsec_', '{{}}', 0)"
    )
    run(
        "INSERT INTO audit (tenant_id, id, action, route, ids, address, status, request_id) VALUES"
        f" ('{HERE}', '{HOOK}', 'read', 'GET /x', '{{\"conversation_id\":\"anns\"}}', '', 200, '')"
    )
    run(
        "INSERT INTO events (tenant_id, id, seq, type, data) VALUES"
        f" ('{HERE}', '{HOOK}', 1, 'message.stored', '{{\"conversation_id\":\"anns\"}}')"
    )
    run(
        "INSERT INTO spending (tenant_id, conversation_id, day, kind, model)"
        f" VALUES ('{HERE}', 'anns', current_date, 'page', 'fake') ON CONFLICT DO NOTHING"
    )
    client.get("/conversations/anns/context", headers=bearing(kept))  # a window that was served
    client.post("/conversations", json={"id": "anns-child", "parent": "anns"}, headers=bearing(kept))
    return replace(things, child="anns-child", job=str(job[0]), response=response, webhook=str(HOOK))


def state(run: Sql) -> Any:
    """What is stored, but for when keys were used, and what is recorded after an answer."""
    found = run("SELECT tablename FROM pg_tables WHERE schemaname = 'public'")
    recorded: tuple[str, ...] = ("keys", "spending", "proxied_requests")
    recorded += ("served_windows", "served_texts", "own_texts")
    rows = "(SELECT md5(string_agg(t::text, '' ORDER BY t::text)) FROM {} t)"
    return run("SELECT " + ", ".join(rows.format(row[0]) for row in found if row[0] not in recorded))


@by_each(lambda _, route: route.scope is None)
def test_public_routes_need_no_key(scene: Scene, name: str) -> None:
    for key in (None, "no key", scene.ann):
        assert scene.ask(name, key).status_code == (307 if name == "get /" else 200)


@by_each(lambda _, route: route.scope is not None)
def test_access_by_route_and_key(scene: Scene, mint: Mint, run_as_superuser: Sql, name: str) -> None:
    route = ROUTES[name]
    assert route.scope is not None
    before = state(run_as_superuser)
    refused = {scene.ask(name, key).content for key in (None, "no key", "qk_" + "0" * 32)}
    if is_token(scene.ann):
        signed, signature = scene.ann.rsplit(".", 1)
        other = "B" if signature[0] == "A" else "A"
        refuses(scene.ask(name, f"{signed}.{other}{signature[1:]}"), 401, "signature")
    else:
        refused.add(scene.ask(name, scene.ann[:-1] + "g").content)
    assert len(refused) == 1
    refuses(scene.ask(name, None), 401)
    for lacking in combinations(sorted(ALL_SCOPES - {route.scope}), 3):
        refuses(scene.ask(name, mint(scopes=lacking)), 403, route.scope)
        refuses(scene.ask(name, mint(scopes=lacking, user="ann")), 403, route.scope)
    _others(scene, name, route)
    if route.kind == "makes":
        return
    if route.kind == "tenant":
        assert "anns" in scene.ask(name, scene.all_here).text
        return
    if route.kind != "names":
        unchanged = state(run_as_superuser)
        # The keys that this test made are not in it, and another tenant was asked only for what it does not have.
        assert unchanged == before
    own = scene.ask(name, mint(scopes=(route.scope, "read"), user="ann"))
    assert own.is_success, own.text
    if name in FOUND_BY or route.kind == "filtered":
        assert MARK in own.text
    if not name.startswith("delete") and name != "post /conversations":
        assert scene.ask(name, scene.all_here).is_success


@by_each(lambda name, route: route.scope is not None and name != "post /spaces", every=8)
def test_the_key_of_another_space_finds_nothing_of_anns(scene: Scene, run_as_superuser: Sql, name: str) -> None:
    space, keys = "bobs-space", keys_member("bobs-space")
    run_as_superuser(
        "INSERT INTO space_members (tenant_id, space_id, user_id, rights, owner, member) VALUES"
        f" ('{HERE}', '{space}', '{keys}', 'write', '{Scope('space', space).owner}', '{Scope('space', space).owner}')"
    )
    _others(replace(scene, bob=minting(run_as_superuser)(user=keys)), name, ROUTES[name])
    run_as_superuser(f"DELETE FROM space_members WHERE space_id = '{space}' AND user_id = '{keys}'")


@by_each(lambda _, route: route.scope is not None and route.user is None and route.kind != "names", every=4)
def test_a_request_that_names_a_user_finds_what_that_users_key_finds(scene: Scene, name: str) -> None:
    by_key = scene.ask(name, scene.bob)
    by_name = scene.ask(name, scene.all_here, named="bob")
    assert MARK not in by_name.text
    assert by_name.status_code == by_key.status_code, by_name.text
    if not by_key.is_success or ROUTES[name].kind == "own":
        assert by_name.content == by_key.content


def refuses(answer: httpx.Response, status: int, *names: str) -> None:
    """As a problem; under /v1 as OpenAI's clients know it."""
    if not answer.request.url.path.startswith("/v1/"):
        problem(answer, status, *names)
        return
    assert answer.status_code == status, answer.text
    assert all(name in answer.json()["error"]["message"] for name in names), answer.text


def _others(scene: Scene, name: str, route: Route) -> None:  # noqa: C901, PLR0912 - a case for each kind
    nothing = scene.things.elsewhere()
    match route.kind:
        case "unknown" | "creates":
            for key in (scene.bob, scene.elsewhere):
                refuses(scene.ask(name, key), 404)
                assert MARK not in scene.ask(name, key).text
                if route.kind == "unknown":
                    assert scene.ask(name, key).content == scene.ask(name, key, nothing).content
        case "makes":
            assert len({scene.ask(name, key).json()["id"] for key in (scene.bob, scene.elsewhere, scene.ann)}) == 3
        case "filtered":
            for key in (scene.bob, scene.elsewhere):
                answer = scene.ask(name, key)
                assert answer.status_code == 200
                assert MARK not in answer.text
        case "names":
            refuses(scene.ask(name, scene.bob), 403, "user")
            answer = scene.ask(name, scene.elsewhere)
            assert answer.is_success, answer.text
            assert MARK not in answer.text
        case "tenant":
            for bound in (scene.bob, scene.ann):
                problem(scene.ask(name, bound), 403, "bound to one")
            answer = scene.ask(name, scene.elsewhere)
            assert answer.status_code == LISTS.get(name, 404)
            assert "anns" not in answer.text or name == "post /webhooks"  # which is of its own
            assert answer.is_success or answer.content == scene.ask(name, scene.elsewhere, nothing).content
        case "own" | "numbers":
            answers = [scene.ask(name, key) for key in (scene.bob, scene.elsewhere)]
            for answer in answers:
                assert answer.status_code == 200
                assert not {MARK, "anns", str(HERE), str(ELSEWHERE)} & set(re.split(r"[^\w-]+", answer.text))
            if route.kind == "own":
                assert {answer.content for answer in answers} == {scene.ask(name, scene.bob, nothing).content}
        case "alike":
            assert len({scene.ask(name, key).content for key in (scene.bob, scene.elsewhere, scene.ann)}) == 1
        case "open":
            raise AssertionError(name)
