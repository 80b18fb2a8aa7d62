"""The map of what left a window, over HTTP: complete at any budget, opened by recalls, free of what was erased."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import asyncpg
import httpx
import pytest

from tests.api.kit import Json, append, assistant, contents, ok, path, problem, recall, text_of, user, window
from tests.by_turns import by_turns

PAGES = 160
SUBJECTS = ("harbour", "violin", "tomato", "glacier", "passport", "lantern", "beehive", "kettle")


def said(page: int) -> list[Json]:
    """A turn on a subject that changes every eight pages, after a night."""
    day, minute = divmod(page - 1, 8)
    time = (datetime(2026, 3, 1, 9, tzinfo=UTC) + timedelta(days=day, minutes=minute)).isoformat()
    subject = SUBJECTS[day % len(SUBJECTS)]
    about = f"Our {subject} number {page} stands {subject} {page * 7} metres from the gate. "
    return [user(about + "It has been there for long. " * 5, said_at=time), assistant("Noted. " * 40, said_at=time)]


@pytest.fixture
def long_talk(client: httpx.Client) -> httpx.Client:
    append(client, "c", [message for page in range(1, PAGES + 1) for message in said(page)])
    return client


def covered(found: Json) -> list[int]:
    in_runs = [page for run in found["chapters"] for page in range(run["first_page"], run["last_page"] + 1)]
    return sorted([*(entry["page"] for entry in found["entries"]), *in_runs])


def test_every_page_out_of_view_is_under_one_line(long_talk: httpx.Client) -> None:
    for budget in (1_500, 2_500, 4_000, 8_000, 16_000):
        found = ok(long_talk.get(path("c", "contents"), params={"budget": budget}))
        seen = window(long_talk, "c", budget=budget)
        pages = covered(found)
        assert pages == list(range(1, len(pages) + 1)), budget
        in_view = [*seen["pages"]["verbatim"], *seen["pages"]["condensed"]]
        assert set(pages) | set(in_view) == set(range(1, PAGES + 1)), budget
        head = next(m["content"] for m in seen["messages"] if "<quire-memory>" in text_of(m))
        assert all(run["line"] in head for run in found["chapters"]), budget
        assert found["text"] in head, budget


@pytest.mark.slow
def test_the_map_is_the_same_however_messages_were_batched(long_talk: httpx.Client) -> None:
    for page in range(1, PAGES + 1):
        append(long_talk, "d", said(page), user_id="v")
    for budget in (2_500, 8_000):
        one, other = (
            ok(long_talk.get(path(name, "contents"), params={"budget": budget}))["text"] for name in ("c", "d")
        )
        assert one == other


def test_a_map_stays_as_it_is_within_an_epoch(long_talk: httpx.Client) -> None:
    before = window(long_talk, "c", budget=8_000)
    recall(long_talk, "c", "3-9")
    append(long_talk, "c", [user("And now?")])
    after = window(long_talk, "c", budget=8_000)
    if after["epoch"] == before["epoch"]:
        stable = before["stable_messages"]
        assert after["messages"][:stable] == before["messages"][:stable]


@pytest.mark.parametrize("run", by_turns(["3-9", "3–9", " 3 - 9 ", [3, 9], "3—9"]))
def test_a_run_is_recalled_by_its_lines_and_opens(long_talk: httpx.Client, run: Any) -> None:
    ok(long_talk.patch(path("c"), json={"budget": 8_000}))
    assert not {3, 4, 5} & {entry["page"] for entry in contents(long_talk, "c")["entries"]}
    found = recall(long_talk, "c", run)
    assert found["is_error"] is False
    assert found["content"].startswith("<quire-pages pages 3–9>\n")
    assert all(f"[Page {page}] " in found["content"] for page in range(3, 10))
    counts = [page["recall_count"] for page in ok(long_talk.get(path("c", "pages"), params={"limit": 12}))["items"]]
    assert counts == [0, 0, 1, 1, 1, 1, 1, 1, 1, 0, 0, 0]
    before = window(long_talk, "c")["epoch"]
    seen, page = window(long_talk, "c"), PAGES
    while seen["epoch"] == before:
        page += 1
        append(long_talk, "c", said(page))
        seen = window(long_talk, "c")
    assert set(range(3, 10)) <= set(seen["pages"]["listed"])


def test_a_run_that_is_none_is_explained(long_talk: httpx.Client) -> None:
    runs: list[Any] = ["9-3", "0-4", "3-", "3-4-5", [3], [3, "x"], "-3", "3-99999999999"]
    for run in runs:
        found = recall(long_talk, "c", run)
        assert found["is_error"] is True, run
        assert "12-31" in found["content"], run


def test_a_long_run_says_how_to_read_on(long_talk: httpx.Client) -> None:
    ok(long_talk.patch(path("c"), json={"budget": 4_000}))
    found = recall(long_talk, "c", "1-500")
    assert "[Page 1] " in found["content"]
    assert "reads on" in found["content"]
    assert recall(long_talk, "c", "400-500")["is_error"] is True


def test_chapters_are_the_same_however_pages_came_in(
    client: httpx.Client, run_as_superuser: Callable[[str], list[asyncpg.Record]]
) -> None:
    """A batch of 45 messages ends within a page: the chapter that it closes is of stored messages and of its own."""
    everything: list[Json] = []
    for page in range(PAGES):
        # An answer takes hours and the next question comes at once: no silence ends a page.
        day, hour = 1 + page // 6, 4 * (page % 6)
        everything += [
            user(f"Our {SUBJECTS[day % 8]} is {page}.", said_at=f"2026-03-{day:02}T{hour:02}:00:00+02:00"),
            assistant(f"The {SUBJECTS[page // 9 % 8]} is near.", said_at=f"2026-03-{day:02}T{hour + 3:02}:59:00+02:00"),
        ]
    append(client, "c", everything)
    for first in range(0, len(everything), 45):
        append(client, "odd", everything[first : first + 45], user_id="v")
    for message in everything[: PAGES // 2]:
        append(client, "each", [message], user_id="w")
    columns = "ROW(level, first_page, last_page, at_page, terms, day)::text AS chapter"
    whole, odd, each = (
        run_as_superuser(f"SELECT {columns} FROM chapters WHERE conversation_id = '{name}' ORDER BY level, first_page")
        for name in ("c", "odd", "each")
    )
    assert whole == odd
    assert len(whole) > len(each) > 1
    assert set(each) < set(whole)


def test_no_chapter_says_what_was_erased(
    long_talk: httpx.Client, run_as_superuser: Callable[[str], list[asyncpg.Record]]
) -> None:
    planted = "zyzzogeton"
    append(long_talk, "e", [message for page in range(1, 9) for message in said(page)])
    append(
        long_talk, "e", [user(f"The {planted} is kept at {planted} 9, said the {planted} keeper."), assistant("Noted.")]
    )
    append(long_talk, "e", [message for page in range(9, PAGES + 1) for message in said(page)])
    chapters = "SELECT terms::text AS text FROM chapters WHERE conversation_id = 'e'"
    told = [row["text"] for row in run_as_superuser(chapters)]
    assert len([text for text in told if planted in text]) >= 2, "a chapter and its volume"
    ok(long_talk.delete(path("e", "pages", "9")))
    again = [row["text"] for row in run_as_superuser(chapters)]
    assert len(again) == len(told)
    assert not [text for text in again if planted in text]
    words = run_as_superuser("SELECT words FROM messages WHERE conversation_id = 'e'")
    assert not [row for row in words if planted in row["words"]]
    assert planted not in ok(long_talk.get(path("e", "contents"), params={"budget": 4_000}))["text"]


def test_a_budget_that_is_none_is_refused(client: httpx.Client) -> None:
    append(client, "c", [user()])
    problem(client.get(path("c", "contents"), params={"budget": 0}), 422, "budget")


def test_while_all_is_in_view_the_summary_tells_of_all_but_the_newest_messages(client: httpx.Client) -> None:
    append(client, "c", [message for page in range(1, 12) for message in said(page)])
    summary = ok(client.get(path("c", "summary")))
    assert summary["through_seq"] == 16
    assert "number 8 " in summary["text"]
    assert "number 9 " not in summary["text"]


def test_without_a_model_the_map_is_the_summary(long_talk: httpx.Client) -> None:
    ok(long_talk.patch(path("c"), json={"budget": 8_000}))
    summary = ok(long_talk.get(path("c", "summary")))
    assert summary["source"] == "extractive"
    assert "violin" in summary["text"]
    assert window(long_talk, "c")["usage"]["sections"]["summary"] == 0


def test_pages_that_begin_alike_or_with_a_courtesy_have_titles_that_tell_them_apart(client: httpx.Client) -> None:
    template = "Please review the following clause and tell me whether it is risky for a small firm: "
    for clause in ("prices may rise once a year", "courts sit in Rotterdam", "either may leave in ninety days"):
        append(client, "c", [user(template + clause), assistant("Sure, I'd be happy to help with that!")])
    append(client, "c", [user("Thanks, agreed."), assistant("The Rotterdam clause costs you most.")])
    append(client, "c", [user("Great, thank you!"), assistant("Sure, I'd be happy to help!")])
    titles = [page["title"] for page in ok(client.get(path("c", "pages")))["items"]]
    assert titles[1:] == [
        "…courts sit in Rotterdam",
        "…either may leave in ninety days",
        "The Rotterdam clause costs you most.",
        "",
    ]
