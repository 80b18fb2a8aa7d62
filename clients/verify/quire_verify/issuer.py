"""Issue receipts: the tree of a window's parts, and entries signed by the newest of a service's keys."""

from __future__ import annotations

import os
import re
import secrets
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from hashlib import sha256
from pathlib import Path

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from quire_verify.verifier import NODE, Json, b64, canonical, hash_of, leaf_of, root_of

LAST = 2**31 - 1
"""The ``seq`` of parts that stand for no stored message and change with each call."""
NAME_BYTES_MAX, MODEL_BYTES_MAX = 40, 33
KEYS_FILE = "receipt.keys"
Part = tuple[int, bytes]
"""A part's ``seq`` and the hash that stands for it."""


def short_name(name: str, most: int = NAME_BYTES_MAX) -> str:
    """Return a name, or where it is long, 192 bits of its hash after a ``#``: an entry never exceeds 400 bytes."""
    is_short = len(canonical(name)) <= most + 2 and not name.startswith("#")
    return name if is_short else f"#{b64(hash_of(name.encode())[:24])}"


def opening_of(form: str, author: str, salt: bytes, digest: bytes) -> Json:
    """Return what shows a part. Its salt differs in each form and text, so that it opens no other part."""
    own = hash_of(salt, form.encode(), digest)[:16]
    return {"author": author, "form": form, "salt": b64(own), "sha256": b64(digest)}


def part_of(opening: Json) -> bytes:
    """Return the hash that stands for a part, of its opening."""
    return hash_of(canonical(opening))


def sealed(form: str, author: str, salt: bytes, digest: bytes) -> bytes:
    """Return the hash that stands for a part: ``part_of`` its opening, without building that first."""
    own = b64(sha256(salt + form.encode() + digest).digest()[:16])
    opening = f'{{"author":"{author}","form":"{form}","salt":"{own}","sha256":"{b64(digest)}"}}'
    return sha256(opening.encode()).digest()


class Tree:
    """The Merkle tree over a window's parts, which are sorted; what a ``former`` one has too is not hashed again."""

    __slots__ = ("levels", "parts", "same")
    levels: list[list[bytes]]

    def __init__(self, parts: Sequence[Part], former: Tree | None = None) -> None:
        self.parts, self.same = parts, same_start(parts, former.parts) if former else 0
        level = [*former.levels[0][: self.same]] if former else []
        level += [leaf_of(*part) for part in parts[self.same :]]
        self.levels, kept = [level], self.same
        while (count := len(level)) > 1:
            kept, at = kept // 2, len(self.levels)
            up = former.levels[at][:kept] if former and at < len(former.levels) else []
            up += [sha256(NODE + level[i] + level[i + 1]).digest() for i in range(2 * kept, count - 1, 2)]
            level = up + level[count & ~1 :]
            self.levels.append(level)

    @property
    def root(self) -> str:
        return root_of(len(self.parts), self.levels[-1][0])

    def proof(self, seq: int, openings: Mapping[bytes, Json]) -> Json:
        """Return the proof that a message is among the parts, or that none is between its neighbours."""
        found = [at for at, (own, _) in enumerate(self.parts) if own == seq]
        after = next((at for at, (own, _) in enumerate(self.parts) if own > seq), len(self.parts))
        shown = [self._place(at) for at in found or (after - 1, after) if 0 <= at < len(self.parts)]
        for at, one in zip(found, shown, strict=False):
            if (opening := openings.get(self.parts[at][1])) is not None:
                one["opening"] = opening
        return {"seq": seq, "parts": len(self.parts), "shown": shown}

    def _place(self, index: int) -> Json:
        seq, part = self.parts[index]
        path, at = [], index
        for level in self.levels[:-1]:
            if at ^ 1 < len(level):
                path.append(b64(level[at ^ 1]))
            at //= 2
        return {"index": index, "seq": seq, "part": b64(part), "path": path}


def same_start(parts: Sequence[object], former: Sequence[object]) -> int:
    """Return how many parts two lists begin with alike, halving: lists of the same objects are compared at once."""
    least, most = 0, min(len(parts), len(former))
    while least < most:
        middle = (least + most + 1) // 2
        if parts[least:middle] == former[least:middle]:
            least = middle
        else:
            most = middle - 1
    return least


class Signer:
    """A service's keys, the oldest first. The newest signs; each but the first is signed by the one before it."""

    def __init__(self, seeds: Iterable[bytes]) -> None:
        self.document: list[Json] = []
        """The public keys, as ``trusted_keys`` reads them."""
        self.key = ""
        for seed in seeds:
            key = Ed25519PrivateKey.from_private_bytes(seed)
            public = key.public_key().public_bytes_raw()
            one = {"by": "", "key": b64(hash_of(public)[:8]), "public": b64(public), "type": "key"}
            self.document.append(self.signed({**one, "by": self.key}) if self.document else one)
            self._key, self.key = key, b64(hash_of(public)[:8])
        if not self.document:
            raise ValueError("There is no key.")

    @staticmethod
    def of(text: str) -> Signer:
        """Return the keys of a text: 64 hexadecimal digits each, the newest last. Raises ValueError."""
        lines = text.replace(",", " ").split()
        if not lines or not all(re.fullmatch("[0-9a-fA-F]{64}", line) for line in lines):
            raise ValueError("must be 64 hexadecimal digits for each key, such as `openssl rand -hex 32` prints")
        return Signer(map(bytes.fromhex, lines))

    @staticmethod
    def kept(folder: Path) -> Signer:
        """Return the keys of a folder's file, a line each; it is made with one key at first. Raises ValueError."""
        file = folder / KEYS_FILE
        if not file.exists():
            folder.mkdir(parents=True, exist_ok=True)
            new = folder / f"{KEYS_FILE}.{os.getpid()}"
            new.touch(mode=0o600)
            new.write_text(f"{secrets.token_hex(32)}\n", "ascii")
            with suppress(FileExistsError):  # another process was faster: no reader may see half a file
                os.link(new, file)
            new.unlink()
        return Signer.of(file.read_text("ascii"))

    def signed(self, statement: Json) -> Json:
        return {**statement, "sig": b64(self._key.sign(canonical(statement)))}
