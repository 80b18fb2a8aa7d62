"""Verify receipts and what they prove; the first thing that is wrong is named. README.md states the format."""

from __future__ import annotations

import json
from base64 import urlsafe_b64decode
from binascii import b2a_base64
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

Json = dict[str, Any]
Keys = Mapping[str, Ed25519PublicKey]
URLSAFE = bytes.maketrans(b"+/", b"-_")
LEAF, NODE, ROOT = b"\x00", b"\x01", b"\x02"
BYTES = {"before": 32, "root": 32, "sig": 64, "key": 8, "sha256": 32, "salt": 16}
TEXTS = {"conversation", "id", "model", "of", "type", "author", "form", *BYTES}
COMMON = {"at", "before", "conversation", "key", "number", "sig", "type"}
OPENING = {"author", "form", "salt", "sha256"}
MEMBERS = {"window": COMMON | {"budget", "model", "root"}, "erasure": COMMON | {"count", "first", "last"}}
MEMBERS |= {"end": COMMON | {"count"}, "head": COMMON, "gone": {"at", "id", "key", "of", "sig", "type"}}
CLOCKS_DIFFER_MS = 60_000  # several processes write what each has served a moment before


class Refused(ValueError):  # noqa: N818 - it is what the verifier answers
    """Something does not prove what it claims; the message says why and where."""


def canonical(value: object) -> bytes:
    """Return RFC 8785's form of objects, lists, strings and integers."""
    text = json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
    return text.encode("utf-8", "surrogatepass")


def b64(data: bytes) -> str:
    return b2a_base64(data, newline=False).translate(URLSAFE).decode().rstrip("=")


def raw(text: object, size: int) -> bytes:
    """Return the bytes of ``b64`` text. Raises Refused unless they are ``size`` bytes in the one way to write them."""
    if isinstance(text, str) and text.isascii() and len(text) == (size * 4 + 2) // 3:
        data = urlsafe_b64decode(text + "=" * (-len(text) % 4))
        if b64(data) == text:
            return data
    raise Refused(f"{str(text)[:100]!r} is not {size} bytes in unpadded base64url")


def hash_of(*data: bytes) -> bytes:
    return sha256(b"".join(data)).digest()


def leaf_of(seq: int, part: bytes) -> bytes:
    """Return a leaf. ``part``: the hash of the canonical opening, which has author, form, salt and the text's hash."""
    return sha256(LEAF + seq.to_bytes(8, "big") + part).digest()


def root_of(parts: int, top: bytes) -> str:
    return b64(hash_of(ROOT, parts.to_bytes(8, "big"), top))


def digest_of(entry: Json) -> str:
    """Return what the next entry names as the one before it."""
    return b64(hash_of(canonical(entry)))


def _check(what: str, members: Any, wanted: set[str] | None) -> None:
    """Raise Refused unless an object has the members that it should, each of its kind."""
    if not isinstance(members, dict) or members.keys() != wanted:
        raise Refused(f"{what} has not the members that it should have.")
    for name, value in members.items():
        if not (isinstance(value, str) if name in TEXTS else type(value) is int and 0 <= value < 2**53):
            raise Refused(f"{what}: {name} cannot be {str(value)[:50]!r}.")
        if name in BYTES:
            raw(value, BYTES[name])


def _is_signed(key: Ed25519PublicKey, statement: Json) -> bool:
    unsigned = {name: value for name, value in statement.items() if name != "sig"}
    try:
        key.verify(raw(statement.get("sig"), 64), canonical(unsigned))
    except InvalidSignature:
        return False
    return True


def trusted_keys(document: Iterable[Json], trusted: Iterable[str] | None = None) -> dict[str, Ed25519PublicKey]:
    """Return the keys that are ``trusted``, by id, and those that these signed; by default all that are well-formed."""
    keys, found = list(document), dict[str, Ed25519PublicKey]()
    wanted = {str(one.get("key")) for one in keys} if trusted is None else set(trusted)
    for one in keys:  # the oldest first, as each is signed by the one before it
        public, name, by = raw(one.get("public"), 32), str(one.get("key")), str(one.get("by"))
        if b64(hash_of(public)[:8]) != name:
            raise Refused(f"Key {name} is not the id of its public key.")
        if name in wanted or (by in found and _is_signed(found[by], one)):
            found[name] = Ed25519PublicKey.from_public_bytes(public)
    return found


