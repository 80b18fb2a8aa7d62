"""Callers with a token (JWT) of the operator's own identity provider.

A token is judged in two steps: its signature, by one of the provider's public keys (app/providers/issuer.py), and then
its claims, here. A refusal names its reason, and a refused token is never tried as an API key.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from uuid import UUID, uuid5

from app.core.edge.caller import ALL_SCOPES, Caller
from app.core.messages import ID_MAX, NOT_IN_IDS
from app.core.setting import Variable, setting

_SUBJECTS = UUID("8f3c0f4e-6f0b-5b7e-9a51-3d1f6c2b7a90")
"""Namespace of the ids that stand for a token's subject where an API key has its own."""


@dataclass(frozen=True, slots=True)
class IdentityProvider:
    """An identity provider: the tokens to accept, and the claims to read."""

    issuer: str | None = setting(
        Variable("quire_jwt_issuer", None, length=(1, 2048)),
        "Issuer (`iss`) of tokens (JWT) that are accepted beside API keys. With it every request needs a key or "
        "a token.",
    )
    audience: str | None = setting(
        Variable("quire_jwt_audience", None, length=(1, 2048)),
        "Audience (`aud`) that tokens must name. Needed with QUIRE_JWT_ISSUER.",
    )
    jwks: str | None = setting(
        Variable("quire_jwt_jwks", None, length=(1, 4096)),
        "The issuer's public keys (JWKS): a URL or the path of a file. Needed with QUIRE_JWT_ISSUER.",
    )
    user_claim: str = setting(
        Variable("quire_jwt_user_claim", "sub", length=(1, 256)), "Claim with the user that a token is bound to."
    )
    requires_user: bool = setting(
        Variable("quire_jwt_require_user", True),
        "Refuse tokens without a user. False: such a token sees all users of its tenant.",
    )
    scopes_claim: str = setting(
        Variable("quire_jwt_scopes_claim", "scope", length=(1, 256)),
        "Claim with a token's scopes, separated by spaces or as a list.",
    )
    tenant_claim: str | None = setting(
        Variable("quire_jwt_tenant_claim", None, length=(1, 256)),
        "Claim with the id of a token's tenant; tokens without it are refused. Unset: the default tenant.",
    )
    leeway_seconds: float = setting(
        Variable("quire_jwt_leeway_seconds", 30.0, ge=0, le=600),
        "Seconds by which the issuer's clock and ours can differ.",
    )


def is_token(credentials: str | None) -> bool:
    """Return whether credentials have the form of a token, which no API key has."""
    return credentials is not None and credentials.count(".") == 2


def caller_of(claims: Mapping[str, Any], rules: IdentityProvider, default_tenant: UUID, now: float) -> Caller | str:
    """Return the caller that verified claims describe, or a refusal's reason. ``now`` is in seconds since 1970."""
    if (reason := _audience_problem(claims, rules) or _time_problem(claims, rules.leeway_seconds, now)) is not None:
        return reason
    tenant, user = _tenant(claims, rules, default_tenant), claims.get(rules.user_claim)
    if tenant is None:
        return "The token's tenant is missing or not a UUID."
    if user is None and rules.requires_user:
        return "The token names no user."
    if user is not None and not _is_user(user):
        return f"The token's user must be text of 1 to {ID_MAX} characters without control characters."
    scopes = _scopes(claims.get(rules.scopes_claim))
    if scopes is None:
        return "The token's scopes must be text or a list of texts."
    return Caller(tenant, user, scopes, _subject(claims, tenant, user))


def _audience_problem(claims: Mapping[str, Any], rules: IdentityProvider) -> str | None:
    if rules.issuer is None or claims.get("iss") != rules.issuer:
        return "The token is from another issuer."
    audience = claims.get("aud")
    if rules.audience is None or rules.audience not in (audience if isinstance(audience, list) else [audience]):
        return "The token is for another audience."
    return None


def _time_problem(claims: Mapping[str, Any], leeway: float, now: float) -> str | None:
    times = {name: _time(claims[name]) for name in ("exp", "nbf", "iat") if name in claims}
    if "exp" not in times:
        return "The token has no time of expiry (exp)."
    if None in times.values():
        return "The token's times must be numbers."
    expires, begins, issued = (times.get(name) for name in ("exp", "nbf", "iat"))
    if expires is None or now >= expires + leeway:
        return "The token has expired."
    if any(time is not None and time > now + leeway for time in (begins, issued)):
        return "The token is not yet valid."
    return None


def _time(value: object) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        time = float(value)
    except OverflowError:
        return None
    return time if math.isfinite(time) else None


def _tenant(claims: Mapping[str, Any], rules: IdentityProvider, default_tenant: UUID) -> UUID | None:
    if rules.tenant_claim is None:
        return default_tenant
    try:
        return UUID(claims.get(rules.tenant_claim))
    except (ValueError, TypeError, AttributeError):
        return None


def _is_user(value: object) -> bool:
    if not isinstance(value, str) or not 0 < len(value) <= ID_MAX or value in (".", ".."):
        return False
    return NOT_IN_IDS.search(value) is None and not any("\ud800" <= char <= "\udfff" for char in value)


def _scopes(value: object) -> frozenset[str] | None:
    named = [] if value is None else value.split() if isinstance(value, str) else value
    if not isinstance(named, list) or not all(isinstance(name, str) for name in named):
        return None
    return ALL_SCOPES & frozenset(named)


def _subject(claims: Mapping[str, Any], tenant: UUID, user: str | None) -> UUID:
    """Return an id for the token's subject, for rates and records. All tokens of a subject share it."""
    return uuid5(_SUBJECTS, repr((claims["iss"], str(tenant), user, claims.get("sub"))))
