"""The models that the APIs behind the proxy list, and the context windows that they report."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from app.providers import ProviderError
from app.providers.upstream import Upstream
from app.runtime import Runtime

WINDOWS = ("context_length", "max_model_len", "context_window", "max_context_length")
"""Members in which servers say how many tokens a model takes (OpenRouter, vLLM, Groq, LM Studio, in this order)."""

FAILED = "failed"


async def listed(runtime: Runtime, upstream: Upstream, headers: Mapping[str, str]) -> dict[str, Any]:
    """Return the API's list, at most a minute old. Raises a ProviderError."""
    if (known := runtime.caches.models.get(upstream.base_url)) is None:
        known = runtime.caches.models[upstream.base_url] = dict(await upstream.models(headers))
    return known


async def all_listed(runtime: Runtime, headers: Mapping[str, str]) -> dict[str, Any]:
    """Return the lists of all APIs as one, without APIs that do not answer. Raises a ProviderError if none does."""
    found: dict[str, Any] = {}
    failure: ProviderError | None = None
    for upstream in runtime.upstreams.each:
        try:
            known = await listed(runtime, upstream, headers)
        except ProviderError as error:
            failure = error
        else:
            found = {**known, **found, "data": [*(found.get("data") or ()), *(known.get("data") or ())]}
    if not found and failure is not None:
        raise failure
    return found


async def context_window(runtime: Runtime, upstream: Upstream, model: str, headers: Mapping[str, str]) -> int | None:
    """Return a model's context window in tokens: from the table, else from the API's list, else None."""
    if (known := runtime.defaults.models.window(model)) is not None:
        return known
    failed = f"{FAILED} {upstream.base_url}"
    if failed in runtime.caches.models:  # a list that is not there is not asked for before every answer
        return None
    try:
        models = (await listed(runtime, upstream, headers)).get("data")
    except ProviderError:
        runtime.caches.models[failed] = {}
        return None
    entry = next((m for m in models if isinstance(m, Mapping) and m.get("id") == model), {}) if models else {}
    return next((size for name in WINDOWS if type(size := entry.get(name)) is int and size > 0), None)
