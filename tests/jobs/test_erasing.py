"""What a model made of erased text goes with it, and is made again of what is left."""

import json
from collections.abc import Callable

import httpx
import pytest

from tests.api.kit import Json, append, call, contents, ok, path, recall, result, turn, user, window
from tests.archive.conftest import tables_with
from tests.archive.made import all_text
from tests.erasure.test_transfer import exported, imported, seen
from tests.jobs.conftest import MakeWorker
from tests.jobs.kit import Model, index_of, shown

__all__ = ["tables_with"]
MARK = "Xylocarpus"
SECRET = f"The {MARK} seeds are under the pier of the harbour."


def telling(request: Json) -> Json:
    """An index that repeats whatever it is shown."""
    said = next((text for _, text in shown(request).values() if MARK in text), "")
    seq = next(iter(shown(request)))
    if not said:
        return index_of(request, topics=["plain"])
    memory = {"text": said, "quote": said, "seq": seq}
    wish = {"quote": said, "seq": seq, "pinned": True}
    lines = {str(s): text for s, (_, text) in shown(request).items()}
    return index_of(request, title=said, lines=lines, topics=[said[:30]], memories=[memory, wish])


def test_model_output_about_an_erased_message_is_regenerated(
    client: httpx.Client, make_worker: MakeWorker, model: Model, tables_with: object
) -> None:
    model.page = telling
    model.summary = lambda request: "\n".join(text for _, text in shown(request).values())[:600] or "Nothing."
    append(client, "c", turn(0))
    append(client, "c", [user(SECRET), *turn(1)[1:]])
    for number in range(2, 14):
        append(client, "c", turn(number))
    worker = make_worker()
    worker.drain()
    held = tables_with(MARK)  # type: ignore[operator]
    assert {"page_index", "summaries", "memories", "messages"} <= set(held)
    gone = ok(client.delete(path("c", "messages", "3")))["erased"]
    assert (gone["page_index"], gone["messages"]) == (1, 1)
    assert gone["summaries"] >= 1
    assert tables_with(MARK) == []  # type: ignore[operator]
    status = ok(client.get(path("c", "status")))
    assert status["pending"] >= 2
    worker.drain()
    assert tables_with(MARK) == []  # type: ignore[operator]
    assert ok(client.get(path("c", "summary")))["source"] == "llm"
    page = ok(client.get(path("c", "pages/2")))
    assert page["source"] == "llm"
    assert ok(client.get(path("c", "status")))["pending"] == 0
    for budget in (2_500, 4_000, 60_000):
        assert MARK not in all_text(window(client, "c", budget=budget))
    assert MARK not in json.dumps(contents(client, "c"))


def test_model_output_about_a_placeholder_is_erased_with_its_archive(
    client: httpx.Client, make_worker: MakeWorker, model: Model, tables_with: object
) -> None:
    said = {"title": SECRET, "topics": [MARK]}
    model.page = lambda request: index_of(request, **(said if MARK in str(request).split("quire-topics")[0] else {}))
    model.summary = lambda request: SECRET if MARK in str(request) else "Each question has its answer, no secret."
    append(client, "c", turn(0))
    stored = append(client, "c", [user("and now?"), call("a"), result("a", f"{SECRET} " * 400)])["messages"]
    for number in range(2, 14):
        append(client, "c", turn(number))
    worker = make_worker()
    worker.drain()
    assert {"page_index", "summaries", "archives"} <= set(tables_with(MARK))  # type: ignore[operator]
    ok(client.delete(f"/archive/{stored[2]['archive_id']}"))
    assert tables_with(MARK) == []  # type: ignore[operator]
    worker.drain()
    assert ok(client.get(path("c", "pages/2")))["source"] == "llm"
    assert tables_with(MARK) == []  # type: ignore[operator]


def test_a_job_that_read_the_text_before_it_was_erased_stores_nothing_of_it(
    client: httpx.Client, make_worker: MakeWorker, model: Model, tables_with: object
) -> None:
    def erased_meanwhile(request: Json) -> Json:
        said = telling(request)
        ok(client.delete(path("c", "pages", "1")))
        return said

    append(client, "c", [user(SECRET), *turn(1)[1:]])
    append(client, "c", turn(2))
    model.page = erased_meanwhile
    worker = make_worker()
    [claimed] = worker.claims(["page"])
    worker.run(claimed)
    assert tables_with(MARK) == []  # type: ignore[operator]
    model.page = telling
    worker.drain("page")
    assert ok(client.get(path("c", "pages/1")))["source"] == "llm"
    assert tables_with(MARK) == []  # type: ignore[operator]


@pytest.mark.slow
def test_model_output_survives_export_and_import_without_new_calls(
    client: httpx.Client, make_worker: MakeWorker, model: Model, delete_every_row: Callable[[], None]
) -> None:
    model.page = telling
    worker = make_worker()
    for number in range(30):
        said = [user(f"{SECRET} {number}"), *turn(number)[1:]] if number % 5 == 0 else turn(number, words=60)
        append(client, "c", said)
        if number % 4 == 3:
            worker.drain()
        if number % 7 == 6:
            recall(client, "c", number - 4)
    worker.drain()
    shown_before = seen(client)
    lines = exported(client, path("c"))
    kinds = [json.loads(line)["type"] for line in lines]
    assert (kinds.count("page"), kinds.count("recall")) == (29, 4)
    assert kinds.count("summary") >= 2
    delete_every_row()
    asked = len(model.asked)
    counts = imported(client, lines)["imported"]
    assert (counts["page_index"], counts["recalls"], counts["messages"]) == (29, 4, 60)
    assert seen(client) == shown_before
    worker.drain()
    assert len(model.asked) == asked
    assert exported(client, path("c")) == lines
    assert imported(client, lines)["imported"] == {}
