"""Transcripts: JSON lines in two forms, read as OpenAI chat messages and split into steps.

Either each line is a message of one conversation, or each line is a whole conversation, `{"id", "messages"}`. In the
second form tool calls may be flat (`{"id", "name", "arguments"}`), `thinking` is the assistant's reasoning, and
`dia_id` is the client's id of the message.

Recorded transcripts lose ids. A result without an id answers the oldest call of its turn that has no result; a call
without an id is matched with the first later result that no other call of the transcript claims. The rest get ids of
their own, and a call without a name is called `unnamed`: nothing is left out.
"""

import json
from collections.abc import Container, Iterator, Sequence
from dataclasses import dataclass
from itertools import count, takewhile
from pathlib import Path
from typing import Any

Message = dict[str, Any]

KEPT = ("role", "content", "name", "tool_call_id", "reasoning_content")
RENAMED = {"thinking": "reasoning_content", "dia_id": "client_id"}


class TranscriptError(ValueError):
    """The file is not a transcript; the text names the line."""


@dataclass(frozen=True)
class Transcript:
    id: str
    messages: tuple[Message, ...]


@dataclass(frozen=True)
class DemoStep:
    """Messages to append before the next window. Turns count from 1."""

    turn: int
    messages: tuple[Message, ...]


def load(path: Path) -> list[Transcript]:
    lines = [parse(line, number) for number, line in enumerate(path.read_text("utf-8").splitlines(), 1) if line.strip()]
    if not lines:
        raise TranscriptError(f"{path} is empty")
    if "messages" not in lines[0]:
        return [transcript(path.stem, lines)]
    return [
        transcript(str(line.get("id", f"{path.stem}-{index}")), line.get("messages", []))
        for index, line in enumerate(lines, 1)
    ]


def parse(line: str, number: int) -> dict[str, Any]:
    try:
        value = json.loads(line)
    except ValueError as error:
        raise TranscriptError(f"line {number} is not JSON: {error}") from error
    if not isinstance(value, dict) or not ("role" in value or "messages" in value):
        raise TranscriptError(f"line {number} is neither a message nor a conversation")
    return value


def transcript(identity: str, messages: Sequence[Message]) -> Transcript:
    return Transcript(identity, tuple(paired([as_chat(message) for message in messages])))


def as_chat(message: Message) -> Message:
    """Return the message in OpenAI chat form, without fields that this form lacks."""
    chat = {key: message[key] for key in KEPT if key in message}
    for key in ("name", "tool_call_id"):
        if key in chat and not chat[key]:
            del chat[key]
    chat |= {new: message[old] for old, new in RENAMED.items() if old in message}
    if message.get("tool_calls"):
        chat["tool_calls"] = [as_call(call) for call in message["tool_calls"]]
    return chat


def as_call(call: dict[str, Any]) -> dict[str, Any]:
    function = call.get("function", call)
    arguments = function.get("arguments", {})
    if not isinstance(arguments, str):
        arguments = json.dumps(arguments, ensure_ascii=False)
    name = function.get("name") or "unnamed"
    return {"id": call.get("id") or "", "type": "function", "function": {"name": name, "arguments": arguments}}


def paired(messages: Sequence[Message]) -> list[Message]:
    """Return the messages with an id on each call and each result; see the module's docstring."""
    made = {call["id"] for message in messages for call in message.get("tool_calls", ())}
    fresh = (name for name in (f"unpaired-{number}" for number in count(1)) if name not in made)
    result: list[Message] = []
    unanswered: list[str] = []
    for index, message in enumerate(messages):
        added: Message = {}
        if message["role"] == "user":
            unanswered = []
        elif message.get("tool_calls"):
            calls = with_ids(message["tool_calls"], unclaimed(messages[index + 1 :], made), fresh)
            added = {"tool_calls": calls}
            unanswered += [call["id"] for call in calls]
        elif message["role"] == "tool":
            answered = message.get("tool_call_id") or (unanswered[0] if unanswered else next(fresh))
            added = {"tool_call_id": answered}
            unanswered = [call for call in unanswered if call != answered]
        result.append({**message, **added})
    return result


def unclaimed(following: Sequence[Message], made: Container[str]) -> Iterator[str]:
    """Yield the ids of the directly following results that no call claims."""
    for message in takewhile(lambda later: later["role"] == "tool", following):
        if message.get("tool_call_id") and message["tool_call_id"] not in made:
            yield message["tool_call_id"]


def with_ids(calls: Sequence[Message], unclaimed: Iterator[str], fresh: Iterator[str]) -> list[Message]:
    return [{**call, "id": call["id"] or next(unclaimed, None) or next(fresh)} for call in calls]


def groups(messages: Sequence[Message]) -> Iterator[tuple[Message, ...]]:
    """Yield single messages, but an assistant's calls together with the results that follow."""
    group: list[Message] = []
    for message in messages:
        if group and message["role"] != "tool":
            yield tuple(group)
            group = []
        group.append(message)
    if group:
        yield tuple(group)


def steps(messages: Sequence[Message], every_message: bool = False) -> list[DemoStep]:
    """Split messages into turns, each up to the next user message, or into single messages and call groups.

    Messages before the first user message belong to turn 1.
    """
    result: list[DemoStep] = []
    turn = 0
    for group in groups(messages):
        turn += group[0]["role"] == "user"
        number = max(turn, 1)
        if result and result[-1].turn == number and not every_message:
            result[-1] = DemoStep(number, result[-1].messages + group)
        else:
            result.append(DemoStep(number, group))
    return result


def batches(messages: Sequence[Message], size: int) -> Iterator[tuple[Message, ...]]:
    """Yield batches of at most `size` messages, cut between call groups; only a longer group exceeds it."""
    batch: tuple[Message, ...] = ()
    for group in groups(messages):
        if batch and len(batch) + len(group) > size:
            yield batch
            batch = ()
        batch += group
    if batch:
        yield batch
