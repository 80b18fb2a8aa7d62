"""When keys are needed: from the first one on, at once, in every process; and who may listen where without any."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx
import pytest

from app.postgres.embedded import EmbeddedPostgres
from app.postgres.tenants import DEFAULT_TENANT
from tests import unhurried
from tests.api.kit import append, ok, problem, turn
from tests.cli.kit import environment, invoke, quire, read_until, refused, running  # noqa: F401 - a fixture
from tests.keys.conftest import Serve
from tests.keys.kit import FIRST, Sql, bearing

Env = dict[str, str]


@pytest.fixture
def beside(postgres: EmbeddedPostgres, data_dir: Path) -> Env:
    """For commands that work on the tests' database."""
    return {"DATABASE_URL": postgres.app_dsn, "QUIRE_DATA_DIR": str(data_dir), "QUIRE_PORT": "0"}


@pytest.mark.slow
def test_after_the_first_key_a_running_service_requires_keys(serve: Serve, beside: Env) -> None:
    first, second = serve(), serve()
    append(first, "c", turn(1))
    assert second.get("/conversations/c").status_code == 200
    assert first.get("/conversations", headers=bearing("anything")).status_code == 200  # nothing to compare it with
    key = quire(beside, "keys", "create")
    for client in (first, second):
        problem(client.get("/conversations/c"), 401)
        assert client.get("/conversations/c", headers=bearing(key)).status_code == 200
    quire(beside, "keys", "revoke", key)
    for client in (first, second, serve()):
        problem(client.get("/conversations/c", headers=bearing(key)), 401)
        problem(client.get("/conversations/c"), 401)


def test_the_first_key_made_over_http_closes_the_door_too(serve: Serve) -> None:
    first, second = serve(), serve()
    assert second.get("/conversations").status_code == 200
    made = ok(first.post("/keys", json={"name": "k", "scopes": ["read"], **FIRST}), 201)
    assert "lacks the scope admin" in made["note"]
    key = made["key"]
    for client in (first, second):
        problem(client.get("/conversations"), 401)
        problem(client.post("/keys", json={"name": "mine"}), 401)
        assert client.get("/conversations", headers=bearing(key)).status_code == 200


def test_the_first_key_over_http_has_to_be_confirmed(serve: Serve) -> None:
    client = serve()
    answer = client.post("/keys", json={"name": "k", "scopes": ["admin"]})
    problem(answer, 422, "every request needs a key", "confirm_require_keys", "must be true")
    assert client.get("/conversations").status_code == 200
    made = ok(client.post("/keys", json={"name": "k", "scopes": ["admin"], **FIRST}), 201)
    assert "note" not in made
    admin = made["key"]
    ok(client.post("/keys", json={"name": "next", "scopes": ["admin"]}, headers=bearing(admin)), 201)


@pytest.mark.slow
def test_concurrently_created_first_keys_are_all_valid(serve: Serve) -> None:
    clients = [serve(), serve()]

    def make(number: int) -> httpx.Response:
        return clients[number % 2].post("/keys", json={"name": f"{number}", **FIRST})

    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(make, range(12)))
    made = [answer.json()["key"] for answer in answers if answer.status_code == 201]
    assert made
    assert {answer.status_code for answer in answers} <= {201, 401}  # whoever came late needed one
    for key in made:
        assert clients[0].get("/conversations", headers=bearing(key)).status_code == 200


def test_keys_can_be_required_before_any_exists(serve: Serve) -> None:
    client = serve(quire_require_keys=True)
    problem(client.get("/conversations"), 401)
    for probe in ("/healthz", "/readyz"):
        assert (client.head(probe).status_code, client.head(probe).content) == (200, b"")
    for open_ in ("/healthz", "/readyz", "/docs", "/openapi.json"):
        assert client.get(open_).status_code == 200
    assert client.get("/nowhere").status_code == 404
    for wrong in ("/conversations/%00", "/archive?limit=x", "/archive/no-uuid", "/memories/search"):
        problem(client.get(wrong), 401)  # before anything else that is wrong
    problem(client.post("/conversations", content=b"{"), 401)


@pytest.mark.slow
def test_the_command_makes_lists_and_revokes_keys_of_tenants(
    locked: httpx.Client, beside: Env, run_as_superuser: Sql
) -> None:
    tenant = quire(beside, "tenants", "create", "acme")
    key = quire(beside, "keys", "create", "--tenant", "acme", "--name", "bot", "--user", "ann", "--days", "3")
    other = quire(beside, "keys", "create", "--scope", "admin", "--scope", "read")
    assert key.startswith(f"qk_{tenant.replace('-', '')}_")
    assert ok(locked.post("/conversations", json={"id": "c"}, headers=bearing(key)), 201)["user_id"] == "ann"
    problem(locked.get("/conversations/c", headers=bearing(other)), 404)
    listed = quire(beside, "keys", "list", "--tenant", tenant)
    assert listed.startswith(key.rsplit("_", 1)[0])
    for said in ("bot", "read,write", "user ann", "expires"):
        assert said in listed
    assert key.rsplit("_", 1)[1] not in listed
    assert [line.split("  ")[:2] for line in quire(beside, "tenants", "list").splitlines()] == [
        [tenant, "acme"], [str(DEFAULT_TENANT), "default"],
    ]  # fmt: skip
    assert "since" in quire(beside, "keys", "revoke", listed.split("  ")[0])
    problem(locked.get("/conversations", headers=bearing(key)), 401)
    assert "revoked" in quire(beside, "keys", "list", "--tenant", "acme")


@pytest.mark.parametrize(
    ("command", "said"),
    [
        (["keys", "create", "--tenant", "nobody"], "0 tenants"),
        (["keys", "create", "--name", ""], "name"),
        (["keys", "create", "--user", "."], "user_id"),
        (["keys", "revoke", "x"], "qk_"),
        (["keys", "revoke", "qk_" + "0" * 32 + "_" + "0" * 32], "no such key"),
        (["tenants", "create", " "], "200 characters"),
    ],
)
def test_a_command_that_cannot_be_obeyed_says_why(clean: None, beside: Env, command: list[str], said: str) -> None:
    done = invoke(beside, *command)
    assert done.exit_code == 1
    assert said in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.slow
def test_other_addresses_need_keys_or_an_explicit_setting(environment: Env, beside: Env, clean: None) -> None:  # noqa: F811
    outside = {**environment, **beside, "QUIRE_HOST": "0.0.0.0"}
    assert "quire keys create" in refused(outside, "serve")
    for more in ({"QUIRE_REQUIRE_KEYS": "true"}, {"QUIRE_ALLOW_UNAUTHENTICATED": "true"}):
        with running("serve", {**outside, **more}) as process:
            assert ("needs an API key" in read_until(process.stdout, "Ctrl-C")) == ("QUIRE_REQUIRE_KEYS" in more)
            process.terminate()
            assert process.wait(timeout=20) == 0
    key = quire(beside, "keys", "create")
    with running("serve", outside) as process:
        hello = read_until(process.stdout, "Ctrl-C stops it")
        url = hello.split("/docs")[0].split()[-1].replace("0.0.0.0", "127.0.0.1")
        assert "Authorization: Bearer" in hello
        assert unhurried.get(url + "/conversations", headers=bearing(key)).status_code == 200
        assert unhurried.get(url + "/conversations").status_code == 401
        process.terminate()
        assert process.wait(timeout=20) == 0
