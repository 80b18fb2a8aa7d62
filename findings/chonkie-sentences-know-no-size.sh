#!/usr/bin/env bash
# chonkie 1.7.0: `SentenceChunker(chunk_size=40)` makes one chunk of a text that has no ". ", "! ", "? " or line's end, however
# long: 300 characters of a log line, or five Chinese sentences. Its `RecursiveChunker` keeps to 40. Guessed: both do.
set -euo pipefail
folder=$(mktemp --directory)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet chonkie==1.7.0
"$folder/venv/bin/python" - <<'PYTHON' 2>/dev/null
from chonkie import RecursiveChunker, SentenceChunker

TEXTS = {
    "sentences": "The tea is green. The cup is blue. " * 8,
    "log": "step=3 ok " * 30,
    "Chinese": "今天下午三点开会，请带测试报告。" * 5,
}
sizes = {}
for chunker in (SentenceChunker(tokenizer="character", chunk_size=40, chunk_overlap=0), RecursiveChunker("character", 40)):
    name = type(chunker).__name__
    sizes[name] = {kind: max(chunk.token_count for chunk in chunker.chunk(text)) for kind, text in TEXTS.items()}
    print(name, sizes[name])
assert sizes["SentenceChunker"]["sentences"] <= 40
assert (sizes["SentenceChunker"]["log"], sizes["SentenceChunker"]["Chinese"]) == (300, 80)
assert max(sizes["RecursiveChunker"].values()) <= 40
PYTHON
