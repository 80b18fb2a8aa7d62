"""What is done in the background: a module for each kind of job.

A handler reads, calls its provider while it holds no connection, then opens the one transaction that writes the
result and, as its last statement, finishes the job. It may run twice, so what it writes it must be able to write
again; what it raises is judged in ``policy``.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TypeAlias

from app.queue.table import Claimed
from app.runtime import Runtime

Handler: TypeAlias = Callable[[Runtime, Claimed], Awaitable[None]]
