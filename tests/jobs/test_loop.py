"""The jobs as the worker runs them: everything that was said gets its index and its summary, by itself."""

import asyncio

import httpx
import pytest

from app import worker as worker_root
from app.errors import StorageUnavailable
from app.queue.loop import Pace
from app.runtime import Runtime
from tests.api.kit import Json, append, ok, path, turn, window
from tests.conftest import wait_for
from tests.jobs.conftest import MakeWorker
from tests.jobs.kit import Model, index_of
from tests.providers import fake_openai
from tests.providers.fake_openai import FakeOpenAI


@pytest.mark.slow
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


def test_an_outage_takes_a_line_of_the_log_and_a_defect_its_traceback(
    make_worker: MakeWorker, caplog: pytest.LogCaptureFixture
) -> None:
    worker = make_worker()
    stop = worker.portal.call(_event)
    failures: list[Exception] = [StorageUnavailable("The database did not answer in time."), ValueError("a defect")]

    async def task(_: Runtime) -> None:
        if failures:
            raise failures.pop(0)
        stop.set()

    worker.portal.call(_repeat, task, worker.runtime, stop)
    own = [record for record in caplog.records if record.name == "app.worker"]
    assert [(record.levelname, record.exc_info is not None) for record in own] == [("WARNING", False), ("ERROR", True)]


def _lags(client: httpx.Client, name: str) -> tuple[int, int]:
    return window(client, name)["lag"]["indexed_through_page"], ok(client.get(path(name, "summary")))["lag"]


def _pages(client: httpx.Client, name: str) -> list[Json]:
    found: list[Json] = ok(client.get(path(name, "pages")))["items"]
    return found


async def _event() -> asyncio.Event:
    return asyncio.Event()


async def _work(runtime: object, stop: asyncio.Event) -> None:
    await worker_root.run(runtime, stop, pace=Pace(poll=0.05))  # type: ignore[arg-type]


async def _repeat(task: worker_root.Task, runtime: Runtime, stop: asyncio.Event) -> None:
    await worker_root.repeat(task, runtime, stop, interval_seconds=0.01)
