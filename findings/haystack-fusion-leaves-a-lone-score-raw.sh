#!/usr/bin/env bash
# haystack-ai 3.4.1: `DocumentJoiner` with `distribution_based_rank_fusion` brings each retriever's scores to one scale, but leaves
# that of a retriever which found one document as it is: a BM25 hit of 1.3 stands before all that meaning found, one of 0.1 behind
# it. Guessed: the middle of the scale.
set -euo pipefail
folder=$(mktemp --directory)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet haystack-ai==3.4.1
HAYSTACK_TELEMETRY_ENABLED=False "$folder/venv/bin/python" - <<'PYTHON' 2>/dev/null
from haystack import Document
from haystack.components.joiners import DocumentJoiner

joiner = DocumentJoiner(join_mode="distribution_based_rank_fusion")


def document(name, score):
    return Document(id=name, content=name, score=score)


def ranked(*words):
    by_meaning = [document("best", 0.95), document("near", 0.9), document("far", 0.1)]
    found = joiner.run([[document(*word) for word in words], by_meaning])["documents"]
    return [(one.id, round(one.score, 3)) for one in found]


print(alone := ranked(("word", 1.3)))
print(low := ranked(("word", 0.1)))
print(both := ranked(("word", 1.3), ("other", 1.2)))
assert alone[0] == ("word", 1.3) and alone[1][0] == "best" and alone[1][1] < 1
assert low[-1] == ("word", 0.1)
assert dict(both)["word"] < 1 and dict(both)["other"] < dict(both)["word"]
PYTHON
