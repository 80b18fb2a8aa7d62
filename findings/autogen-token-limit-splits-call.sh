#!/usr/bin/env bash
# autogen-core 0.7.5: a context with a token limit takes messages out of the middle, one at a time, and leaves a call
# without its result. Guessed: the oldest go first, and calls with their results.
set -euo pipefail
folder=$(mktemp --directory)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet autogen-core==0.7.5 autogen-ext==0.7.5
"$folder/venv/bin/python" - <<'PYTHON' 2>/dev/null
import asyncio

from autogen_core import FunctionCall
from autogen_core.model_context import TokenLimitedChatCompletionContext
from autogen_core.models import AssistantMessage, FunctionExecutionResult, FunctionExecutionResultMessage, UserMessage
from autogen_ext.models.replay import ReplayChatCompletionClient

CALL = FunctionCall(id="call_1", name="get_weather", arguments='{"city": "Paris"}')
RESULT = FunctionExecutionResult(call_id="call_1", name="get_weather", content="sunny " * 20, is_error=False)
MESSAGES = {
    "question": UserMessage(content="What is the weather in Paris?", source="user"),
    "call": AssistantMessage(content=[CALL], source="assistant"),
    "result": FunctionExecutionResultMessage(content=[RESULT]),
    "answer": AssistantMessage(content="It is sunny.", source="assistant"),
    "thanks": UserMessage(content="Thanks. And tomorrow?", source="user"),
}


async def kept(limit):
    context = TokenLimitedChatCompletionContext(ReplayChatCompletionClient([]), token_limit=limit)
    for message in MESSAGES.values():
        await context.add_message(message)
    messages = await context.get_messages()
    return [name for name, message in MESSAGES.items() if message in messages]


messages = asyncio.run(kept(10))
print(messages)
assert messages == ["question", "call", "thanks"]
PYTHON
