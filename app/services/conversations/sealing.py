"""Seal a window: hash the parts of its receipt, as the model reads them, each with a salt.

Parts that the previous window had are not hashed again. The salt of the whole window is derived from all other salts,
so once any part is erased, nobody can confirm a guess of the whole.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from hashlib import sha256
from typing import Any

from app.core.model import Item, Placed, Window
from app.core.window.served import Parts, Sealed, SealedMessages
from quire_verify.issuer import LAST, opening_of, same_start
from quire_verify.issuer import sealed as part_of

OF_CALLS = ("tail", "recalled")
"""Parts that change with each call. They come last, so that the hash tree before them stays the same."""


def messages_of(window: Window, prompt: Iterable[Item], former: SealedMessages | None = None) -> SealedMessages:
    """Return a window's messages with their parts. ``former`` are those of the previous window."""
    shown: tuple[Item | Placed, ...] = (*prompt, *window.body)
    is_squeezed = window.squeezed is not None
    if former is None or former.is_squeezed != is_squeezed:
        former = SealedMessages((), [], [], is_squeezed)
    same = same_start(shown, former.shown)
    parts, salts = former.parts[:same], former.salts[:same]
    others = {one.seq: (one, part) for one, part in zip(former.shown[same:], former.parts[same:], strict=True)}
    for one in shown[same:]:
        part, salt = None, b""
        if one.salt is not None:  # it is a message
            salt = one.salt.salt
            known, part = others.get(one.seq, (None, None))
            if known != one:  # the last cut showed it otherwise
                form, text = _form_and_text(one, is_squeezed=is_squeezed)
                part = one.seq, part_of(form, one.salt.author, salt, sha256(text.encode()).digest())
        parts.append(part)
        salts.append(salt)
    return SealedMessages(shown, parts, salts, is_squeezed)


def parts_of(messages: SealedMessages, texts: Sequence[Sealed], read: str, at: int) -> Parts:
    """Return a window's parts in the order of its receipt. ``read``: the hash of everything that the model reads;
    ``at``: the time of serving, so that no two windows share a root.
    """
    whole = sha256(b"".join((at.to_bytes(8, "big"), *sorted(text.salt for text in texts), *messages.salts))).digest()
    parts = [(LAST if text.part in OF_CALLS else 0, text.hash) for text in texts]
    parts.extend(filter(None, messages.parts))
    parts.append((LAST, part_of("window", "quire", whole, bytes.fromhex(read))))
    parts.sort()
    return parts


def _form_and_text(one: Item | Placed, *, is_squeezed: bool) -> tuple[str, str]:
    """Return form and text of a message in a window."""
    if isinstance(one, Item):
        return "system", one.text
    return "squeezed" if is_squeezed else "passing" if one.passing else one.zone, one.anthropic or one.text


def opened(window: Window, prompt: Iterable[Item], seq: int) -> tuple[str, dict[str, Any]] | None:
    """Return the text of a message in a window, and the values that open its part; None if it is not in view."""
    shown: tuple[Item | Placed, ...] = (*prompt, *window.body)
    for one in shown:
        if one.seq == seq and one.salt is not None:
            form, text = _form_and_text(one, is_squeezed=window.squeezed is not None)
            return text, opening_of(form, one.salt.author, one.salt.salt, sha256(text.encode()).digest())
    return None
