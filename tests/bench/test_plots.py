"""A benchmark's section shows its plots where they could be drawn, and says the same without them where not."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from bench import plots, tables
from bench.plots import Bars, Lines
from bench.tables import Table

ROOT = Path(__file__).parents[2]
LINES = Lines("sizes", "CPU by size", "messages", "ms", {"append": [(10, 4.5), (1_000, 6.0)], "window": [(10, 1.0)]})
BARS = Bars("shares", "Shares", "of bare", ["window", "append"], {"1 client": [0.4, None], "8 clients": [0.3, 0.2]})
TABLE = Table("Sizes", ("operation", "ms"), [("append", "4.50")], ["A note."], [LINES, BARS])
DRAWN = "![CPU by size](sizes.svg)"
WITHOUT_MATPLOTLIB = """
import sys
sys.modules["matplotlib"] = None
from pathlib import Path
from rich.console import Console
from bench.__main__ import keep
from tests.bench.test_plots import TABLE
keep(Console(width=200), "cost", [TABLE], Path(sys.argv[1]))
"""


def test_a_section_shows_the_plots_that_were_drawn(tmp_path: Path) -> None:
    document = tmp_path / "page.md"
    document.write_text("# Page\n\n<!-- cost -->\n\nold\n\n<!-- end of cost -->\n\nMore.\n")
    tables.write("cost", [TABLE], ["cost"], document, ["sizes"])
    before, _, after = document.read_text().partition(f"| append | 4.50 |\n\nA note.\n\n{DRAWN}\n\n_")
    assert before.startswith("# Page\n\n<!-- cost -->\n\n## Sizes\n")
    assert after.endswith("<!-- end of cost -->\n\nMore.\n")
    assert "shares.svg" not in before + after


@pytest.mark.slow
def test_without_matplotlib_tables_are_written_alone(tmp_path: Path) -> None:
    document = tmp_path / "page.md"
    program = [sys.executable, "-c", WITHOUT_MATPLOTLIB, str(document)]
    done = subprocess.run(
        program, cwd=ROOT, env={**os.environ, "PYTHONPATH": str(ROOT)}, capture_output=True, text=True, check=False,
        timeout=60,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "no plots (sizes, shares)" in done.stdout
    assert "install the extra `bench`" in done.stdout
    assert "| append | 4.50 |" in document.read_text()
    assert "![" not in document.read_text()
    assert list(tmp_path.iterdir()) == [document]


@pytest.mark.slow
def test_the_same_values_are_the_same_small_file(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib", reason="matplotlib is not installed: it comes with the extra `bench`")
    assert [plots.draw([LINES, BARS], tmp_path / name) for name in ("one", "two")] == [["sizes", "shares"]] * 2
    for name, words in (("sizes.svg", "1,000"), ("shares.svg", "8 clients")):
        one, two = ((tmp_path / folder / name).read_text() for folder in ("one", "two"))
        assert one == two
        assert words in one  # as text, not as outlines
        assert str(tmp_path) not in one
        assert len(one) < 40_000


def test_numbers_on_a_logarithmic_axis_do_not_overlap() -> None:
    assert plots.spread([10, 1_000, 10_000, 100_000, 200_000]) == [10, 1_000, 10_000, 200_000]
    assert plots.spread([1, 8, 32]) == [1, 8, 32]
