"""Recent successes and failures of a model's background calls, by kind of work."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from app.providers import ProviderError

CALLS_WATCHED = 10


@dataclass
class Successes:
    """The newest calls of this process, with the error of each that failed."""

    _calls: dict[str, deque[str | None]] = field(default_factory=dict)

    def note(self, kind: str, error: ProviderError | None = None) -> None:
        said = f"{type(error).__name__}: {error}" if error is not None else None
        self._calls.setdefault(kind, deque(maxlen=CALLS_WATCHED)).append(said)

    @contextmanager
    def judging(self, kind: str) -> Iterator[None]:
        """Note whether a reply could be used."""
        try:
            yield
        except ProviderError as error:
            self.note(kind, error)
            raise
        self.note(kind)

    def missing(self) -> dict[str, str]:
        """Return the kinds of work whose newest calls all failed, each with its newest error."""
        full = {kind: calls for kind, calls in self._calls.items() if len(calls) == CALLS_WATCHED}
        return {kind: str(calls[-1]) for kind, calls in full.items() if all(calls)}
