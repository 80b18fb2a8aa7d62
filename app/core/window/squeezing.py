"""Fit a window whose newest messages are larger than their zone.

The newest user message always stays whole. Then come the pinned memories in the head, the newest unit, the rest of the
head, and older units, newest first, condensed; these then return to larger forms as far as there is room. Date lines
are left out. If results of the newest unit do not fit beside the head, they are cut to the same length, so that a model
that has just called a tool sees as much of its answer as possible. Room that is left goes to the newest unit's long
texts, such as a file that it wrote.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from enum import Enum

from app.core.canonical import dumps
from app.core.groups import chat_messages
from app.core.messages import weigh
from app.core.model import OPENING_TOKENS, Cut, Head, Item, Language, Placed, Squeezed, WindowWarning
from app.core.window.budget import fair
from app.core.window.condensing import Condensing, long_texts
from app.core.window.fresh import rooms

CUT_TRIES = 4
"""Estimates of the length to cut to. If all are too long, results are shown condensed."""
CUT_CAUTION = 0.95
"""Estimates use this share of the room, because a text's beginning can have more tokens a character than the whole."""


class ItemForm(Enum):
    WHOLE = "w"  # as sent, with fresh results and loaded texts
    MARKED = "m"  # as sent, with placeholders for archived results, and marks for loaded texts
    SHORT = "s"  # condensed
    CUT = "c"  # condensed, but with as much of results and long texts as fitted


@dataclass(frozen=True, slots=True)
class WindowUnit:
    """Items that are shown together or not at all."""

    items: tuple[Item, ...]
    fresh: tuple[int, ...] = ()
    """Tokens with which each of its fresh results is shown."""

    @property
    def is_user(self) -> bool:
        return opens_page(self.items[0])

    def tokens(self, form: ItemForm) -> int:
        return sum(shown_item(item, form)[1] for item in self.items) + (
            sum(self.fresh) if form is ItemForm.WHOLE else 0
        )

    @property
    def sizes(self) -> list[int]:
        return [size for item in self.items for size in item.fresh]

    def within(self, room: int) -> WindowUnit:
        """Return the unit with its fresh results sharing a room."""
        return replace(self, fresh=tuple(rooms(self.sizes, room, room)))


def opens_page(item: Item) -> bool:
    return item.role == "user" and item.kind == "message" and not item.is_late


def shown_item(item: Item, form: ItemForm) -> tuple[str, int]:
    if form is ItemForm.WHOLE and item.loaded_text is not None:
        return item.loaded_text, item.loaded_tokens
    if form in (ItemForm.SHORT, ItemForm.CUT) and item.short_text is not None:
        return item.short_text, item.short_tokens
    return item.text, item.tokens


def place(unit: WindowUnit, form: ItemForm, cut: Cut) -> list[Placed]:
    placed = []
    fresh = list(unit.fresh) if form is ItemForm.WHOLE else []
    for item in unit.items:
        text, tokens = shown_item(item, form)
        as_sent = item.seq >= cut.verbatim_from and text == item.text
        passing = text == item.loaded_text
        rooms = tuple(fresh[: len(item.fresh)])
        del fresh[: len(item.fresh)]
        placed.append(Placed(
            item.seq, item.page, "verbatim" if as_sent or passing or item.seq == cut.pinned else "condensed",
            item.role, text, item.parts, tokens, item.anthropic if as_sent else None, item.archive_ids, rooms,
            passing, salt=item.salt,
        ))  # fmt: skip
    return placed


def cut_to(unit: WindowUnit, length: int, language: Language, *, texts: bool) -> WindowUnit:
    """Return the unit with its results cut to a length as their condensed form, whose tokens are still to be counted.
    With ``texts``, other long texts are cut too.
    """
    return replace(
        unit, items=tuple(_cut(item, length, language) if _can_cut(item, texts) else item for item in unit.items)
    )


def _can_cut(item: Item, texts: bool) -> bool:
    return not item.archive_ids if item.kind == "result" else texts


