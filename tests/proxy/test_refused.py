"""A question that the model's API refuses for good does not have later ones refused too."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import anthropic
import httpx
import openai
import pytest

from tests.api.kit import Json, append, history, ok, user
from tests.providers import fake_openai as fake
from tests.providers.fake_openai import Behaviour, FakeOpenAI
from tests.proxy.agents import Agent, Clients
from tests.proxy.fakes import FakeApi, Refusal
from tests.proxy.kit import Script, ask, calling, openai_of, sent, tool
from tests.proxy.models import Model, flat
from tests.proxy.test_responses import asked

POISON = "a picture that nobody takes"


def in_200(code: str | int) -> Behaviour:
    """An answer, or a stream, that says it is an error."""
    error = {"error": {"message": "no", "code": code}}

    def edit(answer: Json) -> Json:
        if "events" in answer:
            answer["events"][:] = [error]
        return error

    return Behaviour(edit=edit)


REFUSALS = {
    "400": fake.status(400, code="invalid_image_url"),
    "413": fake.status(413),
    "content policy": fake.status(400, code="content_policy_violation"),
    "content policy, 403": fake.status(403, code="content_filter"),
    "content policy, 200": in_200("content_filter"),
    "gateway": in_200(400),
}


@pytest.fixture
def strict(api: FakeOpenAI, script: Script) -> Script:
    """A model whose API refuses every request that shows the poison."""
    refuses(api, REFUSALS["400"])
    return script


def refuses(api: FakeOpenAI, refusal: Behaviour) -> None:
    api.chat.picks = lambda request: refusal if POISON in str(request["messages"]) else fake.ok()


def refused(client: httpx.Client) -> list[str]:
    return [m["content"] for m in history(client, "c") if m["refused"]]


def shown(client: httpx.Client) -> list[Any]:
    window = ok(client.get("/conversations/c/context"))["messages"]
    return [m["content"] for m in window if m["role"] != "system"]


def test_a_list_that_keeps_it_is_answered_once_something_follows(
    client: httpx.Client, chat: openai.OpenAI, strict: Script
) -> None:
    listed = [user(POISON)]
    for _ in range(2):
        with pytest.raises(openai.BadRequestError):
            ask(chat, listed)
    for text in ("never mind", "and on"):
        listed = [*listed, user(text)]
        listed = [*listed, sent(ask(chat, listed))]
    assert [m["content"] for m in history(client, "c")] == [m["content"] for m in listed]
    assert refused(client) == [POISON]
    found = ok(client.post("/conversations/c/sync", json={"messages": [*listed, user("more")]}))
    assert (found["matched"], len(found["appended"])) == (5, 1)


def test_an_answer_takes_the_mark_away(
    client: httpx.Client, chat: openai.OpenAI, strict: Script, api: FakeOpenAI
) -> None:
    with pytest.raises(openai.BadRequestError):
        ask(chat, [user(POISON)])
    api.chat.picks = None
    listed = [user(POISON), sent(ask(chat, [user(POISON)]))]
    assert refused(client) == []
    ask(chat, [*listed, user("and on")])
    assert shown(client)[0] == POISON


def test_what_recalls_brought_in_before_it_was_refused_leaves_too(
    client: httpx.Client, chat: openai.OpenAI, strict: Script, api: FakeOpenAI
) -> None:
    api.chat.picks = lambda request: fake.status(413) if "tool" in str(request["messages"][-1]["role"]) else fake.ok()
    strict.says(calling(("recall_page", {"page": 9})))
    with pytest.raises(openai.APIStatusError):
        ask(chat, [user("one")])
    assert [m["role"] for m in history(client, "c")] == ["user", "assistant", "tool"]
    assert ask(chat, [user("two")]).content.endswith("to two.")
    assert [m["role"] for m in strict.asked[-1]["messages"]] == ["system", "user"]
    assert [m["refused"] for m in history(client, "c")] == [True, True, True, False, False]


def test_a_refused_result_is_sent_anew_for_its_call(client: httpx.Client, chat: openai.OpenAI, strict: Script) -> None:
    strict.says(calling(("look", {"at": "it"}), ("look", {"at": "that"})))
    listed = [user("look"), sent(ask(chat, [user("look")], tools=[tool("look")]))]
    first, second = ({"role": "tool", "tool_call_id": c["id"]} for c in listed[1]["tool_calls"])
    with pytest.raises(openai.BadRequestError):
        ask(chat, [*listed, {**first, "content": POISON}, {**second, "content": "2"}], tools=[tool("look")])
    strict.says("Seen.")
    again = [*listed, {**first, "content": "too large"}, {**second, "content": "2"}]
    assert ask(chat, again, tools=[tool("look")]).content == "Seen."
    assert [(m["role"], m["content"]) for m in strict.asked[-1]["messages"]][-4:] == [
        ("user", "look"), ("assistant", None), ("tool", "too large"), ("tool", "2"),
    ]  # fmt: skip
    assert "no result" not in str(strict.asked[-1])


def test_turns_that_were_never_refused_stay(client: httpx.Client, chat: openai.OpenAI, strict: Script) -> None:
    append(client, "c", [user("kept by the caller")])
    with pytest.raises(openai.BadRequestError):
        ask(chat, [user("kept by the caller"), user(POISON)])
    ok(client.post("/conversations/c/sync", json={"messages": [user("kept by the caller"), user(POISON)]}))
    append(client, "c", [user("and on")])
    append(client, "c", [user("and on again")])
    assert refused(client) == [POISON]
    assert shown(client) == ["kept by the caller", "and on", "and on again"]


def test_the_callers_own_answer_keeps_it(client: httpx.Client, chat: openai.OpenAI, strict: Script) -> None:
    with pytest.raises(openai.BadRequestError):
        ask(chat, [user(POISON)])
    append(client, "c", [{"role": "assistant", "content": "I saw it myself."}], user_id="default")
    assert refused(client) == []
    assert shown(client) == [POISON, "I saw it myself."]


def test_what_is_wrong_beside_the_question_marks_nothing(
    client: httpx.Client, chat: openai.OpenAI, api: FakeOpenAI, script: Script
) -> None:
    faults = (fake.refuses_parameter("seed"), fake.status(404), fake.status(401), fake.status(500), fake.rate_limited())
    for fault in faults:
        api.chat.queue.append(fault)
        with pytest.raises(openai.APIError):
            ask(chat, [user("hello")])
        assert refused(client) == []


def test_it_is_found_by_no_search_and_moves_with_an_export(
    client: httpx.Client, chat: openai.OpenAI, strict: Script
) -> None:
    with pytest.raises(openai.BadRequestError):
        ask(chat, [user(POISON)], user="u")
    listed = [user("never mind"), sent(ask(chat, [user("never mind")], user="u"))]
    ask(chat, [*listed, user("and on")], user="u")
    assert ok(client.post("/memories/search", json={"user_id": "u", "query": "picture nobody takes"}))["results"] == []
    assert POISON not in ok(client.get("/conversations/c/contents"))["text"]
    before = [shown(client), history(client, "c")]
    moved = client.get("/conversations/c/export").text
    ok(client.delete("/conversations/c"))
    ok(client.post("/import", content=moved, headers={"content-type": "application/x-ndjson"}))
    assert [shown(client), history(client, "c")] == before
    assert ok(client.post("/conversations/c/sync", json={"messages": [*listed, user("and on")]}))["appended"] == []


# --- Messages and Responses -------------------------------------------------------------------------


def of_messages(kind: str, status: int = 200, message: str = "no") -> Refusal:
    return Refusal({"type": "error", "error": {"type": kind, "message": message}}, status)


def of_responses(code: str, status: int = 400) -> Refusal:
    error = {"type": "invalid_request_error", "code": code, "param": "input[2].content[0]", "message": "no"}
    return Refusal({"error": error}, status)


def failed(code: str) -> Refusal:
    response = {"id": "r", "object": "response", "status": "failed", "error": {"code": code, "message": "no"}}
    return Refusal({"type": "response.failed", "sequence_number": 1, "response": response})


REFUSALS_OF_MESSAGES = {
    "400": of_messages("invalid_request_error", 400),
    "413": of_messages("request_too_large", 413),
    "content policy": of_messages("invalid_request_error", 400, "Output blocked by content filtering policy"),
    "400 in the stream": of_messages("invalid_request_error"),
    "413 in the stream": of_messages("request_too_large"),
}
REFUSALS_OF_RESPONSES = {
    "400": of_responses("invalid_image_url"),
    "413": of_responses("request_too_large", 413),
    "content policy": of_responses("content_policy_violation"),
    "content policy, 403": of_responses("content_filter", 403),
    "content policy in the stream": failed("image_content_policy_violation"),
    "a picture in the stream": failed("invalid_image"),
    "an error in the stream": Refusal({"type": "error", "code": "invalid_prompt", "message": "no", "param": None}),
}
OF_DIALECTS: dict[str, Mapping[str, Any]] = {
    "chat": REFUSALS, "messages": REFUSALS_OF_MESSAGES, "responses": REFUSALS_OF_RESPONSES,
}  # fmt: skip
both = pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])
Failed = (openai.APIError, anthropic.APIError, RuntimeError)
"""The last is of their helper for Responses: a stream that did not complete."""


@both
@pytest.mark.parametrize(
    ("model", "refusal"), [(d, name) for d, known in OF_DIALECTS.items() for name in known], indirect=["model"]
)
def test_a_list_goes_on_without_it(
    client: httpx.Client, clients: Clients, model: Model, refusal: str, stream: bool
) -> None:
    model.refuses(POISON, OF_DIALECTS[model.dialect][refusal])
    agent = Agent(model.dialect, clients, model.url, stream)
    first = agent.says("hello").text
    before = ok(client.get("/conversations/c/context"))["messages"]
    with pytest.raises(Failed):
        agent.says(POISON)
    agent.said.pop()
    assert refused(client) == [POISON]
    second, third = agent.says("never mind").text, agent.says("and on").text
    assert [text for _, text in flat(history(client, "c"))] == [
        "hello", first, POISON, "never mind", second, "and on", third,
    ]  # fmt: skip
    assert refused(client) == [POISON]
    assert POISON not in str(shown(client))
    assert POISON not in str(model.asked[-2:])
    assert ok(client.get("/conversations/c/context"))["messages"][: len(before)] == before


@both
def test_a_chain_of_responses_goes_on_before_it(
    client: httpx.Client, speaking_responses: str, messages_api: FakeApi, stream: bool
) -> None:
    messages_api.refuses = lambda body: failed("invalid_image") if POISON in str(body) else None
    with openai_of(speaking_responses) as gpt:
        first = asked(gpt, "hello", stream=stream)
        with pytest.raises(Failed):
            asked(gpt, POISON, stream=stream, previous_response_id=first.id)
        second = asked(gpt, "never mind", stream=stream, previous_response_id=first.id)
        asked(gpt, "and on", stream=stream, previous_response_id=second.id)
    [conversation] = ok(client.get("/conversations"))["items"]
    kept = history(client, conversation["id"])
    assert [m["refused"] for m in kept] == [False, False, True, False, False, False, False]
    assert kept[2]["content"] == POISON
    assert POISON not in str(messages_api.asked[-2:])
