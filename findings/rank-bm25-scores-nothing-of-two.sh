#!/usr/bin/env bash
# rank_bm25 0.2.2: of two texts, the one that has the query's word scores 0, as the other does: a word that half of the
# texts hold has no weight, so a memory of two facts finds neither. Guessed: the text with the word scores higher.
set -euo pipefail
folder=$(mktemp --directory)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet rank_bm25==0.2.2
cd "$folder"
"$folder/venv/bin/python" - <<'PYTHON' 2>/dev/null
from rank_bm25 import BM25Okapi

TEXTS = ["lin likes tea", "bo has a dog", "an swims on mondays"]
scores = {count: BM25Okapi([text.split() for text in TEXTS[:count]]).get_scores(["tea"]).tolist() for count in (2, 3)}
print(scores)
assert scores[2] == [0, 0]
assert scores[3][0] > 0
PYTHON
