"""Background jobs: a module for each kind.

A handler reads, calls its provider without holding a connection, then opens the one transaction that writes the result
and, as its last statement, finishes the job. It may run twice, so its writes must be repeatable; ``policy`` judges its
errors.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TypeAlias

from app.queue.table import Claimed
from app.runtime import Runtime

Handler: TypeAlias = Callable[[Runtime, Claimed], Awaitable[None]]
