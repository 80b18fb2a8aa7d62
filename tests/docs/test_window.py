"""The numbers of docs/window.md, worked out by the functions they are numbers of."""

import re
from pathlib import Path

import pytest

from app.core.model import Policy
from app.core.window.budget import kept_share, shares

WINDOW = Path(__file__).parents[2] / "docs/window.md"
ROWS = re.findall(r"^\| (\d) %(?: and more)? \| (0\.\d+) \|", WINDOW.read_text("utf-8"), re.MULTILINE)


@pytest.mark.parametrize(("percent", "share"), ROWS)
def test_the_share_that_a_cut_keeps_is_as_the_page_says(percent: str, share: str) -> None:
    assert round(kept_share(int(percent), 100, Policy().view_price), 2) == pytest.approx(float(share), abs=0.01)


def test_the_page_has_a_row_for_every_share() -> None:
    assert [share for _, share in ROWS] == ["0.85", "0.77", "0.63", "0.5"]


def test_the_head_has_its_least_until_enough_pages_left() -> None:
    parts = shares(8_000, Policy())
    assert (parts.head(0), parts.head(1), parts.head(20)) == (0, 380, 1_200)