def verify_entry(entry: Any, keys: Keys, *, signature: bool = True) -> None:
    """Raise Refused unless an entry has its members and, unless told otherwise, its signature."""
    kind, number = (entry.get("type"), entry.get("number")) if isinstance(entry, dict) else (None, None)
    _check(f"Entry {number}", entry, MEMBERS.get(str(kind)))
    if signature and entry["key"] not in keys:
        raise Refused(f"Entry {number} is signed by key {entry['key']}, which no trusted key vouches for.")
    if signature and not _is_signed(keys[entry["key"]], entry):
        raise Refused(f"Entry {number}: its signature is not by key {entry['key']}.")


@dataclass(frozen=True)
class Chain:
    """The proof of a chain: windows ``first`` to ``last`` of a conversation were served in this order, none between."""

    conversation: str
    first: int
    last: int
    erasures: int
    notes: tuple[str, ...]


def verify_chain(entries: Sequence[Any], keys: Keys) -> Chain:
    """Return what a conversation's entries prove, from the first window to a head or the end.

    Each entry names the hash of the one before it, so the last signature of each key vouches for all before it.
    """
    notes: list[str] = []
    for at, entry in enumerate(entries):
        verify_entry(entry, keys, signature=False)
        if at:
            notes += _verify_link(entries[at - 1], entry)
        if at + 1 == len(entries) or (isinstance(entries[at + 1], dict) and entries[at + 1].get("key") != entry["key"]):
            verify_entry(entry, keys)
    if not entries or entries[0]["number"] > (entries[0]["type"] == "window"):
        raise Refused("The chain does not begin with the first window: what came before is missing.")
    if entries[-1]["type"] not in ("head", "end"):
        raise Refused(f"The chain stops at {entries[-1]['number']} without a head: its end may have been cut off.")
    windows = [entry["number"] for entry in entries if entry["type"] == "window"] or [0]
    erasures = len([entry for entry in entries if entry["type"] in ("erasure", "end")])
    return Chain(entries[0]["conversation"], windows[0], windows[-1], erasures, tuple(notes))


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
    if entry["at"] + CLOCKS_DIFFER_MS < before["at"]:
        yield f"{where}: the clock went back by {before['at'] - entry['at']} ms; the order still holds."
    if entry["key"] != before["key"]:
        yield f"From entry {entry['number']} on key {entry['key']} signs."


def verify_proof(receipt: Any, proof: Any, keys: Keys, text: str | None = None) -> Json | None:
    """Return the opening of the message that a proof shows in a window, {} if it was erased; None: it was not there."""
    verify_entry(receipt, keys)
    shown = proof.get("shown") if isinstance(proof, dict) else None
    if receipt["type"] != "window" or not isinstance(shown, list) or not 1 <= len(shown) <= 2:
        raise Refused("This is no proof of a message in a window.")
    _check("The proof", {**proof, "shown": 0}, {"parts", "seq", "shown"})
    seq, parts = proof["seq"], proof["parts"]
    places = [_place(receipt["root"], parts, one) for one in shown]
    if len(places) == 1 and places[0][1] == seq:
        opening: Json = shown[0].get("opening", {})
        if text is not None and opening.get("sha256") != b64(hash_of(text.encode("utf-8", "surrogatepass"))):
            raise Refused(f"Message {seq}: the text is not the one that was in view.")
        return opening
    ends = [(-1, 0)] if places[0][0] == 0 else [(parts, 2**53)]
    (first, left), (second, right) = sorted(places + ends) if len(places) == 1 else places
    if first + 1 != second or not left < seq < right:
        raise Refused(f"Message {seq}: the proof does not show two neighbours with nothing between them.")
    return None


def _place(root: str, parts: int, shown: Any) -> tuple[int, int]:
    """Return the place and the ``seq`` of a part. Raises Refused unless its path leads to the root."""
    _check("A part", {n: shown.get(n) for n in ("index", "seq")} if isinstance(shown, dict) else None, {"index", "seq"})
    index, seq, steps = shown["index"], shown["seq"], shown.get("path")
    part, path = raw(shown.get("part"), 32), [raw(one, 32) for one in (steps if isinstance(steps, list) else [steps])]
    if "opening" in shown:
        _check(f"The opening of message {seq}", shown["opening"], OPENING)
        if hash_of(canonical(shown["opening"])) != part:
            raise Refused(f"Message {seq}: its opening is not that of its part.")
    top, at, width = leaf_of(seq, part), index, parts
    while width > 1:
        if at % 2 or at + 1 < width:
            other = path.pop(0) if path else b""
            top = hash_of(NODE, other, top) if at % 2 else hash_of(NODE, top, other)
        at, width = at // 2, (width + 1) // 2
    if path or index >= parts or root_of(parts, top) != root:
        raise Refused(f"Message {seq}: its path does not lead to the receipt's root.")
    return index, seq
