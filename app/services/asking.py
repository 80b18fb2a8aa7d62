"""Ask the deployment's model on Quire's own behalf, within the tenant's token limit. Failed calls count too."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any
from uuid import UUID

from app.providers import ProviderError, Reply
from app.runtime import Runtime
from app.services import limits
from app.store import spending
from app.store.spending import Spent
from app.telemetry.tracing import tell_usage


async def ask(
    runtime: Runtime,
    tenant: UUID,
    kind: str,
    request: Sequence[Mapping[str, Any]],
    *,
    conversation_id: str | None = None,
    **options: Any,
) -> Reply:
    """Return the model's reply. ``kind`` names the purpose, for usage and metrics. Raises a ProviderError."""
    chat = runtime.chat
    assert chat is not None
    await limits.require_tokens(runtime, tenant)
    outcome, spent = "CancelledError", None  # unless it ends
    try:
        with runtime.tracing.model_call("chat", chat.model, job_kind=kind) as span:
            reply = await chat.complete(request, **options)
            outcome, spent = "ok", (reply.prompt_tokens, reply.completion_tokens)
            tell_usage(span, *spent)
    except ProviderError as error:
        outcome, spent = type(error).__name__, error.spent
        raise
    finally:
        runtime.metrics.provider_call(kind, outcome, *(spent or ()))
        if spent is not None:
            await spending.record(runtime.database, tenant, conversation_id, kind, chat.model, Spent(1, *spent))
    return reply
