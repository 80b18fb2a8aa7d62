"""Write the demo conversation: `python bench/make_conversation.py` always writes the same bytes.

The dialogue is written by hand in `conversation_script/week-*.txt`. A line that begins with
`@` opens a block: `@system`, `@user`, `@assistant`; `@think` (reasoning of the assistant
message above), `@call NAME {arguments}` (a call of the assistant message above), and
`@result` with the text below it, or `@result NAME` for a large text that
`conversation_results.py` makes. Results answer the calls in order.
"""

import argparse
import hashlib
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from conversation_results import SCRIPT, result

DEMO = Path(__file__).parent.parent / "app" / "demo"
MARK = re.compile(r"^@(system|user|assistant|think|call|result)\b *(.*)$")
Message = dict[str, Any]


def main() -> None:
    parser = argparse.ArgumentParser(description="Write app/demo/conversation.jsonl and facts.jsonl.")
    parser.add_argument("--out", type=Path, default=DEMO, help="folder to write to")
    out: Path = parser.parse_args().out
    out.mkdir(parents=True, exist_ok=True)
    messages = build(blocks(SCRIPT))
    write(out / "conversation.jsonl", messages)
    write(out / "facts.jsonl", [locate(fact, messages) for fact in read_lines(SCRIPT / "facts.jsonl")])


@dataclass(frozen=True)
class Block:
    kind: str
    head: str
    text: str


def blocks(folder: Path) -> Iterator[Block]:
    for file in sorted(folder.glob("week-*.txt")):
        kind, head, lines = "", "", list[str]()
        for line in file.read_text("utf-8").splitlines():
            if found := MARK.match(line):
                if kind:
                    yield Block(kind, head, "\n".join(lines).strip("\n"))
                kind, head, lines = found[1], found[2], []
            else:
                lines.append(line)
        yield Block(kind, head, "\n".join(lines).strip("\n"))


def build(script: Iterator[Block]) -> list[Message]:
    messages: list[Message] = []
    speaker: Message = {}
    unanswered: list[dict[str, Any]] = []
    for block in script:
        match block.kind:
            case "system" | "user":
                messages.append({"role": block.kind, "content": block.text})
            case "assistant":
                speaker = {"role": "assistant", "content": block.text or None}
                messages.append(speaker)
            case "think":
                speaker["reasoning_content"] = block.text
            case "call":
                call = tool_call(block.head, len(messages), len(unanswered))
                speaker.setdefault("tool_calls", []).append(call)
                unanswered.append(call)
            case "result":
                messages.append(tool_message(unanswered.pop(0), block))
    return messages


def tool_call(head: str, place: int, index: int) -> dict[str, Any]:
    name, _, arguments = head.partition(" ")
    json.loads(arguments)
    identity = hashlib.sha256(f"{place}/{index}/{head}".encode()).hexdigest()[:16]
    return {"id": f"call_{identity}", "type": "function", "function": {"name": name, "arguments": arguments}}


def tool_message(call: dict[str, Any], block: Block) -> Message:
    text = result(block.head) if block.head else block.text
    return {"role": "tool", "tool_call_id": call["id"], "name": call["function"]["name"], "content": text}


def locate(fact: dict[str, Any], messages: list[Message]) -> dict[str, Any]:
    """Add the index of the first message of the fact's turn and role that holds its answer."""
    turn = 0
    for index, message in enumerate(messages):
        turn += message["role"] == "user"
        here = turn == fact["turn"] and message["role"] == fact["where"]
        if here and fact["answer_contains"] in (message["content"] or ""):
            asked = fact["asked"]
            return {
                **{key: value for key, value in fact.items() if key != "asked"},
                "message_index": index,
                "asked": asked,
            }
    raise ValueError(f"no {fact['where']} message of turn {fact['turn']} holds {fact['answer_contains']!r}")


def read_lines(file: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in file.read_text("utf-8").splitlines()]


def write(file: Path, lines: list[dict[str, Any]]) -> None:
    file.write_bytes("".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines).encode())


if __name__ == "__main__":
    main()
