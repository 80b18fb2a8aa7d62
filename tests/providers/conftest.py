"""A provider on loopback, models that speak to it, and a time that passes only when somebody sleeps."""

from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import dataclass, field, fields, replace
from typing import Any

import pytest

from app.providers.calls import Clock
from app.providers.model_api import ModelApi
from app.providers.openai_chat import OpenAIChat
from app.providers.openai_embeddings import OpenAIEmbedder
from tests.providers.fake_openai import FakeOpenAI

KEY = "sk-secret-0123456789abcdef"
EPOCH = 1_800_000_000.0

MakeChat = Callable[..., OpenAIChat]
MakeEmbedder = Callable[..., OpenAIEmbedder]


@dataclass
class Time:
    now: float = 1000.0
    slept: list[float] = field(default_factory=list)

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.now += seconds

    def clock(self) -> Clock:
        return Clock(monotonic=lambda: self.now, epoch=lambda: EPOCH, sleep=self.sleep, chance=lambda: 0.5)


@pytest.fixture
def api() -> Iterator[FakeOpenAI]:
    with FakeOpenAI() as server:
        yield server


@pytest.fixture
def time() -> Time:
    return Time()


def _changed(values: dict[str, Any], changes: dict[str, Any]) -> dict[str, Any]:
    """Return the values with changes, some of them of the API."""
    names = {field.name for field in fields(ModelApi)} & changes.keys()
    api = replace(values["api"], **{name: changes.pop(name) for name in names})
    return {**values, "api": api, **changes}


@pytest.fixture
async def make_chat(api: FakeOpenAI, time: Time) -> AsyncIterator[MakeChat]:
    made = []

    def make(**changes: Any) -> OpenAIChat:
        values: dict[str, Any] = {
            "model": "fake",
            "api": ModelApi(api.url, KEY),
            "context_window": 8000,
            "count": len,
            "clock": time.clock(),
        }
        made.append(OpenAIChat(**_changed(values, changes)))
        return made[-1]

    yield make
    for chat in made:
        await chat.close()


@pytest.fixture
async def make_embedder(api: FakeOpenAI, time: Time) -> AsyncIterator[MakeEmbedder]:
    made = []

    def make(**changes: Any) -> OpenAIEmbedder:
        values: dict[str, Any] = {"model": "fake", "api": ModelApi(api.url, KEY, concurrency=2), "clock": time.clock()}
        made.append(OpenAIEmbedder(**_changed(values, changes)))
        return made[-1]

    yield make
    for embedder in made:
        await embedder.close()


@pytest.fixture
def chat(make_chat: MakeChat) -> OpenAIChat:
    return make_chat()


@pytest.fixture
def embedder(make_embedder: MakeEmbedder) -> OpenAIEmbedder:
    return make_embedder()
