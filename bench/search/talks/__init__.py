"""Conversations with questions and the turns that hold the answers: our own, and public ones if available."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
_TURN = re.compile(r"([ua])(?: \[([^]]+)])?: (.*)")
_DAY = re.compile(r"== (\d{4}-\d\d-\d\d)")
LONG = {"a": ("en-1", "en-2", "zh-1"), "b": ("en-3", "zh-2", "zh-3")}
HALVES = {"a": "chosen on", "b": "held out"}
ROLES = {"u": "user", "a": "assistant"}


@dataclass(frozen=True)
class Question:
    talk: str
    text: str
    evidence: frozenset[int]
    """Sequence numbers of the turns that hold the answer."""
    category: str


@dataclass(frozen=True)
class Talk:
    id: str
    messages: tuple[dict[str, Any], ...]
    """The messages, with `said_at` if the data have it."""

    @property
    def asked_at(self) -> datetime | None:
        """Return the time of its questions, which is that of its last message."""
        said = self.messages[-1].get("said_at")
        return datetime.fromisoformat(said) if said else None


@dataclass(frozen=True)
class Unasked:
    """A query that no conversation of any set answers."""

    half: str
    """``a``: constants were chosen on it; ``b`` and ``c``: held out."""
    kind: str
    text: str


@dataclass(frozen=True)
class TalkSet:
    name: str
    talks: tuple[Talk, ...]
    questions: tuple[Question, ...]


def shipped(language: str) -> TalkSet:
    """One of the project's own conversations: a year of short turns, without times."""
    talk, questions = _written(HERE / f"{language}.txt", f"own-{language}")
    return TalkSet(f"own, {language}", (talk,), questions)


def long(half: str) -> TalkSet:
    """Three long chats of a user with an assistant: half ``a``, on which constants are chosen, or the held-out ``b``."""
    written = [_written(HERE / "long" / f"{name}.txt", f"long-{name}") for name in LONG[half]]
    asked = tuple(question for _, questions in written for question in questions)
    return TalkSet(f"long chats, {HALVES[half]}", tuple(talk for talk, _ in written), asked)


def _written(file: Path, name: str) -> tuple[Talk, tuple[Question, ...]]:
    """Read a file of turns and questions."""
    messages: list[dict[str, Any]] = []
    named: dict[str, int] = {}
    questions = []
    day: dict[str, str] = {}
    for line in file.read_text("utf-8").splitlines():
        if turn := _TURN.fullmatch(line):
            messages.append({"role": ROLES[turn[1]], "content": turn[3], **day})
            if turn[2]:
                named[turn[2]] = len(messages)
        elif dated := _DAY.fullmatch(line):
            day = {"said_at": f"{dated[1]}T10:00:00+00:00"}
        elif line.startswith("?"):
            category, names, text = (part.strip() for part in line[1:].split("|"))
            questions.append(Question(name, text, frozenset(named[n] for n in names.split()), category))
    return Talk(name, tuple(messages)), tuple(questions)


def unasked() -> list[Unasked]:
    """Return the queries that no conversation answers."""
    lines = (HERE / "unasked.txt").read_text("utf-8").splitlines()
    return [Unasked(*line.split(" | ", maxsplit=2)) for line in lines if not line.startswith("#")]


def public(data: Path) -> Iterator[TalkSet]:
    """Yield LoCoMo and MADial, if they are in a folder of data. LoCoMo is for evaluation only."""
    for folder, name in (("locomo-noncommercial", "LoCoMo"), ("madial", "MADial")):
        if (data / folder / "questions.jsonl").exists():
            yield _read(data / folder, name)


def _read(folder: Path, name: str) -> TalkSet:
    talks: list[Talk] = []
    places: dict[tuple[str, str], int] = {}
    languages: dict[str, str] = {}
    for talk in _lines(folder / "conversations.jsonl"):
        talks.append(Talk(talk["id"], tuple(_dated(talk["messages"]))))
        languages[talk["id"]] = talk["lang"]
        places |= {(talk["id"], m["dia_id"]): seq for seq, m in enumerate(talk["messages"], 1)}
    questions = []
    for asked in _lines(folder / "questions.jsonl"):
        talk_id = asked["conversation_id"]
        evidence = frozenset(places[talk_id, e] for e in asked["evidence"] if (talk_id, e) in places)
        category = asked["category"] if name == "LoCoMo" else languages[talk_id]
        if evidence:
            questions.append(Question(talk_id, asked["question"], evidence, category))
    return TalkSet(name, tuple(talks), tuple(questions))


def _dated(messages: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """Yield messages for Quire, none with an earlier time than the one before."""
    latest = datetime(1970, 1, 1, tzinfo=UTC)
    for message in messages:
        latest = max(latest, datetime.fromisoformat(message["timestamp"]).replace(tzinfo=UTC))
        kept = {key: message[key] for key in ("role", "name", "content") if key in message}
        yield kept | {"said_at": latest.isoformat()}


def _lines(file: Path) -> Iterator[dict[str, Any]]:
    for line in file.read_text("utf-8").splitlines():
        yield json.loads(line)
