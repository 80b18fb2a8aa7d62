"""Tokens (JWT) of an identity provider: which are accepted, why others are refused, and where its keys come from."""

import base64
import hashlib
import hmac
import json
import time
from pathlib import Path
from typing import Any
from uuid import UUID

import httpx
import pytest
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from hypothesis import given
from hypothesis import strategies as st

from app.core.edge.caller import ALL_SCOPES, Caller
from app.core.edge.identity import IdentityProvider, caller_of, is_token
from app.postgres.tenants import DEFAULT_TENANT
from app.settings import InvalidSettingsError, read
from tests.api.kit import ok, problem
from tests.by_turns import few
from tests.keys.conftest import Serve
from tests.keys.kit import ELSEWHERE, HERE, Mint, bearing
from tests.keys.tokens import AUDIENCE, ISSUER, Signer, issued_by, jwks, published

RULES = IdentityProvider(ISSUER, AUDIENCE, "unread", leeway_seconds=30)
CLAIMS = {"iss": ISSUER, "aud": AUDIENCE, "sub": "ann", "exp": 1000, "scope": "read openid"}
STRICT = {"quire_jwt_require_user": True, "quire_jwt_tenant_claim": None}
anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda part: st.lists(part, max_size=3) | st.dictionaries(st.text(max_size=3), part, max_size=3),
    max_leaves=5,
)


def judged(now: float = 900, rules: IdentityProvider = RULES, **claims: Any) -> Caller | str:
    return caller_of({**CLAIMS, **claims}, rules, DEFAULT_TENANT, now)


@given(st.dictionaries(st.sampled_from(["iss", "aud", "sub", "exp", "nbf", "iat", "scope"]), anything))
def test_any_claims_give_a_bound_caller_or_a_reason(claims: dict[str, Any]) -> None:
    found = judged(**claims)
    if isinstance(found, str):
        assert found.startswith("The token")
        assert found.isascii() and '"' not in found  # noqa: PT018 - it is in a header, in quotes
        return
    assert found.tenant == DEFAULT_TENANT
    assert found.user_id
    assert found.scopes <= ALL_SCOPES


@given(st.integers(0, 2000), st.integers(0, 2000), st.integers(0, 2000))
def test_a_token_is_valid_from_its_beginning_to_its_end_with_leeway(now: int, begins: int, expires: int) -> None:
    is_valid = begins - 30 <= now < expires + 30
    assert isinstance(judged(now, nbf=begins, exp=expires), Caller) == is_valid


def test_scopes_come_as_text_or_list_and_unknown_ones_are_ignored() -> None:
    for scopes in ("read openid write", ["read", "write", "profile"]):
        found = judged(scope=scopes)
        assert isinstance(found, Caller)
        assert found.scopes == {"read", "write"}
    assert judged(scope=7) == "The token's scopes must be text or a list of texts."


def test_a_subject_has_one_id_for_rates_and_records() -> None:
    first, again, other = judged(), judged(exp=1001), judged(sub="bob")
    assert isinstance(first, Caller) and isinstance(again, Caller) and isinstance(other, Caller)  # noqa: PT018
    assert first.key == again.key != other.key


def part(value: object) -> str:
    return base64.urlsafe_b64encode(json.dumps(value).encode()).rstrip(b"=").decode()


def unsigned() -> str:
    now = int(time.time())
    return f"{part({'alg': 'none', 'kid': 'first'})}.{part({**CLAIMS, 'exp': now + 600})}."


def signed_with_the_public_key(signer: Signer) -> str:
    """HS256 with what everybody can read: the attack on libraries that let the token choose the algorithm."""
    secret = signer.private.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
    text = f"{part({'alg': 'HS256', 'kid': 'first'})}.{part({**CLAIMS, 'exp': int(time.time()) + 600})}"
    digest = hmac.new(secret, text.encode(), hashlib.sha256).digest()
    return f"{text}.{base64.urlsafe_b64encode(digest).rstrip(b'=').decode()}"


