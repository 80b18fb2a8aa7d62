"""Every proof that is given holds, and nothing else does: of generated windows, mutated receipts and the vectors.

`python clients/verify/tests/test_verify.py` writes the vectors anew.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from copy import deepcopy
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quire_verify import Refused, trusted_keys, verify_chain, verify_entry, verify_proof
from quire_verify.command import main, report
from quire_verify.issuer import (
    LAST,
    MODEL_BYTES_MAX,
    Part,
    Signer,
    Tree,
    opening_of,
    part_of,
    sealed,
    short_name,
)
from quire_verify.verifier import Json, b64, canonical, digest_of

VECTORS = Path(__file__).with_name("vectors.json")
FORMS = ("verbatim", "condensed", "passing", "squeezed", "system")
AUTHORS = ("person", "assistant", "tool", "machine")
GENESIS = b64(sha256(b"a conversation").digest())


@dataclass
class Window:
    """A window that was sealed: what a service keeps of it."""

    receipt: Json
    tree: Tree
    openings: dict[bytes, Json]
    texts: dict[int, str]


@dataclass
class Ledger:
    """A conversation of messages with salts, its windows, and the chain of their receipts."""

    signer: Signer
    rng: Random
    name: str = "c"
    salts: dict[int, bytes] = field(default_factory=dict)
    texts: dict[int, str] = field(default_factory=dict)
    chain: list[Json] = field(default_factory=list)
    windows: list[Window] = field(default_factory=list)

    def say(self) -> None:
        seq = len(self.texts) + 1
        self.texts[seq], self.salts[seq] = f"message {seq}: {self.rng.random()}", self.rng.randbytes(16)

    def serve(self, first: int) -> Window:
        """Seal a window of the messages from one on, each in some form."""
        former = self.windows[-1].tree if self.windows else None
        openings: dict[bytes, Json] = {}
        parts: list[Part] = [(0, sealed("head", "quire", self.rng.randbytes(16), bytes(32)))]
        texts = {seq: text for seq, text in self.texts.items() if seq >= first and self.rng.random() > 0.1}
        for seq, text in texts.items():
            digest, form = sha256(text.encode()).digest(), FORMS[seq % len(FORMS)]
            opening = opening_of(form, AUTHORS[seq % len(AUTHORS)], self.salts[seq], digest)
            parts.append((seq, part_of(opening)))
            openings[part_of(opening)] = opening
        parts.append((LAST, sealed("window", "quire", self.rng.randbytes(16), bytes(32))))
        tree = Tree(sorted(parts), former)
        receipt = self._entry("window", budget=8_000, model="gpt-5", root=tree.root)
        self.windows.append(Window(receipt, tree, openings, texts))
        return self.windows[-1]

    def erase(self, seq: int) -> None:
        """Take a message's text and salt away, from every window too; their parts stay."""
        text = self.texts.pop(seq)
        digest, salt = sha256(text.encode()).digest(), self.salts.pop(seq)
        gone = part_of(opening_of(FORMS[seq % len(FORMS)], AUTHORS[seq % len(AUTHORS)], salt, digest))
        for window in self.windows:
            window.openings.pop(gone, None)
        self.texts[seq], self.salts[seq] = "[erased]", self.rng.randbytes(16)
        self._entry("erasure", count=1, first=seq, last=seq)

    def branch(self) -> Ledger:
        """Return a branch that shares the messages so far, with a chain of its own."""
        return Ledger(self.signer, self.rng, f"{self.name}b", dict(self.salts), dict(self.texts))

    def head(self) -> Json:
        return self.signer.signed(self.statement("head"))

    def _entry(self, kind: str, **members: int | str) -> Json:
        entry = self.signer.signed({**self.statement(kind), **members})
        self.chain.append(entry)
        return entry

    def statement(self, kind: str) -> Json:
        last = self.chain[-1] if self.chain else None
        return {
            "at": 1_795_000_000_000 + 1_000 * len(self.chain), "before": digest_of(last) if last else GENESIS,
            "conversation": short_name(self.name), "key": self.signer.key,
            "number": (last["number"] if last else 0) + (kind == "window"), "type": kind,
        }  # fmt: skip


