"""OpenAI's client of Responses in front of Quire, before an API of Chat Completions and one of Responses."""

from __future__ import annotations

import base64
import json
from typing import Any

import httpx
import openai
import pytest

from tests.api.kit import Json, created, history, ok
from tests.providers import fake_openai as fake
from tests.providers.fake_openai import FakeOpenAI
from tests.proxy.fakes import FakeApi
from tests.proxy.kit import Script, calling, openai_of, stored

both = pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])
LOOK = {"type": "function", "name": "look", "parameters": {"type": "object", "properties": {}}, "strict": False}
PATCH = {"type": "custom", "name": "patch", "format": {"type": "grammar", "syntax": "lark", "definition": "start: /x/"}}
ORDER = [
    "response.created", "response.in_progress", "response.output_item.added", "response.content_part.added",
    "response.output_text.delta", "response.output_text.done", "response.content_part.done",
    "response.output_item.done", "response.completed",
]  # fmt: skip


def asked(client: openai.OpenAI, given: Any, *, stream: bool = False, **body: Any) -> Any:
    if not stream:
        return client.responses.create(model="fake", input=given, **body)
    with client.responses.stream(model="fake", input=given, **body) as events:
        for _ in events:
            pass
        return events.get_final_response()


def outputs(response: Any) -> list[Json]:
    return [item.model_dump(exclude_none=True, mode="json") for item in response.output]


def test_events_come_in_the_documented_order(client: httpx.Client, base_url: str, script: Script) -> None:
    script.says("one two three")
    with openai_of(base_url, "c") as chat:
        events = list(chat.responses.create(model="fake", input="hi", stream=True))
    kinds = [event.type for event in events]
    assert list(dict.fromkeys(kinds)) == ORDER
    assert [event.sequence_number for event in events] == list(range(len(events)))
    last: Any = events[-1]
    assert last.response.output_text == "one two three"
    assert last.response.usage.total_tokens > 0


@both
def test_a_chat_model_gains_state(client: httpx.Client, base_url: str, script: Script, stream: bool) -> None:
    with openai_of(base_url) as chat:
        first = asked(chat, "I like longjing.", stream=stream, instructions="Be brief.")
        second = asked(chat, "Which tea?", stream=stream, previous_response_id=first.id)
        third = asked(chat, "Which tea?", stream=stream, previous_response_id=second.id)
        assert [r.output_text for r in (first, second)] == ["Answer 1 to I like longjing..", "Answer 2 to Which tea?."]
        assert [m["content"] for m in script.asked[2]["messages"][1:]] == [
            "I like longjing.", first.output_text, "Which tea?", second.output_text, "Which tea?",
        ]  # fmt: skip
        got = chat.responses.retrieve(second.id)
        assert (got.id, got.output_text, got.status) == (second.id, second.output_text, "completed")
        assert [o["id"] for o in outputs(got)] == [o["id"] for o in outputs(second)]
        items: Any = chat.responses.input_items.list(second.id).data
        assert [part.text for item in items for part in item.content] == ["Which tea?"]
        chat.responses.delete(second.id)
        with pytest.raises(openai.NotFoundError):
            chat.responses.retrieve(second.id)
        with pytest.raises(openai.NotFoundError):
            asked(chat, "And?", previous_response_id=second.id)
        assert asked(chat, "And?", previous_response_id=third.id).status == "completed"
    [conversation] = ok(client.get("/conversations"))["items"]
    assert len(stored(client, conversation["id"])) == 8


def test_a_forgotten_response_leaves_no_id(client: httpx.Client, base_url: str, script: Script) -> None:
    with openai_of(base_url, "c") as chat:
        first, second = asked(chat, "hi"), asked(chat, "ho")
        chat.responses.delete(first.id)
        with pytest.raises(openai.NotFoundError):
            chat.responses.delete(first.id)
    exported = client.get("/conversations/c/export").text
    assert first.id not in exported
    assert second.id in exported
    assert ("assistant", first.output_text) in stored(client, "c")


