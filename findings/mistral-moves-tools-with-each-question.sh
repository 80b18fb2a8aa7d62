#!/usr/bin/env bash
# mistral-common 1.13.1: the templates v2, v3 and v7 write the tools before the last user message, v2 and v3 the system
# prompt into it. So each new question moves both, and a cached prefix ends at the question before. Guessed: both stand
# at the beginning, and a longer conversation begins with the shorter one.
set -euo pipefail
folder=$(mktemp --directory)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet "mistral-common[sentencepiece]==1.13.1"
"$folder/venv/bin/python" - <<'PYTHON' 2>/dev/null
from mistral_common.protocol.instruct.request import ChatCompletionRequest
from mistral_common.tokens.tokenizers.mistral import MistralTokenizer

PARAMETERS = {"type": "object", "properties": {}}
TOOLS = [{"type": "function", "function": {"name": "get_weather", "description": "Weather", "parameters": PARAMETERS}}]
SYSTEM = {"role": "system", "content": "Be brief."}
TURNS = [
    {"role": "user", "content": "First question?"},
    {"role": "assistant", "content": "First answer."},
    {"role": "user", "content": "Second question?"},
    {"role": "assistant", "content": "Second answer."},
    {"role": "user", "content": "Third question?"},
]


def encoded(tokenizer, turns):
    return tokenizer.encode_chat_completion(ChatCompletionRequest(messages=[SYSTEM, *turns], tools=TOOLS))


def seen(tokenizer):
    earlier, later = encoded(tokenizer, TURNS[:3]), encoded(tokenizer, TURNS)
    same = next(i for i, (a, b) in enumerate(zip(earlier.tokens, later.tokens)) if a != b)
    text = later.text.replace("▁", " ")
    order = sorted(["First q", "Second q", "[AVAILABLE_TOOLS]", "Third q", "Be brief"], key=text.index)
    return same, len(earlier.tokens), order


for name, tokenizer in (
    ("v2", MistralTokenizer.v2()),
    ("v3", MistralTokenizer.v3(is_tekken=True)),
    ("v7", MistralTokenizer.v7()),
):
    same, length, order = seen(tokenizer)
    print(f"{name}: {same} of {length} tokens stay; order: {', '.join(order)}")
    assert same < length / 2
    assert order[-2 if name == "v7" else -3] == "[AVAILABLE_TOOLS]"
    assert order[0] == ("Be brief" if name == "v7" else "First q")
PYTHON
