"""Every expected error, by status.

A class has one meaning, one status and one stable code; the code becomes the problem type
`urn:quire:problem:<code>`, and its words the title unless it has another. Callers see `detail`, so it holds no values
from the request and no internals; by default it is the first field error: "`budget` must be at least 1."
"""

import json
import re
from collections.abc import Mapping, Sequence
from importlib.resources import files
from typing import Any, ClassVar, Self, TypedDict, TypeVar

T = TypeVar("T")


class FieldError(TypedDict):
    """A member (`loc`, from the body's root or the parameter's kind) and its error (`msg`, such as "must be …")."""

    loc: list[str | int]
    msg: str


def sentence(field_errors: Sequence[FieldError]) -> str:
    """Return field errors as text: the first one in full, and how many more there are."""
    kind, *path = field_errors[0]["loc"]
    path = path[1:] if kind == "line" else path
    name = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in path).lstrip(".")
    more = f" {len(field_errors) - 1} more in `errors`." if len(field_errors) > 1 else ""
    return f"{f'`{name}`' if name else f'The {kind}'} {field_errors[0]['msg']}.{more}"


_PREDICATES: dict[str, str] = json.loads(files("app").joinpath("errors.json").read_text("utf-8"))
"""Pydantic's errors by type, worded to follow the name of a field."""


def predicate(error: Any) -> str:
    """Return one of pydantic's errors so that it follows the name of a field, without what was sent."""
    if (template := _PREDICATES.get(error["type"])) is not None:
        return re.sub(r"( 1 (?:character|item))s$", r"\1", template.format(**error.get("ctx", {})))[:500]
    return re.sub(r"^Input should ", "must ", str(error["msg"]))[:500]


