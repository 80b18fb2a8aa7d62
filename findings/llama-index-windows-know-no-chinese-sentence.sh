#!/usr/bin/env bash
# llama-index-core 0.14.25: `SentenceWindowNodeParser` takes a Chinese paragraph for one sentence, so each window is the whole text;
# `SentenceSplitter` of the same package cuts it at each "。". Guessed: both know the sentence.
set -euo pipefail
folder=$(mktemp --directory)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet llama-index-core==0.14.25
cd "$folder"
"$folder/venv/bin/python" - <<'PYTHON' 2>/dev/null
from llama_index.core import Document
from llama_index.core.node_parser import SentenceSplitter, SentenceWindowNodeParser

CHINESE = "我住在上海。我每天早上喝茶！你呢？会议在周五下午开始。"
ENGLISH = "I live in Shanghai. I drink tea each morning! And you? The meeting is on Friday."
windows = SentenceWindowNodeParser.from_defaults(window_size=1)
splitter = SentenceSplitter(chunk_size=16, chunk_overlap=0)
found = {}
for name, text in (("Chinese", CHINESE), ("English", ENGLISH)):
    nodes = windows.get_nodes_from_documents([Document(text=text)])
    found[name] = [(node.text.strip(), node.metadata["window"]) for node in nodes]
    print(name, found[name])
pieces = splitter.split_text(CHINESE)
print(pieces)
assert found["Chinese"] == [(CHINESE, CHINESE)]
assert len(found["English"]) == 4
assert "".join(pieces) == CHINESE and len(pieces) >= 3
assert all(piece[-1] in "。！？" for piece in pieces)
PYTHON
