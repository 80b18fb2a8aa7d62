#!/usr/bin/env bash
# pydantic-ai-slim 2.68.0: what a `ProcessHistory` cuts for one request is gone from `all_messages()` too, so who stores that, as a
# conversation's record, stores the cut history; `new_messages()` is whole. Guessed: the request is cut, the history is not.
set -euo pipefail
folder=$(mktemp --directory)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet pydantic-ai-slim==2.68.0
"$folder/venv/bin/python" - <<'PYTHON'
from pydantic_ai import Agent
from pydantic_ai.capabilities import ProcessHistory
from pydantic_ai.messages import ModelResponse, TextPart
from pydantic_ai.models.function import FunctionModel


def answer(messages, _info):
    return ModelResponse(parts=[TextPart(f"I saw {len(messages)}.")])


def said(messages):
    return [part.content for message in messages for part in message.parts]


def talk(*capabilities):
    agent, history = Agent(FunctionModel(answer), capabilities=list(capabilities)), []
    for question in ("one", "two", "three"):
        result = agent.run_sync(question, message_history=history)
        history = result.all_messages()
    return said(history), said(result.new_messages())


whole, _ = talk()
kept, new = talk(ProcessHistory(lambda messages: messages[-1:]))
print(whole, kept, new)
assert whole == ["one", "I saw 1.", "two", "I saw 3.", "three", "I saw 5."]
assert kept == new == ["three", "I saw 1."]
PYTHON
