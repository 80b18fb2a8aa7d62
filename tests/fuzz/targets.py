"""The pure parsers, each as a function of bytes: any input is read, or refused as its contract says.

A target takes the door that the product takes, and checks what must hold of what was read.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from datetime import UTC, datetime
from functools import cache
from typing import Any
from uuid import UUID

from app import errors
from app.api.http import cursors
from app.api.http.body import checked_object, parse
from app.api.v1 import chat, responses
from app.api.v1 import messages as v1_messages
from app.core.canonical import dumps
from app.core.dialects import (
    inbound_responses,
    upstream_chat,
    upstream_messages,
    upstream_responses,
)
from app.core.dialects.compaction import opened, sealed
from app.core.dialects.deltas import AnswerSoFar
from app.core.dialects.inbound_chat import ChatWriter
from app.core.dialects.inbound_messages import MessagesWriter
from app.core.dialects.inbound_responses import ResponsesWriter
from app.core.dialects.items import items_of, messages_of
from app.core.dialects.proxy import ToolOwners
from app.core.dialects.question import LISTS, Question, UpstreamRequest, Writer, with_message
from app.core.dialects.stored import message
from app.core.history.placeholder import ArchiveCard, placeholder
from app.core.history.sync import digest
from app.core.messages import Limits, read
from app.core.neutral import flat, neutral, unframed
from app.providers.e5 import files, weights
from app.providers.e5.tokenizer import MARK, Tokenizer
from app.providers.raw import events_in
from app.recall import attp
from app.recall.arguments import Mistake
from app.services.lifecycle.lines import MessageLine, checked
from app.services.proxy.writing import sent
from app.text.language import scalars
from quire_command.files import kinds
from quire_command.files.lines import memory_lines, sendable, talk_lines
from quire_command.files.packed import unpacked
from quire_command.files.reading import Document
from quire_command.files.values import Memory, Talk

Json = dict[str, Any]
Target = Callable[[bytes], None]

LIMITS = Limits()
UID = UUID(int=1)
NOW = datetime(2026, 1, 1, tzinfo=UTC)


def messages(data: bytes) -> None:
    """The list of an append, a sync or an import."""
    drafts = read(parsed(data), LIMITS)
    again = read(json.loads(dumps([draft.original for draft in drafts])), LIMITS)
    assert [digest(draft) for draft in again] == [digest(draft) for draft in drafts]


def chat_request(data: bytes) -> None:
    _question(chat.FORM.question(checked_object(parsed(data))))


def messages_request(data: bytes) -> None:
    _question(v1_messages.FORM.question(checked_object(parsed(data))))


def responses_request(data: bytes) -> None:
    _question(responses.FORM.question(checked_object(parsed(data))))


def _question(question: Question) -> None:
    """What is read of a request can be stored, or is refused by the rules of any message."""
    assert isinstance(question.streams, bool)
    assert question.answer_tokens_max is not None
    read(list(question.messages), LIMITS)


def items(data: bytes) -> None:
    """Items of Responses become messages, and messages items: after the first time nothing changes."""
    given = messages_of(listed(parsed(data)))
    read(given, LIMITS)
    said = messages_of(items_of(given))
    assert messages_of(items_of(said)) == said


def chat_events(data: bytes) -> None:
    _answer(data, upstream_chat.ASKED)


def messages_events(data: bytes) -> None:
    _answer(data, upstream_messages.ASKED)


def responses_events(data: bytes) -> None:
    _answer(data, upstream_responses.ASKED)


def _answer(data: bytes, asked: UpstreamRequest) -> None:
    """A model's answer, streamed: what the reader takes is written in each dialect and stored as a message."""
    said, reader = AnswerSoFar.start(ToolOwners(("recall_page",), ("look",))), asked.reader()
    writers = _writers()
    for event in events_in(data):
        for chunk in reader.feed(event):
            said, passed = said.feed(chunk)
            _tell(writers, passed)
    said, passed = said.end_round()
    _tell(writers, [*passed, said.end(said.round.finish_reason or "stop")])
    for writer in writers:
        dumps(scalars([writer.end(said.usage), writer.whole()]))
    if said.text or said.calls:
        stored = scalars(message(said.round.parts, said.calls, said.text))
        read(json.loads(dumps([stored])), LIMITS)


def _writers() -> list[Writer]:
    question = inbound_responses.question({"model": "m", "input": "hi", "stream": True})
    return [ChatWriter(), MessagesWriter("msg_1", "m"), ResponsesWriter("resp_1", question, 0)]


def _tell(writers: list[Writer], chunks: list[Json]) -> None:
    for chunk in chunks:
        for writer in writers:
            for event in writer.feed(scalars(chunk)):
                sent(event)


def splicing(data: bytes) -> None:
    """One message more, and every other byte as it was."""
    body = checked_object(parsed(data))
    for dialect, name in LISTS.items():
        found = with_message(data, dialect, "more")
        if found != data:
            more = {"role": "user", "content": "more"}
            assert json.loads(found) == {**json.loads(data), name: [*body[name], more]}