def test_an_older_response_goes_on_as_a_branch(client: httpx.Client, base_url: str, script: Script) -> None:
    with openai_of(base_url) as chat:
        first = asked(chat, "I like longjing.")
        second = asked(chat, "Which tea?", previous_response_id=first.id)
        third = asked(chat, "And?", previous_response_id=second.id)
        coffee = asked(chat, "Which coffee?", previous_response_id=first.id)
        assert [m["content"] for m in script.asked[-1]["messages"][1:]] == [
            "I like longjing.", first.output_text, "Which coffee?",
        ]  # fmt: skip
        asked(chat, "Black?", previous_response_id=coffee.id)
        asked(chat, "And on?", previous_response_id=third.id)
        asked(chat, "Really?", previous_response_id=coffee.id)
    found = [item["id"] for item in ok(client.get("/conversations"))["items"]]
    lines = [ok(client.get(f"/conversations/{name}/messages", params={"branch": name}))["items"] for name in found]
    said = sorted([m["content"] for m in line if m["role"] == "user"] for line in lines)
    assert said == [
        ["I like longjing.", "Which coffee?", "Black?"],
        ["I like longjing.", "Which coffee?", "Really?"],
        ["I like longjing.", "Which tea?", "And?", "And on?"],
    ]


def test_a_question_that_failed_can_be_put_differently(
    base_url: str, clean: None, api: FakeOpenAI, script: Script
) -> None:
    with openai_of(base_url) as chat:
        first = asked(chat, "I like longjing.")
        api.chat.queue.append(fake.status(500))
        with pytest.raises(openai.InternalServerError):
            asked(chat, "Wich?", previous_response_id=first.id)
        assert asked(chat, "Which?", previous_response_id=first.id).output_text.endswith("to Which?.")


@both
def test_functions_and_custom_tools_go_to_the_client_and_back(
    client: httpx.Client, base_url: str, script: Script, stream: bool
) -> None:
    script.says(calling(("look", {"at": "a"}), ("patch", {"input": "*** Begin\n"}), text="Both."))
    with openai_of(base_url, "c") as chat:
        first = asked(chat, "Look.", stream=stream, tools=[LOOK, PATCH], parallel_tool_calls=True)
        said, look, patch = outputs(first)
        assert (said["content"][0]["text"], json.loads(look["arguments"])) == ("Both.", {"at": "a"})
        assert (patch["type"], patch["name"], patch["input"]) == ("custom_tool_call", "patch", "*** Begin\n")
        listed = [
            {"role": "user", "content": "Look."}, said, look, patch,
            {"type": "function_call_output", "call_id": look["call_id"], "output": "seen"},
            {"type": "custom_tool_call_output", "call_id": patch["call_id"], "output": "done"},
        ]  # fmt: skip
        assert asked(chat, listed, stream=stream, tools=[LOOK, PATCH]).output_text == "Answer 2 to done."
    one, two = script.asked
    assert [t["function"]["name"] for t in one["tools"][:2]] == ["look", "patch"]
    assert "start: /x/" in one["tools"][1]["function"]["description"]
    assert [m["role"] for m in two["messages"][-4:]] == ["user", "assistant", "tool", "tool"]
    assert len(stored(client, "c")) == 5


def test_calls_alone_have_their_events(base_url: str, clean: None, script: Script) -> None:
    script.says(calling(("look", {"at": "a"})))
    tools: Any = [LOOK]
    with openai_of(base_url, "c") as chat:
        events = list(chat.responses.create(model="fake", input="hi", stream=True, tools=tools))
    kinds = [event.type for event in events]
    assert list(dict.fromkeys(kinds))[2:-1] == [
        "response.output_item.added", "response.function_call_arguments.delta",
        "response.function_call_arguments.done", "response.output_item.done",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("body", "named"),
    [
        ({"tools": [{"type": "web_search"}]}, "web_search"),
        ({"tools": [{"type": "computer_use_preview"}]}, "computer_use_preview"),
        ({"background": True}, "background"),
        ({"prompt": {"id": "x"}}, "prompt"),
        ({"previous_response_id": "resp_1", "conversation": "c"}, "previous_response_id"),
    ],
)
def test_what_is_not_served_is_refused_by_name(
    base_url: str, clean: None, script: Script, body: Json, named: str
) -> None:
    with openai_of(base_url, "c") as chat, pytest.raises(openai.BadRequestError) as refused:
        chat.responses.create(**{"model": "fake", "input": "hi", **body})
    assert named in str(refused.value)
    assert not script.asked


