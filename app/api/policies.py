"""Settings and metadata as they are stored."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from app import errors
from app.api.schemas.conversations import PolicyOverrides
from app.core.canonical import dumps
from app.core.messages import METADATA_MAX
from app.core.window.profile import Defaults, policy_of, unfit_shares

ZONES = ("head_share", "condensed_share", "keep_share")


def policy_text(defaults: Defaults, overrides: PolicyOverrides | None, loc: Sequence[str | int]) -> str:
    """Return the overrides as JSON text. Raises Invalid where the shares leave the window no room to grow."""
    given = overrides.model_dump(exclude_none=True) if overrides else {}
    wrong = [name for name in ZONES if name in given]
    if wrong and (problem := unfit_shares(policy_of(defaults, given))):
        raise errors.Invalid(
            "The shares of the window are too large.", errors=[{"loc": [*loc, name], "msg": problem} for name in wrong]
        )
    return dumps(given)


def metadata_text(metadata: Mapping[str, Any] | None) -> str:
    """Return a caller's own metadata as JSON text. Raises Invalid where it is too long."""
    text = dumps(metadata or {})
    if len(text) > METADATA_MAX:
        message = f"must have at most {METADATA_MAX} characters as JSON"
        raise errors.Invalid(errors=[{"loc": ["body", "metadata"], "msg": message}])
    return text
