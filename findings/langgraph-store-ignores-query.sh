#!/usr/bin/env bash
# langgraph 1.2.24: a store without an index takes `search(query=…)`, gives items in the order they were written, without
# a score, and warns of nothing. Guessed: it raises, or looks for the words.
set -euo pipefail
folder=$(mktemp --directory)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet langgraph==1.2.24 langgraph-checkpoint==4.3.2
"$folder/venv/bin/python" -W error - <<'PYTHON'
from langgraph.store.memory import InMemoryStore

store = InMemoryStore()
store.put(("users", "lin"), "tea", {"text": "Lin likes tea."})
store.put(("users", "lin"), "dog", {"text": "Lin has a dog."})
found = [(item.key, item.score) for item in store.search(("users", "lin"), query="Which animal does Lin have?", limit=1)]
print(found)
assert found == [("tea", None)]
PYTHON
