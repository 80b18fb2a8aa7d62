"""What an answer that is an error means for us.

Nothing that a provider writes in prose is passed on: it quotes keys and what people said. Of an error only its status
and its identifiers (code, type, parameter) are told.
"""

import re
from collections.abc import Iterator, Mapping

from app.providers import ProviderError, RefusedCaller, RefusedInput, TemporaryError, UnusableReply

OPTIONAL_PARAMETERS = frozenset(
    {"response_format", "max_tokens", "max_completion_tokens", "dimensions", "encoding_format"}
)
"""What some providers take and some do not."""

_CALLER = frozenset({301, 302, 303, 307, 308, 401, 402, 403, 404, 405, 410})
_TEMPORARY = frozenset({408, 409, 425, 429})
_CALLER_CODES = frozenset(
    {
        "account_deactivated",
        "arrearage",
        "billing_hard_limit_reached",
        "billing_not_active",
        "exceeded_current_quota_error",
        "insufficient_quota",
        "invalid_api_key",
        "model_not_found",
    }
)
_INPUT_CODES = frozenset({"content_filter", "content_policy_violation", "context_length_exceeded"})

_IDENTIFIER = re.compile(r"[A-Za-z][\w.\-\[\]]{0,63}")
_WORD = re.compile(r"[a-z_]+")


class RefusedParameters(RefusedInput):
    """The provider does not take some optional parameters that were sent."""

    def __init__(self, message: str, parameters: frozenset[str]) -> None:
        super().__init__(message)
        self.parameters = parameters
        """Those that its answer names."""


def refusal(status: int, body: object, *, retry_after: float | None, key: str | None) -> ProviderError:
    """The error that an answer with a status other than 200 is. ``body`` is its JSON, or its text."""
    identifiers = list(_identifiers(body, key))
    codes = {name.lower() for name in identifiers}
    message = f"the provider answered {status}" + (f" ({', '.join(identifiers)})" if identifiers else "")
    if codes & _INPUT_CODES and status < 500:
        return RefusedInput(message)
    if codes & _CALLER_CODES and status < 500:
        return RefusedCaller(message)
    if status in _CALLER:
        return RefusedCaller(message)
    if status in _TEMPORARY or status >= 500:
        return TemporaryError(message, retry_after)
    named = OPTIONAL_PARAMETERS.intersection(_WORD.findall(str(body)))
    return RefusedParameters(message, named) if named else RefusedInput(message)


def refusal_in_200(body: Mapping[str, object], *, key: str | None) -> ProviderError | None:
    """The error that an answer with status 200 says it is; None if it does not.

    Gateways put the status of whom they asked into its code; otherwise nothing is known but that it cannot be used.
    """
    error = body.get("error")
    if not error:
        return None
    code = error.get("code") if isinstance(error, Mapping) else None
    if isinstance(code, str) and re.fullmatch(r"[45]\d\d", code):
        code = int(code)
    if isinstance(code, int) and 400 <= code <= 599:
        return refusal(code, body, retry_after=None, key=key)
    identifiers = list(_identifiers(body, key))
    return UnusableReply("the answer is an error" + (f" ({', '.join(identifiers)})" if identifiers else ""))


def _identifiers(body: object, key: str | None) -> Iterator[str]:
    error = body.get("error", body) if isinstance(body, Mapping) else None
    if not isinstance(error, Mapping):
        return
    for name in ("code", "type", "param"):
        value = error.get(name)
        if isinstance(value, str) and _IDENTIFIER.fullmatch(value) and not (key and key in value):
            yield value
