"""Write answers for the client, as its dialect's events or in one piece, without invalid characters."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any
from uuid import UUID

from app.core.canonical import dumps
from app.core.dialects.inbound_chat import ChatWriter, UsagePlace
from app.core.dialects.inbound_messages import MessagesWriter
from app.core.dialects.inbound_responses import ResponsesWriter
from app.core.dialects.question import Event, Json, Question, Writer
from app.core.dialects.stored import chunks
from app.core.history.rows import HistoryMessage
from app.core.models import TABLE, ModelRow
from app.inflight import AnswerStream
from app.text.language import scalar

HEX = re.compile("[0-9a-f]{32}")
DONE = b"data: [DONE]\n\n"
"""What ends a stream of Chat Completions."""


def writer_of(question: Question, id_: UUID, created: int, row_of: Callable[[str], ModelRow] = TABLE.row) -> Writer:
    """Return the writer for the question's dialect. ``id_`` determines the answer's id."""
    model = str(question.options["model"])
    match question.dialect:
        case "messages":
            return MessagesWriter(f"msg_{id_.hex}", model)
        case "responses":
            return ResponsesWriter(response_id(id_), question, created)
        case _:
            wanted = not question.streams or (question.options.get("stream_options") or {}).get("include_usage")
            taken = row_of(model).parameters
            unasked: UsagePlace = "within" if taken and "stream_options" not in taken else ""
            return ChatWriter(created, question.customs, "after" if wanted else unasked)


def response_id(id_: UUID) -> str:
    return f"resp_{id_.hex}"


class TurnWriter:
    """Writes an answer into its turn in the client's form: events as they come, or the whole at the end."""

    def __init__(self, question: Question, writer: Writer, turn: AnswerStream) -> None:
        self._question, self._writer, self._turn = question, writer, turn

    def showed(self, receipt: str) -> None:
        self._turn.receipt = receipt

    def feed(self, chunks: Iterable[Mapping[str, Any]]) -> None:
        for chunk in chunks:
            self._put(self._writer.feed(chunk))

    def end(self, chunk: Mapping[str, Any], usage: Mapping[str, Any] | None) -> None:
        """Write the answer's last chunk and its end."""
        self.feed([{**chunk, "usage": usage}])
        self._put(self._writer.end(usage))
        if not self._question.streams:
            self._turn.put(scalar(dumps(self._writer.whole())).encode())
        elif self._question.dialect == "chat":
            self._turn.put(DONE)
        self._turn.end()

    def end_with(self, body: Mapping[str, Any]) -> None:
        self._turn.put(dumps(body).encode())
        self._turn.end()

    def _put(self, events: list[Event]) -> None:
        if self._question.streams:
            for event in events:
                self._turn.put(sent(event))


def given_again(question: Question, row: HistoryMessage) -> AnswerStream:
    turn = AnswerStream()
    known = (row.client_id or "").rpartition("_")[2]
    id_ = UUID(known) if HEX.fullmatch(known) else row.id
    created = int(row.created_at.timestamp())
    id_and_model = {"id": f"chatcmpl-{row.id}", "model": question.options["model"]}
    head: Json = {**id_and_model, "object": "chat.completion.chunk", "created": created}
    telling = TurnWriter(question, writer_of(question, id_, created), turn)
    found = chunks(json.loads(row.body), head)
    telling.feed(found)
    has_calls = any("tool_calls" in chunk["choices"][0]["delta"] for chunk in found)
    last = {"index": 0, "delta": {}, "finish_reason": "tool_calls" if has_calls else "stop"}
    telling.end({**head, "choices": [last]}, None)
    return turn


def sent(event: Event) -> bytes:
    name, data = event
    named = f"event: {name}\n" if name else ""
    return f"{named}data: {scalar(dumps(data))}\n\n".encode()
