"""The published API is the one that is served, is described in full, and its page needs no internet."""

import json
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urljoin

import httpx
import pytest
from fastapi.routing import APIRoute
from starlette.routing import Route

from app.main import ROUTERS, build_app
from app.settings import Settings

PUBLISHED = Path(__file__).parents[2] / "openapi/openapi.json"
Json = dict[str, Any]
LINES = "application/x-ndjson"


@pytest.fixture(scope="module")
def document() -> Json:
    """As the command prints it, in a process of its own: other tests describe bodies too."""
    done = subprocess.run([sys.executable, "-m", "app", "openapi"], capture_output=True, text=True, check=True)
    found: Json = json.loads(done.stdout)
    return found


def operations(document: Json) -> Iterator[tuple[str, Json]]:
    for path, verbs in document["paths"].items():
        for verb, operation in verbs.items():
            yield f"{verb} {path}", operation


def test_the_published_document_is_that_of_the_code(document: Json, client: httpx.Client) -> None:
    published = json.loads(PUBLISHED.read_text("utf-8"))
    assert published == document, "run `make openapi`"
    assert published["paths"] == client.get("/openapi.json").json()["paths"]


def test_an_app_serves_each_declared_route_once_and_makes_none_again() -> None:
    routes = [route for route in build_app(Settings(), "").routes if isinstance(route, Route) and route.methods]
    served = Counter((route.path, verb) for route in routes for verb in route.methods or ())
    declared = [route for router in ROUTERS for route in router.routes if isinstance(route, Route)]
    assert served.keys() >= {(route.path, verb) for route in declared for verb in route.methods or ()}
    assert max(served.values()) == 1
    again = {id(route) for route in routes if isinstance(route, APIRoute)} - {id(route) for route in declared}
    assert again == set()


def test_every_operation_is_described(document: Json) -> None:
    known = {tag["name"] for tag in document["tags"]}
    ids = [operation["operationId"] for _, operation in operations(document)]
    assert len(ids) == len(set(ids))
    for name, operation in operations(document):
        assert operation["summary"], name
        assert operation["description"], name
        assert operation["tags"], name
        assert set(operation["tags"]) <= known, name


def test_every_operation_says_what_it_answers(document: Json) -> None:
    for name, operation in operations(document):
        answers = operation["responses"]
        [good] = [answer for status, answer in answers.items() if status.startswith("2")]
        if stream := good["content"].keys() & {LINES, "text/event-stream"}:
            assert good["content"].keys() == stream, name
        else:
            assert "$ref" in good["content"]["application/json"]["schema"], name
        for status in ("4XX", "5XX"):
            kind = "application/json" if " /v1/" in name else "application/problem+json"
            assert answers[status]["content"].keys() == {kind}, name


def test_every_body_has_a_schema_and_an_example_that_works(document: Json, client: httpx.Client) -> None:
    turns = [{"role": "user", "content": f"question {number}"} for number in range(3)]
    client.post("/conversations/c/messages", json={"messages": turns, "user_id": "me"})
    note = client.post("/conversations/c/notes", json={"text": "Be brief."}).json()["id"]
    client.post("/conversations", json={"id": "child", "parent": "c"})
    memory = client.post("/memories", json={"user_id": "me", "content": "Likes tea."}).json()["memory_key"]
    for name, operation in operations(document):
        verb, path = name.split()
        takes_body = verb in ("post", "patch", "put") and not path.endswith(("/retry", "}/archive", "/redact"))
        assert ("requestBody" in operation) == takes_body, name
        if "requestBody" not in operation:
            continue
        if (content := operation["requestBody"]["content"].get(LINES)) is not None:
            answer = client.post(path, content=content["example"], headers={"content-type": LINES})
            assert answer.is_success, f"{name}: {answer.text}"
            continue
        if " /v1/" in name:
            continue  # a model is behind it: tests/proxy
        if name in ("post /keys", "patch /keys/{key_id}", "post /webhooks"):
            continue  # every other test's server would ask for keys from then on; tests/keys makes some
        content = operation["requestBody"]["content"]["application/json"]
        assert content["schema"]["$ref"].rsplit("/", 1)[1] in document["components"]["schemas"], name
        answer = client.request(
            verb,
            path.format(
                conversation_id="child" if path.endswith("/report") else "c",
                name="recall_page",
                note=note,
                memory_key=memory,
                space_id="team",
                user="sam",
                agent="codex",
            ),
            json=content["example"],
            headers={"X-Quire-User": "me"},  # hooks need a user
        )
        assert answer.is_success, f"{name}: {answer.text}"


def test_every_reference_leads_somewhere(document: Json) -> None:
    for reference in re.findall(r'"#/components/schemas/([^"]+)"', json.dumps(document)):
        assert reference in document["components"]["schemas"]


def test_every_link_leads_to_an_operation_and_gives_it_what_its_path_needs(document: Json) -> None:
    parameters = {
        operation["operationId"]: {p["name"] for p in operation.get("parameters", []) if p["in"] == "path"}
        for _, operation in operations(document)
    }
    links = [
        link
        for _, operation in operations(document)
        for answer in operation["responses"].values()
        for link in answer.get("links", {}).values()
    ]
    assert len(links) > 30
    for link in links:
        assert set(link["parameters"]) == parameters[link["operationId"]], link


def test_the_page_loads_from_here_alone(client: httpx.Client) -> None:
    answer = client.get("/docs")
    assert answer.status_code == 200
    policy = answer.headers["content-security-policy"]
    assert policy.startswith("default-src 'none'; script-src 'self' 'sha256-")
    assert "http" not in policy
    assert answer.headers["content-type"].startswith("text/html")
    assets = re.findall(r"""(?:src|href)=["']([^"']+)""", answer.text)
    assert [asset for asset in assets if asset.endswith(".js")]
    assert "/openapi.json" in answer.text
    for asset in assets:
        where = urljoin(str(client.base_url), asset)
        assert where.startswith(str(client.base_url)), f"{asset} is somebody else's"
        assert client.get(where).status_code == 200, asset
    outside = [url for url in re.findall(r"https?://[^\s\"'<>)]+", answer.text) if "w3.org" not in url]
    assert outside == []
