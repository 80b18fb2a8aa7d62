#!/usr/bin/env bash
# A PDF of 300 kB in a message: langchain-core 1.8.3's `count_tokens_approximately` counts its base64 as text, 100,000 tokens, so
# trimming drops the message; litellm 1.110.2's `token_counter` counts under 100, as for any image. Audio is 100,000 to the one and
# an error to the other. Guessed: an estimate by its size, within a factor of ten.
set -euo pipefail
folder=$(mktemp --directory)
trap 'rm -rf "$folder"' EXIT
for name in langchain litellm; do python3 -m venv "$folder/$name"; done
"$folder/langchain/bin/pip" install --quiet langchain-core==1.8.3
"$folder/litellm/bin/pip" install --quiet litellm==1.110.2
"$folder/langchain/bin/python" - <<'PYTHON' 2>/dev/null
from langchain_core.messages import HumanMessage
from langchain_core.messages.utils import count_tokens_approximately

for kind, mime in (("image", "image/png"), ("file", "application/pdf"), ("audio", "audio/wav")):
    count = count_tokens_approximately([HumanMessage([{"type": kind, "base64": "A" * 400_000, "mime_type": mime}])])
    print("langchain-core", kind, count)
    assert count < 100 if kind == "image" else count > 100_000
PYTHON
LITELLM_LOCAL_MODEL_COST_MAP=True "$folder/litellm/bin/python" - <<'PYTHON' 2>/dev/null
from litellm import token_counter

BASE64 = "A" * 400_000
PARTS = {
    "image": {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{BASE64}"}},
    "file": {"type": "file", "file": {"file_data": f"data:application/pdf;base64,{BASE64}", "filename": "tea.pdf"}},
    "document": {"type": "document", "source": {"type": "base64", "media_type": "application/pdf", "data": BASE64}},
    "audio": {"type": "input_audio", "input_audio": {"data": BASE64, "format": "wav"}},
}
for kind, part in PARTS.items():
    try:
        count = token_counter(model="gpt-4o", messages=[{"role": "user", "content": [part]}])
    except Exception as error:
        count = type(error).__name__
    print("litellm", kind, count)
    assert count == "UnsupportedContentTypeError" if kind == "audio" else count < 100
PYTHON
