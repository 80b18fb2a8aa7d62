"""Decide what becomes of a failed job.

Failures of the provider or the database are transient: the job is retried for as long as they last. Input that the
provider will never accept kills only its job; if the provider rejects our credentials or nearly everything, the lane
pauses; a harmless text tells one bad input from a provider, or settings, that refuse all. Anything else may be a bug of
ours that one input triggers, so the number of attempts is limited.
"""

from __future__ import annotations

import traceback

from app.core.edge.webhooks import retry_seconds
from app.errors import StorageUnavailable
from app.providers import ProviderError, RefusedCaller, RefusedInput, TemporaryError, UndeliveredError
from app.queue import table
from app.queue.table import Claimed
from app.queue.verdict import DeadLetter, StopLane, TryAgain, Verdict

HARMLESS = "dimensions"
"""A text that every provider takes."""
REFUSED_MIN = 4
"""Fewer refused texts are no sign against the provider where it takes the harmless one."""


def refuses_most(refused: int, taken: int, *, takes_harmless: bool) -> bool:
    """Return whether the provider or the settings are at fault rather than the texts sent."""
    if not refused:
        return False
    return not takes_harmless or (refused >= REFUSED_MIN and refused > taken)


def fault_of_all(refusal: RefusedInput) -> RefusedCaller:
    """Return the error to raise if nearly every input is refused, which pauses the lane."""
    return RefusedCaller(f"{refusal}, as to nearly everything it is asked: check the model and its settings")


def judge(error: Exception, claimed: Claimed, random: float) -> Verdict:  # noqa: PLR0911 - a case for each kind
    """Judge an error. ``random`` is from 0 to 1."""
    words = describe(error)
    match error:
        case RefusedCaller():
            return StopLane(words)
        case UndeliveredError():
            return TryAgain(words, retry_seconds(claimed.attempts) * (1 + random / 10), is_transient=True)
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
    """Describe an error for people who look at a dead job.

    The text of a foreign error may quote user content, so only its class and place are kept.
    """
    kind = type(error).__name__
    if isinstance(error, ProviderError | StorageUnavailable):
        return f"{kind}: {error}"
    frames = traceback.extract_tb(error.__traceback__)
    ours = [frame for frame in frames if "/lib/python" not in frame.filename] or frames
    return f"{kind} in {ours[-1].name}, line {ours[-1].lineno}" if ours else kind
