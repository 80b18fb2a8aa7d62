"""A LangGraph agent with Quire as its memory: langgraph_agent.py CONVERSATION TURN QUESTION. Needs MODEL and OPENAI_*.
It searches what left the window and loads it for one answer. After a crash, repeat the command to continue."""  # noqa: D209

import os
import sys
from typing import Any, TypedDict, cast

if __name__ == "__main__" and len(sys.argv) != 4:
    sys.exit(__doc__)

from langgraph.graph import END, START, StateGraph
from langgraph.types import StreamWriter
from openai import OpenAI

from quire_client import Quire

# fmt: off
USER, BUDGET = "example", 4000
State = TypedDict("State", {  # noqa: UP013 - to be seen at a glance
    "conversation": str, "turn": str, "question": str, "out_of_view": bool, "memories": list[dict[str, Any]],
    "pages": list[int], "archives": list[str], "answer": str}, total=False)
quire, model = Quire(os.environ.get("QUIRE_URL", "http://127.0.0.1:8000")), OpenAI()

def route(state: State, writer: StreamWriter) -> State:
    asked = {"role": "user", "content": state["question"], "client_id": state["turn"]}
    quire.append(state["conversation"], [asked], user_id=USER, key=state["turn"])
    newest = next(quire.history(state["conversation"], newest_first=True, batch=1))
    if newest["client_id"] == f"{state['turn']}/answer":  # it was answered before the crash
        writer(newest["content"])
        return {"answer": newest["content"]}
    seen = quire.context(state["conversation"], budget=BUDGET).raw
    return {"out_of_view": bool(seen["pages"]["listed"] or seen["pages"]["unlisted"] or seen["archive_refs"])}

def recall(state: State) -> State:
    return {"memories": quire.search(state["question"], user_id=USER, limit=3)["results"]}

def retrieve(state: State) -> State:
    pages = {m["page"] for m in state["memories"] if m["conversation_id"] == state["conversation"] and m["page"]}
    return {"pages": sorted(pages), "archives": list({m["archive_id"] for m in state["memories"] if m["archive_id"]})}

def generate(state: State, writer: StreamWriter) -> State:
    wanted: Any = {"query": state["question"], "pages": state.get("pages", []), "load": state.get("archives", [])}
    messages = cast(Any, quire.context(state["conversation"], budget=BUDGET, **wanted).messages)
    answer = ""
    for chunk in model.chat.completions.create(model=os.environ["MODEL"], messages=messages, stream=True):
        writer(word := chunk.choices[0].delta.content or "")
        answer += word
    return {"answer": answer}

def persist(state: State) -> None:
    answer = {"role": "assistant", "content": state["answer"], "client_id": f"{state['turn']}/answer"}
    quire.append(state["conversation"], [answer], key=answer["client_id"])

made = StateGraph(State).add_node(route).add_node(recall).add_node(retrieve).add_node(generate).add_node(persist)
made.add_edge(START, "route").add_edge("retrieve", "generate").add_edge("generate", "persist").add_edge("persist", END)
made.add_conditional_edges("route", lambda s: END if "answer" in s else "recall" if s["out_of_view"] else "generate")
graph = made.add_conditional_edges("recall", lambda s: "retrieve" if s["memories"] else "generate").compile()

if __name__ == "__main__":
    conversation, turn, question = sys.argv[1:]
    for word in graph.stream(State(conversation=conversation, turn=turn, question=question), stream_mode="custom"):
        print(word, end="", flush=True)
