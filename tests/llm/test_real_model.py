"""The whole path with a real, small model behind a real server: `make test-llm`.

What it writes is poor, and its JSON as good as never what was asked for. So what is tested is that all of it comes
to a good end: what cannot be used is replaced, what was paid for is counted, and every window keeps its promises.
"""

import subprocess
import sys
from collections.abc import Iterator, Sequence
from functools import cache

import httpx
import pytest

from app.main import build_app
from app.postgres.embedded import EmbeddedPostgres
from app.settings import Settings
from app.text.tokens import TokenCounter
from tests.api.kit import Json, append, assistant, contents, ok, path, turn, user, window
from tests.api.promises import Watch, head_of
from tests.conftest import serving, wait_for
from tests.llm.server import CONTEXT_WINDOW, missing

pytestmark = pytest.mark.skipif(bool(missing()), reason=f"not installed: {missing()}; `make test-llm` does it")

BUDGET = 4000
SECONDS_MAX = 600.0
"""For what takes one minute on a machine with nothing else to do."""
SAID = (
    ("My cat Mia is three years old.", "A fine age for a cat."),
    ("She eats salmon at seven in the morning.", "I will remember that."),
    ("We live in Lisbon, near the river.", "It must be sunny there."),
    ("The vet is called Ana.", "Noted."),
)
SUMMARY_TRIES = 2
"""Failures of the summary that are waited for; the queue would go on for longer."""


@pytest.fixture(scope="module")
def model_url() -> Iterator[str]:
    with subprocess.Popen([sys.executable, "-m", "tests.llm.server"], stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        url = server.stdout.readline().strip()
        assert url.startswith("http://127.0.0.1:"), "the model's server did not start"
        yield url
        server.terminate()
        try:
            server.wait(10)
        except subprocess.TimeoutExpired:
            server.kill()


@pytest.fixture(scope="module")
def base_url(postgres: EmbeddedPostgres, settings: Settings, model_url: str) -> Iterator[str]:
    """The service with its worker, as `quire serve` runs it."""
    changes = {
        "memory_llm_model": "smollm2",
        "memory_llm_base_url": model_url,
        "memory_llm_context_window": CONTEXT_WINDOW,
        "memory_summary_threshold": 2 * len(SAID),
        "memory_llm_concurrency": 1,
        "memory_llm_timeout_seconds": 120.0,
        "quire_worker_llm_jobs": 1,
    }
    yield from serving(build_app(settings.model_copy(update=changes), postgres.app_dsn, with_worker=True))


def test_from_an_append_to_a_window_that_quotes_what_the_model_wrote(
    client: httpx.Client, counter: TokenCounter
) -> None:
    paging = {"active_pages": 2, "full_recent_count": 2, "summary_max": 60}
    ok(client.post("/conversations", json={"id": "c", "user_id": "u", "budget": BUDGET, "settings": paging}), 201)
    watch = Watch(client, "c", cache(counter.count), None)
    sent: list[Json] = []

    def say(messages: Sequence[Json]) -> None:
        append(client, "c", messages)
        sent.extend(messages)
        watch.look(sent)

    for question, answer in SAID:
        say([user(question), assistant(answer)])
    wait_for(lambda: is_settled(client), seconds=SECONDS_MAX, every=0.5)

    jobs = ok(client.get("/jobs"))
    assert {job["kind"] for job in jobs["items"]} <= {"summary"}, "a page is never given up: it is indexed extractively"
    spent = ok(client.get(path("c", "status")))["spent"]
    closed = len(SAID) - 1
    assert closed <= spent["page"]["calls"] <= 2 * closed
    assert spent["page"]["prompt_tokens"] > spent["page"]["completion_tokens"] > 0
    assert spent["summary"]["calls"] >= 1

    summary = ok(client.get(path("c", "summary")))
    if summary["source"] == "llm":
        assert summary["version"] >= 1
        assert summary["text"].strip()
    else:
        assert summary["lag"] > 0
        assert "UnusableReply" in jobs["lanes"]["llm"]["error"]

    found, epoch = window(client, "c"), window(client, "c")["epoch"]
    for number in range(20):
        if found["epoch"] > epoch and found["pages"]["listed"]:
            break
        say(turn(number))
        found = window(client, "c")
    head = head_of(found)
    written = [
        s["text"].split("\n")[0] for s in (summary, ok(client.get(path("c", "summary")))) if s["source"] == "llm"
    ]
    assert not written or any(line in head for line in written)
    titles = {entry["page"]: entry["title"] for entry in contents(client, "c")["entries"]}
    quoted = [page for page in found["pages"]["listed"] if page <= closed]
    assert quoted
    assert all(titles[page] in head for page in quoted), (head, titles)

    asked = {"user_id": "u", "conversation_id": "c", "query": "the cat Mia", "max_iterations": 1}
    recalled = ok(client.post("/memories/recall", json=asked, timeout=SECONDS_MAX))
    assert recalled["search_summary"]
    assert recalled["iteration_used"] == 1


def is_settled(client: httpx.Client) -> bool:
    """Every page is indexed; and the summary is there, or has failed a few times."""
    status, lanes = ok(client.get(path("c", "status"))), ok(client.get("/jobs"))["lanes"]
    left = status["pending"] + status["running"]
    tried = status["spent"].get("summary", {}).get("calls", 0) >= SUMMARY_TRIES
    has_failed = tried and lanes.get("llm", {}).get("error") is not None
    return left == 0 or (left == 1 and status["unindexed"] == 0 and has_failed)
