"""Record a window that was served, and lay it out again from its record.

A record holds places and sizes, no text. ``ServedFrame`` is what windows of an epoch share, ``Served`` what is each
one's own; the texts that no message row has (heads, system prompts, tools, what was recalled) are kept once each, by
digest. With the stored messages they give the window back, byte for byte: ``laid_out``.

Both are stored as JSON, a line for each; members that are empty are left out at the end of a line.
"""

from __future__ import annotations

import hashlib
import json
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from operator import attrgetter
from typing import Any, Literal
from uuid import UUID

from app.core.canonical import dumps
from app.core.model import (
    Anchored,
    Cut,
    Day,
    Format,
    Head,
    Item,
    Language,
    Ledger,
    Squeezed,
    TailItem,
    Window,
    WindowWarning,
)
from app.core.window.assemble import placed_again
from app.core.window.served_quotes import Pieces, QuotedPlace, pieces

Call = Literal["context", "append", "sync", "proxy"]
"""The call that a window was served by."""
Part = Literal["head", "system", "tools", "tail", "recalled", "query", "own"]
"""Parts of a window whose texts no message row has; ``own``: Quire's own words."""
DIGEST_CHARACTERS = 24
"""Hexadecimal digits of a text's digest: a conversation has some hundred texts."""
PREFIX_CHARACTERS = 16
"""Hexadecimal digits kept of a window's prefix hash."""


def digest_of(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:DIGEST_CHARACTERS]


def short(digits: str) -> str:
    """Return hexadecimal digits as base64: in rows of windows hashes take most of the room."""
    return urlsafe_b64encode(bytes.fromhex(digits)).decode().rstrip("=")


def digits_of(text: str) -> str:
    """Return what ``short`` wrote, as hexadecimal digits."""
    return urlsafe_b64decode(text + "=" * (-len(text) % 4)).hex()


@dataclass(frozen=True, slots=True)
class ServedFrame:
    """The facts that the windows of an epoch share."""

    call: Call
    format: Format
    language: Language
    budget: int
    is_own: bool
    """The conversation's own budget, which no request named."""
    model: str
    carries: bool
    percent: int
    """Tokens that the model makes of a hundred of ours, as charged."""
    own_percent: int
    """What its usage reported, in percent of the family's formula."""
    cut: int
    """Its number."""
    condensed_from: int
    verbatim_from: int
    pinned: int
    half_mark: int
    sections: tuple[int, int, int, int, int, int]
    """Tokens of tools, system, notes, summary, contents and the condensed zone."""
    head: str = ""
    """A digest, as the next ones. Blank: there is none."""
    system: str = ""
    """The request's or the conversation's own; the leading system messages are rows."""
    is_prompted: bool = True
    """The system messages that lead the conversation belong to it."""
    guide: str = ""
    tools: str = ""
    alternates: bool = False
    """Neighbours of one role were shown as one message."""

    def line(self) -> str:
        return _line(_values_of_frame(self), _DEFAULTS_OF_FRAME)

    @staticmethod
    def read(line: str) -> ServedFrame:
        return ServedFrame(*map(_tuples, json.loads(line)))

    def cut_with(self, head: Head) -> Cut:
        """Return the cut with the head that was shown, as far as the record has it."""
        return Cut(
            self.cut, self.budget, condensed_from=self.condensed_from, verbatim_from=self.verbatim_from,
            pinned=self.pinned, half_mark=self.half_mark, head=head,
        )  # fmt: skip


@dataclass(frozen=True, slots=True)
class Served:
    """A window that was served, once or several times in a row."""

    at: int
    """Milliseconds since 1970."""
    hash: str
    """128 bits of the SHA-256 of what a model reads of it (tools, system, messages), as ``short`` writes it."""
    prefix: str
    """64 bits of its prefix hash, likewise."""
    frame: int
    """The place of its frame among those of its row."""
    last_seq: int
    last_page: int
    recent: int
    """Tokens of the verbatim zone."""
    history: int
    """Tokens of the whole history then."""
    summary_through: int
    indexed_through: int
    tail_tokens: int = 0
    tail: str = ""
    query: str = ""
    count: int = 1
    last_at: int = 0
    """When it was served last; 0: once only."""
    passing: tuple[int, ...] = ()
    """Messages shown in full for their page only: fresh results, and what recall tools brought in."""
    refused: tuple[int, ...] = ()
    """Messages that were left out, because the model's API had refused them."""
    forms: str = ""
    """The form of each unit of a window that was squeezed."""
    squeezed_fresh: int = 0
    squeezed_at: int = 0
    """Characters to which results of the newest unit were cut."""
    warnings: tuple[tuple[str, str], ...] = ()
    named: tuple[str, ...] = ()
    """Archives and pages that the request named."""
    recalled: str = ""
    """The digest of what was recalled by itself …"""
    recalled_for: int = 0
    """… for this user message, before which it stands …"""
    recalled_tokens: int = 0
    rooms: tuple[int, ...] = ()
    """What its fresh results were shown with, in order."""

    def line(self) -> str:
        return _line(_values_of_served(self), _DEFAULTS_OF_SERVED)

    @staticmethod
    def read(line: str) -> Served:
        return Served(*map(_tuples, json.loads(line)))


def _tuples(value: Any) -> Any:
    return tuple(map(_tuples, value)) if isinstance(value, list) else value


def _line(values: Sequence[Any], defaults: Sequence[Any]) -> str:
    """Return values as JSON, without those at the end that are the defaults."""
    last = len(values)
    while values[last - 1] == defaults[last - 1]:
        last -= 1
    return dumps(values[:last])


