#!/usr/bin/env bash
# langgraph-checkpoint-sqlite 3.1.2: an item past its time to live is still read and found, until somebody calls `sweep_ttl`.
# Guessed: what is expired is not there, swept or not.
set -euo pipefail
folder=$(mktemp --directory)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet langgraph==1.2.24 langgraph-checkpoint-sqlite==3.1.2
cd "$folder"
"$folder/venv/bin/python" - <<'PYTHON' 2>/dev/null
import time

from langgraph.store.sqlite import SqliteStore

USER, SECONDS = ("users", "lin"), 0.3
with SqliteStore.from_conn_string(":memory:", ttl={"default_ttl": SECONDS / 60, "refresh_on_read": False}) as store:
    store.setup()
    store.put(USER, "tan", {"text": "The code is 4711."})
    time.sleep(5 * SECONDS)
    got, found = store.get(USER, "tan"), store.search(USER)
    print(got)
    assert got is not None and [item.key for item in found] == ["tan"]
    swept = store.sweep_ttl()
    print("swept:", swept, store.get(USER, "tan"))
    assert swept == 1 and store.get(USER, "tan") is None
PYTHON
