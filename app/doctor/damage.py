"""Judge what a walk through the store found; pure functions, like ``checks``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from app.doctor.checks import Check

FIX = "Stop Quire, keep a copy of the database for examination, and restore a backup from before the damage."
REINDEX = "As the tables' owner: REINDEX INDEX {first}; no row is lost by it. Then run `quire doctor --deep` again."
UNFORCED = "Run ALTER TABLE … ENABLE ROW LEVEL SECURITY, then FORCE ROW LEVEL SECURITY, and drop policies of your own."
FAULTS = {
    "damaged": "parts of the store cannot be read",
    "gap": "messages do not follow the one before them",
    "sums": "messages have wrong token offsets",
    "chain": "messages break the chain of hashes",
    "placeholder": "messages refer to an archive that does not exist",
    "totals": "conversations disagree with their last message",
    "content": "archives have no content",
    "source": "memories refer to a message or archive that does not exist",
    "vector": "vectors have no memory",
    "unembedded": "entries of the embedding queue have no memory",
    "posting": "entries of the word index have no memory",
    "listed": "copies of vectors differ from the vector",
    "index": "walks were stopped by an index that cannot be read",
}
"""What each fault is, after a number."""


@dataclass(frozen=True, slots=True)
class Fault:
    name: str
    count: int
    first: str
    """The tenant and key of the first row that has it; of an index, its name."""


def store(faults: Sequence[Fault], rows: int, tenants: int) -> list[Check]:
    if not faults:
        return [Check("store", "ok", f"{rows} rows of {tenants} tenants are consistent.")]
    return [
        Check(
            fault.name,
            "fail",
            f"{fault.count} {FAULTS[fault.name]}; {'the first' if fault.name != 'index' else 'it is'}: {fault.first}.",
            REINDEX.format(first=fault.first) if fault.name == "index" else FIX,
        )
        for fault in faults
    ]


def enforcement(visible: Sequence[str], tables: int) -> Check:
    """Check row-level security by its effect; ``visible`` are those that show rows to a tenant that has none."""
    if visible:
        said = f"Other tenants' rows are visible in: {', '.join(visible)}."
        return Check("enforcement", "fail", said, UNFORCED)
    return Check("enforcement", "ok", f"None of {tables} tables shows rows of another tenant.")


def checksums(are_on: bool, failures: int) -> Check:
    """Check the server's checksums of its data pages; ``failures`` are pages that were read and did not match."""
    if failures:
        return Check("checksums", "fail", f"{failures} damaged pages were read.", f"Replace the disk. {FIX}")
    if not are_on:
        said = "Data checksums are off: a damaged disk goes unnoticed."
        return Check("checksums", "warn", said, "Stop the server and run pg_checksums --enable.")
    return Check("checksums", "ok", "Data checksums are on, and no page that was read was damaged.")
