"""LangGraph's PostgreSQL checkpointer with `trim_messages`, as their documentation has them: see `bench.peers.peer`.

One compiled graph with one node, whose answer is given to it instead of a model's. A turn is one call of the graph;
it loads the state, and stores it after each step: when the call began, with the user's message, with the answer. With
durability `exit` it stores once, at the end: a process that dies within the call loses the turn. With a delta channel
(beta) a step stores what it added, and every hundredth the whole. As a `loop`, the graph calls a model that calls a tool
and then a model again, each with the trimmed state, when all of that turn is known.

The connection is the saver's own: autocommit, every statement prepared. A context is the state, loaded and trimmed,
tokens counted approximately, which is what LangChain recommends for this place, and costs least; messages that come with
their tokens are counted by these.
"""

import json
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Annotated, Any, Literal, TypedDict

from langchain_core.messages import (
    AIMessage,
    AnyMessage,
    BaseMessage,
    HumanMessage,
    ToolMessage,
    convert_to_openai_messages,
    trim_messages,
)
from langchain_core.messages.utils import count_tokens_approximately
from langchain_core.runnables import RunnableConfig
from langgraph.channels.delta import DeltaChannel
from langgraph.checkpoint.postgres.aio import AsyncPostgresSaver
from langgraph.graph import END, START, StateGraph
from langgraph.graph.message import _messages_delta_reducer, add_messages
from langgraph.runtime import Runtime

from bench.peers.peer import Operation

PACKAGES = ("langgraph", "langgraph-checkpoint-postgres", "langchain-core", "psycopg")
BUDGET = 8_000
CYCLIC = ("delta", "summary")

Json = dict[str, Any]


class Whole(TypedDict):
    messages: Annotated[list[AnyMessage], add_messages]


class Delta(TypedDict):
    messages: Annotated[list[AnyMessage], DeltaChannel(_messages_delta_reducer)]


@dataclass
class Script:
    answer: list[AnyMessage]


async def model(state: Any, runtime: Runtime[Script]) -> Json:
    return {"messages": runtime.context.answer}


async def calling(state: Any, runtime: Runtime[Script]) -> Json:
    """Call the tool unless it was called already."""
    trimmed(state, BUDGET)
    return {"messages": runtime.context.answer[:1] if state["messages"][-1].type == "human" else []}


async def tool(state: Any, runtime: Runtime[Script]) -> Json:
    return {"messages": runtime.context.answer[1:]}


def next_node(state: Any) -> str:
    return "tool" if getattr(state["messages"][-1], "tool_calls", None) else END


@asynccontextmanager
async def opened(variant: str, dsn: str, url: str) -> AsyncIterator[Mapping[str, Operation]]:
    async with AsyncPostgresSaver.from_conn_string(dsn) as saver:
        await saver.setup()
        builder = StateGraph[Any, Script](Delta if variant == "delta" else Whole, context_schema=Script)
        builder.add_edge(START, "model")
        if variant == "loop":
            builder.add_node("model", calling)
            builder.add_node("tool", tool)
            builder.add_conditional_edges("model", next_node, ["tool", END])
            builder.add_edge("tool", "model")
        else:
            builder.add_node("model", model)
            builder.add_edge("model", END)
        yield operations(builder.compile(checkpointer=saver), variant, trimmed)


def operations(
    graph: Any, variant: str, shown: Callable[[Json, int], Sequence[BaseMessage]]
) -> Mapping[str, Operation]:
    """Return the operations of a graph with the node `model`. ``shown`` selects the messages for a budget."""

    def thread(target: str) -> RunnableConfig:
        return {"configurable": {"thread_id": f"{variant}-{target}"}}

    async def call(target: str, turn: list[Json], at: int) -> int:
        """Run the graph. The messages from ``at`` on are the answers of its nodes."""
        said = [message(one) for one in turn]
        how: Literal["exit", "async"] = "exit" if variant == "exit" else "async"
        state = await graph.ainvoke({"messages": said[:at]}, thread(target), context=Script(said[at:]), durability=how)
        return len(state["messages"])

    async def append(target: str, turn: list[Json]) -> int:
        """Append a turn. The model answers with its last message, in a loop with all but the first."""
        return await call(target, turn, 1 if variant == "loop" else -1)

    async def build(target: str, body: Json) -> int:
        """Append all messages at once, except the last turns of variants that do something every few turns."""
        messages, turns = body["messages"], body["turns"] if variant in CYCLIC else 0
        at = max(len(messages) - 2 * turns, 2)
        count = await call(target, messages[:at], -1)
        for begin in range(at, len(messages), 2):
            count = await call(target, messages[begin : begin + 2], -1)
        return count

    async def context(target: str, _: object) -> int:
        state = await graph.aget_state(thread(target))
        return len(shown(state.values, BUDGET))

    async def window(target: str, body: Json) -> list[Json]:
        state = await graph.aget_state(thread(target))
        said: Any = convert_to_openai_messages(shown(state.values, body["budget"])) if state.values else []
        return list(said)

    return {"build": build, "append": append, "context": context, "window": window}


def trimmed(state: Json, budget: int) -> Sequence[BaseMessage]:
    messages: list[AnyMessage] = state["messages"]
    return trim_messages(
        messages, max_tokens=budget, token_counter=tokens, strategy="last", start_on="human", include_system=True
    )


def tokens(messages: Sequence[BaseMessage]) -> int:
    """Return the tokens that the messages state, or else an approximation."""
    if messages and "tokens" in messages[0].additional_kwargs:
        return sum(one.additional_kwargs["tokens"] for one in messages)
    return count_tokens_approximately(messages)


def message(one: Json) -> AnyMessage:
    more = {"tokens": one["tokens"]} if "tokens" in one else {}
    if one["role"] == "tool":
        return ToolMessage(one["content"], tool_call_id=one["tool_call_id"], additional_kwargs=more)
    if one["role"] == "assistant":
        calls = [(call["id"], call["function"]) for call in one.get("tool_calls", ())]
        made = [{"id": name, "name": of["name"], "args": json.loads(of["arguments"])} for name, of in calls]
        return AIMessage(one["content"], tool_calls=made, additional_kwargs=more)
    return HumanMessage(one["content"], additional_kwargs=more)
