"""Prepare an append: gather its basis, and analyse its messages.

``prepare`` gives each message its place, the forms that windows show, its archives and its searchable text; ``texts``
returns the texts whose tokens ``core.history.append.decide`` needs. A ``TextReader`` of pure functions, passed in like
the new ids, analyses the texts.

An append is valid for the version of the conversation that it was decided on. For another version it is decided again,
and ``prepare`` then reuses its earlier results, so that little is read and nothing is counted twice.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cached_property
from typing import Literal, Protocol
from uuid import UUID

from app.core import wording
from app.core.canonical import dumps
from app.core.conversation import Conversation, ConversationEnd
from app.core.encoded import blanked, marked
from app.core.groups import chat_messages
from app.core.history.apart import apart
from app.core.history.ingest import AnsweredCall, Placement, ShownForms, archived_answers, place, shown_forms, thinking
from app.core.history.placeholder import ArchiveCard, placeholder
from app.core.history.sync import digest
from app.core.messages import Draft, weigh
from app.core.model import Language, Policy
from app.core.neutral import neutral
from app.core.parts import said_by
from app.core.window.contents import LINES_PER_PAGE
from app.core.window.fresh import part_text, parts_characters
from app.core.window.kept import Wish
from app.core.window.quote import searchable_text, speaker_of
from app.core.window.topics import Features

SCAN_MAX = 20_000
"""Characters of the user messages that are read to detect a conversation's language."""

Origin = Literal["caller", "proxy question", "proxy recall", "proxy answer", "import"]
Counts = Mapping[str, int]
"""Tokens by text."""
NewId = Callable[[], UUID]
Places = tuple[list[Placement], ConversationEnd]
"""The messages' placements, and the conversation's end after them."""
Passage = tuple[int, int, str]
"""Start, length and search terms of a stretch of text."""


@dataclass(frozen=True, slots=True)
class KeptArchive:
    """An imported description of an archive. Its tool, time and length come from the message instead."""

    card: ArchiveCard
    expires_at: datetime | None


@dataclass(frozen=True, slots=True)
class Arrival:
    """A message to append."""

    draft: Draft
    id: UUID | None = None
    """The message's id in the system that it is imported from."""
    is_inner: bool = False
    """Whether it is in no caller's list: see ``core.history.sync.INNER``."""
    is_refused: bool = False
    """Whether a model's API had refused it before the export: see ``core.history.refused``."""
    archives: Mapping[str, KeptArchive] | None = None
    """Imported archives by call id; None if the policy decides what is archived."""


@dataclass(frozen=True, slots=True)
class PreparationRules:
    """Rules by which the deployment stores messages."""

    recall_tools: frozenset[str] = frozenset()
    archives_expire_at: datetime | None = None
    """When archives that are made now expire; None: never."""
    summarised_from: int | None = None
    """The number of messages from which on a model summarises; None: no model does."""
    embeds: bool = False
    """Whether memories get vectors."""
    notices: bool = False
    """Whether jobs look for wishes of persons in the vectors."""
    budget: int = 0
    """The budget of windows for which the caller names none."""


@dataclass(frozen=True, slots=True)
class OpenPage:
    """The stored part of a conversation's last page, from which its index is made."""

    first_seq: int
    title: str
    lines: Sequence[tuple[str, str]]
    """Role and line of the page's first messages; the role of results is ``tool``."""
    topics: Mapping[str, Features]
    """The conversation's latest topics, newest first; at most ``TOPICS_KEPT``, and each page adds a few."""

    def with_lines(self, messages: Iterable[Prepared], number: int) -> OpenPage:
        """Return the page (of this ``number``) with the lines of those messages that belong to it."""
        more = [
            ("tool" if one.placement.kind == "result" else one.placement.draft.role, one.lines.line)
            for one in messages
            if one.placement.page == number
            and one.placement.seq < self.first_seq + LINES_PER_PAGE
            and one.placement.kind != "prompt"
            and one.lines.line
        ]
        return replace(self, lines=[*self.lines, *more])


