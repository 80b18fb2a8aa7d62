"""Requests that are sent again: after an answer that was lost, or to have another one. No turn is lost or doubled."""

import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import openai
import pytest

from app.main import build_app
from app.postgres.embedded import EmbeddedPostgres
from app.settings import Settings
from tests import unhurried
from tests.api.kit import Json, ok, user
from tests.conftest import serving, wait_for
from tests.providers import fake_openai as fake
from tests.providers.fake_openai import FakeOpenAI
from tests.proxy.kit import Script, ask, calling, conversations, openai_of, sent, stored

both = pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])
AGAIN = {"X-Stainless-Retry-Count": "1"}


@contextmanager
def leaving(base_url: str, body: Json, **headers: str) -> Iterator[Iterator[str]]:
    """A client that leaves in the middle of what it is streamed."""
    asked = {"model": "fake", "stream": True, **body}
    with (
        httpx.Client(base_url=base_url, timeout=30) as client,
        client.stream("POST", "/v1/chat/completions", json=asked, headers=headers) as answer,
    ):
        assert answer.status_code == 200
        yield answer.iter_lines()


@both
@pytest.mark.parametrize("retried", [False, True])
@pytest.mark.parametrize("fault", [fake.reset, fake.cut, lambda: fake.status(500), fake.empty_body])
def test_after_a_failure_the_question_is_stored_once(
    client: httpx.Client, chat: openai.OpenAI, api: FakeOpenAI, script: Script, stream: bool, retried: bool, fault: Any
) -> None:
    retried = retried and not (stream and fault is fake.cut)  # a stream that has begun is not tried again
    api.chat.queue.append(fault())
    asking = chat.with_options(max_retries=2 if retried else 0)
    if not retried:
        with pytest.raises(openai.OpenAIError):
            ask(asking, [user("one")], stream=stream)
        assert stored(client, "c") == [("user", "one")]
    answer = ask(asking, [user("one")], stream=stream)
    assert stored(client, "c") == [("user", "one"), ("assistant", answer.content)]


def test_a_stream_that_is_cut_ends_with_an_error_and_nothing_of_it_is_stored(
    client: httpx.Client, chat: openai.OpenAI, api: FakeOpenAI
) -> None:
    api.reply = lambda _: "one two three four five six"
    for fault in (fake.cut, fake.reset_within):
        api.chat.queue.append(fault())
        seen: list[str | None] = []
        with pytest.raises(openai.APIError, match="provider failed"):
            seen.extend(
                chunk.choices[0].delta.content
                for chunk in chat.chat.completions.create(
                    model="fake", messages=[{"role": "user", "content": "go"}], stream=True
                )
            )
        assert seen[:2] == ["", "one "]
        assert stored(client, "c") == [("user", "go")]
    assert ask(chat, [user("go")], stream=True).content == "one two three four five six"
    assert len(stored(client, "c")) == 2


def test_a_client_that_disconnects_can_fetch_the_finished_answer(
    client: httpx.Client, base_url: str, api: FakeOpenAI, script: Script
) -> None:
    api.chat.queue.append(fake.held_within())
    script.says("one two three four five six")
    headers = {"X-Quire-Conversation": "c"}
    body = {"messages": [user("go")]}
    with leaving(base_url, body, **headers) as lines:
        next(lines)
    assert stored(client, "c") == [("user", "go")]
    with leaving(base_url, body, **headers) as lines:
        assert "one" in next(line for line in lines if "one" in line)
        api.release()
        text = "".join(lines)
    assert "six" in text
    assert "[DONE]" in text
    assert stored(client, "c") == [("user", "go"), ("assistant", "one two three four five six")]
    assert len(script.asked) == 1


