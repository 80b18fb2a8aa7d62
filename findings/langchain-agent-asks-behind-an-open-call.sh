#!/usr/bin/env bash
# langchain 1.5.2: where a tool raised, the next question of a thread that `create_agent` keeps reaches the model behind the call,
# which has no result: APIs refuse such a list, at each question from then on. The tool is not run again. Guessed: the call
# gets an error for its result, or leaves the thread.
set -euo pipefail
folder=$(mktemp --directory)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet langchain==1.5.2 langchain-core==1.8.3 langgraph==1.2.24
cd "$folder"
"$folder/venv/bin/python" - <<'PYTHON' 2>/dev/null
from langchain.agents import create_agent
from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.messages import AIMessage, HumanMessage
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver

asked, runs = [], []


class Model(GenericFakeChatModel):
    def bind_tools(self, *_, **__):
        return self

    def _generate(self, messages, *args, **more):
        asked.append([one.type for one in messages])
        return super()._generate(messages, *args, **more)


@tool
def get_weather(city: str) -> str:
    """Return the weather."""
    runs.append(city)
    raise ConnectionError("down")


call = {"id": "call_1", "name": "get_weather", "args": {"city": "Paris"}}
model = Model(messages=iter([AIMessage("", tool_calls=[call]), AIMessage("4"), AIMessage("6")]))
agent = create_agent(model, [get_weather], checkpointer=InMemorySaver())
thread = {"configurable": {"thread_id": "1"}}
try:
    agent.invoke({"messages": [HumanMessage("What is the weather?")]}, thread)
except ConnectionError as error:
    print("raised:", error)
for question in ("What is 2 + 2?", "What is 3 + 3?"):
    agent.invoke({"messages": [HumanMessage(question)]}, thread)
    print(asked[-1])
assert asked[1:] == [["human", "ai", "human"], ["human", "ai", "human", "ai", "human"]]
assert runs == ["Paris"]
PYTHON