@dataclass(frozen=True)
class Basis:
    """Everything that an append's decision depends on."""

    conversation: Conversation
    """The stored conversation; an empty one if it is new."""
    is_new: bool
    arrivals: Sequence[Arrival]
    origin: Origin
    policy: Policy
    language: Language | None
    rules: PreparationRules
    now: datetime
    question: str = ""
    """The last user message before the arrivals; needed if a result among them is archived."""
    anew: bytes | None = None
    """The chain of a proxy's list if the list shares nothing with the stored messages, else None."""
    is_only_greeted: bool = False
    """Whether the conversation's title is a greeting, which the user's first request then replaces."""
    closing: OpenPage | None = None
    """The page that the arrivals close, if the append indexes it."""
    open: OpenPage | None = None
    """The conversation's last page, if it is known."""
    places: Places | None = None
    """The places of the arrivals, if they are known already."""

    @cached_property
    def placed(self) -> Places:
        return self.places or places_of(self.conversation, self.arrivals)

    @property
    def closed(self) -> range:
        """Return the pages that the arrivals close."""
        return closed_pages(self.conversation, self.placed)


def places_of(conversation: Conversation, arrivals: Sequence[Arrival]) -> Places:
    refused = {index for index, arrival in enumerate(arrivals) if arrival.is_refused}
    return place(conversation.end, [arrival.draft for arrival in arrivals], refused, conversation.user_id)


def closed_pages(conversation: Conversation, places: Places) -> range:
    return range(max(1, conversation.totals.last_page), places[1].last_page)


@dataclass(frozen=True, slots=True)
class LinesOfMessage:
    """A message's line, the title of the page that it opens, if any, and the wishes in it."""

    line: str
    title: str | None = None
    wishes: tuple[Wish, ...] = ()
    words: str = ""
    """The words of the message that can name a subject, separated by blanks."""
    is_greeting: bool = False
    """Whether it only greets, assents or says who speaks: its title holds only until the user asks for something."""

    def of(self, name: str | None) -> LinesOfMessage:
        """Return the lines with the name of the participant who speaks in each that is not empty."""
        title = said_by(name, self.title) if self.title and not self.is_greeting else self.title
        wishes = tuple(wish.of(name) for wish in self.wishes)
        return replace(self, line=said_by(name, self.line), title=title, wishes=wishes)

    @property
    def texts(self) -> list[str]:
        return [self.line, *(() if self.title is None else (self.title,)), *(wish.text for wish in self.wishes)]


class TextReader(Protocol):
    """The analysis of texts without a model. Pure functions."""

    def language(self, text: str) -> Language: ...

    def lines(self, placement: Placement, line: str | None) -> LinesOfMessage: ...

    def card(self, uuid: UUID, answer: AnsweredCall, language: Language, now: datetime) -> tuple[ArchiveCard, str]:
        """Return the card of an answer, and its line for ``lines``: a long result is examined once for both."""

    def passages(self, text: str, speaker: str | None) -> list[Passage]:
        """Return a text's first passages; not all of them if the text is very long."""

    def parts(self, text: str, question: str, characters_max: int) -> list[tuple[int, int]]:
        """Return start and length of the stretches of a text that matter to a question, the best first. Together they
        have at most ``characters_max`` characters.
        """

    def topics(self, title: str, lines: Sequence[tuple[str, str]]) -> list[str]:
        """Return a page's topics, given its title and its messages' roles and lines."""


def spoken_language(arrivals: Sequence[Arrival], reader: TextReader) -> Language | None:
    """Return the language of the user messages; None if the user has said nothing."""
    user_text = "\n".join(arrival.draft.text for arrival in arrivals if arrival.draft.role == "user")[:SCAN_MAX]
    return reader.language(user_text) if user_text.strip() else None


@dataclass(frozen=True, slots=True)
class Archived:
    """A result that goes to the archive."""

    answer: AnsweredCall
    card: ArchiveCard
    expires_at: datetime | None
    placeholder: str
    shown: str
    """Its text as models see it."""
    parts: Sequence[tuple[int, str]] = ()
    """Offset and text (as windows show it) of the parts that matter to the page's question, the best first."""

    @property
    def text(self) -> str:
        return self.answer.result.text