def test_an_undelivered_answer_is_delivered_on_retry(
    client: httpx.Client, base_url: str, chat: openai.OpenAI, api: FakeOpenAI, script: Script
) -> None:
    api.chat.queue.append(fake.held_within())
    with leaving(base_url, {"messages": [user("go")]}, **{"X-Quire-Conversation": "c"}) as lines:
        next(lines)
    api.release()
    wait_for(lambda: len(stored(client, "c")) == 2)
    again = chat.chat.completions.create(model="fake", messages=[{"role": "user", "content": "go"}], stream=True)
    assert "".join(chunk.choices[0].delta.content or "" for chunk in again) == "Answer 1 to go."
    assert len(script.asked) == 1
    assert len(stored(client, "c")) == 2


@pytest.mark.slow
def test_repeating_an_answered_request_gives_a_new_answer(
    client: httpx.Client, chat: openai.OpenAI, script: Script
) -> None:
    """A second later: before that, it was sent with the other."""
    first = ask(chat, [user("one")])
    listed = [user("one"), sent(first), user("two")]
    answers = [f"Answer {number} to two." for number in (2, 3, 4)]
    assert {ask(chat, listed).content for _ in range(3)} == {answers[0]}
    for another in answers[1:]:
        wait_for(lambda wanted=another: ask(chat, listed).content == wanted, every=0.1)  # type: ignore[misc]
    assert [m["content"] for m in script.asked[-1]["messages"][1:]] == ["one", first.content, "two"]
    assert [text for _, text in stored(client, "c")] == ["one", first.content, "two", answers[2]]
    chosen = [*listed, {"role": "assistant", "content": answers[1]}, user("three")]
    ask(chat, chosen)
    said = ["one", first.content, "two", answers[1], "three", "Answer 5 to three."]
    assert [text for _, text in stored(client, "c")] == said
    tree = ok(client.get("/conversations/c/branches"))
    lines = [client.get(f"/conversations/{name}/messages").json()["items"] for name in [i["id"] for i in tree["items"]]]
    assert sorted(line[3]["content"] for line in lines) == answers[1:]


def test_an_erased_answer_is_not_replayed(client: httpx.Client, chat: openai.OpenAI, script: Script) -> None:
    answer = ask(chat, [user("one")])
    ok(client.delete("/conversations/c/messages/2"))
    again = ask(chat, [user("one")], extra_headers=AGAIN)
    assert answer.content not in (again.content, str(script.asked[-1]))
    assert answer.content not in client.get("/conversations/c/messages").text


@both
@pytest.mark.parametrize("where", ["here", "another process"])
@pytest.mark.parametrize("sends", ["the whole list", "what is new"])
def test_a_marked_retry_gets_the_same_answer(
    client: httpx.Client, chat: openai.OpenAI, other_url: str, script: Script, stream: bool, where: str, sends: str
) -> None:
    first = ask(chat, [user("hi")])
    script.says(calling(("recall_page", {"page": 1})), "Done.")
    listed = [user("hi"), sent(first), user("ok")] if sends == "the whole list" else [user("ok")]
    answer = ask(chat, listed, stream=stream)
    asking = chat if where == "here" else openai_of(other_url, "c")
    again = ask(asking, listed, stream=stream, extra_headers=AGAIN)
    assert (again.role, again.content) == ("assistant", answer.content) == ("assistant", "Done.")
    assert len(script.asked) == 3
    assert [role for role, _ in stored(client, "c")] == ["user", "assistant"] * 2 + ["tool", "assistant"]


def test_a_list_that_two_processes_are_sent_by_turns_is_stored_once(
    client: httpx.Client, chat: openai.OpenAI, other_url: str, script: Script
) -> None:
    """Each knows the conversation as it left it; the other has gone on since, or erased it."""
    listed: list[Any] = []
    for turn, asking in enumerate((chat, openai_of(other_url, "c")) * 2):
        listed.append(user(f"question {turn}"))
        listed.append(sent(ask(asking, listed)))
    assert [text for _, text in stored(client, "c")] == [message["content"] for message in listed]
    ok(httpx.delete(f"{other_url}/conversations/c"))
    answer = ask(chat, [*listed, user("and now?")])
    assert len(stored(client, "c")) == len(listed) + 2
    assert stored(client, "c")[-1] == ("assistant", answer.content)


