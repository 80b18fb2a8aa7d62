#!/usr/bin/env bash
# chromadb 1.5.9: `add` with an id that is there stores nothing, raises nothing and gives the same answer, so the old text, vector and
# metadata stay; twice the same id in one call raises. `update` of an id that is not there does nothing either. Guessed: the new
# text, or an error.
set -euo pipefail
folder=$(mktemp --directory)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet chromadb==1.5.9
"$folder/venv/bin/python" - <<'PYTHON' 2>/dev/null
import chromadb
from chromadb.errors import DuplicateIDError

facts = chromadb.EphemeralClient().create_collection("facts", embedding_function=None)
answers = [
    facts.add(ids=["tea"], documents=[text], embeddings=[vector], metadatas=[{"said": day}])
    for text, vector, day in (("Lin likes longjing.", [1, 0], 1), ("Lin likes biluochun now.", [0, 1], 2))
]
facts.update(ids=["coffee"], documents=["Lin drinks no coffee."], embeddings=[[1, 1]])
kept = facts.get()
print(answers, kept["ids"], kept["documents"], kept["metadatas"])
assert answers == [None, None]
assert (kept["ids"], kept["documents"], kept["metadatas"]) == (["tea"], ["Lin likes longjing."], [{"said": 1}])
try:
    facts.add(ids=["a", "a"], documents=["1", "2"], embeddings=[[1, 0], [0, 1]])
except DuplicateIDError as error:
    print(error)
else:
    raise SystemExit("an id twice in one call was taken")
PYTHON
