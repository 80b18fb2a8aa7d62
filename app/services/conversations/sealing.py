"""Seal what a window shows: the parts of its receipt, as a model reads them, each under its salt.

Where a message stands in a text of its own, its part is hashed once for each form. The salt of the window as a whole is
made of all the others: whatever of it is erased, nobody can confirm any more what the whole was.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from hashlib import sha256
from typing import Any

from app.core.model import Item, Placed, Window
from app.core.window.served import Parts, Sealed
from quire_verify.issuer import LAST, opening_of
from quire_verify.issuer import sealed as part_of

OF_CALLS = ("tail", "recalled")
"""Parts that change with each call: the tree is the same up to them."""


def parts_of(
    window: Window, items: Iterable[Item], prompt: Iterable[Item], texts: Sequence[Sealed], read: str, at: int
) -> Parts:
    """Return the parts of a window in the order of its receipt. ``read``: the hash of all that a model reads; ``at``:
    when it was served, so that no two windows have one root.
    """
    known, salts = {item.seq: item for item in items}, sorted(text.salt for text in texts)
    parts = [(LAST if text.part in OF_CALLS else 0, text.hash) for text in texts]
    for item in prompt:
        parts.append((item.seq, _part(item, "system", item.text)))
        salts.append(_salt(item))
    for placed in window.body:
        if placed.seq:
            item = known[placed.seq]
            parts.append((placed.seq, _part(item, form_of(window, placed), placed.anthropic or placed.text)))
            salts.append(_salt(item))
    salt = sha256(b"".join((at.to_bytes(8, "big"), *salts))).digest()
    parts.append((LAST, part_of("window", "quire", salt, bytes.fromhex(read))))
    parts.sort()
    return parts


def form_of(window: Window, placed: Placed) -> str:
    return "squeezed" if window.squeezed else "passing" if placed.passing else placed.zone


def _part(item: Item, form: str, text: str) -> bytes:
    salt = item.salt
    assert salt is not None, "it was read from the store"
    if salt.text != text or salt.form != form:
        salt.part = part_of(form, item.author, salt.salt, sha256(text.encode()).digest())
        salt.form, salt.text = form, text
    return salt.part


def _salt(item: Item) -> bytes:
    return item.salt.salt if item.salt else b""


def opened(
    window: Window, items: Iterable[Item], prompt: Iterable[Item], seq: int
) -> tuple[str, dict[str, Any]] | None:
    """Return the text of a message in a window, and what opens its part; None if it is not in view."""
    shown = [(item, "system", item.text) for item in prompt if item.seq == seq]
    own = next((item for item in items if item.seq == seq), None)
    shown += [(own, form_of(window, p), p.anthropic or p.text) for p in window.body if own and p.seq == seq]
    for item, form, text in shown:
        return text, opening_of(form, item.author, _salt(item), sha256(text.encode()).digest())
    return None