def _cut(item: Item, length: int, language: Language) -> Item:
    condensed = Condensing(item.page, length, language).messages(chat_messages(item.text))
    return item._replace(short_text=",".join(map(dumps, condensed)))


def _lengths(item: Item) -> list[int]:
    messages = chat_messages(item.text)
    if item.kind != "result":
        return [len(text) for message in messages for text in long_texts(message)]
    return [len(message["content"]) for message in messages if isinstance(message["content"], str)]


@dataclass(frozen=True, slots=True)
class Cutter:
    """Cuts results and long texts for a window."""

    language: Language
    condensed: int
    """Characters of a condensed result."""
    count: Callable[[str], int]
    """Returns the tokens of a text."""

    def fitted(
        self, unit: WindowUnit, room: int, *, texts: bool = False, shorter: bool = False
    ) -> tuple[WindowUnit, int]:
        """Return the unit with its results (and ``texts`` if wanted) cut to the longest common length that fits
        ``room``, and this length in characters. If that shows no more than the condensed form does, return the unit
        itself and 0, unless ``shorter`` allows less than the condensed form.
        """
        least = self._counted(cut_to(unit, 0, self.language, texts=texts), texts) if shorter else unit
        short, shortest = least.tokens(ItemForm.SHORT), 0 if shorter else self.condensed
        cuttable = [(item, lengths) for item in unit.items if _can_cut(item, texts) and (lengths := _lengths(item))]
        all_lengths = [length for _, lengths in cuttable for length in lengths]
        free, tokens_each = room - short, sum(item.tokens for item, _ in cuttable) / max(1, sum(all_lengths))
        for _ in range(CUT_TRIES):
            length = max(fair(all_lengths, int(free / tokens_each * CUT_CAUTION)), default=0) if tokens_each else 0
            cut = self._counted(cut_to(unit, length, self.language, texts=texts), texts)
            over = cut.tokens(ItemForm.SHORT) - room
            if over <= 0:
                return (cut, length) if length > shortest and cut.tokens(ItemForm.SHORT) > short else (unit, 0)
            free -= over
        return unit, 0

    def _counted(self, unit: WindowUnit, texts: bool) -> WindowUnit:
        return replace(unit, items=tuple(self._weighed(item) if _can_cut(item, texts) else item for item in unit.items))

    def _weighed(self, item: Item) -> Item:
        weighed = [weigh(message) for message in chat_messages(item.short_text or item.text)]
        tokens = sum(overhead + sum(map(self.count, texts)) for texts, overhead in weighed)
        return item._replace(short_tokens=tokens)


def squeeze(
    body: Sequence[WindowUnit], head: Head, cut: Cut, room: int, reserve: int, cutter: Cutter
) -> tuple[Head, list[Placed], Squeezed, WindowWarning]:
    """Fit what matters most, in the order of the module docstring. ``reserve``: tokens for the tail."""
    body, fresh_max, cut_at = list(body), 0, 0
    newest_user, newest_first = _newest_first(body)
    forms: dict[int, ItemForm] = {}
    room -= OPENING_TOKENS  # needed if an assistant's message comes first
    if newest_user is not None:
        forms[newest_user] = ItemForm.MARKED
        room -= body[newest_user].tokens(ItemForm.MARKED)
    pinned = head.only_pinned()
    if pinned.tokens > room:
        pinned = Head()
    room -= pinned.tokens
    for index in newest_first[:1]:
        rest = reserve + head.tokens - pinned.tokens
        body[index], fresh_max, cut_at = _made_to_fit(body[index], room, rest, cutter)
        form = next((form for form in ItemForm if body[index].tokens(form) <= room), None)
        if form is not None:
            forms[index] = form
            room -= body[index].tokens(form)
    if head.tokens - pinned.tokens <= room:
        room -= head.tokens - pinned.tokens
    else:
        head = pinned
    for index in newest_first[1:]:
        if body[index].tokens(ItemForm.SHORT) > room:
            break
        forms[index] = ItemForm.SHORT
        room -= body[index].tokens(ItemForm.SHORT)
    room = _grow(body, forms, newest_first, room)
    cut_at = _fill(body, forms, newest_first, room - reserve, cutter) or cut_at
    placed = [p for index in sorted(forms) for p in place(body[index], forms[index], cut)]
    detail = f"the budget is tight: {len(body) - len(forms)} group(s) of messages are left out of view"
    detail += f", and what is newest is cut to {cut_at:,} characters each" if cut_at else ""
    shown = tuple(forms[index].value if index in forms else "" for index in range(len(body)))
    return head, placed, Squeezed(shown, fresh_max, cut_at), WindowWarning("window_squeezed", detail)


