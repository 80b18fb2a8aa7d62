#!/usr/bin/env bash
# mistral-common 1.13.1 refuses an answer as openai 3.57.0 dumps it, for members that are null, and a user's message for
# the `name` that tells who speaks. Guessed: members that say nothing, or that OpenAI's form knows, are passed over.
set -euo pipefail
folder=$(mktemp --directory)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet mistral-common==1.13.1 openai==3.57.0
"$folder/venv/bin/python" - <<'PYTHON'
from mistral_common.protocol.instruct.request import ChatCompletionRequest
from openai.types.chat import ChatCompletionMessage
from pydantic import ValidationError


def refused(messages):
    try:
        ChatCompletionRequest(messages=messages)
    except ValidationError as error:
        return sorted(".".join(map(str, one["loc"][-1:])) for one in error.errors())
    return []


asked = {"role": "user", "content": "Hello."}
answer = ChatCompletionMessage(role="assistant", content="Hi.")
found = {
    "an answer as it is dumped": refused([asked, answer.model_dump(), asked]),
    "the same without what is null": refused([asked, answer.model_dump(exclude_none=True), asked]),
    "a user with a name": refused([{**asked, "name": "Ann"}]),
}
print(*(f"{what}: {names}" for what, names in found.items()), sep="\n")
assert found == {
    "an answer as it is dumped": ["annotations", "audio", "function_call", "refusal"],
    "the same without what is null": [],
    "a user with a name": ["name"],
}
PYTHON
