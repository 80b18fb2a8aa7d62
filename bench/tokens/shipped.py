"""Count the texts of the shipped conversation for the tests: `python -m bench.tokens.shipped`, see requirements.txt."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path

from bench.harness import running
from bench.tokens.windows import MODELS, PYTHON, counted
from quire_command.demo.transcript import Message, load

CONVERSATION = Path("clients/python/quire_command/demo/conversation.jsonl")
COUNTS = Path("tests/api/shipped_tokens.json")


def texts_of(message: Message) -> Iterator[str]:
    """Yield the texts of a chat message that a model reads."""
    if message.get("content"):
        yield message["content"]
    for call in message.get("tool_calls") or ():
        yield call["function"]["name"]
        yield call["function"]["arguments"]


def main() -> None:
    [transcript] = load(CONVERSATION)
    texts = list(dict.fromkeys(text for message in transcript.messages for text in texts_of(message)))
    with running([str(Path(__file__).with_name("counting.py"))], python=os.environ[PYTHON]) as tokenizers:
        found = {family: [counted(tokenizers, family, [text]) for text in texts] for family in MODELS}
    lines = ",\n".join(f"{json.dumps(family)}: {json.dumps(counts)}" for family, counts in found.items())
    COUNTS.write_text(f"{{\n{lines}\n}}\n", "utf-8")


if __name__ == "__main__":
    main()
