"""A signal is obeyed wherever it comes, and interrupts nothing but what waits on an event loop."""

import asyncio
import os
import signal
from collections.abc import Iterator

import pytest

from app.signals import SIGNALS, Stopping, stop_on_signals


def kill(number: signal.Signals = signal.SIGTERM) -> None:
    os.kill(os.getpid(), number)


@pytest.fixture(autouse=True)
def handlers() -> Iterator[None]:
    """They are as before afterwards."""
    before = [signal.getsignal(number) for number in SIGNALS]
    yield
    assert [signal.getsignal(number) for number in SIGNALS] == before


@pytest.mark.parametrize("number", SIGNALS)
def test_a_signal_cancels_waiting_work_and_exits(number: signal.Signals) -> None:
    steps: list[str] = []

    async def work() -> None:
        try:
            asyncio.get_running_loop().call_soon(kill, number)
            await asyncio.Event().wait()
        finally:
            kill(number)  # a second one does not interrupt the way out
            await asyncio.sleep(0)
            steps.append("left")

    with stop_on_signals() as stopping, pytest.raises(SystemExit) as left:
        stopping.run(work())
    assert left.value.code == 0
    assert steps == ["left"]


def test_a_signal_does_not_interrupt_running_code() -> None:
    with stop_on_signals() as stopping:
        kill()
        with pytest.raises(SystemExit):
            stopping.check()


def test_nothing_starts_after_a_signal() -> None:
    async def work() -> None:
        raise AssertionError

    with stop_on_signals() as stopping:
        kill()
        with pytest.raises(SystemExit):
            stopping.run(work())


def test_a_cancellation_of_its_own_is_no_signal() -> None:
    async def work() -> None:
        raise asyncio.CancelledError

    with stop_on_signals() as stopping, pytest.raises(asyncio.CancelledError):
        stopping.run(work())


def test_listeners_are_notified_once_and_immediately() -> None:
    told: list[str] = []
    stopping = Stopping()
    with stopping.telling(lambda: told.append("outer")):
        with stopping.telling(lambda: told.append("inner")):
            assert told == []
            stopping.tell()
            stopping.tell()
        assert told == ["inner"]
    with stopping.telling(lambda: told.append("late")):
        assert told == ["inner", "late"]
