#!/usr/bin/env bash
# mistral-common 1.13.1: its template v3 writes the id of a tool call twice, and a call with its result costs 36 tokens
# beyond their texts. Guessed: about as many as OpenAI's format, a dozen. Two parallel calls cost 70.
set -euo pipefail
folder=$(mktemp --directory)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet mistral-common==1.13.1
"$folder/venv/bin/python" - <<'PYTHON'
from mistral_common.protocol.instruct.request import ChatCompletionRequest
from mistral_common.tokens.tokenizers.mistral import MistralTokenizer

tokenizer = MistralTokenizer.v3(is_tekken=True)
NAME, ARGUMENTS, RESULT = "get_weather", '{"city": "Paris", "days": 3}', "sunny, 24 degrees"
ASKED = {"role": "user", "content": "What is the weather in Paris today?"}


def encoded(messages):
    return tokenizer.encode_chat_completion(ChatCompletionRequest(messages=messages))


def count(text):
    return len(tokenizer.instruct_tokenizer.tokenizer.encode(text, bos=False, eos=False))


def frames(ids):
    function = {"name": NAME, "arguments": ARGUMENTS}
    calls = [{"id": id_, "type": "function", "function": function} for id_ in ids]
    results = [{"role": "tool", "tool_call_id": id_, "content": RESULT} for id_ in ids]
    whole = encoded([ASKED, {"role": "assistant", "content": "", "tool_calls": calls}, *results])
    texts = len(ids) * (count(NAME) + count(ARGUMENTS) + count(RESULT))
    return len(whole.tokens) - len(encoded([ASKED]).tokens) - texts, whole.text


one, text = frames(["abcdefghi"])
two, _ = frames(["abcdefghi", "abcdefghj"])
print(text)
print(f"beyond their texts: {one} tokens for a call and its result, {two} for two")
assert text.count("abcdefghi") == 2
assert (one, two) == (36, 70)
PYTHON
