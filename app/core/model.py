"""The values that decisions are based on.

Two of them carry the design's idea:

* ``Entry`` is a message's place and weight: enough to decide paging without its text.
* ``Cut`` is a stored row: where the zones of a window begin, and the head that was frozen with it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal, NamedTuple, get_args
from uuid import UUID

from app.core.setting import Own, Variable, setting

Language = Literal["zh", "en"]
Format = Literal["openai", "anthropic"]
RecallScope = Literal["user", "conversation"]
Recall = Literal["auto", "off"]
"""The range of a search: everything that its user ever said, or its own conversation only."""
Carry = Literal["explicit", "proposed", "off"]
"""What a user's lasting wishes do: follow the user at once, once a person accepts them, or not at all."""
Role = Literal["system", "developer", "user", "assistant", "tool"]

# prompt:  a system message that leads the conversation; shown in the system section, never paged
# message: anything that stands alone
# call:    an assistant message with tool calls; it opens a call group
# result:  a tool message that answers a call of the group it is in
# orphan:  a tool message whose call is unknown, answered already, or closed; kept, never sent to a model
# refused: part of a question that a model's API refused for good (``core.history.refused``); kept, not sent again
Author = Literal["person", "participant", "assistant", "sub-agent", "tool", "machine"]
"""Whose words a message holds; each may be taken for one further down, never for one further up."""
AUTHORS: tuple[Author, ...] = get_args(Author)
PEOPLE: frozenset[Author] = frozenset({"person", "participant"})
Kind = Literal["prompt", "message", "call", "result", "orphan", "refused"]
UNSENT = frozenset({"orphan", "refused"})
"""Kinds that the history keeps and no window shows."""
UNZONED = UNSENT | {"prompt"}
"""Kinds that are in no zone of a window and weigh nothing there."""
INTEGER_MAX = 2**31 - 1
"""The highest number of a message, a page or a character: PostgreSQL's integer."""
OURS = 100
"""Percent of our tokens: as o200k_base counts."""
OPENING_TOKENS = 6
"""Tokens of the message that Anthropic's form needs before an assistant's that would be the first."""
UNMATCHED = "unmatched_tool_result"
"""The warning for a tool result that answers no open call, in an append's response and in windows."""