def test_a_refused_token_says_why_and_is_never_tried_as_a_key(serve: Serve, signer: Signer, tmp_path: Path) -> None:
    file = tmp_path / "jwks.json"
    file.write_text(signer.jwks())
    client, now, token = serve(**issued_by(str(file), **STRICT)), int(time.time()), signer.token
    assert client.get("/conversations", headers=bearing(token())).status_code == 200
    header, claims, signature = token().split(".")
    refused = {
        token(exp=now - 60): "expired",
        token(nbf=now + 120): "not yet valid",
        token(iat=now + 120): "not yet valid",
        token(without="exp"): "no time of expiry",
        token(exp="soon"): "numbers",
        token(aud="other"): "another audience",
        token(aud=["other"]): "another audience",
        token(without="aud"): "another audience",
        token(iss="https://evil.example"): "another issuer",
        token(without="sub"): "no user",
        token(sub=""): "user must be text",
        token(sub="\x00"): "user must be text",
        token(headers={"kid": "unknown"}): "(kid)",
        Signer("first").token(): "signature",
        Signer("first", "RS256").token(): "algorithm",
        unsigned(): "algorithm",
        signed_with_the_public_key(signer): "algorithm",
        f"{header}.{part({**CLAIMS, 'exp': now + 600})}.{signature}": "signature",
        f"{header}.{claims}.": "signature",
        f"{part({'alg': ['ES256'], 'kid': 'first'})}.{claims}.{signature}": "algorithm",
        f"{part({'alg': 'ES256', 'kid': 7})}.{claims}.{signature}": "malformed",
        "a.b.c": "malformed",
        "..": "malformed",
    }
    for wrong, reason in refused.items():
        answer = client.get("/conversations", headers=bearing(wrong))
        problem(answer, 401, reason)
        assert reason in answer.headers["www-authenticate"]
        assert 'error="invalid_token"' in answer.headers["www-authenticate"]
    assert client.get("/conversations", headers=bearing(token(aud=["x", AUDIENCE]))).status_code == 200
    for path in ("/v1/chat/completions", "/v1/messages", "/v1/responses"):
        answer = client.post(path, json={}, headers=bearing(token(exp=1)))
        assert answer.status_code == 401
        assert "expired" in answer.json()["error"]["message"]
        assert "expired" in answer.headers["www-authenticate"]
        passed = client.post(path, json={}, headers=bearing(token(exp=1), **{"X-Quire-Mode": "pass-through"}))
        assert passed.status_code == 401


def test_an_issuer_closes_the_door_and_keys_go_on_working(locked: httpx.Client, mint: Mint, signer: Signer) -> None:
    problem(locked.get("/conversations"), 401)
    assert locked.get("/conversations", headers=bearing(mint())).status_code == 200
    assert locked.get("/conversations", headers=bearing(signer.token())).status_code == 200
    assert locked.get("/conversations", headers={"X-API-Key": signer.token()}).status_code == 200
    problem(locked.get("/conversations", headers=bearing(signer.token(scope="openid"))), 403, "read")


def test_a_token_is_of_an_existing_tenant(locked: httpx.Client, mint: Mint, signer: Signer) -> None:
    mint(HERE)
    ok(locked.post("/conversations", json={"id": "c"}, headers=bearing(signer.token())), 201)
    problem(locked.get("/conversations/c", headers=bearing(signer.token(sub="bob"))), 404)
    for tenant, reason in ((str(UUID(int=7)), "does not exist"), ("acme", "UUID"), (7, "UUID")):
        problem(locked.get("/conversations", headers=bearing(signer.token(tenant=tenant))), 401, reason)
    problem(locked.get("/conversations", headers=bearing(signer.token(without="tenant"))), 401, "tenant is missing")
    mint(ELSEWHERE)
    problem(locked.get("/conversations/c", headers=bearing(signer.token(tenant=str(ELSEWHERE)))), 404)


