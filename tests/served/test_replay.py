"""The window that a model saw is given back byte for byte, whatever came later."""

from __future__ import annotations

from collections.abc import Iterator

import httpx
import pytest

from app.main import build_app
from app.postgres.embedded import EmbeddedPostgres
from app.settings import Settings
from tests.api.kit import append, assistant, call, ok, path, recall, result, user
from tests.conftest import patient, serving
from tests.served.kit import (
    BUDGETS,
    FORMATS,
    RECORDED,
    Sent,
    calls,
    first,
    is_given_back,
    records,
    served,
    transcripts,
)

CALLS_MAX = 60


@pytest.fixture(scope="module")
def elsewhere(postgres: EmbeddedPostgres, settings: Settings) -> Iterator[str]:
    """Yield the URL of another service that shares only the database, like another process."""
    yield from serving(build_app(settings, postgres.app_dsn))


@pytest.fixture
def other(elsewhere: str) -> Iterator[httpx.Client]:
    with patient(elsewhere) as opened:
        yield opened


def played(client: httpx.Client, conversation: str, name: str) -> list[Sent]:
    """Return the windows of each budget and format before each model call of a transcript."""
    sent: list[Sent] = []
    for transcript in transcripts(1, name):
        for messages in first(calls(transcript.messages), CALLS_MAX):
            append(client, conversation, messages)
            for budget in BUDGETS:
                for form in FORMATS:
                    answer = client.get(path(conversation, "context"), params={"budget": budget, "format": form})
                    if answer.status_code == 200:
                        sent.append(Sent(answer.content, "", answer.headers["x-quire-receipt"]))
    return sent


@pytest.mark.slow
@pytest.mark.parametrize("name", ["shipped", *RECORDED])
def test_the_windows_of_a_transcript_are_given_back(client: httpx.Client, other: httpx.Client, name: str) -> None:
    sent = played(client, "c", name)
    if not sent:
        pytest.skip("the transcripts are not at hand")
    listed = list(reversed(records(client, "c")))
    assert [one["id"] for one in listed] == list(range(1, len(listed) + 1))
    assert [one["root"] for one in listed] == [one.root for one in sent]
    recall(client, "c", 1)
    append(client, "c", [{"role": "user", "content": "And then?"}, {"role": "assistant", "content": "Nothing."}])
    ok(client.patch(path("c"), json={"system": "Speak like a pirate.", "budget": 5_000}))
    ok(client.post(path("c", "notes"), json={"text": "Answer in French."}), 201)
    for record, one in zip(listed, sent, strict=True):
        assert is_given_back(other, "c", record, one), record


@pytest.mark.parametrize("form", FORMATS)
def test_a_result_that_came_late_changes_no_earlier_window(client: httpx.Client, form: str) -> None:
    append(client, "c", [user("look twice"), call("a", "b"), result("a"), user("go on"), call("d"), result("d")])
    sent = [served(client, "c", format=form)]
    append(client, "c", [assistant("Done."), user("more")])
    sent.append(served(client, "c", format=form))
    append(client, "c", [result("b", "at last"), assistant("Both.")])
    sent.append(served(client, "c", format=form))
    listed = list(reversed(records(client, "c")))
    assert all(is_given_back(client, "c", *pair) for pair in zip(listed, sent, strict=True))
