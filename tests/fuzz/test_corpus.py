"""The corpus of the parsers' fuzzer: what was written for it, and whatever it found."""

from pathlib import Path

import pytest

from tests.fuzz.parsers import CORPUS
from tests.fuzz.targets import BY_NAME, run

INPUTS = sorted(CORPUS.glob("*/*"))


@pytest.mark.parametrize("path", INPUTS, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_a_kept_input_is_read_or_refused(path: Path) -> None:
    run(BY_NAME[path.parent.name], path.read_bytes())


@pytest.mark.parametrize("name", BY_NAME)
def test_what_was_written_for_a_parser_is_read(name: str) -> None:
    """So that the fuzzer begins beyond the refusals."""
    for path in (CORPUS / name).glob("seed-*"):
        BY_NAME[name](path.read_bytes())


def test_every_parser_has_a_corpus() -> None:
    assert {path.parent.name for path in INPUTS} == set(BY_NAME)
