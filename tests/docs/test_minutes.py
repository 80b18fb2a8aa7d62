"""What a newcomer runs works in a fresh clone."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parent / "minutes.py"

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not shutil.which("curl") or not shutil.which("git"), reason="curl and Git are needed"),
    pytest.mark.skipif(not (SCRIPT.parents[2] / ".git").exists(), reason="only a Git checkout can be cloned"),
]


def test_every_command_of_the_readme_and_the_tutorial_works_in_a_fresh_clone() -> None:
    done = subprocess.run([sys.executable, str(SCRIPT)], capture_output=True, text=True, check=False, timeout=1_800)
    assert done.returncode == 0, done.stdout[-3_000:] + done.stderr[-3_000:]
    assert done.stdout.endswith("everything that a newcomer runs works\n")