def grown(seed: int, windows: int, signer: Signer) -> Ledger:
    """Return a conversation that was served so often, with erasures between."""
    rng = Random(seed)
    ledger = Ledger(signer, rng)
    for number in range(windows):
        for _ in range(rng.randint(1, 3)):
            ledger.say()
        ledger.serve(max(1, len(ledger.texts) - rng.randint(3, 30)))
        if number % 7 == 5:
            ledger.erase(rng.randint(1, len(ledger.texts)))
    return ledger


def vectors() -> Json:
    """Return a small conversation with all that the format has: two keys, forms, an erasure, a head, proofs."""
    old, new = bytes(range(32)), bytes(range(32, 64))
    ledger = Ledger(Signer([old]), Random(1))
    for _ in range(5):
        ledger.say()
    ledger.serve(1)
    ledger.signer = Signer([old, new])
    ledger.say()
    ledger.serve(3)
    ledger.erase(ledger.windows[0].tree.parts[1][0])
    proofs = []
    for window in ledger.windows:
        for seq in range(1, 8):
            proof = window.tree.proof(seq, window.openings)
            has = bool(proof["shown"][0].get("opening"))
            proofs.append({"receipt": window.receipt, "proof": proof} | ({"text": window.texts[seq]} if has else {}))
    lines = [{"type": "receipt", "conversation_id": "c", "receipt": entry} for entry in [*ledger.chain, ledger.head()]]
    return {"seeds": [old.hex(), new.hex()], "keys": ledger.signer.document, "chain": lines, "proofs": proofs}


SIGNER = Signer([b"a" * 32])
KEYS = trusted_keys(SIGNER.document)
OF_WINDOW = {"budget": 1, "model": ""}
CONVERSATIONS, WINDOWS, MUTATIONS = 100, 100, 1_000


def proofs_held(ledger: Ledger) -> int:
    """Check the proof of each message in each window, of each left out between, and of those around it; count them."""
    count = 0
    for window in ledger.windows:
        inside = {seq for seq, _ in window.tree.parts}
        shown = sorted(inside)[1:-1] or [1]
        for seq in range(max(1, shown[0] - 2), shown[-1] + 3):
            proof = window.tree.proof(seq, window.openings)
            found = verify_proof(window.receipt, proof, KEYS)
            assert (found is not None) == (seq in inside)
            if found:
                assert verify_proof(window.receipt, proof, KEYS, window.texts[seq]) == found
            count += 1
    return count


@pytest.mark.parametrize("seed", range(3))
def test_every_message_is_proven_in_or_out_of_every_window(seed: int) -> None:
    ledger = grown(seed, 40, SIGNER)
    branch = ledger.branch()
    branch.say()
    branch.serve(1)
    assert proofs_held(ledger) + proofs_held(branch) > 40 * 10
    for line in (ledger, branch):
        assert verify_chain([*line.chain, line.head()], KEYS).last == len(line.windows)


@pytest.mark.slow
def test_ten_thousand_windows_have_no_false_proof() -> None:
    """Prove each part of each window, in conversations with erasures."""
    assert sum(proofs_held(grown(seed, WINDOWS, SIGNER)) for seed in range(CONVERSATIONS)) > 10_000 * 10


parts = st.lists(st.tuples(st.integers(0, 400), st.binary(min_size=32, max_size=32)), min_size=1, max_size=60)


@given(parts, parts, st.integers(1, 401))
def test_a_tree_grows_as_if_it_were_made_anew_and_proves_both_ways(
    some: list[Part], more: list[Part], seq: int
) -> None:
    former = Tree(sorted(some))
    tree = Tree(sorted([*some[:20], *more]), former)
    assert tree.levels == Tree(tree.parts).levels
    receipt = SIGNER.signed(Ledger(SIGNER, Random(0)).statement("window") | OF_WINDOW | {"root": tree.root})
    if sum(own == seq for own, _ in tree.parts) < 2:
        found = verify_proof(receipt, tree.proof(seq, {}), KEYS)
        assert (found is not None) == any(own == seq for own, _ in tree.parts)
    other = dict(receipt, root=former.root)
    if tree.root != former.root:
        with pytest.raises(Refused):
            verify_proof(other, tree.proof(seq, {}), KEYS)


# --- What is refused -----------------------------------------------------------------------------------


def changed(value: Any, rng: Random) -> Any:
    """Return a value with one thing in it changed."""
    match value:
        case dict():
            name = rng.choice(sorted(value))
            return {**value, name: changed(value[name], rng)}
        case list() if value:
            at = rng.randrange(len(value))
            return [*value[:at], changed(value[at], rng), *value[at + 1 :]]
        case str() if value:
            at = rng.randrange(len(value))
            return value[:at] + rng.choice("AbZ9-_") + value[at + 1 :]
        case int():
            return value + rng.choice((-1, 1, 60, 2**40))
    return rng.choice((None, "x", -1))


