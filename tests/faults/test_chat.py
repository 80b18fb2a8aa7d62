"""The chat provider fails, in each way: nobody who appends or reads a window notices, and afterwards all is done."""

import pytest

from tests.api.kit import window
from tests.conftest import wait_for
from tests.faults.kit import Conversation, Provider
from tests.providers import fake_openai as fake
from tests.providers.fake_openai import Behaviour

TURNS = 4

AWAY = {
    "429": fake.rate_limited("0"),
    "429 for a day": fake.rate_limited("86400"),
    "500": fake.status(500),
    "503 without end": fake.huge_error(),
    "hangs": fake.hang(),
    "a byte a second": fake.drip(),
    "reset": fake.reset(),
    "reset in mid-reply": fake.reset_within(),
    "cut in mid-reply": fake.cut(),
    "empty": fake.empty_body(),
    "half of the JSON": fake.truncated(),
    "a web page": fake.html(),
    "a gateway's page": fake.html(502),
    "its error in a 200": fake.error_in_200(503),
}
"""It passes: whatever came of an attempt, there is another one."""

NO_USE = {
    "1 MB": fake.huge(),
    "compressed": fake.compressed(),
    "an error in a 200": fake.error_in_200("overloaded"),
    "no choices": fake.no_choices(),
    "no content": fake.null_content(),
    "reasoning only": fake.reasoning_only(),
    "cut off": fake.finished("length"),
    "None": fake.ok("None"),
}
"""An answer, and paid for: after two of them a page is left to the extractive index."""


@pytest.mark.parametrize("fault", AWAY.values(), ids=AWAY)
def test_windows_survive_an_outage_and_jobs_catch_up(
    conversation: Conversation, provider: Provider, fault: Behaviour
) -> None:
    before = conversation.get("summary")
    assert "was said." in conversation.head()
    provider.fails("llm", fault)
    last = conversation.goes_on(TURNS)
    wait_for(lambda: conversation.error_of("llm") is not None)

    assert str(conversation.error_of("llm")).startswith("TemporaryError: ")
    assert conversation.get("status")["unindexed"] >= TURNS
    assert conversation.get("status")["pending"] >= TURNS
    assert "index_lags" in [warning["code"] for warning in last["warnings"]]
    now = conversation.get("summary")
    assert {**now, "lag": 0} == {**before, "lag": 0}
    assert now["lag"] > before["lag"]
    assert "was said." in conversation.head()

    provider.heal()
    conversation.settles()
    conversation.assert_complete()
    assert "index_lags" not in [
        warning["code"] for warning in window(conversation.client, conversation.name)["warnings"]
    ]
    conversation.goes_on(1)


@pytest.mark.parametrize("fault", NO_USE.values(), ids=NO_USE)
def test_unusable_replies_leave_extractive_pages_and_the_old_summary(
    conversation: Conversation, provider: Provider, fault: Behaviour
) -> None:
    before = conversation.get("summary")
    spent = conversation.get("status")["spent"]["page"]["calls"]
    provider.fails("llm", fault)
    first = conversation.closed + 1
    conversation.goes_on(TURNS)
    wait_for(lambda: conversation.get("status")["unindexed"] == 0 and conversation.error_of("llm") is not None)

    assert str(conversation.error_of("llm")).startswith("UnusableReply: ")
    assert {**conversation.get("summary"), "lag": 0} == {**before, "lag": 0}
    errors = conversation.sql(f"SELECT error FROM page_index WHERE page >= {first}")
    assert all(row["error"] for row in errors)
    assert conversation.get("status")["spent"]["page"]["calls"] <= spent + 2 * TURNS

    provider.heal()
    conversation.settles()
    conversation.assert_complete(extractive=range(first, first + TURNS))