class QuireError(Exception):
    """An error with a status, a stable code and a text for the caller."""

    status: ClassVar[int] = 500
    code: ClassVar[str] = "internal"
    title: ClassVar[str] = "Internal error"
    always: ClassVar[Mapping[str, str]] = {}
    """Headers of every such answer."""

    def __init_subclass__(cls) -> None:
        if "code" in vars(cls) and "title" not in vars(cls):
            cls.title = cls.code.replace("-", " ").capitalize()

    def __init__(
        self,
        detail: str = "",
        *,
        errors: Sequence[FieldError] = (),
        extra: Mapping[str, Any] | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        detail = detail or (sentence(errors) if errors else self.title)
        super().__init__(detail)
        self.detail = detail
        self.errors = list(errors)
        self.extra = dict(extra or {})
        self.headers = {**self.always, **(headers or {})}

    @classmethod
    def at(cls, loc: list[str | int], msg: str, detail: str = "", **more: Any) -> Self:
        """Return the error of one member."""
        return cls(detail, errors=[{"loc": loc, "msg": msg}], **more)


class BadRequest(QuireError):
    """The request cannot be read."""

    status = 400
    code = "bad-request"


class Unauthorized(QuireError):
    """The credentials are missing or not valid."""

    status = 401
    code = "unauthorized"
    always: ClassVar[Mapping[str, str]] = {"WWW-Authenticate": "Bearer"}


class InvalidToken(Unauthorized):
    """A token of the identity provider is refused. WWW-Authenticate names the reason too (RFC 6750)."""

    def __init__(self, reason: str) -> None:
        challenge = f'Bearer error="invalid_token", error_description="{reason}"'
        super().__init__(reason, headers={"WWW-Authenticate": challenge})


class Forbidden(QuireError):
    """The key is valid, but not for this."""

    status = 403
    code = "forbidden"


class NotFound(QuireError):
    """The caller can see nothing by that name. Data of other tenants gets the same answer."""

    status = 404
    code = "not-found"


def missing(what: str) -> NotFound:
    """Return the error for what does not exist or belongs to somebody else, which must look alike."""
    return NotFound(f"There is no such {what}.")


def existing(found: T | None, what: str) -> T:
    """Return what was found. Raises NotFound for None."""
    if found is None:
        raise missing(what)
    return found


class ThreadNotFound(NotFound):
    """A thread of Messages is gone; its client then sends the whole list."""

    code = "thread-not-found"
    title = "There is no such thread"


class TooSlow(QuireError):
    """The body did not arrive in time. The connection is closed, because the rest could be of any length."""

    status = 408
    code = "too-slow"
    title = "Body too slow"
    always: ClassVar[Mapping[str, str]] = {"Connection": "close"}


class Conflict(QuireError):
    """The state of the resource does not allow this."""

    status = 409
    code = "conflict"


class Fork(Conflict):
    """A list of messages contradicts the stored ones."""

    code = "fork"
    title = "The list forks"


class ErasedSince(Conflict):
    """The request was done under its Idempotency-Key, and what it stored has been erased since."""

    code = "erased-since"


class PayloadTooLarge(QuireError):
    """The body is over the limit."""

    status = 413
    code = "payload-too-large"


class UnsupportedMediaType(QuireError):
    """The body is not sent as plain UTF-8 JSON."""

    status = 415
    code = "unsupported-media-type"


class Invalid(QuireError):
    """A value of the request is missing, unknown or out of range."""

    status = 422
    code = "invalid"
    title = "Invalid request"


class BudgetTooSmall(Invalid):
    """The fixed parts and the newest user message alone are over the budget."""

    code = "budget-too-small"

    def __init__(self, minimum_budget: int) -> None:
        super().__init__(
            f"The smallest budget that works is {minimum_budget} tokens.", extra={"minimum_budget": minimum_budget}
        )


class UnservedThread(Invalid):
    """A thread of Messages that cannot be served; its client then sends the whole list."""

    code = "thread-unsupported-request"
    title = "This request cannot be part of a thread"


class IdempotencyMismatch(Invalid):
    """The Idempotency-Key was used before with a different request."""

    code = "idempotency-mismatch"
    title = "Idempotency key reused"


class Misdirected(QuireError):
    """The request names a host that is not this service."""

    status = 421
    code = "misdirected"
    title = "Misdirected request"


class TooManyRequests(QuireError):
    """The caller is over its rate."""

    status = 429
    code = "too-many-requests"


class Overdue(QuireError):
    """The response did not begin in time. The request can have succeeded."""

    status = 503
    code = "overdue"
    title = "No response in time"
    always: ClassVar[Mapping[str, str]] = {"Retry-After": "1"}


class Busy(QuireError):
    """Too much is in progress. Clients should retry."""

    status = 503
    code = "busy"
    always: ClassVar[Mapping[str, str]] = {"Retry-After": "1"}


class IssuerUnavailable(QuireError):
    """The public keys of the tokens' issuer cannot be read, so that a token cannot be judged. Clients should retry."""

    status = 503
    code = "issuer-unavailable"
    always: ClassVar[Mapping[str, str]] = {"Retry-After": "10"}


class Unlogged(QuireError):
    """The audit log could not be written, so the response is withheld. Clients should retry."""

    status = 503
    code = "unlogged"
    title = "Not logged"
    always: ClassVar[Mapping[str, str]] = {"Retry-After": "1"}


class StorageUnavailable(QuireError):
    """The database cannot be reached or does not answer in time. Clients should retry."""

    status = 503
    code = "storage-unavailable"
    always: ClassVar[Mapping[str, str]] = {"Retry-After": "1"}


class OutcomeUnknown(StorageUnavailable):
    """The database's answer to a commit was lost. The request may have been done or not."""

    code = "outcome-unknown"


class StorageFull(StorageUnavailable):
    """The database's disk is full. Nothing was stored."""

    code = "storage-full"
    title = "No space left"

    def __init__(self) -> None:
        super().__init__("No space left on the database's disk: nothing was stored. Free some, and send it again.")


class StorageDamaged(QuireError):
    """Stored data cannot be read: the database's disk or memory has failed."""

    code = "storage-damaged"
    title = "Stored data is damaged"

    def __init__(self, words: str) -> None:
        super().__init__("A part of the stored data is damaged and cannot be read. Run `quire doctor --deep`.")
        self.words = words
        """What the server said, for people who run it: the file and the block."""


class UnsafeDatabase(QuireError):
    """The database connection could break isolation or lose acknowledged writes."""

    code = "unsafe-database"