@dataclass(frozen=True, slots=True)
class Policy:
    """The paging policy of a conversation. Values are in tokens unless the name says otherwise."""

    full_recent_count: int = setting(
        Variable("memory_full_recent_count", 10, ge=1, own=Own(1, 10_000)),
        "Minimum messages that stay verbatim after a cut, if they fit in what a cut keeps.",
    )
    active_pages: int = setting(
        Variable("memory_active_pages", 0, ge=0, own=Own(0, 10_000, "(0: as many as fit)")),
        "Maximum pages in the window's body before it is cut. 0: as many as fit.",
    )
    condensed_tool_max: int = setting(
        Variable("memory_condensed_tool_max", 200, ge=0, own=Own(0, 100_000)),
        "Characters of a tool result in the condensed zone.",
    )
    archive_threshold: int = setting(
        Variable("memory_archive_threshold", 10_000, ge=500, own=Own(200, 10_000_000, "characters")),
        "Tool results with more characters are archived.",
    )
    archive_threshold_tokens: int = setting(
        Variable("memory_archive_threshold_tokens", 0, ge=0, own=Own(0, 10_000_000)),
        "Tool results with more tokens are archived too. 0: no such limit.",
    )
    unlist_after_turns: int = setting(
        Variable("memory_unlist_after_turns", 200, ge=1, own=Own(1, 1_000_000)),
        "Turns without a recall after which a page leaves the contents page (m).",
    )
    unlist_unchanged_turns: int = setting(
        Variable("memory_unlist_unchanged_turns", 80, ge=1, own=Own(1, 1_000_000)),
        "Turns with the same recall count after which a page leaves the contents page (p).",
    )
    contents_max: int = setting(
        Variable("memory_contents_max_tokens", 2000, ge=100, own=Own(0, 100_000, "tokens")),
        "Maximum tokens of the contents page.",
    )
    summary_max: int = setting(
        Variable("memory_max_summary_tokens", 1000, ge=50, own=Own(0, 100_000, "tokens")),
        "Maximum tokens of the summary.",
    )
    summary_enabled: bool = setting(
        Variable("memory_enable_summary", True, own=Own()), "Keep a rolling summary of what left the window."
    )
    chapter_lines: bool = setting(
        Variable("memory_chapter_lines", True, own=Own()), "Show runs of unlisted pages as chapter lines."
    )
    recall: Recall = setting(
        Variable("memory_recall", "auto", own=Own(description="whether windows recall by themselves")),
        "`auto`: a window without a query brings in memories that answer the newest user message. A request's "
        "`recall`, or the header X-Quire-Recall, overrides it.",
    )
    recall_max: int = setting(
        Variable("memory_recall_max_tokens", 500, ge=50, own=Own(50, 100_000, "tokens")),
        "Maximum tokens that a window recalls by itself for a user message; never more than a fifth of it.",
    )
    recall_scope: RecallScope = setting(
        Variable("memory_recall_scope", "user", own=Own(description="where queries and recall tools look")),
        "Where queries and recall tools look: all of the user's conversations, or only the current one.",
    )
    alternate_roles: bool = setting(
        Variable("memory_alternate_roles", False, own=Own(description="true: user and assistant take turns")),
        "Show neighbours of one role as one message, for models whose template wants user and assistant to take "
        "turns. Known ones get it without this.",
    )
    carry: Carry = setting(
        Variable("memory_carry", "explicit", own=Own(description="what a user's lasting wishes do")),
        "When lasting wishes of a user follow them into other conversations: `explicit` at once, `proposed` once "
        "a person accepts them, `off` never. Unset, without the local model: `proposed`.",
    )
    remember: bool = setting(
        Variable("memory_remember", True, own=Own(description="false: nothing said here follows the user")),
        "Let what a user says be remembered beyond its conversation.",
    )
    remember_tool: bool = setting(
        Variable("memory_remember_tool", False, own=Own(description="true: windows offer the tool `remember`")),
        "Offer the tool `remember` in windows.",
    )
    head_share: float = setting(
        Variable("memory_head_share", 0.15, ge=0, le=0.5, own=Own(0, 0.5, "of the available tokens")),
        "Share of the available tokens for the head once twenty pages have left the window; less where it needs less.",
    )
    condensed_share: float = setting(
        Variable("memory_condensed_share", 0.1, ge=0, le=0.8, own=Own(0, 0.8, "of the body's room")),
        "Maximum share of the body's room for condensed messages after a cut.",
    )
    keep_share: float | None = setting(
        Variable("memory_keep_share", None, ge=0.05, le=0.9, own=Own(0.05, 0.9, "of the room for messages")),
        "Share of the room beside head and condensed messages that stays verbatim after a cut. Unset: the largest at "
        "which a token in view costs MEMORY_VIEW_PRICE, between 0.5 and 0.85.",
    )
    view_price: float = setting(
        Variable("memory_view_price", 0.2, ge=0.11, le=1, own=Own(0.11, 1, "of an uncached token")),
        "What a token in view may cost in a call, in prices of an uncached one; a cached one costs 0.1. Lower: cuts go "
        "deeper, and windows are emptier.",
    )
    recall_share: float | None = setting(
        Variable("memory_recall_share", None, ge=0.05, le=0.8, own=Own(0.05, 0.8, "of the available tokens")),
        "Largest share of the available tokens for what a request loads or its query brings in. Unset: 0.65.",
    )


class FileWeight(NamedTuple):
    """The tokens of the files of one kind in a message."""

    seq: int
    kind: str
    usual: int
    """By the usual estimate."""
    counted: int
    """As they were charged when the message came."""


class Marks(NamedTuple):
    """The parts of a text that tokenizers count differently."""

    digits: int = 0
    """Digits beyond one for each three of a run: families differ in whether digits share tokens."""
    han: int = 0
    capitals: int = 0
    """Capital letters beside another."""

    flat: int = 0
    """Tokens of images and files, which no tokenizer makes."""

    def plus(self, *others: Marks) -> Marks:
        return Marks(*map(sum, zip(self, *others, strict=True)))


