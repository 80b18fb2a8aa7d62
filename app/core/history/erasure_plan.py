"""Decide everything that erasing messages writes, before anything is written.

An erased message becomes a mark, and so does every message into which a recall tool loaded a part of it. The result of
an erased call stays, without the call's content. Everything derived from the messages or their pages is deleted, and
Quire derives it again from the rest.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any
from uuid import UUID

from app.core import wording
from app.core.canonical import dumps
from app.core.conversation import ConversationEnd
from app.core.groups import chat_messages
from app.core.history.erasure import CALL_NAME, Forms, erased_forms, swapped
from app.core.history.placeholder import placeholder
from app.core.history.rows import StoredArchive
from app.core.messages import weigh
from app.core.model import UNZONED, Language
from app.core.neutral import neutral
from app.core.window.quote import plain_text

Count = Callable[[str], int]
Place = tuple[str, int]
"""Conversation and seq."""


@dataclass(frozen=True, slots=True)
class StoredMessage:
    conversation_id: str
    seq: int
    id: UUID
    page: int
    kind: str
    body: str
    view: str | None
    short: str | None
    anthropic: str | None
    archive_ids: Sequence[UUID]
    is_loaded: bool
    """Whether a recall tool loaded its text."""
    language: Language
    """The conversation's language."""

    @property
    def place(self) -> Place:
        return self.conversation_id, self.seq

    @property
    def shown(self) -> list[dict[str, Any]]:
        """Return the message as windows show it, in OpenAI form."""
        return chat_messages(self.view if self.view is not None else self.body)


@dataclass(frozen=True, slots=True)
class MarkLine:
    """A line of the contents page."""

    text: str
    tokens: int


@dataclass(frozen=True, slots=True)
class Marked:
    """A message that becomes a mark."""

    place: Place
    forms: Forms
    line: MarkLine
    tokens: int
    """Tokens of the forms; 0 for a message that no window shows."""


@dataclass(frozen=True, slots=True)
class Unasked:
    """A result after the content of its call was erased from it."""

    place: Place
    texts: Sequence[str | None]
    """Body, view, short form and Anthropic form."""
    line: MarkLine
    placeholders: Mapping[UUID, str]
    """New placeholders by archive id."""


@dataclass(frozen=True, slots=True)
class ErasureRules:
    """The properties of the service that the decision depends on."""

    count: Count
    recall_tools: Collection[str]
    """Calls of these tools keep their names."""
    result_line: Callable[[str, str], str]
    """Returns a result's line for the contents page, given the tool's name and the text."""


@dataclass(frozen=True, slots=True)
class Erased:
    """The messages to erase, with their context."""

    end: ConversationEnd
    language: Language
    messages: Sequence[StoredMessage]
    results: Sequence[StoredMessage]
    """The results of the calls in ``messages``."""
    cards: Mapping[UUID, StoredArchive]
    """The archives in ``results``, by id."""
    repeats: Sequence[StoredMessage]
    """Messages of any conversation into which a recall tool loaded text of ``messages``."""


@dataclass(frozen=True, slots=True)
class ErasurePlan:
    """Everything to write when messages of a conversation are erased, except for archives."""

    marked: Sequence[Marked]
    unasked: Sequence[Unasked]
    seqs: Sequence[int]
    pages: Sequence[int]
    near: Sequence[int]
    """The seqs of messages whose vectors were made from erased messages too."""
    mark: MarkLine
    prompt_tokens: int
    """Tokens by which marks make the system prompt longer."""
    end: ConversationEnd
    conversations: Collection[str]
    """The conversations in which a new generation begins."""
    erased: Collection[UUID]
    """Messages that stored responses must not mention any more."""
    changed: Collection[UUID]
    """Messages and archives whose descriptions in stored responses contain content of erased calls."""
    is_done: bool
    """Whether the messages are marks already and nothing repeats them."""


