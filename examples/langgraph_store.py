"""A LangGraph graph whose store is Quire: langgraph_store.py CONVERSATION REQUEST; QUIRE_URL names the service.

Install it with pip install "./clients/python[langgraph]".
The node keeps each request and prints earlier ones, of any conversation, that answer it: put your model in its place.
"""

import os
import sys
from typing import TypedDict
from uuid import uuid4

if len(sys.argv) < 3:
    sys.exit(__doc__)

from langgraph.graph import START, StateGraph
from langgraph.store.base import BaseStore

from quire_client import Quire
from quire_client.langgraph import QuireStore


class State(TypedDict):
    conversation: str
    request: str


def remember(state: State, *, store: BaseStore) -> None:
    for item in store.search(("requests",), query=state["request"], limit=3):
        print(f"{item.namespace[1]}: {item.value['text']}")
    store.put(("requests", state["conversation"]), str(uuid4()), {"text": state["request"]}, index=["text"])


builder = StateGraph(State)
builder.add_node("remember", remember)
builder.add_edge(START, "remember")
with Quire(os.environ.get("QUIRE_URL", "http://127.0.0.1:8000")) as quire:
    graph = builder.compile(store=QuireStore(quire, user_id="me"))
    graph.invoke({"conversation": sys.argv[1], "request": " ".join(sys.argv[2:])})
