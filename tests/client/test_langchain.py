"""Property: a LangChain agent's model is given Quire's window, whatever the graph's state holds; the state stays."""

import asyncio
import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import httpx
import pytest

from quire_client import AsyncQuire, ConnectionFailed, Quire, Retries
from tests.api.kit import append, assistant, history, user
from tests.sync.kit import stored

pytest.importorskip("langchain", reason="langchain is not installed: it comes with the development requirements")

from langchain.agents import create_agent
from langchain_core.callbacks import CallbackManagerForLLMRun
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, RemoveMessage, ToolMessage
from langchain_core.messages.ai import UsageMetadata
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.runnables import Runnable, RunnableConfig
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph.message import REMOVE_ALL_MESSAGES

from quire_client.langchain import QuireMiddleware, offered

LITERAL = "the vault code of depot seven is QX7-4410"
BUDGET = 4000
Reply = Callable[[list[BaseMessage]], AIMessage]


class Scripted(BaseChatModel):
    """Answers by a script and keeps what it was given."""

    script: list[Reply]
    given: list[list[BaseMessage]] = []
    offered: list[list[str]] = []

    @property
    def _llm_type(self) -> str:
        return "scripted"

    def bind_tools(self, tools: Sequence[Any], **_: Any) -> Runnable[Any, AIMessage]:
        names = [t["function"]["name"] if isinstance(t, dict) else t.name for t in tools]
        self.offered.append(names)
        return self

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,  # noqa: ARG002
        run_manager: CallbackManagerForLLMRun | None = None,  # noqa: ARG002
        **_: Any,
    ) -> ChatResult:
        self.given.append(messages)
        reply = self.script[min(len(self.given), len(self.script)) - 1]
        return ChatResult(generations=[ChatGeneration(message=reply(messages))])


@tool
def read_report() -> str:
    """The report."""
    return "\n".join(f"{n:05} depot {n % 6} counted {n * 37 % 991} crates" for n in range(900)) + "\n" + LITERAL


def calling(name: str, **arguments: Any) -> AIMessage:
    return AIMessage("", tool_calls=[{"name": name, "args": arguments, "id": f"call_{name}"}])


def text_of(messages: Sequence[BaseMessage]) -> str:
    return "\n".join(str(message.content) for message in messages)


def asks_for_what_is_archived(messages: list[BaseMessage]) -> AIMessage:
    found = re.search("[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", text_of(messages))
    assert found, "there is a placeholder in the window"
    return calling("load_tool_history", uuid=found[0], query="vault code of depot seven")


def answers(messages: list[BaseMessage]) -> AIMessage:
    found = re.search("depot seven is (\\S+)", text_of(messages))
    return AIMessage(f"It is {found[1] if found else 'not to be found'}.")


def echo(messages: list[BaseMessage]) -> AIMessage:
    return AIMessage(f"heard {messages[-1].content}")


@pytest.fixture(params=["invoke", "ainvoke"])
def agent(request: pytest.FixtureRequest, base_url: str, client: httpx.Client) -> Iterator[Callable[..., Any]]:
    """Makes agents, and a way to invoke them."""
    quire = Quire(base_url, retries=Retries(times=0))
    with asyncio.Runner() as runner:
        aquire = AsyncQuire(base_url, retries=Retries(times=0))

        def make(*script: Reply, **options: Any) -> tuple[Any, Scripted, Callable[[str], Any]]:
            model = Scripted(script=list(script), given=[], offered=[])
            middleware = QuireMiddleware(quire, aquire, **{"user_id": "me", "budget": BUDGET, **options})
            made = create_agent(
                model, [read_report], system_prompt="Be brief.", middleware=[middleware], checkpointer=InMemorySaver()
            )
            config: RunnableConfig = {"configurable": {"thread_id": "c"}}

            def say(text: str) -> Any:
                asked: Any = {"messages": [HumanMessage(text)]}
                if request.param == "invoke":
                    return made.invoke(asked, config)
                return runner.run(made.ainvoke(asked, config))

            return made, model, say

        yield make
        runner.run(aquire.close())
    quire.close()


