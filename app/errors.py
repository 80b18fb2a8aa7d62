"""Everything that can go wrong on purpose, drawn once.

    QuireError
    ├── BadRequest             400  the body is not JSON at all
    ├── Unauthorized           401  no key, or not a valid one
    ├── Forbidden              403  a valid key that may not do this
    ├── NotFound               404  unknown, or another tenant's: the same answer for both
    ├── TooSlow                408  the body did not arrive in time
    ├── Conflict               409  the resource is not in a state that allows this
    │   ├── Fork               409  a synced list says otherwise than what is stored; carries where
    │   └── ErasedSince        409  an Idempotency-Key whose request was done, and what it stored erased since
    ├── PayloadTooLarge        413
    ├── UnsupportedMediaType   415
    ├── Misdirected            421  called by a name that is not the service's, while no keys are asked for
    ├── Invalid                422  readable, but breaks a rule; `errors` says where
    │   ├── BudgetTooSmall     422  carries the smallest budget that works
    │   └── IdempotencyMismatch 422 a key used again with another request
    ├── TooManyRequests        429  carries Retry-After
    ├── Overdue                503  the answer took too long; carries Retry-After
    ├── Busy                   503  too much is under way; carries Retry-After
    ├── StorageUnavailable     503  the database is away, slow or busy; carries Retry-After
    │   └── OutcomeUnknown     503  its answer to a commit was lost: the write may have been done
    └── UnsafeDatabase         500  start-up only: the database would not keep what Quire promises

A class has one meaning, one status and one stable code; the code becomes the problem type
`urn:quire:problem:<code>`. `detail` is shown to callers, so it never holds input or internals.
"""

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, TypedDict


class FieldError(TypedDict):
    """One broken rule: where (`loc`, from the body's root or the parameter's kind) and which (`msg`)."""

    loc: list[str | int]
    msg: str


class QuireError(Exception):
    """An error with a status, a stable code and a text for the caller."""

    status: ClassVar[int] = 500
    code: ClassVar[str] = "internal"
    title: ClassVar[str] = "Internal error"

    def __init__(
        self,
        detail: str = "",
        *,
        errors: Sequence[FieldError] = (),
        extra: Mapping[str, Any] | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(detail or self.title)
        self.detail = detail or self.title
        self.errors = list(errors)
        self.extra = dict(extra or {})
        self.headers = dict(headers or {})


class BadRequest(QuireError):
    """The request cannot be read."""

    status = 400
    code = "bad-request"
    title = "Bad request"


class Unauthorized(QuireError):
    """No credentials, or none that are valid."""

    status = 401
    code = "unauthorized"
    title = "Unauthorized"

    def __init__(self, detail: str = "", **members: Any) -> None:
        members["headers"] = {"WWW-Authenticate": "Bearer", **(members.get("headers") or {})}
        super().__init__(detail, **members)


class Forbidden(QuireError):
    """The key is valid, but not for this."""

    status = 403
    code = "forbidden"
    title = "Forbidden"


class NotFound(QuireError):
    """Nothing by that name in the caller's scope."""

    status = 404
    code = "not-found"
    title = "Not found"


class TooSlow(QuireError):
    """The body did not arrive in time. The connection is closed: how much more would come is unknown."""

    status = 408
    code = "too-slow"
    title = "Body too slow"

    def __init__(self, detail: str = "") -> None:
        super().__init__(detail, headers={"Connection": "close"})


class Conflict(QuireError):
    """The resource is in a state that does not allow this."""

    status = 409
    code = "conflict"
    title = "Conflict"


class Fork(Conflict):
    """A list of messages contradicts the stored ones."""

    code = "fork"
    title = "The list forks"


class ErasedSince(Conflict):
    """The request was done under its Idempotency-Key, and what it stored has been erased since."""

    code = "erased-since"
    title = "Erased since"


class PayloadTooLarge(QuireError):
    """The body is over the limit."""

    status = 413
    code = "payload-too-large"
    title = "Payload too large"


class UnsupportedMediaType(QuireError):
    """The body is not sent as plain UTF-8 JSON."""

    status = 415
    code = "unsupported-media-type"
    title = "Unsupported media type"


class Invalid(QuireError):
    """The request can be read but breaks a rule."""

    status = 422
    code = "invalid"
    title = "Invalid request"


class BudgetTooSmall(Invalid):
    """The fixed parts and the newest user message alone are over the budget."""

    code = "budget-too-small"
    title = "Budget too small"

    def __init__(self, minimum_budget: int) -> None:
        super().__init__(
            f"The smallest budget that works is {minimum_budget} tokens.",
            extra={"minimum_budget": minimum_budget},
        )


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
    title = "Too many requests"


class Overdue(QuireError):
    """There was no answer within the time that a request may take. It may have been done or not."""

    status = 503
    code = "overdue"
    title = "No answer in time"

    def __init__(self, detail: str = "", *, retry_after_seconds: int = 1) -> None:
        super().__init__(detail, headers={"Retry-After": str(retry_after_seconds)})


class Busy(QuireError):
    """As much is under way as may be at once; trying again is right."""

    status = 503
    code = "busy"
    title = "Busy"

    def __init__(self, detail: str = "") -> None:
        super().__init__(detail, headers={"Retry-After": "1"})


class StorageUnavailable(QuireError):
    """The database cannot be reached or does not answer in time; trying again is right."""

    status = 503
    code = "storage-unavailable"
    title = "Storage unavailable"

    def __init__(self, detail: str = "", *, retry_after_seconds: int = 1) -> None:
        super().__init__(detail, headers={"Retry-After": str(retry_after_seconds)})


class OutcomeUnknown(StorageUnavailable):
    """The database's answer to a commit was lost. What was asked for may have been done or not."""

    code = "outcome-unknown"
    title = "Outcome unknown"


class UnsafeDatabase(QuireError):
    """The database connection could break isolation or lose what was acknowledged."""

    code = "unsafe-database"
    title = "Unsafe database"
