"""Build what a process works with from its settings: for the roots, and without HTTP, which only some of them serve."""

import asyncio
import hashlib
import json
import logging
import os
import re
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, TypeAlias

import anyio.to_thread
from pydantic import SecretStr

from app.core.edge.audit import Auditing
from app.core.edge.deployment import Access, Proxying, Retention, Working, embedding_slots
from app.core.edge.identity import IdentityProvider
from app.core.edge.limits import Quota
from app.core.edge.upstreams import ServedApi, read_upstreams
from app.core.messages import Limits
from app.core.model import Policy
from app.core.models import TABLE
from app.core.window.profile import Defaults
from app.extractive import intents
from app.postgres import migrate
from app.postgres.database import Database
from app.providers import Chat, Embedder, Reranker, build
from app.providers.model_api import BASE_URL, ModelApi
from app.providers.upstream import Upstream, Upstreams
from app.runtime import Runtime
from app.services import limits
from app.services.conversations import serving
from app.settings import Settings, taken
from app.telemetry.metrics import Metrics
from app.telemetry.tracing import tracing_of
from app.text import tokens
from app.text.masks import Masks, masked_kinds
from app.text.tokens import TokenCounter
from quire_verify.issuer import Signer

if TYPE_CHECKING:
    from app.providers.issuer import Issuer  # imports httpx and jwt

_logger = logging.getLogger(__name__)

Models: TypeAlias = Callable[[Settings, TokenCounter], Awaitable[tuple[Chat | None, Embedder | None]]]


@asynccontextmanager
async def runtime_of(settings: Settings, dsn: str, models: Models | None = None) -> AsyncIterator[Runtime]:
    """Yield the runtime of a process. Raises UnsafeDatabase or StorageUnavailable."""
    counter = await anyio.to_thread.run_sync(tokens.load, settings.quire_data_dir / "vocabularies")
    database = await Database.connect(
        dsn, pool_size=settings.quire_pool_size, statement_cache=settings.quire_statement_cache
    )
    try:
        await database.assert_role_is_safe()
        migrate.require(await database.schema_revision())
        reranker = reranker_of(settings)
        chat, embedder = await (models or providers)(settings, counter)
        try:
            tracing = tracing_of(settings.otel_exporter_otlp_endpoint)
            rules = (access(settings), taken(settings, Retention), proxying(settings), working(settings))
            parts = (judging(settings, embedder), database, counter, *rules, chat, embedder)
            metrics, upstreams, issuer = Metrics(), upstreams_of(settings, dsn), issuer_of(settings)
            runtime = Runtime(
                *parts, reranker=reranker, metrics=metrics, tracing=tracing, upstreams=upstreams,
                identity=identity_provider(settings), issuer=issuer, quota=taken(settings, Quota),
                auditing=taken(settings, Auditing), masks=Masks(masked_kinds(settings.quire_masks)),
                signer=await anyio.to_thread.run_sync(signer_of, settings),
            )  # fmt: skip
            yield runtime
            await runtime.turns.close()
            await serving.write_last(runtime)
            await limits.write_last(runtime)
            for away in (upstreams, issuer, runtime.meters.sender):
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


def signer_of(settings: Settings) -> Signer | None:
    """Return the signer of receipts, with the configured key or one made at the first start. None: receipts are off."""
    if not settings.quire_receipts:
        return None
    key, folder = settings.quire_receipt_key, settings.quire_data_dir
    try:
        return Signer.of(key.get_secret_value()) if key else Signer.kept(folder)
    except OSError as error:
        _logger.warning(
            "receipts are off: no key can be kept in %s (%s); set QUIRE_RECEIPT_KEY", folder, error.strerror
        )
        return None


def issuer_of(settings: Settings) -> "Issuer | None":
    rules = identity_provider(settings)
    return None if rules.issuer is None or rules.jwks is None else build.issuer_of(rules.jwks)


def upstreams_of(settings: Settings, dsn: str) -> Upstreams:
    """Return the APIs behind the proxy. The LLM's key is sent to the LLM's API only."""
    rules = read_upstreams(settings.quire_proxy_upstreams.get_secret_value())
    by_pattern = {pattern: _upstream(settings, api) for pattern, api in rules.items()}
    database = re.sub("//[^@]*@", "//", dsn)  # no hash may confirm a guess of the password
    return Upstreams(_own_upstream(settings), by_pattern, hashlib.sha256(database.encode()).hexdigest()[:12])


def _own_upstream(settings: Settings) -> Upstream | None:
    base_url, key = settings.quire_proxy_base_url, settings.quire_proxy_api_key
    if base_url in (None, settings.memory_llm_base_url):
        base_url, key = base_url or settings.memory_llm_base_url, key or settings.memory_llm_api_key
    if base_url is None and key is None:
        return None
    secret = key.get_secret_value() if key else None
    return _upstream(settings, ServedApi(base_url or BASE_URL, secret, settings.quire_proxy_upstream_dialect))


def _upstream(settings: Settings, api: ServedApi) -> Upstream:
    rules = proxying(settings)
    return Upstream(
        base_url=api.base_url, api_key=api.api_key, timeout_seconds=rules.seconds, connections=rules.concurrency,
        dialect=api.dialect, models=TABLE.extended(settings.quire_models),
    )  # fmt: skip


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


def defaults(settings: Settings) -> Defaults:
    policy, limits = taken(settings, Policy), taken(settings, Limits)
    models = TABLE.extended(settings.quire_models)
    return replace(taken(settings, Defaults), policy=policy, limits=limits, models=models)


def judging(settings: Settings, embedder: Embedder | None) -> Defaults:
    """Return the defaults. Without the heads' model, wishes are only proposed unless a setting says otherwise."""
    known = defaults(settings)
    if "memory_carry" in settings.model_fields_set or (embedder is not None and embedder.model == intents.MODEL):
        return known
    return replace(known, policy=replace(known.policy, carry="proposed"))


def access(settings: Settings) -> Access:
    rules = taken(settings, Access)
    requires_keys = rules.requires_keys or identity_provider(settings).issuer is not None
    return replace(rules, host=settings.quire_host, requires_keys=requires_keys)


def identity_provider(settings: Settings) -> IdentityProvider:
    return taken(settings, IdentityProvider)


def proxying(settings: Settings) -> Proxying:
    rules = taken(settings, Proxying)
    prices = replace(rules.prices, models=TABLE.extended(settings.quire_models))
    return replace(rules, model=rules.model or settings.memory_llm_model, prices=prices)


def working(settings: Settings) -> Working:
    rules = taken(settings, Working)
    return replace(rules, embedding_jobs=rules.embedding_jobs or embedding_slots(os.cpu_count() or 1))
