#!/usr/bin/env bash
# lancedb 0.40.0: a full-text index leaves out words of more than 40 bytes, and a Chinese clause is one word to it. So a
# clause of 14 characters or more is not found, by its own text either; a shorter one by the whole of it. Guessed: both.
set -euo pipefail
folder=$(mktemp --directory)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet lancedb==0.40.0
cd "$folder"
"$folder/venv/bin/python" - <<'PYTHON' 2>/dev/null
import lancedb

SHORT, LONG = "周五下午三点飞往上海开会吧", "周五下午三点我飞往上海参加会议"
table = lancedb.connect("data").create_table("memories", [{"text": SHORT}, {"text": LONG}, {"text": "Lin likes tea"}])
table.create_fts_index("text")
found = {
    query: [row["text"] for row in table.search(query, query_type="fts").to_list()]
    for query in ("tea", "上海", SHORT, LONG)
}
print(len(SHORT), len(LONG), found)
assert found == {"tea": ["Lin likes tea"], "上海": [], SHORT: [SHORT], LONG: []}
PYTHON
