"""While no keys are asked for, only hosts are served that no web page can have; and who is refused too often waits."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.core.edge.hosts import is_ours, named_in, neighbourhood
from tests.api.kit import append, problem, turn
from tests.keys.conftest import Serve
from tests.keys.kit import Mint, bearing

OURS = (
    "127.0.0.1", "127.0.0.1:8000", "localhost", "LOCALHOST:1", "localhost.", "quire.localhost:80", "[::1]:8000",
    "[::1]", "192.168.1.7",
)  # fmt: skip
OTHERS = (
    "", "evil.example", "evil.example:8000", "127.0.0.1.evil.example", "localhost.evil.example", "a[::1]", "[::1",
    "localhost:8000.evil.example", "1.2.3", "127.0.0.1@evil.example",
)  # fmt: skip


@pytest.mark.parametrize("host", OURS)
def test_addresses_and_loopback_names_are_accepted(host: str) -> None:
    assert is_ours(host, ())


@pytest.mark.parametrize("host", OTHERS)
def test_other_names_are_rejected_unless_configured(host: str) -> None:
    assert not is_ours(host, named_in("db.example, quire.example:9000"))
    assert is_ours(host, named_in("*"))


def test_a_configured_name_may_have_any_port_unless_one_is_named() -> None:
    names = named_in("DB.example, quire.example:9000", "::")
    assert all(is_ours(host, names) for host in ("db.example", "db.example:1", "quire.example:9000"))
    assert not any(is_ours(host, names) for host in ("quire.example", "quire.example:80", "x.db.example"))


@given(st.from_regex(r"[a-z0-9-]{1,20}(\.[a-z0-9-]{1,20}){0,2}\.[a-z]{2,9}(:[0-9]{1,5})?", fullmatch=True))
def test_no_name_that_somebody_can_register_is_ours(host: str) -> None:
    assert is_ours(host, ()) == (host.partition(":")[0].rpartition(".")[2] == "localhost")


def test_addresses_of_one_network_share_a_neighbourhood() -> None:
    assert neighbourhood("2001:db8::1") == neighbourhood("2001:db8::ffff:1") != neighbourhood("2001:db8:0:1::1")
    assert neighbourhood("::ffff:10.0.0.1") == "10.0.0.1"
    assert neighbourhood("10.0.0.1") != neighbourhood("10.0.0.2")
    assert len(neighbourhood("x" * 10_000)) == 64


ROUTES = (("GET", "/conversations"), ("POST", "/keys"), ("GET", "/ui"), ("GET", "/metrics"), ("DELETE", "/users/u"))


def test_without_keys_a_page_in_a_browser_reaches_nothing(serve: Serve, mint: Mint) -> None:
    client, named = serve(), serve(quire_hosts="quire.example")
    append(client, "c", turn(1))
    for verb, path in ROUTES:
        answer = client.request(verb, path, headers={"host": "evil.example"})
        assert answer.status_code == 421, path
        assert "QUIRE_HOSTS" in answer.text
    problem(client.get("/conversations", headers={"host": "evil.example", **bearing("any")}), 421)
    assert client.get("/healthz", headers={"host": "evil.example"}).status_code == 200
    assert client.get("/conversations/c", headers={"host": "localhost:1"}).status_code == 200
    assert named.get("/conversations/c", headers={"host": "quire.example"}).status_code == 200
    for page, status in (("https://quire.example", 400), ("https://evil.example", 403)):
        assert named.post("/mcp", json={}, headers={"origin": page}).status_code == status
    key = bearing(mint(scopes=("read",)))  # with a key it is no matter: no page has one
    assert client.get("/conversations", headers={"host": "evil.example", **key}).status_code == 200


def test_repeated_failures_are_throttled_except_for_known_keys(serve: Serve, mint: Mint) -> None:
    client = serve(quire_require_keys=True, quire_refusals_per_minute=3)
    known, unknown = bearing(mint()), bearing(mint())
    assert client.get("/conversations", headers=known).status_code == 200
    wrong = "qk_" + "0" * 32 + "_" + "1" * 32 + "_" + "2" * 64
    answers = [client.get("/conversations", headers=bearing(key)) for key in (None, wrong, "x", None, wrong, "x")]
    assert [answer.status_code for answer in answers] == [401, 401, 401, 429, 429, 429]
    problem(answers[-1], 429, "3")
    assert 1 <= int(answers[-1].headers["retry-after"]) <= 20
    assert client.get("/conversations", headers=known).status_code == 200
    problem(client.get("/conversations", headers=unknown), 429)  # until its address has waited
    assert client.get("/healthz").status_code == 200