@dataclass(frozen=True, slots=True)
class Searchable:
    """The searchable passages of a text."""

    archive_id: UUID | None
    """The archive that holds the text; None if the message does."""
    passages: Sequence[Passage]
    is_whole: bool
    """Whether these are all passages; if not, a job continues after the last one."""


@dataclass(frozen=True, slots=True)
class Prepared:
    """A placed message with everything derived from its texts."""

    placement: Placement
    forms: ShownForms
    digest: bytes
    lines: LinesOfMessage
    archived: Mapping[int, Archived]
    """Archived results by the index of the answer."""
    searchable: Sequence[Searchable]


@dataclass(frozen=True, slots=True)
class Preparation:
    """The analysed messages of an append, with the policy and language that the analysis depends on."""

    policy: Policy
    language: Language | None
    messages: Sequence[Prepared]
    topics: Sequence[str] | None = None
    """The topics of the page that is closed; None if a job finds them."""


def results_to_count(basis: Basis) -> list[str]:
    """Return the results whose tokens decide whether they are archived."""
    if not basis.policy.archive_threshold_tokens:
        return []
    return [marked(answer.result.text) for placement in basis.placed[0] for answer in placement.answers]


def prepare(
    basis: Basis, counts: Counts, reader: TextReader, new_id: NewId, earlier: Preparation | None = None
) -> Preparation:
    """Analyse the messages. ``earlier`` is the preparation of an earlier try, which is reused where it still holds."""
    is_same = earlier is not None and (earlier.policy, earlier.language) == (basis.policy, basis.language)
    by_draft = {id(message.placement.draft): message for message in earlier.messages} if earlier and is_same else {}
    messages = [
        _prepared_again(by_draft.get(id(placement.draft)), placement, basis)
        or _prepared(placement, basis, counts, reader, new_id)
        for placement in basis.placed[0]
    ]
    messages = list(_told_apart(messages, basis))
    return Preparation(basis.policy, basis.language, messages, _topics(basis, messages, reader))


def _told_apart(messages: Iterable[Prepared], basis: Basis) -> Iterator[Prepared]:
    """Yield the messages, and give each that opens a page a title that differs from the previous page's line."""
    earlier = basis.closing.lines if basis.closing is not None else ()
    before = next((line for role, line in earlier if role == "user"), "")
    for message in messages:
        lines = message.lines
        if not (message.placement.opens_page and lines.title):
            yield message
            continue
        title = neutral(apart(lines.title, message.placement.draft.text, before))
        yield message if title == lines.title else replace(message, lines=replace(lines, title=title))
        before = lines.line


def _topics(basis: Basis, messages: Sequence[Prepared], reader: TextReader) -> list[str] | None:
    if basis.closing is None:
        return None
    page = basis.closing.with_lines(messages, basis.closed[0])
    return reader.topics(page.title, page.lines)


def _prepared_again(before: Prepared | None, placement: Placement, basis: Basis) -> Prepared | None:
    """Return an earlier preparation of a message at its new place; None if the message must be analysed again."""
    if before is None or _read_as(before.placement) != _read_as(placement):
        return None
    is_same_page = before.placement.page == placement.page
    forms = before.forms if is_same_page else _forms(placement, before.archived, basis)
    return replace(before, placement=placement, forms=forms)


def _read_as(placement: Placement) -> tuple[object, ...]:
    """Return everything in a placement, besides the message itself, on which the analysis depends."""
    return placement.kind, placement.answers, placement.seq == 1, placement.author


def _prepared(placement: Placement, basis: Basis, counts: Counts, reader: TextReader, new_id: NewId) -> Prepared:
    cards = list(_cards(placement, basis, counts, reader, new_id))
    archived = {
        index: Archived(
            placement.answers[index], card, expires_at, placeholder(card, basis.language or "en"),
            marked(placement.answers[index].result.text), _parts(placement, index, basis, reader),
        )
        for index, expires_at, card, _ in cards
    }  # fmt: skip
    forms = _forms(placement, archived, basis)
    read = reader.lines(placement, next((line for index, *_, line in cards if index == 0), None))
    is_elsewhere = bool(archived) or forms.loaded is not None or placement.kind == "prompt"
    words = "" if is_elsewhere else neutral(read.words)
    wishes = tuple(replace(wish, text=neutral(wish.text)) for wish in read.wishes)
    lines = LinesOfMessage(neutral(read.line), read.title and neutral(read.title), wishes, words, read.is_greeting)
    if placement.kind == "refused":
        said = wording.REFUSED.say(basis.language or "en")
        lines = LinesOfMessage(said, said if read.title is not None else None)
    searchable = list(_searchable(placement, forms, archived, reader, basis.rules.recall_tools))
    return Prepared(placement, forms, digest(placement.draft), lines, archived, searchable)


