"""The examples of docs/window.md, worked out by the functions they are examples of."""

from collections.abc import Sequence
from pathlib import Path

from app.core.calibration import UNREPORTED
from app.core.model import Entry, Kind, Policy, Totals
from app.core.window.budget import shares, usable
from app.core.window.paging import layout, page_threshold

WINDOW = Path(__file__).parents[2] / "docs/window.md"
AVAILABLE = usable(8000, UNREPORTED) - 400

Message = tuple[Kind, int, int]
"""Kind, tokens verbatim, tokens condensed."""
WITH_TOOLS: Sequence[Message] = (("message", 30, 30), ("call", 40, 40), ("result", 400, 100), ("message", 130, 130))
WITHOUT: Sequence[Message] = (("message", 20, 20), ("message", 80, 80))


def conversation(turn: Sequence[Message], pages: int) -> list[Entry]:
    entries: list[Entry] = []
    full_before = short_before = group = 0
    for page in range(1, pages + 1):
        opened_by = len(entries) + 1
        for kind, full, short in turn:
            seq = len(entries) + 1
            group = group if kind == "result" else seq
            entries.append(Entry(seq, page, group, kind, full, short, full_before, short_before, opened_by, 0))
            full_before += full
            short_before += short
    return entries


def epochs(entries: Sequence[Entry], policy: Policy) -> list[list[str]]:
    """The table's row for each epoch but the first, found by looking at the layout after each message."""
    rows: dict[int, list[str]] = {}
    known = shares(AVAILABLE, policy)
    for last in entries:
        totals = Totals(last.seq, last.page, last.full_after, last.short_before + last.short)
        found = layout(entries[: last.seq], totals, known, policy)
        if found.number in {0, *rows}:
            continue
        verbatim, condensed = (entries[seq - 1] for seq in (found.verbatim_from, found.condensed_from))
        by_page = last.page == page_threshold(last.page, policy) and last.opens_page
        passed = f"page {last.page}" if by_page else "the room"
        contents = f"1–{condensed.page - 1}" if condensed.page > 1 else "none"
        from_page = f"{verbatim.page}" if verbatim.opens_page else f"{verbatim.page}, in part"
        place = [found.number // 16, last.page, spaced(last.full_after)]
        rows[found.number] = [str(cell) for cell in (*place, passed, from_page, condensed.page, contents)]
    return list(rows.values())


def spaced(number: int) -> str:
    return f"{number:,}".replace(",", " ")


def table_below(heading: str) -> list[list[str]]:
    lines = WINDOW.read_text().split(f"### {heading}\n")[1].split("\n### ")[0].splitlines()
    rows = [line for line in lines if line.startswith("|")]
    return [[cell.strip() for cell in row.strip("|").split("|")] for row in rows[2:]]


def test_the_shares_are_those_of_the_example() -> None:
    found = shares(AVAILABLE, Policy())
    assert (found.available, found.head, found.condensed, found.keep, found.fresh) == (6742, 674, 674, 4045, 1685)


def test_the_example_by_tokens_is_what_paging_decides() -> None:
    assert table_below("An example") == epochs(conversation(WITH_TOOLS, 26), Policy())


def test_the_example_by_pages_is_what_paging_decides() -> None:
    assert table_below("An example with a limit on pages") == epochs(conversation(WITHOUT, 51), Policy(active_pages=20))
