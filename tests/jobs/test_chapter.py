"""A model's titles of chapters: on the map from the next epoch on, gone with what they tell, shared by branches."""

import json
from collections.abc import Callable

import asyncpg
import httpx
import pytest

from tests.api.kit import Json, append, ok, path, window
from tests.api.promises import head_of
from tests.api.test_map import PAGES, said
from tests.archive.conftest import tables_with
from tests.by_turns import by_turns
from tests.erasure.test_transfer import exported, imported
from tests.jobs.conftest import MakeWorker
from tests.jobs.kit import Model, Worker, name_of, shown

__all__ = ["tables_with"]
BUDGET = 16_000
MARK = "Xylocarpus"
UNUSABLE: list[Json | str] = [
    "I cannot help with that.", {"name": "Yes"}, {"title": ""}, {"title": 1},
]  # fmt: skip
NAMED = "SELECT first_page, title FROM chapter_names WHERE conversation_id = 'c' ORDER BY first_page"


def long(first: int, last: int) -> list[Json]:
    """Pages of which a window has room for some twenty."""
    said_ = [message for page in range(first, last + 1) for message in said(page)]
    return [{**m, "content": m["content"] * (1 if m["role"] == "user" else 15)} for m in said_]


def talk(client: httpx.Client, first: int = 1, last: int = PAGES) -> None:
    """Pages of which but the newest have lines of their own."""
    if first == 1:
        ok(client.post("/conversations", json={"id": "c", "user_id": "u", "settings": {"unlist_after_turns": 25}}), 201)
    append(client, "c", long(first, last))


def head(client: httpx.Client, name: str = "c") -> str:
    found: str = head_of(window(client, name, budget=BUDGET))
    return found


def test_a_title_comes_with_the_next_epoch(client: httpx.Client, worker: Worker, model: Model) -> None:
    talk(client, 1, 40)
    before = window(client, "c", budget=BUDGET)
    worker.drain()
    assert len(model.of("chapter")) > 2
    assert window(client, "c", budget=BUDGET)["messages"] == before["messages"], "the epoch's map is frozen"
    talk(client, 41, 200)  # so many that pages of named chapters have no lines of their own
    assert window(client, "c", budget=BUDGET)["epoch"] != before["epoch"]
    assert "Title from " in head(client)
    assert "harbour" in next(line for line in head(client).splitlines() if "Title from " in line), "and its terms"


def test_the_model_reads_a_line_for_each_message_of_the_chapter(
    client: httpx.Client, worker: Worker, model: Model
) -> None:
    talk(client, 1, 40)
    worker.drain("page")
    worker.drain()
    first, *_ = model.of("chapter")
    told = shown(first)
    assert list(told) == list(range(1, len(told) + 1))
    assert told[1] == ("user", "line 1"), "what the page's job has written of it"


@pytest.mark.parametrize("reply", by_turns(UNUSABLE, every=4))
def test_a_reply_that_cannot_be_used_leaves_the_chapter_as_it_was(
    client: httpx.Client, worker: Worker, model: Model, reply: Json | str,
    run_as_superuser: Callable[[str], list[asyncpg.Record]],
) -> None:  # fmt: skip
    talk(client, 1, 40)
    worker.drain("page", "summary")
    model.chapter = lambda _: reply
    assert set(worker.drain(rounds=1)) == {"UnusableReply"}
    assert run_as_superuser(NAMED) == []
    assert run_as_superuser("SELECT attempts FROM work WHERE kind = 'chapter'"), "the queue tries again"
    model.chapter = name_of
    worker.drain()
    assert run_as_superuser(NAMED)


@pytest.mark.slow
def test_a_job_that_runs_twice_names_once(
    client: httpx.Client, worker: Worker, model: Model, run_as_superuser: Callable[[str], list[asyncpg.Record]]
) -> None:
    talk(client, 1, 40)
    worker.drain("page", "summary")
    jobs = worker.claims(("chapter",))
    first = [worker.run(job) for job in jobs]
    model.chapter = lambda _: {"title": "Another title"}
    assert (set(first), {worker.run(job) for job in jobs}) == ({"done"}, {"lost"})
    assert all(row["title"].startswith("Title from") for row in run_as_superuser(NAMED))


@pytest.mark.slow
def test_what_was_erased_is_in_no_title(
    client: httpx.Client, worker: Worker, model: Model, tables_with: Callable[[str], list[str]]
) -> None:
    def telling(request: Json) -> Json:
        text = next((text for _, text in shown(request).values() if MARK in text), "It is about the harbour.")
        return {"title": text[:80]}

    model.chapter = telling
    talk(client, 1, 4)
    append(client, "c", [{"role": "user", "content": f"The {MARK} seeds are under the pier of the harbour."}])
    talk(client, 5, 60)
    model.page = lambda request: {"title": "A page", "lines": {str(s): t for s, (_, t) in shown(request).items()}}
    worker.drain()
    assert "chapter_names" in tables_with(MARK)
    gone = ok(client.delete(path("c", "messages", "9")))["erased"]
    assert gone["chapter_names"] == 1
    assert tables_with(MARK) == []
    asked = len(model.of("chapter"))
    worker.drain()
    assert len(model.of("chapter")) == asked + 1, "named anew of what is left"
    assert tables_with(MARK) == []


@pytest.mark.slow
def test_a_branch_has_the_titles_of_what_it_shares(client: httpx.Client, worker: Worker) -> None:
    talk(client, 1, 30)
    worker.drain()
    talk(client, 31, 40)
    ok(client.post(path("c", "fork"), json={"at": 70, "position": "after", "id": "b"}), 201)
    append(client, "b", long(200, 220))
    assert "Title from " in head(client, "b")
    worker.drain()
    append(client, "c", long(300, 310))
    seen = head(client, "b")
    assert all(f"number {page}" not in seen for page in range(300, 310))


@pytest.mark.slow
def test_titles_are_exported_and_imported(client: httpx.Client, worker: Worker) -> None:
    talk(client, 1, 40)
    worker.drain()
    talk(client, 41, 56)
    worker.drain()
    lines = exported(client, path("c"))
    titles = [line for line in lines if '"type":"chapter"' in line]
    assert titles
    before = head(client)
    assert "Title from " in before
    ok(client.delete(path("c")))
    done = imported(client, lines)
    assert done["imported"]["chapter_names"] == len(titles)
    assert head(client) == before
    again = imported(client, lines)
    assert again["imported"].get("chapter_names", 0) == 0
    assert json.loads(titles[0])["title"].startswith("Title from")


def test_without_a_model_nothing_is_enqueued(
    plain: httpx.Client, make_worker: MakeWorker, run_as_superuser: Callable[[str], list[asyncpg.Record]]
) -> None:
    talk(plain, 1, 40)
    assert run_as_superuser("SELECT FROM work WHERE kind = 'chapter'") == []
    assert run_as_superuser("SELECT FROM chapters")
