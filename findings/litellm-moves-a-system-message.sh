#!/usr/bin/env bash
# litellm 1.110.2: a system message in the midst of the list, as for a recalled note, goes to Claude in the user's message, before
# what the person says, with "Operator note (not from the user)" above it; to Gemini it goes to the front, into the system prompt,
# so that nothing behind it stays cached. Guessed: the same for both, in its place.
set -euo pipefail
folder=$(mktemp --directory)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet litellm==1.110.2
LITELLM_LOCAL_MODEL_COST_MAP=True "$folder/venv/bin/python" - <<'PYTHON' 2>/dev/null
from copy import deepcopy

from litellm.llms.anthropic.chat.transformation import AnthropicConfig
from litellm.llms.vertex_ai.gemini.transformation import _transform_system_message

NOTE = {"role": "system", "content": "Recalled: Lin eats no nuts."}
LIST = [{"role": "system", "content": "You know tea."}, {"role": "user", "content": "Which tea?"}]
LIST += [{"role": "assistant", "content": "Longjing."}, NOTE, {"role": "user", "content": "And a cake?"}]
claude = AnthropicConfig().transform_request("claude-sonnet-4-5", deepcopy(LIST), {"max_tokens": 100}, {}, {})
newest = claude["messages"][-1]
texts = [part["text"] for part in newest["content"]]
system, _ = _transform_system_message(True, deepcopy(LIST))
print("Claude:", newest["role"], texts)
print("Gemini:", system)
assert [part["text"] for part in claude["system"]] == ["You know tea."]
assert newest["role"] == "user"
assert texts[0].startswith("Operator note (not from the user)")
assert texts[1:] == [NOTE["content"], "And a cake?"]
assert [part["text"] for part in system["parts"]] == ["You know tea.", NOTE["content"]]
PYTHON
