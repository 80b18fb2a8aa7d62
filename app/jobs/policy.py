"""What becomes of a job, by what it failed on.

Trouble that is the provider's or the database's is excused: it passes, and however long it takes, the job is there
when it has. What the provider will never take kills the one job; where it does not take us at all, the lane rests.
Anything else may be a fault of ours that one input brings out, so it has a limited number of attempts.
"""

from __future__ import annotations

import traceback

from app.errors import StorageUnavailable
from app.providers import ProviderError, RefusedCaller, RefusedInput, TemporaryError
from app.queue import table
from app.queue.table import Claimed
from app.queue.verdict import DeadLetter, StopLane, TryAgain, Verdict


def judge(error: Exception, claimed: Claimed, random: float) -> Verdict:
    """``random`` is from 0 to 1."""
    words = describe(error)
    match error:
        case RefusedCaller():
            return StopLane(words)
        case RefusedInput():
            return DeadLetter(words)
        case TemporaryError() if claimed.transient_attempts < table.TRANSIENT_ATTEMPTS_MAX:
            return TryAgain(words, table.backoff(claimed.attempts, random, error.retry_after), is_transient=True)
        case StorageUnavailable():
            return TryAgain(words, table.backoff(claimed.attempts, random), is_transient=True)
        case _ if claimed.counted < table.ATTEMPTS_MAX and not isinstance(error, TemporaryError):
            return TryAgain(words, table.backoff(claimed.counted, random))
        case _:
            return DeadLetter(words)


def describe(error: BaseException) -> str:
    """For people who look at a dead letter. The words of an error that is not ours may quote what somebody said, so
    of those only the class and the place are told.
    """
    kind = type(error).__name__
    if isinstance(error, ProviderError | StorageUnavailable):
        return f"{kind}: {error}"
    frames = traceback.extract_tb(error.__traceback__)
    ours = [frame for frame in frames if "/lib/python" not in frame.filename] or frames
    return f"{kind} in {ours[-1].name}, line {ours[-1].lineno}" if ours else kind
