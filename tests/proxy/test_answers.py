"""Answers of Chat Completions: what is streamed when, and windows that learn from the API's usage."""

from typing import Any, cast

import httpx
import openai
import pytest

from app.text.tokens import TokenCounter
from tests.api.kit import append, history, ok, turn, user
from tests.providers import fake_openai as fake
from tests.providers.fake_openai import FakeOpenAI
from tests.proxy.kit import Script, ask, sent, stored

RECALL = ["recall_page", "load_tool_history", "search_memories"]
both = pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])


def test_text_is_streamed_before_the_end(chat: openai.OpenAI, api: FakeOpenAI) -> None:
    api.chat.queue.append(fake.held_within())
    api.reply = lambda _: "one two three four five six"
    words, listed = [], cast(Any, [user()])
    for chunk in chat.chat.completions.create(model="fake", messages=listed, stream=True):
        words.append(chunk.choices[0].delta.content)
        if len(words) == 2:
            api.release()
    assert "".join(w or "" for w in words) == "one two three four five six"


def test_usage_comes_last_and_alone(chat: openai.OpenAI, script: Script) -> None:
    asked: Any = {"model": "fake", "messages": [user("Go.")], "stream_options": {"include_usage": True}}
    *_, last = chat.chat.completions.create(**asked, stream=True)
    assert (last.choices, last.usage is not None) == ([], True)


def test_a_stream_of_mistral_has_its_usage_in_its_last_chunk(
    chat: openai.OpenAI, api: FakeOpenAI, script: Script
) -> None:
    """Mistral's clients (mistralai 3.7.0, langchain-mistralai 1.1.6) cannot ask for it, and read it nowhere else."""

    def counted(answer: Any) -> Any:
        answer["events"][-1]["usage"] = {"prompt_tokens": 40, "completion_tokens": 5, "total_tokens": 45}
        return answer

    api.chat.default = fake.Behaviour(edit=counted)
    listed: Any = [user("Go.")]
    chunks = list(chat.chat.completions.create(model="mistral-large", messages=listed, stream=True))
    assert "stream_options" not in script.asked[-1]
    *before, last = chunks
    assert last.usage is not None
    assert (last.usage.total_tokens, last.choices[0].finish_reason) == (45, "stop")
    assert all(chunk.usage is None for chunk in before)


@both
def test_windows_are_calibrated_by_the_apis_usage(
    client: httpx.Client, chat: openai.OpenAI, api: FakeOpenAI, script: Script, stream: bool
) -> None:
    """It makes 1.4 tokens of each of ours, and says so."""
    append(client, "c", [m for n in range(30) for m in turn(n, 60)])
    ok(client.patch("/conversations/c", json={"budget": 4000}))
    full = ok(client.get("/conversations/c/context"))["usage"]["total"]

    def counted(answer: Any) -> Any:
        for part in answer.get("events", [answer]):
            if "usage" in part:
                part["usage"] = {"prompt_tokens": full * 14 // 10, "completion_tokens": 5, "total_tokens": 0}
        return answer

    api.chat.default = fake.Behaviour(edit=counted)
    options: Any = {"extra_headers": {"X-Quire-Recall": "off"}}  # whose room makes the window another
    first = [user("Go on.")]
    said = ask(chat, first, stream=stream, **options)
    assert ok(client.get("/conversations/c"))["token_percent"] == 100, "it is stored with the next question"
    ask(chat, [*first, sent(said), user("And on.")], stream=stream, **options)
    told = ok(client.get("/conversations/c/context"))["usage"]["token_percent"]
    assert told == pytest.approx(140, abs=10)
    window = ok(client.get("/conversations/c/context"))["usage"]
    assert window["total"] * told / 100 <= 4000


@pytest.mark.slow
def test_a_long_conversation_stays_in_its_budget(
    client: httpx.Client, chat: openai.OpenAI, script: Script, counter: TokenCounter
) -> None:
    budget = chat.with_options(default_headers={"X-Quire-Conversation": "c", "X-Quire-Budget": "3000"})
    listed: list[Any] = []
    for number in range(30):
        listed.append(user(f"Question {number}: " + "why " * 100))
        listed.append(sent(ask(budget, listed)))
    assert max(counter.count(str(r["messages"]) + str(r["tools"])) for r in script.asked) < 3600
    assert len(stored(client, "c")) == 60


def test_a_streams_usage_is_asked_for_and_told_to_those_who_want_it(chat: openai.OpenAI, script: Script) -> None:
    for wanted in (None, False, True):
        options: Any = {} if wanted is None else {"stream_options": {"include_usage": wanted}}
        listed: Any = [user("Go.")]
        chunks = list(chat.chat.completions.create(model="fake", messages=listed, stream=True, **options))
        assert script.asked[-1]["stream_options"] == {"include_usage": True}
        assert any(chunk.usage is not None for chunk in chunks) == bool(wanted)


@pytest.mark.parametrize("streams", [False, True])
def test_a_spoken_answer_is_text_and_its_id_goes_back_until_it_expires(
    client: httpx.Client, chat: openai.OpenAI, script: Script, *, streams: bool
) -> None:
    for conversation, expires_at in (("new", 4_000_000_000), ("old", 1)):
        audio = {"id": "audio_1", "data": "QUJD", "transcript": "Forty two.", "expires_at": expires_at}
        script.says({"content": None, "audio": audio})
        headers = {"X-Quire-Conversation": conversation}
        ask(chat, [{"role": "user", "content": "Say it."}], stream=streams, extra_headers=headers)
        assert [m["content"] for m in history(client, conversation)] == ["Say it.", "Forty two."]
        ask(chat, [{"role": "user", "content": "Again."}], extra_headers=headers)
        said = next(m for m in script.asked[-1]["messages"] if m["role"] == "assistant")
        assert said == {"role": "assistant", "content": "Forty two.", "audio": {"id": "audio_1"}} or (
            conversation == "old" and "audio" not in said
        )


@pytest.mark.parametrize(
    "said", ["Value error, after user message, next must be assistant or tool message", "对话中的角色需要交替出现"]
)
def test_like_roles_are_joined_once_an_api_refuses_them_in_whatever_words(
    api: FakeOpenAI, chat: openai.OpenAI, script: Script, said: str
) -> None:
    model: Any = f"turns-{len(said)}"
    api.chat.queue.append(fake.status(400, message=said))
    listed: list[Any] = [user("one"), user("two")]
    found = chat.chat.completions.create(model=model, messages=listed)
    assert found.choices[0].message.content
    assert [m["role"] for m in script.asked[-1]["messages"] if m["role"] != "system"] == ["user"]
