"""When what has left the verbatim zone was said: date lines in head and condensed zone."""

from datetime import UTC, date, datetime, timedelta
from itertools import pairwise
from typing import Any

import httpx
import pytest

from tests.api.kit import Json, append, assistant, ok, path, user, window

ENGLISH, CHINESE = "why was the shipment late ", "这批货为什么晚到了"
FORMATS = ("openai", "anthropic")


def talk(client: httpx.Client, text: str, days: int, turns: int = 40) -> list[Json]:
    """Turns of which each is some days after the one before; the windows after each."""
    shown = []
    for turn in range(turns):
        said = datetime(2024, 3, 1, 9, tzinfo=UTC) + timedelta(days=turn * days)
        asked = user(f"{turn} {text * 6}", said_at=said.isoformat())
        append(client, "c", [asked, assistant(f"{turn} {text * 6}", said_at=said.isoformat())])
        shown.append(window(client, "c", budget=3_000))
    return shown


def parts_of(message: Json) -> list[str]:
    content = message["content"]
    return [content] if isinstance(content, str) else [part["text"] for part in content]


def dates(found: Json, mark: str) -> list[str]:
    parts = (part for message in found["messages"] for part in parts_of(message))
    lines = (line for part in parts for line in part.split("\n"))
    return [line.removeprefix(mark).removesuffix("]") for line in lines if line.startswith(mark)]


@pytest.mark.parametrize(("text", "mark"), [(ENGLISH, "[Date: "), (CHINESE, "[日期：")])
def test_the_day_is_told_where_it_changes_and_frozen_with_the_epoch(
    client: httpx.Client, other: httpx.Client, text: str, mark: str
) -> None:
    shown = talk(client, text, days=1)
    found = shown[-1]
    told = dates(found, mark)
    assert told
    assert all(date(2024, 3, 1) <= date.fromisoformat(day) < date(2024, 4, 10) for day in told)
    first = found["pages"]["verbatim"][0]
    assert date.fromisoformat(told[-1]) == date(2024, 3, 1) + timedelta(days=first - 1)
    assert not any("said_at" in message for message in found["messages"])
    for before, after in pairwise(shown):
        assert after["usage"]["total"] <= 2_700
        if before["epoch"] == after["epoch"]:
            assert after["messages"][: before["stable_messages"]] == before["messages"][: before["stable_messages"]]
    assert window(other, "c", budget=3_000) == found
    in_anthropic_form = window(client, "c", budget=3_000, format="anthropic")
    assert dates(in_anthropic_form, mark)


def test_what_was_said_on_one_day_has_one_date_line(client: httpx.Client) -> None:
    assert dates(talk(client, ENGLISH, days=0)[-1], "[Date: ") == ["2024-03-01"]


def test_a_whole_history_is_as_it_was_sent(client: httpx.Client) -> None:
    assert dates(talk(client, ENGLISH, days=1, turns=5)[-1], "[Date: ") == []


@pytest.mark.parametrize("form", FORMATS)
def test_messages_without_a_time_are_of_the_day_they_were_stored_on(client: httpx.Client, form: str) -> None:
    today = {datetime.now(UTC).date().isoformat()}
    for turn in range(40):
        append(client, "c", [user(f"{turn} {ENGLISH * 6}"), assistant(f"{turn} {ENGLISH * 6}")])
    today.add(datetime.now(UTC).date().isoformat())
    assert set(dates(window(client, "c", budget=3_000, format=form), "[Date: ")) <= today


def test_an_erased_message_keeps_no_time_and_its_page_is_not_dated_by_when_it_was_stored(
    client: httpx.Client, run_as_superuser: Any
) -> None:
    talk(client, ENGLISH, days=1)
    ok(client.delete(path("c", "messages", "67")))
    assert run_as_superuser("SELECT said_at FROM messages WHERE seq = 67")[0][0] is None
    told = dates(window(client, "c", budget=3_000), "[Date: ")
    assert told
    assert max(told) < "2024-04-10"
