"""CORS: off unless origins are set; then exactly these can call from a browser, with keys too."""

import httpx
import pytest

from app.settings import InvalidSettingsError, read
from tests.keys.conftest import Serve
from tests.keys.kit import Mint, bearing

OURS, OTHER = "https://app.example", "https://app.example.evil"


def preflight(client: httpx.Client, origin: str) -> httpx.Response:
    headers = {
        "origin": origin,
        "access-control-request-method": "POST",
        "access-control-request-headers": "authorization, content-type, idempotency-key",
    }
    return client.options("/conversations/c/messages", headers=headers)


def test_it_is_off_by_default(serve: Serve) -> None:
    client = serve()
    answers = [preflight(client, OURS), client.get("/conversations", headers={"origin": OURS})]
    assert [name for answer in answers for name in answer.headers if name.startswith("access-control")] == []


def test_named_origins_can_call_with_keys_and_no_others(serve: Serve, mint: Mint) -> None:
    client = serve(quire_cors_origins=f"{OURS}, http://localhost:5173", quire_require_keys=True)
    asked = preflight(client, OURS)
    assert asked.status_code == 200
    assert asked.headers["access-control-allow-origin"] == OURS
    assert "POST" in asked.headers["access-control-allow-methods"]
    assert "authorization" in asked.headers["access-control-allow-headers"]
    assert "access-control-allow-credentials" not in asked.headers
    for key, status in ((bearing(mint()), 200), ({}, 401)):
        answer = client.get("/conversations", headers={"origin": OURS, **key})
        assert (answer.status_code, answer.headers["access-control-allow-origin"]) == (status, OURS)
    assert preflight(client, OTHER).status_code == 400
    for origin in (OTHER, "null", OURS + ":444", "http://app.example"):
        answer = client.get("/conversations", headers={"origin": origin, **bearing(mint())})
        assert "access-control-allow-origin" not in answer.headers


@pytest.mark.parametrize(
    "wrong", ["*", "app.example", "https://app.example/", "https://APP.example", "https://*.example"]
)
def test_what_is_no_exact_origin_is_refused_at_start(wrong: str) -> None:
    with pytest.raises(InvalidSettingsError, match=r"QUIRE_CORS_ORIGINS.*is not an origin"):
        read(quire_cors_origins=f"{OURS}, {wrong}")
