"""Seal what a window shows: the parts of its receipt, as a model reads them, each under its salt.

Where a message stands in a text of its own, its part is hashed once for each form. The salt of the window as a whole is
made of all the others: whatever of it is erased, nobody can confirm any more what the whole was.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from hashlib import sha256
from operator import itemgetter
from typing import Any

from app.core.model import Item, Placed, Salt, Window
from app.core.window.served import Parts, Sealed
from quire_verify.issuer import LAST, opening_of
from quire_verify.issuer import sealed as part_of

OF_CALLS = ("tail", "recalled")
"""Parts that change with each call: the tree is the same up to them."""


def parts_of(window: Window, prompt: Iterable[Item], texts: Sequence[Sealed], read: str, at: int) -> Parts:
    """Return the parts of a window in the order of its receipt. ``read``: the hash of all that a model reads; ``at``:
    when it was served, so that no two windows have one root.
    """
    salts = sorted(text.salt for text in texts)
    parts = [(LAST if text.part in OF_CALLS else 0, text.hash) for text in texts]
    squeezed = "squeezed" if window.squeezed else ""
    shown = [(item.seq, "system", item.text, None, False, item.salt) for item in prompt]
    for seq, zone, text, anthropic, is_passing, salt in (*shown, *map(_SHOWN, window.body)):
        if salt is not None:  # it is a message
            form = squeezed or ("passing" if is_passing else zone)
            if salt.form != form or salt.text is not (anthropic or text):
                _anew(salt, seq, form, anthropic or text)
            parts.append(salt.entry)
            salts.append(salt.salt)
    whole = sha256(b"".join((at.to_bytes(8, "big"), *salts))).digest()
    parts.append((LAST, part_of("window", "quire", whole, bytes.fromhex(read))))
    parts.sort()
    return parts


_SHOWN = itemgetter(*(Placed._fields.index(name) for name in ("seq", "zone", "text", "anthropic", "passing", "salt")))
"""A window has hundreds of them: their members one by one would take longer than all the rest."""


def _anew(salt: Salt, seq: int, form: str, text: str) -> None:
    """Note a message's part in another form or text."""
    if salt.form != form or salt.text != text:
        salt.entry = seq, part_of(form, salt.author, salt.salt, sha256(text.encode()).digest())
    salt.form, salt.text = form, text


def opened(window: Window, prompt: Iterable[Item], seq: int) -> tuple[str, dict[str, Any]] | None:
    """Return the text of a message in a window, and what opens its part; None if it is not in view."""
    squeezed = "squeezed" if window.squeezed else ""
    shown = [(item.salt, "system", item.text) for item in prompt if item.seq == seq]
    shown += [
        (placed.salt, squeezed or ("passing" if placed.passing else placed.zone), placed.anthropic or placed.text)
        for placed in window.body
        if placed.seq == seq
    ]
    for salt, form, text in shown:
        if salt is not None:
            return text, opening_of(form, salt.author, salt.salt, sha256(text.encode()).digest())
    return None
