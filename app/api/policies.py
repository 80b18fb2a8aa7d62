"""A conversation's settings as they are stored."""

from __future__ import annotations

from collections.abc import Sequence

from app import errors
from app.api.schemas.conversations import PolicyOverrides
from app.core.canonical import dumps
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