class Mix(NamedTuple):
    """The sums that a family's count is made of."""

    tokens: int = 0
    """In o200k_base, with Quire's own frames of messages and calls."""
    digits: int = 0
    han: int = 0
    capitals: int = 0
    flat: int = 0
    calls: int = 0
    tools: int = 0

    @staticmethod
    def of(tokens: int, marks: Marks, *, calls: int = 0, tools: int = 0) -> Mix:
        return Mix(tokens, *marks, calls, tools)

    def plus(self, *others: Mix) -> Mix:
        return Mix(*map(sum, zip(self, *others, strict=True)))


@dataclass(frozen=True, slots=True)
class Anchored:
    """A text recalled unasked for a user message: chosen once, and in front of it while its page is the newest."""

    seq: int
    """The user message's."""
    text: str | None
    """None: nothing answers the message."""
    tokens: int


class Entry(NamedTuple):
    """A message's place in its conversation and its weight, without its text. (A tuple: a cut reads hundreds.)"""

    seq: int
    page: int
    group: int
    """``seq`` of the first message of its call group; its own for a message that stands alone."""
    kind: Kind
    full: int
    """Tokens as rendered verbatim; for a loaded result, those of the mark it shrinks to."""
    short: int
    """Tokens as rendered in the condensed zone; never more than ``full``."""
    full_before: int
    """Sum of ``full`` over all earlier messages."""
    short_before: int
    user_seq: int
    """``seq`` of the user message that opened its page; 0 on a first page that has none yet."""
    fresh: Sequence[int] = ()
    """What each of its archived results adds if it is shown whole while its page is the newest."""
    loaded: int = 0
    """What a recall tool brought in with it, beyond the mark that it shrinks to; or what was recalled for it."""
    calls: int = 0
    marks: Sequence[int] = ()
    """As of an ``Item``."""

    @property
    def full_after(self) -> int:
        return self.full_before + self.full

    @property
    def opens_page(self) -> bool:
        """The user message that opens its page; on the first page, the first message that is shown at all."""
        if self.page > 1:
            return self.seq == self.user_seq == self.group  # not between a call and its late result
        return self.full_before == 0 < self.full

    @property
    def opens_group(self) -> bool:
        """Return whether a zone can begin here. (An unsent message can stand between a call and its results.)"""
        return self.seq == self.group and self.kind not in UNZONED


@dataclass(frozen=True, slots=True)
class Totals:
    """The running sums of a conversation."""

    last_seq: int = 0
    last_page: int = 0
    full: int = 0
    short: int = 0
    history: int = 0
    """Tokens of the whole history as it was sent, archived results in full."""
    generation: int = 0
    """Grows when the past is changed (erasures, edited notes): no cut made before is shown again."""


class Day(NamedTuple):
    """A date line of the condensed zone."""

    page: int
    """It stands before the first message in view of this page or of one after it."""
    day: str
    text: str
    """A chat message, as canonical JSON."""


@dataclass(frozen=True, slots=True)
class Head:
    """The frozen head: its text, and the tokens of its sections, which add up to its weight."""

    text: str = ""
    frame_tokens: int = 0
    notes_tokens: int = 0
    summary_tokens: int = 0
    contents_tokens: int = 0
    listed: tuple[int, ...] = ()
    """Pages that have lines of their own on its contents page."""
    summary_through_seq: int = 0
    """How far its summary reaches, or where that stands for one, its contents page; 0 without either."""
    summary_source: str = "extractive"
    """The author of the summary: ``llm`` or ``extractive``."""
    pinned: str = ""
    """The text of a head that has nothing but the notes."""
    notes_left_out: int = 0
    """Memories to keep in mind for which there was no room."""
    days: tuple[Day, ...] = ()
    """The date lines of the condensed zone, which are frozen with the head."""

    @property
    def tokens(self) -> int:
        return self.frame_tokens + self.notes_tokens + self.summary_tokens + self.contents_tokens

    def only_pinned(self) -> Head:
        """Return the head with nothing but its notes; an empty one if it has none."""
        if not self.pinned:
            return Head()
        return Head(self.pinned, self.frame_tokens, self.notes_tokens, notes_left_out=self.notes_left_out)


