"""What an agent needs later: probes in recorded transcripts.

A probe is an agent's first use, three or more messages later, of a literal that occurred in exactly one earlier
tool result of 2 000 characters or more, and in no other message before it. A literal is a run of six or more
characters with a digit, a path's slash, an underscore, a dot or an at sign in it: an identifier, a number, an
address, a path; never a plain word. An assistant message that uses several literals of one result is one probe, by
the longest of them.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from quire_command.demo.probes import literals, said
from quire_command.demo.transcript import Message, load

RESULT_CHARACTERS = 2_000
LATER = 3
QUERY_CHARACTERS = 2_000


@dataclass(frozen=True)
class Probe:
    conversation: str
    source: int
    """Index of the message that is the tool result."""
    use: int
    """Index of the assistant message that uses the literal."""
    literal: str
    before: str
    """The last messages of the user and of the agent, with its calls: everything known before the use."""
    intent: str
    """The agent's words and calls when it uses the literal, without literals of probes: its query to a recall tool."""


def probes(name: str, messages: Sequence[Message]) -> list[Probe]:
    texts = [said(message) for message in messages]
    found: list[Probe] = []
    for use, message in enumerate(messages):
        if message["role"] != "assistant":
            continue
        sources: dict[int, list[str]] = {}
        for literal in dict.fromkeys(literals(texts[use])):
            holders = [i for i in range(use) if literal in texts[i]]
            if len(holders) != 1 or use - holders[0] < LATER:
                continue
            holder = messages[holders[0]]
            if holder["role"] == "tool" and len(holder["content"] or "") >= RESULT_CHARACTERS:
                sources.setdefault(holders[0], []).append(literal)
        used = [literal for each in sources.values() for literal in each]
        for source, some in sources.items():
            literal = max(some, key=len)
            found.append(Probe(name, source, use, literal, _before(messages, texts, use), _without(texts[use], used)))
    return found


def _before(messages: Sequence[Message], texts: Sequence[str], use: int) -> str:
    parts = []
    for role in ("user", "assistant"):
        at = next((i for i in range(use - 1, -1, -1) if messages[i]["role"] == role and texts[i]), None)
        if at is not None:
            parts.append((at, texts[at][-QUERY_CHARACTERS:]))
    return "\n".join(text for _, text in sorted(parts))


def _without(text: str, used: Sequence[str]) -> str:
    for literal in sorted(used, key=len, reverse=True):
        text = text.replace(literal, " ")
    return text[:QUERY_CHARACTERS]


def read(folder: Path, names: Sequence[str]) -> list[tuple[str, list[Message], list[Probe]]]:
    """Return the conversations that have probes."""
    found = []
    for name in names:
        for transcript in load(folder / name / "conversations.jsonl"):
            some = probes(transcript.id, transcript.messages)
            if some:
                found.append((f"{name}-{transcript.id}", list(transcript.messages), some))
    return found