def _fill(
    body: list[WindowUnit], forms: dict[int, ItemForm], newest_first: Sequence[int], room: int, cutter: Cutter
) -> int:
    """Give the rest of the room to the newest unit's long texts. Return their new length; 0 if they do not change."""
    newest = next(iter(newest_first), None)
    if newest is None or forms.get(newest) is not ItemForm.SHORT:
        return 0
    cut, length = cutter.fitted(body[newest], body[newest].tokens(ItemForm.SHORT) + room, texts=True)
    if length:
        body[newest], forms[newest] = cut, ItemForm.CUT
    return length


def squeezed_again(body: Sequence[WindowUnit], squeezed: Squeezed, cut: Cut, language: Language) -> list[Placed]:
    """Return the body of an earlier squeezed window, from its record."""
    body = list(body)
    for newest in _newest_first(body)[1][:1]:
        if body[newest].fresh:
            body[newest] = body[newest].within(squeezed.fresh_max)
        if squeezed.cut_at:
            texts = squeezed.forms[newest] == ItemForm.CUT.value
            body[newest] = cut_to(body[newest], squeezed.cut_at, language, texts=texts)
    shown = zip(body, squeezed.forms, strict=False)
    return [p for unit, form in shown if form for p in place(unit, ItemForm(form), cut)]


def _newest_first(body: Sequence[WindowUnit]) -> tuple[int | None, list[int]]:
    """Return the index of the newest user message, and those of all other units, newest first."""
    places = list(reversed(range(len(body))))
    newest_user = next((at for at in places if body[at].is_user), None)
    return newest_user, [at for at in places if at != newest_user]


def _made_to_fit(unit: WindowUnit, room: int, rest: int, cutter: Cutter) -> tuple[WindowUnit, int, int]:
    """Return the newest unit with its fresh and other results cut as necessary, the tokens of the fresh ones, and the
    characters of the others (0 if they are not cut). ``rest``: tokens that cut results leave to the head and the tail.
    """
    fresh_max = 0
    if unit.fresh:
        fresh_max = max(0, min(sum(unit.fresh), room - unit.tokens(ItemForm.MARKED)))
        unit = unit.within(fresh_max)
    if unit.tokens(ItemForm.MARKED) <= room:
        return unit, fresh_max, 0
    cut, cut_at = cutter.fitted(unit, room - rest)
    if cut.tokens(ItemForm.SHORT) > room:  # too many results even for their condensed form
        cut, cut_at = cutter.fitted(unit, room, shorter=True)
    return cut, fresh_max, cut_at


def _grow(body: Sequence[WindowUnit], forms: dict[int, ItemForm], newest_first: Sequence[int], room: int) -> int:
    """Show units in larger forms, newest first, as far as there is room. Return the rest of the room."""
    for smaller, larger in ((ItemForm.SHORT, ItemForm.MARKED), (ItemForm.MARKED, ItemForm.WHOLE)):
        for index in newest_first:
            grown = body[index].tokens(larger) - body[index].tokens(smaller)
            if forms.get(index) is smaller and grown <= room:
                forms[index] = larger
                room -= grown
    return room
