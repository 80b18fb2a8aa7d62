#!/usr/bin/env bash
# langgraph-checkpoint 4.3.2 and langgraph-checkpoint-sqlite 3.1.2: an item that is put again has a new `created_at`, in
# `InMemoryStore` and in `SqliteStore`: the two times of an item are always the same, and when a fact was first learned is lost.
# Guessed: a change moves `updated_at` alone.
set -euo pipefail
folder=$(mktemp --directory)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet langgraph==1.2.24 langgraph-checkpoint==4.3.2 langgraph-checkpoint-sqlite==3.1.2
"$folder/venv/bin/python" - <<'PYTHON' 2>/dev/null
import time

from langgraph.store.memory import InMemoryStore
from langgraph.store.sqlite import SqliteStore

with SqliteStore.from_conn_string(":memory:") as stored:
    stored.setup()
    for store in (InMemoryStore(), stored):
        times = []
        for tea in ("longjing", "biluochun"):
            store.put(("lin",), "tea", {"likes": tea})
            item = store.get(("lin",), "tea")
            times.append(item.created_at)
            assert abs((item.updated_at - item.created_at).total_seconds()) < 0.1
            time.sleep(1.1)  # SQLite's times have whole seconds
        print(type(store).__name__, [f"{one:%H:%M:%S}" for one in times])
        assert (times[1] - times[0]).total_seconds() >= 1
PYTHON
