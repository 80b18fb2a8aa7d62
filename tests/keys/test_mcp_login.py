"""A standard OAuth client logs in to /mcp from the metadata alone, at the operator's identity provider."""

from __future__ import annotations

import base64
import hashlib
import secrets
from collections.abc import Iterator
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

import httpx
import httpx2
import pytest
from fastapi import FastAPI, Request
from mcp import Client
from mcp.client.auth import AuthorizationCodeResult, OAuthClientProvider
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.auth import OAuthClientMetadata
from pydantic import AnyUrl
from starlette.responses import JSONResponse, RedirectResponse, Response

from tests.conftest import serve as serve_app
from tests.keys.conftest import Serve
from tests.keys.tokens import AUDIENCE, Signer

pytestmark = pytest.mark.anyio
BACK = "http://127.0.0.1:9/back"


def provider(signer: Signer) -> FastAPI:
    """An authorization server (RFC 8414) that registers any client and lets anybody in as ann."""
    app, asked = FastAPI(openapi_url=None), dict[str, dict[str, Any]]()

    @app.get("/.well-known/oauth-authorization-server")
    def metadata(request: Request) -> dict[str, Any]:
        issuer = str(request.base_url).rstrip("/")
        return {
            "issuer": issuer, "authorization_endpoint": f"{issuer}/authorize", "token_endpoint": f"{issuer}/token",
            "registration_endpoint": f"{issuer}/register", "response_types_supported": ["code"],
            "grant_types_supported": ["authorization_code"], "code_challenge_methods_supported": ["S256"],
            "token_endpoint_auth_methods_supported": ["none"],
        }  # fmt: skip

    @app.post("/register")
    async def register(request: Request) -> Response:
        return JSONResponse({**await request.json(), "client_id": "client-1"}, 201)

    @app.get("/authorize")
    def authorize(request: Request) -> Response:
        code, query = secrets.token_hex(8), dict(request.query_params)
        asked[code] = query
        return RedirectResponse(f"{query['redirect_uri']}?{urlencode({'code': code, 'state': query['state']})}")

    @app.post("/token")
    async def token(request: Request) -> Response:
        form = {name: values[0] for name, values in parse_qs((await request.body()).decode()).items()}
        query = asked.pop(form["code"])
        proof = base64.urlsafe_b64encode(hashlib.sha256(form["code_verifier"].encode()).digest()).decode().rstrip("=")
        assert proof == query["code_challenge"]
        assert form["resource"] == query["resource"]
        made = signer.token(iss=str(request.base_url).rstrip("/"), aud=[AUDIENCE, query["resource"]], sub="ann",
                            scope=query["scope"], without="tenant")  # fmt: skip
        return JSONResponse({"access_token": made, "token_type": "Bearer", "expires_in": 600, "scope": query["scope"]})

    return app


@pytest.fixture
def login(serve: Serve, tmp_path: Any) -> Iterator[httpx.Client]:
    """A service that takes the provider's tokens."""
    signer, jwks = Signer("one"), tmp_path / "jwks.json"
    jwks.write_text(signer.jwks())
    with serve_app(provider(signer)) as issuer:
        yield serve(quire_jwt_issuer=issuer.url, quire_jwt_audience=AUDIENCE, quire_jwt_jwks=str(jwks))


class Storage:
    """What the client keeps."""

    tokens: Any = None
    client: Any = None

    async def get_tokens(self) -> Any:
        return self.tokens

    async def set_tokens(self, tokens: Any) -> None:
        self.tokens = tokens

    async def get_client_info(self) -> Any:
        return self.client

    async def set_client_info(self, client: Any) -> None:
        self.client = client


async def test_a_standard_client_logs_in_from_the_metadata_alone(login: httpx.Client) -> None:
    where = ""

    async def redirected(url: str) -> None:
        nonlocal where
        async with httpx2.AsyncClient(follow_redirects=False) as browser:
            where = (await browser.get(url)).headers["location"]

    async def came_back() -> AuthorizationCodeResult:
        query = parse_qs(urlsplit(where).query)
        return AuthorizationCodeResult(code=query["code"][0], state=query["state"][0])

    metadata = OAuthClientMetadata(
        redirect_uris=[AnyUrl(BACK)], client_name="a test", token_endpoint_auth_method="none"
    )
    url, storage = f"{login.base_url}/mcp?conversation_id=tea", Storage()
    auth = OAuthClientProvider(url, metadata, storage, redirected, came_back)
    async with (
        httpx2.AsyncClient(auth=auth, timeout=30) as http,
        Client(streamable_http_client(url, http_client=http)) as client,
    ):
        stored = await client.call_tool("store_turn", {"user": "I like longjing.", "assistant": "Noted."})
        assert not stored.is_error, stored
        assert "longjing" in str(await client.call_tool("search_memories", {"query": "longjing"}))
    assert storage.tokens.scope == "read write"


def test_without_an_issuer_there_is_nothing_to_log_in_at(serve: Serve) -> None:
    client = serve(quire_require_keys=True)
    assert client.get("/.well-known/oauth-protected-resource").status_code == 404
    refused = client.post("/mcp", json={})
    assert (refused.status_code, refused.headers["www-authenticate"]) == (401, "Bearer")


def test_a_refused_caller_of_mcp_is_told_where_to_log_in(login: httpx.Client) -> None:
    for key in ({}, {"authorization": "Bearer a.b.c"}):
        refused = login.post("/mcp", json={}, headers=key)
        assert refused.status_code == 401
        where = refused.headers["www-authenticate"].partition('resource_metadata="')[2].partition('"')[0]
        found = httpx.get(where).json()
        assert found["resource"] == f"{login.base_url}/mcp"
        assert found["scopes_supported"] == ["read", "write"]
    assert "resource_metadata" not in login.get("/conversations").headers["www-authenticate"]
