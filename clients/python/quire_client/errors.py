"""All errors, drawn once.

QuireError
├── ConnectionFailed        the service could not be reached, or broke off
└── Problem                 it answered with an error: `status`, `code`, `detail`, `errors`, `request_id`, `extra`
    ├── Unauthorized        401, 403
    ├── NotFound            404
    ├── Conflict            409
    │   └── Fork                 a synced list contradicts what is stored: `index`, `seq`
    ├── Invalid             422
    │   └── BudgetTooSmall       `minimum_budget` is the smallest that works
    ├── RateLimited         429, and retrying did not help
    └── Unavailable         503, and retrying did not help
"""

from __future__ import annotations

from typing import Any

KNOWN = frozenset({"type", "title", "status", "detail", "errors", "request_id"})


class QuireError(Exception):
    """Base of all errors of this package."""


class ConnectionFailed(QuireError):
    """The service could not be reached, or the connection broke."""


class Problem(QuireError):
    """An error response, usually `application/problem+json`."""

    def __init__(self, status: int, problem: dict[str, Any]) -> None:
        super().__init__(status, problem)
        self.status = status
        self.code = str(problem.get("type", "")).rsplit(":", 1)[-1]
        self.title = str(problem.get("title", ""))
        self.detail = str(problem.get("detail", ""))
        self.errors: list[dict[str, Any]] = list(problem.get("errors") or [])
        """Each with `loc`, a path into the request, and `msg`."""
        self.request_id: str | None = problem.get("request_id")
        self.extra = {name: value for name, value in problem.items() if name not in KNOWN}

    def __str__(self) -> str:
        places = "; ".join(f"{'.'.join(map(str, e['loc']))} {e['msg']}" for e in self.errors[:3])
        return f"{self.status} {self.code or self.title}: {self.detail}{f' ({places})' if places else ''}"


class Unauthorized(Problem):
    """The key is missing, invalid or lacks a right."""


class NotFound(Problem):
    """Nothing has that name in the key's scope."""


class Conflict(Problem):
    """The state of the resource does not allow this."""


class Fork(Conflict):
    """A synced list contradicts what is stored. Nothing was stored."""

    @property
    def index(self) -> int:
        """Index of the list's first differing message."""
        return int(self.extra["index"])

    @property
    def seq(self) -> int:
        """`seq` of the stored message that it differs from."""
        return int(self.extra["seq"])


class Invalid(Problem):
    """A value of the request is missing, unknown or out of range."""


class BudgetTooSmall(Invalid):
    """The fixed parts and the newest user message alone are over the budget."""

    @property
    def minimum_budget(self) -> int:
        """The smallest budget that works."""
        return int(self.extra["minimum_budget"])


class RateLimited(Problem):
    """Too many requests."""


class Unavailable(Problem):
    """The service or its database is unavailable."""


BY_CODE: dict[str, type[Problem]] = {"fork": Fork, "budget-too-small": BudgetTooSmall}
BY_STATUS: dict[int, type[Problem]] = {
    400: Invalid, 401: Unauthorized, 403: Unauthorized, 404: NotFound, 409: Conflict, 422: Invalid, 429: RateLimited,
    503: Unavailable,
}  # fmt: skip


def problem_of(status: int, problem: dict[str, Any]) -> Problem:
    """Return the error for a response: a problem, or under /v1 an error in OpenAI's form."""
    if isinstance(error := problem.get("error"), dict):
        code = str(error.get("code") or "").replace("_", "-")
        problem = {"type": code, "title": error.get("type"), "detail": error.get("message")}
    code = str(problem.get("type", "")).rsplit(":", 1)[-1]
    return BY_CODE.get(code, BY_STATUS.get(status, Problem))(status, problem)
