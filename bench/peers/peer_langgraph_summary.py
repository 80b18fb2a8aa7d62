"""LangGraph that summarises: see `bench.peers.peer`, and `bench.peers.peer_langgraph` for what is not of summaries.

As their documentation has it, with a budget of tokens in place of a number of messages: a second node, which ends the
turn that makes the messages too many, asks a chat model to extend the summary by the oldest messages and removes
them; the newest stay, half of the budget. A context is the state, loaded: the summary and what stayed. A variant
`NAME:TOKENS` has another budget than `bench.peers.peer_langgraph`.
"""

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Annotated, Any, TypedDict

from langchain_core.messages import (
    AnyMessage,
    BaseMessage,
    RemoveMessage,
    SystemMessage,
    convert_to_openai_messages,
    trim_messages,
)
from langgraph.checkpoint.postgres.aio import AsyncPostgresSaver
from langgraph.graph import END, START, StateGraph
from langgraph.graph.message import add_messages
from openai import AsyncOpenAI

from bench.peers import peer_langgraph
from bench.peers.peer import Operation
from bench.peers.peer_langgraph import BUDGET, Json, Script, model, tokens

PACKAGES = (*peer_langgraph.PACKAGES, "openai")
EXTEND = "The summary so far: {summary}\n\nExtend it by the new messages above."
CREATE = "Summarise the conversation above."
SUMMARY_TOKENS = 500


class State(TypedDict):
    messages: Annotated[list[AnyMessage], add_messages]
    summary: str


@asynccontextmanager
async def opened(variant: str, dsn: str, url: str) -> AsyncIterator[Mapping[str, Operation]]:
    budget = int(variant.partition(":")[2] or BUDGET)

    async def summarise(state: State) -> Json:
        newest = newest_of(state["messages"], budget // 2)
        oldest = state["messages"][: len(state["messages"]) - len(newest)]
        asked = EXTEND.format(summary=state["summary"]) if state.get("summary") else CREATE
        prompt: Any = [*convert_to_openai_messages(oldest), {"role": "user", "content": asked}]
        answer = await client.chat.completions.create(model="played", messages=prompt, max_tokens=SUMMARY_TOKENS)
        removed = [RemoveMessage(one.id) for one in oldest if one.id is not None]
        return {"messages": removed, "summary": answer.choices[0].message.content}

    async with (
        AsyncOpenAI(base_url=url, api_key="none") as client,
        AsyncPostgresSaver.from_conn_string(dsn) as saver,
    ):
        await saver.setup()
        builder = StateGraph[Any, Script](State, context_schema=Script)
        builder.add_node("model", model)
        builder.add_node("summarise", summarise)
        builder.add_edge(START, "model")
        builder.add_conditional_edges("model", lambda state: next_node(state, budget), ["summarise", END])
        builder.add_edge("summarise", END)
        yield peer_langgraph.operations(builder.compile(checkpointer=saver), variant, context)


def next_node(state: State, budget: int) -> str:
    return "summarise" if tokens(state["messages"]) > budget else END


def context(state: Json, _: int) -> Sequence[BaseMessage]:
    summary = [SystemMessage(state["summary"])] if state.get("summary") else []
    return [*summary, *state["messages"]]


def newest_of(messages: list[AnyMessage], most: int) -> Sequence[BaseMessage]:
    return trim_messages(messages, max_tokens=most, token_counter=tokens, strategy="last", start_on="human")
