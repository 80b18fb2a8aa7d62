"""Translate a provider's error responses into our errors.

Prose from providers is never passed on: it quotes keys and user content. Only the status and the identifiers of an
error (code, type, parameter) are kept. Its sentence is for the doctor, whose questions contain no user content.
"""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Protocol

from app.providers import ProviderError, RefusedCaller, RefusedInput, TemporaryError, UnusableReply
from app.text.language import scalar
from app.text.word_lists import word_sets

OPTIONAL_PARAMETERS = frozenset(
    {"response_format", "max_tokens", "max_completion_tokens", "dimensions", "encoding_format"}
)
"""Parameters that not every provider accepts."""

_CALLER = frozenset({301, 302, 303, 307, 308, 401, 402, 403, 404, 405, 410})
_TEMPORARY = frozenset({408, 409, 425, 429})
_CODES = word_sets(Path(__file__).with_name("refusals.txt"))
INPUT_CODES = _CODES["input"]
"""Codes that refuse what is asked, whatever the status."""
STATUS_OF_TYPE = {"overloaded_error": 529, "rate_limit_error": 429, "timeout_error": 504}
"""Types of Anthropic's errors that its clients wait for, which within a stream have no status."""
INPUT_TYPE = "invalid_request_error"
"""The type of an error of Messages that refuses what is asked. OpenAI's errors of this type have a code or param."""

NAMED = re.compile(r"[A-Za-z0-9_][\w.\-\[\]]{0,127}")
"""An identifier of an error."""
SENTENCE_CHARACTERS_MAX = 300
KEY_PIECE = 6
"""A message with this many consecutive characters of a key is not passed on."""
_IDENTIFIER = re.compile(r"[A-Za-z][\w.\-\[\]]{0,63}")
_WORD = re.compile(r"[a-z_]+")


class Refuse(Protocol):
    """Returns the error for an answer with a status other than 200."""

    def __call__(self, status: int, body: object, *, retry_after: float | None, key: str | None) -> ProviderError: ...


class RefusedParameters(RefusedInput):
    """The provider does not take some optional parameters that were sent."""

    def __init__(self, message: str, parameters: frozenset[str]) -> None:
        super().__init__(message)
        self.parameters = parameters
        """The parameters that the answer names."""


def refusal(status: int, body: object, *, retry_after: float | None, key: str | None) -> ProviderError:
    """Return the error for an answer with a status other than 200. ``body`` is its JSON or text."""
    error, said = _refusal(status, body, retry_after=retry_after, key=key), error_fields(body).get("message")
    if isinstance(said, str) and not shows(said, key):
        error.sentence = " ".join(scalar(said)[:SENTENCE_CHARACTERS_MAX].split())
    return error


def _refusal(status: int, body: object, *, retry_after: float | None, key: str | None) -> ProviderError:
    identifiers = list(_identifiers(body, key))
    codes = {name.lower() for name in identifiers}
    message = f"the provider answered {status}" + (f" ({', '.join(identifiers)})" if identifiers else "")
    if codes & INPUT_CODES and status < 500:
        return RefusedInput(message)
    if codes & _CODES["caller"] and status < 500:
        return RefusedCaller(message)
    if status in _CALLER:
        return RefusedCaller(message)
    if status in _TEMPORARY or status >= 500:
        return TemporaryError(message, retry_after)
    named = OPTIONAL_PARAMETERS.intersection(_WORD.findall(str(body)))
    return RefusedParameters(message, named) if named else RefusedInput(message)


def refusal_in_200(body: Mapping[str, object], *, key: str | None, refuse: Refuse = refusal) -> ProviderError | None:
    """Return the error in a response with status 200; None if it contains none.

    Gateways put the upstream status into its code; without one, all we know is that the response cannot be used.
    ``refuse`` makes the error of a status.
    """
    error = body.get("error")
    if not error:
        return None
    code = error.get("code") if isinstance(error, Mapping) else None
    if isinstance(code, str) and re.fullmatch(r"[45]\d\d", code):
        code = int(code)
    if isinstance(code, int) and 400 <= code <= 599:
        return refuse(code, body, retry_after=None, key=key)
    identifiers = list(_identifiers(body, key))
    if (status := next((STATUS_OF_TYPE[name] for name in identifiers if name in STATUS_OF_TYPE), None)) is not None:
        return refuse(status, body, retry_after=None, key=key)
    if identifiers == [INPUT_TYPE] or INPUT_CODES.intersection(name.lower() for name in identifiers):
        return refuse(400, body, retry_after=None, key=key)
    return UnusableReply("the answer is an error" + (f" ({', '.join(identifiers)})" if identifiers else ""))


def _identifiers(body: object, key: str | None) -> Iterator[str]:
    error = body.get("error", body) if isinstance(body, Mapping) else None
    if not isinstance(error, Mapping):
        return
    for name in ("code", "type", "param"):
        value = error.get(name)
        if isinstance(value, str) and _IDENTIFIER.fullmatch(value) and not (key and key in value):
            yield value


def error_fields(body: object) -> Mapping[str, Any]:
    """Return the members of an error in any of the forms that APIs have, with its sentence as ``message``."""
    if isinstance(body, list) or (isinstance(body, Mapping) and isinstance(body.get("error"), Mapping | str | list)):
        return error_fields(next(iter(body), None) if isinstance(body, list) else body["error"])
    if not isinstance(body, Mapping):
        return {"message": body}
    if isinstance(detail := body.get("detail"), list) and detail and isinstance(detail[0], Mapping):
        place = ".".join(str(step) for step in detail[0].get("loc") or [])
        return {"message": f"{place}: {detail[0].get('msg')}", "type": detail[0].get("type")}
    param = body.get("param")
    if isinstance(param, str) and not NAMED.fullmatch(param) and " " in param:
        return {**body, "message": f"{body.get('message')}: {param}", "param": None}
    return body


def shows(text: str, key: str | None) -> bool:
    pieces = (key[i : i + KEY_PIECE] for i in range(max(1, len(key) - KEY_PIECE + 1))) if key else ()
    return any(piece in text for piece in pieces)
