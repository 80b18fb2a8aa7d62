#!/usr/bin/env bash
# langchain-text-splitters 1.1.3: `RecursiveJsonSplitter` leaves a list whole, whatever the limit; told to convert lists, it
# puts a row's number into one chunk and its name into the next, and makes {} of []. Guessed: chunks of whole rows.
set -euo pipefail
folder=$(mktemp --directory)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet langchain-text-splitters==1.1.3
"$folder/venv/bin/python" - <<'PYTHON' 2>/dev/null
import json

from langchain_text_splitters import RecursiveJsonSplitter

LIMIT = 60
ORDER = {"notes": [], "rows": [{"number": number, "name": "tea"} for number in range(8)]}
splitter = RecursiveJsonSplitter(max_chunk_size=LIMIT)
whole, torn = splitter.split_json(ORDER), splitter.split_json(ORDER, convert_lists=True)
print([len(json.dumps(chunk)) for chunk in whole])
for chunk in torn:
    print(json.dumps(chunk))
sizes = [len(json.dumps(chunk)) for chunk in whole]
assert max(sizes) > 4 * LIMIT
assert torn[0]["notes"] == {}
assert (torn[1]["rows"]["2"], torn[2]["rows"]["2"]) == ({"number": 2}, {"name": "tea"})
PYTHON
