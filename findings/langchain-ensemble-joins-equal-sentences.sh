#!/usr/bin/env bash
# langchain-classic 1.0.8: `EnsembleRetriever`, its hybrid search, takes documents of the same text for one, whatever their ids and
# metadata: of a sentence that was said in January and again in November, the first one found comes, and the other day is lost.
# Guessed: documents of two ids are two.
set -euo pipefail
folder=$(mktemp --directory)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet langchain-classic==1.0.8 langchain-core==1.8.3
"$folder/venv/bin/python" - <<'PYTHON' 2>/dev/null
from langchain_classic.retrievers import EnsembleRetriever
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever


class Ranked(BaseRetriever):
    ranking: list[Document]

    def _get_relevant_documents(self, query, *, run_manager):
        return self.ranking


SAID = [Document("I am in Hangzhou.", id=str(at), metadata={"day": day}) for at, day in enumerate(["01-02", "11-20"])]
SAID.append(Document("I like tea.", id="2", metadata={"day": "03-04"}))
words, meaning = Ranked(ranking=SAID), Ranked(ranking=SAID[::-1])
found = EnsembleRetriever(retrievers=[words, meaning], weights=[0.5, 0.5]).invoke("Where am I?")
print([(one.id, one.metadata["day"]) for one in found])
assert [one.id for one in found] == ["0", "2"]
PYTHON
