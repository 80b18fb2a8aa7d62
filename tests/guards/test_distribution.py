"""All tests of a file run on one worker, so that what a module sets up is set up once.

A release of pytest made xdist's groups ineffective without a word, and hundreds of seconds of fixtures were made twice.
"""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import TESTS

pytestmark = pytest.mark.slow

FILE = """
import os
import pytest
@pytest.mark.parametrize("number", range(6))
def test_it(number):
    with open({seen!r}, "a") as seen:
        seen.write({name!r} + os.environ["PYTEST_XDIST_WORKER"] + "\\n")
"""


def test_the_tests_of_a_file_run_on_one_worker(tmp_path: Path) -> None:
    found = re.search(r"--dist .*", (TESTS.parent / "Makefile").read_text())
    assert found is not None
    seen = tmp_path / "seen"
    for name in "abcd":
        (tmp_path / f"test_{name}.py").write_text(FILE.format(seen=str(seen), name=f"{name} on "))
    command = [sys.executable, "-m", "pytest", "-q", "--numprocesses", "2", *found[0].split(), str(tmp_path)]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout
    ran = seen.read_text().splitlines()
    assert len(ran) == 24
    assert len({line.split()[-1] for line in ran}) == 2
    assert len(set(ran)) == 4