def test_the_agent_finds_again_what_left_its_window(agent: Any, client: httpx.Client) -> None:
    script = (lambda _: calling("read_report"), lambda _: AIMessage("Read."), asks_for_what_is_archived, answers)
    _, model, say = agent(*script, budget=2 * BUDGET, recall="off")
    say("Please read the report.")
    state = say("What is the vault code?")["messages"]
    assert state[-1].content == "It is QX7-4410."
    assert LITERAL in state[2].content, "the state has the whole result"
    assert LITERAL not in text_of(model.given[2]), "the model does not, once another question follows"
    assert model.given[0][0].text.startswith("Be brief.")
    assert set(model.offered[0]) == {"read_report", "recall_page", "load_tool_history", "search_memories"}
    read, found = ["user", "assistant", "tool", "assistant"], ["user", "assistant", "tool", "assistant"]
    assert [m["role"] for m in history(client, "c")] == read + found
    assert history(client, "c")[2]["content"] == state[2].content


def test_recalled_answers_are_injected_but_not_kept_in_the_state(agent: Any, client: httpx.Client) -> None:
    append(client, "before", [user("The boiler's service code is KX-2291."), assistant("Noted.")], user_id="me")
    _, model, say = agent(lambda _: AIMessage("I see."))
    say("What is the boiler's service code?")
    assert "KX-2291" in text_of(model.given[0])
    state = say("thanks")["messages"]
    assert "KX-2291" not in text_of(model.given[1])
    assert "KX-2291" not in text_of(state)
    assert "KX-2291" not in str(history(client, "c"))


@pytest.mark.slow
def test_the_window_keeps_to_its_budget_while_the_state_grows(agent: Any, client: httpx.Client) -> None:
    _, model, say = agent(echo)
    states = [say(f"question {number} " + "why " * 500)["messages"] for number in range(12)]
    state = states[-1]
    assert len(state) == 24
    assert len(text_of(state)) > 4 * len(text_of(model.given[-1]))
    assert [m.content for m in state] == stored(client, "c")
    assert state[0].content.startswith("question 0")


