"""Logs: as lines for people, or as JSON objects for machines; never what somebody said.

Each record carries what the work at hand is known by: the request's id, or the job's and its tenant. Of an exception
only the class and the frames are written, since its words may quote a message; the words of errors that are ours, and
of the operating system's, are safe.
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
    """Names for what this task does from now on. Tasks that it starts inherit them."""
    _known_by.set(tuple(names.items()))


def set_up(level: str, form: Literal["text", "json"]) -> None:
    """To stderr; in place of what was set up before."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonLines() if form == "json" else Lines())
    logging.basicConfig(level=level.upper(), handlers=[handler], force=True)


class Lines(logging.Formatter):
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
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
            **dict(_known_by.get()),
        }
        if record.exc_info:
            members["exception"] = without_words(record.exc_info[1])
        return json.dumps(members)


def without_words(error: BaseException | None) -> str:
    """The error's class and frames, and those of its causes."""
    parts: list[str] = []
    while error is not None and len(parts) < 10:
        words = f": {error}" if isinstance(error, QuireError | OSError) else ""
        parts.append("".join([*traceback.format_tb(error.__traceback__), f"{type(error).__name__}{words}"]))
        error = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
    return "\nwhile handling:\n".join(parts)
