"""Transcripts: JSON lines in two forms, as OpenAI chat messages cut into steps.

One message a line is one conversation. One conversation a line is `{"id", "messages"}`,
whose tool calls may be flat (`{"id", "name", "arguments"}`), whose `thinking` is the
assistant's reasoning and whose `dia_id` is the client's own id of the message.

Recorded transcripts lose ids. A result without one answers the oldest call of its turn that has no result;
a call without one has made the first result after it that no other call of the transcript made. What is left
gets an id of its own, and a call that lost its name is called `unnamed`: nothing is left out.
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
    """The file is no transcript; the text names the line."""


@dataclass(frozen=True)
class Transcript:
    id: str
    messages: tuple[Message, ...]


@dataclass(frozen=True)
class Step:
    """What is appended before the next look at the window. Turns count from 1."""

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
        found = json.loads(line)
    except ValueError as error:
        raise TranscriptError(f"line {number} is not JSON: {error}") from error
    if not isinstance(found, dict) or not ("role" in found or "messages" in found):
        raise TranscriptError(f"line {number} is neither a message nor a conversation")
    return found


def transcript(identity: str, messages: Sequence[Message]) -> Transcript:
    return Transcript(identity, tuple(paired([as_chat(message) for message in messages])))


def as_chat(message: Message) -> Message:
    """The message in OpenAI chat form; fields that form does not know are left out."""
    found = {key: message[key] for key in KEPT if key in message}
    for key in ("name", "tool_call_id"):
        if key in found and not found[key]:
            del found[key]
    found |= {new: message[old] for old, new in RENAMED.items() if old in message}
    if message.get("tool_calls"):
        found["tool_calls"] = [as_call(call) for call in message["tool_calls"]]
    return found


def as_call(call: dict[str, Any]) -> dict[str, Any]:
    function = call.get("function", call)
    arguments = function.get("arguments", {})
    if not isinstance(arguments, str):
        arguments = json.dumps(arguments, ensure_ascii=False)
    name = function.get("name") or "unnamed"
    return {"id": call.get("id") or "", "type": "function", "function": {"name": name, "arguments": arguments}}


def paired(messages: Sequence[Message]) -> list[Message]:
    """The messages with an id on each call and each result; see the module's docstring."""
    made = {call["id"] for message in messages for call in message.get("tool_calls", ())}
    fresh = (name for name in (f"unpaired-{number}" for number in count(1)) if name not in made)
    found: list[Message] = []
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
        found.append({**message, **added})
    return found


def unclaimed(following: Sequence[Message], made: Container[str]) -> Iterator[str]:
    """The ids of the results that follow at once and that no call made."""
    for message in takewhile(lambda later: later["role"] == "tool", following):
        if message.get("tool_call_id") and message["tool_call_id"] not in made:
            yield message["tool_call_id"]


def with_ids(calls: Sequence[Message], unclaimed: Iterator[str], fresh: Iterator[str]) -> list[Message]:
    return [{**call, "id": call["id"] or next(unclaimed, None) or next(fresh)} for call in calls]


def groups(messages: Sequence[Message]) -> Iterator[tuple[Message, ...]]:
    """Single messages, but an assistant's calls together with the results that follow."""
    group: list[Message] = []
    for message in messages:
        if group and message["role"] != "tool":
            yield tuple(group)
            group = []
        group.append(message)
    if group:
        yield tuple(group)


def steps(messages: Sequence[Message], every_message: bool = False) -> list[Step]:
    """Whole turns, each up to the next user message; or a step for each message or call group.

    What comes before the first user message belongs to turn 1.
    """
    found: list[Step] = []
    turn = 0
    for group in groups(messages):
        turn += group[0]["role"] == "user"
        number = max(turn, 1)
        if found and found[-1].turn == number and not every_message:
            found[-1] = Step(number, found[-1].messages + group)
        else:
            found.append(Step(number, group))
    return found


def batches(messages: Sequence[Message], size: int) -> Iterator[tuple[Message, ...]]:
    """At most `size` messages each, cut between call groups; only a longer group exceeds it."""
    batch: tuple[Message, ...] = ()
    for group in groups(messages):
        if batch and len(batch) + len(group) > size:
            yield batch
            batch = ()
        batch += group
    if batch:
        yield batch
