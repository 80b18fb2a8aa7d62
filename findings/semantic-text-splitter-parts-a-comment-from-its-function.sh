#!/usr/bin/env bash
# semantic-text-splitter 0.33.1: `CodeSplitter` puts the comment above a decorated function to the imports before it, across two
# blank lines, and the function without it into the next chunk, where both have room. Guessed: a comment stays with what it is
# about.
set -euo pipefail
folder=$(mktemp --directory)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet semantic-text-splitter==0.33.1 tree-sitter-python==0.25.0
"$folder/venv/bin/python" - <<'PYTHON'
import tree_sitter_python
from semantic_text_splitter import CodeSplitter

CODE = '''import os


# Rounds half a cent up, as the bank does.
@cached
def rounded(cents):
    return int(cents + 0.5)
'''
COMMENT, FUNCTION = "# Rounds half a cent up, as the bank does.", "@cached\ndef rounded(cents):\n    return int(cents + 0.5)"
LIMIT = len(COMMENT) + len(FUNCTION) + 1
for trim in (True, False):
    chunks = CodeSplitter(tree_sitter_python.language(), LIMIT, trim=trim).chunks(CODE)
    print(chunks)
    assert len(CODE) > LIMIT
    assert [chunk.strip() for chunk in chunks] == [f"import os\n\n\n{COMMENT}", FUNCTION]
PYTHON