def compactions(data: bytes) -> None:
    text = data.decode(errors="replace")
    opened(text)
    opened(base64.urlsafe_b64encode(data).decode())
    if text.isprintable() and text:
        found = opened(sealed(text, len(text), UID))
        assert found is not None
        assert (found.conversation_id, found.through, found.is_of(UID)) == (text, len(text), True)


def exports(data: bytes) -> None:
    """Files of other systems: what is made of them are lines that an import can read, or refuses by its own rules."""
    found = Document("file.json", parsed(data))
    kinds.kind_of(found)
    for kind in kinds.KINDS:
        with suppress(ValueError):
            for one in list(kinds.found_in(found, kind)):
                if isinstance(one, Talk):
                    _import(talk_lines(sendable(one, NOW)[0], "u"))
                elif isinstance(one, Memory):
                    _import(memory_lines([one], "u"))


def packed(data: bytes) -> None:
    """Bytes that LangGraph may have packed are read or refused, and do not run for ever."""
    with suppress(ValueError):
        unpacked(data)


def import_lines(data: bytes) -> None:
    _import(data.decode(errors="replace").splitlines())


def _import(found: Iterable[str]) -> None:
    for number, line in enumerate(found, 1):
        with suppress(errors.QuireError):
            value = checked(number, parse(line.encode()))
            if isinstance(value, MessageLine):
                read([value.message], LIMITS)


def attp_documents(data: bytes) -> None:
    document = attp.parse(data.decode(errors="replace"), "en")
    call = {"code": document.code, "message": document.message, "status": document.status, "target": document.target}
    written = "\n".join(f"{name} = {_toml(value)}" for name, value in call.items() if value is not None)
    assert attp.parse(f"thought = {_toml(document.thought)}\n[tool_call]\n{written}", "zh") == document


def _toml(text: str) -> str:
    return json.dumps(text, ensure_ascii=True).replace("\x7f", "\\u007f") if _is_plain(text) else f"'''\n{text}'''"


def _is_plain(text: str) -> bool:
    return all(ord(character) < 0x10000 for character in text)


def list_cursors(data: bytes) -> None:
    text = data.decode(errors="replace")
    for decode in (cursors.decode_int, cursors.decode_id, cursors.decode_time_and_id):
        for cursor in (text, cursors.encode(text), cursors.encode(*text.split(" "))):
            with suppress(errors.Invalid):
                found = decode(cursor)
                parts = found if isinstance(found, tuple) else (found,)
                assert decode(cursors.encode(*parts)) == found


def placeholders(data: bytes) -> None:
    """Nothing in a card opens a frame, begins a line or passes for another placeholder."""
    text = data.decode(errors="replace")
    found = placeholder(ArchiveCard(UID, text, text, NOW, len(text), text, (text, text), (text,)), "en")
    assert len(found.splitlines()) <= 6
    assert found.startswith(f"[Archived tool result {UID}]")
    assert neutral(found) == found.replace("[", "［", 1)
    assert neutral(neutral(text)) == neutral(text)
    assert flat(flat(text)) == flat(text)
    assert "<quire-" not in unframed(text).lower()


def pieces(data: bytes) -> None:
    """What is spelled is the normalised text, as far as the vocabulary knows its characters."""
    vocabulary, tokenizer = _e5()
    text = data.decode(errors="replace")
    found = tokenizer.pieces(text, 10_000)
    assert tokenizer.pieces(text, 5) == found[:5]
    if vocabulary.unknown not in found:
        spelled = "".join(vocabulary.pieces[id_] for id_ in found)
        assert spelled == MARK + tokenizer.normalised(text).replace(" ", MARK)


@cache
def _e5() -> tuple[weights.Vocabulary, Tokenizer]:
    vocabulary = weights.open_weights(files.find()).vocabulary
    return vocabulary, Tokenizer(vocabulary)


def parsed(data: bytes) -> Any:
    """The JSON of a body, as the API reads it."""
    return parse(data)


def listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


REFUSED = (errors.QuireError, Mistake)
"""What any of them may raise: the caller is told what is wrong."""
MALFORMED = (LookupError, TypeError, AttributeError, ValueError)
"""What reading an API's answer may raise too: the proxy tells its client that the answer was malformed."""
TARGETS: Mapping[Target, tuple[type[Exception], ...]] = {
    messages: REFUSED, chat_request: REFUSED, messages_request: REFUSED, responses_request: REFUSED, items: REFUSED,
    chat_events: (*REFUSED, *MALFORMED), messages_events: (*REFUSED, *MALFORMED),
    responses_events: (*REFUSED, *MALFORMED), splicing: REFUSED, compactions: REFUSED, exports: REFUSED,
    import_lines: REFUSED, attp_documents: REFUSED, list_cursors: REFUSED, placeholders: REFUSED, pieces: REFUSED,
    packed: REFUSED,
}  # fmt: skip
BY_NAME = {target.__name__: target for target in TARGETS}


def run(target: Target, data: bytes) -> None:
    """Feed a target. Raises what the target must not."""
    with suppress(*TARGETS[target]):
        target(data)
