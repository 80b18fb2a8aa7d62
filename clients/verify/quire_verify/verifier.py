"""Verify receipts: a chain of entries, and proofs that a message was in a window or was not.

Everything is refused at the first thing that is wrong, with the entry's number. README.md states the format.
"""

from __future__ import annotations

import json
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

Json = dict[str, Any]
Keys = Mapping[str, Ed25519PublicKey]
COMMON = {"at", "before", "conversation", "key", "number", "sig", "type"}
MEMBERS = {
    "window": COMMON | {"budget", "model", "root"},
    "erasure": COMMON | {"count", "first", "last"},
    "end": COMMON | {"count"},
    "head": COMMON,
}
TEXTS = {"before", "conversation", "key", "model", "root", "sig", "type"}


class Refused(ValueError):  # noqa: N818 - it is what the verifier answers
    """Something does not prove what it claims; the message says why and where."""


def canonical(value: object) -> bytes:
    """Return RFC 8785's form of objects, lists, strings and integers."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False).encode()


def b64(data: bytes) -> str:
    return urlsafe_b64encode(data).decode().rstrip("=")


def raw(text: object, size: int) -> bytes:
    """Return the bytes of ``b64`` text. Raises Refused unless they are ``size`` bytes in the one way to write them."""
    if isinstance(text, str) and text.isascii() and len(text) == (size * 4 + 2) // 3:
        data = urlsafe_b64decode(text + "=" * (-len(text) % 4))
        if b64(data) == text:
            return data
    raise Refused(f"{str(text)[:100]!r} is not {size} bytes in unpadded base64url")


def hash_of(*data: bytes) -> bytes:
    return sha256(b"".join(data)).digest()


def part_of(opening: Json) -> bytes:
    """Return the hash that stands for a part in its tree: of author, form, salt and the SHA-256 of its text."""
    return hash_of(canonical(opening))


def leaf_of(seq: int, part: bytes) -> bytes:
    return hash_of(b"\x00", seq.to_bytes(8, "big"), part)


def node_of(left: bytes, right: bytes) -> bytes:
    return hash_of(b"\x01", left, right)


def root_of(parts: int, top: bytes) -> str:
    return b64(hash_of(b"\x02", parts.to_bytes(8, "big"), top))


def digest_of(entry: Json) -> str:
    """Return what the next entry names as the one before it."""
    return b64(hash_of(canonical(entry)))


def key_id(public: bytes) -> str:
    return b64(hash_of(public)[:8])


def _is_signed(key: Ed25519PublicKey | None, statement: Json) -> bool:
    unsigned = {name: value for name, value in statement.items() if name != "sig"}
    try:
        if key is not None:
            key.verify(raw(statement.get("sig"), 64), canonical(unsigned))
    except InvalidSignature:
        return False
    return key is not None


def trusted_keys(document: Iterable[Json], trusted: Iterable[str] | None = None) -> dict[str, Ed25519PublicKey]:
    """Return the keys that are ``trusted``, by id, and those that these signed; by default all that are well-formed."""
    keys, found = list(document), dict[str, Ed25519PublicKey]()
    wanted = {one.get("key") for one in keys} if trusted is None else set(trusted)
    for one in keys:  # the oldest first, as each is signed by the one before it
        public = raw(one.get("public"), 32)
        if key_id(public) != one.get("key"):
            raise Refused(f"Key {one.get('key')} is not the id of its public key.")
        if one["key"] in wanted or _is_signed(found.get(str(one.get("by"))), one):
            found[one["key"]] = Ed25519PublicKey.from_public_bytes(public)
    return found


def verify_entry(entry: Json, keys: Keys, *, signature: bool = True) -> None:
    """Raise Refused unless an entry has its members and, unless told otherwise, its signature."""
    kind, number = entry.get("type"), entry.get("number")
    members = MEMBERS.get(kind) if isinstance(kind, str) else None
    if members is None or entry.keys() != members:
        raise Refused(f"Entry {number} has not the members of a receipt.")
    for name, value in entry.items():
        is_right = isinstance(value, str) if name in TEXTS else type(value) is int and 0 <= value < 2**53
        if not is_right:
            raise Refused(f"Entry {number}: {name} cannot be {str(value)[:50]!r}.")
    for name, size in (("before", 32), ("root", 32), ("sig", 64), ("key", 8)):
        if name in entry:
            raw(entry[name], size)
    if signature and entry["key"] not in keys:
        raise Refused(f"Entry {number} is signed by key {entry['key']}, which no trusted key vouches for.")
    if signature and not _is_signed(keys[entry["key"]], entry):
        raise Refused(f"Entry {number}: its signature is not by key {entry['key']}.")


@dataclass(frozen=True)
class Chain:
    """What a chain proves: windows ``first`` to ``last`` of a conversation, in this order and with none between."""

    conversation: str
    first: int
    last: int
    erasures: int
    notes: tuple[str, ...]


def verify_chain(entries: Sequence[Json], keys: Keys, *, whole: bool = True) -> Chain:
    """Return what a conversation's chain proves. ``whole``: from its first window to a head or its end.

    Each entry names the hash of the one before it, so the last signature of each key vouches for all before it.
    """
    if not entries:
        raise Refused("There is no entry.")
    notes: list[str] = []
    for at, entry in enumerate(entries):
        is_last = at + 1 == len(entries) or entries[at + 1].get("key") != entry.get("key")
        verify_entry(entry, keys, signature=is_last)
        if at:
            notes += _verify_link(entries[at - 1], entry)
    if whole and entries[0]["number"] > (entries[0]["type"] == "window"):
        raise Refused(f"The chain begins at {entries[0]['number']}: what came before it is missing.")
    if whole and entries[-1]["type"] not in ("head", "end"):
        raise Refused(f"The chain stops at {entries[-1]['number']} without a head: its end may have been cut off.")
    numbers = [entry["number"] for entry in entries if entry["type"] == "window"] or [0]
    erasures = sum(entry["type"] in ("erasure", "end") for entry in entries)
    return Chain(entries[0]["conversation"], numbers[0], numbers[-1], erasures, tuple(notes))


def _verify_link(before: Json, entry: Json) -> Iterator[str]:
    """Raise Refused unless one entry follows another. Yield what a reader should know."""
    where = f"Entry {entry['number']} after {before['number']}"
    if entry["conversation"] != before["conversation"]:
        raise Refused(f"{where} is of another conversation.")
    if before["type"] in ("head", "end"):
        raise Refused(f"{where}: nothing comes after a {before['type']}.")
    if entry["number"] == before["number"] and entry["before"] == before["before"]:
        raise Refused(f"{where}: the chain forks here, two entries follow the same one.")
    if entry["number"] != before["number"] + (entry["type"] == "window"):
        raise Refused(f"{where}: the numbers do not follow, so entries are missing, repeated or out of order.")
    if entry["before"] != digest_of(before):
        raise Refused(f"{where}: it names another entry before it; the chain breaks here.")
    if entry["at"] < before["at"]:
        yield f"{where}: the clock went back by {before['at'] - entry['at']} ms; the order still holds."
    if entry["key"] != before["key"]:
        yield f"From entry {entry['number']} on key {entry['key']} signs."


def verify_proof(receipt: Json, proof: Json, keys: Keys, text: str | None = None) -> Json | None:
    """Return the opening of the message that a proof shows in a window, {} if it was erased; None: it was not there."""
    verify_entry(receipt, keys)
    try:
        seq, parts, shown = proof["seq"], proof["parts"], proof["shown"]
        if receipt["type"] != "window" or not all(type(n) is int and 0 < n < 2**63 for n in (seq, parts)) or not shown:
            raise Refused("This is no proof of a message in a window.")
        for one in shown:
            _verify_place(receipt["root"], parts, one)
        places = [(one["index"], one["seq"]) for one in shown]
    except (KeyError, TypeError, AttributeError, OverflowError) as error:
        raise Refused(f"The proof is not well-formed: {error}.") from None
    if len(shown) == 1 and places[0][1] == seq:
        opening: Json = shown[0].get("opening", {})
        if text is not None and opening.get("sha256") != b64(hash_of(text.encode())):
            raise Refused(f"Message {seq}: the text is not the one that was in view.")
        return opening
    ends = [(-1, 0)] if places[0][0] == 0 else [(parts, 2**63)]
    edges = sorted(places + ends) if len(places) == 1 else places
    if len(edges) != 2 or edges[0][0] + 1 != edges[1][0] or not edges[0][1] < seq < edges[1][1]:
        raise Refused(f"Message {seq}: the proof does not show two neighbours with nothing between them.")
    return None


def _verify_place(root: str, parts: int, shown: Json) -> None:
    part, path, index = raw(shown["part"], 32), [raw(one, 32) for one in shown["path"]], shown["index"]
    if "opening" in shown and part_of(shown["opening"]) != part:
        raise Refused(f"Message {shown['seq']}: its opening is not that of its part.")
    if type(index) is not int or not 0 <= index < parts or type(shown["seq"]) is not int or shown["seq"] < 0:
        raise Refused("A part's place is outside its tree.")
    top, width, steps = leaf_of(shown["seq"], part), parts, iter(path)
    while width > 1:
        if index % 2 or index + 1 < width:
            other = next(steps, b"")
            top = node_of(other, top) if index % 2 else node_of(top, other)
        index, width = index // 2, (width + 1) // 2
    if next(steps, None) is not None or root_of(parts, top) != root:
        raise Refused(f"Message {shown['seq']}: its path does not lead to the receipt's root.")