def _parts(placement: Placement, index: int, basis: Basis, reader: TextReader) -> list[tuple[int, str]]:
    """Return the parts of an answer that matter to the question; none if it is imported, because it is not fresh."""
    if basis.origin == "import":
        return []
    answer = placement.answers[index]
    asked = (other.draft.text for other in basis.placed[0] if other.seq == placement.user_seq)
    question = f"{next(asked, basis.question)[:SCAN_MAX]}\n{answer.call.arguments}"
    text, characters_max = blanked(answer.result.text), parts_characters(basis.rules.budget)
    parts = [(start, text[start : start + length]) for start, length in reader.parts(text, question, characters_max)]
    return [(start, part_text(start, part)) for start, part in parts if part.strip()]


def _cards(
    placement: Placement, basis: Basis, counts: Counts, reader: TextReader, new_id: NewId
) -> Iterator[tuple[int, datetime | None, ArchiveCard, str | None]]:
    """Yield index, expiry, card and new line of each answer to archive: as the policy says, or as imported."""
    imported = basis.arrivals[placement.index].archives
    if imported is None:
        expires_at, language = basis.rules.archives_expire_at, basis.language or "en"
        for index in archived_answers(placement, basis.policy, basis.rules.recall_tools, counts):
            yield index, expires_at, *reader.card(new_id(), placement.answers[index], language, basis.now)
        return
    for index, answer in enumerate(placement.answers):
        if (imported_card := imported.get(answer.call.id)) is not None:
            length = len(answer.result.text)
            card = replace(imported_card.card, tool_name=answer.call.name, created_at=basis.now, length=length)
            yield index, imported_card.expires_at, card, None


def _forms(placement: Placement, archived: Mapping[int, Archived], basis: Basis) -> ShownForms:
    placeholders = {index: result.placeholder for index, result in archived.items()}
    return shown_forms(placement, placeholders, basis.policy, basis.language or "en", basis.rules.recall_tools)


def _searchable(
    placement: Placement,
    forms: ShownForms,
    archived: Mapping[int, Archived],
    reader: TextReader,
    recall_tools: frozenset[str],
) -> Iterator[Searchable]:
    """Yield the searchable texts of a message; none for a prompt, a refused question, a recalled text or its call."""
    if placement.kind in ("prompt", "refused") or forms.loaded is not None:
        return
    shown = forms.view if placement.kind != "orphan" else chat_messages(marked(dumps(placement.draft.original)))
    text = searchable_text(shown, recall_tools)
    if text.strip():
        yield _passages(None, text, speaker_of(shown), reader)
    for result in archived.values():
        yield _passages(result.card.uuid, blanked(result.text), None, reader)


def _passages(archive_id: UUID | None, text: str, speaker: str | None, reader: TextReader) -> Searchable:
    result = reader.passages(text, speaker)
    end = result[-1][0] + result[-1][1] if result else 0
    return Searchable(archive_id, result, is_whole=end >= len(text))


def texts(basis: Basis, preparation: Preparation) -> Iterator[str]:
    """Yield the texts whose tokens ``decide`` needs, some of them more than once."""
    for prepared in preparation.messages:
        for archived in prepared.archived.values():
            yield archived.shown
            yield from (text for _, text in archived.parts)
        for form in (prepared.forms.view, prepared.forms.short, prepared.forms.loaded):
            for message in form or ():
                yield from weigh(message)[0]
        yield from thinking(prepared.forms)
        yield from prepared.lines.texts
    if basis.is_new and basis.conversation.system is not None:
        yield basis.conversation.system
