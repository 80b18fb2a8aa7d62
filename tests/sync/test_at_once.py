"""Property: however many send a list at once, and however often, each message is stored once, in its order."""

from collections.abc import Callable
from typing import Any

import asyncpg
import httpx
import pytest

from tests.api.kit import Json, append, assistant, history, ok, path, problem, system, user
from tests.api.test_concurrency import assert_consistent, at_once
from tests.sync.kit import dialogue, said, stored, sync

Ask = Callable[[str], list[asyncpg.Record]]


@pytest.mark.parametrize("words", [1, 2000])
def test_equal_concurrent_lists_are_stored_once(
    client: httpx.Client, other: httpx.Client, run_as_superuser: Ask, words: int
) -> None:
    """Also where the conversation is new, and where the append opens an epoch."""
    whole = [user("why " * words), assistant("because " * words)]
    for turn in range(8):

        def send(number: int, sent: tuple[Json, ...] = tuple(whole)) -> Json:
            return sync((client, other)[number % 2], "c", sent)

        answers = at_once(send, 8)
        assert sum(len(answer["appended"]) for answer in answers) == 2
        assert stored(client, "c") == said(whole)
        whole += [user(f"and {turn} " * words), assistant(f"so {turn} " * words)]
    assert_consistent(run_as_superuser, "c")


@pytest.mark.slow
def test_growing_concurrent_lists_never_duplicate_a_message(
    client: httpx.Client, other: httpx.Client, run_as_superuser: Ask
) -> None:
    whole = dialogue(*range(10))

    def work(number: int) -> None:
        for end in range(1 + number % 3, len(whole) + 1, 1 + number % 3):
            sync((client, other)[number % 2], "c", whole[:end])

    at_once(work, 8)
    sync(client, "c", whole)
    assert stored(client, "c") == said(whole)
    assert_consistent(run_as_superuser, "c")


@pytest.mark.parametrize("on_fork", ["error", "branch"])
def test_diverging_concurrent_lists_do_not_mix(client: httpx.Client, other: httpx.Client, on_fork: str) -> None:
    """One is stored, the others are told that they fork, or are branches."""
    for round_ in range(5):
        name = f"c{round_}"
        sync(client, name, dialogue(1))

        def send(number: int, name: str = name) -> int:
            asked = [*dialogue(1), user(f"I am {number}"), assistant(f"and you {number}")]
            server = (client, other)[number % 2]
            return server.post(path(name, "sync"), json={"messages": asked, "on_fork": on_fork}).status_code

        is_branch = on_fork == "branch"
        done = at_once(send, 4)
        refused = sum(code == (503 if is_branch else 409) for code in done)
        assert sorted(done) == [200] * (4 - refused) + [503 if is_branch else 409] * refused
        lines = [name, *(one["id"] for one in ok(client.get(path(name, "branches")))["items"])]
        said_last = set()
        for line in lines if is_branch else [name]:
            [asked, answered] = [m["content"] for m in history(client, name, branch=line)][4:]
            assert asked[-1] == answered[-1]
            said_last.add(asked)
        assert len(said_last) == len(lines) == (4 - refused if is_branch else 1)


def test_a_key_replays_its_response_after_later_messages(client: httpx.Client, other: httpx.Client) -> None:
    headers, body = {"Idempotency-Key": "k"}, {"messages": dialogue(1), "user_id": "u"}
    found = at_once(lambda n: (client, other)[n % 2].post(path("c", "sync"), json=body, headers=headers), 8)
    assert {ok(answer)["appended"][0]["seq"] for answer in found} == {1}
    assert len({answer.text for answer in found}) == 1
    append(client, "c", [user("and on")])
    again = client.post(path("c", "sync"), json=body, headers=headers)
    assert again.headers["Idempotency-Replayed"] == "true"
    assert again.text == found[0].text
    problem(
        client.post(path("c", "sync"), json={**body, "messages": dialogue(2)}, headers=headers),
        422,
        "different request",
    )
    nothing = {"Idempotency-Key": "nothing new"}
    first = client.post(path("c", "sync"), json=body, headers=nothing)
    append(client, "c", [user("and on")])
    assert client.post(path("c", "sync"), json=body, headers=nothing).text == first.text
    assert ok(first)["ahead"] == 1


def test_a_system_prompt_changes_once_and_with_its_messages_or_not_at_all(client: httpx.Client) -> None:
    sync(client, "c", [system("old"), *dialogue(1)])
    asked: dict[str, Any] = {"messages": [system("new"), user("else")]}
    problem(client.post(path("c", "sync"), json=asked), 409, "stored as message 1")
    assert ok(client.get(path("c")))["system"] == "old"


def test_a_conversation_that_was_erased_elsewhere_is_stored_anew(client: httpx.Client, other: httpx.Client) -> None:
    """What this process remembers of it is not what is there."""
    sync(client, "c", dialogue(1))
    ok(other.delete(path("c")))
    assert len(sync(client, "c", dialogue(1))["appended"]) == 4
    assert stored(client, "c") == said(dialogue(1))
