"""The service with its worker, the provider that it asks, and what can be seen of both from outside."""

import asyncio
import random
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import asyncpg
import httpx
from fastapi import FastAPI

from app.assembly import Models
from app.main import build_app
from app.providers import Chat, Embedder
from app.providers.breaker import BreakerPolicy
from app.providers.calls import Clock
from app.providers.model_api import ModelApi
from app.providers.openai_chat import OpenAIChat
from app.providers.openai_embeddings import OpenAIEmbedder
from app.queue.loop import Pace
from app.settings import Settings
from app.text.tokens import TokenCounter
from tests.api.kit import Json, append, ok, path, turn
from tests.api.promises import Watch, head_of
from tests.conftest import wait_for
from tests.jobs.kit import Model, index_of, shown
from tests.providers import fake_openai as fake
from tests.providers.fake_openai import Behaviour, FakeOpenAI

Sql = Callable[[str], list[asyncpg.Record]]

PACE = Pace(poll=0.05, reap=0.05, probe=0.05)
PATIENCE_SECONDS = 2.0
"""What a call may take: a provider that hangs costs a test so much."""
PAGING = {"active_pages": 4, "full_recent_count": 4}
"""So that a few turns are enough for a head that quotes what the jobs wrote."""
SUBJECT = "Everyday life"


def models(url: str) -> Models:
    """As the settings would build them, but impatient: they pause for a hundredth of the time."""

    async def pause(seconds: float) -> None:
        await asyncio.sleep(seconds / 100)

    async def build(settings: Settings, counter: TokenCounter) -> tuple[Chat | None, Embedder | None]:
        shared: dict[str, Any] = {
            "model": "fake",
            "api": ModelApi(url, timeout_seconds=PATIENCE_SECONDS),
            "policy": BreakerPolicy(open_seconds=0.05),
            "clock": Clock(sleep=pause, chance=random.random),
        }
        return OpenAIChat(context_window=32_000, count=counter.count, **shared), OpenAIEmbedder(**shared)

    return build


def service(settings: Settings, dsn: str, url: str, *, with_worker: bool = True) -> FastAPI:
    """Build what `quire serve` runs."""
    return build_app(settings, dsn, with_worker=with_worker, models=models(url), pace=PACE)


def index(request: Json) -> Json:
    """One subject and one fact for each page, so that what is done twice shows."""
    [(seq, (_, said)), *_] = shown(request).items()
    return index_of(request, topics=[SUBJECT], memories=[{"text": said[:80], "quote": said[:80], "seq": seq}])


@dataclass
class Provider:
    """Both lanes' provider, which fails as it is told."""

    api: FakeOpenAI
    model: Model

    def heal(self) -> None:
        for endpoint in (self.api.chat, self.api.embeddings):
            endpoint.default, endpoint.picks = fake.ok(), None
            endpoint.queue.clear()
        self.model.page, self.model.summary = index, Model.summary
        self.api.release()

    def fails(self, lane: str, fault: Behaviour) -> None:
        {"llm": self.api.chat, "embedding": self.api.embeddings}[lane].default = fault


@dataclass
class Conversation:
    """A conversation that is watched while it goes on."""

    client: httpx.Client
    sql: Sql
    counter: TokenCounter
    name: str = "c"
    sent: list[Json] = field(default_factory=list)

    def __post_init__(self) -> None:
        ok(self.client.post("/conversations", json={"id": self.name, "user_id": "u", "settings": PAGING}), 201)
        self.watches = [
            Watch(self.client, self.name, cache(self.counter.count), budget, form, limits_pages=True)
            for budget, form in ((4000, "openai"), (None, "anthropic"))
        ]

    @property
    def closed(self) -> int:
        return len(self.sent) // 2 - 1

    def goes_on(self, turns: int) -> Json:
        """Turn by turn, with a look at the windows after each; the last one."""
        found: Json | None = None
        for _ in range(turns):
            self.says(1)
            for watch in self.watches:
                found = watch.look(self.sent) or found
        assert found is not None
        return found

    def says(self, turns: int) -> None:
        """At once."""
        first = self.closed + 2
        messages = [message for number in range(first, first + turns) for message in turn(number, words=10)]
        append(self.client, self.name, messages)
        self.sent += messages

    def head(self) -> str:
        found = self.watches[0].look(self.sent)
        assert found is not None
        return head_of(found)

    def get(self, *rest: str) -> Json:
        return ok(self.client.get(path(self.name, *rest)))

    def jobs(self) -> Json:
        return ok(self.client.get("/jobs"))

    def error_of(self, lane: str) -> str | None:
        found: str | None = self.jobs()["lanes"].get(lane, {}).get("error")
        return found

    def sources(self) -> dict[int, str]:
        rows = self.sql(f"SELECT page, source FROM page_index WHERE conversation_id = '{self.name}'")
        return {row["page"]: row["source"] for row in rows}

    def time_passes(self) -> None:
        """What waits for its next attempt is due."""
        self.sql("UPDATE work SET due = now() WHERE token IS NULL AND failed_at IS NULL AND due > now()")

    def is_settled(self, *, dead: int = 0) -> bool:
        """Nothing is left to be done, though it may need a while to pass."""
        self.time_passes()
        jobs = self.jobs()
        return (jobs["pending"], jobs["running"], jobs["dead"]) == (0, 0, dead)

    def settles(self, *, dead: int = 0) -> None:
        wait_for(lambda: self.is_settled(dead=dead), seconds=60)

    def assert_complete(self, *, extractive: range = range(0)) -> None:
        """Everything was done, and once: by the model, but for those pages of which it gave nothing to be used."""
        assert self.sources() == {n: "extractive" if n in extractive else "llm" for n in range(1, self.closed + 1)}
        pages = [page for page in range(1, self.closed + 1) if page not in extractive]
        facts = self.sql(f"SELECT page FROM memories WHERE conversation_id = '{self.name}' AND type = 'fact'")
        assert sorted(row["page"] for row in facts) == pages
        [topic] = [topic for topic in self.get("topics")["items"] if topic["topic"] == SUBJECT]
        assert topic["mention_count"] == len(pages)
        summary = self.get("summary")
        assert summary["source"] == "llm"
        assert len(self.sent) - summary["through_seq"] < 6 + 5
        assert self.get("status")["unindexed"] == 0
        [row] = self.sql(
            "SELECT count(*) AS memories, count(e.memory_id) AS vectors, (SELECT count(*) FROM unembedded) AS wanted"
            " FROM memories m LEFT JOIN embeddings e ON e.memory_id = m.id"
        )
        assert (row["vectors"], row["wanted"]) == (row["memories"], 0)
        kept = ok(self.client.get(path(self.name, "messages"), params={"limit": 200}))["items"]
        assert [m["content"] for m in kept] == [m["content"] for m in self.sent]