_DEFAULTS_OF_FRAME = [f.default for f in fields(ServedFrame)]
_DEFAULTS_OF_SERVED = [f.default for f in fields(Served)]
# `astuple` copies every value: it takes ten times as long.
_values_of_frame = attrgetter(*(f.name for f in fields(ServedFrame)))
_values_of_served = attrgetter(*(f.name for f in fields(Served)))


@dataclass(frozen=True, slots=True)
class KeptText:
    """A text of a window that no message row has."""

    part: Part
    text: str
    through: int
    """It may quote messages up to this one."""
    sources: tuple[Any, ...] = ()
    """Memories and archives that it quotes."""
    quoted: Mapping[QuotedPlace, str] = field(default_factory=dict)
    """Words that it can have, by where they stand."""

    @property
    def pieces(self) -> Pieces:
        return pieces(self.text, self.quoted, is_json=self.part == "tail")


def head_text(window: Window, days: Sequence[Day]) -> str:
    """Return what a window shows of its head, as text. ``days``: the date lines of its condensed zone."""
    shown = [window.head, [] if window.squeezed else days, window.listed_pages]
    return dumps(shown) if any(shown) else ""


def read_head(text: str) -> Head:
    shown, days, listed = json.loads(text) if text else ("", (), ())
    return Head(text=shown, days=tuple(Day(*day) for day in days), listed=tuple(listed))


def tail_text(items: Iterable[TailItem]) -> str:
    items = list(items)
    return (
        dumps([[item.text, item.tokens, item.archive_id and str(item.archive_id)] for item in items]) if items else ""
    )


def read_tail(text: str) -> tuple[TailItem, ...]:
    return tuple(TailItem(shown, tokens, UUID(uuid) if uuid else None) for shown, tokens, uuid in json.loads(text))


def laid_out(
    frame: ServedFrame,
    served: Served,
    head: Head,
    items: Sequence[Item],
    tail: Sequence[TailItem],
    recalled: str | None,
) -> Window:
    """Return the window of a record. ``items``: the rows of its zones, up to its last message. ``recalled``: what was
    recalled by itself.
    """
    anchored = Anchored(served.recalled_for, recalled, served.recalled_tokens) if recalled else None
    forms = tuple(read_forms(served.forms))
    squeezed = Squeezed(forms, served.squeezed_fresh, served.squeezed_at) if forms else None
    shown = [_restored(item, served.refused) for item in items]
    cut = frame.cut_with(head)
    body, pages = placed_again(shown, cut, served.last_page, served.rooms, squeezed, anchored, frame.language)
    return Window(
        number=frame.cut,
        head=head.text,
        body=body,
        tail=tuple(tail),
        ledger=ledger_of(frame, served),
        verbatim_pages=pages.verbatim,
        condensed_pages=pages.condensed,
        listed_pages=pages.listed,
        unlisted=pages.unlisted,
        warnings=tuple(WindowWarning(*warning) for warning in served.warnings),
        squeezed=squeezed,
        rooms=served.rooms,
    )


def ledger_of(frame: ServedFrame, served: Served) -> Ledger:
    tools, system, notes, summary, contents, condensed = frame.sections
    return Ledger(
        budget=frame.budget, token_percent=frame.percent, tools=tools, system=system, notes=notes, summary=summary,
        contents=contents, condensed=condensed, recent=served.recent, tail=served.tail_tokens,
        full_history=served.history,
    )  # fmt: skip


def _restored(item: Item, refused: Sequence[int]) -> Item:
    """Return a message that the model's API refused only later as it was before."""
    if item.kind != "refused" or item.seq in refused:
        return item
    return item._replace(kind="call" if item.calls else "result" if item.results else "message")


def forms_text(forms: Sequence[str]) -> str:
    """Return the forms of units, as runs: ``3-2s1w``."""
    runs: list[tuple[str, int]] = []
    for form in forms:
        letter = form or "-"
        if runs and runs[-1][0] == letter:
            runs[-1] = letter, runs[-1][1] + 1
        else:
            runs.append((letter, 1))
    return "".join(f"{count}{letter}" for letter, count in runs)


def read_forms(text: str) -> list[str]:
    forms: list[str] = []
    number = ""
    for character in text:
        if character.isdecimal():
            number += character
        else:
            forms += ["" if character == "-" else character] * int(number)
            number = ""
    return forms


def parts_of(frame: ServedFrame, served: Served) -> list[dict[str, Any]]:
    """Return the parts of a window in order, with the form, places, tokens and hash of each as far as it has them."""
    tools, system, notes, summary, contents, condensed = frame.sections
    parts: list[dict[str, Any]] = [{"form": "tools", "tokens": tools, "hash": frame.tools}]
    if system:
        parts.append({"form": "system", "tokens": system, "hash": frame.system or frame.guide})
    if frame.head:
        parts.append({"form": "head", "tokens": notes + summary + contents, "hash": frame.head})
    if frame.pinned:
        parts.append({"form": "pinned", "first_seq": frame.pinned, "last_seq": frame.pinned})
    if condensed:
        last = min(frame.verbatim_from - 1, served.last_seq)
        parts.append({"form": "condensed", "first_seq": frame.condensed_from, "last_seq": last, "tokens": condensed})
    if frame.verbatim_from <= served.last_seq:
        verbatim = {"first_seq": frame.verbatim_from, "last_seq": served.last_seq, "tokens": served.recent}
        parts.append({"form": "squeezed" if served.forms else "verbatim", **verbatim})
    if served.passing:
        parts.append({"form": "passing", "seqs": list(served.passing)})
    if served.recalled:
        parts.append({"form": "recalled", "tokens": served.recalled_tokens, "hash": served.recalled})
    if served.tail:
        parts.append({"form": "tail", "tokens": served.tail_tokens, "hash": served.tail})
    return parts
