#!/usr/bin/env bash
# langchain 1.5.2: `SummarizationMiddleware` takes 116 messages out of the state and shows the model the newest 4,000
# tokens of them: what was said first is in no summary and in no message. Guessed: a summary is made of all it replaces.
set -euo pipefail
folder=$(mktemp --directory)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet langchain==1.5.2 langchain-core==1.8.3
"$folder/venv/bin/python" - <<'PYTHON' 2>/dev/null
import re

from langchain.agents.middleware import SummarizationMiddleware
from langchain_core.language_models.fake_chat_models import FakeListChatModel
from langchain_core.messages import AIMessage, HumanMessage

shown = []


class Model(FakeListChatModel):
    def _call(self, messages, *more, **options):
        shown.append(messages[0].text)
        return super()._call(messages, *more, **options)


messages = []
for number in range(60):
    messages += [HumanMessage(f"Fact {number}: {'tea ' * 100}", id=f"h{number}"), AIMessage("I see. " * 60, id=f"a{number}")]
middleware = SummarizationMiddleware(Model(responses=["They like tea."]), trigger=("tokens", 4000), keep=("messages", 4))
_, summary, *kept = middleware.before_model({"messages": messages}, None)["messages"]
read = [int(number) for number in re.findall(r"Fact (\d+)", shown[0])]
print(f"shown {len(shown)} time, facts {read[0]} to {read[-1]}; kept: {[message.text[:7] for message in kept[::2]]}")
print(type(summary).__name__, repr(summary.text))
assert len(shown) == 1
assert (read[0], read[-1]) == (40, 57)
assert [message.text[:7] for message in kept[::2]] == ["Fact 58", "Fact 59"]
PYTHON
