"""Either client by one name: the tests are written once, and run with both."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import httpx
import pytest

from quire_client import AsyncQuire, Quire

Opening = Callable[..., Any]


class Waiting:
    """An asynchronous client, waited for."""

    def __init__(self, quire: AsyncQuire, runner: asyncio.Runner) -> None:
        self.quire, self.runner = quire, runner

    def __getattr__(self, name: str) -> Callable[..., Any]:
        def waiting(*args: Any, **options: Any) -> Any:
            found = getattr(self.quire, name)(*args, **options)
            return self._each(found) if inspect.isasyncgen(found) else self.runner.run(found)

        return waiting

    def _each(self, found: Any) -> Iterator[Any]:
        async def following() -> Any:
            return await anext(found)

        try:
            while True:
                try:
                    yield self.runner.run(following())
                except StopAsyncIteration:
                    return
        finally:
            self.runner.run(found.aclose())


@pytest.fixture(params=["blocking", "awaited"])
def opening(request: pytest.FixtureRequest) -> Iterator[Opening]:
    """Opens clients of either kind."""
    with ExitStack() as stack:

        def opened(url: str, **options: Any) -> Any:
            if request.param == "blocking":
                return stack.enter_context(Quire(url, **options))
            runner = stack.enter_context(asyncio.Runner())
            quire = Waiting(AsyncQuire(url, **options), runner)
            stack.callback(quire.close)
            return quire

        yield opened


@pytest.fixture
def quire(opening: Opening, base_url: str, client: httpx.Client) -> Any:
    return opening(base_url)