def decide(erased: Erased, rules: ErasureRules) -> ErasurePlan:
    """Return which messages become marks, which results change, and whose derived data must be made anew."""
    seqs = [message.seq for message in erased.messages]
    results = [result for result in erased.results if result.seq not in seqs]
    loaded = {result.place: result for result in results if result.is_loaded}
    repeats = {message.place: message for message in erased.repeats} | loaded
    for seq in seqs:
        repeats.pop((erased.messages[0].conversation_id, seq), None)
    gone = [*erased.messages, *repeats.values()]
    unasked = [result for result in results if result.place not in repeats]
    marked = [_marked(message, rules) for message in gone]
    return ErasurePlan(
        marked=marked, unasked=[_unasked(result, erased.cards, rules) for result in unasked], seqs=seqs,
        pages=sorted({message.page for message in erased.messages}),
        near=[*(seq + 1 for seq in seqs), *(result.seq for result in results)],
        mark=mark_line(erased.language, rules.count),
        prompt_tokens=sum(_grown(message, rules) for message in erased.messages if message.kind == "prompt"),
        end=without_calls(erased.end, erased.messages, rules),
        conversations={message.conversation_id for message in gone}, erased=[message.id for message in gone],
        changed=[name for result in unasked for name in (result.id, *result.archive_ids)],
        is_done=all(mark.forms.body == message.body for mark, message in zip(marked, gone, strict=True)),
    )  # fmt: skip


def marks(messages: Sequence[StoredMessage], rules: ErasureRules) -> list[Marked]:
    """Return the marks for messages that repeat erased text. Nothing was derived from such messages."""
    return [_marked(message, rules) for message in messages]


def mark_line(language: Language, count: Count) -> MarkLine:
    mark = wording.ERASED.say(language)
    return MarkLine(mark, count(mark))


def weight(view: Sequence[dict[str, Any]], count: Count) -> int:
    """Return the tokens of a message in the form that windows show."""
    weighed = [weigh(message) for message in view]
    return sum(sum(map(count, texts)) + overhead for texts, overhead in weighed)


def _marked(message: StoredMessage, rules: ErasureRules) -> Marked:
    forms = _forms(message, rules)
    seen = 0 if message.kind in UNZONED else weight(_seen(forms), rules.count)
    return Marked(message.place, forms, mark_line(message.language, rules.count), seen)


def _forms(message: StoredMessage, rules: ErasureRules) -> Forms:
    view = [] if message.kind == "orphan" else message.shown
    anthropic = json.loads(message.anthropic) if message.anthropic else None
    forms = erased_forms(
        json.loads(message.body), view, anthropic, wording.ERASED.say(message.language), rules.recall_tools
    )
    return Forms(forms.body, "", None) if message.kind == "orphan" else forms


def _seen(forms: Forms) -> list[dict[str, Any]]:
    return chat_messages(forms.view if forms.view is not None else forms.body)


def _grown(message: StoredMessage, rules: ErasureRules) -> int:
    return max(0, weight(_seen(_forms(message, rules)), rules.count) - weight(message.shown, rules.count))


def _unasked(result: StoredMessage, cards: Mapping[UUID, StoredArchive], rules: ErasureRules) -> Unasked:
    texts: list[str | None] = [result.body, result.view, result.short, result.anthropic]
    placeholders: dict[UUID, str] = {}
    for stored in (cards[name] for name in result.archive_ids if name in cards):
        bare = placeholder(replace(stored.card, tool_name=CALL_NAME, query_summary=""), stored.language)
        placeholders[stored.id] = bare
        texts = [text and dumps(swapped(json.loads(f"[{text}]"), stored.placeholder, bare))[1:-1] for text in texts]
    view = chat_messages((texts[1] if texts[1] is not None else texts[0]) or "")
    line = neutral(rules.result_line(CALL_NAME, plain_text(view)))
    return Unasked(result.place, texts, MarkLine(line, rules.count(line)), placeholders)


def without_calls(end: ConversationEnd, erased: Sequence[StoredMessage], rules: ErasureRules) -> ConversationEnd:
    """Return the conversation's end with the names and arguments of erased open calls removed."""
    gone = {
        call["id"]
        for message in erased
        if message.kind == "call"
        for shown in message.shown
        for call in shown.get("tool_calls") or []
    }
    calls = [
        replace(call, name=call.name if call.name in rules.recall_tools else CALL_NAME, arguments="{}")
        if call.id in gone
        else call
        for call in end.open_calls
    ]
    return replace(end, open_calls=tuple(calls))
