"""Composition root of the API."""

import asyncio
import gc
import json
import logging
import os
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, TypeAlias

import anyio.to_thread
from fastapi import APIRouter, FastAPI
from fastapi_offline import FastAPIOffline
from pydantic import SecretStr
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
from app.api.http.deadlines import Deadlines
from app.api.http.fast_routes import served_first
from app.api.http.path_ids import SlashesInIds
from app.api.http.request_heads import SoundHeads
from app.api.mcp import router as mcp
from app.api.operators import audit, jobs, keys, operations, usage
from app.api.v1 import chat, memory_stores, responses
from app.api.v1 import conversations as v1_conversations
from app.api.v1 import messages as v1_messages
from app.api.v1.passing import NamedInPath
from app.asgi import FromEnvironment
from app.core.edge.audit import Auditing
from app.core.edge.deployment import Access, Proxying, Retention, Working, embedding_slots
from app.core.edge.identity import IdentityProvider
from app.core.edge.limits import Quota
from app.core.messages import Limits
from app.core.model import Policy
from app.core.models import TABLE
from app.core.window.profile import Defaults
from app.postgres import migrate
from app.postgres.database import Database
from app.postgres.replica import Replica
from app.providers import Chat, Embedder, ProviderError, Reranker, build
from app.providers.model_api import BASE_URL, ModelApi
from app.providers.upstream import Upstream
from app.queue.loop import Pace
from app.runtime import Runtime
from app.services import limits
from app.services.conversations import serving
from app.settings import Settings, origins, taken
from app.telemetry.metrics import Metrics
from app.telemetry.tracing import tracing_of
from app.text import tokens
from app.text.masks import Masks, masked_kinds
from app.text.tokens import TokenCounter
from app.ui import router as ui

if TYPE_CHECKING:
    from app.providers.issuer import Issuer  # imports httpx and jwt

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
    v1_conversations.router,
    v1_messages.router,
    memory_stores.router,
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

OPERATIONS: tuple[APIRouter, ...] = (operations.router, metrics.router)
"""Routes of a worker that has a port."""

CORS_METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE")
CORS_EXPOSED = ("ETag", "Idempotency-Replayed", "Retry-After", "X-Request-Id", "X-Quire-Conversation")

Models: TypeAlias = Callable[[Settings, TokenCounter], Awaitable[tuple[Chat | None, Embedder | None]]]


def create_app() -> FromEnvironment:
    """Return Quire for any ASGI server, set up from the environment: `uvicorn --factory app.main:create_app`."""
    return FromEnvironment(_from_settings)


def _from_settings(settings: Settings, dsn: str) -> FastAPI:
    return build_app(settings, dsn, with_worker=settings.quire_worker)


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
        lifespan=_lifespan(settings, dsn, models or providers, pace, with_worker=with_worker),
    )
    if taken(settings, Auditing).is_on:
        app.add_middleware(Audited)
    app.add_middleware(
        Deadlines, request_seconds=settings.quire_request_seconds, body_seconds=settings.quire_body_seconds
    )
    app.add_middleware(SoundHeads)
    problem.install(app, ROUTERS)
    app.add_middleware(metrics.Measured)
    app.add_middleware(metrics.Traced)
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
    # `include_router` would make each route again, and search router by router.
    app.router.routes[:0] = served_first(routers)
    app.router.routes.extend(route for router in routers for route in router.routes)
    openapi.install(app, routers)
    return app


def freeze_gc() -> None:
    """Exclude the objects that exist after start-up from garbage collection.

    For processes that serve one app until they end. A full collection stops everything else, for longer the more
    objects there are.
    """
    gc.collect()
    gc.freeze()


def defaults(settings: Settings) -> Defaults:
    policy, limits = taken(settings, Policy), taken(settings, Limits)
    models = TABLE.extended(settings.quire_models)
    return replace(taken(settings, Defaults), policy=policy, limits=limits, models=models)


def access(settings: Settings) -> Access:
    rules = taken(settings, Access)
    requires_keys = rules.requires_keys or identity_provider(settings).issuer is not None
    return replace(rules, host=settings.quire_host, requires_keys=requires_keys)


def identity_provider(settings: Settings) -> IdentityProvider:
    return taken(settings, IdentityProvider)


def retention(settings: Settings) -> Retention:
    return taken(settings, Retention)


def proxying(settings: Settings) -> Proxying:
    rules = taken(settings, Proxying)
    prices = replace(rules.prices, models=TABLE.extended(settings.quire_models))
    return replace(rules, model=rules.model or settings.memory_llm_model, prices=prices)