def test_a_request_without_a_name_that_is_sent_again_is_found(
    client: httpx.Client, nameless: openai.OpenAI, api: FakeOpenAI, script: Script
) -> None:
    api.chat.queue.append(fake.status(500))
    with pytest.raises(openai.InternalServerError):
        ask(nameless, [user("hi")])
    answer = ask(nameless, [user("hi")], extra_headers=AGAIN)
    assert ask(nameless, [user("hi")], extra_headers=AGAIN).content == answer.content
    [name] = conversations(client)
    listed = [user("hi"), sent(answer), user("two")]
    api.chat.queue.append(fake.status(500))
    with pytest.raises(openai.InternalServerError):
        ask(nameless, listed)
    second = ask(nameless, listed)
    assert ask(nameless, listed, extra_headers=AGAIN).content == second.content
    assert conversations(client) == [name]
    assert [text for _, text in stored(client, name)] == ["hi", answer.content, "two", second.content]


@pytest.mark.slow
def test_a_killed_process_leaves_the_question_and_no_half_an_answer(
    client: httpx.Client, postgres: EmbeddedPostgres, proxy_settings: Settings, api: FakeOpenAI, script: Script
) -> None:
    api.chat.queue.append(fake.held_within())
    script.says(calling(("recall_page", {"page": 1})), "one two three four")
    api.chat.queue.appendleft(fake.ok())
    body = {"messages": [user("go")]}
    with (
        served(postgres, proxy_settings) as (url, process),
        leaving(url, body, **{"X-Quire-Conversation": "c"}) as lines,
    ):
        next(line for line in lines if "two" in line)
        process.send_signal(signal.SIGKILL)
        process.wait()
    assert [role for role, _ in stored(client, "c")] == ["user", "assistant", "tool"]
    again = openai_of(str(client.base_url), "c")
    api.release()
    answer = ask(again, [user("go")], stream=True)
    assert [role for role, _ in stored(client, "c")] == ["user", "assistant", "tool", "assistant"]
    assert script.asked[-1]["messages"][-1]["role"] == "tool"
    assert stored(client, "c")[-1] == ("assistant", answer.content)


@contextmanager
def served(postgres: EmbeddedPostgres, settings: Settings) -> Iterator[tuple[str, subprocess.Popen[bytes]]]:
    """`quire serve` as a process of its own."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    env = {
        **os.environ,
        "DATABASE_URL": postgres.app_dsn,
        "QUIRE_DATA_DIR": str(settings.quire_data_dir),
        "QUIRE_PORT": str(port),
        "QUIRE_PROXY_BASE_URL": str(settings.quire_proxy_base_url),
        "MEMORY_EMBEDDING_MODEL": "none",
    }
    root = Path(__file__).parents[2]
    process = subprocess.Popen([sys.executable, "-m", "app", "serve"], cwd=root, env=env)
    url = f"http://127.0.0.1:{port}"
    try:
        wait_for(lambda: _is_ready(url), seconds=60, every=0.1)
        yield url, process
    finally:
        process.kill()
        process.wait()


def _is_ready(url: str) -> bool:
    try:
        return unhurried.get(f"{url}/readyz").status_code == 200
    except httpx.TransportError:
        return False


@pytest.fixture(scope="module")
def other_url(postgres: EmbeddedPostgres, proxy_settings: Settings) -> Iterator[str]:
    yield from serving(build_app(proxy_settings, postgres.app_dsn))


def test_a_stopping_server_finishes_unread_answers(
    client: httpx.Client, postgres: EmbeddedPostgres, proxy_settings: Settings, api: FakeOpenAI, script: Script
) -> None:
    api.chat.queue.append(fake.held_within())
    server = serving(build_app(proxy_settings, postgres.app_dsn))
    with leaving(next(server), {"messages": [user("go")]}, **{"X-Quire-Conversation": "c"}) as lines:
        next(lines)
    stopping = threading.Thread(target=lambda: next(server, None))
    stopping.start()
    api.release()
    stopping.join()
    assert stored(client, "c") == [("user", "go"), ("assistant", "Answer 1 to go.")]
