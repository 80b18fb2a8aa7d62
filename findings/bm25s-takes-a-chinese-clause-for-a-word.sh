#!/usr/bin/env bash
# bm25s 0.3.16: its tokenizer takes what stands between two Chinese punctuation marks for one term, so a query finds a
# sentence only by the whole of it; all scores are 0 and three results come. Guessed: characters, pairs, or an error.
set -euo pipefail
folder=$(mktemp --directory)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet bm25s==0.3.16
cd "$folder"
"$folder/venv/bin/python" - <<'PYTHON' 2>/dev/null
import bm25s

TEXTS = ["我喜欢喝绿茶，不加糖。", "我的狗叫小白。", "周五飞往上海。"]
terms = bm25s.tokenize(TEXTS, return_ids=False, show_progress=False)
index = bm25s.BM25()
index.index(bm25s.tokenize(TEXTS, show_progress=False), show_progress=False)
scores = {}
for query in ("绿茶", "我喜欢喝绿茶"):
    results = index.retrieve(bm25s.tokenize(query, show_progress=False), k=3, show_progress=False)
    scores[query] = [round(float(score), 2) for score in results.scores[0]]
print(terms[0], scores)
assert terms[0] == ["我喜欢喝绿茶", "不加糖"]
assert scores["绿茶"] == [0, 0, 0]
assert scores["我喜欢喝绿茶"][0] > 0
PYTHON