def working(settings: Settings) -> Working:
    rules = taken(settings, Working)
    return replace(rules, embedding_jobs=rules.embedding_jobs or embedding_slots(os.cpu_count() or 1))


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
            if runtime.replica is not None:
                watches.append(asyncio.create_task(runtime.replica.watch()))
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
async def runtime_of(settings: Settings, dsn: str, models: Models | None = None) -> AsyncIterator[Runtime]:
    """Yield what a process works with. Raises UnsafeDatabase or StorageUnavailable."""
    counter = await anyio.to_thread.run_sync(tokens.load, settings.quire_data_dir / "vocabularies")
    database = await Database.connect(
        dsn, pool_size=settings.quire_pool_size, statement_cache=settings.quire_statement_cache
    )
    try:
        await database.assert_role_is_safe()
        reranker = reranker_of(settings)
        chat, embedder = await (models or providers)(settings, counter)
        try:
            tracing = tracing_of(settings.otel_exporter_otlp_endpoint)
            rules = (access(settings), retention(settings), proxying(settings), working(settings))
            parts = (defaults(settings), database, counter, migrate.HEAD, *rules, chat, embedder)
            metrics, upstream, issuer = Metrics(), upstream_of(settings), issuer_of(settings)
            async with _replica(settings, database, metrics) as replica:
                runtime = Runtime(
                    *parts, reranker=reranker, replica=replica, metrics=metrics, tracing=tracing, upstream=upstream,
                    identity=identity_provider(settings), issuer=issuer, quota=taken(settings, Quota),
                    auditing=taken(settings, Auditing), masks=Masks(masked_kinds(settings.quire_masks)),
                )  # fmt: skip
                yield runtime
                await runtime.turns.close()
                await serving.write_last(runtime)
                await limits.write_last(runtime)
                for away in (upstream, issuer, runtime.meters.sender):
                    if away is not None:
                        await away.close()
                await asyncio.gather(*runtime.door.tasks)
                await anyio.to_thread.run_sync(tracing.close)
        finally:
            for provider in (chat, embedder, reranker):
                if provider is not None:
                    await provider.close()
    finally:
        await database.close()


def issuer_of(settings: Settings) -> "Issuer | None":
    rules = identity_provider(settings)
    return None if rules.issuer is None or rules.jwks is None else build.issuer_of(rules.jwks)


def upstream_of(settings: Settings) -> Upstream | None:
    """Return the chat API behind the proxy. The LLM's key is sent to the LLM's API only."""
    base_url, key = settings.quire_proxy_base_url, settings.quire_proxy_api_key
    if base_url in (None, settings.memory_llm_base_url):
        base_url, key = base_url or settings.memory_llm_base_url, key or settings.memory_llm_api_key
    if base_url is None and key is None:
        return None
    rules = proxying(settings)
    return Upstream(
        base_url=base_url or BASE_URL,
        api_key=key.get_secret_value() if key else None,
        timeout_seconds=rules.seconds,
        connections=rules.concurrency,
        dialect=settings.quire_proxy_upstream_dialect,
        models=TABLE.extended(settings.quire_models),
    )


@asynccontextmanager
async def _replica(settings: Settings, primary: Database, metrics: Metrics) -> AsyncIterator[Replica | None]:
    """Yield the replica that the settings name. While it is unreachable or not yet probed, it gets no reads."""
    if settings.database_replica_url is None:
        yield None
        return
    size, cache = settings.quire_pool_size, settings.quire_statement_cache
    database = await Database.connect(
        settings.database_replica_url, pool_size=size, statement_cache=cache, at_once=False
    )
    primary.replica = replica = Replica(primary, database, metrics.read)
    try:
        yield replica
    finally:
        await replica.close()


async def providers(settings: Settings, counter: TokenCounter) -> tuple[Chat | None, Embedder | None]:
    chat_api = _chat_api(settings)
    key, seconds = _secret(settings.memory_embedding_api_key), settings.memory_llm_timeout_seconds
    api = ModelApi(settings.memory_embedding_base_url, key, seconds, settings.memory_embedding_concurrency)
    model, window = settings.memory_llm_model, settings.memory_llm_context_window
    chat = build.chat_of(
        model=model, api=chat_api, context_window=window, count=counter.count,
        models=TABLE.extended(settings.quire_models),
    )  # fmt: skip
    embedder = await anyio.to_thread.run_sync(
        partial(
            build.embedder_of,
            model=settings.memory_embedding_model,
            api=api,
            chat_api=chat_api,
            dimensions=settings.memory_embedding_dimensions,
            batch=settings.memory_embedding_batch,
        )
    )
    return chat, embedder


def reranker_of(settings: Settings) -> Reranker | None:
    """Return the reranker that the settings name. Raises ValueError if they give it no address."""
    key, seconds = _secret(settings.memory_rerank_api_key), settings.memory_llm_timeout_seconds
    api = ModelApi(settings.memory_rerank_base_url, key, seconds)
    return build.reranker_of(model=settings.memory_rerank_model, api=api, chat_api=_chat_api(settings))


def _chat_api(settings: Settings) -> ModelApi:
    key, seconds = _secret(settings.memory_llm_api_key), settings.memory_llm_timeout_seconds
    extra = json.loads(settings.memory_llm_extra_body or "{}")
    return ModelApi(settings.memory_llm_base_url, key, seconds, settings.memory_llm_concurrency, extra)


def _secret(value: SecretStr | None) -> str | None:
    return value.get_secret_value() if value else None


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
