"""Composition root of the API."""

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager

from fastapi import APIRouter, FastAPI
from fastapi.telemetry import TelemetryConfig
from fastapi_offline import FastAPIOffline
from starlette.middleware.cors import CORSMiddleware

from app import __version__, worker
from app.api import (
    archive,
    branches,
    conversations,
    events,
    hooks,
    memories,
    messages,
    notes,
    spaces,
    tools,
    users,
    windows,
)
from app.api.http import metrics, openapi, problem
from app.api.http.audited import Audited
from app.api.http.compressed import Decompressed
from app.api.http.deadlines import Deadlines
from app.api.http.fast_routes import served
from app.api.http.path_ids import SlashesInIds
from app.api.mcp import router as mcp
from app.api.operators import audit, jobs, keys, operations, usage
from app.api.v1 import chat, responses
from app.api.v1 import messages as v1_messages
from app.api.v1.passing import NamedInPath
from app.api.v1.websocket import ResponsesOverWebSocket
from app.asgi import FromEnvironment
from app.assembly import Models, providers, runtime_of
from app.core.edge.audit import Auditing
from app.providers import Embedder, ProviderError
from app.queue.loop import Pace
from app.runtime import Runtime
from app.services.conversations import serving
from app.settings import Settings, origins, taken
from app.ui import router as ui

_logger = logging.getLogger(__name__)

DESCRIPTION = """\
Memory for LLM agents. POST each message and tool result; before each model call GET a context window
that fits its token budget. Nothing is lost: the model can search and call back whatever left the
window.

Errors are `application/problem+json`; every response has an `X-Request-Id`.
"""

ROUTERS: tuple[APIRouter, ...] = (
    messages.router,  # first, since routes are tried in order
    conversations.router,
    branches.router,
    windows.router,
    tools.router,
    chat.router,
    v1_messages.router,
    responses.router,
    hooks.router,
    notes.router,
    archive.router,
    memories.router,
    spaces.router,
    users.router,
    keys.router,
    jobs.router,
    usage.router,
    events.router,
    audit.router,
    mcp.router,
    operations.router,
    metrics.router,
    ui.router,
    ui.front,
)

NOT_BY_FASTAPI = TelemetryConfig(tracing=False, metrics=False, logs=False)
"""Quire tells of requests itself, without the ids in their paths; to ask for providers would cost each of them."""

OPERATIONS: tuple[APIRouter, ...] = (operations.router, metrics.router)
"""Routes of a worker that has a port."""

CORS_METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE")
CORS_EXPOSED = (
    "ETag", "Idempotency-Replayed", "Retry-After", "X-Request-Id", "X-Quire-Conversation", "X-Quire-Receipt",
)  # fmt: skip


def create_app() -> FromEnvironment:
    """Return Quire for any ASGI server, set up from the environment: `uvicorn --factory app.main:create_app`."""
    return FromEnvironment(lambda settings, dsn: build_app(settings, dsn, with_worker=settings.quire_worker))


def build_app(
    settings: Settings,
    dsn: str,
    *,
    with_worker: bool = False,
    routers: Sequence[APIRouter] = ROUTERS,
    models: Models | None = None,
    pace: Pace | None = None,
) -> FastAPI:
    """Build the API on a migrated database; `with_worker` also runs the jobs in this process, at a `pace`.

    `models` builds its models; without it, `providers` does.
    """
    app = FastAPIOffline(
        title="Quire",
        version=__version__,
        summary="Memory as a service for LLM agents",
        description=DESCRIPTION,
        openapi_tags=openapi.TAGS,
        redirect_slashes=False,
        redoc_url=None,  # a second page of the same
        telemetry=NOT_BY_FASTAPI,
        lifespan=_lifespan(settings, dsn, models or providers, pace, with_worker=with_worker),
    )
    if taken(settings, Auditing).is_on:
        app.add_middleware(Audited)
    app.add_middleware(Decompressed)
    app.add_middleware(
        Deadlines, request_seconds=settings.quire_request_seconds, body_seconds=settings.quire_body_seconds
    )
    problem.install(app, ROUTERS)
    app.add_middleware(metrics.Measured)
    app.add_middleware(SlashesInIds)
    app.add_middleware(NamedInPath)
    if allowed := origins(settings.quire_cors_origins):  # outermost, so that refusals can be read too
        app.add_middleware(
            CORSMiddleware,
            allow_origins=allowed,
            allow_methods=CORS_METHODS,
            allow_headers=["*"],
            expose_headers=CORS_EXPOSED,
        )
    app.add_middleware(ResponsesOverWebSocket)
    # `include_router` would make each route again, and search router by router.
    app.router.routes[:0] = served(routers)
    openapi.install(app, routers)
    return app


def _lifespan(
    settings: Settings, dsn: str, models: Models, pace: Pace | None, *, with_worker: bool
) -> Callable[[FastAPI], AbstractAsyncContextManager[None]]:
    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        async with runtime_of(settings, dsn, models) as runtime:
            app.state.runtime, app.state.mcp = runtime, mcp.OnDemand(runtime)
            watches = [
                asyncio.create_task(runtime.metrics.watch_lag()),
                asyncio.create_task(runtime.caches.expire_windows()),
                asyncio.create_task(serving.keep_writing(runtime)),
            ]
            if runtime.embedder is not None:  # after the server listens, so that it listens sooner
                watches.append(asyncio.create_task(_prepare(runtime.embedder)))
            try:
                async with _working(runtime, pace, wanted=with_worker):
                    yield
            finally:
                await app.state.mcp.close()
                for watch in watches:
                    watch.cancel()

    return lifespan


async def _prepare(embedder: Embedder) -> None:
    try:
        await embedder.prepare()
    except ProviderError as error:
        _logger.warning("no embeddings yet: %s", error)


@asynccontextmanager
async def _working(runtime: Runtime, pace: Pace | None, *, wanted: bool) -> AsyncIterator[None]:
    """Run the worker beside the API; it finishes its current jobs before the block ends."""
    if not wanted:
        yield
        return
    stop = asyncio.Event()
    async with asyncio.TaskGroup() as group:
        group.create_task(worker.run(runtime, stop, pace=pace))
        try:
            yield
        finally:
            stop.set()


app = create_app()
"""The same app for `uvicorn app.main:app`. Its lifespan reads the settings and opens the database."""
