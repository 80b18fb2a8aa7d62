"""Build the providers that a deployment configures, from plain values.

Each provider is imported when it is built: importing the openai package takes a quarter of a second of CPU, and a
service without models needs none of it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from app.core.models import TABLE, ModelTable
from app.providers import Embedder, local_embeddings
from app.providers.model_api import OPENAI, ModelApi

if TYPE_CHECKING:
    from app.providers.issuer import Issuer
    from app.providers.openai_chat import OpenAIChat
    from app.providers.reranker import ApiReranker
    from app.providers.webhooks import WebhookSender

WINDOW_DEFAULT = 32_768
"""The context window of a model that is not known, in tokens: small enough for most."""

NO_EMBEDDINGS = "none"
"""The embedding model that stands for none at all."""


def chat_of(
    *, model: str | None, api: ModelApi, context_window: int, count: Callable[[str], int], models: ModelTable = TABLE
) -> OpenAIChat | None:
    """Return the chat model; None if none is configured. ``context_window`` 0 is inferred from the model's name."""
    if not model:
        return None
    from app.providers.openai_chat import OpenAIChat

    return OpenAIChat(
        model=model, api=api.or_else(OPENAI), context_window=context_window or models.window(model) or WINDOW_DEFAULT,
        count=count, row=models.row(model, api.or_else(OPENAI).url),
    )  # fmt: skip


def issuer_of(source: str) -> Issuer:
    """Return the issuer of tokens whose keys are at a URL or in a file."""
    from app.providers.issuer import Issuer

    return Issuer(source)


def webhook_sender(*, allows_private: bool) -> WebhookSender:
    from app.providers.webhooks import WebhookSender

    return WebhookSender(allows_private=allows_private)


def embedder_of(
    *, model: str | None, api: ModelApi, chat_api: ModelApi, dimensions: int, batch: int
) -> Embedder | None:
    """Return the embedding model: an API's if one is named, else the local one if there is one.

    Address and key that ``api`` lacks are the chat's.
    """
    if not model:
        return local_embeddings.load()
    if model.lower() == NO_EMBEDDINGS:
        return None
    from app.providers.openai_embeddings import OpenAIEmbedder

    return OpenAIEmbedder(
        model=model, api=api.or_else(chat_api).or_else(OPENAI), dimensions=dimensions, batch=batch,
    )  # fmt: skip


def reranker_of(*, model: str | None, api: ModelApi, chat_api: ModelApi) -> ApiReranker | None:
    """Return the reranker; None if none is configured. The chat's key is sent to the chat's address only.

    Raises ValueError if there is no address.
    """
    if not model:
        return None
    if api.base_url is None:
        api = api.or_else(chat_api)
    if api.base_url is None:
        raise ValueError("MEMORY_RERANK_MODEL needs MEMORY_RERANK_BASE_URL")
    from app.providers.reranker import ApiReranker

    return ApiReranker(model=model, api=api)
