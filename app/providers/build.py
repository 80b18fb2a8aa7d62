"""The providers that a deployment configures, from plain values.

Each provider is imported when it is built: the openai package takes a quarter of a second of CPU, and a service without
models needs none of it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from app.core.budget import model_window
from app.providers import Embedder, local_embeddings

if TYPE_CHECKING:
    from app.providers.openai_chat import OpenAIChat

BASE_URL = "https://api.openai.com/v1"
"""Where no base URL is configured."""

WINDOW_DEFAULT = 32_768
"""The context window of a model that is not known, in tokens: small enough for most."""

NO_EMBEDDINGS = "none"
"""The embedding model that stands for none at all."""


def chat_of(
    *,
    model: str | None,
    base_url: str | None,
    api_key: str | None,
    context_window: int,
    timeout_seconds: float,
    concurrency: int,
    count: Callable[[str], int],
) -> OpenAIChat | None:
    """The chat model; None if none is configured. A ``context_window`` of 0 is inferred from the model's name."""
    if not model:
        return None
    from app.providers.openai_chat import OpenAIChat

    return OpenAIChat(
        model=model,
        base_url=base_url or BASE_URL,
        api_key=api_key,
        context_window=context_window or model_window(model) or WINDOW_DEFAULT,
        count=count,
        timeout_seconds=timeout_seconds,
        concurrency=concurrency,
    )


def embedder_of(
    *,
    model: str | None,
    base_url: str | None,
    api_key: str | None,
    chat_base_url: str | None,
    chat_api_key: str | None,
    dimensions: int,
    batch: int,
    timeout_seconds: float,
    concurrency: int,
) -> Embedder | None:
    """The embedding model: that of an API if one is named, else the local one if there is one.

    What is not set for the API is taken from the chat's. Loading the local model may take seconds of CPU.
    """
    if not model:
        return local_embeddings.load()
    if model.lower() == NO_EMBEDDINGS:
        return None
    from app.providers.openai_embeddings import OpenAIEmbedder

    return OpenAIEmbedder(
        model=model,
        base_url=base_url or chat_base_url or BASE_URL,
        api_key=api_key or chat_api_key,
        dimensions=dimensions,
        batch=batch,
        timeout_seconds=timeout_seconds,
        concurrency=concurrency,
    )
