"""Which providers a deployment's settings make."""

from typing import Any

import pytest

from app.providers import Chat, Embedder
from app.providers.build import chat_of, embedder_of
from app.providers.model_api import ModelApi
from app.providers.openai_chat import OpenAIChat
from app.providers.openai_embeddings import OpenAIEmbedder
from tests.providers.conftest import KEY
from tests.providers.fake_openai import FakeOpenAI

pytestmark = pytest.mark.anyio


INTERFACES: tuple[type[Chat], type[Embedder]] = (OpenAIChat, OpenAIEmbedder)
"""For mypy to see."""


def chat(**changes: Any) -> OpenAIChat | None:
    values = {
        "model": "gpt-4o-mini",
        "api": ModelApi(timeout_seconds=5.0),
        "context_window": 0,
        "count": len,
    }
    return chat_of(**{**values, **changes})


def embedder(**changes: Any) -> Embedder | None:
    values = {
        "model": "small",
        "api": ModelApi(timeout_seconds=5.0, concurrency=2),
        "chat_api": ModelApi(),
        "dimensions": 0,
        "batch": 64,
    }
    return embedder_of(**{**values, **changes})


def test_without_configuration_there_is_no_chat_model() -> None:
    assert chat(model=None) is None
    assert chat(model="") is None


@pytest.mark.parametrize(
    ("model", "configured", "window"), [("gpt-4o-mini", 0, 128_000), ("unheard-of", 0, 32_768), ("gpt-4o", 9000, 9000)]
)
async def test_the_window_is_the_configured_one_else_the_models_else_a_small_one(
    model: str, configured: int, window: int
) -> None:
    made = chat(model=model, context_window=configured)
    assert made is not None
    assert made.context_window == window
    await made.close()


def test_none_disables_embeddings() -> None:
    assert embedder(model="none") is None
    assert embedder(model="None") is None


@pytest.mark.parametrize("own", [True, False])
async def test_embeddings_use_their_own_api_or_the_chat_api(own: bool) -> None:
    with FakeOpenAI() as first, FakeOpenAI() as second:
        made = embedder(
            api=ModelApi(second.url if own else "", f"{KEY}-2" if own else None, 5.0, 2),
            chat_api=ModelApi(first.url, f"{KEY}-1"),
        )
        assert isinstance(made, OpenAIEmbedder)
        await made.embed_query("a")
        await made.close()
        asked, other = (second, first) if own else (first, second)
        assert other.embeddings.requests == []
        assert asked.embeddings.requests[0].headers["authorization"] == f"Bearer {KEY}-{2 if own else 1}"
