"""An answer through the proxy, whole and streamed: what the model is asked, what the client gets, what is stored."""

from typing import Any, cast

import httpx
import openai
import pytest

from app.text.tokens import TokenCounter
from tests.api.kit import append, ok, result, system, turn, user
from tests.providers import fake_openai as fake
from tests.providers.fake_openai import FakeOpenAI
from tests.proxy.kit import Script, ask, calling, names, sent, stored, tool

RECALL = ["recall_page", "load_tool_history", "search_memories"]
both = pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])


@both
def test_a_turn_is_stored_and_the_model_sees_those_before(
    client: httpx.Client, chat: openai.OpenAI, script: Script, stream: bool
) -> None:
    first = [system("Be brief."), user("I like longjing.")]
    answer = ask(chat, first, stream=stream, temperature=0.5, seed=7)
    assert answer.content == "Answer 1 to I like longjing.."
    again = ask(chat, [*first, sent(answer), user("Which tea do I like?")], stream=stream)
    assert again.content == "Answer 2 to Which tea do I like?."
    assert stored(client, "c") == [
        ("user", "I like longjing."),
        ("assistant", answer.content),
        ("user", "Which tea do I like?"),
        ("assistant", again.content),
    ]
    one, two = script.asked
    assert (one["temperature"], one["seed"], one["model"]) == (0.5, 7, "fake")
    assert names(one) == names(two) == RECALL
    assert two["messages"][0]["content"].startswith("Be brief.")
    assert two["messages"][: len(one["messages"])] == one["messages"]
    assert [m["content"] for m in two["messages"][-3:]] == ["I like longjing.", answer.content, "Which tea do I like?"]


@both
def test_a_client_can_send_only_new_messages(
    client: httpx.Client, chat: openai.OpenAI, script: Script, stream: bool
) -> None:
    for said in ("one", "ok", "ok"):
        ask(chat, [user(said)], stream=stream)
    assert [text for _, text in stored(client, "c")] == [
        "one", "Answer 1 to one.", "ok", "Answer 2 to ok.", "ok", "Answer 3 to ok.",
    ]  # fmt: skip
    assert len(script.asked[2]["messages"]) == 6


@both
def test_recalls_are_invisible_to_the_client(
    client: httpx.Client, chat: openai.OpenAI, script: Script, stream: bool
) -> None:
    first = ask(chat, [user("I like longjing.")], stream=stream)
    script.says(
        calling(("recall_page", {"page": 1}), ("search_memories", {"query": "longjing"}), text="Let me see."),
        "Longjing it is.",
    )
    listed = [user("I like longjing."), sent(first), user("Which tea?")]
    answer = ask(chat, listed, stream=stream)
    assert answer.content == "Let me see.\n\nLongjing it is."
    assert not answer.tool_calls
    *_, call, page, found = script.asked[2]["messages"]
    assert [c["function"]["name"] for c in call["tool_calls"]] == ["recall_page", "search_memories"]
    assert "I like longjing." in page["content"]
    assert "I like **longjing**." in found["content"]
    kept = stored(client, "c")
    assert [role for role, _ in kept] == ["user", "assistant", "user", "assistant", "tool", "tool", "assistant"]
    assert kept[-1] == ("assistant", answer.content)

    last = ask(chat, [*listed, sent(answer), user("Thanks.")], stream=stream)
    assert len(stored(client, "c")) == len(kept) + 2
    marks = [m["content"] for m in script.asked[3]["messages"] if m["role"] == "tool"]
    assert len(marks) == 2
    assert all("was shown in full at the time" in mark for mark in marks)
    assert last.content == "Answer 4 to Thanks.."
    contents = client.get("/conversations/c").json()
    assert contents["messages"] == 9


@both
def test_the_clients_tools_go_to_the_client_and_back(
    client: httpx.Client, chat: openai.OpenAI, script: Script, stream: bool
) -> None:
    script.says(calling(("look", {"at": "a"}), ("look", {"at": "b"}), text="Looking."))
    listed: list[Any] = [user("Look.")]
    answer = ask(chat, listed, stream=stream, tools=[tool("look")])
    assert [c.function.arguments for c in answer.tool_calls] == ['{"at": "a"}', '{"at": "b"}']
    assert names(script.asked[0]) == ["look", *RECALL]
    listed += [sent(answer), result("call_look_0", "a"), result("call_look_1", "b")]
    assert ask(chat, listed, stream=stream, tools=[tool("look")]).content == "Answer 2 to b."
    assert [role for role, _ in stored(client, "c")] == ["user", "assistant", "tool", "tool", "assistant"]
    assert [m["role"] for m in script.asked[1]["messages"][-4:]] == ["user", "assistant", "tool", "tool"]


