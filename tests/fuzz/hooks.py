"""What Schemathesis has to know of Quire, beyond the OpenAPI document: loaded by its command line, see `run.py`."""

import itertools
import os
import re
from typing import Any

import schemathesis
from schemathesis import Case as AnyCase
from schemathesis import HookContext, SerializationContext
from schemathesis.core.failures import AcceptedNegativeData, Failure
from schemathesis.core.transport import Response
from schemathesis.openapi.checks import RejectedPositiveData

from app.core.edge.credentials import Credentials

Case = AnyCase[Any]

TEXTS = ("application/x-ndjson", "application/toml")

_keys = itertools.count()
_own = Credentials.read(os.environ["QUIRE_FUZZ_KEY"])


@schemathesis.serializer(*TEXTS)
def text(_: SerializationContext, value: Any) -> bytes:
    """Bodies that are a text of their own; what is none is sent as Python prints it."""
    return value if isinstance(value, bytes) else str(value).encode(errors="replace")


@schemathesis.hook
def filter_case(_: HookContext, case: Case) -> bool:
    """The key that everything is asked with is not to be revoked: what came after would be 401."""
    own = _own is not None and str(_own.id) in str(case.path_parameters.get("key_id", ""))
    return not (case.method.upper() == "DELETE" and own)


@schemathesis.hook
def before_call(_: HookContext, case: Case, __: dict[str, Any]) -> None:
    """Two different requests under one Idempotency-Key are 422, as they should be: each gets a key of its own."""
    sent = case.headers.get("Idempotency-Key") if case.headers else None
    if isinstance(sent, str) and re.fullmatch("[!-~]{1,255}", sent):
        case.headers["Idempotency-Key"] = f"{sent[:-8]}{next(_keys):08}"


RULES_BEYOND_JSON_SCHEMA = (
    "must be the `next_cursor` of an earlier response",  # a cursor is opaque: nobody can make one up
    "or `conversation_id` is required",  # one of two members
    "is not a model with a known context window",  # a name among hundreds, and only where no budget is named
    "must be comma-separated uuids",
    "must have at most 20 uuids",
    "must be a member of the space",  # of this moment
    "need the conversation's user, who must be a member of them",
    "is no message of the conversation",
    "must begin and end with /",
    "must begin with /",  # a path of a memory, and its segments
    "none of them empty, . or ..",
    "must not contain control or format characters",
    "must be in Unicode normal form C",
    "and the search has none",  # a scope: of a user or a conversation that it does not name
    "must be up to 20 page numbers",
    "must be later than",  # of two times
    "must not be before",
    "must be in the future",
    "must add up to at most",  # of several shares
    "must not be blank",
    "U+0000",
    "no control characters",
    "must not be . or ..",
    "must be printable text",
    "neither the key nor QUIRE_DEFAULT_USER names a user",
    "characters as JSON",
    "is required if the conversation has no user message",
    "must be a whole number",  # JSON Schema takes 8000.0 for one
    "must be 'auto' or 'off'",  # a header cannot be null
    "must be 'on' or 'off'",
    "must name something to change",  # not nothing at all, or nulls alone
    "must be 'window' or 'pass-through'",
    "must be a JSON object",  # a parameter that is a text for JSON Schema
    "must be an event's number",
    "must begin with https:// or http:// and name a host",  # a webhook's URL, and its parts
    "must be a URL",
    "must have a port from 1 to 65535",
    "must not contain a user or password",
    "must not have a fragment",
    "must not be a loopback, link-local or private address",
)
TOO_LONG = b"Invalid HTTP request received."
"""What the HTTP server answers by itself, to a request line of more than 64 KiB."""
IN_FORMS_OF_THEIR_OWN = {
    "messages",  # of two dialects: tests/core/test_messages.py
    "arguments",  # of a tool, which has a schema of its own: tests/tools
    *("prompt", "tool_name", "tool_use_id", "tool_response", "last_assistant_message"),  # by event: tests/hooks
    "items",  # of Conversations: tests/proxy/test_openai_conversations.py
    "pattern",  # of grep, a regular expression: tests/core/test_grep.py
    "line",  # of an import: tests/erasure/test_transfer.py
}


@schemathesis.hook
def filter_failure(_: HookContext, failure: Failure, case: Case, response: Response) -> bool:
    """Whether it is one. A valid request may be refused by a rule that is documented and beyond JSON Schema."""
    if isinstance(failure, AcceptedNegativeData):
        return case.media_type not in TEXTS or "body" not in failure.message  # whatever is sent is a text
    if not isinstance(failure, RejectedPositiveData):
        return response.content != TOO_LONG
    problem = response.json()
    if error := problem.get("error"):  # as OpenAI's or Anthropic's clients know them: its message says all
        place = re.split(r"[.[]", str(error.get("param")))
        said_of = [{"loc": place, "msg": error["message"]}]
        problem = {"detail": error["message"], "type": error.get("code") or error["type"], "errors": said_of}
    found = problem.get("errors", [])
    said = [problem["detail"], *(error["msg"] for error in found)]
    known = problem["type"] in ("urn:quire:problem:budget-too-small", "context_length_exceeded")
    known |= any(rule in text for text in said for rule in RULES_BEYOND_JSON_SCHEMA)
    known |= any(IN_FORMS_OF_THEIR_OWN & set(map(str, error["loc"])) for error in found)
    known |= "null" in (case.path_parameters or {}).values()  # a link whose source is null
    return not known
