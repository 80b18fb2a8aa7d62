#!/usr/bin/env bash
# dspy 3.4.1: `History(messages=…)` takes messages with role and content, and the model reads of each an assistant's "None":
# every word is gone, the user's part with it. Nothing is raised. Guessed: messages are messages, or an error.
set -euo pipefail
folder=$(mktemp --directory)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet dspy==3.4.1
cd "$folder"
"$folder/venv/bin/python" - <<'PYTHON' 2>/dev/null
import dspy


class Chat(dspy.Signature):
    history: dspy.History = dspy.InputField()
    question: str = dspy.InputField()
    answer: str = dspy.OutputField()


def told(messages):
    history = dspy.History(messages=messages)
    return dspy.ChatAdapter().format(Chat, [], {"history": history, "question": "Who am I?"})[1:-1]


lost = told([{"role": "user", "content": "My name is Lin."}, {"role": "assistant", "content": "Hello Lin."}])
kept = told([{"question": "My name is Lin.", "answer": "Hello Lin."}])
for message in lost:
    print(message)
assert [message["role"] for message in kept] == ["user", "assistant"]
assert "My name is Lin." in kept[0]["content"]
assert [message["role"] for message in lost] == ["assistant", "assistant"]
assert "Lin" not in str(lost)
assert all(message["content"].startswith("[[ ## answer ## ]]\nNone") for message in lost)
PYTHON
