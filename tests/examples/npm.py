"""Projects of TypeScript: a copy beside the published API, with what npm installs for it, or a reason to skip."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
INSTALL_SECONDS = 120
OPTIONS = (
    "--no-audit", "--no-fund", "--ignore-scripts", "--no-package-lock", "--fetch-retries=1", "--fetch-timeout=20000",
)  # fmt: skip
GENERATED = shutil.ignore_patterns("node_modules", "build", "quire.d.ts", "api.ts")


def run(folder: Path, *command: str, seconds: float = 60, **env: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command, cwd=folder, capture_output=True, text=True, check=False, timeout=seconds, env={**os.environ, **env}
    )


def installed(root: Path, project: str) -> Path:
    """Copy a folder of the repository to `root`, in its place beside the published API, and install what it needs.

    Skips the test where node or the npm registry is not there.
    """
    if shutil.which("npm") is None or shutil.which("node") is None:
        pytest.skip("node and npm are not installed, so TypeScript cannot be tried")
    shutil.copytree(ROOT / "openapi", root / "openapi")
    folder = root / project
    shutil.copytree(ROOT / project, folder, ignore=GENERATED)
    try:
        done = run(folder, "npm", "install", *OPTIONS, seconds=INSTALL_SECONDS)
    except subprocess.TimeoutExpired:
        pytest.skip("npm did not install the packages in time")
    if done.returncode != 0:
        pytest.skip(f"npm cannot install the packages: {done.stderr[-300:]}")
    return folder
