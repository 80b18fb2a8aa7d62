"""Which providers a deployment's settings make."""

from typing import Any

import pytest

from app.providers import Chat, Embedder
from app.providers.build import chat_of, embedder_of
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
        "base_url": None,
        "api_key": None,
        "context_window": 0,
        "timeout_seconds": 5.0,
        "concurrency": 4,
        "count": len,
    }
    return chat_of(**{**values, **changes})


def embedder(**changes: Any) -> Embedder | None:
    values = {
        "model": "small",
        "base_url": None,
        "api_key": None,
        "chat_base_url": None,
        "chat_api_key": None,
        "dimensions": 0,
        "batch": 64,
        "timeout_seconds": 5.0,
        "concurrency": 2,
    }
    return embedder_of(**{**values, **changes})


def test_nothing_configured_makes_no_chat() -> None:
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


def test_none_means_no_embeddings() -> None:
    assert embedder(model="none") is None
    assert embedder(model="None") is None


@pytest.mark.parametrize("own", [True, False])
async def test_embeddings_come_from_their_own_api_else_from_the_chats(own: bool) -> None:
    with FakeOpenAI() as first, FakeOpenAI() as second:
        made = embedder(
            base_url=second.url if own else "",
            api_key=f"{KEY}-2" if own else None,
            chat_base_url=first.url,
            chat_api_key=f"{KEY}-1",
        )
        assert isinstance(made, OpenAIEmbedder)
        await made.embed_query("a")
        await made.close()
        asked, other = (second, first) if own else (first, second)
        assert other.embeddings.requests == []
        assert asked.embeddings.requests[0].headers["authorization"] == f"Bearer {KEY}-{2 if own else 1}"
