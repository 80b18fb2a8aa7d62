"""The page of benchmarks names every benchmark, and programs that exist."""

from __future__ import annotations

import re
from importlib.util import find_spec
from pathlib import Path

from bench.__main__ import BENCHMARKS

PAGE = (Path(__file__).parents[2] / "bench" / "results" / "README.md").read_text("utf-8")
COMMANDS = [
    command.split()
    for cell in re.findall(r"^\| [^|]*\? [^|]*\| (`[^|]*) \|$", PAGE, re.MULTILINE)
    for command in re.findall(r"`python -m ([^`]*)`", cell)
]


def test_the_page_names_every_benchmark_and_no_other() -> None:
    named = [word for program, *words in COMMANDS for word in words if program == "bench"]
    assert {name for name in named if re.fullmatch("[a-z][a-z-]*", name)} == set(BENCHMARKS)


def test_the_programs_that_the_page_names_are_there() -> None:
    programs = {program for program, *_ in COMMANDS}
    assert len(programs) > 1
    assert [program for program in programs if find_spec(program) is None] == []