class FreshForm(NamedTuple):
    """The form in which an archived result was shown when it came."""

    seq: int
    archive_id: str
    tokens: int
    """What it was shown with beside its placeholder's first line."""


@dataclass(frozen=True, slots=True)
class Cut:
    """The beginnings of a window's zones, and the head as it stood when the cut was made.

    Messages before ``condensed_from`` are on the contents page (except for the pinned one), those from there to
    ``verbatim_from`` are condensed, and the others are verbatim.
    """

    number: int
    """Counts the cuts of a conversation. 0: it is not stored."""
    budget: int
    step: int = 0
    """The step in which the body gives way to a tail, of ``budget.reserves``."""
    condensed_from: int = 1
    verbatim_from: int = 1
    pinned: int = 0
    """``seq`` of a user message shown although its page is paged out in part; 0 for none."""
    room: int = INTEGER_MAX
    """The tokens of head and body that it was made for: a fresh result is whole if it fits in what is free of them."""
    half_mark: int = 0
    """Cumulative ``full`` offset, part of the way into the verbatim zone's growth, for a cache breakpoint."""
    full_total: int = 0
    """Tokens of the whole history, verbatim, when it was made."""
    last_seq: int = 0
    """The newest message when it was made …"""
    last_page: int = 0
    """… and its page: the "now" of the unlisting rules."""
    generation: int = 0
    """It is shown while the conversation's generation is this."""
    is_squeezed: bool = False
    """Its window is squeezed: it holds until the next message, since nothing promises what that one begins with."""
    forms: tuple[FreshForm, ...] = ()
    """The fresh results that were in view before it and keep their form."""
    head: Head = field(default_factory=Head)
    sources: tuple[UUID, ...] = ()
    """The memories that its head quotes."""

    @property
    def zones(self) -> tuple[int, int, int]:
        return self.condensed_from, self.verbatim_from, self.pinned


class Salt(NamedTuple):
    """A message's salt and author in receipts."""

    salt: bytes
    author: str


class Item(NamedTuple):
    """A message of the body with its rendered texts, as the window reads it from the store.

    A tuple, as ``Placed``: a window makes a hundred of them, and a frozen dataclass takes five times as long to make.
    """

    seq: int
    page: int
    group: int
    kind: Kind
    role: str
    text: str
    """One or more chat messages as canonical JSON objects joined by commas, as this zone shows them."""
    parts: int
    """The number of chat messages in ``text``."""
    tokens: int
    """The tokens of ``text``."""
    calls: int
    """Tool calls in the message."""
    results: int
    """Tool results in the message."""
    full_after: int
    loaded_text: str | None = None
    """What a recall tool loaded, while its page is the newest; ``text`` is then the mark it becomes."""
    loaded_tokens: int = 0
    short_text: str | None = None
    """The condensed form, for an item that is verbatim but may have to be squeezed."""
    short_tokens: int = 0
    anthropic: str | None = None
    """The message as it was sent, when that was in Anthropic form and it is shown verbatim."""
    archive_ids: tuple[str, ...] = ()
    """The archives whose placeholders stand in it."""
    fresh: tuple[int, ...] = ()
    """What each of them adds if it is shown whole."""
    marks: tuple[int, ...] = ()
    """Marks of its tokens verbatim, condensed, and of what passes: what was loaded, or is fresh."""
    is_late: bool = False
    """It is a result that came too late to stand by its call, shown as the user's text: not what the user said."""
    salt: Salt | None = None
    """None: it was not read from the store."""


@dataclass(frozen=True, slots=True)
class TailItem:
    """An item that this call requested: a loaded archive or page, or memories relevant to the query."""

    text: str
    tokens: int
    archive_id: UUID | None = None
    is_private: bool = False
    """It is a person's own, for this call alone, and stands in no record of the conversation."""


@dataclass(frozen=True, slots=True)
class WindowWarning:
    code: str
    detail: str