@both
def test_the_client_gets_only_its_own_of_mixed_calls(
    client: httpx.Client, chat: openai.OpenAI, script: Script, stream: bool
) -> None:
    first = ask(chat, [user("I like longjing.")], stream=stream)
    script.says(calling(("look", {}), ("recall_page", {"page": 1}), ("look", {"at": "b"}), text="Both."))
    listed: list[Any] = [user("I like longjing."), sent(first), user("Look.")]
    answer = ask(chat, listed, stream=stream, tools=[tool("look")])
    assert [c.id for c in answer.tool_calls] == ["call_look_0", "call_look_2"]
    assert answer.content == "Both."
    listed += [sent(answer), result("call_look_0", "a"), result("call_look_2", "b")]
    assert ask(chat, listed, stream=stream, tools=[tool("look")]).content == "Answer 3 to b."
    shown = script.asked[2]["messages"]
    assert [m["role"] for m in shown[-6:]] == ["user", "assistant", "tool", "assistant", "tool", "tool"]
    assert "I like longjing." in shown[-4]["content"], "what was recalled is there for the whole page"
    kept = stored(client, "c")
    assert [role for role, _ in kept[2:]] == ["user", "assistant", "tool", "assistant", "tool", "tool", "assistant"]
    assert kept[3] == ("assistant", ["recall_page"])


@both
def test_a_model_that_recalls_for_ever_is_stopped(
    client: httpx.Client, chat: openai.OpenAI, script: Script, stream: bool
) -> None:
    script.says(*[calling(("recall_page", {"page": 1}))] * 2, "Enough.")
    assert ask(chat, [user("Go.")], stream=stream).content == "Enough."
    assert [request.get("tool_choice") for request in script.asked] == [None, None, "none"]
    script.says(*[calling(("recall_page", {"page": 1}))] * 3)
    stubborn = ask(chat, [user("Again.")], stream=stream, tools=[tool("look")])
    assert (stubborn.content or "", stubborn.tool_calls) == ("", None)
    assert names(script.asked[-1]) == ["look"]
    assert stored(client, "c")[-1][0] == "assistant"


def test_a_tool_of_the_clients_with_a_recall_tools_name_is_the_clients(chat: openai.OpenAI, script: Script) -> None:
    script.says(calling(("recall_page", {"page": 1})))
    answer = ask(chat, [user("Go.")], tools=[tool("recall_page")])
    assert [c.function.name for c in answer.tool_calls] == ["recall_page"]
    assert names(script.asked[0]) == ["recall_page", "load_tool_history", "search_memories"]


def test_a_models_mistaken_recall_is_explained_to_it(chat: openai.OpenAI, script: Script) -> None:
    script.says(calling(("recall_page", {"page": 99}), ("load_tool_history", {"uuid": "x"})), "I see.")
    assert ask(chat, [user("Go.")]).content == "I see."
    assert "pages 1–1 exist" in script.asked[1]["messages"][-2]["content"]


def test_text_is_streamed_before_the_end(chat: openai.OpenAI, api: FakeOpenAI) -> None:
    api.chat.queue.append(fake.held_within())
    api.reply = lambda _: "one two three four five six"
    words, listed = [], cast(Any, [user()])
    for chunk in chat.chat.completions.create(model="fake", messages=listed, stream=True):
        words.append(chunk.choices[0].delta.content)
        if len(words) == 2:
            api.release()
    assert "".join(w or "" for w in words) == "one two three four five six"


@both
def test_usage_sums_all_calls(chat: openai.OpenAI, script: Script, stream: bool) -> None:
    script.says(calling(("recall_page", {"page": 1})), "Done.")
    asked: Any = {"model": "fake", "messages": [user("Go.")]}
    if not stream:
        used = chat.chat.completions.create(**asked).usage
    else:
        options = {"include_usage": True}
        *_, last = chat.chat.completions.create(**asked, stream=True, stream_options=cast(Any, options))
        used = last.usage
        assert not last.choices
    assert used is not None
    assert used.prompt_tokens > 2 * 50
    assert used.total_tokens == used.prompt_tokens + used.completion_tokens


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
    options |= {"stream_options": {"include_usage": True}} if stream else {}
    first = [user("Go on.")]
    said = ask(chat, first, stream=stream, **options)
    assert ok(client.get("/conversations/c"))["token_percent"] == 100, "it is stored with the next question"
    ask(chat, [*first, sent(said), user("And on.")], stream=stream, **options)
    told = ok(client.get("/conversations/c"))["token_percent"]
    assert told == pytest.approx(140, abs=10)
    window = ok(client.get("/conversations/c/context"))["usage"]
    assert window["total"] * told / 100 <= 4000
    assert window["total"] < full * 0.8


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
