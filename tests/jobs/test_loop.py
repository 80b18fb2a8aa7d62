"""The jobs as the worker runs them: everything that was said gets its index and its summary, by itself."""

import asyncio

import httpx

from app import worker as worker_root
from app.queue.loop import Pace
from tests.api.kit import Json, append, ok, path, turn, window
from tests.conftest import wait_for
from tests.jobs.conftest import MakeWorker
from tests.jobs.kit import Model, index_of
from tests.providers import fake_openai
from tests.providers.fake_openai import FakeOpenAI


def test_two_workers_catch_up_despite_a_flaky_provider(
    client: httpx.Client, make_worker: MakeWorker, model: Model, api: FakeOpenAI
) -> None:
    model.page = lambda request: index_of(request, topics=["Questions"])
    faults = [fake_openai.status(500), fake_openai.reset_within(), fake_openai.truncated(), fake_openai.ok("None")]
    api.chat.queue.extend(faults * 3)
    names = [f"c{n}" for n in range(4)]
    stops = []
    for found in (make_worker(), make_worker()):
        stop = found.portal.call(_event)
        stops.append((found, stop, found.portal.start_task_soon(_work, found.runtime, stop)))
    for number in range(12):
        for name in names:
            append(client, name, turn(number))

    def is_done() -> bool:
        return all(_lags(client, name) == (11, 0) for name in names)

    wait_for(is_done, seconds=60)
    for found, stop, task in stops:
        found.portal.call(stop.set)
        task.result(30)
    for name in names:
        topics = {t["topic"]: t["mention_count"] for t in ok(client.get(path(name, "topics")))["items"]}
        by_model = [page for page in _pages(client, name) if page["source"] == "llm"]
        assert len(by_model) >= 5, "what failed twice is extractive"
        assert sum(n for topic, n in topics.items() if "question" in topic.lower()) >= len(by_model)


def _lags(client: httpx.Client, name: str) -> tuple[int, int]:
    return window(client, name)["lag"]["indexed_through_page"], ok(client.get(path(name, "summary")))["lag"]


def _pages(client: httpx.Client, name: str) -> list[Json]:
    found: list[Json] = ok(client.get(path(name, "pages")))["items"]
    return found


async def _event() -> asyncio.Event:
    return asyncio.Event()


async def _work(runtime: object, stop: asyncio.Event) -> None:
    await worker_root.run(runtime, stop, pace=Pace(poll=0.05))  # type: ignore[arg-type]
