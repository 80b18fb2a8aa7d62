"""Logs: lines for people or JSON objects for machines, without user content.

Each record carries the context of the work: the request's id, or the job's id and its tenant. Exceptions are logged as
class and frames only, because their messages may quote user content; messages of Quire's own errors and of the
operating system are safe.
"""

from __future__ import annotations

import json
import logging
import sys
import traceback
from contextvars import ContextVar
from datetime import UTC, datetime
from types import TracebackType
from typing import Literal, TypeAlias

from app.errors import QuireError

_known_by: ContextVar[tuple[tuple[str, str], ...]] = ContextVar("known_by", default=())

ExceptionInfo: TypeAlias = tuple[type[BaseException], BaseException, TracebackType | None] | tuple[None, None, None]


def bind(**names: str) -> None:
    """Bind names to every log record of this task from now on. Tasks that it starts inherit them."""
    _known_by.set(tuple(names.items()))


def set_up(level: str, form: Literal["text", "json"]) -> None:
    """Log to stderr, replacing any earlier configuration.

    Steps of migrations and requests to the model's API are told from level debug on.
    """
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonLines() if form == "json" else LogLines())
    logging.basicConfig(level=level.upper(), handlers=[handler], force=True)
    for name in ("alembic", "httpx2"):
        logging.getLogger(name).setLevel(logging.WARNING if level == "info" else logging.NOTSET)


class LogLines(logging.Formatter):
    """A record as a line for people."""

    def __init__(self) -> None:
        super().__init__("%(asctime)s %(levelname)s %(name)s %(message)s%(known_by)s")

    def format(self, record: logging.LogRecord) -> str:
        record.known_by = "".join(f" {name}={value}" for name, value in _known_by.get())
        return super().format(record)

    def formatException(self, ei: ExceptionInfo) -> str:  # noqa: N802 - logging's name
        return without_words(ei[1])


class JsonLines(logging.Formatter):
    """A record as a JSON object on a line of its own."""

    def format(self, record: logging.LogRecord) -> str:
        members = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(), "logger": record.name, "message": record.getMessage(),
            **dict(_known_by.get()),
        }  # fmt: skip
        if record.exc_info:
            members["exception"] = without_words(record.exc_info[1])
        return json.dumps(members)


def without_words(error: BaseException | None) -> str:
    """Format an error and its causes as class and frames, without messages that may quote user content."""
    parts: list[str] = []
    while error is not None and len(parts) < 10:
        words = f": {error}" if isinstance(error, QuireError | OSError) else ""
        parts.append("".join([*traceback.format_tb(error.__traceback__), f"{type(error).__name__}{words}"]))
        error = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
    return "\nwhile handling:\n".join(parts)