def test_the_response_of_another_user_is_unknown(client: httpx.Client, base_url: str, script: Script) -> None:
    with openai_of(base_url) as chat:
        mine = asked(chat, "hi", user="me")
        for other in ({"user": "you"}, {"extra_headers": {"X-Quire-User": "you"}}):
            with pytest.raises(openai.NotFoundError):
                asked(chat, "hi", previous_response_id=mine.id, **other)
        assert asked(chat, "ho", user="me", previous_response_id=mine.id).output_text


def test_a_conversation_can_be_named_and_an_answer_left_without_an_id(
    client: httpx.Client, base_url: str, script: Script
) -> None:
    with openai_of(base_url) as chat:
        first = asked(chat, "hi", conversation="tea", store=False)
        assert first.conversation.id == "tea"
        with pytest.raises(openai.NotFoundError):
            chat.responses.retrieve(first.id)
        asked(chat, "ho", conversation={"id": "tea"})
    assert [text for _, text in stored(client, "tea")] == ["hi", "Answer 1 to hi.", "ho", "Answer 2 to ho."]


def test_an_equal_request_at_once_or_again_is_answered_once(base_url: str, clean: None, script: Script) -> None:
    with openai_of(base_url) as chat:
        first = asked(chat, "hi")
        retry = {"x-stainless-retry-count": "1"}
        second = asked(chat, "ho", previous_response_id=first.id)
        again = asked(chat, "ho", previous_response_id=first.id, extra_headers=retry)
    assert (again.id, again.output_text) == (second.id, second.output_text)
    assert len(script.asked) == 2


# --- Compaction -----------------------------------------------------------------------------------------


def test_a_compaction_stands_for_the_conversation(client: httpx.Client, base_url: str, script: Script) -> None:
    listed: list[Any] = [{"role": "user", "content": "I like longjing."}]
    with openai_of(base_url) as chat:
        first = asked(chat, listed)
        listed += outputs(first)
        compacted = chat.responses.compact(model="fake", input=listed)
        [item] = compacted.model_dump(exclude_none=True)["output"]
        assert item["type"] == "compaction"
        then = asked(chat, [item, {"role": "user", "content": "Which tea?"}])
        listed = [item, {"role": "user", "content": "Which tea?"}, *outputs(then)]
        asked(chat, [*listed, {"role": "user", "content": "And?"}])
    assert [m["content"] for m in script.asked[1]["messages"][1:]] == [
        "I like longjing.", first.output_text, "Which tea?",
    ]  # fmt: skip
    [conversation] = ok(client.get("/conversations"))["items"]
    assert len(stored(client, conversation["id"])) == 6


@both
def test_the_trigger_is_answered_with_one_compaction(base_url: str, clean: None, script: Script, stream: bool) -> None:
    with openai_of(base_url) as chat:
        first = asked(chat, "I like longjing.")
        given: Any = [{"type": "compaction_trigger"}]
        compacted = asked(chat, given, stream=stream, previous_response_id=first.id)
        [item] = outputs(compacted)
        assert item["type"] == "compaction"
        assert len(script.asked) == 1
        assert asked(chat, [item, {"role": "user", "content": "Which?"}]).output_text == "Answer 2 to Which?."
    assert len(script.asked[1]["messages"]) == 4


def changed(content: str, place: int, line: str) -> str:
    lines = base64.urlsafe_b64decode(content).decode().split("\n")
    lines[place] = line
    return base64.urlsafe_b64encode("\n".join(lines).encode()).decode()


