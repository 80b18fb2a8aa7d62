#!/usr/bin/env bash
# langgraph 1.2.24 with langgraph-checkpoint-sqlite 3.1.2: each step of a graph writes all messages again: 200 turns of 1,000
# characters are 84 MB, four times as much as 100 turns. When all messages are removed, the database still holds the first of them
# in 600 checkpoints. Guessed: a step writes what is new, and what is removed is gone.
set -euo pipefail
folder=$(mktemp --directory)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet langgraph==1.2.24 langgraph-checkpoint-sqlite==3.1.2
cd "$folder"
"$folder/venv/bin/python" - <<'PYTHON' 2>/dev/null
import sqlite3

from langchain_core.messages import RemoveMessage
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.graph.message import REMOVE_ALL_MESSAGES

THREAD = {"configurable": {"thread_id": "tea"}}
connection = sqlite3.connect("checkpoints.db", check_same_thread=False)
graph = StateGraph(MessagesState)
graph.add_node("answer", lambda state: {"messages": [("ai", "green " * 83)]})
graph.add_edge(START, "answer")
app = graph.compile(checkpointer=SqliteSaver(connection))


def megabytes():
    return connection.execute("select sum(length(checkpoint)) from checkpoints").fetchone()[0] / 1e6


app.invoke({"messages": [("user", "locker 4711 " + "tea " * 122)]}, THREAD)
for turn in range(2, 201):
    app.invoke({"messages": [("user", "tea " * 125)]}, THREAD)
    if turn == 100:
        half = megabytes()
whole = megabytes()
app.update_state(THREAD, {"messages": [RemoveMessage(id=REMOVE_ALL_MESSAGES)]}, as_node="answer")
shown = app.get_state(THREAD).values["messages"]
holding = "select count(*) from checkpoints where instr(checkpoint, cast('locker 4711' as blob))"
copies = connection.execute(holding).fetchone()[0]
print(f"100 turns {half:.0f} MB, 200 turns {whole:.0f} MB; shown after removal {len(shown)}, copies of the first text {copies}")
assert 3.5 * half < whole < 4.5 * half
assert whole > 70
assert shown == []
assert copies == 600
PYTHON