def mutations(chain: list[Json], rng: Random) -> Iterator[list[Json]]:
    """Yield chains that were forged, reordered, truncated, or have receipts twice or of elsewhere."""
    stranger = grown(99, 12, Signer([b"b" * 32])).chain
    other = grown(98, 12, SIGNER)
    other.name = "d"
    while True:
        copy, at = deepcopy(chain), rng.randrange(len(chain) - 1)
        match rng.randrange(7):
            case 0:
                copy[at] = changed(copy[at], rng)
            case 1:
                copy[at], copy[at + 1] = copy[at + 1], copy[at]
            case 2:
                copy = copy[:at] if rng.random() < 0.5 else copy[at + 1 :]
            case 3:
                del copy[at]
            case 4:
                copy.insert(rng.randrange(len(copy)), copy[at])
            case 5:
                copy[at] = rng.choice(stranger)
            case _:
                unsigned = {name: value for name, value in changed(copy[at], rng).items() if name != "sig"}
                copy[at] = SIGNER.signed(unsigned)  # the service itself, later
        if copy != chain:
            yield copy


def test_a_thousand_mutated_chains_are_refused() -> None:
    ledger = grown(4, 30, SIGNER)
    chain, rng = [*ledger.chain, ledger.head()], Random(5)
    verify_chain(chain, KEYS)
    made = mutations(chain, rng)
    for _ in range(MUTATIONS):
        with pytest.raises(Refused):
            verify_chain(next(made), KEYS)


def test_a_thousand_mutated_proofs_prove_nothing_else() -> None:
    ledger, rng = grown(6, 30, SIGNER), Random(7)
    refused = 0
    for _ in range(MUTATIONS):
        window = rng.choice(ledger.windows)
        seq = rng.randint(1, len(ledger.texts))
        proof = window.tree.proof(seq, window.openings)
        asked = changed(proof, rng)
        if canonical(asked) == canonical(proof):
            continue
        try:
            found = verify_proof(window.receipt, asked, KEYS)
        except Refused:
            refused += 1
        else:  # another question, to which the proof is an answer as well
            assert (found is not None) == any(own == asked["seq"] for own, _ in window.tree.parts)
            assert {**asked, "seq": seq} == proof
    assert refused > MUTATIONS * 0.8


junk = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=50),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=12,
)


@given(junk, junk)
def test_what_is_no_receipt_is_refused(one: Any, other: Any) -> None:
    receipt = Ledger(SIGNER, Random(0)).serve(1).receipt
    attempts: list[Callable[[], object]] = [
        lambda: verify_entry(one, KEYS), lambda: verify_chain([one, other], KEYS),
        lambda: verify_proof(one, other, KEYS), lambda: verify_proof(receipt, one, KEYS),
        lambda: verify_proof(receipt, {"seq": 1, "parts": 2, "shown": [one]}, KEYS),
    ]  # fmt: skip
    for attempt in attempts:
        with pytest.raises(Refused):
            attempt()


# --- Chains that say where -----------------------------------------------------------------------------


def refusal(chain: list[Json]) -> str:
    with pytest.raises(Refused) as found:
        verify_chain(chain, KEYS)
    return str(found.value)


def test_a_chain_that_breaks_says_where_and_why() -> None:
    ledger = grown(8, 9, SIGNER)
    chain = [*ledger.chain, ledger.head()]
    at = next(i for i, entry in enumerate(chain) if entry["number"] == 4 and entry["type"] == "window")
    assert "without a head" in refusal(chain[:-1])
    assert "does not begin with the first" in refusal(chain[1:])
    assert refusal([*chain[:at], *chain[at + 1 :]]).startswith("Entry 5 after 3: the numbers do not follow")
    twin = SIGNER.signed({**{k: v for k, v in chain[at].items() if k != "sig"}, "at": 5})
    assert "Entry 4 after 4: the chain forks here" in refusal([*chain[: at + 1], twin, *chain[at + 1 :]])
    assert "Entry 5 after 4: it names another entry" in refusal([*chain[:at], twin, *chain[at + 1 :]])
    assert "which no trusted key vouches for" in refusal(grown(8, 9, Signer([b"c" * 32])).chain)
    foreign = {**chain[at], "conversation": "d"}
    assert "is of another conversation" in refusal([*chain[:at], foreign, *chain[at + 1 :]])


