"""With a door that asks for a key, nothing is shown without one; no script and no other site gets at the key."""

from __future__ import annotations

from collections.abc import Iterator
from urllib.parse import quote
from uuid import UUID

import httpx
import pytest

from app import errors
from app.main import build_app
from app.postgres.embedded import EmbeddedPostgres
from app.postgres.tenants import DEFAULT_TENANT
from app.runtime import Runtime
from app.services.keys import Knock
from app.settings import Settings
from app.ui.session import COOKIE, Viewer
from tests.api.kit import append, user
from tests.conftest import serving
from tests.ui.html import check, read

FORM = {"content-type": "application/x-www-form-urlencoded"}


async def locked(runtime: Runtime, knock: Knock) -> Viewer:
    """One key for everything, and one that is Ann's."""
    key = knock.key
    if key not in ("master", "anns"):
        raise errors.Unauthorized
    return Viewer(DEFAULT_TENANT, "ann" if key == "anns" else None, frozenset({"read"}), UUID(int=1))


@pytest.fixture(scope="module")
def locked_url(postgres: EmbeddedPostgres, settings: Settings) -> Iterator[str]:
    app = build_app(settings, postgres.app_dsn)
    app.state.ui_door = locked
    yield from serving(app)


@pytest.fixture
def person(locked_url: str, client: httpx.Client) -> Iterator[httpx.Client]:
    """A browser without a key, and two users' conversations."""
    for name in ("ann", "bob"):
        append(client, f"of-{name}", [user(f"the secret of {name}")], user_id=name)
    with httpx.Client(base_url=locked_url, timeout=30) as opened:
        yield opened


def sign_in(person: httpx.Client, key: str, wanted: str = "/ui", **headers: str) -> httpx.Response:
    body = f"key={quote(key)}&next={quote(wanted)}"
    return person.post("/ui/sign-in", content=body, headers={**FORM, **headers})


@pytest.mark.parametrize("path", ["/ui", "/ui/conversations/of-ann", "/ui/search?query=secret&user=ann", "/ui/jobs"])
def test_without_a_key_every_page_leads_to_the_form_and_back(person: httpx.Client, path: str) -> None:
    answer = person.get(path)
    assert answer.status_code == 303
    assert "secret" not in answer.text
    form = read(person.get(answer.headers["location"]).text)
    check(form, "sign-in")
    assert form.one("input", name="next").attributes["value"] == path
    back = sign_in(person, "master", path)
    assert (back.status_code, back.headers["location"]) == (303, path)
    assert person.get(path).status_code == 200


def test_without_required_keys_there_is_no_form(client: httpx.Client) -> None:
    answer = client.get("/ui/sign-in")
    assert (answer.status_code, answer.headers["location"]) == (303, "/ui")


def test_the_cookie_is_for_the_inspector_and_for_no_script(person: httpx.Client) -> None:
    cookie = sign_in(person, "master").headers["set-cookie"]
    assert cookie.startswith(f"{COOKIE}=master;")
    for part in ("HttpOnly", "SameSite=strict", "Path=/ui"):
        assert part in cookie
    assert "expires" not in cookie.lower()
    assert "max-age" not in cookie.lower()


@pytest.mark.parametrize("key", ["", "wrong", "mas ter", 'mas"ter', "ключ", "k" * 600, "a\r\nSet-Cookie: x=y"])
def test_a_wrong_key_is_refused_and_not_kept(person: httpx.Client, key: str) -> None:
    answer = sign_in(person, key)
    assert answer.status_code == 401
    assert "set-cookie" not in answer.headers
    field = read(answer.text).one("input", id="key")
    assert field.attributes["aria-invalid"] == "true"
    assert "value" not in field.attributes


@pytest.mark.parametrize(
    "wanted", ["https://example.com", "//example.com", "/ui/../x\\y", "/uix", "javascript:x", "/ui/\r\nX: y", ""]
)
def test_signing_in_redirects_within_the_inspector_only(person: httpx.Client, wanted: str) -> None:
    location = sign_in(person, "master", wanted).headers["location"]
    assert location == "/ui"


def test_other_sites_cannot_sign_users_in_or_out(person: httpx.Client) -> None:
    assert sign_in(person, "master", **{"sec-fetch-site": "cross-site"}).status_code == 422
    sign_in(person, "master")
    assert person.post("/ui/sign-out", headers={"sec-fetch-site": "same-site"}).status_code == 422
    assert person.get("/ui").status_code == 200


def test_signing_out_forgets_the_key(person: httpx.Client) -> None:
    sign_in(person, "master")
    assert len(read(person.get("/ui").text).all("form", action="/ui/sign-out")) == 1
    assert person.post("/ui/sign-out").status_code == 303
    assert person.get("/ui").status_code == 303


def test_a_form_that_is_too_long_is_refused(person: httpx.Client) -> None:
    assert person.post("/ui/sign-in", content="x" * 10_000, headers=FORM).status_code == 413


def test_a_key_of_one_user_shows_that_users_alone(person: httpx.Client, client: httpx.Client) -> None:
    archived = {"user_id": "bob", "tool_name": "look", "tool_input": "{}", "result": "secret of bob " * 2000}
    archive = client.post("/archive", json=archived).json()["uuid"]
    sign_in(person, "anns")
    for path in ("/ui", "/ui?user=bob", "/ui?q=bob", "/ui/search?query=secret&user=bob"):
        answer = person.get(path)
        assert answer.status_code == 200
        assert "of-bob" not in answer.text
        assert "secret of bob" not in answer.text
    assert "of-ann" in person.get("/ui").text
    assert person.get("/ui/conversations/of-ann").status_code == 200
    others = ("", "/pages/1", "/pages/1?why=1", "?show=pages", "?show=archives")
    for path in (*(f"/ui/conversations/of-bob{rest}" for rest in others), f"/ui/archives/{archive}", "/ui/jobs"):
        answer = person.get(path)
        assert answer.status_code == 404
        assert "secret of bob" not in answer.text
    assert "secret of bob" not in person.get("/ui/search?query=secret&conversation=of-bob").text


def test_read_only_viewers_cannot_retry_jobs(person: httpx.Client) -> None:
    assert person.post("/ui/jobs/retry").status_code == 303
    sign_in(person, "master")
    assert person.post("/ui/jobs/retry").status_code == 403