def test_a_compaction_that_was_changed_is_refused(client: httpx.Client, base_url: str, script: Script) -> None:
    created(client, id="other", user_id="you")
    with openai_of(base_url) as chat:
        compacted = chat.responses.compact(model="fake", input="hi", extra_body={"user": "me"})
        [item] = compacted.model_dump(exclude_none=True)["output"]
        good = item["encrypted_content"]
        for content in ("", "x", changed(good, 1, "2"), changed(good, 2, "other"), changed(good, 0, "0" * 64)):
            given = [{**item, "encrypted_content": content}, {"role": "user", "content": "hi"}]
            with pytest.raises(openai.BadRequestError, match="compaction"):
                asked(chat, given)
        with pytest.raises(openai.BadRequestError, match="compaction"):
            asked(chat, [item, {"role": "user", "content": "hi"}], user="you")
    assert not script.asked


# --- Before an API of the same dialect ------------------------------------------------------------------


@both
def test_reasoning_and_hosted_calls_return_in_their_place(
    client: httpx.Client, speaking_responses: str, messages_api: FakeApi, stream: bool
) -> None:
    thought = [
        {"type": "reasoning", "id": f"rs_{n}", "summary": [], "encrypted_content": f"opaque {n}"} for n in (1, 2)
    ]
    search = {
        "type": "web_search_call",
        "id": "ws_1",
        "status": "completed",
        "action": {"type": "search", "query": "x"},
    }
    calls = [
        {"type": "function_call", "id": f"fc_{n}", "call_id": f"call_{n}", "name": "look", "arguments": "{}"}
        for n in (1, 2)
    ]
    custom = {"type": "custom_tool_call", "id": "ctc_1", "call_id": "call_3", "name": "patch", "input": "x"}
    messages_api.says([search, thought[0], calls[0], thought[1], calls[1], custom])
    tools = [LOOK, PATCH, {"type": "web_search"}]
    with openai_of(speaking_responses, "c") as chat:
        first = asked(chat, "Look.", stream=stream, tools=tools, reasoning={"effort": "low"})
        got = outputs(first)
        assert [o["type"] for o in got] == [
            "web_search_call", "reasoning", "function_call", "reasoning", "function_call", "custom_tool_call",
        ]  # fmt: skip
        results = [
            {"type": "function_call_output", "call_id": "call_1", "output": "a"},
            {"type": "function_call_output", "call_id": "call_2", "output": "b"},
            {"type": "custom_tool_call_output", "call_id": "call_3", "output": "c"},
        ]
        asked(chat, results, stream=stream, tools=tools, previous_response_id=first.id)
    one, two = messages_api.asked
    assert (one["store"], one["include"], one["reasoning"]) == (
        False,
        ["reasoning.encrypted_content"],
        {"effort": "low"},
    )
    assert [t.get("name") or t["type"] for t in one["tools"][:3]] == ["look", "patch", "web_search"]
    back = two["input"][1:]
    bare = [{name: i[name] for name in i if name not in ("id", "status")} for i in (calls[0], calls[1], custom)]
    assert back == [search, thought[0], bare[0], thought[1], bare[1], bare[2], *results]
    assert "previous_response_id" not in two


def test_items_that_are_new_go_on_whole_and_calls_pair_with_their_results(
    client: httpx.Client, speaking_responses: str, messages_api: FakeApi
) -> None:
    call = {"type": "shell_call", "id": "sh_1", "call_id": "s1", "action": {"commands": ["ls"]}, "status": "completed"}
    output = {"type": "shell_call_output", "call_id": "s1", "output": [{"stdout": "a.py", "stderr": ""}]}
    new = {"type": "configuration_update", "reasoning": {"effort": "low"}}
    asked = {"role": "user", "content": "List."}
    body = {"model": "fake", "input": [asked, new, call, output, asked], "tools": [{"type": "shell"}]}
    answer = httpx.post(f"{speaking_responses}/v1/responses", json=body, headers={"X-Quire-Conversation": "c"})
    assert answer.status_code == 200, answer.text
    [sent] = messages_api.asked
    assert [item for item in sent["input"] if item["type"] != "message"] == [new, call, output]
    assert [m["role"] for m in history(client, "c")] == ["user", "assistant", "tool", "user", "assistant"]
