"""docs/security.md names tests that there are."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_every_test_that_a_promise_names_is_there() -> None:
    text = (ROOT / "docs/security.md").read_text("utf-8")
    named = set(re.findall(r"`(test[\w/]*\.py)", text))
    assert len(named) > 30
    assert {name for name in named if not (ROOT / name).is_file()} == set()


def test_every_promise_names_a_test() -> None:
    text = (ROOT / "docs/security.md").read_text("utf-8")
    rows = [line for line in text.splitlines() if line.startswith("| ") and not line.startswith(("| promise", "| ---"))]
    assert len(rows) > 30
    assert [row for row in rows if not re.search(r"`tests/[\w/]+\.py`", row.rsplit(" | ", 1)[-1])] == []
