"""`quire-verify FILE`: verify an export, receipts with their proofs, or what an erasure returned; offline."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from quire_verify.verifier import Json, Keys, Refused, trusted_keys, verify_chain, verify_entry, verify_proof

ENTRIES = ("window", "erasure", "end", "head")


def main(arguments: list[str] | None = None) -> int:
    """Print what a file proves. Return 0, or 1 where something in it is refused."""
    parser = argparse.ArgumentParser("quire-verify", description="Verify receipts of Quire, offline.")
    parser.add_argument("file", type=Path, help="an export (JSON lines), or JSON that Quire answered")
    parser.add_argument("--keys", type=Path, help="what /.well-known/quire-keys of the service answered; trust these")
    parser.add_argument("--key", action="append", help="trust this key and those that it signed (repeatable)")
    asked = parser.parse_args(arguments)
    try:
        for line in report(asked.file, asked.keys, asked.key):
            sys.stdout.write(f"{line}\n")
    except (OSError, UnicodeDecodeError) as error:
        sys.stderr.write(f"{asked.file}: {error}\n")
        return 1
    except Refused as refused:
        sys.stderr.write(f"Refused: {refused}\n")
        return 1
    return 0


def report(file: Path, keys_file: Path | None, trusted: list[str] | None) -> Iterator[str]:
    """Yield what a file proves, a line each. Raises Refused at the first thing that is wrong."""
    found = list(_objects(_values(file)))
    document = [one for one in found if one.get("type") == "key"]
    if keys_file is not None:
        published = [one for one in _objects(_values(keys_file)) if one.get("type") == "key"]
        trusted = [*(trusted or []), *(one["key"] for one in published)]
        document = [*(one for one in published if one not in document), *document]
    keys = trusted_keys(document, trusted)
    proofs = [one for one in found if "proof" in one and "receipt" in one]
    chains, alone = _entries(found)
    if not (chains or proofs or alone):
        raise Refused(f"{file} holds no receipts: it must be an export, or what a receipt's route answered.")
    for name, entries in chains.items():
        chain = verify_chain(entries, keys)
        windows = f"windows {chain.first} to {chain.last}" if chain.last else "no window"
        yield f"{name}: {windows} in this order, {chain.erasures} erasures, nothing missing."
        yield from (f"  note: {note}" for note in chain.notes)
    for one in proofs:
        yield _proved(one, keys)
    for entry in alone:
        verify_entry(entry, keys)
        of = f"of {entry['of']} {entry['id']}" if "of" in entry else f"{entry['number']} of {entry['conversation']}"
        yield f"{entry['type']} {of} is signed by key {entry['key']}."
    if trusted is None:
        yield "The keys are those of the file itself: compare them with what the service publishes, or pass --keys."


def _entries(found: Iterable[Json]) -> tuple[dict[str, list[Json]], list[Json]]:
    """Return the chains of a file by conversation, and the entries that stand alone: those that were answered by
    themselves, and what an erasure returned, without the windows before it or a head after it.
    """
    chains: dict[str, list[Json]] = {}
    alone = list[Json]()
    for one in found:
        if one.get("type") == "receipt":
            chains.setdefault(one.get("conversation_id", ""), []).append(one["receipt"])
        elif one.get("type") in ENTRIES and "conversation_id" not in one:  # an export's own "end" line has one
            alone.append(one)
    for name, entries in list(chains.items()):
        if not name or not {"window", "head"} & {entry.get("type") for entry in entries}:
            alone += chains.pop(name)
    return chains, alone


def _proved(one: Json, keys: Keys) -> str:
    seq, opening = one["proof"].get("seq"), verify_proof(one["receipt"], one["proof"], keys, one.get("text"))
    where = f"window {one['receipt']['number']} of {one['receipt']['conversation']}"
    if opening is None:
        return f"Message {seq} was not in {where}."
    if not opening:
        return f"Message {seq} was in {where} and was erased or changed since: its text cannot be confirmed."
    text = "with the text of this file" if "text" in one else f"its SHA-256: {opening['sha256']}"
    return f"Message {seq} was in {where}: {opening['form']}, words of {opening['author']}, {text}."


def _values(file: Path) -> Iterator[Any]:
    """Yield the values of a file: JSON, or JSON lines."""
    text = file.read_text("utf-8")
    try:
        yield json.loads(text)
    except ValueError:
        for number, line in enumerate(text.splitlines(), 1):
            try:
                yield json.loads(line) if line.strip() else None
            except ValueError:
                raise Refused(f"Line {number} of {file} is no JSON.") from None


def _objects(values: Iterator[Any]) -> Iterator[Json]:
    """Yield the objects that say what they are, wherever they stand: not those within them."""
    for value in values:
        if isinstance(value, list):
            yield from _objects(iter(value))
        elif isinstance(value, dict):
            is_whole = "proof" in value or value.get("type") in ("key", "receipt", *ENTRIES)
            if is_whole:
                yield value
            yield from _objects(v for k, v in value.items() if not is_whole or k == "keys")
