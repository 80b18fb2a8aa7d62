#!/usr/bin/env bash
# langchain-text-splitters 1.1.3: `MarkdownHeaderTextSplitter` strips each line, within fences too: Python comes back without
# its indentation, which is another program or none, and a list within a list as one. Guessed: fenced lines stay.
set -euo pipefail
folder=$(mktemp --directory)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet langchain-text-splitters==1.1.3
"$folder/venv/bin/python" - <<'PYTHON' 2>/dev/null
from langchain_text_splitters import MarkdownHeaderTextSplitter

CODE = "def dose(age):\n    if age < 12:\n        return 1\n    return 2"
TEXT = f"# Doses\n\n```python\n{CODE}\n```\n\n- tea\n  - longjing\n"
[document] = MarkdownHeaderTextSplitter([("#", "title")]).split_text(TEXT)
code = document.page_content.split("```")[1].removeprefix("python\n").rstrip()
print(document.page_content)
assert code == "\n".join(line.strip() for line in CODE.splitlines())
try:
    compile(code, "dose", "exec")
    raise AssertionError("it is a program still")
except IndentationError as error:
    print(error)
assert document.page_content.endswith("- tea\n- longjing")
PYTHON
