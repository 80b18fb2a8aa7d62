"""The image is built, where a container engine and its base image can be had."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
BASE = "python:3.11-slim"
TAG = "quire:built-by-a-test"
ABOVE_BASE_MAX = 350_000_000
"""Bytes that the image may have more than its base."""


def run(*command: str, seconds: float = 60) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=seconds)


@pytest.fixture(scope="module")
def engine() -> str:
    """A program that builds here."""
    found = next((name for name in ("docker", "buildah", "podman") if shutil.which(name)), None)
    if found is None:
        pytest.skip("no container engine is installed (docker, buildah or podman)")
    if run(found, "pull", BASE, seconds=300).returncode:
        pytest.skip(f"{found} cannot get {BASE} here")
    return found


@pytest.fixture(scope="module")
def image(engine: str) -> Iterator[str]:
    done = run(engine, "build", "-t", TAG, ".", seconds=1_200)
    assert done.returncode == 0, done.stderr[-3_000:]
    yield TAG
    run(engine, "rmi", TAG)


def size(engine: str, name: str) -> int:
    """Return the bytes of an image's layers."""
    if engine != "buildah":
        return int(run(engine, "image", "inspect", "--format", "{{.Size}}", name).stdout)
    mounted = f'c=$(buildah from {name}) && du -sb "$(buildah mount $c)" | cut -f1; buildah rm $c >/dev/null'
    return int(run("buildah", "unshare", "sh", "-c", mounted).stdout)


def test_the_image_is_small(engine: str, image: str) -> None:
    assert size(engine, image) - size(engine, BASE) < ABOVE_BASE_MAX


def test_the_image_answers_for_itself(engine: str, image: str) -> None:
    if engine == "buildah":
        made = run(engine, "from", image).stdout.strip()
        done = run(engine, "run", made, "--", "python", "-m", "app", "--version")
        run(engine, "rm", made)
    else:
        done = run(engine, "run", "--rm", "--read-only", "--tmpfs", "/tmp", image, "--version")
    assert done.returncode == 0, done.stderr
    assert "quire" in done.stdout.lower()
