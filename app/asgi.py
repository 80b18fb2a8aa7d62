"""Quire as an ASGI app for any server. The app's lifespan starts and stops everything.

Importing or calling `create_app` reads no setting and opens nothing, so a server can do so before it starts its
workers. Each worker process then reads the settings, opens the database (the first one starts an embedded PostgreSQL,
the others join it, the last one stops it) and serves. If it cannot start, it gives the reason in one sentence.
"""

from __future__ import annotations

import logging
import os
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from functools import partial

import anyio
import anyio.to_thread
from fastapi import FastAPI
from starlette.types import ASGIApp, Receive, Scope, Send

from app import errors, heap
from app.postgres.provision import provided
from app.settings import MISSPELT, InvalidSettingsError, Settings, misspelt, read
from app.telemetry import logs

_logger = logging.getLogger(__name__)

Build = Callable[[Settings, str], FastAPI]

NOT_STARTED = "Quire starts with its lifespan: run the server with lifespan events on, and do not mount this app."


class FromEnvironment:
    """The app that the environment's settings configure."""

    def __init__(self, build: Build) -> None:
        self._build = build
        self._app: ASGIApp | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._live(receive, send)
        elif self._app is None:
            raise RuntimeError(NOT_STARTED)
        else:
            await self._app(scope, receive, send)

    async def _live(self, receive: Receive, send: Send) -> None:
        await receive()  # that it is to start
        phase = "startup"
        try:
            async with self._started():
                await send({"type": "lifespan.startup.complete"})
                phase = "shutdown"
                await receive()  # that it is to stop
        except (errors.QuireError, InvalidSettingsError) as error:
            await send({"type": f"lifespan.{phase}.failed", "message": str(error)})
        except BaseException as error:
            await send({"type": f"lifespan.{phase}.failed", "message": logs.without_words(error)})
            raise
        else:
            await send({"type": "lifespan.shutdown.complete"})

    @asynccontextmanager
    async def _started(self) -> AsyncIterator[None]:
        settings = read()
        logs.set_up(settings.quire_log_level, settings.quire_log_format)
        for name, nearest in misspelt(os.environ).items():
            _logger.warning(MISSPELT, name, nearest)
        database = provided(settings.database_url, settings.quire_data_dir)
        dsn = await anyio.to_thread.run_sync(database.__enter__)
        try:
            app = self._build(settings, dsn)
            async with app.router.lifespan_context(app):
                self._app = app
                heap.freeze()
                yield
        finally:
            self._app = None
            with anyio.CancelScope(shield=True):
                await anyio.to_thread.run_sync(partial(database.__exit__, None, None, None))
