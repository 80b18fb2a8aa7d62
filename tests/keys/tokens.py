"""An identity provider on loopback: its keys, its tokens, and its JWKS by HTTP."""

import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from uuid import UUID

import jwt
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from jwt.algorithms import get_default_algorithms

from tests.keys.kit import EVERYTHING, HERE, Mint, Sql

ISSUER, AUDIENCE = "https://id.example/realm", "quire"


def issued_by(jwks: str, **more: Any) -> dict[str, Any]:
    """Settings of a service that accepts the provider's tokens."""
    return {
        "quire_jwt_issuer": ISSUER,
        "quire_jwt_audience": AUDIENCE,
        "quire_jwt_jwks": jwks,
        "quire_jwt_tenant_claim": "tenant",
        "quire_jwt_require_user": False,
        **more,
    }


class Signer:
    """One key pair of the provider."""

    def __init__(self, kid: str, algorithm: str = "ES256") -> None:
        self.kid, self.algorithm = kid, algorithm
        self.private: Any = {
            "RS256": lambda: rsa.generate_private_key(65537, 2048),
            "ES256": lambda: ec.generate_private_key(ec.SECP256R1()),
            "EdDSA": ed25519.Ed25519PrivateKey.generate,
        }[algorithm]()

    def jwk(self) -> dict[str, Any]:
        value: dict[str, Any] = get_default_algorithms()[self.algorithm].to_jwk(self.private.public_key(), as_dict=True)
        return {**value, "kid": self.kid, "use": "sig"}

    def jwks(self) -> str:
        return jwks(self)

    def token(self, *, without: str = "", headers: dict[str, Any] | None = None, **claims: Any) -> str:
        now = int(time.time())
        said = {"iss": ISSUER, "aud": AUDIENCE, "sub": "ann", "tenant": str(HERE), "exp": now + 600, "iat": now}
        said |= {"scope": "openid " + " ".join(EVERYTHING), **claims}
        said.pop(without, None)
        return jwt.encode(said, self.private, algorithm=self.algorithm, headers=headers or {"kid": self.kid})


def jwks(*signers: Signer) -> str:
    return json.dumps({"keys": [one.jwk() for one in signers]})


def minting_tokens(run: Sql, signer: Signer) -> Mint:
    """Makes tokens as ``kit.minting`` makes keys."""

    def mint(
        tenant: UUID = HERE, scopes: tuple[str, ...] = EVERYTHING, user: str | None = None, name: str = "key"
    ) -> str:
        run(
            f"INSERT INTO tenants (tenant_id, name) VALUES ('{tenant}', '{str(tenant)[:4]}')"
            " ON CONFLICT (tenant_id) DO NOTHING"
        )
        return signer.token(
            without="sub" if user is None else "", sub=user, tenant=str(tenant), scope=list(scopes), jti=name
        )

    return mint


class Jwks:
    """A JWKS by HTTP, which may be changed, hang or fail at any time."""

    def __init__(self, text: str) -> None:
        self.text, self.status, self.reads = text, 200, 0
        self.answering = threading.Event()
        self.answering.set()
        self.url = ""


@contextmanager
def published(text: str) -> Iterator[Jwks]:
    found = Jwks(text)

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            found.reads += 1
            found.answering.wait(60)
            body = found.text.encode()
            self.send_response(found.status)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

        def handle(self) -> None:
            with suppress(OSError):  # the reader had gone
                super().handle()

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    found.url = f"http://127.0.0.1:{server.server_port}/jwks"
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield found
    finally:
        found.answering.set()
        server.shutdown()
        server.server_close()
        thread.join()
