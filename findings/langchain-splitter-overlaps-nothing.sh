#!/usr/bin/env bash
# langchain-text-splitters 1.1.3: `RecursiveCharacterTextSplitter` with an overlap of 40 characters of 120 gives chunks that share
# none, where paragraphs or lines are longer than 40: what is repeated are whole pieces. Guessed: each chunk begins with
# the end of the one before.
set -euo pipefail
folder=$(mktemp --directory)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet langchain-text-splitters==1.1.3
cd "$folder"
"$folder/venv/bin/python" - <<'PYTHON' 2>/dev/null
from langchain_text_splitters import RecursiveCharacterTextSplitter

LIMIT, OVERLAP = 120, 40


def shared(one, other):
    return max(length for length in range(len(other) + 1) if one.endswith(other[:length]))


found = {}
for words in (4, 14):
    text = "\n\n".join(" ".join(f"w{part}x{word}" for word in range(words)) for part in range(12))
    chunks = RecursiveCharacterTextSplitter(chunk_size=LIMIT, chunk_overlap=OVERLAP).split_text(text)
    found[words] = [shared(one, other) for one, other in zip(chunks, chunks[1:])]
    print(words, "words a paragraph, shared:", found[words])
assert set(found[14]) == {0} and len(found[14]) == 11
assert min(found[4]) > 0
PYTHON
