"""Calls to one provider: limited concurrency, a few retries, a deadline, and a circuit breaker."""

import asyncio
import random
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TypeVar

from app.providers import ProviderError, TemporaryError, breaker
from app.providers.retry import pause_seconds

T = TypeVar("T")

GIVEN_UP_SECONDS = 4.0
"""A call cancelled after this time counts as failed: its caller, such as a search, is less patient than we are."""


@dataclass(frozen=True, slots=True)
class Clock:
    """Time and chance, passed in so that tests decide both."""

    monotonic: Callable[[], float] = time.monotonic
    epoch: Callable[[], float] = time.time
    """Seconds since 1970."""
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep
    chance: Callable[[], float] = random.random
    """Returns a random number from 0 to 1."""


class ProviderCalls:
    def __init__(self, timeout_seconds: float, concurrency: int, policy: breaker.BreakerPolicy, clock: Clock) -> None:
        self._timeout_seconds = timeout_seconds
        self._slots = asyncio.Semaphore(concurrency)
        self._policy = policy
        self._clock = clock
        self._state: breaker.State = breaker.Closed()

    @property
    def state(self) -> breaker.State:
        """Return whether the provider is being left alone."""
        return self._state

    async def call(self, attempt: Callable[[], Awaitable[T]]) -> T:
        """Return what the attempt returns; retry it after a TemporaryError.

        Waits at most the time-out for a slot, and as long again for the answer, including all retries and pauses.
        """
        async with self._slot():
            deadline = self._clock.monotonic() + self._timeout_seconds
            retried = 0
            while True:
                try:
                    return await self._try(attempt, self._let_in(), deadline - self._clock.monotonic())
                except TemporaryError as error:
                    left = deadline - self._clock.monotonic()
                    seconds = pause_seconds(error, retried, left, self._clock.chance())
                    if seconds is None or not isinstance(self._state, breaker.Closed):
                        raise
                await self._clock.sleep(seconds)
                retried += 1

    @asynccontextmanager
    async def _slot(self) -> AsyncIterator[None]:
        self._admitted()  # before waiting, so that no call queues for a provider that is down
        try:
            async with asyncio.timeout(self._timeout_seconds):
                await self._slots.acquire()
        except TimeoutError:
            raise TemporaryError("too many calls to the provider are under way") from None
        try:
            yield
        finally:
            self._slots.release()

    def _admitted(self) -> tuple[breaker.State, breaker.Admitted]:
        """Ask the breaker to admit a call. Raises TemporaryError while the provider is left alone."""
        state, answer = breaker.admit(self._state, self._clock.monotonic(), self._policy)
        if isinstance(answer, breaker.Refused):
            words = "the provider failed repeatedly and is left alone for a while"
            raise TemporaryError(words, retry_after=answer.seconds)
        return state, answer

    def _let_in(self) -> breaker.Admitted:
        self._state, call = self._admitted()
        return call

    async def _try(self, attempt: Callable[[], Awaitable[T]], call: breaker.Admitted, seconds: float) -> T:
        """Make one attempt. Every way out reports to the breaker. Any answer shows that the provider is up."""
        begun = self._clock.monotonic()
        try:
            async with asyncio.timeout(seconds):
                result = await attempt()
        except TimeoutError:
            self._failed(call)
            raise TemporaryError(f"no answer within {self._timeout_seconds:g} s") from None
        except TemporaryError:
            self._failed(call)
            raise
        except ProviderError:
            self._state = breaker.succeeded(self._state, call)
            raise
        except BaseException:
            if self._clock.monotonic() - begun >= GIVEN_UP_SECONDS:
                self._failed(call)
            else:
                self._state = breaker.abandoned(self._state, call, self._clock.monotonic())
            raise
        self._state = breaker.succeeded(self._state, call)
        return result

    def _failed(self, call: breaker.Admitted) -> None:
        self._state = breaker.failed(self._state, call, self._clock.monotonic(), self._policy)