def test_the_apis_usage_is_reported(agent: Any, client: httpx.Client) -> None:
    """It makes 1.4 tokens of each of ours, and its windows become smaller."""

    def counted(messages: list[BaseMessage]) -> AIMessage:
        total = client.get("/conversations/c/context", params={"budget": BUDGET}).json()["usage"]["total"]
        used = UsageMetadata(input_tokens=total * 14 // 10, output_tokens=5, total_tokens=total * 14 // 10 + 5)
        return AIMessage(f"heard {len(messages)}", usage_metadata=used)

    _, _, say = agent(counted)
    for number in range(6):
        say(f"question {number} " + "why " * 500)
    # Counted of the plain window; where a recall did not fit beside it, the agent's was smaller.
    usage = client.get("/conversations/c/context", params={"budget": BUDGET}).json()["usage"]
    assert usage["token_percent"] == pytest.approx(150, abs=20)
    after = client.get("/conversations/c/context", params={"budget": BUDGET}).json()["usage"]
    assert after["total"] * 1.4 <= BUDGET


def test_messages_of_the_current_turn_are_the_graphs_own(agent: Any) -> None:
    """What only the provider understands (signatures, ids) must come back to it within a tool loop."""
    signed = calling("read_report")
    signed.additional_kwargs["signature"] = "s"
    _, model, say = agent(lambda _: signed, echo)
    say("Look.")
    assert [m.additional_kwargs for m in model.given[1] if isinstance(m, AIMessage)] == [{"signature": "s"}]
    assert isinstance(model.given[1][-1], ToolMessage)
    assert len(model.given[1][-1].text) < 3000, "but for what is archived"


CALL = calling("read_report").tool_calls
ANSWERS = {
    "OpenAI Responses": [
        {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "e"}, {"type": "text", "text": "Hm."},
        {"type": "function_call", "id": "fc_1", "call_id": CALL[0]["id"], "name": "read_report", "arguments": "{}"},
    ],
    "LangChain 1": [
        {"type": "reasoning", "reasoning": "Why?", "extras": {"signature": "s"}}, {"type": "text", "text": "Hm."},
        {"type": "tool_call", "id": CALL[0]["id"], "name": "read_report", "args": {}},
    ],
    "Anthropic": [
        {"type": "redacted_thinking", "data": "d"}, {"type": "text", "text": "Hm."},
        {"type": "tool_use", "id": CALL[0]["id"], "name": "read_report", "input": {}},
    ],
}  # fmt: skip


@pytest.mark.parametrize("content", ANSWERS.values(), ids=ANSWERS)
def test_a_call_that_a_content_repeats_is_shown_once(agent: Any, client: httpx.Client, content: list[Any]) -> None:
    """As langchain-openai 1.7.4 and langchain-anthropic 1.7.10 have them."""
    _, model, say = agent(lambda _: AIMessage(content, tool_calls=CALL), echo)
    say("Look.")
    say("And again.")
    of_turn, later = (next(m for m in model.given[at] if isinstance(m, AIMessage)) for at in (1, 2))
    assert of_turn.content == content, "the graph's own, with what its provider wants to see again"
    assert (later.text, [call["id"] for call in later.tool_calls]) == ("Hm.", [CALL[0]["id"]])


@pytest.mark.parametrize(
    ("part", "shown"),
    [
        ({"type": "file", "url": "https://example.com/a.pdf", "mime_type": "application/pdf"}, "example.com/a.pdf"),
        ({"type": "video", "base64": "AAAA", "mime_type": "video/mp4"}, "video/mp4"),
        ({"type": "text-plain", "text": "The minutes.", "mime_type": "text/plain"}, "The minutes."),
        ({"type": "image", "file_id": "file-1"}, "file-1"),
        ({"type": "media", "data": "AAAA", "mime_type": "image/png"}, "image/png"),
        ("The minutes.", "The minutes."),
        ({"cachePoint": {"type": "default"}}, "Look."),
    ],
)  # fmt: skip
def test_parts_that_langchain_cannot_convert_reach_the_model(agent: Any, part: Any, shown: str) -> None:
    _, model, say = agent(echo)
    say([{"type": "text", "text": "Look."}, part])
    assert shown in text_of(model.given[0])


def test_a_failed_tool_stays_failed(agent: Any, client: httpx.Client) -> None:
    made, model, say = agent(echo)
    failed = ToolMessage("no such depot", tool_call_id=CALL[0]["id"], status="error")
    state = {"messages": [HumanMessage("Look."), AIMessage("", tool_calls=CALL), failed, AIMessage("It failed.")]}
    made.update_state({"configurable": {"thread_id": "c"}}, state)
    say("Why?")
    assert [m.content for m in model.given[0] if isinstance(m, ToolMessage)] == ["Error: no such depot"]


def test_a_state_that_was_trimmed_or_summarised_loses_nothing(agent: Any, client: httpx.Client) -> None:
    made, model, say = agent(echo)
    states = [say(f"question {number}")["messages"] for number in range(4)]
    config = {"configurable": {"thread_id": "c"}}
    summary = HumanMessage("Here is a summary of the conversation.")
    made.update_state(config, {"messages": [RemoveMessage(REMOVE_ALL_MESSAGES), summary, *states[-1][-3:]]})
    assert len(say("question 4")["messages"]) == 6
    asked = [text for n in range(5) for text in (f"question {n}", f"heard question {n}")]
    assert stored(client, "c") == asked
    assert [m.content for m in model.given[-1][1:]] == asked[:-1]


def test_a_new_process_resumes_the_conversation(agent: Any) -> None:
    """The graph's state is gone with the process; Quire has the conversation."""
    _, _, say = agent(echo)
    say("I am Ann.")
    _, model, say = agent(echo)
    say("Who am I?")
    assert [m.content for m in model.given[-1][1:]] == ["I am Ann.", "heard I am Ann.", "Who am I?"]


@pytest.mark.parametrize("required", [True, False])
def test_without_quire_the_agent_stops_or_has_the_whole_list(required: bool) -> None:
    with Quire("http://127.0.0.1:1", retries=Retries(times=0)) as quire:
        middleware = QuireMiddleware(quire, user_id="me", tools=[], required=required)
        model = Scripted(script=[echo], given=[], offered=[])
        made = create_agent(model, [], middleware=[middleware])
        config: RunnableConfig = {"configurable": {"thread_id": "c"}}
        if required:
            with pytest.raises(ConnectionFailed):
                made.invoke({"messages": [HumanMessage("hi")]}, config)
            return
        assert made.invoke({"messages": [HumanMessage("hi")]}, config)["messages"][-1].content == "heard hi"


def test_missing_settings_are_named(base_url: str, client: httpx.Client) -> None:
    with Quire(base_url) as quire:
        assert len(offered(quire.tools())) == 3
        made = create_agent(Scripted(script=[echo]), [], middleware=[QuireMiddleware(quire, user_id="me")])
        with pytest.raises(ValueError, match="thread_id"):
            made.invoke({"messages": [HumanMessage("hi")]})
        with pytest.raises(ValueError, match="aquire"):
            asyncio.run(made.ainvoke({"messages": [HumanMessage("hi")]}, {"configurable": {"thread_id": "c"}}))
    with pytest.raises(ValueError, match="recall tools"):
        QuireMiddleware(aquire=AsyncQuire(), user_id="me")