@dataclass(frozen=True, slots=True)
class Fixed:
    """The parts that no paging decides: tools and the system segment."""

    tools_tokens: int
    system_tokens: int
    marks: Marks = Marks()  # noqa: RUF009 - a tuple
    tools: int = 0

    @property
    def tokens(self) -> int:
        return self.tools_tokens + self.system_tokens

    @property
    def mix(self) -> Mix:
        return Mix.of(self.tokens, self.marks, tools=self.tools)


@dataclass(frozen=True, slots=True)
class Ledger:
    """Tokens of everything returned, by section."""

    budget: int
    token_percent: int = OURS
    """Tokens of the budget per hundred of those below."""
    tools: int = 0
    system: int = 0
    notes: int = 0
    summary: int = 0
    contents: int = 0
    condensed: int = 0
    recent: int = 0
    tail: int = 0
    full_history: int = 0

    @property
    def total(self) -> int:
        head = self.tools + self.system + self.notes + self.summary + self.contents
        return head + self.condensed + self.recent + self.tail

    @property
    def model_total(self) -> int:
        """Return the total in the model's own tokens."""
        return -(-self.total * self.token_percent // OURS)

    @property
    def saved_tokens(self) -> int:
        return max(0, self.full_history - self.total)

    @property
    def saved(self) -> float:
        """The share of the full history's tokens that this window saves, 0 to 1."""
        return round(self.saved_tokens / self.full_history, 4) if self.saved_tokens else 0.0


class Placed(NamedTuple):
    """An item as the window shows it, or a date line."""

    seq: int
    """0 for a date line."""
    page: int
    zone: Literal["condensed", "verbatim"]
    role: str
    text: str
    parts: int
    tokens: int
    anthropic: str | None = None
    archive_ids: tuple[str, ...] = ()
    fresh: tuple[int, ...] = ()
    """Tokens for what each of the archives adds, while they are fresh."""
    passing: bool = False
    """Shown in full for this page only; at the next user message it shrinks to a mark."""
    cache_mark: bool = False
    salt: Salt | None = None


@dataclass(frozen=True, slots=True)
class Squeezed:
    """The forms in which a squeezed window shows its units."""

    forms: tuple[str, ...]
    """The form of each unit; blank: out of view."""
    fresh_max: int
    """Tokens for the fresh results of the newest unit."""
    cut_at: int = 0
    """Characters to which its other results, or its long texts too, are cut; 0: they are not."""


class PagesShown(NamedTuple):
    """The pages in each zone, and the number of pages in none."""

    verbatim: tuple[int, ...] = ()
    condensed: tuple[int, ...] = ()
    listed: tuple[int, ...] = ()
    unlisted: int = 0


@dataclass(frozen=True, slots=True)
class Window:
    """The assembled window, before it is rendered in a format."""

    number: int
    head: str
    body: tuple[Placed, ...]
    tail: tuple[TailItem, ...]
    ledger: Ledger
    pages: PagesShown
    warnings: tuple[WindowWarning, ...] = field(default=())
    squeezed: Squeezed | None = None
    is_over: bool = False
    """It exceeds the budget, and is to be squeezed."""
    fits: bool = True
    """False: another cut would show what does not fit, if it can fall elsewhere."""
    rooms: tuple[int, ...] = ()
    """What each fresh result is shown with, in order."""
    forms: tuple[FreshForm, ...] = ()
    """The same of those that had room when they came: they keep it."""
    settled: int = 0
    """How much of the body no later message changes."""


class Context(NamedTuple):
    """A window as a response."""

    body: bytes
    """The answer, as JSON in UTF-8: it may be given again and again."""
    etag: str
    window: Window
    """The assembled window, which knows the origin of each message."""
    conversation_uid: UUID
    system: str
    """The system segment, the guide to the recall tools included."""
    tools: str = "[]"
    """A JSON array."""
    hash: str = ""
    """Of what a model reads: tools, system and messages. SHA-256, hexadecimal."""
    receipt: str = ""
    """The root of its receipt; blank: it has none."""
    is_plain: bool = False
    """Whether its messages are texts: none has parts, or what an answer carried."""
