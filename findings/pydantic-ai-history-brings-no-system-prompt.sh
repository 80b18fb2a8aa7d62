#!/usr/bin/env bash
# pydantic-ai 2.68.0: with a history of its own, an agent sends no system prompt: that stands in the first message of a run, so
# a history from a store, or one that was cut at its beginning, goes to the model without. `instructions` are sent with each.
# Guessed: what an agent is made with is in all that it sends.
set -euo pipefail
folder=$(mktemp --directory)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet pydantic-ai-slim==2.68.0
cd "$folder"
"$folder/venv/bin/python" - <<'PYTHON' 2>/dev/null
from pydantic_ai import Agent
from pydantic_ai.messages import ModelRequest, ModelResponse, TextPart, UserPromptPart
from pydantic_ai.models.function import FunctionModel

asked = []


def answer(messages, info):
    asked.append(([part.part_kind for one in messages for part in one.parts], info.instructions))
    return ModelResponse(parts=[TextPart("Yes.")])


KEPT = [ModelRequest(parts=[UserPromptPart("I like tea.")]), ModelResponse(parts=[TextPart("Noted.")])]
agent = Agent(FunctionModel(answer), system_prompt="Never give a dose.", instructions="Be brief.")
agent.run_sync("Do I like tea?")
agent.run_sync("Do I like tea?", message_history=KEPT)
for one in asked:
    print(one)
assert asked[0] == (["system-prompt", "user-prompt"], "Be brief.")
assert asked[1] == (["user-prompt", "text", "user-prompt"], "Be brief.")
PYTHON