@pytest.mark.parametrize("algorithm", few(["RS256", "ES256", "EdDSA"]))
def test_asymmetric_algorithms_are_accepted(serve: Serve, tmp_path: Path, algorithm: str) -> None:
    signer, file = Signer("one", algorithm), tmp_path / "jwks.json"
    file.write_text(signer.jwks())
    client = serve(**issued_by(str(file), **STRICT))
    assert ok(client.post("/conversations", json={}, headers=bearing(signer.token())), 201)["user_id"] == "ann"
    unnamed = signer.token(headers={"typ": "at+jwt"})  # no kid, but there is one key only
    assert client.get("/conversations", headers=bearing(unnamed)).status_code == 200
    signed_in = client.post("/ui/sign-in", data={"key": signer.token(), "next": ""})
    assert signed_in.status_code == 303
    client.cookies.set("quire_ui_key", signer.token(), path="/ui")
    assert client.get("/ui").status_code == 200


def test_rotated_keys_work_without_a_restart_and_floods_read_nothing(serve: Serve) -> None:
    old, new = Signer("old"), Signer("new")
    with published(old.jwks()) as found:
        client = serve(**issued_by(found.url, **STRICT))
        for _ in range(3):
            assert client.get("/conversations", headers=bearing(old.token())).status_code == 200
        assert found.reads == 1
        found.text = jwks(old, new)
        for signer in (new, old):
            assert client.get("/conversations", headers=bearing(signer.token())).status_code == 200
        assert found.reads == 2
        found.text = new.jwks()
        for _ in range(20):
            problem(client.get("/conversations", headers=bearing(Signer("foreign").token())), 401, "kid")
        assert found.reads < 10
        problem(client.get("/conversations", headers=bearing(old.token())), 401, "kid")


@pytest.mark.slow
def test_a_jwks_that_hangs_or_is_gone_is_said_and_mended_without_a_restart(serve: Serve) -> None:
    signer = Signer("one")
    with published(signer.jwks()) as found:
        client = serve(**issued_by(found.url, **STRICT))
        found.answering.clear()
        answer = client.get("/conversations", headers=bearing(signer.token()))
        problem(answer, 503, "cannot be read", "no answer within 3 s")
        assert int(answer.headers["retry-after"]) > 0
        found.answering.set()
        for status, text, reason in ((404, "", "404"), (200, "<html>", "not JSON"), (200, "[]", "no public keys")):
            found.status, found.text = status, text
            problem(client.get("/conversations", headers=bearing(signer.token())), 503, reason)
        found.status, found.text = 200, signer.jwks()
        assert client.get("/conversations", headers=bearing(signer.token())).status_code == 200
        found.status = 500  # what is known goes on being valid
        assert client.get("/conversations", headers=bearing(signer.token())).status_code == 200


def test_a_file_that_is_not_there_is_said(serve: Serve, signer: Signer, tmp_path: Path) -> None:
    client = serve(**issued_by(str(tmp_path / "none"), **STRICT))
    problem(client.get("/conversations", headers=bearing(signer.token())), 503, "the file cannot be read")


def test_without_an_issuer_a_token_is_only_an_unknown_key(serve: Serve, signer: Signer) -> None:
    assert is_token(signer.token())
    problem(serve(quire_require_keys=True).get("/conversations", headers=bearing(signer.token())), 401, "API key")


def test_an_issuer_is_configured_whole_or_not_at_all() -> None:
    with pytest.raises(InvalidSettingsError, match="QUIRE_JWT_AUDIENCE"):
        read(quire_jwt_issuer=ISSUER)
    with pytest.raises(InvalidSettingsError, match="QUIRE_JWT_ISSUER"):
        read(quire_jwt_jwks="https://id.example/jwks", quire_jwt_audience=AUDIENCE)