def test_a_clock_that_goes_back_is_told_and_the_order_holds() -> None:
    ledger = Ledger(SIGNER, Random(9))
    ledger.say()
    ledger.serve(1)
    ledger.chain[-1] = SIGNER.signed(
        {**{k: v for k, v in ledger.chain[-1].items() if k != "sig"}, "at": 1_999_000_000_000}
    )
    ledger.serve(1)
    [note] = verify_chain([*ledger.chain, ledger.head()], KEYS).notes
    assert note.startswith("Entry 2 after 1: the clock went back by ")


def test_a_new_key_is_trusted_if_the_old_one_signed_it_and_a_lost_one_is_told() -> None:
    ledger = Ledger(Signer([b"a" * 32]), Random(9))
    ledger.say()
    ledger.serve(1)
    ledger.signer = Signer([b"a" * 32, b"b" * 32])
    ledger.serve(1)
    chain = [*ledger.chain, ledger.head()]
    keys = trusted_keys(ledger.signer.document, [SIGNER.key])
    assert verify_chain(chain, keys).notes == (f"From entry 2 on key {ledger.signer.key} signs.",)
    forged = [SIGNER.document[0], {**ledger.signer.document[1], "by": "", "sig": ""}]
    assert set(trusted_keys(forged, [SIGNER.key])) == {SIGNER.key}
    lost = Signer([b"d" * 32])
    ledger.signer = lost
    ledger.serve(1)
    with pytest.raises(Refused, match=f"Entry 3 is signed by key {lost.key}, which no trusted key vouches for"):
        verify_chain([*ledger.chain, ledger.head()], keys)
    with pytest.raises(Refused, match="is not the id"):
        trusted_keys([{**SIGNER.document[0], "key": lost.key}])


# --- Sizes, and the vectors ----------------------------------------------------------------------------


@given(st.text(max_size=128), st.text(max_size=200), st.integers(0, 2**31 - 1), st.integers(1, 10_000_000))
def test_a_receipt_has_at_most_400_bytes(name: str, model: str, number: int, budget: int) -> None:
    statement = {
        "at": 9_999_999_999_999, "before": b64(bytes(32)), "budget": budget, "conversation": short_name(name),
        "key": SIGNER.key, "model": short_name(model, MODEL_BYTES_MAX), "number": number, "root": b64(bytes(32)),
        "type": "window",
    }  # fmt: skip
    assert len(canonical(SIGNER.signed(statement))) <= 400


def test_a_proof_of_one_message_of_200_has_at_most_1000_bytes() -> None:
    ledger = Ledger(SIGNER, Random(3))
    for _ in range(230):
        ledger.say()
    window = ledger.serve(1)
    assert len(window.tree.parts) > 200
    assert max(len(canonical(window.tree.proof(seq, window.openings))) for seq in range(1, 231)) <= 1_000


def test_the_vectors_are_what_the_seeds_give() -> None:
    assert json.loads(VECTORS.read_text("utf-8")) == vectors()


def test_the_command_says_what_a_file_proves(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([str(VECTORS)]) == 0
    said = capsys.readouterr().out
    assert "c: windows 1 to 2 in this order, 1 erasures, nothing missing." in said
    assert re.search(r"Message \d was in window 1 of c: \w+, words of \w+, with the text of this file\.", said)
    assert " was in window 1 of c and was erased or changed since" in said
    assert "Message 2 was not in window 2 of c." in said
    assert "compare them with what the service publishes" in said
    keys = tmp_path / "keys.json"
    keys.write_text(json.dumps({"keys": vectors()["keys"][:1]}))
    assert not any("compare" in line for line in report(VECTORS, keys, None))
    keys.write_text(json.dumps({"keys": SIGNER.document}))
    assert main([str(VECTORS), "--keys", str(keys)]) == 1
    assert "which no trusted key vouches for" in capsys.readouterr().err
    keys.write_text("{}\n{")
    assert main([str(keys)]) == 1
    assert "Line 2" in capsys.readouterr().err
    assert main([str(tmp_path / "none")]) == 1


if __name__ == "__main__":
    VECTORS.write_text(json.dumps(vectors(), indent=1) + "\n", "utf-8")
